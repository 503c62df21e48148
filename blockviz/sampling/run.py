"""The only loop. A sampler is data: block plan x predictor x corrector (`plans.py`, `predictors.py`, `correctors.py`).

`passes` walks through a job and yields an event after every state change; it runs any number of sequences at once and
knows nothing of recording. `stream` and `sample` record the events of one sequence, `batch.sample_batch` drops them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from itertools import islice

import torch
from torch import Tensor

from blockviz.diffusion.draws import Draws, GeneratorDraws
from blockviz.models.checkpoint import Model
from blockviz.sampling.correctors import SCORES, Evidence, renoise_counts, worst
from blockviz.sampling.denoiser import work_device
from blockviz.sampling.job import DrawsFor, Event, Job, Progress, prepare
from blockviz.sampling.passes import End, Finished, Header, Pass
from blockviz.sampling.plans import Segment, StepPlan, first_free, rows_of
from blockviz.sampling.predictors import COUNTS, PREDICTORS, Window
from blockviz.sampling.prompts import read_prompt
from blockviz.sampling.recorder import Checker, Recorder, header_of, written_text
from blockviz.sampling.settings import AR_SCORES, SamplerSettings, SettingsError, from_preset, parse
from blockviz.sampling.trace import Trace

__all__ = ["DrawsFor", "Event", "Job", "Progress", "passes", "prepare", "record_rest", "sample", "stream"]

TOGETHER = 16
"""Passes that `sample` records at a time: small calls one after another take half of what they take between forwards,
which drive them out of the processor's caches."""


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
        elif not bool(mine.any()) and segment.rows is None:
            continue
        _finish(job, segment)
        if bool(job.done.all()):
            return
        if job.after_segment is not None:
            job.after_segment(job)


def _finish(job: Job, segment: Segment) -> None:
    """The segment is written: how far its rows are now, and which of them have ended."""
    start, keep = segment.start, segment.keep
    if keep == start:
        return
    rows = (segment.free.any(dim=1) if segment.rows is None else segment.rows) & ~job.done
    job.position = keep
    # What is given right behind the window is finished as well.
    behind = job.given[:, keep:].long().cumprod(dim=1).sum(dim=1)
    job.lengths = torch.where(rows, keep + behind, job.lengths)
    if job.model.info.end_id is not None and not job.settings.fill_canvas:
        ends = (job.canvas[:, start:keep] == job.model.info.end_id) & ~job.given[:, start:keep]
        job.done |= ends.any(dim=1) & rows


def _segment_passes(job: Job, segment: Segment, free: Tensor) -> Iterator[Event]:
    """The passes of one segment: denoise, or propose and correct, step by step; then commit, unless it is one token.

    A step that would reveal nothing is left out, and so is a row to which it would reveal nothing.
    """
    denoiser = job.denoiser
    start, stop = segment.start, segment.stop
    draws = job.draws(free.any(dim=1))
    clock = _Clock(denoiser.device)
    event = None
    now = job.now = Progress(segment, list(enumerate(segment.steps)), free, free)
    if segment.renoise is not None:
        event = _open_seam(job, now, segment.renoise & free, clock)
        yield event
    while now.steps:
        index, level = now.steps.pop(0)
        corrector = job.settings.corrector
        counts = _to_reveal(job, now, index)
        active = now.free.any(dim=1) if counts is None else counts > 0
        if not bool(active.any()):
            continue
        clock.start()
        before = job.canvas[:, start:stop].clone()
        log_probs, call = denoiser.denoise(job.canvas, start, stop, segment.block_size, active, segment.whole)
        target = replace(level, alpha_s=1.0) if level.guided else level
        if counts is not None:
            draws = job.draws(active)
        drawn = PREDICTORS[segment.predictor](
            Window(
                process=job.model.process,
                settings=job.settings,
                level=target,
                xt=before,
                log_probs=log_probs,
                noise=now.noise,
                counts=torch.zeros_like(job.lengths) if counts is None else counts,
                draws=draws,
            )
        )
        job.canvas[:, start:stop] = torch.where(now.free, drawn.tokens, before)
        left = ((now.noise & ~drawn.predicted) | drawn.noised) & now.free
        if counts is not None:
            level = StepPlan(_clean(now.noise, now.free), _clean(left, now.free))
        now.noise = left
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
            noise=torch.zeros_like(left) if level.guided else left,
            predicted=drawn.predicted & now.free,
            log_probs=log_probs,
        )
        yield event
        if level.guided:
            event = yield from _correct(job, corrector, event, before, draws, clock)
        if segment.keep > start and stop - start > 1 and not _more(job, now):
            # Whoever steps in here may ask for a further step, after which the block is committed anew.
            yield replace(event, phase="commit", seconds=0.0, free=now.free, noise=now.noise)


def _to_reveal(job: Job, now: Progress, step: int) -> Tensor | None:
    """How many positions a step reveals in each row, int64 `[N]`; None for a predictor that does not count them."""
    count = COUNTS.get(now.segment.predictor)
    if count is None:
        return None
    return count(job.settings, step, len(now.segment.steps), now.free, now.noise)


def _more(job: Job, now: Progress) -> bool:
    """Whether any of the steps to come does something."""
    if now.segment.predictor not in COUNTS:
        return bool(now.steps)
    return bool(now.steps) and bool(now.noise.any())


def _clean(noise: Tensor, free: Tensor) -> float:
    """The share of the free positions that hold no noise, over all rows."""
    return 1 - int(noise.sum()) / max(1, int(free.sum()))


def _open_seam(job: Job, now: Progress, chosen: Tensor, clock: _Clock) -> Event:
    """Turn what is written again back to noise; the cache forgets it."""
    segment, denoiser = now.segment, job.denoiser
    clock.start()
    window = job.canvas[:, segment.start : segment.stop]
    fresh = job.model.process.prior(tuple(window.shape), job.draws(chosen.any(dim=1)))
    job.canvas[:, segment.start : segment.stop] = torch.where(chosen, fresh, window)
    return Event(
        phase="renoise",
        canvas=job.canvas,
        segment=segment,
        step=0,
        level=StepPlan(_clean(chosen & False, now.free), _clean(chosen, now.free)),
        call=denoiser.forget(segment.start),
        nfe_denoise=denoiser.nfe_denoise,
        nfe_verify=denoiser.nfe_verify,
        seconds=clock.stop(),
        free=now.free,
        noise=now.noise,
        predicted=torch.zeros_like(chosen),
        log_probs=None,
        chosen=chosen,
    )


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
    assert event.log_probs is not None  # of the proposal
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
    together: int = 1,
) -> Generator[Header | Pass | End, None, None]:
    """Run one sequence and yield its header, its passes as they happen (or `together` at a time), and its end.

    `checker` annotates passes with verdicts; `should_stop` is asked between passes. Bad input raises SettingsError or
    UnknownText here, before anything is yielded; the generator may be closed at any point.
    """
    read = read_prompt(prompt, model.tokens, settings.length or model.info.length, model.info.end_id)
    draws = GeneratorDraws(settings.seed, work_device(model))
    job = prepare(model, settings, [read.tokens], lambda active: draws, length=read.length, record=True)
    return _recorded(job, prompt, checker, should_stop, together)


def _recorded(
    job: Job, prompt: str, checker: Checker | None, should_stop: Callable[[], bool] | None, together: int
) -> Generator[Header | Pass | End, None, None]:
    began = time.perf_counter()
    recorder = Recorder(job.model, job.settings, len(job.prompts[0]), checker, job.given[0])
    rows = rows_of(job.settings, int(first_free(~job.given)[0]), job.length)
    yield header_of(job.model, job.settings, prompt, job.prompts[0], job.length, rows)
    yield recorder.start(job.canvas)
    yield from record_rest(job, passes(job), recorder, 1, began, should_stop, together)


def record_rest(
    job: Job,
    events: Generator[Event, None, None],
    recorder: Recorder,
    count: int,
    began: float,
    should_stop: Callable[[], bool] | None,
    together: int = 1,
) -> Generator[Pass | End, None, None]:
    """Record what `events` of a job are still to come, after `count` passes and `together` at a time, and its end.

    `began` is the `perf_counter` of the run's beginning, in seconds.
    """
    stopped = False
    while True:
        if should_stop is not None and should_stop():
            stopped = True
            break
        some = [_kept(event) if together > 1 else event for event in islice(events, together)]
        if not some:
            break
        yield from map(recorder.record, some)
        count += len(some)
    events.close()
    finished: Finished = "stopped" if stopped else "end_token" if bool(job.done[0]) else "canvas"
    text = written_text(job.model, job.canvas[0].tolist(), len(job.prompts[0]), int(job.lengths[0]))
    yield End(time.perf_counter() - began, stopped, finished, text, count)


def _kept(event: Event) -> Event:
    """The event as it is now, whatever becomes of the canvas; its other tensors are never changed."""
    return replace(event, canvas=event.canvas.clone())


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
        stream(model, prompt, settings, checker=checker, together=TOGETHER),
        model.tokens.piece,
        model.tokens.raw,
    )
