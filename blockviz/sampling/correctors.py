"""Correctors: score a clean proposal, and choose which of its positions go back to noise (MATHS.md, samplers, 4).

A score is a function from `Evidence` to float64 `[N, W]`, higher is worse; a further one is a function here, an entry
in `SCORES` and a choice in `settings.py`. All distributions are those at the sampling temperature (at temperature 0,
those at 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from blockviz.diffusion.draws import Draws
from blockviz.diffusion.prediction import carry_over
from blockviz.diffusion.processes import Masked, Uniform
from blockviz.diffusion.schedules import renoise_count

TINY = 1e-12
"""Added to probabilities before a divergence takes their logarithm, as the reference does: a token carried over as
certain then costs about 27.6 nats, not infinity."""


@dataclass(frozen=True)
class Evidence:
    """What a score may look at.

    `proposal` and `xt` (the tokens it was drawn from) int64 `[N, W]`; `log_probs` `[N, W, V]` the diffusion
    prediction; `log_p_ar` `[N, W, V]` the AR reading of the proposal, for the scores in `settings.AR_SCORES`.
    """

    process: Masked | Uniform
    proposal: Tensor
    xt: Tensor
    log_probs: Tensor
    log_p_ar: Tensor | None
    draws: Draws

    @cached_property
    def log_diffusion(self) -> Tensor:
        """Diffusion log-probabilities float64 `[N, W, V]`; masked noise holds a revealed token for certain (trap 5)."""
        logs = self.log_probs
        if isinstance(self.process, Masked):
            logs = carry_over(logs, self.xt, self.process.mask_id)
        return logs.double()

    @cached_property
    def diffusion(self) -> Tensor:
        """Diffusion probabilities float64 `[N, W, V]`."""
        return self.log_diffusion.exp()

    @cached_property
    def log_ar(self) -> Tensor:
        """AR log-probabilities float64 `[N, W, V]`. Raises ValueError when the proposal was not verified."""
        if self.log_p_ar is None:
            raise ValueError("this score needs an AR verification of the proposal")
        return self.log_p_ar.double()

    def of_proposal(self, values: Tensor) -> Tensor:
        """The entry of `values [N, W, V]` that belongs to each proposed token, `[N, W]`."""
        return values.gather(-1, self.proposal.unsqueeze(-1)).squeeze(-1)


Score = Callable[[Evidence], Tensor]


def ar_nll(evidence: Evidence) -> Tensor:
    """AR negative log-likelihood of the proposed token (ARPC)."""
    return -evidence.of_proposal(evidence.log_ar)


def ar_gap(evidence: Evidence) -> Tensor:
    """How far the proposed token's AR log-probability lies below the best one."""
    return evidence.log_ar.amax(dim=-1) - evidence.of_proposal(evidence.log_ar)


def ar_entropy(evidence: Evidence) -> Tensor:
    """Entropy of the AR prediction."""
    return _entropy(evidence.log_ar)


def kld(evidence: Evidence) -> Tensor:
    """KL divergence of the AR prediction from the diffusion prediction, KL(AR || diffusion)."""
    return _divergence(evidence.log_ar.exp(), evidence.diffusion)


def reverse_kld(evidence: Evidence) -> Tensor:
    """KL divergence of the diffusion prediction from the AR prediction, KL(diffusion || AR)."""
    return _divergence(evidence.diffusion, evidence.log_ar.exp())


def tvd(evidence: Evidence) -> Tensor:
    """Total variation distance between the AR and the diffusion prediction."""
    return (evidence.log_ar.exp() - evidence.diffusion).abs().sum(dim=-1) / 2


def entropy(evidence: Evidence) -> Tensor:
    """Entropy of the diffusion prediction (EIPC); 0 where masked noise has revealed a token already."""
    return _entropy(evidence.log_diffusion)


def confidence(evidence: Evidence) -> Tensor:
    """One minus the diffusion probability of the proposed token."""
    return 1 - evidence.of_proposal(evidence.diffusion)


def margin(evidence: Evidence) -> Tensor:
    """One minus the lead of the best diffusion candidate over the second."""
    best = evidence.diffusion.topk(min(2, evidence.diffusion.shape[-1]), dim=-1).values
    return 1 - (2 * best[..., 0] - best.sum(dim=-1))


def random(evidence: Evidence) -> Tensor:
    """A uniform draw per position: the un-informed baseline."""
    return evidence.draws.uniform(*evidence.proposal.shape)


SCORES: dict[str, Score] = {
    "ar_nll": ar_nll,
    "ar_gap": ar_gap,
    "ar_entropy": ar_entropy,
    "kld": kld,
    "reverse_kld": reverse_kld,
    "tvd": tvd,
    "entropy": entropy,
    "confidence": confidence,
    "margin": margin,
    "random": random,
}
"""Score of every choice of the setting `corrector` but `none`."""


def renoise_counts(alpha_s: float, free: Tensor) -> Tensor:
    """How many positions each row re-noises: int64 `[N]` from `free` bool `[N, W]`, whose True alone count (trap 7)."""
    return torch.tensor([renoise_count(alpha_s, count) for count in free.sum(dim=-1).tolist()])


def worst(scores: Tensor, free: Tensor, counts: Tensor) -> Tensor:
    """The `counts` [N] free positions with the highest `scores` float64 `[N, W]` of each row; bool `[N, W]`.

    Equal scores go to the leftmost position, so that the choice is the same on every device.
    """
    order = scores.masked_fill(~free, -torch.inf).argsort(dim=-1, descending=True, stable=True)
    ranks = torch.empty_like(order)
    ranks.scatter_(-1, order, torch.arange(order.shape[-1], device=order.device).expand_as(order))
    return (ranks < counts.to(ranks.device).unsqueeze(-1)) & free


def _entropy(log_p: Tensor) -> Tensor:
    # A removed token has log-probability -inf and counts nothing; 0 * inf would be NaN, so it gets a finite one.
    return -(log_p.exp() * log_p.clamp_min(-1e6)).sum(dim=-1)


def _divergence(p: Tensor, q: Tensor) -> Tensor:
    return (p * ((p + TINY).log() - (q + TINY).log())).sum(dim=-1)
