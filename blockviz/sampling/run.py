"""The only loop. A sampler is data: block plan x predictor x corrector (`plans.py`, `predictors.py`, `correctors.py`).

`passes` walks through a job and yields an event after every state change; it runs any number of sequences at once and
knows nothing of recording. `stream` and `sample` record the events of one sequence, `batch.sample_batch` drops them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from blockviz.diffusion.draws import Draws, GeneratorDraws
from blockviz.models.checkpoint import Model
from blockviz.sampling.correctors import SCORES, Evidence, renoise_counts, worst
from blockviz.sampling.denoiser import work_device
from blockviz.sampling.job import DrawsFor, Event, Job, Progress, prepare
from blockviz.sampling.passes import End, Finished, Header, Pass
from blockviz.sampling.plans import Segment, block_size_of
from blockviz.sampling.predictors import PREDICTORS
from blockviz.sampling.prompts import read_prompt
from blockviz.sampling.recorder import Checker, Recorder, header_of, written_text
from blockviz.sampling.settings import AR_SCORES, SamplerSettings, SettingsError, from_preset, parse
from blockviz.sampling.trace import Trace

__all__ = ["DrawsFor", "Event", "Job", "Progress", "passes", "prepare", "record_rest", "sample", "stream"]


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
        _finish(job, segment, mine.any(dim=1))
        if bool(job.done.all()):
            return


def _finish(job: Job, segment: Segment, rows: Tensor) -> None:
    """The segment is written in these `rows` (bool `[N]`): how far they are now, and which of them have ended."""
    start, stop = segment.start, segment.stop
    job.position = stop
    # What is given right behind the window is finished as well.
    behind = job.given[:, stop:].long().cumprod(dim=1).sum(dim=1)
    job.lengths = torch.where(rows, stop + behind, job.lengths)
    if job.model.info.end_id is not None and not job.settings.fill_canvas:
        ends = (job.canvas[:, start:stop] == job.model.info.end_id) & ~job.given[:, start:stop]
        job.done |= ends.any(dim=1) & rows


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
        corrector = job.settings.corrector
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
            event = yield from _correct(job, corrector, event, before, draws, clock)
        if stop - start > 1 and not now.steps:
            # Whoever steps in here may ask for a further step, after which the block is committed anew.
            yield replace(event, phase="commit", seconds=0.0, free=now.free, noise=now.noise)


def _correct(
    job: Job, corrector: str, event: Event, before: Tensor, draws: Draws, clock: _Clock
) -> Generator[Event, None, Event]:
    """Verify where the score asks for it, then re-noise the worst of the proposal drawn from the tokens `before`.

    A proposal that was changed while it was under review is read again.
    """
    assert job.now is not None
    denoiser, process, now = job.denoiser, job.model.process, job.now
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
    read = read_prompt(prompt, model.tokens, settings.length or model.info.length, model.info.end_id)
    draws = GeneratorDraws(settings.seed, work_device(model))
    job = prepare(model, settings, [read.tokens], lambda active: draws, length=read.length, record=True)
    return _recorded(job, prompt, checker, should_stop)


def _recorded(
    job: Job, prompt: str, checker: Checker | None, should_stop: Callable[[], bool] | None
) -> Generator[Header | Pass | End, None, None]:
    began = time.perf_counter()
    recorder = Recorder(job.model, job.settings, len(job.prompts[0]), checker, job.given[0])
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
