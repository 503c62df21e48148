"""Times two ways of doing the same work beside each other, so that a busy machine meets both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

Work = Callable[[], object]


def seconds(work: Work) -> float:
    """Wall time of one call, in seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ratio(work: Work, reference: Work, rounds: int, calls: int = 1) -> tuple[float, float, float]:
    """Median over `rounds` of time(work) / time(reference), and the two median times of one call in seconds.

    The two alternate, each `calls` times in a row, and each round gives one ratio: a change in the machine's speed
    meets both. One round before the first is not counted.
    """
    pairs = []
    for _ in range(rounds + 1):
        ours = sum(seconds(work) for _ in range(calls)) / calls
        theirs = sum(seconds(reference) for _ in range(calls)) / calls
        pairs.append((ours, theirs))
    kept = pairs[1:]
    return (
        statistics.median(ours / theirs for ours, theirs in kept),
        statistics.median(ours for ours, _ in kept),
        statistics.median(theirs for _, theirs in kept),
    )


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1))]
