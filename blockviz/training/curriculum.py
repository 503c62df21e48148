"""The corruption curriculum: which noise levels training draws, heavy ones first and lighter ones as it goes on.

A time t in [0, 1] is drawn with density k t^(k - 1), as t = u^(1/k) of an even draw u: k = 1 is even, a larger k
prefers heavy noise, a smaller one light noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

# Noise levels are counted in as many equal intervals from 0 (clean) to 1 (all noise).
LEVELS = 20


@dataclass(frozen=True)
class Curriculum:
    """k goes from `start` to `end` by equal factors within `steps` optimiser steps (0: the whole run), and stays.

    Raises ValueError unless both are positive and `start` is at least `end`, for noise moves from heavy to light.
    """

    start: float = 3.0
    end: float = 0.8
    steps: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.end <= self.start or self.steps < 0:
            raise ValueError(
                f"a curriculum goes from heavy to light, start >= end > 0, not {self.start:g} to {self.end:g}"
            )

    def exponent(self, step: int, run_steps: int) -> float:
        """k at an optimiser step of a run of `run_steps`."""
        progress = min(1.0, step / max(1, self.steps or run_steps - 1))
        return self.start * (self.end / self.start) ** progress


def count_levels(alpha: Tensor, counted: Tensor) -> Tensor:
    """How many of the `counted` positions (bool) have a noise level 1 - `alpha` in each interval; float64 [LEVELS]."""
    levels = (1 - alpha[counted]).clamp(0, 1)
    return torch.histc(levels.float().cpu(), LEVELS, 0.0, 1.0).double()
