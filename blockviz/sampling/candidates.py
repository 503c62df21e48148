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
    """The candidates of one prediction of one row, `log_probs` float `[1, W, V]`, at the positions `rows` bool `[W]`.

    Of these R positions: `logs` float32 `[R, V]`; `ids` int64 and `probs` float32 `[R, 5]`, the likeliest tokens in
    descending order, or some token with probability 0 where there are no more.
    """

    def __init__(self, log_probs: torch.Tensor, rows: NDArray[np.bool_]) -> None:
        """One copy from the device, then numpy: its calls cost less than torch's at this size."""
        logs = log_probs.cpu().numpy()[0]
        self.logs: NDArray[np.float32] = logs if np.count_nonzero(rows) == len(rows) else logs[rows]
        self.rows = np.arange(len(self.logs))
        search = _one_by_one if logs.shape[1] < LARGE else _in_chunks
        values, self.ids = search(self.logs, self.rows)
        self.probs: NDArray[np.float32] = np.exp(values)

    def of(self, tokens: NDArray[np.integer]) -> NDArray[np.float32]:
        """Log-probabilities of `tokens` [R]."""
        return self.logs[self.rows, tokens]

    def entropies(self) -> NDArray[np.float32]:
        """Entropies in nats, [R]."""
        probs = np.exp(self.logs)
        # A removed token has log-probability -inf; any finite number gives it the entropy 0 that it has.
        terms = np.maximum(self.logs, np.float32(-1e6))
        terms *= probs
        sums: NDArray[np.float32] = -np.add.reduce(terms, axis=1)
        return sums


Found = tuple[NDArray[np.float32], NDArray[np.int64]]
"""The 5 highest numbers of each row in descending order, and where they stand."""


def _one_by_one(numbers: NDArray[np.float32], rows: NDArray[np.int64]) -> Found:
    """What is found in `numbers [R, V]`, whose `rows` are 0 .. R - 1: the best, then the best of what is left, ..."""
    left = numbers.copy()
    best = np.empty((len(rows), TOP), np.float32)
    places = np.empty((len(rows), TOP), np.int64)
    for rank in range(TOP):
        places[:, rank] = found = left.argmax(axis=1)
        best[:, rank] = left[rows, found]
        left[rows, found] = -np.inf
    return best, places


def _in_chunks(numbers: NDArray[np.float32], rows: NDArray[np.int64]) -> Found:
    """The same for many columns: the highest of all are among those of the chunks whose best is highest.

    Two small searches take a tenth of the time of one over a vocabulary of 50,000.
    """
    logs = torch.from_numpy(numbers)
    width, size = logs.shape
    whole = size // CHUNK * CHUNK
    chunks = logs[:, :whole].unflatten(1, (-1, CHUNK))
    best = chunks.amax(dim=-1).topk(TOP, dim=-1).indices.unsqueeze(-1)
    some = chunks.gather(1, best.expand(-1, -1, CHUNK)).flatten(1)
    places = (best * CHUNK + torch.arange(CHUNK)).flatten(1)
    if whole < size:
        some = torch.cat([some, logs[:, whole:]], dim=1)
        places = torch.cat([places, torch.arange(whole, size).expand(width, -1)], dim=1)
    values, order = some.topk(TOP, dim=-1)
    return values.numpy(), places.gather(1, order).numpy()
