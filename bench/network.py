"""Network time: one pass over the bare matrix products of its shapes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from bench.results import Result
from bench.timing import ratio
from blockviz.models.block_dit import NetworkConfig
from blockviz.models.checkpoint import Model
from blockviz.sampling.denoiser import Denoiser

BLOCK = 16


def products(config: NetworkConfig, queries: int, keys: int, outputs: int) -> Callable[[], None]:
    """A function that does the matrix products of one pass and nothing else.

    Per layer: qkv, scores, weighted values, output projection, the two of the MLP, each on matrices of its own, as
    the network has them; then the output head. In the last layer only the `outputs` tokens go on behind the first
    product, since nobody reads the others. adaLN's products are left out: their input is constant.
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
        for layer, (qkv, k, v, out, up, down) in enumerate(layers):
            x @ qkv.T
            rows = outputs if layer == len(layers) - 1 else queries
            q[:, :rows] @ k.transpose(1, 2)
            scores[:, :rows] @ v
            x[:rows] @ out.T
            x[:rows] @ up.T
            wide[:rows] @ down.T
        last @ head.T

    return run


def one_pass(model: Model, cached: int, clean: int) -> Callable[[], object]:
    """A function that asks for one prediction of a block of 16, as the sampling loop does.

    `cached` tokens are in the cache and `clean` further ones are carried and committed. Mask, log-softmax and the
    removal of forbidden tokens are included; draws are not.
    """
    canvas = torch.randint(0, model.info.vocab_size - 1, (1, cached + clean + BLOCK))
    denoiser = Denoiser(model, 1, canvas.shape[1], BLOCK, temperature=1.0, use_cache=True)
    active = torch.ones(1, dtype=torch.bool)
    start = cached + clean
    if cached:
        denoiser.denoise(canvas, cached, start + BLOCK if not clean else start, BLOCK, active)

    def run() -> object:
        prediction = denoiser.denoise(canvas, start, start + BLOCK, BLOCK, active)
        if denoiser.cache is not None:
            denoiser.cache.truncate(cached)
        return prediction

    return run


def measure(model: Model, label: str, limit: float, cached: int, rounds: int) -> list[Result]:
    """The ratio for a pass inside a block and for the one that opens a block, each with B = 16 and one sequence."""
    results = []
    with torch.inference_mode():
        for kind, clean in (("pass inside a block", 0), ("pass that opens a block", BLOCK)):
            bare = products(model.config, clean + BLOCK, cached + clean + BLOCK, BLOCK)
            value, ours, theirs = ratio(one_pass(model, cached, clean), bare, rounds, calls=3)
            how = (
                f"prediction {1000 * ours:.2f} ms, bare products {1000 * theirs:.2f} ms; B = {BLOCK}, {cached} cached, "
                f"{clean} clean tokens carried, one sequence, medians of {rounds} alternating rounds"
            )
            results.append(Result(f"{kind}, {label}", value, "x bare products", "at most", limit, how))
    return results
