"""Sampling time: cached over recomputed, recording over not recording, many sequences over one at a time."""

from __future__ import annotations

from collections.abc import Callable

import torch

from bench.network import BLOCK, head_of, products, weights
from bench.results import Result
from bench.timing import Work, ratio
from blockviz.diffusion.draws import GeneratorDraws
from blockviz.models.block_dit import NetworkConfig
from blockviz.models.checkpoint import Model
from blockviz.sampling.batch import sample_batch
from blockviz.sampling.run import passes, prepare, sample, stream
from blockviz.sampling.settings import SamplerSettings, from_preset
from blockviz.training.word_problems import problem_at

PROMPT = problem_at("test", 0, 0).prompt


def unrecorded(model: Model, settings: SamplerSettings) -> Callable[[], None]:
    """A function that runs one sequence through the loop and keeps nothing."""
    prompt = model.tokens.encode(PROMPT)

    def run() -> None:
        draws = GeneratorDraws(settings.seed, torch.device("cpu"))
        for _ in passes(prepare(model, settings, [prompt], lambda active: draws)):
            pass

    return run


def bare_cache_gain(config: NetworkConfig, length: int, steps: int, rounds: int) -> float:
    """What the cache would gain if passes were nothing but their matrix products: the bound of the machine."""
    shared, head = weights(config), head_of(config)
    recomputed: list[Work] = []
    cached: list[Work] = []
    for start in range(0, length, BLOCK):
        stop = start + BLOCK
        carried = BLOCK if start else 0
        recomputed += [products(config, shared, head, stop, stop, BLOCK)] * steps
        cached += [products(config, shared, head, carried + BLOCK, stop, BLOCK)]
        cached += [products(config, shared, head, BLOCK, stop, BLOCK)] * (steps - 1)
    with torch.inference_mode():
        return ratio(lambda: [one() for one in recomputed], lambda: [one() for one in cached], rounds)[0]


def bare_batch_gain(config: NetworkConfig, carried: int, window: int, rows: int, rounds: int) -> float:
    """What `rows` sequences at once would gain over one if passes were nothing but their matrix products."""
    shared, head = weights(config), head_of(config)
    shape = (carried + window, 64 + carried + window, window)
    with torch.inference_mode():
        together, alone = (products(config, shared, head, *shape, rows=count) for count in (rows, 1))
        return rows / ratio(together, alone, rounds, calls=3)[0]


def cache(model: Model, label: str, steps: int, rounds: int) -> Result:
    """How many times faster a token is written with the KV cache than without, at L = 256 and B = 16.

    `model` must allow 256 positions.
    """
    fast = from_preset("ancestral", block_size=16, steps=steps, length=256, fill_canvas=True)
    slow = from_preset("ancestral", block_size=16, steps=steps, length=256, fill_canvas=True, use_cache=False)
    value, recomputed, cached = ratio(unrecorded(model, slow), unrecorded(model, fast), rounds)
    how = (
        f"recomputed {recomputed:.2f} s, cached {cached:.2f} s; ancestral, L = 256, B = 16, {steps} steps per block, "
        f"one sequence to the end of the canvas, medians of {rounds} alternating rounds; the bare matrix products of "
        f"these passes are {bare_cache_gain(model.config, 256, steps, rounds):.2f} x faster"
    )
    return Result(f"cached over recomputed, {label}", value, "x faster per token", "at least", 3.0, how)


def recording(model: Model, label: str, limit: float, length: int, steps: int, rounds: int) -> Result:
    """What recording everything adds to the time of a run, in percent; live, pass by pass, it adds more."""
    settings = from_preset("arpc", block_size=16, steps=steps, length=length, fill_canvas=True)
    recorded = 0

    def record() -> None:
        nonlocal recorded
        recorded = len(sample(model, PROMPT, settings).passes)

    def record_live() -> None:
        for _ in stream(model, PROMPT, settings):
            pass

    value, with_trace, without = ratio(record, unrecorded(model, settings), rounds)
    live = ratio(record_live, unrecorded(model, settings), rounds)[0]
    how = (
        f"with trace {with_trace:.2f} s, without {without:.2f} s; ARPC, L = {length}, B = 16, {steps} steps per block, "
        f"{recorded} passes, medians of {rounds} alternating rounds; live, where each pass is recorded at once, "
        f"{100 * (live - 1):.1f} %"
    )
    return Result(
        f"recording everything, {label}", 100 * (value - 1), "% of sampling time", "at most", limit, how
    )


def batch(model: Model, preset: str, rows: int, rounds: int) -> Result:
    """Tokens per second of `rows` sequences at once over one sequence at a time, with what `evaluate` runs."""
    settings = from_preset(preset, block_size=16, steps=8, fill_canvas=True)
    prompts = [problem_at("test", 0, index).prompt for index in range(rows)]
    alone = 2

    def together() -> None:
        sample_batch(model, prompts, settings, list(range(rows)))

    def one_at_a_time() -> None:
        for index in range(alone):
            sample_batch(model, [prompts[index]], settings, [index])

    per_call, many, few = ratio(together, one_at_a_time, rounds)
    carried, window = (1, 1) if preset == "ar" else (0, 16)
    bare = bare_batch_gain(model.config, carried, window, rows, 10 * rounds)
    how = (
        f"{rows} sequences in {many:.2f} s, one in {few / alone:.2f} s; {preset}, L = {model.info.length}, "
        f"B = {window}, medians of {rounds} alternating rounds; the bare matrix products of a pass gain {bare:.1f} x "
        "by the same batch"
    )
    value = rows / alone / per_call
    return Result(f"batch of {rows} over one, {preset}", value, "x tokens per second", "at least", 20.0, how)
