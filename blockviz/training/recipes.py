"""Named recipes: everything that determines a training run apart from the machine it runs on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from blockviz.diffusion.processes import Process
from blockviz.diffusion.schedules import Schedule

CorpusName = Literal["math"]


@dataclass(frozen=True)
class Recipe:
    """One training run.

    `canvas` in tokens; `batch` in sequences per optimiser step over all processes; `steps` in optimiser steps;
    `practice_start`, `practice_end` are shares of bare-arithmetic rows at the first step and from `practice_until`
    (a share of the steps) on; learning rates are peak values of a linear warm-up and a cosine decay.
    """

    name: str
    process: Process
    corpus: CorpusName = "math"
    canvas: int = 128
    hidden_size: int = 128
    n_blocks: int = 6
    n_heads: int = 4
    block_sizes: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 128)
    block_weights: tuple[float, ...] = (0.25, 0.10, 0.10, 0.15, 0.20, 0.10, 0.10)
    schedule: Schedule = "log-linear"
    steps: int = 5500
    batch: int = 32
    muon_rate: float = 2e-2
    adamw_rate: float = 2e-3
    warmup_steps: int = 100
    final_rate: float = 0.02
    gradient_clip: float = 1.0
    ema_decay: float = 0.999
    practice_start: float = 0.6
    practice_end: float = 0.08
    practice_until: float = 0.5
    seed: int = 0

    def practice_share(self, step: int) -> float:
        """Share of practice rows at an optimiser step."""
        progress = min(1.0, step / max(1.0, self.practice_until * self.steps))
        return self.practice_start + (self.practice_end - self.practice_start) * progress


RECIPES: dict[str, Recipe] = {
    "math-masked": Recipe(name="math-masked", process="masked"),
    "math-uniform": Recipe(name="math-uniform", process="uniform"),
}
