"""Network time: one pass over the bare matrix products of its shapes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from bench.results import Result
from bench.timing import ratio
from blockviz.models.attention import generation_mask
from blockviz.models.block_dit import BlockDiT, KVCache, NetworkConfig

LARGE = NetworkConfig(
    hidden_size=768, n_blocks=12, n_heads=12, length=1024, vocab_size=50258, cond_dim=128, x0_causal=True
)
"""The shape of the released 170-million-parameter models; its weights are random here."""


def random_network(config: NetworkConfig) -> BlockDiT:
    """A network of this shape in evaluation mode, with random weights."""
    net = BlockDiT(config)
    net.initialise(torch.Generator().manual_seed(0))
    return net.requires_grad_(False).eval()


def products(config: NetworkConfig, queries: int, keys: int, outputs: int) -> Callable[[], None]:
    """A function that does the matrix products of one pass and nothing else.

    Per layer: qkv, scores, weighted values, output projection, the two of the MLP, each on matrices of its own, as
    the network has them; then the output head. adaLN's products are left out: their input is constant.
    """
    width, heads = config.hidden_size, config.n_heads
    generator = torch.Generator().manual_seed(1)

    def matrix(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    x, wide = matrix(queries, width), matrix(queries, 4 * width)
    q, scores = matrix(heads, queries, width // heads), matrix(heads, queries, keys)
    # The weights lie as nn.Linear keeps them, [out, in].
    layers = [
        (
            matrix(3 * width, width),
            matrix(heads, keys, width // heads),
            matrix(heads, keys, width // heads),
            matrix(width, width),
            matrix(4 * width, width),
            matrix(width, 4 * width),
        )
        for _ in range(config.n_blocks)
    ]
    head, last = matrix(config.vocab_size, width), matrix(outputs, width)

    def run() -> None:
        for qkv, k, v, out, up, down in layers:
            x @ qkv.T
            q @ k.transpose(1, 2)
            scores @ v
            x @ out.T
            x @ up.T
            wide @ down.T
        last @ head.T

    return run


def one_pass(net: BlockDiT, cached: int, clean: int, block: int) -> Callable[[], Tensor]:
    """A function that runs one denoising pass over `[clean | noisy block]` with `cached` tokens in the cache."""
    config = net.config
    cache = KVCache(config, batch=1, capacity=cached + clean + block)
    cache.length = cached
    tokens = torch.randint(0, config.vocab_size, (1, clean + block))
    positions = torch.arange(cached, cached + clean + block)
    mask = generation_mask(cached, clean, block, block, config.x0_causal) if clean else None

    def run() -> Tensor:
        logits = net(tokens, positions, mask, cache, clean, clean)
        cache.truncate(cached)
        return logits

    return run


def measure(config: NetworkConfig, label: str, limit: float, cached: int, rounds: int) -> list[Result]:
    """The ratio for a pass inside a block and for the one that opens a block, each with B = 16 and one sequence."""
    net = random_network(config)
    results = []
    with torch.inference_mode():
        for kind, clean in (("pass inside a block", 0), ("pass that opens a block", 16)):
            ours = one_pass(net, cached, clean, 16)
            bare = products(config, clean + 16, cached + clean + 16, 16)
            value, network_time, bare_time = ratio(ours, bare, rounds, calls=3)
            how = (
                f"network {1000 * network_time:.2f} ms, bare products {1000 * bare_time:.2f} ms; B = 16, "
                f"{cached} cached, {clean} clean tokens carried, float32, medians of {rounds} alternating rounds"
            )
            results.append(Result(f"{kind}, {label}", value, "x bare products", "at most", limit, how))
    return results
