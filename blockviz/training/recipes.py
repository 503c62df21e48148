"""Named recipes: everything that determines a training run apart from the machine it runs on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from blockviz.diffusion.processes import Process
from blockviz.diffusion.schedules import Schedule
from blockviz.training.curriculum import Curriculum
from blockviz.training.seams import Seams

Loss = Literal["ce", "elbo"]
CorpusName = Literal["math", "stories"]

FINAL_RATE = 0.02


@dataclass(frozen=True)
class Stage:
    """A stretch of `steps` optimiser steps with its own mixture of block sizes.

    The learning rate is a share of its peak: from `rate` it follows a cosine that would reach `FINAL_RATE` after
    `rate_steps`, behind a linear warm-up of `warmup_steps`. The share of practice rows goes linearly from
    `practice_start` to `practice_end` within `practice_steps`.
    """

    steps: int
    block_weights: tuple[float, ...]
    rate: float = 1.0
    rate_steps: int = 0
    warmup_steps: int = 0
    practice_start: float = 0.6
    practice_end: float = 0.08
    practice_steps: int = 1

    def rate_factor(self, offset: int) -> float:
        """Learning rate at a step of the stage, as a share of its peak."""
        if offset < self.warmup_steps:
            return self.rate * (offset + 1) / self.warmup_steps
        span = max(1, (self.rate_steps or self.steps) - self.warmup_steps)
        progress = min(1.0, (offset - self.warmup_steps) / span)
        return FINAL_RATE + (self.rate - FINAL_RATE) * (1 + math.cos(math.pi * progress)) / 2

    def practice_share(self, offset: int) -> float:
        """Share of practice rows at a step of the stage."""
        progress = min(1.0, offset / self.practice_steps)
        return self.practice_start + (self.practice_end - self.practice_start) * progress


@dataclass(frozen=True)
class Recipe:
    """One training run: `stages` one after the other, from fresh weights or from those another recipe ended with.

    The optimiser's state comes along where it `keeps_optimiser`. A recipe `from_decoder` overlays a published causal
    decoder, whose shape and tokenizer it takes.
    `canvas` in tokens; `batch` in sequences per optimiser step over all processes; `muon_rate` and `adamw_rate` are
    the peak learning rates of the trunk's matrices and of the rest; `muon_decay` is the matrices' weight decay.
    `vocabulary` is the size of a tokenizer learned from the text; the word problems have their own. `losses` has one
    entry per block size, none meaning cross-entropy everywhere. `curriculum` moves the noise of the rows trained by
    cross-entropy from heavy to light (the bound needs even times), `seams` shifts some rows' blocks.
    """

    name: str
    process: Process
    stages: tuple[Stage, ...]
    starts_from: str | None = None
    keeps_optimiser: bool = False
    from_decoder: bool = False
    block_sizes: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 128)
    corpus: CorpusName = "math"
    canvas: int = 128
    hidden_size: int = 128
    n_blocks: int = 6
    n_heads: int = 4
    schedule: Schedule = "log-linear"
    batch: int = 32
    muon_rate: float = 2e-2
    adamw_rate: float = 2e-3
    muon_decay: float = 0.0
    gradient_clip: float = 1.0
    ema_decay: float = 0.999
    seed: int = 0
    vocabulary: int = 2048
    validation_rows: int = 256
    losses: tuple[Loss, ...] = ()
    curriculum: Curriculum | None = None
    seams: Seams | None = None

    def __post_init__(self) -> None:
        if self.losses and len(self.losses) != len(self.block_sizes):
            raise ValueError(f"{len(self.block_sizes)} block sizes but {len(self.losses)} losses")

    @property
    def steps(self) -> int:
        """Optimiser steps of all stages."""
        return sum(stage.steps for stage in self.stages)

    def stage_at(self, step: int) -> tuple[Stage, int]:
        """The stage an optimiser step belongs to, and the step's number in it; the last stage has no end."""
        for stage in self.stages[:-1]:
            if step < stage.steps:
                return stage, step
            step -= stage.steps
        return self.stages[-1], step

    @property
    def lineage(self) -> tuple[Recipe, ...]:
        """This recipe behind those it starts from, in the order in which they are run."""
        before = RECIPES[self.starts_from].lineage if self.starts_from is not None else ()
        return (*before, self)

    def loss_of(self, block_size: int) -> Loss:
        """What the rows of a block size are trained by."""
        return self.losses[self.block_sizes.index(block_size)] if self.losses else "ce"

    def scaled(self, share: float) -> Recipe:
        """The same course in fewer or more optimiser steps: every stage takes this share of its own."""
        stages = tuple(
            replace(
                stage,
                steps=max(1, round(stage.steps * share)),
                rate_steps=round(stage.rate_steps * share),
                warmup_steps=round(stage.warmup_steps * share),
                practice_steps=max(1, round(stage.practice_steps * share)),
            )
            for stage in self.stages
        )
        return replace(self, stages=stages)

    def with_steps(self, steps: int) -> Recipe:
        """The last stage's mixture alone, from fresh weights, for a trial of another length."""
        stage = replace(
            self.stages[-1], steps=steps, rate=1.0, rate_steps=0, warmup_steps=min(100, steps // 10)
        )
        return replace(self, stages=(stage,), starts_from=None, keeps_optimiser=False)


# First the arithmetic tables, with much practice and every block size; then the stories, more and more of them left to
# right: that mode is the cheapest and learns fastest what a story asks for, and the larger blocks share it.
BASE_STAGES = (
    Stage(
        steps=2500,
        block_weights=(0.25, 0.10, 0.10, 0.15, 0.20, 0.10, 0.10),
        rate_steps=5500,
        warmup_steps=100,
        practice_steps=2750,
    ),
    Stage(
        steps=2250,
        block_weights=(0.50, 0.06, 0.06, 0.08, 0.18, 0.06, 0.06),
        rate=0.6,
        rate_steps=4600,
        practice_start=0.12,
        practice_end=0.05,
        practice_steps=3000,
    ),
    Stage(
        steps=2900,
        block_weights=(0.72, 0.03, 0.03, 0.04, 0.14, 0.02, 0.02),
        rate=0.32,
        practice_start=0.06,
        practice_end=0.04,
        practice_steps=2900,
    ),
)

# The second stage follows the first one's rate, falls faster, and gives the larger blocks more rows.
MATH_STAGES = (
    Stage(
        steps=5000,
        block_weights=(0.62, 0.04, 0.04, 0.06, 0.16, 0.05, 0.03),
        rate=0.6,
        rate_steps=9000,
        warmup_steps=100,
        practice_start=0.05,
        practice_end=0.05,
    ),
    Stage(
        steps=2500,
        block_weights=(0.50, 0.05, 0.05, 0.07, 0.24, 0.06, 0.03),
        rate=0.26,
        practice_start=0.05,
        practice_end=0.05,
    ),
)

# Stories: half of the rows left to right, which is where reading is learned; block size 16 is what the page shows.
STORY_BASE_STAGES = (
    Stage(
        steps=2000,
        block_weights=(0.50, 0.05, 0.05, 0.08, 0.20, 0.06, 0.06),
        rate_steps=4800,
        warmup_steps=100,
    ),
    Stage(
        steps=1600,
        block_weights=(0.46, 0.04, 0.05, 0.08, 0.25, 0.06, 0.06),
        rate=0.65,
    ),
)
STORY_STAGES = (
    Stage(
        steps=1900,
        block_weights=(0.42, 0.04, 0.05, 0.09, 0.27, 0.07, 0.06),
        rate=0.5,
        warmup_steps=100,
    ),
)
# Once more from the top of the rate; the last stretch takes over where its cosine is left. The bundled models began it
# with weights that had been rounded to 16 bits.
STORY_LONG_STAGES = (
    Stage(
        steps=4500,
        block_weights=(0.45, 0.04, 0.05, 0.08, 0.26, 0.06, 0.06),
        rate=0.5,
        rate_steps=8000,
        warmup_steps=100,
    ),
)
STORY_LAST_STAGES = (Stage(steps=2200, block_weights=(0.42, 0.04, 0.05, 0.09, 0.28, 0.06, 0.06), rate=0.21),)


def _stories(name: str, process: Process, stages: tuple[Stage, ...], starts_from: str | None) -> Recipe:
    return Recipe(
        name,
        process,
        stages,
        starts_from=starts_from,
        corpus="stories",
        hidden_size=192,
        n_blocks=5,
        n_heads=3,
        batch=24,
        muon_decay=0.05,
        seed=0 if starts_from is None else 1,
        validation_rows=48,
        # The models that are sampled from also meet the seams that overlapping and repaired blocks have.
        seams=None if starts_from is None else Seams(0.15),
    )


def _last_of_stories(name: str, process: Process) -> Recipe:
    return replace(_stories(name, process, STORY_LAST_STAGES, "stories-base-3"), seed=3, keeps_optimiser=True)


def _overlay(name: str, process: Process) -> Recipe:
    return replace(
        _stories(name, process, STORY_STAGES, None),
        from_decoder=True,
        curriculum=Curriculum(3.0, 1.0),
        # A trained trunk is to be bent, not to be thrown away.
        muon_rate=2e-3,
        adamw_rate=2e-4,
    )


RECIPES: dict[str, Recipe] = {
    # Uniform noise learned to read the stories twice as fast as masked noise, so both models start from it.
    "math-base": Recipe("math-base", "uniform", BASE_STAGES),
    "math-masked": Recipe(
        "math-masked", "masked", MATH_STAGES, starts_from="math-base", muon_decay=0.05, seed=1
    ),
    "math-uniform": Recipe(
        "math-uniform", "uniform", MATH_STAGES, starts_from="math-base", muon_decay=0.05, seed=1
    ),
    # An AR model, and denoisers overlaid on AR models: on our own, and on published decoders.
    "stories-ar": replace(
        _stories("stories-ar", "uniform", (Stage(1000, (1.0,), warmup_steps=100),), None), block_sizes=(1,)
    ),
    "stories-overlay": replace(
        _stories("stories-overlay", "uniform", STORY_STAGES, "stories-ar"),
        keeps_optimiser=True,
        # Nearly pure noise is what an AR model's reading already fits.
        curriculum=Curriculum(3.0, 1.0),
    ),
    "overlay-masked": _overlay("overlay-masked", "masked"),
    "overlay-uniform": _overlay("overlay-uniform", "uniform"),
    # One network for both kinds of noise as long as it pays, since block size 1 is the same to both.
    "stories-base": _stories("stories-base", "uniform", STORY_BASE_STAGES, None),
    "stories-base-2": _stories("stories-base-2", "uniform", STORY_STAGES, "stories-base"),
    "stories-base-3": replace(
        _stories("stories-base-3", "uniform", STORY_LONG_STAGES, "stories-base-2"), seed=2
    ),
    "stories-masked": _last_of_stories("stories-masked", "masked"),
    "stories-uniform": _last_of_stories("stories-uniform", "uniform"),
}
