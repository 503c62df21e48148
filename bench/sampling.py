"""Sampling time: cached over recomputed, recording over not recording, many sequences over one at a time."""

from __future__ import annotations

from collections.abc import Callable

import torch

from bench.results import Result
from bench.timing import ratio
from blockviz.diffusion.draws import GeneratorDraws
from blockviz.models.checkpoint import Model
from blockviz.sampling.batch import sample_batch
from blockviz.sampling.run import passes, prepare, sample
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


def cache(model: Model, label: str, steps: int, rounds: int) -> Result:
    """How many times faster a token is written with the KV cache than without, at L = 256 and B = 16.

    `model` must allow 256 positions.
    """
    fast = from_preset("ancestral", block_size=16, steps=steps, length=256, fill_canvas=True)
    slow = from_preset("ancestral", block_size=16, steps=steps, length=256, fill_canvas=True, use_cache=False)
    value, recomputed, cached = ratio(unrecorded(model, slow), unrecorded(model, fast), rounds)
    how = (
        f"recomputed {recomputed:.2f} s, cached {cached:.2f} s; ancestral, L = 256, B = 16, {steps} steps per block, "
        f"one sequence to the end of the canvas, medians of {rounds} alternating rounds"
    )
    return Result(f"cached over recomputed, {label}", value, "x faster per token", "at least", 3.0, how)


def recording(model: Model, label: str, limit: float, length: int, steps: int, rounds: int) -> Result:
    """What recording everything adds to the time of a run, in percent."""
    settings = from_preset("arpc", block_size=16, steps=steps, length=length, fill_canvas=True)
    recorded = 0

    def record() -> None:
        nonlocal recorded
        recorded = len(sample(model, PROMPT, settings).passes)

    value, with_trace, without = ratio(record, unrecorded(model, settings), rounds)
    how = (
        f"with trace {with_trace:.2f} s, without {without:.2f} s; ARPC, L = {length}, B = 16, {steps} steps per block, "
        f"{recorded} passes, medians of {rounds} alternating rounds"
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
    how = (
        f"{rows} sequences in {many:.2f} s, one in {few / alone:.2f} s; {preset}, L = {model.info.length}, "
        f"B = {1 if preset == 'ar' else 16}, medians of {rounds} alternating rounds"
    )
    value = rows / alone / per_call
    return Result(f"batch of {rows} over one, {preset}", value, "x tokens per second", "at least", 20.0, how)
