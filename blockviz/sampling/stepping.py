"""What an edit means for a run in progress: what is refused, what becomes of canvas, plan, draws and cache.

The rules stand in `forks.py`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blockviz.diffusion.draws import GeneratorDraws
from blockviz.sampling.denoiser import forbidden_ids
from blockviz.sampling.edit_recording import Touch, record_edit
from blockviz.sampling.edits import Edit, EditError, named
from blockviz.sampling.job import Job, check_passes, on_device, plan
from blockviz.sampling.passes import Pass
from blockviz.sampling.plans import is_guided
from blockviz.sampling.rewinding import Point
from blockviz.sampling.settings import SamplerSettings, validate

Mask = NDArray[np.bool_]

UNDER_REVIEW = ("propose", "verify")
"""Phases after which the step is not over: the block is a clean proposal whose re-noising is still to come."""


def step_in(point: Point, edit: Edit, entry: Pass, recorded: NDArray[np.int32] | None) -> Pass:
    """Make the edit after pass `entry`; tokens as `recorded`, or those that it asks for. Returns its pass."""
    job = point.job
    kinds = _kinds(job)
    _check(point, edit, entry, kinds)
    settings = edit.settings_after(job.settings)
    if edit.settings:
        _change_settings(point, settings, edit)
    length = job.length
    names = ("renoised", "unopened", "forced", "frozen", "released")
    marks = {name: np.zeros(length, dtype=bool) for name in names}
    before = job.canvas[0].cpu().numpy()
    tokens = before.copy()
    for position, token in edit.force:
        tokens[position] = token
        marks["forced"][position] = True
        marks["frozen"][position] = kinds.later[position]
    marks["frozen"][list(edit.freeze)] = True
    marks["released"][list(edit.release)] = True
    marks["renoised"][list(edit.renoise)] = True
    marks["renoised"] &= kinds.now
    marks["unopened"] = marks["released"] & kinds.later & ~marks["forced"]
    fresh = _fresh_noise(job, edit, settings.seed)
    tokens = np.where(marks["renoised"] | marks["unopened"], fresh, tokens)
    if recorded is not None:
        tokens = recorded.astype(np.int64)
    job.canvas[0] = torch.from_numpy(tokens).to(job.canvas.device)
    finished = np.flatnonzero(marks["forced"] & ~kinds.now & ~kinds.later & (tokens != before))
    if finished.size:
        _forget(point, int(finished[0]))
    device = job.frozen.device
    job.frozen[0] |= torch.from_numpy(marks["frozen"]).to(device)
    job.frozen[0] &= ~torch.from_numpy(marks["released"]).to(device)
    free = _change_window(job, marks["renoised"], marks["forced"])
    touch = Touch(tokens=tokens, free=free, **marks)
    return record_edit(point.recorder, entry, touch) if point.recording else entry


@dataclass(frozen=True)
class _Kinds:
    """Bool [L]: what may be written now (or could be, were it not frozen); else only later; else what is written.

    `again` is whatever a later segment writes, be it for the first time or, at a seam, once more.
    """

    now: Mask
    later: Mask
    earlier: Mask
    again: Mask


def _kinds(job: Job) -> _Kinds:
    segment = None if job.now is None else job.now.segment
    marks = {name: np.zeros(job.length, dtype=bool) for name in ("now", "later", "earlier")}
    place = "later" if segment is None else "earlier"
    for one in job.segments:
        here = "now" if one is segment else place
        marks[here][one.start : one.stop] |= one.free[0].cpu().numpy()
        place = "later" if one is segment else place
    marks["again"] = marks["later"].copy()
    marks["earlier"] &= ~marks["now"]
    marks["later"] &= ~marks["now"] & ~marks["earlier"]
    return _Kinds(**marks)


def _check(point: Point, edit: Edit, entry: Pass, kinds: _Kinds) -> None:
    """Raise EditError for whatever this edit cannot do here."""
    job = point.job
    positions = np.array(edit.positions, dtype=np.int64)
    if positions.size and positions[-1] >= job.length:
        raise EditError(f"{named({int(positions[-1])})} is not on the canvas of {job.length}.")
    given = ~(kinds.now | kinds.later | kinds.earlier)
    _refuse(positions, given, "{} belong{s} to the prompt, which a fork keeps: change it in the form.")
    renoise = np.array(edit.renoise, dtype=np.int64)
    _refuse(
        renoise,
        kinds.earlier,
        "{} {is} in text that is finished: go back to a pass in which {they} {are} written, and re-noise there.",
    )
    frozen = job.frozen[0].cpu().numpy()
    held = frozen.copy()
    held[list(edit.release)] = False
    _refuse(renoise, held, "{} {is} frozen: release {them} as well.")
    if renoise.size and _reviewing(entry, point):
        raise EditError(
            "The block is a clean proposal under review here, and what is re-noised is the corrector's choice: "
            "re-noise after that, or force or freeze tokens here."
        )
    held_or_let = np.array([*edit.freeze, *edit.release], dtype=np.int64)
    _refuse(
        held_or_let,
        kinds.earlier & ~kinds.again,
        "{} {is} in text that is finished, which no later pass writes.",
    )
    _refuse(np.array(edit.release, dtype=np.int64), ~frozen, "{} {is} not frozen.")
    forced = np.zeros(job.length, dtype=bool)
    forced[[position for position, _ in edit.force]] = True
    noise = kinds.later & ~frozen
    now = job.now
    if now is not None and not _reviewing(entry, point):
        noise[now.segment.start : now.segment.stop] |= now.noise[0].cpu().numpy()
    _refuse(
        np.array(edit.freeze, dtype=np.int64),
        noise & ~forced,
        "{} hold{s} noise: force a token there as well.",
    )
    banned = {token for _, token in edit.force} & set(forbidden_ids(job.model))
    outside = [token for _, token in edit.force if token >= job.model.config.vocab_size]
    if banned or outside:
        raise EditError(f"Token {min(banned or outside)} is none that this model may write.")
    end = job.model.info.end_id
    ends = np.array([position for position, token in edit.force if token == end], dtype=np.int64)
    if not job.settings.fill_canvas:
        _refuse(
            ends,
            kinds.earlier,
            "{} {is} in text that is finished, where the end token would leave text behind it: "
            "force it while its block is written.",
        )


def _refuse(positions: NDArray[np.int64], where: Mask, words: str) -> None:
    """Raise EditError with the `words` if any of the positions is one of those marked in `where` bool [L]."""
    found = {int(position) for position in positions if where[position]}
    if not found:
        return
    one = len(found) == 1
    told = words.format(
        named(found),
        s="s" if one else "",
        they="it" if one else "they",
        them="it" if one else "them",
        are="is" if one else "are",
        **{"is": "is" if one else "are"},
    )
    raise EditError(told)


def _reviewing(entry: Pass, point: Point) -> bool:
    phase = entry.phase if point.event is None else point.event.phase
    return phase in UNDER_REVIEW


def _fresh_noise(job: Job, edit: Edit, seed: int) -> NDArray[np.int64]:
    """Noise for the canvas, int64 [L]: from a generator of the edit's own, so that the run's draws stay as they are."""
    digest = hashlib.sha256(f"blockviz edit {seed} {edit.at}".encode()).digest()
    draws = GeneratorDraws(int.from_bytes(digest[:7], "big"), job.canvas.device)
    return job.model.process.prior((1, job.length), draws)[0].cpu().numpy()


def _forget(point: Point, position: int) -> None:
    """Have keys and values computed again from the changed token on (from its block, where tokens see whole blocks)."""
    job = point.job
    if not job.model.config.x0_causal:
        size = job.segments[0].block_size if job.now is None else job.now.segment.block_size
        position = position // size * size
    point.denoiser.forget_from(position)


def _change_settings(point: Point, settings: SamplerSettings, edit: Edit) -> None:
    """Have `settings` hold from here on, in the plan of what is to come as well."""
    job, model = point.job, point.job.model
    validate(settings, model.info.length, model.config.x0_causal, model.info.process)
    if "seed" in edit.settings:
        point.draws.reseed(settings.seed)
    job.settings = settings
    job.denoiser.temperature = settings.temperature
    point.recorder.temperature = settings.temperature
    now = job.now
    if now is None:
        return
    index = next(i for i, segment in enumerate(job.segments) if segment is now.segment)
    rest = plan(model, settings, ~job.given.cpu())[index + 1 :]
    job.segments[index + 1 :] = [on_device(one, job.denoiser.device) for one in rest]
    check_passes(settings, job.segments, job.length)
    # The steps under way keep number and noise levels; which of them are corrected is as the new settings have it.
    corrected, total = settings.corrector != "none" and now.segment.corrected, len(now.segment.steps)
    now.steps = [
        (i, replace(level, guided=corrected and is_guided(i, total, settings.warmup, settings.every)))
        for i, level in now.steps
    ]


def _change_window(job: Job, renoised: Mask, forced: Mask) -> Mask | None:
    """Bring the segment in progress to what the edit left; bool [W] what may be written in it, None where none is."""
    now = job.now
    if now is None:
        return None
    segment = now.segment
    here = slice(segment.start, segment.stop)

    def window(mask: Mask) -> Tensor:
        return torch.from_numpy(mask[here]).to(now.free.device).unsqueeze(0)

    now.free = segment.free & ~job.frozen[:, here]
    now.noise = (now.noise & ~window(forced) | window(renoised)) & now.free
    if renoised[here].any():
        # A threshold may reveal as little as one position in a step; the last step of all others leaves no noise.
        needed = int(now.noise.sum()) if segment.predictor == "threshold" else 1
        last = (len(segment.steps) - 1, segment.steps[-1])
        now.steps += [last] * (needed - len(now.steps))
    elif not bool(now.free.any()):
        now.steps.clear()
    return now.free[0].cpu().numpy()
