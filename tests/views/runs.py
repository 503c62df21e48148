"""Runs for the views: the guided toy run of the browser tests, and a hand-made run with other geometry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from blockviz.sampling.run import sample
from blockviz.sampling.settings import SamplerSettings, from_preset
from blockviz.sampling.trace import STATE_CODE, End, Header, ModelFacts, Pass, Trace
from tests.browser.fake_runs import fake_run
from tests.sampling.small_models import tiny_model, words

MASK = 9


def guided(**more: Any) -> Trace:
    """A run with propose, verify and re-noise passes; see `fake_run`."""
    return fake_run(**more)


def sampled(preset: str, **options: Any) -> Trace:
    """A real run of a tiny masked model of 22 positions, seven of them given."""
    settings = from_preset(preset, **{"block_size": 6, "steps": 3, **options})
    return sample(tiny_model("masked"), words(1, 2, 3, 1, 2, 4, 5), settings)


def with_settings(trace: Trace, **changes: Any) -> Trace:
    """The same passes under other settings."""
    return replace(trace, header=replace(trace.header, settings=replace(trace.header.settings, **changes)))


def with_attention(trace: Trace, kept: str = "heads", heads: int = 3, seed: int = 0) -> Trace:
    """The same run with made-up attention weights in every network call of a model with so many heads."""
    rng = np.random.default_rng(seed)
    made = []
    for entry in trace.passes:
        if entry.phase in ("denoise", "propose", "verify"):
            width = entry.stop - entry.start
            weights = rng.gamma(0.3, 1.0, (heads if kept == "heads" else 1, width, entry.stop)) + 1e-6
            if entry.phase == "verify":
                weights[:, :, entry.start :] *= np.tri(width)
            weights /= weights.sum(-1, keepdims=True)
            entry = replace(entry, attention=np.rint(255 * np.sqrt(weights)))
        made.append(entry)
    header = replace(trace.header, model=replace(trace.header.model, heads=heads, layers=4))
    changed = with_settings(replace(trace, header=header), record_attention=kept)
    return replace(changed, passes=tuple(made))


def left_to_right(length: int = 8, prompt: int = 2) -> Trace:
    """An AR run, one denoise pass per position; the probability of position p is p / 10."""
    states = np.full(length, STATE_CODE["unopened"])
    states[:prompt] = STATE_CODE["prompt"]
    tokens = np.full(length, MASK)
    tokens[:prompt] = 1
    passes = [Pass.record("start", tokens=tokens, states=states, start=0, stop=0)]
    for position in range(prompt, length):
        states[prompt:position] = STATE_CODE["committed"]
        states[position] = STATE_CODE["revealed"]
        tokens[position] = 2
        passes.append(
            Pass.record(
                "denoise",
                tokens=tokens,
                states=states,
                start=position,
                stop=position + 1,
                block=position,
                nfe_denoise=position - prompt + 1,
                cached=0 if position == prompt else position - 1,
                clean=position if position == prompt else 1,
                confidence=[position / 10],
                reasons=[2],
            )
        )
    settings = SamplerSettings(predictor="autoregressive", block_size=1)
    return _trace(passes, settings, length, 1, prompt)


def large(passes: int, length: int) -> Trace:
    """A run of `passes` passes over one block of `length` positions in which pass k re-noises position k alone."""
    rows = []
    tokens = np.full(length, MASK)
    for k in range(passes):
        states = np.full(length, STATE_CODE["noise"])
        if k:
            states[k % length] = STATE_CODE["renoised"]
        phase = "renoise" if k else "start"
        stop = length if k else 0
        score = np.zeros(stop)
        score[k % length : k % length + 1] = 1.0
        rows.append(
            Pass.record(
                phase,
                tokens=tokens,
                states=states,
                start=0,
                stop=stop,
                score=score,
                confidence=np.full(stop, 0.5),
                k=1,
                cut=1.0,
            )
        )
    return _trace(rows, SamplerSettings(corrector="entropy", block_size=length), length, length, 0)


def _trace(passes: list[Pass], settings: SamplerSettings, length: int, block_size: int, prompt: int) -> Trace:
    header = Header(
        run="abcd",
        model=ModelFacts("toy", "0" * 64, "masked", MASK, 0, None, 1000, 1, 1, 8),
        settings=settings,
        prompt="words",
        length=length,
        block_size=block_size,
        tokens=(1,) * prompt,
        device="cpu",
    )
    pieces = {1: "one", 2: "<b>&", MASK: "▒"}
    return Trace(header, tuple(passes), End(1.0, False, "canvas", "text", len(passes)), pieces)
