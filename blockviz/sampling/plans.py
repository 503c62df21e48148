"""Block plans: which windows of the canvas a run writes, in which order, and in which steps.

A plan is a function from settings, what may be written, and a noise schedule to segments. `run.py` walks through the
segments and asks nothing else, so that another sampler is another plan (MATHS.md, "Samplers of the sources").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from blockviz.diffusion.schedules import Schedule, alpha, alpha_pairs
from blockviz.sampling.settings import SamplerSettings


@dataclass(frozen=True)
class StepPlan:
    """One step of a segment: the noise levels around it, and whether a corrector re-noises its proposal."""

    alpha_t: float
    alpha_s: float
    guided: bool = False


@dataclass(frozen=True)
class Segment:
    """One window `start..stop`, written in `steps` by the named predictor.

    `block` is the row of the canvas that the passes belong to; `block_size` shapes the attention between clean
    tokens where that is not token-causal; `free` bool `[N, stop - start]` marks, row by row, what may be written.
    Everything before `start` is clean.
    """

    start: int
    stop: int
    block: int
    block_size: int
    predictor: str
    steps: tuple[StepPlan, ...]
    free: Tensor


Plan = Callable[[SamplerSettings, Tensor, Schedule], list[Segment]]
"""From settings, `free` bool `[N, L]` (what is not given) and the noise schedule to the segments of a run."""


def is_guided(step: int, steps: int, warmup: int, every: int) -> bool:
    """Whether a corrector acts at `step` of `steps`: from the warm-up on, every n-th, never the last (MATHS.md, 4)."""
    return warmup <= step < steps - 1 and (step - warmup) % every == 0


def block_size_of(settings: SamplerSettings) -> int:
    """Positions per block of a run: 1 where every token is its own block."""
    return 1 if settings.predictor == "autoregressive" else settings.block_size


def free_after(prompts: list[int], length: int) -> Tensor:
    """What may be written behind prompts of these lengths on a canvas of `length` positions: bool `[N, length]`."""
    return torch.arange(length) >= torch.tensor(prompts).unsqueeze(1)


def blocks(settings: SamplerSettings, free: Tensor, schedule: Schedule) -> list[Segment]:
    """AR for the `ar_prefix` positions after the prompt, then block after block to the end of the canvas.

    Blocks are absolute (position // block_size), so a prompt or prefix may end inside one, which then continues with
    those positions fixed; the last block is short where the block size does not divide the canvas.
    """
    size, length = settings.block_size, free.shape[1]
    begins = (first_free(free) + settings.ar_prefix).clamp_max(length)
    behind = torch.arange(length) >= begins.unsqueeze(1)
    segments = _tokens(free & ~behind, schedule, size) if settings.ar_prefix else []
    corrected = settings.corrector != "none"
    steps = tuple(
        StepPlan(
            alpha_t, alpha_s, corrected and is_guided(i, settings.steps, settings.warmup, settings.every)
        )
        for i, (alpha_t, alpha_s) in enumerate(alpha_pairs(schedule, settings.steps))
    )
    for start in range(int(begins.min()) // size * size, length, size):
        stop = min(start + size, length)
        window = (free & behind)[:, start:stop]
        if bool(window.any()):
            segments.append(Segment(start, stop, start // size, size, settings.predictor, steps, window))
    return segments


def tokens(settings: SamplerSettings, free: Tensor, schedule: Schedule) -> list[Segment]:
    """One token after the other to the end of the canvas, one step each: the block plan of AR."""
    return _tokens(free, schedule, 1)


def first_free(free: Tensor) -> Tensor:
    """The first position of each row that may be written; the length where there is none. int64 `[N]`."""
    return torch.where(free.any(dim=1), free.int().argmax(dim=1), free.shape[1])


def _tokens(free: Tensor, schedule: Schedule, row_size: int) -> list[Segment]:
    alpha_t = float(alpha(schedule, torch.tensor(1.0, dtype=torch.float64)))
    step = (StepPlan(alpha_t, 1.0),)
    return [
        Segment(
            position,
            position + 1,
            position // row_size,
            1,
            "autoregressive",
            step,
            free[:, position : position + 1],
        )
        for position in free.any(dim=0).nonzero().flatten().tolist()
    ]


PLANS: dict[str, Plan] = {"ancestral": blocks, "autoregressive": tokens}
"""The block plan of every choice of the setting `predictor`."""
