"""Likelihood bounds over a mixture of block sizes, perplexity, and the stratified choice of block sizes."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import torch

from blockviz.diffusion.processes import Alpha, Masked, Uniform

_EDGE = 1e-9


def cross_entropy(log_probs: torch.Tensor, x0: torch.Tensor) -> torch.Tensor:
    """`-log p(x0)` in nats, [N, T], from `log_probs` [N, T, V] and `x0` int64 [N, T]; exact on pure noise at B = 1."""
    return -log_probs.gather(-1, x0.unsqueeze(-1)).squeeze(-1)


def token_nll(
    process: Masked | Uniform,
    log_probs: torch.Tensor,
    x0: torch.Tensor,
    xt: torch.Tensor,
    alpha_t: Alpha,
    dalpha_t: Alpha,
    block_size: int | torch.Tensor,
) -> torch.Tensor:
    """Per-token NLL bound used to evaluate a model, in nats [N, T], whatever it was trained with.

    Block size 1 is autoregressive, so its cross-entropy is exact (`xt` must be pure noise); every other block size gets
    the ELBO of the process. `block_size` is one number or int64 [N, 1], one per sequence; the other shapes are those
    of `Masked.nll`.
    """
    bound = process.nll(log_probs, x0, xt, alpha_t, dalpha_t)
    return torch.where(_autoregressive(block_size, bound), cross_entropy(log_probs, x0), bound)


def check_weights(weights: Sequence[float]) -> None:
    """Raise ValueError unless `weights` are finite, non-negative and sum to 1 within 1e-6; nothing is ever rescaled.

    MATHS.md, trap 14.
    """
    if not weights:
        raise ValueError("there must be at least one block weight")
    for weight in weights:
        if not math.isfinite(weight) or weight < 0:
            raise ValueError(f"a block weight must be a non-negative number, not {weight}")
    total = math.fsum(weights)
    if abs(total - 1) > 1e-6:
        raise ValueError(f"block weights must sum to 1, not {total:.6g}")


def log_sum_exp_bound(nll: torch.Tensor, weights: Sequence[float]) -> torch.Tensor:
    """Mixture bound `-logsumexp_k(log w_k - nll_k)` in nats PER SEQUENCE: `nll` [N, K] -> [N].

    `nll` are the sequences' summed NLLs under each of the K block sizes. Never above `jensen_bound`. Raises ValueError
    for bad weights (`check_weights`) or another number of columns than weights.
    """
    w = _weights_for(nll, weights)
    return -torch.logsumexp(torch.log(w) - nll, dim=-1)


def jensen_bound(nll: torch.Tensor, weights: Sequence[float]) -> torch.Tensor:
    """Mixture bound `sum_k w_k nll_k` in nats per sequence: `nll` [N, K] -> [N]; errors as `log_sum_exp_bound`."""
    w = _weights_for(nll, weights)
    return torch.where(w > 0, w * nll, torch.zeros_like(nll)).sum(dim=-1)


def cross_fitted_bound(draws: torch.Tensor, weights: Sequence[float]) -> torch.Tensor:
    """Estimates in nats per sequence, [D, N], whose mean is never below the log-sum-exp bound: `draws` [D, N, K].

    The log-sum-exp of noisy estimates is too low on average, since noise makes one member or another look good. For any
    shares q the bound is at most `sum_k q_k (nll_k + log q_k - log w_k)`, the variational form of the log-sum-exp. So q
    is fitted to all draws but one and used on that one, which it does not depend on: one estimate per draw. How q is
    fitted decides how close they come: a member counts as dearer by half the variance of its mean, which is by how much
    the log-sum-exp would flatter it. Raises ValueError for fewer than two draws, otherwise as
    `log_sum_exp_bound`.
    """
    count = len(draws)
    if count < 2:
        raise ValueError(f"cross-fitting needs at least two draws, not {count}")
    w = _weights_for(draws, weights)
    draws, log_w = draws[..., w > 0], torch.log(w[w > 0])
    estimates = []
    for draw in range(count):
        others = torch.cat([draws[:draw], draws[draw + 1 :]])
        doubt = others.var(dim=0) / (count - 1) if count > 2 else torch.zeros_like(others[0])
        log_q = torch.log_softmax(log_w - others.mean(dim=0) - doubt / 2, dim=-1)
        estimates.append((log_q.exp() * (draws[draw] + log_q - log_w)).sum(dim=-1))
    return torch.stack(estimates)


def perplexity(nll_sum: float, tokens: int) -> float:
    """`exp(nll_sum / tokens)`, infinite where that overflows. Raises ValueError unless `tokens` is at least 1."""
    if tokens < 1:
        raise ValueError(f"perplexity needs at least one token, not {tokens}")
    try:
        return math.exp(nll_sum / tokens)
    except OverflowError:
        return math.inf


def stratified_block_size(
    block_sizes: Sequence[int],
    weights: Sequence[float],
    u: float,
    permutation: Sequence[int],
    *,
    world: int = 1,
    rank: int = 0,
    accumulation: int = 1,
    index: int = 0,
) -> int:
    """Block size of one forward pass of an optimiser step, so that the step as a whole follows `weights` closely.

    The step consists of `world * accumulation` passes; pass `index` (0..accumulation - 1) of process `rank` takes slot
    `s = index * world + rank` and the point `(u + permutation[s] / slots) mod 1`, looked up in the cumulated weights.
    `u` in [0, 1) and the `permutation` of the slots must be drawn ONCE per optimiser step and be the same on every
    process (trap 14). Raises ValueError for bad weights, counts that do not match, or a permutation that is none.
    """
    check_weights(weights)
    slots = world * accumulation
    if len(block_sizes) != len(weights):
        raise ValueError(f"{len(block_sizes)} block sizes but {len(weights)} block weights")
    if not (0 <= rank < world and 0 <= index < accumulation):
        raise ValueError(f"rank {rank} of {world}, pass {index} of {accumulation}: out of range")
    if sorted(permutation) != list(range(slots)):
        raise ValueError(f"the permutation must hold each of 0..{slots - 1} once")
    if not 0 <= u < 1:
        raise ValueError(f"u must be in [0, 1), not {u}")
    # Points and edges are often the same decimal fraction: the small shift keeps rounding from splitting them.
    point = (u + permutation[index * world + rank] / slots + _EDGE) % 1.0
    chosen = bisect_right(list(accumulate(weights)), point)
    last = max(i for i, weight in enumerate(weights) if weight > 0)
    return block_sizes[min(chosen, last)]


def _autoregressive(block_size: int | torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(block_size, device=like.device) == 1


def _weights_for(nll: torch.Tensor, weights: Sequence[float]) -> torch.Tensor:
    check_weights(weights)
    if nll.shape[-1] != len(weights):
        raise ValueError(f"{nll.shape[-1]} NLLs per sequence but {len(weights)} block weights")
    return torch.tensor(weights, dtype=nll.dtype, device=nll.device)
