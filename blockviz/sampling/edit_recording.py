"""The pass of phase `edit`: what the record says of a canvas that a person changed between two passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockviz.sampling.passes import REASON_CODE, STATE_CODE, TOP, Pass
from blockviz.sampling.recorder import NOISE_STATES, Recorder

S, R = STATE_CODE, REASON_CODE
_SETTLED = [S["committed"], S["after_end"]]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Touch:
    """What an edit did to the canvas: `tokens` int64 [L] as they stand now, and bool [L] what was done where.

    `unopened` are released positions of a block not yet open, which are noise again. `free` bool [W] is what may be
    written in the active window from here on, None where no window is open.
    """

    tokens: NDArray[np.int64]
    renoised: Mask
    unopened: Mask
    forced: Mask
    frozen: Mask
    released: Mask
    free: Mask | None


def record_edit(recorder: Recorder, entry: Pass, touch: Touch) -> Pass:
    """The pass after `entry` in which the edit was made; the recorder goes on from there.

    What the latest prediction said of the window stays. Of a forced token only the probability is known that it has
    as a recorded candidate; a re-noised position has that of its best candidate, as noise always has.
    """
    recorder.tokens = touch.tokens.astype(np.int32)
    columns, start, stop = _columns(recorder, touch)
    _restate(recorder, touch)
    window = recorder.window
    if window is not None and touch.free is not None:
        segment = window.segment
        here = slice(segment.start - start, segment.stop - start)
        changed = (touch.renoised | touch.forced)[segment.start : segment.stop]
        window.confidence = np.where(changed, columns["confidence"][here], window.confidence)
    reasons = np.full(stop - start, R["none"], np.uint8)
    reasons[recorder.states[start:stop] == S["prompt"]] = R["prompt"]
    reasons[touch.renoised[start:stop]] = R["renoised"]
    reasons[touch.forced[start:stop]] = R["forced"]
    return Pass.record(
        "edit",
        tokens=recorder.tokens,
        states=recorder.states,
        start=start,
        stop=stop,
        block=entry.block,
        step=entry.step,
        alpha_t=entry.alpha_t,
        alpha_s=entry.alpha_s,
        temperature=recorder.temperature,
        nfe_denoise=entry.nfe_denoise,
        nfe_verify=entry.nfe_verify,
        cached=entry.cached + (entry.clean if recorder.use_cache else 0),
        k=int(touch.renoised.sum()),
        reasons=reasons,
        checks=recorder.check(),
        **columns,
    )


def _columns(recorder: Recorder, touch: Touch) -> tuple[dict[str, Any], int, int]:
    """What the latest prediction said, over [start, stop): the active window and whatever the edit touched."""
    touched = np.flatnonzero(touch.renoised | touch.forced | touch.frozen | touch.released)
    window = recorder.window
    spans = [] if window is None else [(window.segment.start, window.segment.stop)]
    spans += [(int(touched[0]), int(touched[-1]) + 1)] if touched.size else []
    start, stop = (min(a for a, _ in spans), max(b for _, b in spans)) if spans else (0, 0)
    columns: dict[str, Any] = {
        "confidence": np.full(stop - start, np.nan, np.float32),
        "entropy": np.full(stop - start, np.nan, np.float32),
        "top_ids": np.full((stop - start, TOP), -1, np.int64),
        "top_probs": np.zeros((stop - start, TOP), np.float32),
    }
    if window is not None:
        for name, values in columns.items():
            values[window.segment.start - start : window.segment.stop - start] = getattr(window, name)
    ids, probs, confidence = columns["top_ids"], columns["top_probs"], columns["confidence"]
    said = ids == touch.tokens[start:stop, None]
    known = np.where(said.any(axis=1), (probs * said).sum(axis=1), np.nan)
    np.copyto(confidence, known, where=touch.forced[start:stop], casting="same_kind")
    doubt = np.where(ids[:, 0] >= 0, probs[:, 0], np.nan)
    np.copyto(confidence, doubt, where=touch.renoised[start:stop], casting="same_kind")
    return columns, start, stop


def _restate(recorder: Recorder, touch: Touch) -> None:
    """Bring the states of the canvas, and what the recorder holds of the window, to what was done."""
    states, window = recorder.states, recorder.window
    settled = np.isin(states, _SETTLED)
    states[touch.renoised] = S["renoised"]
    states[touch.forced & ~settled] = S["revealed"]
    states[touch.released & ~touch.renoised & ~touch.forced] = S["kept"]
    states[touch.unopened] = S["unopened"]
    if window is not None and touch.free is not None:
        here = slice(window.segment.start, window.segment.stop)
        kept = slice(window.segment.start, window.segment.keep)
        closed = settled[kept][window.free[: window.segment.keep - window.segment.start]].all()
        window.free = touch.free
        if closed and not touch.renoised[here].any():
            recorder.settle()
        elif closed:
            states[here][states[here] == S["after_end"]] = S["committed"]
    states[touch.frozen] = S["committed"]
    if window is not None and touch.free is not None:
        window.states = states[here].copy()
        window.noise = NOISE_STATES[window.states] & window.free
