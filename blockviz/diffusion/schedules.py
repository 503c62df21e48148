"""Noise schedules, time grids and reveal counts.

`alpha(t)` is the share of clean tokens left at time `t`: 1 at t = 0 (clean) and `EPS` at t = 1 (pure noise). MATHS.md,
"The two noise processes".
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal

import torch

Schedule = Literal["log-linear", "cosine"]

RevealSchedule = Literal["linear", "cosine"]
Counting = Literal["ceil", "floor"]

SCHEDULES: tuple[Schedule, ...] = ("log-linear", "cosine")

EPS = 1e-3
"""What is left of the clean tokens at t = 1, so that no logarithm or quotient of alpha is ever taken at zero."""

LAST_TIME = 1e-5
"""Where the time grid ends; the step that reaches it is taken to alpha_s = 1, so nothing stays noise."""


def alpha(schedule: Schedule, t: torch.Tensor) -> torch.Tensor:
    """Share of clean tokens at time `t` in [0, 1]; same shape and dtype as `t`.

    log-linear `EPS + (1 - EPS)(1 - t)`, cosine `EPS + (1 - EPS)(1 - cos(pi/2 (1 - t)))`. Raises ValueError for an
    unknown schedule.
    """
    if schedule == "log-linear":
        return EPS + (1 - EPS) * (1 - t)
    if schedule == "cosine":
        return EPS + (1 - EPS) * (1 - torch.cos(math.pi / 2 * (1 - t)))
    raise _unknown(schedule)


def dalpha(schedule: Schedule, t: torch.Tensor) -> torch.Tensor:
    """Derivative of `alpha` with respect to `t` (never positive); same shape and dtype as `t`.

    Raises ValueError for an unknown schedule.
    """
    if schedule == "log-linear":
        return torch.full_like(t, -(1 - EPS))
    if schedule == "cosine":
        return -(1 - EPS) * math.pi / 2 * torch.sin(math.pi / 2 * (1 - t))
    raise _unknown(schedule)


def time_grid(steps: int) -> torch.Tensor:
    """The times of a block's `steps` steps: float64 [steps + 1] from 1 down to `LAST_TIME`.

    Raises ValueError unless `steps` is at least 1.
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, not {steps}")
    return torch.linspace(1.0, LAST_TIME, steps + 1, dtype=torch.float64)


def alpha_pairs(schedule: Schedule, steps: int) -> list[tuple[float, float]]:
    """(alpha_t, alpha_s) of each step of a block, first step first; the last alpha_s is exactly 1.

    Raises ValueError for an unknown schedule or fewer than one step.
    """
    alphas: list[float] = alpha(schedule, time_grid(steps)).tolist()
    alphas[-1] = 1.0
    return list(pairwise(alphas))


def renoise_count(alpha_s: float, free: int) -> int:
    """How many of the `free` (not prompt) positions of a block a corrector re-noises at a guided step.

    `max(1, round((1 - alpha_s) * free))`, and 0 when nothing is free. MATHS.md, samplers, item 4 and trap 7.
    """
    if free <= 0:
        return 0
    return min(free, max(1, round((1 - alpha_s) * free)))


def reveal_target(step: int, steps: int, count: int, reveal: RevealSchedule, counting: Counting) -> int:
    """How many of `count` positions are revealed once `step` (1..`steps`) of a block is done.

    linear `step count / steps`, cosine `count (1 - cos(pi/2 step / steps))`, rounded up ("ceil") or down ("floor");
    all of them at the last step. MATHS.md, samplers, items 1 to 3. Raises ValueError for a step out of range or
    unknown names.
    """
    if not 1 <= step <= steps:
        raise ValueError(f"step must be from 1 to {steps}, not {step}")
    if counting not in ("ceil", "floor"):
        raise ValueError(f"counting must be ceil or floor, not {counting!r}")
    if step == steps:
        return count
    if reveal == "linear":  # in whole numbers: 0.28 * 25 is more than 7 in floating point
        return -(-step * count // steps) if counting == "ceil" else step * count // steps
    if reveal != "cosine":
        raise ValueError(f"reveal schedule must be linear or cosine, not {reveal!r}")
    share = round(count * (1 - math.cos(math.pi / 2 * step / steps)), 9)
    return math.ceil(share) if counting == "ceil" else math.floor(share)


def _unknown(schedule: str) -> ValueError:
    return ValueError(f"noise schedule must be one of {', '.join(SCHEDULES)}, not {schedule!r}")
