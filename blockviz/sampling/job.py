"""A run in progress: what it was asked, the state that `run.passes` moves forward, and what it tells its observers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from blockviz.diffusion.draws import Draws
from blockviz.diffusion.schedules import Schedule
from blockviz.models.checkpoint import Model
from blockviz.sampling.attention_recording import recording_of
from blockviz.sampling.denoiser import Call, Denoiser
from blockviz.sampling.passes import MAX_CELLS, MAX_PASSES, Phase
from blockviz.sampling.plans import PLANS, Segment, StepPlan, most_passes
from blockviz.sampling.prompts import Tokens, leading
from blockviz.sampling.settings import SamplerSettings, SettingsError, applies, validate

DrawsFor = Callable[[Tensor], Draws]
"""The source of random numbers for a window in which the rows marked True (bool `[N]`) write."""


@dataclass
class Progress:
    """Where a job is in its segment: numbered steps to come; bool `[N, W]` what may be written and what holds noise."""

    segment: Segment
    steps: list[tuple[int, StepPlan]]
    free: Tensor
    noise: Tensor


@dataclass
class Job:
    """One run of `N` sequences in progress: what it was asked, and the state that `passes` moves forward.

    `prompts` are the tokens before the first position to write. `canvas` int64 `[N, L]`, `given` bool `[N, L]` (from
    the prompt, never written) and `done` bool `[N]` (the end token is written, the row is frozen) live on the
    denoiser's device; `lengths` int64 `[N]` says how far each row is finished, `position` how far the loop has come.
    `frozen` bool `[N, L]` are generated positions whose tokens are never written again, `now` the segment in progress:
    whoever steps into a run between two events changes those and the canvas (`forks.py`). `after_segment` is called
    when a segment is written, and may take rows out of the job (`keep_rows`).
    """

    model: Model
    settings: SamplerSettings
    prompts: list[list[int]]
    draws: DrawsFor
    denoiser: Denoiser
    segments: list[Segment]
    canvas: Tensor
    given: Tensor
    done: Tensor
    lengths: Tensor
    frozen: Tensor
    position: int = 0
    now: Progress | None = None
    after_segment: Callable[[Job], None] | None = None

    @property
    def length(self) -> int:
        """Positions on the canvas."""
        return self.canvas.shape[1]


@dataclass(frozen=True)
class Event:
    """What just changed. The canvas is the live one: an observer that keeps it copies it before it asks for more.

    `canvas` int64 `[N, L]` is the state after the event; window tensors are `[N, W]` over `segment.start..stop`: `free`
    may be written now, `noise` holds noise, `predicted` was taken from the prediction in this step, `chosen` was
    re-noised, for its `scores` or as part of a seam (which has neither scores nor a prediction). `log_probs` and
    `log_p_ar` `[N, W, V]` are the latest diffusion prediction and AR reading, `verify_tokens` the noise the latter was
    made on. `call` is the latest forward; `seconds` the time that network and sampling took for this event.
    """

    phase: Phase
    canvas: Tensor
    segment: Segment
    step: int
    level: StepPlan
    call: Call
    nfe_denoise: int
    nfe_verify: int
    seconds: float
    free: Tensor
    noise: Tensor
    predicted: Tensor
    log_probs: Tensor | None
    log_p_ar: Tensor | None = None
    verify_tokens: Tensor | None = None
    scores: Tensor | None = None
    chosen: Tensor | None = None


def prepare(
    model: Model,
    settings: SamplerSettings,
    prompts: Sequence[Tokens],
    draws: DrawsFor,
    *,
    length: int | None = None,
    record: bool = False,
    kind: type[Denoiser] = Denoiser,
) -> Job:
    """A job with what is given in place and everything else pure noise.

    The canvas has `length` positions, or those of the settings, or the model's. With `record`, which is for one
    prompt, it keeps the attention that the settings ask for; `kind` of denoiser stands between it and the network.
    Raises SettingsError when the model cannot run the settings or a prompt leaves nothing to write, and with `record`
    for a run that a trace cannot hold.
    """
    validate(settings, model.info.length, model.config.x0_causal, model.info.process)
    length = length or settings.length or model.info.length
    free = torch.stack([_free(prompt, length) for prompt in prompts])
    segments = plan(model, settings, free)
    if record:
        check_passes(settings, segments, length)
    widest = max(segment.stop - segment.start for segment in segments)
    starts = [leading(prompt) for prompt in prompts]
    recording = recording_of(settings, model.config, len(starts[0]), length) if record else None
    denoiser = kind(model, len(prompts), length, widest, settings.temperature, settings.caches, recording)
    everyone = torch.ones(len(prompts), dtype=torch.bool)
    endless = torch.stack([_endless(prompt, model.info.end_id, length) for prompt in prompts])
    endless |= torch.tensor(settings.forbid_end)
    denoiser.endless = endless.to(denoiser.device) if bool((endless & free).any()) else None
    canvas = model.process.prior((len(prompts), length), draws(everyone))
    for row, prompt in enumerate(prompts):
        tokens = [0 if token is None else token for token in prompt]
        there = torch.tensor(tokens, dtype=torch.int64, device=canvas.device)
        canvas[row, : len(prompt)] = torch.where(
            free[row, : len(prompt)].to(canvas.device), canvas[row, : len(prompt)], there
        )
    return Job(
        model=model,
        settings=settings,
        prompts=starts,
        draws=draws,
        denoiser=denoiser,
        segments=[on_device(segment, denoiser.device) for segment in segments],
        canvas=canvas,
        given=~free.to(denoiser.device),
        done=torch.zeros(len(prompts), dtype=torch.bool, device=denoiser.device),
        lengths=torch.tensor([len(start) for start in starts], device=denoiser.device),
        frozen=torch.zeros_like(canvas, dtype=torch.bool),
    )


def check_passes(settings: SamplerSettings, segments: Sequence[Segment], length: int) -> None:
    """Raise SettingsError for a run that could take more passes than a trace that is read again may have."""
    most = min(MAX_PASSES, MAX_CELLS // length)
    count = most_passes(settings, segments)
    if count <= most:
        return
    field = "steps" if applies("steps", settings) else "length"
    raise SettingsError(
        field,
        settings.steps if field == "steps" else length,
        f"what is recorded in at most {most:,} passes on {length} positions (this would take up to {count:,}): fewer "
        "steps, larger blocks or a shorter canvas",
    )


def plan(model: Model, settings: SamplerSettings, free: Tensor) -> list[Segment]:
    """The segments of a run on canvases of which `free` bool `[N, L]` may be written."""
    schedule: Schedule = model.info.schedule if settings.schedule == "model" else settings.schedule
    return PLANS[settings.predictor](settings, free, schedule)


def on_device(segment: Segment, device: torch.device) -> Segment:
    """The segment with its masks on `device`."""
    renoise = None if segment.renoise is None else segment.renoise.to(device)
    rows = None if segment.rows is None else segment.rows.to(device)
    return replace(segment, free=segment.free.to(device), renoise=renoise, rows=rows)


def keep_rows(job: Job, rows: Tensor, draws: DrawsFor) -> None:
    """Go on with these rows of the job alone, int64 in rising order, which draw from `draws` from now on.

    Between two segments only.
    """

    def kept(part: Tensor | None) -> Tensor | None:
        return None if part is None else part[rows]

    job.prompts = [job.prompts[row] for row in rows.tolist()]
    job.draws = draws
    job.denoiser.keep(rows)
    job.segments[:] = [
        replace(one, free=one.free[rows], renoise=kept(one.renoise), rows=kept(one.rows))
        for one in job.segments
    ]
    job.canvas, job.given, job.done = job.canvas[rows], job.given[rows], job.done[rows]
    job.lengths, job.frozen = job.lengths[rows], job.frozen[rows]
    job.now = None


def _free(prompt: Tokens, length: int) -> Tensor:
    """What may be written of a canvas of `length` positions that starts with `prompt`: bool `[length]`."""
    free = torch.ones(length, dtype=torch.bool)
    free[: len(prompt)] = torch.tensor([token is None for token in prompt], dtype=torch.bool)[:length]
    if len(prompt) > length or not bool(free.any()):
        raise SettingsError(
            "prompt",
            len(prompt),
            f"at most {length - 1} tokens, so that the canvas of {length} has a position left to write",
            told=f"The prompt has {len(prompt)} tokens",
        )
    return free


def _endless(prompt: Tokens, end_id: int | None, length: int) -> Tensor:
    """Where a text cannot end because a given word follows: bool `[length]`."""
    words = [place for place, token in enumerate(prompt) if token not in (None, end_id)]
    return torch.arange(length) < max(words, default=0)
