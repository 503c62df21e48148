"""Seams: rows whose blocks lie as a sampler's do while it repairs the boundary between two blocks.

A sampler may advance its window by less than its width, so that the first positions of a window are already written,
or lay a window over the boundary of two finished blocks and re-noise the positions next to it. Both show the network
blocks that do not begin at a multiple of their size, with little noise at some of their positions and much at others,
which no row without a seam does (MATHS.md, "Samplers of the sources", 5).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from blockviz.training.batches import EARLIEST_TIME, Streams

SMALLEST_BLOCK = 4


@dataclass(frozen=True)
class Seams:
    """`share` of the rows in blocks of `SMALLEST_BLOCK` positions or more, but not of the whole canvas, get a seam."""

    share: float = 0.25

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ValueError(f"the share of rows with seams lies between 0 and 1, not {self.share:g}")


@dataclass(frozen=True)
class Seam:
    """Blocks of a row begin `shift` positions before the multiples of the block size.

    "overlap": a block's first `reach` positions were written with the block before. "boundary": all of a block was
    written, and the `reach` positions on either side of the old boundary in its middle are noised again.
    """

    kind: Literal["overlap", "boundary"]
    shift: int
    reach: int


def draw_seams(
    settings: Seams | None, block_sizes: Sequence[int], canvas: int, rng: random.Random
) -> list[Seam | None]:
    """A seam or None for every row."""
    seams: list[Seam | None] = []
    for size in block_sizes:
        if settings is None or not SMALLEST_BLOCK <= size < canvas or rng.random() >= settings.share:
            seams.append(None)
        elif rng.random() < 0.5:
            seams.append(Seam("overlap", rng.randint(1, size - 1), rng.randint(1, size // 2)))
        else:
            seams.append(Seam("boundary", size // 2, rng.randint(1, size // 4)))
    return seams


def lighter_times(
    times: Tensor, streams: Streams, seams: Sequence[Seam | None], generator: torch.Generator
) -> Tensor:
    """`times` float32 `[N, T]` with those of written positions made earlier by one even factor per position's block."""
    factors = torch.rand(times.shape, generator=generator).to(times.device)
    places = streams.noisy_positions + streams.shift
    inside, index = places % streams.block_size, places // streams.block_size
    factors = factors.gather(1, (index - index[:, :1]).clamp(max=times.shape[1] - 1))
    written = torch.zeros_like(times, dtype=torch.bool)
    for row, seam in enumerate(seams):
        if seam is None:
            continue
        half = streams.block_size[row] // 2
        if seam.kind == "overlap":
            written[row] = (inside[row] < seam.reach) & (index[row] > 0)
        else:
            written[row] = (inside[row] < half - seam.reach) | (inside[row] >= half + seam.reach)
    return torch.where(written, times * factors, times).clamp(min=EARLIEST_TIME)
