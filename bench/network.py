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


Weights = list[tuple[Tensor, Tensor, Tensor, Tensor]]


def weights(config: NetworkConfig) -> Weights:
    """Matrices of their own for each layer, qkv, out, up and down, as nn.Linear keeps them: [out, in]."""
    width = config.hidden_size
    generator = torch.Generator().manual_seed(1)

    def matrix(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    return [
        (matrix(3 * width, width), matrix(width, width), matrix(4 * width, width), matrix(width, 4 * width))
        for _ in range(config.n_blocks)
    ]


def products(
    config: NetworkConfig, shared: Weights, head: Tensor, queries: int, keys: int, outputs: int, rows: int = 1
) -> Callable[[], None]:
    """A function that does the matrix products of one pass over `rows` sequences and nothing else.

    Per layer: qkv, scores, weighted values, output projection, the two of the MLP, on the matrices of `weights`; then
    the output `head [V, width]`. In the last layer only the `outputs` tokens go on behind the first product, since
    nobody reads the others. adaLN's products are left out: their input is constant.
    """
    width, heads = config.hidden_size, config.n_heads
    generator = torch.Generator().manual_seed(2)

    def matrix(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    x, wide = matrix(rows * queries, width), matrix(rows * queries, 4 * width)
    q, scores = matrix(rows * heads, queries, width // heads), matrix(rows * heads, queries, keys)
    cached = [
        (matrix(rows * heads, keys, width // heads), matrix(rows * heads, keys, width // heads))
        for _ in shared
    ]
    last = matrix(rows * outputs, width)

    def run() -> None:
        for layer, ((qkv, out, up, down), (k, v)) in enumerate(zip(shared, cached, strict=True)):
            x @ qkv.T
            going_on = outputs if layer == len(shared) - 1 else queries
            q[:, :going_on] @ k.transpose(1, 2)
            scores[:, :going_on] @ v
            x[: rows * going_on] @ out.T
            x[: rows * going_on] @ up.T
            wide[: rows * going_on] @ down.T
        last @ head.T

    return run


def head_of(config: NetworkConfig) -> Tensor:
    """A matrix of the shape of the output head."""
    return torch.randn(config.vocab_size, config.hidden_size, generator=torch.Generator().manual_seed(3))


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
    shared, head = weights(model.config), head_of(model.config)
    with torch.inference_mode():
        for kind, clean in (("pass inside a block", 0), ("pass that opens a block", BLOCK)):
            bare = products(model.config, shared, head, clean + BLOCK, cached + clean + BLOCK, BLOCK)
            value, ours, theirs = ratio(one_pass(model, cached, clean), bare, rounds, calls=3)
            how = (
                f"prediction {1000 * ours:.2f} ms, bare products {1000 * theirs:.2f} ms; B = {BLOCK}, {cached} cached, "
                f"{clean} clean tokens carried, one sequence, medians of {rounds} alternating rounds"
            )
            results.append(Result(f"{kind}, {label}", value, "x bare products", "at most", limit, how))
    return results
