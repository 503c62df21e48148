"""What a corrector decided, read from a trace: scores, the chosen positions, the cut, and what AR would have said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from blockviz.sampling.trace import STATE_CODE, Trace

TALLEST = 8.0
"""Nats at which a bar of a surprise is cut off (its number stands in it), so that the others stay visible."""
TOPS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 100.0)
"""Round ends of the score axis, so that it seldom changes while a run grows."""

Moment = Literal["now", "verify", "earlier"]


@dataclass(frozen=True)
class Score:
    """A corrector's score in words: the axis with its unit, what it is, and its short name in hover texts."""

    axis: str
    says: str
    short: str
    unit: str = ""
    capped: bool = False


SCORES: dict[str, Score] = {
    "ar_nll": Score("AR −log p (nats)", "AR −log p of the proposed token, nats", "AR −log p", "nats", True),
    "ar_gap": Score(
        "AR gap to its best (nats)",
        "AR log p of its own best token minus the proposed one's, nats",
        "AR gap",
        "nats",
        True,
    ),
    "ar_entropy": Score("AR entropy (nats)", "Entropy of the AR prediction, nats", "AR entropy", "nats"),
    "kld": Score("KL(AR ‖ diffusion) (nats)", "KL divergence, AR from diffusion, nats", "KL", "nats"),
    "reverse_kld": Score("KL(diffusion ‖ AR) (nats)", "KL divergence, diffusion from AR, nats", "KL", "nats"),
    "tvd": Score("total variation (0 to 1)", "Total variation between AR and diffusion", "total variation"),
    "entropy": Score(
        "diffusion entropy (nats)", "Entropy of the diffusion prediction, nats", "entropy", "nats"
    ),
    "confidence": Score("1 − probability", "1 − probability of the proposed token", "1 − p"),
    "margin": Score("1 − lead of the best", "1 − lead of the best candidate over the second", "1 − lead"),
    "random": Score("random number (0 to 1)", "A random number per token: no information", "random number"),
}


@dataclass(frozen=True)
class Decision:
    """What a corrector decided over a window of W positions [start, stop).

    `scores` float [W] (NaN: not free to change), `chosen` bool [W], `tokens` int [W] the proposal, `choices` int [W]
    the AR model's own best token (-1 unknown) with probability `choice_p`. `moment` says whether it is this pass'
    decision, only its verification, or an `earlier` one of the same block; `source` is the pass it is taken from.
    """

    moment: Moment
    source: int
    block: int
    step: int
    start: int
    stop: int
    tokens: NDArray[np.int32]
    scores: NDArray[np.float32]
    chosen: NDArray[np.bool_]
    choices: NDArray[np.int32]
    choice_p: NDArray[np.float32]
    k: int
    cut: float | None
    corrector: str


def decision(trace: Trace, k: int) -> Decision | None:
    """The decision to show at pass `k`: its own, or else the last one of its block; None where there is none."""
    entry = trace.passes[k]
    if entry.phase == "verify":
        return _verified(trace, k)
    for source in range(k, 0, -1):
        candidate = trace.passes[source]
        if candidate.block != entry.block:
            break
        if candidate.phase == "renoise" and (
            candidate.cut is not None or not candidate.k
        ):  # a seam has no score
            return _decided(trace, source, "now" if source == k else "earlier")
    return None


def _verified(trace: Trace, source: int) -> Decision:
    entry = trace.passes[source]
    return Decision(
        moment="verify",
        source=source,
        block=entry.block,
        step=entry.step,
        start=entry.start,
        stop=entry.stop,
        tokens=entry.tokens[entry.start : entry.stop],
        scores=np.where(
            entry.states[entry.start : entry.stop] == STATE_CODE["prompt"], np.nan, -entry.ar_logprob
        ).astype(np.float32),
        chosen=np.zeros(entry.stop - entry.start, np.bool_),
        choices=entry.top_ids[:, 0],
        choice_p=entry.top_probs[:, 0],
        k=0,
        cut=None,
        corrector="ar_nll",
    )


def _decided(trace: Trace, source: int, moment: Moment) -> Decision:
    entry, before = trace.passes[source], trace.passes[source - 1]
    width = entry.stop - entry.start
    verified = before.phase == "verify" and (before.start, before.stop) == (entry.start, entry.stop)
    return Decision(
        moment=moment,
        source=source,
        block=entry.block,
        step=entry.step,
        start=entry.start,
        stop=entry.stop,
        tokens=before.tokens[entry.start : entry.stop],
        scores=entry.score,
        chosen=entry.states[entry.start : entry.stop] == STATE_CODE["renoised"],
        choices=before.top_ids[:, 0] if verified else np.full(width, -1, np.int32),
        choice_p=before.top_probs[:, 0] if verified else np.zeros(width, np.float32),
        k=entry.k,
        cut=entry.cut,
        corrector=trace.header.settings.corrector,
    )


def score_range(trace: Trace) -> tuple[float, float]:
    """Lowest and highest score to show, over all decisions of a run, so that bars compare between passes."""
    values = [entry.score for entry in trace.passes if entry.phase == "renoise"]
    values += [-entry.ar_logprob for entry in trace.passes if entry.phase == "verify"]
    known = np.concatenate([np.zeros(1, np.float32), *(value[~np.isnan(value)] for value in values)])
    top = float(known.max())
    if SCORES.get(trace.header.settings.corrector, SCORES["ar_nll"]).capped:
        top = min(top, TALLEST)
    return min(0.0, float(known.min())), next((end for end in TOPS if end >= top), top)


def cut_line(scores: NDArray[np.float32], chosen: NDArray[np.bool_], cut: float) -> float:
    """Where to draw the cut: halfway between the lowest chosen score and the highest spared one (ties: at the cut)."""
    spared = scores[~chosen & ~np.isnan(scores)]
    below = spared[spared < cut]
    return (cut + float(below.max())) / 2 if below.size and below.size == spared.size else cut


def is_doubted(shown: Decision, i: int) -> bool:
    """Whether AR's own choice stands under position `i`: a re-noised token, or one that AR disagrees with."""
    if shown.choices[i] < 0 or np.isnan(shown.scores[i]):
        return False
    return bool(shown.chosen[i]) or (shown.moment == "verify" and shown.choices[i] != shown.tokens[i])


def left_is_free(scores: NDArray[np.float32], height: float) -> bool:
    """Whether fewer bars of the left third than of the right third stand above the cut: there its name is put."""
    third = max(1, len(scores) // 3)
    heights = np.nan_to_num(scores, nan=0.0)
    return bool((heights[:third] > height).sum() <= (heights[-third:] > height).sum())
