"""How likely texts are to a model, block size by block size, and to the mixture it was trained as (MATHS.md).

At block size 1 the model is autoregressive and its cross-entropy is exact: under masked noise at once, under uniform
noise for the noise tokens that it reads beside the text, so that several are drawn. Elsewhere the figure is the ELBO of
the process, an upper bound estimated by drawing noise. Monte-Carlo errors are stated. Mixture bounds are taken per
sequence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from blockviz.diffusion.bounds import cross_fitted_bound, jensen_bound, perplexity
from blockviz.diffusion.processes import Masked
from blockviz.evaluation.accuracy import EvaluationError
from blockviz.models.checkpoint import Model
from blockviz.training.batches import Example, assemble
from blockviz.training.objective import block_times, bound, corrupt, predict

DRAWS = 16
ROWS = 32
MOST_DRAWS = 1000


@dataclass(frozen=True)
class SizeLikelihood:
    """NLL in nats per token at one block size: a bound but at 1, and `exact` where no noise was drawn for it.

    `error` is the standard error that the drawn noise leaves (0 where exact), `perplexity` is exp(nll).
    """

    block_size: int
    nll: float
    error: float
    perplexity: float
    exact: bool


@dataclass(frozen=True)
class Likelihood:
    """The figures over `sequences` texts with `tokens` counted tokens, `draws` noise draws each.

    `log_sum_exp` and `jensen` are the mixture's bounds in nats per token, with the Monte-Carlo standard errors. The
    log-sum-exp of noisy estimates lies too low; cross-fitted it lies at the bound or above it (`cross_fitted_bound`).
    `between` is the standard error that another sample of texts would leave at the first block size.
    """

    sizes: tuple[SizeLikelihood, ...]
    log_sum_exp: float
    log_sum_exp_error: float
    jensen: float
    jensen_error: float
    between: float
    sequences: int
    tokens: int
    draws: int


def likelihood(
    model: Model,
    examples: Sequence[Example],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    rows: int = ROWS,
    progress: Callable[[int], object] | None = None,
) -> Likelihood:
    """NLL and bounds of `model` on `examples` at the block sizes it was trained with.

    Tokens of prompts do not count, the end token does. `progress` is told the sequences done in each of the draws.
    Raises EvaluationError where there is nothing to measure, or fewer than two draws for an error.
    """
    if not examples:
        raise EvaluationError("There is no text whose likelihood could be measured.")
    if not 2 <= draws <= MOST_DRAWS:
        raise EvaluationError(f"draws cannot be {draws}: allowed is a whole number from 2 to {MOST_DRAWS}.")
    sizes, weights = model.info.block_sizes, model.info.block_weights
    counts = torch.tensor([len(e.tokens) - e.prompt_length for e in examples], dtype=torch.float64)
    # [draws, sequences, sizes], nats summed over a sequence
    nats = torch.zeros(draws, len(examples), len(sizes), dtype=torch.float64)
    order = sorted(range(len(examples)), key=lambda i: len(examples[i].tokens))
    for column, size in enumerate(sizes):
        generator = torch.Generator().manual_seed(seed + size)
        exact = _is_exact(model, size)
        for first in range(0, len(order), rows):
            chosen = order[first : first + rows]
            for draw in range(1 if exact else draws):
                nats[draw, chosen, column] = _nats(model, [examples[i] for i in chosen], size, generator)
                if progress is not None:
                    progress(len(chosen))
        if exact:
            nats[1:, :, column] = nats[0, :, column]
    total = int(counts.sum().item())
    each = nats.sum(dim=1) / total  # [draws, sizes]
    log_sum_exp = cross_fitted_bound(nats, weights).sum(dim=1) / total  # [draws]
    jensen = each @ torch.tensor(weights, dtype=torch.float64)
    first_size = nats.mean(dim=0)[:, 0]
    return Likelihood(
        sizes=tuple(
            _size(size, _is_exact(model, size), each[:, column], total) for column, size in enumerate(sizes)
        ),
        log_sum_exp=float(log_sum_exp.mean()),
        log_sum_exp_error=_error(log_sum_exp),
        jensen=float(jensen_bound(nats.mean(dim=0), weights).sum()) / total,
        jensen_error=_error(jensen),
        between=_between(first_size, counts),
        sequences=len(examples),
        tokens=total,
        draws=draws,
    )


@torch.inference_mode()
def _nats(model: Model, examples: list[Example], size: int, generator: torch.Generator) -> Tensor:
    """NLL or bound of each example, float64 `[n]`, with fresh noise."""
    canvas, end_id = model.info.length, model.info.end_id
    streams = assemble(
        examples,
        [size] * len(examples),
        [False] * len(examples),
        canvas,
        0 if end_id is None else end_id,
        model.device,
    )
    noised = corrupt(streams, model.process, model.info.schedule, block_times(streams, generator), generator)
    logits = predict(model.net, streams, noised.xt)
    nats = bound(logits, streams, noised, model.process, model.info.schedule)
    counted = streams.target & ~streams.tail
    # Not every device has float64.
    return torch.where(counted, nats, torch.zeros_like(nats)).cpu().double().sum(dim=1)


def rounds(model: Model, draws: int) -> int:
    """How often `likelihood` reads every text."""
    return sum(1 if _is_exact(model, size) else draws for size in model.info.block_sizes)


def _is_exact(model: Model, size: int) -> bool:
    """At block size 1 all noise is MASK, where the process has one; else it is drawn."""
    return size == 1 and isinstance(model.process, Masked)


def _size(size: int, exact: bool, draws: Tensor, tokens: int) -> SizeLikelihood:
    nll = float(draws.mean())
    return SizeLikelihood(size, nll, _error(draws), perplexity(nll * tokens, tokens), exact)


def _error(values: Tensor) -> float:
    """Standard error of the mean of independent estimates `[draws]`."""
    return float(values.std() / math.sqrt(len(values)))


def _between(nats: Tensor, counts: Tensor) -> float:
    """Standard error of the ratio of sums `nats / counts` over sequences, `[sequences]` each (delta method)."""
    if len(nats) < 2:
        return math.nan
    rest = nats - counts * (nats.sum() / counts.sum())
    return float(rest.std() * math.sqrt(len(rest)) / counts.sum())
