"""Reads numbers, passes and positions out of a recorded run for the chapters of Learn."""

from __future__ import annotations

import numpy as np

from blockviz.sampling.passes import REASON_CODE, STATE_CODE
from blockviz.sampling.trace import Trace
from blockviz.ui.learn.chapter import Pick, Rule
from blockviz.views.comparison import FINAL

CALLS = ("denoise", "propose", "verify")
"""Phases with a network call."""
_IN_PLACE = [STATE_CODE[name] for name in ("proposed", "revealed", "kept", "committed")]
_NEW = [STATE_CODE[name] for name in ("revealed", "proposed")]
_NOISE = [STATE_CODE[name] for name in ("noise", "renoised")]
_DRAWN = [REASON_CODE[name] for name in ("revealed", "resampled")]


def calls(trace: Trace) -> int:
    """Network calls of the whole run."""
    return trace.passes[-1].nfe_denoise + trace.passes[-1].nfe_verify


def written(trace: Trace) -> int:
    """Tokens in place at the end of the run, the end token included, what follows it not."""
    return int(np.isin(trace.passes[-1].states, _IN_PLACE).sum())


def verdict(trace: Trace) -> str:
    """The checker's word on the final answer: "right", "wrong" or "unfinished"; "" without a final answer."""
    final = [check.verdict for check in trace.passes[-1].checks if check.text.startswith(FINAL)]
    return final[-1] if final else ""


def drawn(trace: Trace, k: int) -> tuple[int, ...]:
    """Positions that took a token from the prediction in pass `k`."""
    entry = trace.passes[k]
    if entry.phase not in ("denoise", "propose"):
        return ()
    return tuple(int(place) + entry.start for place in np.flatnonzero(np.isin(entry.reasons, _DRAWN)))


def last(trace: Trace) -> int:
    """The last pass."""
    return len(trace.passes) - 1


def fullest(trace: Trace) -> int:
    """The first of the passes in which most tokens came into place for good: of no draft that is thrown back."""
    counts = [len(drawn(trace, k)) if entry.phase == "denoise" else 0 for k, entry in enumerate(trace.passes)]
    return int(np.argmax(counts))


def nth(phase: str, number: int = 0) -> Pick:
    """Chooses the pass of this phase with this number, counted from 0; the last of them where there are fewer."""

    def pick(trace: Trace) -> int:
        found = [k for k, entry in enumerate(trace.passes) if entry.phase == phase]
        return found[min(number, len(found) - 1)]

    return pick


def begins(number: int) -> Pick:
    """Chooses the first pass of the block that is opened as number `number`, counted from 0."""

    def pick(trace: Trace) -> int:
        blocks = list(dict.fromkeys(entry.block for entry in trace.passes[1:]))
        return next(
            k
            for k, entry in enumerate(trace.passes)
            if k and entry.block == blocks[min(number, len(blocks) - 1)]
        )

    return pick


def outlined(rule: Rule, trace: Trace, k: int, listed: tuple[int, ...] = ()) -> tuple[int, ...]:
    """The positions that are outlined after pass `k`, in ascending order; `assets/learn_outline.js` is the twin.

    `new`: drawn from the prediction in this pass; `thrown`: turned back into noise in it; `frozen`: committed, or after
    the end; `block`: the active block; `noise`: noise in the active block; `listed`: those given.
    """
    entry = trace.passes[k]
    if rule == "listed":
        return listed
    if rule == "block":
        return tuple(range(entry.start, entry.stop))
    states = {
        "new": _NEW,
        "thrown": [STATE_CODE["renoised"]],
        "frozen": [STATE_CODE["committed"], STATE_CODE["after_end"]],
        "noise": _NOISE,
    }[rule]
    return tuple(int(position) for position in np.flatnonzero(np.isin(entry.states, states)))


def keys_read(trace: Trace) -> int:
    """Tokens that the network had to work through in all calls of the run: clean ones it carried, and its window.

    A verification carries the window twice, as proposal and as noise tokens.
    """
    return sum(
        entry.clean + (entry.stop - entry.start) * (2 if entry.phase == "verify" else 1)
        for entry in trace.passes
        if entry.phase in CALLS
    )
