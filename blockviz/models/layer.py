"""One transformer layer as functions of its weights: attention over cache and own tokens, then the MLP.

Functions, and weights in a tuple, because in a network as small as the bundled ones the calls of modules and the
look-ups of their parameters would cost as much as the work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from blockviz.models.kv_cache import Slot

EPSILON = 1e-5


class Norm(NamedTuple):
    """Weight and bias `[width]` of a layer normalisation, adaLN's scale and shift included."""

    weight: Tensor
    bias: Tensor | None

    def __call__(self, x: Tensor) -> Tensor:
        """Normalise `x [..., width]`."""
        return torch.layer_norm(x, self.weight.shape, self.weight, self.bias, EPSILON)


@dataclass
class AttentionRequest:
    """Asks one forward for the attention weights that its last `queries` tokens have in `layer` (from 0).

    The forward answers in `weights`, float32 `[N, heads, queries, K]`, computed beside its own attention, whose result
    stays the same bit for bit.
    """

    layer: int
    queries: int
    weights: Tensor | None = None

    def answer(self, q: Tensor, k: Tensor, mask: Tensor | None) -> None:
        """Take the weights from the layer's queries `[N, heads, Q, d]`, keys `[N, heads, K, d]` and mask."""
        self.weights = softmax_weights(q[:, :, -self.queries :], k, rows(mask, -self.queries))


Layer = Callable[
    [Tensor, tuple[Tensor, Tensor], Tensor | None, Slot | None, int, AttentionRequest | None, float], Tensor
]
"""One layer: `x [N, T, width]`, rotary angles, mask, its part of the cache or None, the number of tokens at the front
that are only read, the request that it is to answer or None, dropout -> `[N, T - first, width]`."""


def softmax_weights(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(q k^T / sqrt(d)) over the keys that `mask` allows, in float32.

    `q [N, heads, Q, d]`, `k [N, heads, K, d]`; `mask` for `[N, heads, Q, K]` by broadcasting, bool or additive, or
    None for all.
    """
    scores = q.float() @ k.float().transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    return scores.softmax(dim=-1)


def rotate(x: Tensor, cos: Tensor, signed_sin: Tensor) -> Tensor:
    """Rotate `x [..., T, head_dim]`; `signed_sin` is negative in its first half. Keeps the dtype of `x`."""
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), signed_sin).to(x.dtype)


class LayerWeights(NamedTuple):
    """The weights of one layer, as `nn.Linear` keeps them; the gates `[width]` are adaLN's, or None for 1."""

    heads: int
    norm1: Norm
    qkv: Tensor
    out: Tensor
    gate1: Tensor | None
    norm2: Norm
    up: Tensor
    up_bias: Tensor
    down: Tensor
    down_bias: Tensor
    gate2: Tensor | None

    def __call__(
        self,
        x: Tensor,
        angles: tuple[Tensor, Tensor],
        mask: Tensor | None,
        slot: Slot | None,
        first: int,
        request: AttentionRequest | None,
        dropout: float,
    ) -> Tensor:
        """Transform `x [N, T, width]`, see `Layer`."""
        _, norm1, qkv, out, gate1, norm2, up, up_bias, down, down_bias, gate2 = self
        q, k, v = _project(norm1(x), qkv, self.heads, angles)
        if slot is not None:
            k, v = slot.add(k, v)
        if first:
            x, q, mask = x[:, first:], q[:, :, first:], rows(mask, first)
        if request is not None:
            request.answer(q, k, mask)
        x = _add(x, F.linear(attend(q, k, v, mask).reshape(x.shape), out), gate1, dropout)
        h = F.gelu(F.linear(norm2(x), up, up_bias), approximate="tanh")
        return _add(x, F.linear(h, down, down_bias), gate2, dropout)


@dataclass(frozen=True)
class Head:
    """Weights of the final normalisation and of the output head."""

    norm: Norm
    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Logits `[N, T, V]` of `x [N, T, width]`."""
        return F.linear(self.norm(x), self.weight, self.bias)


def rows(mask: Tensor | None, first: int) -> Tensor | None:
    """The mask `[..., Q, K]` of the queries from `first` on (from the end where negative)."""
    return None if mask is None else mask[..., first:, :]


def _project(
    h: Tensor, weight: Tensor, heads: int, angles: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Rotated queries and keys, and values, each `[N, heads, T, head_dim]`, of `h [N, T, width]`."""
    batch, count, width = h.shape
    qkv = F.linear(h, weight).view(batch, count, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    q, k = rotate(qkv[:2], *angles).unbind(0)  # going through a tensor in Python costs ten times as much
    return q, k, qkv[2]


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Attention `[N, Q, heads, head_dim]` of queries `[N, heads, Q, head_dim]` over keys and values."""
    if torch.is_autocast_enabled("cpu") and k.device.type == "cpu":
        # The CPU kernel's backward pass is three times slower in bfloat16 than in float32 (torch 2.13).
        with torch.autocast("cpu", enabled=False):
            out = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), attn_mask=mask)
    else:
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(1, 2)


def _add(x: Tensor, change: Tensor, gate: Tensor | None, dropout: float) -> Tensor:
    if dropout:
        return x + F.dropout(change if gate is None else change * gate, dropout)
    return x + change if gate is None else torch.addcmul(x, change, gate)
