"""The only loop. A sampler is data: block plan x predictor x corrector (`plans.py`, `predictors.py`, `correctors.py`).

`passes` walks through a job and yields an event after every state change; it runs any number of sequences at once and
knows nothing of recording. `stream` and `sample` record the events of one sequence, `batch.sample_batch` drops them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from blockviz.diffusion.draws import Draws, GeneratorDraws
from blockviz.diffusion.schedules import Schedule
from blockviz.models.checkpoint import Model
from blockviz.sampling.attention_recording import recording_of
from blockviz.sampling.correctors import SCORES, Evidence, renoise_counts, worst
from blockviz.sampling.denoiser import Call, Denoiser, work_device
from blockviz.sampling.passes import End, Finished, Header, Pass, Phase
from blockviz.sampling.plans import PLANS, Segment, StepPlan, block_size_of
from blockviz.sampling.predictors import PREDICTORS
from blockviz.sampling.recorder import Checker, Recorder, header_of, written_text
from blockviz.sampling.settings import AR_SCORES, SamplerSettings, SettingsError, from_preset, parse, validate
from blockviz.sampling.trace import Trace

DrawsFor = Callable[[Tensor], Draws]
"""The source of random numbers for a window in which the rows marked True (bool `[N]`) write."""


@dataclass
class Job:
    """One run of `N` sequences in progress: what it was asked, and the state that `passes` moves forward.

    `canvas` int64 `[N, L]` and `done` bool `[N]` (the end token is written, the row is frozen) live on the denoiser's
    device; `lengths` int64 `[N]` says how far each row is finished, `position` how far the loop has come.
    """

    model: Model
    settings: SamplerSettings
    prompts: list[list[int]]
    draws: DrawsFor
    denoiser: Denoiser
    segments: list[Segment]
    canvas: Tensor
    done: Tensor
    lengths: Tensor
    position: int = 0

    @property
    def length(self) -> int:
        """Positions on the canvas."""
        return self.canvas.shape[1]


@dataclass(frozen=True)
class Event:
    """What just changed. Tensors are the live ones: an observer that keeps them copies them before it asks for more.

    `canvas` int64 `[N, L]` is the state after the event; window tensors are `[N, W]` over `segment.start..stop`: `free`
    may be written now, `noise` holds noise, `predicted` was taken from the prediction in this step, `chosen` was
    re-noised for its `scores`. `log_probs` and `log_p_ar` `[N, W, V]` are the latest diffusion prediction and AR
    reading, `verify_tokens` the noise the latter was made on. `call` is the latest forward; `seconds` the time that
    network and sampling took for this event.
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
    log_probs: Tensor
    log_p_ar: Tensor | None = None
    verify_tokens: Tensor | None = None
    scores: Tensor | None = None
    chosen: Tensor | None = None


def prepare(
    model: Model,
    settings: SamplerSettings,
    prompts: Sequence[Sequence[int]],
    draws: DrawsFor,
    *,
    record: bool = False,
) -> Job:
    """A job with the prompts in place and everything else pure noise.

    With `record`, which is for one prompt, it keeps the attention that the settings ask for. Raises SettingsError when
    the model cannot run the settings or a prompt leaves nothing to write.
    """
    validate(settings, model.info.length, model.config.x0_causal, model.info.process)
    length = settings.length or model.info.length
    for prompt in prompts:
        if len(prompt) >= length:
            raise SettingsError(
                "prompt",
                len(prompt),
                f"at most {length - 1} tokens, so that the canvas of {length} has a position left to write",
                told=f"The prompt has {len(prompt)} tokens",
            )
    schedule: Schedule = model.info.schedule if settings.schedule == "model" else settings.schedule
    segments = PLANS[settings.predictor](settings, [len(prompt) for prompt in prompts], length, schedule)
    widest = max(segment.stop - segment.start for segment in segments)
    recording = recording_of(settings, model.config, len(prompts[0]), length) if record else None
    denoiser = Denoiser(
        model, len(prompts), length, widest, settings.temperature, settings.use_cache, recording
    )
    everyone = torch.ones(len(prompts), dtype=torch.bool)
    canvas = model.process.prior((len(prompts), length), draws(everyone))
    for row, prompt in enumerate(prompts):
        canvas[row, : len(prompt)] = torch.tensor(prompt, dtype=torch.int64)
    return Job(
        model=model,
        settings=settings,
        prompts=[list(prompt) for prompt in prompts],
        draws=draws,
        denoiser=denoiser,
        segments=[replace(s, free=s.free.to(denoiser.device)) for s in segments],
        canvas=canvas,
        done=torch.zeros(len(prompts), dtype=torch.bool, device=denoiser.device),
        lengths=torch.tensor([len(prompt) for prompt in prompts], device=denoiser.device),
    )


@torch.inference_mode()
def passes(job: Job) -> Iterator[Event]:
    """Run the job to its end, one event per state change; a row is frozen once its block holds the end token.

    Rows that do not write in a segment (prompt not ended yet, or frozen) take no draws in it. A segment in which no
    row writes costs nothing.
    """
    end_id = None if job.settings.fill_canvas else job.model.info.end_id
    for segment in job.segments:
        free = segment.free & ~job.done.unsqueeze(1)
        if not bool(free.any()):
            continue
        yield from _segment_passes(job, segment, free)
        job.position = segment.stop
        job.lengths[free.any(dim=1)] = segment.stop
        if end_id is not None:
            window = job.canvas[:, segment.start : segment.stop]
            job.done |= ((window == end_id) & free).any(dim=1)
        if bool(job.done.all()):
            return


def _segment_passes(job: Job, segment: Segment, free: Tensor) -> Iterator[Event]:
    """The passes of one segment: denoise, or propose and correct, step by step; then commit, unless it is one token."""
    denoiser, settings, process = job.denoiser, job.settings, job.model.process
    start, stop = segment.start, segment.stop
    active = free.any(dim=1)
    draws = job.draws(active)
    predict = PREDICTORS[segment.predictor]
    clock = _Clock(denoiser.device)
    noise = free
    for index, level in enumerate(segment.steps):
        clock.start()
        before = job.canvas[:, start:stop].clone()
        log_probs, call = denoiser.denoise(job.canvas, start, stop, segment.block_size, active)
        target = replace(level, alpha_s=1.0) if level.guided else level
        drawn = predict(process, before, log_probs, target, draws, settings.temperature)
        job.canvas[:, start:stop] = torch.where(free, drawn.tokens, before)
        noise = ((noise & ~drawn.predicted) | drawn.noised) & free
        event = Event(
            phase="propose" if level.guided else "denoise",
            canvas=job.canvas,
            segment=segment,
            step=index,
            level=level,
            call=call,
            nfe_denoise=denoiser.nfe_denoise,
            nfe_verify=denoiser.nfe_verify,
            seconds=clock.stop(),
            free=free,
            noise=torch.zeros_like(noise) if level.guided else noise,
            predicted=drawn.predicted & free,
            log_probs=log_probs,
        )
        yield event
        if level.guided:
            event = yield from _correct(job, event, before, draws, clock)
            noise = event.noise
    if stop - start > 1:
        yield replace(event, phase="commit", seconds=0.0)


def _correct(
    job: Job, event: Event, before: Tensor, draws: Draws, clock: _Clock
) -> Generator[Event, None, Event]:
    """Verify where the score asks for it, then re-noise the worst of the proposal drawn from the tokens `before`."""
    denoiser, process, corrector = job.denoiser, job.model.process, job.settings.corrector
    start, stop = event.segment.start, event.segment.stop
    proposal = job.canvas[:, start:stop].clone()
    shape = (proposal.shape[0], stop - start)
    log_p_ar = None
    if corrector in AR_SCORES:
        clock.start()
        tokens = process.prior(shape, draws)
        log_p_ar, call = denoiser.verify(job.canvas, proposal, tokens, start, event.free.any(dim=1))
        event = replace(
            event,
            phase="verify",
            call=call,
            nfe_verify=denoiser.nfe_verify,
            seconds=clock.stop(),
            log_p_ar=log_p_ar,
            verify_tokens=tokens,
        )
        yield event
    clock.start()
    scores = SCORES[corrector](Evidence(process, proposal, before, event.log_probs, log_p_ar, draws))
    chosen = worst(scores, event.free, renoise_counts(event.level.alpha_s, event.free))
    fresh = process.prior(shape, draws)
    job.canvas[:, start:stop] = torch.where(chosen, fresh, proposal)
    event = replace(event, phase="renoise", seconds=clock.stop(), noise=chosen, scores=scores, chosen=chosen)
    yield event
    return event


class _Clock:
    """Seconds of work between start and stop, the accelerator's included."""

    def __init__(self, device: torch.device) -> None:
        self.wait = torch.cuda.synchronize if device.type == "cuda" else None
        self.since = 0.0

    def start(self) -> None:
        self.since = time.perf_counter()

    def stop(self) -> float:
        if self.wait is not None:
            self.wait()
        return time.perf_counter() - self.since


def stream(
    model: Model,
    prompt: str,
    settings: SamplerSettings,
    *,
    checker: Checker | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Generator[Header | Pass | End, None, None]:
    """Run one sequence and yield its header, its passes as they happen, and its end.

    `checker` annotates passes with verdicts; `should_stop` is asked between passes. Bad input raises SettingsError or
    UnknownText here, before anything is yielded; the generator may be closed at any point.
    """
    ids = model.tokens.encode(prompt)
    draws = GeneratorDraws(settings.seed, work_device(model))
    job = prepare(model, settings, [ids], lambda active: draws, record=True)
    return _recorded(job, prompt, checker, should_stop)


def _recorded(
    job: Job, prompt: str, checker: Checker | None, should_stop: Callable[[], bool] | None
) -> Generator[Header | Pass | End, None, None]:
    began = time.perf_counter()
    recorder = Recorder(job.model, job.settings, len(job.prompts[0]), checker)
    yield header_of(job.model, job.settings, prompt, job.prompts[0], job.length, block_size_of(job.settings))
    yield recorder.start(job.canvas)
    events = passes(job)
    stopped, count = False, 1
    while True:
        if should_stop is not None and should_stop():
            stopped = True
            break
        event = next(events, None)
        if event is None:
            break
        yield recorder.record(event)
        count += 1
    events.close()
    finished: Finished = "stopped" if stopped else "end_token" if bool(job.done[0]) else "canvas"
    text = written_text(job.model, job.canvas[0].tolist(), len(job.prompts[0]), int(job.lengths[0]))
    yield End(time.perf_counter() - began, stopped, finished, text, count)


def sample(
    model: Model,
    prompt: str,
    settings: SamplerSettings | None = None,
    *,
    preset: str | None = None,
    checker: Checker | None = None,
    **overrides: object,
) -> Trace:
    """Run one sequence to its end and return its trace.

    Settings are those given, or the preset's, or the defaults; `overrides` win over them. Raises SettingsError for a
    setting that does not exist or cannot be used, UnknownText for a prompt the tokenizer cannot read.
    """
    if settings is not None and preset is not None:
        raise SettingsError("preset", preset, "nothing where settings are given as well")
    if preset is not None:
        settings = from_preset(preset, **overrides)
    else:
        settings = parse({**(settings or SamplerSettings()).to_dict(), **overrides})
    return Trace.collect(
        stream(model, prompt, settings, checker=checker), model.tokens.piece, model.tokens.raw
    )
