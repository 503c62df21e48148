"""What a prediction over the vocabulary comes to for each position: its likeliest tokens and its entropy."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from blockviz.sampling.passes import TOP

CHUNK = 256
"""Tokens of which only the best is looked at first."""
LARGE = 8192
"""Vocabularies from this size on are searched in chunks."""


class Candidates:
    """The candidates of one prediction, `[W, V]` log-probabilities of one row.

    `logs` float32 `[W, V]`; `ids` int64 and `probs` float32 `[W, at most 5]`, the likeliest tokens in descending order.
    """

    def __init__(self, log_probs: torch.Tensor) -> None:
        """One copy from the device, then numpy: its calls cost less than torch's at this size."""
        logs = log_probs.cpu()
        values, ids = likeliest(logs, min(TOP, logs.shape[-1]))
        self.logs: NDArray[np.float32] = logs.numpy()
        self.ids: NDArray[np.int64] = ids.numpy()
        self.probs: NDArray[np.float32] = np.exp(values.numpy())

    def of(self, tokens: NDArray[np.int32]) -> NDArray[np.float32]:
        """Log-probabilities of `tokens` [W]."""
        return self.logs[np.arange(len(tokens)), tokens]

    def entropies(self, rows: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Entropies in nats of the positions that `rows` bool [W] marks."""
        logs = self.logs if rows.all() else self.logs[rows]
        probs = np.exp(logs)
        # A removed token has log-probability -inf; any finite number gives it the entropy 0 that it has.
        terms = np.maximum(logs, np.float32(-1e6))
        terms *= probs
        sums: NDArray[np.float32] = -terms.sum(axis=1)
        return sums


def likeliest(logs: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The `count` highest numbers of each row of `logs [W, V]` in descending order, and where they stand.

    The highest of all are among those of the chunks whose best is highest: two small searches take a tenth of the time
    of one over a vocabulary of 50,000.
    """
    width, size = logs.shape
    whole = size // CHUNK * CHUNK
    if size < LARGE:
        return logs.topk(count, dim=-1)
    chunks = logs[:, :whole].unflatten(1, (-1, CHUNK))
    best = chunks.amax(dim=-1).topk(count, dim=-1).indices.unsqueeze(-1)
    numbers = chunks.gather(1, best.expand(-1, -1, CHUNK)).flatten(1)
    places = (best * CHUNK + torch.arange(CHUNK)).flatten(1)
    if whole < size:
        numbers = torch.cat([numbers, logs[:, whole:]], dim=1)
        places = torch.cat([places, torch.arange(whole, size).expand(width, -1)], dim=1)
    values, order = numbers.topk(count, dim=-1)
    return values, places.gather(1, order)
