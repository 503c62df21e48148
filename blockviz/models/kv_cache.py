"""The KV cache of the backbone: preallocated, written in place, never copied while tokens are added."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from blockviz.models.block_dit import NetworkConfig

KEPT_SLOTS = 4
"""Sets of views kept: a block is denoised and verified from one cache length, after being opened from another."""


class Slot(NamedTuple):
    """One layer's view of the cache in one call, all `[N, heads, ..., head_dim]`.

    `keys` and `values` are the committed tokens and, behind them, those of the call, which are written to `new_keys`
    and `new_values`.
    """

    keys: Tensor
    values: Tensor
    new_keys: Tensor
    new_values: Tensor

    def add(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Write keys and values `[N, heads, T, head_dim]` of the call; returns all that there are now."""
        self.new_keys.copy_(keys)
        self.new_values.copy_(values)
        return self.keys, self.values


class KVCache:
    """Preallocated keys and values of committed clean tokens, with room for the tokens of one pass behind them.

    `keys` and `values` are `[layers, N, heads, capacity, head_dim]`; the first `length` entries are committed.
    A pass writes its own keys and values behind them and commits by moving `length`, so nothing is ever copied. They
    are numbers without a graph: networks are called with a cache where gradients are off.
    """

    def __init__(
        self,
        config: NetworkConfig,
        batch: int,
        capacity: int,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        shape = (config.n_blocks, batch, config.kv_heads, capacity, config.head_dim)
        self.keys = torch.zeros(shape, device=device, dtype=dtype)
        self.values = torch.zeros(shape, device=device, dtype=dtype)
        self.length = 0
        self._slots: dict[tuple[int, int, bool], list[Slot]] = {}

    @property
    def capacity(self) -> int:
        """Number of tokens the buffers hold, committed ones and those of one pass together."""
        return self.keys.shape[3]

    @property
    def bytes(self) -> int:
        """Size in bytes of the committed keys and values of all layers and rows."""
        layers, batch, heads, _, head_dim = self.keys.shape
        return 2 * layers * batch * heads * head_dim * self.length * self.keys.element_size()

    def truncate(self, length: int) -> None:
        """Forget every committed token from position `length` on."""
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot truncate a cache of {self.length} tokens to {length}")
        self.length = length

    def keep(self, rows: Tensor) -> None:
        """Go on with these rows of the batch, int64 in rising order; what they hold moves up in the buffers."""
        for buffer in (self.keys, self.values):
            buffer[:, : len(rows), :, : self.length] = buffer[:, rows, :, : self.length]
        self.keys, self.values = self.keys[:, : len(rows)], self.values[:, : len(rows)]
        self._slots.clear()

    def slots(self, count: int) -> list[Slot]:
        """The view of every layer for a call of `count` tokens; raises ValueError when they do not fit.

        Every pass of a block but the first asks for the same ones, and small networks feel the making of views.
        """
        start, stop = self.length, self.length + count
        if stop > self.capacity:
            raise ValueError(f"the cache holds {self.capacity} tokens, {stop} are needed")
        key = (start, stop, torch.is_inference_mode_enabled())
        if key not in self._slots:
            if len(self._slots) == KEPT_SLOTS:
                del self._slots[next(iter(self._slots))]
            self._slots[key] = [
                Slot(k[:, :, :stop], v[:, :, :stop], k[:, :, start:stop], v[:, :, start:stop])
                for k, v in zip(self.keys, self.values, strict=True)
            ]
        return self._slots[key]
