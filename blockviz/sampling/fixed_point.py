"""Fixed point: the steps on which the numbers of a pass lie, so that memory, file and page hold the same ones.

Probabilities are rounded to 1e-4 (those of candidates to 1e-3), nats and scores to 1e-3 and clipped to +-99.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

PROBABILITY_SCALE = 10_000.0
TOP_SCALE = 1_000.0
SCORE_SCALE = 1_000.0
SCORE_LIMIT = 99.0

Scale: TypeAlias = float | NDArray[np.float64]
"""Steps to 1: of one quantity, or [C] of the columns of a table."""


class Steps(NamedTuple):
    """`scale` steps to 1 between `lowest` and `highest`."""

    lowest: float
    highest: float
    scale: float


CONFIDENCE = Steps(0.0, 1.0, PROBABILITY_SCALE)
ENTROPY = Steps(-SCORE_LIMIT, SCORE_LIMIT, SCORE_SCALE)
AR_LOGPROB = Steps(-SCORE_LIMIT, 0.0, SCORE_SCALE)
SCORE = Steps(-SCORE_LIMIT, SCORE_LIMIT, SCORE_SCALE)


def on_steps(values: NDArray[Any], steps: Steps) -> NDArray[np.float32]:
    """`values` (NaN allowed) clipped and rounded, as read-only float32; -0 becomes 0."""
    numbers = np.maximum(values, steps.lowest, dtype=np.float64)
    np.minimum(numbers, steps.highest, out=numbers)
    numbers[np.isnan(numbers)] = np.nan  # one NaN, whatever its bits were
    return rounded(numbers, steps.scale)


def rounded(values: NDArray[np.float64], scale: Scale) -> NDArray[np.float32]:
    """`values` that need no clipping, rounded, as read-only float32; -0 becomes 0."""
    numbers = values * scale
    return unscaled(np.rint(numbers, out=numbers), scale)


def unscaled(numbers: NDArray[np.float64], scale: Scale) -> NDArray[np.float32]:
    """Numbers of steps (float64, NaN allowed) as read-only float32: the one place that maps steps to values."""
    return frozen(((numbers + 0.0) / scale).astype(np.float32))


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    """The array itself, read-only from now on."""
    values.flags.writeable = False
    return values
