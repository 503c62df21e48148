"""Which pass of one run stands beside a pass of another, so that several play under one scrubber.

Every pass has a time on an axis; beside pass k of the run that leads (the one that lasts longest) stands the last pass
that is over by then, and a run that is over keeps its last pass. `assets/align.js` is the twin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from blockviz.sampling.trace import Trace

Axis = Literal["pass", "nfe", "block", "share", "ms"]
AXES: tuple[Axis, ...] = get_args(Axis)
NEAR = 1e-9
"""Times that differ by less are one: 1/3 of 6 positions and 2/6 of them."""

Times = NDArray[np.float64]


def times(trace: Trace, axis: Axis) -> Times:
    """The time at the end of every pass, float64 [P], never falling.

    In passes; in network calls; in milliseconds of the machine that ran it; for "share" as a share of all passes. For
    "block" in canvas positions: the end of the block before, plus as much of this block as the share of its passes, so
    that equal blocks stand beside each other, and a block of 32 beside the eight blocks of 4 that fill the same place.
    """
    count = len(trace.passes)
    if axis == "pass":
        return np.arange(count, dtype=np.float64)
    if axis == "share":
        return np.arange(count) / max(1, count - 1)
    if axis == "nfe":
        return (trace.column("nfe_denoise") + trace.column("nfe_verify")).astype(np.float64)
    if axis == "ms":
        return np.cumsum([max(0.0, entry.ms) for entry in trace.passes])
    return _places(trace)


def _places(trace: Trace) -> Times:
    passes = trace.passes
    reached = float(trace.header.prompt_length)
    out = np.full(len(passes), reached)
    k = 1
    while k < len(passes):
        window = (passes[k].start, passes[k].stop)
        after = k
        while after < len(passes) and (passes[after].start, passes[after].stop) == window:
            after += 1
        width = max(0.0, window[1] - reached)
        out[k:after] = [reached + width * ((i - k + 1) / (after - k)) for i in range(k, after)]
        reached += width
        k = after
    return out


def pass_at(own: Times, time: float) -> int:
    """The last pass that is over at a time; the first one where none is."""
    return max(0, int(np.searchsorted(own, time + NEAR, side="right")) - 1)


def leading(runs: Sequence[Times]) -> int:
    """The index of the run that lasts longest; of those that end together, the first with most passes."""
    longest = max(own[-1] for own in runs)
    ending = [index for index, own in enumerate(runs) if own[-1] >= longest - NEAR]
    return max(ending, key=lambda index: (len(runs[index]), -index))


def beside(lead: Times, k: int, own: Times) -> tuple[int, bool]:
    """The pass of a run with times `own` beside pass `k` of the lead, and whether that run is over already (held).

    The lead itself (`own is lead`) stands at `k`.
    """
    if own is lead:
        return k, False
    time = float(lead[k])
    return pass_at(own, time), time > own[-1] + NEAR
