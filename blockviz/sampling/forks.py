"""Stepping in: go back to any pass of a recorded run, change something, and go on from there. The result is a fork.

*Going back.* The loop of `run.py` is walked through again from the beginning, with the recorded tokens put on the
canvas after every pass. Random numbers depend on the shapes of what is drawn and not on the network, so the generator
stands where it stood without a call of the network; the only calls made are those that commit clean tokens to the KV
cache, in the shapes they had, and those of a step that is stepped into. An edit that changes nothing is therefore
followed by exactly what followed in the parent, bit for bit, and what differs in a fork is due to its edit.
`Fork.rebuilt` counts these calls; the passes count those of the run alone.

*Changing*, after a pass, positions of three kinds: those that may be written now, those of blocks not yet open, and
those that are finished. The prompt stays as it is.

- re-noise: positions that may be written now (noise of a block not yet open stays noise). Not between a proposal and
  its re-noising, which is the corrector's. Where the block has no step left, its last step is taken once more.
- force: any of them. What may be written now may be changed again by later passes unless it is frozen too; a block not
  yet open starts from noise, so that a token forced there is frozen. In finished text the token is replaced, and the
  cache is computed again from there by the next call. A proposal under review is read again.
- freeze: a position that holds a token (drawn or forced): it is never written again. Release takes that back.
- settings: temperature, corrector and its timing from the next step on, steps and schedule from the next block on, the
  seed from the next draw on; before the first network pass (pass 0) all but the canvas length.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import replace

import numpy as np
import torch

from blockviz.models.checkpoint import Model
from blockviz.sampling.denoiser import work_device
from blockviz.sampling.edits import Edit, EditError, Fork
from blockviz.sampling.job import prepare
from blockviz.sampling.passes import STATE_CODE, End, Header, Pass
from blockviz.sampling.plans import first_free, rows_of
from blockviz.sampling.recorder import NOISE_STATES, Checker, Recorder, header_of
from blockviz.sampling.rewinding import Point, Rewinder, SeedDraws
from blockviz.sampling.run import passes, record_rest
from blockviz.sampling.settings import SamplerSettings
from blockviz.sampling.stepping import UNDER_REVIEW, step_in
from blockviz.sampling.trace import Trace


def resume(
    model: Model,
    parent: Trace,
    edit: Edit,
    *,
    checker: Checker | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Generator[Header | Pass | End, None, None]:
    """Go on with `parent` from pass `edit.at`, changed by `edit`; yields as `run.stream` does.

    The fork begins with its parent's passes up to that one, followed by the pass of the edit. Raises EditError or
    SettingsError here, before anything is yielded, for what cannot be done, with the reason.
    """
    edits = () if parent.header.fork is None else parent.header.fork.before(edit.at)
    origin = parent.header.settings if parent.header.fork is None else parent.header.fork.origin
    fork = Fork(parent.header.run, parent.content_hash(), origin, (*edits, edit), 0)
    return _forked(model, parent, fork, checker, should_stop)


def fork(model: Model, parent: Trace, edit: Edit, *, checker: Checker | None = None) -> Trace:
    """The finished fork of `parent`; see `resume`."""
    return Trace.collect(resume(model, parent, edit, checker=checker), model.tokens.piece, model.tokens.raw)


def replay(model: Model, trace: Trace, *, checker: Checker | None = None) -> Trace:
    """Run a fork once more from its own file: its edit, on the passes it took over from its parent.

    Raises EditError for a run that is no fork, and as `resume`.
    """
    if trace.header.fork is None:
        raise EditError("This run is no fork.")
    events = _forked(model, trace, trace.header.fork, checker, None)
    return Trace.collect(events, model.tokens.piece, model.tokens.raw)


def _forked(
    model: Model,
    source: Trace,
    fork: Fork,
    checker: Checker | None,
    should_stop: Callable[[], bool] | None,
) -> Generator[Header | Pass | End, None, None]:
    """The fork that `source`, its parent or an earlier run of itself, gives by the last of `fork.edits`."""
    began = time.perf_counter()
    edit = fork.edits[-1]
    point = _rewound(model, source, fork, checker)
    entry = step_in(point, edit, source.passes[edit.at], None)
    job, denoiser = point.job, point.denoiser
    denoiser.live = True
    header = header_of(
        model,
        job.settings,
        source.header.prompt,
        list(source.header.tokens),
        job.length,
        rows_of(job.settings, int(first_free(~job.given)[0]), job.length),
    )
    header = replace(header, fork=replace(fork, rebuilt=denoiser.rebuilt))

    def told() -> Generator[Header | Pass | End, None, None]:
        yield header
        yield from source.passes[: edit.at + 1]
        yield entry
        yield from record_rest(job, point.events, point.recorder, edit.at + 2, began, should_stop)

    return told()


def _rewound(model: Model, source: Trace, fork: Fork, checker: Checker | None) -> Point:
    """The run of `source` as it stood after pass `fork.at`, with the edits before it made."""
    at = fork.at
    _check_source(model, source, at)
    edits = {edit.at + 1: edit for edit in fork.edits[:-1]}
    settings = fork.origin
    for edit in fork.edits:
        # What the canvas is planned by may change before the first network pass only, and then for the whole run.
        settings = edit.settings_after(settings) if edit.at == 0 else settings
    point = _beginning(model, source, settings, fork.origin.seed, checker)
    last = _step_before(source, at)
    for k, entry in enumerate(source.passes[: at + 1]):
        if not point.recording and k > last:
            _record_from(point, source.passes[k - 1])
            point.denoiser.live = True
            calls = point.denoiser.nfe_denoise + point.denoiser.nfe_verify
        if k in edits:
            step_in(point, edits[k], source.passes[k - 1], entry.tokens)
        elif k > 0:
            _advance(point, entry, k)
        _put(point, entry)
    if point.recording:
        point.denoiser.rebuilt += point.denoiser.nfe_denoise + point.denoiser.nfe_verify - calls
        point.denoiser.live = False
    else:
        _record_from(point, source.passes[at])
    return point


def _record_from(point: Point, entry: Pass) -> None:
    """Have the recorder stand where it stood after `entry`, between two steps."""
    event, now = point.event, point.job.now
    if event is not None and now is not None:
        event = replace(event, free=now.free)
    point.recorder.resume(entry, event)
    point.recording = True


def _check_source(model: Model, source: Trace, at: int) -> None:
    header = source.header
    if header.model.hash != model.content_hash:
        raise EditError(
            f"The run is one of {header.model.name} {header.model.hash[:12]}, and the model here, {model.name} "
            f"{model.content_hash[:12]}, has other weights."
        )
    if header.length > model.info.length:
        raise EditError(f"The run has {header.length} positions, and the model writes {model.info.length}.")
    if at >= len(source.passes):
        raise EditError(f"The run has passes 0 to {len(source.passes) - 1}, and no pass {at}.")
    ids = [entry.tokens for entry in source.passes[: at + 1]]
    if max(int(tokens.max()) for tokens in ids) >= model.config.vocab_size:
        raise EditError("The run holds tokens that the model does not have.")


def _beginning(
    model: Model, source: Trace, settings: SamplerSettings, seed: int, checker: Checker | None
) -> Point:
    header = source.header
    draws = SeedDraws(seed, work_device(model))
    first = source.passes[0]
    given = (first.states == STATE_CODE["prompt"]).tolist()
    prompt = [token if there else None for token, there in zip(first.tokens.tolist(), given, strict=True)]
    job = prepare(
        model, settings, [prompt], lambda active: draws, length=header.length, record=True, kind=Rewinder
    )
    assert isinstance(job.denoiser, Rewinder)
    recorder = Recorder(model, settings, len(job.prompts[0]), checker, job.given[0])
    return Point(job, job.denoiser, draws, passes(job), recorder)


def _step_before(source: Trace, at: int) -> int:
    """The last pass, up to `at`, after which no step was under way."""
    k = at
    while source.passes[k].phase == "edit":
        k -= 1
    if source.passes[k].phase not in UNDER_REVIEW:
        return at
    while k > 0 and source.passes[k].phase != "propose":
        k -= 1
    return k - 1


def _advance(point: Point, entry: Pass, k: int) -> None:
    """One event of the loop, which must be the one that `entry`, pass k, recorded."""
    event = point.event = next(point.events, None)
    made = None if event is None else (event.phase, event.segment.block, event.step)
    window = None if event is None else (event.segment.start, event.segment.stop)
    if event is None or made != (entry.phase, entry.block, entry.step) or window != (entry.start, entry.stop):
        raise EditError(f"Pass {k} of the run is not what this model and its settings make there.")
    if point.recording:
        point.recorder.record(event)


def _put(point: Point, entry: Pass) -> None:
    """Put the recorded tokens, and which of them are noise, where the loop left something else."""
    job, now = point.job, point.job.now
    job.canvas[0] = torch.from_numpy(entry.tokens.astype(np.int64)).to(job.canvas.device)
    if now is not None:
        noise = NOISE_STATES[entry.states[now.segment.start : now.segment.stop]]
        now.noise = torch.from_numpy(noise).to(now.free.device).unsqueeze(0) & now.free
