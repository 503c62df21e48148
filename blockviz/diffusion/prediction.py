"""From a network's logits to log-probabilities that may be drawn from."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def log_probs(
    logits: torch.Tensor,
    temperature: float = 1.0,
    forbidden: Sequence[int] | torch.Tensor = (),
    overwrite: bool = False,
) -> torch.Tensor:
    """Log-probabilities of a prediction: float32 (float64 for float64 logits), same shape as `logits` [..., V].

    Logits are cast to float32 first (trap 2), divided by `temperature` while still raw (trap 3), and only then do the
    `forbidden` token ids (a sequence, or int64 on the device of `logits`) get probability zero (trap 4). Temperature 0
    leaves the distribution as at temperature 1: the greedy choice is made by whoever draws
    (`step(..., temperature=0)`), while scores and views keep finite numbers. With `overwrite` the logits may be
    destroyed, which spares a copy. Raises ValueError for a negative temperature or when every token is forbidden.
    """
    if temperature < 0:
        raise ValueError(f"temperature must be at least 0, not {temperature}")
    scores = logits if logits.dtype == torch.float64 else logits.float()
    if temperature not in (0, 1):
        scores = scores / temperature
    if len(forbidden):
        ids = forbidden
        if not isinstance(ids, torch.Tensor):
            ids = torch.tensor(sorted(set(ids)), device=scores.device)
        if len(ids) >= scores.shape[-1]:
            raise ValueError("every token of the vocabulary is forbidden")
        fill = scores.index_fill_ if overwrite or scores is not logits else scores.index_fill
        scores = fill(-1, ids, -torch.inf)
    return torch.log_softmax(scores, dim=-1)


def carry_over(log_probs: torch.Tensor, xt: torch.Tensor, mask_id: int) -> torch.Tensor:
    """A masked process' prediction with every unmasked token certain to stay: probability one on the token in place.

    `log_probs` [..., V] and `xt` int64 [...]; returns [..., V]. Positions that hold `mask_id` are left as they are.
    """
    certain = torch.full_like(log_probs, -torch.inf).scatter(-1, xt.unsqueeze(-1), 0.0)
    return torch.where((xt == mask_id).unsqueeze(-1), log_probs, certain)
