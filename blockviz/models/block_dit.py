"""The backbone: a pre-LN transformer over clean and noisy tokens, and its KV cache.

It follows the released BlockGen state-dict format (arXiv 2606.02241; MATHS.md, "The model"), so that released
weights load as they are. One `forward` serves training, generation, AR decoding and AR verification: the caller
says which tokens, at which positions, under which mask, and how many of them to commit to the cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

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


class KVCache:
    """Preallocated keys and values of committed clean tokens, with room for the tokens of one pass behind them.

    `keys` and `values` are `[layers, N, heads, capacity, head_dim]`; the first `length` entries are committed.
    A pass writes its own keys and values behind them and commits by moving `length`, so nothing is ever copied.
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


@dataclass
class AttentionRequest:
    """Asks one forward for the attention weights that its last `queries` tokens have in `layer` (from 0).

    The forward answers in `weights`, float32 `[N, heads, queries, K]`, computed beside its own attention, whose result
    stays the same bit for bit.
    """

    layer: int
    queries: int
    weights: Tensor | None = None


def softmax_weights(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(q k^T / sqrt(d)) over the keys that `mask` allows, in float32.

    `q [N, heads, Q, d]`, `k [N, heads, K, d]`; `mask` bool for `[N, heads, Q, K]` by broadcasting, or None for all.
    """
    scores = q.float() @ k.float().transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1)


class Rotary(nn.Module):
    """Rotary position embedding on non-interleaved halves, base 10000."""

    inv_freq: Tensor

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
        self.register_buffer("inv_freq", 1.0 / ROTARY_BASE**exponents)

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosine and signed sine `[..., 1, T, head_dim]` (float32) for positions int64 `[..., T]`, see `rotate`."""
        angles = positions[..., None].to(torch.float32) * self.inv_freq.to(torch.float32)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([cos, cos], dim=-1).unsqueeze(-3), torch.cat([-sin, sin], dim=-1).unsqueeze(-3)


def rotate(x: Tensor, cos: Tensor, signed_sin: Tensor) -> Tensor:
    """Rotate `x [..., T, head_dim]`; `signed_sin` is negative in its first half. Keeps the dtype of `x`."""
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), signed_sin).to(x.dtype)


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
    """The weight of a layer normalisation without bias; `_normalise` applies it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))


def _normalise(x: Tensor, weight: Tensor) -> Tensor:
    return F.layer_norm(x, weight.shape, weight, None, 1e-5)


class Block(nn.Module):
    """One transformer layer: attention over cache and own tokens, then the MLP, each modulated when adaLN is on.

    The modules only hold the weights under the released format's names; the forward pass calls the functions
    themselves, because in a network this small the calls of the modules would cost as much as their work.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        width = config.hidden_size
        self.n_heads = config.n_heads
        self.dropout = config.dropout
        self.norm1 = LayerNorm(width)
        self.attn_qkv = nn.Linear(width, 3 * width, bias=False)
        self.attn_out = nn.Linear(width, width, bias=False)
        self.norm2 = LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))
        self.adaLN_modulation = nn.Linear(config.cond_dim, 6 * width) if config.cond_dim else None

    def forward(
        self,
        x: Tensor,
        angles: tuple[Tensor, Tensor],
        mask: Tensor | None,
        store: tuple[Tensor, Tensor, int] | None,
        condition: Tensor | None,
        first: int = 0,
        request: AttentionRequest | None = None,
    ) -> Tensor:
        """Transform `x [N, T, width]` into `[N, T - first, width]`: the tokens before `first` are only read.

        `store` is (keys, values, used) of this layer's cache, or None; `request` is answered by this layer.
        """
        modulation = self._modulation(condition)
        h = _normalise(x, self.norm1.weight)
        if modulation is not None:
            h = h * (1 + modulation[1]) + modulation[0]
        attended = self._attend(h, angles, mask, store, first, request)
        x = x[:, first:] + self._drop(attended if modulation is None else attended * modulation[2])
        h = _normalise(x, self.norm2.weight)
        if modulation is not None:
            h = h * (1 + modulation[4]) + modulation[3]
        up, down = self.mlp[0], self.mlp[2]
        h = F.linear(F.gelu(F.linear(h, up.weight, up.bias), approximate="tanh"), down.weight, down.bias)
        return x + self._drop(h if modulation is None else h * modulation[5])

    def _modulation(self, condition: Tensor | None) -> tuple[Tensor, ...] | None:
        if self.adaLN_modulation is None or condition is None:
            return None
        return self.adaLN_modulation(condition).chunk(6, dim=-1)

    def _attend(
        self,
        h: Tensor,
        angles: tuple[Tensor, Tensor],
        mask: Tensor | None,
        store: tuple[Tensor, Tensor, int] | None,
        first: int,
        request: AttentionRequest | None,
    ) -> Tensor:
        batch, count, width = h.shape
        qkv = F.linear(h, self.attn_qkv.weight).view(batch, count, 3, self.n_heads, width // self.n_heads)
        qkv = qkv.permute(2, 0, 3, 1, 4)
        (q, k), v = rotate(qkv[:2], *angles).unbind(0), qkv[2]
        if store is not None:
            keys, values, used = store
            keys, values = keys[:, :, : used + count], values[:, :, : used + count]
            keys[:, :, used:] = k
            values[:, :, used:] = v
            k, v = keys, values
        if first:
            q = q[:, :, first:]
            mask = mask[..., first:, :] if mask is not None else None
        if request is not None:
            rows = None if mask is None else mask[..., -request.queries :, :]
            request.weights = softmax_weights(q[:, :, -request.queries :], k, rows)
        if k.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            # The CPU kernel's backward pass is three times slower in bfloat16 than in float32 (torch 2.13).
            with torch.autocast("cpu", enabled=False):
                out = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), attn_mask=mask)
        else:
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return F.linear(out.transpose(1, 2).reshape(batch, count - first, width), self.attn_out.weight)

    def _drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training) if self.dropout else x


class OutputLayer(nn.Module):
    """Final normalisation and the untied output head."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.norm_final = LayerNorm(config.hidden_size)
        self.linear = nn.Linear(config.hidden_size, config.vocab_size)
        self.adaLN_modulation = (
            nn.Linear(config.cond_dim, 2 * config.hidden_size) if config.cond_dim else None
        )

    def forward(self, x: Tensor, condition: Tensor | None) -> Tensor:
        """Logits `[N, T, V]` of `x [N, T, width]`."""
        x = _normalise(x, self.norm_final.weight)
        if self.adaLN_modulation is not None and condition is not None:
            shift, scale = self.adaLN_modulation(condition).chunk(2, dim=-1)
            x = x * (1 + scale) + shift
        return self.linear(x)


class Embedding(nn.Module):
    """Token embedding, kept under the released format's key `vocab_embed.embedding`."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(config.vocab_size, config.hidden_size) * 0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        """Vectors `[N, T, width]` of tokens int64 `[N, T]`."""
        return F.embedding(tokens, self.embedding)


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

    def forward(
        self,
        tokens: Tensor,
        positions: Tensor,
        mask: Tensor | None = None,
        cache: KVCache | None = None,
        commit: int = 0,
        first_output: int = 0,
        attention: AttentionRequest | None = None,
    ) -> Tensor:
        """Logits of one network call (one NFE).

        `tokens` int64 `[N, T]`; `positions` int64 `[T]` or `[N, T]`; `mask` bool `[T, K]` or `[N, T, K]`, True
        where attention is allowed, or None for everything. The K keys are the cache's committed tokens followed
        by the T tokens of this call, whose first `commit` tokens become committed. Returns float logits
        `[N, T - first_output, V]` of the tokens from `first_output` on. `attention` asks one layer for its weights.
        Raises ValueError when the cache is full.
        """
        count = tokens.shape[1]
        used = cache.length if cache is not None else 0
        if cache is not None and used + count > cache.capacity:
            raise ValueError(f"the cache holds {cache.capacity} tokens, {used + count} are needed")
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        angles = self.rotary_emb(positions)
        condition = self.sigma_map() if self.sigma_map is not None else None
        x = self.embed(tokens, positions)
        for layer, block in enumerate(self.blocks):
            store = (cache.keys[layer], cache.values[layer], used) if cache is not None else None
            # No later layer reads the tokens without output, so the last layer does not compute them.
            first = first_output if layer == len(self.blocks) - 1 else 0
            asked = attention if attention is not None and attention.layer == layer else None
            x = block(x, angles, mask, store, condition, first, asked)
        if cache is not None:
            cache.length = used + commit
        return self.output_layer(x, condition)

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
