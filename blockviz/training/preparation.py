"""What one optimiser step trains on: its rows with their block sizes, seams, losses and noise, in groups for one pass.

Everything drawn depends on the recipe's seed and the step alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor

from blockviz.diffusion.bounds import stratified_block_size
from blockviz.diffusion.processes import Masked, Uniform
from blockviz.training.batches import TAIL_CHANCE, Example, Streams, assemble, group_rows
from blockviz.training.objective import Noised, block_times, corrupt
from blockviz.training.recipes import Recipe
from blockviz.training.seams import draw_seams, lighter_times


@dataclass(frozen=True)
class Prepared:
    """A group of rows ready for its pass; `elbo` bool `[N, 1]` marks those whose loss is the bound."""

    streams: Streams
    noised: Noised
    elbo: Tensor


def block_sizes(recipe: Recipe, step: int, rows: int) -> list[int]:
    """The block size of each of a step's rows: stratified, with one permutation for the step (MATHS.md, trap 14)."""
    weights = recipe.stage_at(step)[0].block_weights
    rng = random.Random(f"{recipe.seed}/{step}/block sizes")
    u, permutation = rng.random(), rng.sample(range(rows), rows)
    return [
        stratified_block_size(recipe.block_sizes, weights, u, permutation, accumulation=rows, index=row)
        for row in range(rows)
    ]


def prepare(
    recipe: Recipe,
    process: Masked | Uniform,
    step: int,
    rank: int,
    examples: list[Example],
    sizes: list[int],
    end_id: int,
    device: torch.device,
) -> list[Prepared]:
    """The groups of the rows that process `rank` takes of a step, noised, on `device`."""
    generator = torch.Generator().manual_seed((recipe.seed * 1_000_003 + step) * 4096 + rank)
    tails = (torch.rand(len(examples), generator=generator) < TAIL_CHANCE).tolist()
    seams = draw_seams(
        recipe.seams, sizes, recipe.canvas, random.Random(f"{recipe.seed}/{step}/{rank}/seams")
    )
    prepared = []
    for rows in group_rows(sizes, recipe.canvas):
        streams = assemble(
            [examples[row] for row in rows],
            [sizes[row] for row in rows],
            [tails[row] for row in rows],
            recipe.canvas,
            end_id,
            device,
            [seam.shift if seam is not None else 0 for seam in (seams[row] for row in rows)],
        )
        # The bound needs even times, one per block: rows with a seam are trained by cross-entropy.
        by_bound = [recipe.loss_of(sizes[row]) == "elbo" and seams[row] is None for row in rows]
        elbo = torch.tensor(by_bound, device=device)[:, None]
        exponent: Tensor | float = 1.0
        if recipe.curriculum is not None:
            exponent = torch.where(elbo, 1.0, recipe.curriculum.exponent(step, recipe.steps))
        times = block_times(streams, generator, exponent)
        if any(seams[row] is not None for row in rows):
            times = lighter_times(times, streams, [seams[row] for row in rows], generator)
        prepared.append(
            Prepared(streams, corrupt(streams, process, recipe.schedule, times, generator, elbo), elbo)
        )
    return prepared
