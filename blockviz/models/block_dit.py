"""The backbone: a pre-LN transformer over clean and noisy tokens, and its KV cache.

It follows the released BlockGen state-dict format (arXiv 2606.02241; MATHS.md, "The model"), so that released
weights load as they are. One `forward` serves training, generation, AR decoding and AR verification: the caller
says which tokens, at which positions, under which mask, and how many of them to commit to the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blockviz.models.kv_cache import KVCache
from blockviz.models.layer import AttentionRequest, Head, Layer, LayerWeights, Norm

ROTARY_BASE = 10000.0
SIGMA_FEATURES = 256


@dataclass(frozen=True)
class NetworkConfig:
    """Shape of the backbone, as the released `config.json` and the tensors themselves state it.

    `cond_dim` is 0 for a network without adaLN; `mlp_ratio` is fixed at 4 by the format.
    """

    hidden_size: int
    n_blocks: int
    n_heads: int
    length: int
    vocab_size: int
    cond_dim: int = 0
    dropout: float = 0.0
    x0_causal: bool = True

    def __post_init__(self) -> None:
        if self.hidden_size % (2 * self.n_heads):
            raise ValueError(
                f"hidden_size {self.hidden_size} does not split into {self.n_heads} heads of even width"
            )

    @property
    def head_dim(self) -> int:
        """Width of one attention head."""
        return self.hidden_size // self.n_heads

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values, which a cache keeps."""
        return self.n_heads


class Rotary(nn.Module):
    """Rotary position embedding on non-interleaved halves, base 10000."""

    inv_freq: Tensor

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
        self.register_buffer("inv_freq", 1.0 / ROTARY_BASE**exponents)

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosine and signed sine `[..., 1, T, head_dim]`, float32, for `layer.rotate` at positions int64 `[..., T]`."""
        angles = positions[..., None].to(torch.float32) * self.inv_freq.to(torch.float32)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([cos, cos], dim=-1).unsqueeze(-3), torch.cat([-sin, sin], dim=-1).unsqueeze(-3)


class SigmaMap(nn.Module):
    """Condition vector of the adaLN layers; sigma is always 0 in BlockGen, so it is one constant vector."""

    def __init__(self, cond_dim: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Linear(SIGMA_FEATURES, cond_dim), nn.SiLU(), nn.Linear(cond_dim, cond_dim)
        )

    def forward(self) -> Tensor:
        """Condition `[cond_dim]` at sigma = 0: the cosine features are 1, the sine features 0."""
        features = torch.zeros(
            SIGMA_FEATURES, device=self.mlp[0].weight.device, dtype=self.mlp[0].weight.dtype
        )
        features[: SIGMA_FEATURES // 2] = 1.0
        return F.silu(self.mlp(features))


class LayerNorm(nn.Module):
    """The weight of a layer normalisation without bias."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def adapted(self, shift: Tensor | None = None, scale: Tensor | None = None) -> Norm:
        """The normalisation followed by adaLN's `x (1 + scale) + shift`, each `[width]`."""
        return Norm(self.weight if scale is None else self.weight * (1 + scale), shift)


class Block(nn.Module):
    """One transformer layer's weights under the released format's names; `LayerWeights` computes with them."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        width = config.hidden_size
        self.n_heads = config.n_heads
        self.norm1 = LayerNorm(width)
        self.attn_qkv = nn.Linear(width, 3 * width, bias=False)
        self.attn_out = nn.Linear(width, width, bias=False)
        self.norm2 = LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))
        self.adaLN_modulation = nn.Linear(config.cond_dim, 6 * width) if config.cond_dim else None

    def weights(self, condition: Tensor | None) -> LayerWeights:
        """The layer's weights under adaLN's `condition [cond_dim]`, which is the same for every token."""
        shift1 = scale1 = gate1 = shift2 = scale2 = gate2 = None
        if self.adaLN_modulation is not None and condition is not None:
            shift1, scale1, gate1, shift2, scale2, gate2 = self.adaLN_modulation(condition).chunk(6, dim=-1)
        up, down = self.mlp[0], self.mlp[2]
        return LayerWeights(
            heads=self.n_heads,
            norm1=self.norm1.adapted(shift1, scale1),
            qkv=self.attn_qkv.weight,
            out=self.attn_out.weight,
            gate1=gate1,
            norm2=self.norm2.adapted(shift2, scale2),
            up=up.weight,
            up_bias=up.bias,
            down=down.weight,
            down_bias=down.bias,
            gate2=gate2,
        )


class OutputLayer(nn.Module):
    """Weights of the final normalisation and the untied output head."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.norm_final = LayerNorm(config.hidden_size)
        self.linear = nn.Linear(config.hidden_size, config.vocab_size)
        self.adaLN_modulation = (
            nn.Linear(config.cond_dim, 2 * config.hidden_size) if config.cond_dim else None
        )

    def weights(self, condition: Tensor | None) -> Head:
        """The weights under adaLN's `condition [cond_dim]`."""
        shift = scale = None
        if self.adaLN_modulation is not None and condition is not None:
            shift, scale = self.adaLN_modulation(condition).chunk(2, dim=-1)
        return Head(self.norm_final.adapted(shift, scale), self.linear.weight, self.linear.bias)


class Embedding(nn.Module):
    """Token embedding, kept under the released format's key `vocab_embed.embedding`."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(config.vocab_size, config.hidden_size) * 0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        """Vectors `[N, T, width]` of tokens int64 `[N, T]`."""
        return F.embedding(tokens, self.embedding)


class Fixed(NamedTuple):
    """What does not change between calls while the weights stay: rotary angles of `positions`, and the layers."""

    positions: Tensor
    angles: tuple[Tensor, Tensor]
    layers: tuple[Layer, ...]
    head: Callable[[Tensor], Tensor]

    def at(self, *where: slice) -> Fixed:
        """The same for the tokens at these places of those it was made for, one range after another."""
        cos, sin = (torch.cat([part[..., one, :] for one in where], dim=-2) for part in self.angles)
        positions = torch.cat([self.positions[..., one] for one in where], dim=-1)
        return self._replace(positions=positions, angles=(cos, sin))


class BlockDiT(nn.Module):
    """The denoiser network of BlockGen: logits for any rows of clean and noisy tokens under a given mask."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.vocab_embed = Embedding(config)
        self.rotary_emb = Rotary(config.head_dim)
        self.sigma_map = SigmaMap(config.cond_dim) if config.cond_dim else None
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_blocks)])
        self.output_layer = OutputLayer(config)

    def fixed(self, positions: Tensor) -> Fixed:
        """What calls over tokens at `positions` int64 `[..., T]` have in common."""
        condition = self.sigma_map() if self.sigma_map is not None else None
        layers = tuple(block.weights(condition) for block in self.blocks)
        return Fixed(positions, self.rotary_emb(positions), layers, self.output_layer.weights(condition))

    def forward(
        self,
        tokens: Tensor,
        positions: Tensor | Fixed,
        mask: Tensor | None = None,
        cache: KVCache | None = None,
        commit: int = 0,
        first_output: int = 0,
        attention: AttentionRequest | None = None,
    ) -> Tensor:
        """Logits of one network call (one NFE).

        `tokens` int64 `[N, T]`; `positions` int64 `[T]` or `[N, T]`, or what `fixed` made of them; `mask` bool
        `[T, K]` or `[N, T, K]`, True where attention is allowed (or float, see `attention.additive`), or None for
        everything. The K keys are the cache's committed tokens followed
        by the T tokens of this call, whose first `commit` tokens become committed. Returns float logits
        `[N, T - first_output, V]` of the tokens from `first_output` on. `attention` asks one layer for its weights.
        Raises ValueError when the cache is full.
        """
        slots = cache.slots(tokens.shape[1]) if cache is not None else None
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        fixed = positions if isinstance(positions, Fixed) else self.fixed(positions)
        x = self.embed(tokens, fixed.positions)
        dropout = self.config.dropout if self.training else 0.0
        last = len(fixed.layers) - 1
        for layer, transform in enumerate(fixed.layers):
            # No later layer reads the tokens without output, so the last layer does not compute them.
            first = first_output if layer == last else 0
            asked = attention if attention is not None and attention.layer == layer else None
            slot = slots[layer] if slots is not None else None
            x = transform(x, fixed.angles, mask, slot, first, asked, dropout)
        if cache is not None:
            cache.length += commit
        return fixed.head(x)

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Vectors `[N, T, width]` that enter the first layer; `positions` are as in `forward`."""
        return self.vocab_embed(tokens)

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Fresh weights for training: normal with standard deviation 0.02, output head zero, adaLN zero."""
        for name, parameter in self.named_parameters():
            if "norm" in name:
                parameter.fill_(1.0)
            elif parameter.dim() < 2 or "adaLN" in name or name == "output_layer.linear.weight":
                parameter.zero_()
            else:
                parameter.normal_(0.0, 0.02, generator=generator)
