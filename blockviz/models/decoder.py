"""Causal decoders of the Llama, Qwen and GPT-2 families behind the denoiser's interface.

Their trunk, embedding and head are computed as the published models compute them; what differs is the mask: it comes
from the caller, so that the same weights read a clean stream causally and a noisy one block by block. `decoder_files`
reads a published folder into this form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockviz.models.block_dit import BlockDiT, Embedding, Fixed, NetworkConfig
from blockviz.models.kv_cache import Slot
from blockviz.models.layer import AttentionRequest, attend, rotate, rows

Norm = Literal["rms", "layer"]


@dataclass(frozen=True)
class DecoderConfig(NetworkConfig):
    """Shape of a causal decoder; the fields of `NetworkConfig` mean what they mean there.

    `shared_heads` heads of keys and values are shared by the `n_heads` of queries, each `head_width` wide. Without
    `rotary_base` positions are learned vectors, one for each of `length`. `gated` MLPs multiply by a SiLU gate, others
    apply tanh-GELU. A `tied` head is the embedding.
    """

    shared_heads: int = 1
    head_width: int = 2
    mlp_width: int = 1
    norm: Norm = "rms"
    norm_eps: float = 1e-5
    rotary_base: float | None = 10000.0
    gated: bool = True
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    head_norms: bool = False
    tied: bool = False

    def __post_init__(self) -> None:
        if self.n_heads % self.shared_heads:
            raise ValueError(
                f"{self.n_heads} heads cannot share {self.shared_heads} heads of keys and values"
            )
        if self.head_width % 2:
            raise ValueError(f"a head of {self.head_width} positions has no even width")
        if not self.x0_causal:
            raise ValueError("a causal decoder reads its clean tokens causally (x0_causal)")

    @property
    def head_dim(self) -> int:
        """Width of one attention head."""
        return self.head_width

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values."""
        return self.shared_heads


class Normalisation(nn.Module):
    """RMS normalisation, in float32 and without bias, or layer normalisation with one."""

    def __init__(self, width: int, kind: Norm, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if kind == "layer" else None

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last dimension of `x`; keeps its dtype."""
        if self.bias is not None:
            return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + self.eps)
        return self.weight * (wide * scale).to(x.dtype)


class Angles(nn.Module):
    """Rotary angles at a base, as `block_dit.Rotary` gives them; empty ones where positions are learned vectors."""

    inv_freq: Tensor

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        exponents = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
        rotary = config.rotary_base is not None
        self.register_buffer(
            "inv_freq", 1.0 / (config.rotary_base or 1.0) ** exponents if rotary else torch.zeros(0)
        )

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosine and signed sine `[..., 1, T, head_dim]`, float32, of positions int64 `[..., T]`."""
        angles = positions[..., None].to(torch.float32) * self.inv_freq.to(torch.float32)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([cos, cos], dim=-1).unsqueeze(-3), torch.cat([-sin, sin], dim=-1).unsqueeze(-3)


class DecoderMLP(nn.Module):
    """SiLU-gated, or tanh-GELU between two layers."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        width, inner, bias = config.hidden_size, config.mlp_width, config.mlp_bias
        self.gate = nn.Linear(width, inner, bias=bias) if config.gated else None
        self.up = nn.Linear(width, inner, bias=bias)
        self.down = nn.Linear(inner, width, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Transform `x [N, T, width]`."""
        if self.gate is None:
            return self.down(F.gelu(self.up(x), approximate="tanh"))
        return self.down(F.silu(self.gate(x)) * self.up(x))


class DecoderBlock(nn.Module):
    """One layer, a `layer.Layer`."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        width, heads = config.hidden_size, config.n_heads + 2 * config.kv_heads
        self.config = config
        self.norm1 = Normalisation(width, config.norm, config.norm_eps)
        self.attn_qkv = nn.Linear(width, heads * config.head_dim, bias=config.qkv_bias)
        self.attn_out = nn.Linear(config.n_heads * config.head_dim, width, bias=config.out_bias)
        self.query_norm, self.key_norm = (
            Normalisation(config.head_dim, "rms", config.norm_eps) if config.head_norms else None
            for _ in range(2)
        )
        self.norm2 = Normalisation(width, config.norm, config.norm_eps)
        self.mlp = DecoderMLP(config)

    def forward(
        self,
        x: Tensor,
        angles: tuple[Tensor, Tensor],
        mask: Tensor | None,
        slot: Slot | None,
        first: int,
        request: AttentionRequest | None,
        dropout: float,
    ) -> Tensor:
        """As `layer.Layer`: `x [N, T, width]` into `[N, T - first, width]`; the published models have no dropout."""
        x = x[:, first:] + self._attend(self.norm1(x), angles, mask, slot, first, request)
        return x + self.mlp(self.norm2(x))

    def _attend(
        self,
        h: Tensor,
        angles: tuple[Tensor, Tensor],
        mask: Tensor | None,
        slot: Slot | None,
        first: int,
        request: AttentionRequest | None,
    ) -> Tensor:
        config = self.config
        batch, count, _ = h.shape
        groups = [config.n_heads, config.kv_heads, config.kv_heads]
        heads = self.attn_qkv(h).view(batch, count, sum(groups), config.head_dim).transpose(1, 2)
        q, k, v = heads.split(groups, dim=1)
        if self.query_norm is not None and self.key_norm is not None:
            q, k = self.query_norm(q), self.key_norm(k)
        if config.rotary_base is not None:
            q, k = rotate(q, *angles), rotate(k, *angles)
        if slot is not None:
            k, v = slot.add(k, v)
        shared = config.n_heads // config.kv_heads
        if shared > 1:
            k, v = k.repeat_interleave(shared, dim=1), v.repeat_interleave(shared, dim=1)
        if first:
            q, mask = q[:, :, first:], rows(mask, first)
        if request is not None:
            request.answer(q, k, mask)
        return self.attn_out(attend(q, k, v, mask).reshape(batch, count - first, -1))


class DecoderOutput(nn.Module):
    """Final normalisation and the head, which may be the embedding."""

    def __init__(self, config: DecoderConfig, embedding: Embedding) -> None:
        super().__init__()
        self.norm_final = Normalisation(config.hidden_size, config.norm, config.norm_eps)
        self.linear = None if config.tied else nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        # In a tuple, so that the tied matrix is no parameter of this module too.
        self._embedding = (embedding,)

    def forward(self, x: Tensor) -> Tensor:
        """Logits `[N, T, V]` of `x [N, T, width]`."""
        x = self.norm_final(x)
        return F.linear(x, self._embedding[0].embedding) if self.linear is None else self.linear(x)


class Decoder(BlockDiT):
    """A causal decoder as a denoiser network: called, cached and trained as `BlockDiT` is."""

    def __init__(self, config: DecoderConfig) -> None:
        nn.Module.__init__(self)
        self.config = config
        self.vocab_embed = Embedding(config)
        self.rotary_emb = Angles(config)
        self.sigma_map = None
        self.blocks = nn.ModuleList([DecoderBlock(config) for _ in range(config.n_blocks)])
        self.output_layer = DecoderOutput(config, self.vocab_embed)
        self.position_embed = (
            nn.Embedding(config.length, config.hidden_size) if config.rotary_base is None else None
        )

    def fixed(self, positions: Tensor) -> Fixed:
        """What calls over tokens at `positions` int64 `[..., T]` have in common."""
        return Fixed(positions, self.rotary_emb(positions), tuple(self.blocks), self.output_layer)

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Vectors of tokens, with those of their positions where these are learned."""
        x = self.vocab_embed(tokens)
        if self.position_embed is None:
            return x
        # Padding lies behind every canvas; nobody reads it, so its vector does not matter.
        return x + self.position_embed(positions.clamp(max=self.config.length - 1))


def network(config: NetworkConfig) -> BlockDiT:
    """The network of a shape, with weights yet to be loaded."""
    return Decoder(config) if isinstance(config, DecoderConfig) else BlockDiT(config)
