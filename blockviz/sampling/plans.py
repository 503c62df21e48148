"""Block plans: which windows of the canvas a run writes, in which order, and in which steps.

A plan is a function from settings, prompt lengths and geometry to segments. `run.py` walks through the segments and
asks nothing else, so that another sampler is another plan (MATHS.md, "Samplers of the sources"):

- whole-canvas reveal and infilling: one segment over the whole canvas, `free` where tokens may be written;
- blockwise reveal over a bidirectional canvas: segments over the whole canvas, `free` in the active block only;
- overlapping blocks: segments whose starts advance by less than their width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """One window `start..stop` (the noisy stream of its passes), written in `steps` by the named predictor.

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


Plan = Callable[[SamplerSettings, Sequence[int], int, Schedule], list[Segment]]


def is_guided(step: int, steps: int, warmup: int, every: int) -> bool:
    """Whether a corrector acts at `step` of `steps`: from the warm-up on, every n-th, never the last (MATHS.md, 4)."""
    return warmup <= step < steps - 1 and (step - warmup) % every == 0


def block_size_of(settings: SamplerSettings) -> int:
    """Positions per block of a run: 1 where every token is its own block."""
    return 1 if settings.predictor == "autoregressive" else settings.block_size


def blocks(
    settings: SamplerSettings, prompts: Sequence[int], length: int, schedule: Schedule
) -> list[Segment]:
    """AR for the first `ar_prefix` tokens after the prompt, then block after block to the end of the canvas.

    Blocks are absolute (position // block_size), so a prompt or prefix may end inside one, which then continues with
    those positions fixed; the last block is short where the block size does not divide the canvas.
    """
    size = settings.block_size
    begins = [min(prompt + settings.ar_prefix, length) for prompt in prompts]
    segments = _tokens(prompts, begins, schedule, size) if settings.ar_prefix else []
    corrected = settings.corrector != "none"
    steps = tuple(
        StepPlan(
            alpha_t, alpha_s, corrected and is_guided(i, settings.steps, settings.warmup, settings.every)
        )
        for i, (alpha_t, alpha_s) in enumerate(alpha_pairs(schedule, settings.steps))
    )
    first = torch.tensor(begins).unsqueeze(1)
    for start in range(min(begins) // size * size, length, size):
        stop = min(start + size, length)
        free = torch.arange(start, stop) >= first
        if bool(free.any()):
            segments.append(Segment(start, stop, start // size, size, settings.predictor, steps, free))
    return segments


def tokens(
    settings: SamplerSettings, prompts: Sequence[int], length: int, schedule: Schedule
) -> list[Segment]:
    """One token after the other to the end of the canvas, one step each: the block plan of AR."""
    return _tokens(prompts, [length] * len(prompts), schedule, 1)


def _tokens(begins: Sequence[int], ends: Sequence[int], schedule: Schedule, row_size: int) -> list[Segment]:
    alpha_t = float(alpha(schedule, torch.tensor(1.0, dtype=torch.float64)))
    step = (StepPlan(alpha_t, 1.0),)
    first, last = torch.tensor(begins), torch.tensor(ends)
    segments = []
    for position in range(min(begins), max(ends)):
        free = ((first <= position) & (position < last)).unsqueeze(1)
        if bool(free.any()):
            segments.append(
                Segment(position, position + 1, position // row_size, 1, "autoregressive", step, free)
            )
    return segments


PLANS: dict[str, Plan] = {"ancestral": blocks, "autoregressive": tokens}
"""The block plan of every choice of the setting `predictor`."""
