"""What a training run is watched by: NLL bounds per block size and for the mixture, and teacher-forced exactness."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from blockviz.diffusion.bounds import jensen_bound, log_sum_exp_bound
from blockviz.diffusion.processes import Masked, Uniform
from blockviz.models.block_dit import BlockDiT
from blockviz.training.batches import Example, Streams, assemble
from blockviz.training.objective import block_times, bound, corrupt, predict
from blockviz.training.recipes import Recipe


@dataclass(frozen=True)
class Validation:
    """`nll` in nats per generated token by block size (exact at 1, else a bound); both mixture bounds likewise.

    The bounds are Monte-Carlo estimates; the log-sum-exp of noisy estimates lies too low, the less so the more noise
    draws are averaged first. `ar_exact` is the share of sequences in which every token is the AR mode's first choice
    given the ones before it, which is the share greedy AR decoding reproduces.
    """

    nll: dict[int, float]
    log_sum_exp: float
    jensen: float
    ar_exact: float


@dataclass(frozen=True)
class Draws:
    """NLL or bound in nats summed over each sequence, `nats` float64 `[draws, N, sizes]`, one entry per noise draw.

    `exact` bool `[N]`: every token is the AR mode's first choice. `tokens` counted in all sequences.
    """

    nats: Tensor
    exact: Tensor
    tokens: int


@torch.inference_mode()
def sequence_nats(
    net: BlockDiT,
    process: Masked | Uniform,
    recipe: Recipe,
    examples: list[Example],
    end_id: int,
    *,
    draws: int = 1,
    rows: int = 64,
) -> Draws:
    """What each example costs at each block size with fixed noise, `rows` sequences at a time; B = 1 is drawn once."""
    device = next(net.parameters()).device
    counts = sum(len(example.tokens) - example.prompt_length for example in examples)
    nats = torch.zeros(draws, len(examples), len(recipe.block_sizes), dtype=torch.float64)
    exact = torch.zeros(len(examples), dtype=torch.bool)
    for column, size in enumerate(recipe.block_sizes):
        generator = torch.Generator().manual_seed(recipe.seed + size)
        for first in range(0, len(examples), rows):
            chunk = examples[first : first + rows]
            place = slice(first, first + len(chunk))
            streams = assemble(
                chunk, [size] * len(chunk), [False] * len(chunk), recipe.canvas, end_id, device
            )
            counted = streams.target & ~streams.tail
            for draw in range(1 if size == 1 else draws):
                nll, right = _token_nll(net, process, recipe, streams, generator)
                nats[draw, place, column] = (
                    torch.where(counted, nll, torch.zeros_like(nll)).sum(dim=1).cpu().double()
                )
            if size == 1:
                exact[place] = (right | ~counted).all(dim=1).cpu()
        if size == 1:
            nats[1:, :, column] = nats[0, :, column]
    return Draws(nats, exact, counts)


def validate(
    net: BlockDiT,
    process: Masked | Uniform,
    recipe: Recipe,
    examples: list[Example],
    end_id: int,
    *,
    draws: int = 1,
    rows: int = 64,
) -> Validation:
    """Evaluate `net` on examples with fixed noise, averaged over `draws`, `rows` sequences at a time."""
    found = sequence_nats(net, process, recipe, examples, end_id, draws=draws, rows=rows)
    totals = found.nats.mean(dim=0)
    weights = recipe.stages[-1].block_weights
    return Validation(
        nll={size: totals[:, i].sum().item() / found.tokens for i, size in enumerate(recipe.block_sizes)},
        log_sum_exp=log_sum_exp_bound(totals, weights).sum().item() / found.tokens,
        jensen=jensen_bound(totals, weights).sum().item() / found.tokens,
        ar_exact=found.exact.float().mean().item(),
    )


def _token_nll(
    net: BlockDiT, process: Masked | Uniform, recipe: Recipe, streams: Streams, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    times = block_times(streams, generator)
    noised = corrupt(streams, process, recipe.schedule, times, generator)
    logits = predict(net, streams, noised.xt)
    if isinstance(process, Masked):
        logits[..., process.mask_id] = -torch.inf
    right = logits.argmax(dim=-1) == streams.noisy
    return bound(logits, streams, noised, process, recipe.schedule), right
