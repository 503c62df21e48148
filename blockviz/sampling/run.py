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
class Progress:
    """Where a job is in its segment: numbered steps to come; bool `[N, W]` what may be written and what holds noise."""

    segment: Segment
    steps: list[tuple[int, StepPlan]]
    free: Tensor
    noise: Tensor


@dataclass
class Job:
    """One run of `N` sequences in progress: what it was asked, and the state that `passes` moves forward.

    `canvas` int64 `[N, L]` and `done` bool `[N]` (the end token is written, the row is frozen) live on the denoiser's
    device; `lengths` int64 `[N]` says how far each row is finished, `position` how far the loop has come. `frozen` bool
    `[N, L]` are generated positions whose tokens are never written again, `now` the segment in progress: whoever steps
    into a run between two events changes those and the canvas (`forks.py`).
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
    frozen: Tensor
    position: int = 0
    now: Progress | None = None

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
    kind: type[Denoiser] = Denoiser,
) -> Job:
    """A job with the prompts in place and everything else pure noise.

    With `record`, which is for one prompt, it keeps the attention that the settings ask for; `kind` of denoiser stands
    between it and the network. Raises SettingsError when
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
    denoiser = kind(model, len(prompts), length, widest, settings.temperature, settings.use_cache, recording)
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
        frozen=torch.zeros_like(canvas, dtype=torch.bool),
    )


@torch.inference_mode()
def passes(job: Job) -> Generator[Event, None, None]:
    """Run the job to its end, one event per state change; a row is frozen once its block holds the end token.

    Rows that do not write in a segment (prompt not ended yet, or frozen) take no draws in it. A segment in which no
    row writes costs nothing.
    """
    for segment in job.segments:
        window = slice(segment.start, segment.stop)
        mine = segment.free & ~job.done.unsqueeze(1)
        free = mine & ~job.frozen[:, window]
        if bool(free.any()):
            yield from _segment_passes(job, segment, free)
        elif not bool(mine.any()):
            continue
        job.position = segment.stop
        job.lengths[mine.any(dim=1)] = segment.stop
        if job.model.info.end_id is not None and not job.settings.fill_canvas:
            job.done |= ((job.canvas[:, window] == job.model.info.end_id) & mine).any(dim=1)
        if bool(job.done.all()):
            return


def _segment_passes(job: Job, segment: Segment, free: Tensor) -> Iterator[Event]:
    """The passes of one segment: denoise, or propose and correct, step by step; then commit, unless it is one token."""
    denoiser, process = job.denoiser, job.model.process
    start, stop = segment.start, segment.stop
    active = free.any(dim=1)
    draws = job.draws(active)
    predict = PREDICTORS[segment.predictor]
    clock = _Clock(denoiser.device)
    now = job.now = Progress(segment, list(enumerate(segment.steps)), free, free)
    while now.steps:
        index, level = now.steps.pop(0)
        clock.start()
        before = job.canvas[:, start:stop].clone()
        log_probs, call = denoiser.denoise(job.canvas, start, stop, segment.block_size, active)
        target = replace(level, alpha_s=1.0) if level.guided else level
        drawn = predict(process, before, log_probs, target, draws, job.settings.temperature)
        job.canvas[:, start:stop] = torch.where(now.free, drawn.tokens, before)
        now.noise = ((now.noise & ~drawn.predicted) | drawn.noised) & now.free
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
            free=now.free,
            noise=torch.zeros_like(now.noise) if level.guided else now.noise,
            predicted=drawn.predicted & now.free,
            log_probs=log_probs,
        )
        yield event
        if level.guided:
            event = yield from _correct(job, now, event, before, draws, clock)
        if stop - start > 1 and not now.steps:
            # Whoever steps in here may ask for a further step, after which the block is committed anew.
            yield replace(event, phase="commit", seconds=0.0, free=now.free, noise=now.noise)


def _correct(
    job: Job, now: Progress, event: Event, before: Tensor, draws: Draws, clock: _Clock
) -> Generator[Event, None, Event]:
    """Verify where the score asks for it, then re-noise the worst of the proposal drawn from the tokens `before`.

    A proposal that was changed while it was under review is read again.
    """
    denoiser, process, corrector = job.denoiser, job.model.process, job.settings.corrector
    start, stop = event.segment.start, event.segment.stop
    proposal = job.canvas[:, start:stop].clone()
    log_p_ar = None
    while corrector in AR_SCORES:
        clock.start()
        tokens = process.prior(tuple(proposal.shape), draws)
        log_p_ar, call = denoiser.verify(job.canvas, proposal, tokens, start, now.free.any(dim=1))
        event = replace(
            event,
            phase="verify",
            call=call,
            nfe_verify=denoiser.nfe_verify,
            seconds=clock.stop(),
            free=now.free,
            log_p_ar=log_p_ar,
            verify_tokens=tokens,
        )
        yield event
        read, proposal = proposal, job.canvas[:, start:stop].clone()
        if torch.equal(read, proposal):
            break
    clock.start()
    scores = SCORES[corrector](Evidence(process, proposal, before, event.log_probs, log_p_ar, draws))
    chosen = worst(scores, now.free, renoise_counts(event.level.alpha_s, now.free))
    fresh = process.prior(tuple(proposal.shape), draws)
    job.canvas[:, start:stop] = torch.where(chosen, fresh, proposal)
    now.noise = chosen
    event = replace(
        event,
        phase="renoise",
        seconds=clock.stop(),
        free=now.free,
        noise=chosen,
        scores=scores,
        chosen=chosen,
    )
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
    yield from record_rest(job, passes(job), recorder, 1, began, should_stop)


def record_rest(
    job: Job,
    events: Generator[Event, None, None],
    recorder: Recorder,
    count: int,
    began: float,
    should_stop: Callable[[], bool] | None,
) -> Generator[Pass | End, None, None]:
    """Record what `events` of a job are still to come, after `count` passes, and its end.

    `began` is the `perf_counter` of the run's beginning, in seconds.
    """
    stopped = False
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
