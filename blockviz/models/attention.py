"""Every attention mask, as one small function each (MATHS.md, "The model").

A mask is a bool tensor `[queries, keys]`, True where the query may attend. Two streams share the positions
0..L-1: the clean tokens `x0` and the noisy tokens `xt`. `block(i) = i // block_size`:

    xt -> xt   same block
    xt -> x0   the key's block is strictly earlier
    x0 -> x0   key <= query (`x0_causal`), else the key's block is not later
    x0 -> xt   never
"""

from __future__ import annotations

import torch
from torch import Tensor


def clean_to_clean(queries: Tensor, keys: Tensor, block_size: int, x0_causal: bool) -> Tensor:
    """Mask of clean queries on clean keys, from their positions `[..., Q]` and `[..., K]`; returns `[..., Q, K]`."""
    if x0_causal:
        return keys[..., None, :] <= queries[..., :, None]
    return keys[..., None, :] // block_size <= queries[..., :, None] // block_size


def noisy_to_clean(queries: Tensor, keys: Tensor, block_size: int) -> Tensor:
    """Mask of noisy queries on clean keys, from their positions `[..., Q]` and `[..., K]`; returns `[..., Q, K]`."""
    return keys[..., None, :] // block_size < queries[..., :, None] // block_size


def noisy_to_noisy(queries: Tensor, keys: Tensor, block_size: int) -> Tensor:
    """Mask of noisy queries on noisy keys, from their positions `[..., Q]` and `[..., K]`; returns `[..., Q, K]`."""
    return keys[..., None, :] // block_size == queries[..., :, None] // block_size


def two_stream_mask(clean: Tensor, noisy: Tensor, block_size: int, x0_causal: bool) -> Tensor:
    """Mask over `[clean | noisy]` for any choice of positions in either stream.

    `clean` int64 `[..., C]` and `noisy` int64 `[..., T]` are positions on the canvas; returns bool
    `[..., C + T, C + T]`.
    """
    clean_rows = clean_to_clean(clean, clean, block_size, x0_causal)
    never = torch.zeros(*clean.shape, noisy.shape[-1], dtype=torch.bool, device=clean.device)
    return torch.cat(
        [
            torch.cat([clean_rows, never], dim=-1),
            torch.cat(
                [noisy_to_clean(noisy, clean, block_size), noisy_to_noisy(noisy, noisy, block_size)], dim=-1
            ),
        ],
        dim=-2,
    )


def training_mask(length: int, block_size: int, x0_causal: bool) -> Tensor:
    """Mask over the whole canvas twice, `[x0 | xt]`; returns bool `[2 length, 2 length]`."""
    positions = torch.arange(length)
    return two_stream_mask(positions, positions, block_size, x0_causal)


def generation_mask(cached: int, clean: int, noisy: int, block_size: int, x0_causal: bool) -> Tensor:
    """Mask of one generating pass: queries `[clean to commit | noisy]`, keys `[cache | clean | noisy]`.

    The cache holds positions 0..cached-1, the clean tokens follow it, the noisy ones follow those. What is noisy is
    one block (or what is left of it), so each of its tokens sees all of the keys. Returns bool
    `[clean + noisy, cached + clean + noisy]`.
    """
    context = torch.arange(cached + clean)
    mask = torch.ones(clean + noisy, cached + clean + noisy, dtype=torch.bool)
    mask[:clean, : cached + clean] = clean_to_clean(context[cached:], context, block_size, x0_causal)
    mask[:clean, cached + clean :] = False
    return mask


def verification_mask(cached: int, count: int) -> Tensor:
    """Mask of one AR verification: queries `[proposal | noise]`, keys `[cache | proposal | noise]`.

    Proposal token i sees the cache and the proposal up to itself; noise token i sees the cache, the proposal
    before i, and itself. Returns bool `[2 count, cached + 2 count]`.
    """
    mask = torch.zeros(2 * count, cached + 2 * count, dtype=torch.bool)
    mask[:, :cached] = True
    lower = torch.ones(count, count, dtype=torch.bool).tril()
    mask[:count, cached : cached + count] = lower
    mask[count:, cached : cached + count] = lower.tril(-1)
    mask[count:, cached + count :] = torch.eye(count, dtype=torch.bool)
    return mask


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The mask as numbers to add to scores, 0 or -inf, like `mask`: what a kernel would make of one in every layer."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, -torch.inf)
