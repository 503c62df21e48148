"""Traces for the tests: a small run made by hand, and a hypothesis strategy for any trace that the format can hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from blockviz.sampling.passes import PHASES, REASON_CODE, REASONS, STATE_CODE, STATES, VERDICTS
from blockviz.sampling.settings import SamplerSettings, from_preset
from blockviz.sampling.trace import Check, Edit, End, Event, Fork, Header, ModelFacts, Pass, Trace

MASK = 9


def model_facts(process: Any = "masked") -> ModelFacts:
    return ModelFacts(
        "tiny", "ab" * 32, process, MASK if process == "masked" else None, 0, None, 1000, 2, 2, 8
    )


def piece(token: int) -> str:
    return f"<{token}>"


def header(length: int = 6, block_size: int = 4, tokens: tuple[int, ...] = (1, 2), **changes: Any) -> Header:
    values: dict[str, Any] = {
        "run": "00ff",
        "model": model_facts(),
        "settings": from_preset("arpc", block_size=block_size, steps=2),
        "prompt": "a b",
        "length": length,
        "block_size": block_size,
        "tokens": tokens,
        "device": "cpu",
        "versions": {"torch": "2"},
        "created": "2026-01-01T00:00:00Z",
    }
    return Header(**{**values, **changes})


def small_events() -> list[Event]:
    """One guided step and the commit of the first block of 4 on a canvas of 6, with a prompt of 2."""
    s, r = STATE_CODE, REASON_CODE
    unopened, prompt = s["unopened"], s["prompt"]
    start = [1, 2, MASK, MASK, MASK, MASK]
    proposed = [1, 2, 3, 4, MASK, MASK]
    window: dict[str, Any] = {"start": 0, "stop": 4, "alpha_t": 0.001, "alpha_s": 0.5005}
    top = {
        "top_ids": [[1, -1, -1, -1, -1], [2, -1, -1, -1, -1], [3, 5, 6, 7, 8], [4, 3, -1, -1, -1]],
        "top_probs": [[1.0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0], [0.5, 0.2, 0.1, 0.1, 0.05], [0.7, 0.3, 0, 0, 0]],
    }
    draft = [prompt, prompt, s["proposed"], s["proposed"], unopened, unopened]
    reasons = [r["prompt"], r["prompt"], r["revealed"], r["revealed"]]
    known = {"confidence": [1.0, 1.0, 0.5, 0.7], "entropy": [0.0, 0.0, 1.2, 0.6]}
    ar = [-0.1, -0.2, -3.25, -0.5]
    wrong = Check(2, 4, "wrong", "1 + 1 = 3")
    return [
        header(),
        Pass.record("start", tokens=start, states=[prompt] * 2 + [unopened] * 4, start=0, stop=0),
        Pass.record(
            "propose",
            tokens=proposed,
            states=draft,
            nfe_denoise=1,
            reasons=reasons,
            ms=1.5,
            checks=[wrong],
            **known,
            **top,
            **window,
        ),
        Pass.record(
            "verify",
            tokens=proposed,
            states=draft,
            nfe_denoise=1,
            nfe_verify=1,
            reasons=reasons,
            ar_logprob=ar,
            checks=[wrong],
            **known,
            **top,
            **window,
        ),
        Pass.record(
            "renoise",
            tokens=[1, 2, MASK, 4, MASK, MASK],
            states=[prompt, prompt, s["renoised"], s["revealed"], unopened, unopened],
            nfe_denoise=1,
            nfe_verify=1,
            reasons=[r["prompt"], r["prompt"], r["renoised"], r["revealed"]],
            ar_logprob=ar,
            score=[np.nan, np.nan, 3.25, 0.5],
            k=1,
            cut=3.25,
            **known,
            **window,
        ),
        Pass.record(
            "commit",
            tokens=[1, 2, 5, 4, MASK, MASK],
            states=[prompt, prompt, s["committed"], s["committed"], unopened, unopened],
            nfe_denoise=2,
            nfe_verify=1,
            step=1,
            **window,
        ),
        End(0.25, False, "canvas", "e d", 5),
    ]


def small_trace() -> Trace:
    return Trace.collect(small_events(), piece)


NUMBERS = st.floats(allow_nan=True, allow_infinity=True, width=32)
TEXTS = st.text(max_size=12)  # any Unicode, markup and line separators included


@st.composite
def forks(draw: st.DrawFn, origin: SamplerSettings, length: int, edited: list[int]) -> Fork:
    """Any fork with edits that are the passes `edited` of its run."""
    edits = []
    for index in edited:
        forced = draw(st.dictionaries(st.integers(0, length - 1), st.integers(0, MASK), max_size=2))
        others = draw(st.sets(st.integers(0, length - 1), max_size=2)) - set(forced)
        name = draw(st.sampled_from(["renoise", "freeze", "release"]))
        changed = draw(
            st.fixed_dictionaries({}, optional={"seed": st.integers(0, 9), "temperature": st.just(0.5)})
        )
        edits.append(Edit(at=index - 1, force=forced, settings=changed, **{name: others}))  # type: ignore[arg-type]
    return Fork(draw(TEXTS), draw(TEXTS), origin, tuple(edits), draw(st.integers(0, 9)))


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Any trace: odd lengths, empty windows, NaN and infinite numbers, any text."""
    length = draw(st.integers(1, 7))
    process = draw(st.sampled_from(["masked", "uniform"]))
    tokens = st.lists(st.integers(0, MASK), min_size=length, max_size=length)
    prompt = tuple(draw(tokens)[: draw(st.integers(0, length))])
    recording = draw(st.sampled_from(["none", "mean", "heads"]))
    heads = {"none": 0, "mean": 1, "heads": model_facts().heads}[recording]
    passes = []
    nfe = [0, 0]
    count = draw(st.integers(1, 5))
    edited = draw(st.sets(st.integers(1, count - 1), max_size=2)) if count > 1 else set()
    for index in range(count):
        start = draw(st.integers(0, length))
        stop = draw(st.integers(start, length))
        width = stop - start

        def window(values: st.SearchStrategy[Any], size: int = width) -> Any:
            return draw(st.none() | st.lists(values, min_size=size, max_size=size))

        top: dict[str, Any] = {}
        if draw(st.booleans()):
            row = st.lists(st.integers(-1, MASK), min_size=5, max_size=5)
            chances = st.lists(st.floats(0, 1), min_size=5, max_size=5)
            top["top_ids"] = np.array(draw(st.lists(row, min_size=width, max_size=width)), np.int64).reshape(
                -1, 5
            )
            top["top_probs"] = np.array(draw(st.lists(chances, min_size=width, max_size=width))).reshape(
                -1, 5
            )
        codes = None
        if heads and draw(st.booleans()):
            count = heads * width * stop
            codes = np.array(draw(st.lists(st.integers(0, 255), min_size=count, max_size=count)))
            codes = codes.reshape(heads, width, stop)
        nfe[draw(st.integers(0, 1))] += draw(st.integers(0, 2))
        passes.append(
            Pass.record(
                "edit" if index in edited else draw(st.sampled_from([p for p in PHASES if p != "edit"])),
                tokens=draw(tokens),
                states=draw(st.lists(st.integers(0, len(STATES) - 1), min_size=length, max_size=length)),
                start=start,
                stop=stop,
                block=index,
                step=draw(st.integers(0, 255)),
                alpha_t=draw(st.floats(0, 1)),
                alpha_s=draw(st.floats(0, 1)),
                temperature=draw(st.floats(0, 2)),
                nfe_denoise=nfe[0],
                nfe_verify=nfe[1],
                cached=draw(st.integers(0, length)),
                clean=draw(st.integers(0, length)),
                ms=draw(st.floats(0, 1e6)),
                k=draw(st.integers(0, width)),
                cut=draw(st.none() | st.floats(allow_nan=False)),
                reasons=window(st.integers(0, len(REASONS) - 1)),
                confidence=window(NUMBERS),
                entropy=window(NUMBERS),
                ar_logprob=window(NUMBERS),
                score=window(NUMBERS),
                verify_tokens=window(st.integers(-1, MASK)),
                checks=[
                    Check(a, length, draw(st.sampled_from(VERDICTS)), draw(TEXTS))
                    for a in draw(st.lists(st.integers(0, length), max_size=min(2, length)))
                ],
                attention=codes,
                **top,
            )
        )
    settings = from_preset("arpc", record_attention=recording)
    fork = draw(forks(settings, length, sorted(edited))) if edited else None
    head = header(
        length,
        draw(st.integers(1, length)),
        prompt,
        model=replace(
            model_facts(process), x0_causal=draw(st.booleans()), kv_bytes=draw(st.sampled_from([2, 4]))
        ),
        settings=settings if fork is None else fork.settings(),
        fork=fork,
        prompt=draw(TEXTS),
        device=draw(TEXTS),
        versions=draw(st.dictionaries(TEXTS, TEXTS, max_size=2)),
    )
    end = End(draw(st.floats(0, 1e6)), draw(st.booleans()), "stopped", draw(TEXTS), len(passes))
    pieces = draw(st.fixed_dictionaries({t: st.text(min_size=1, max_size=5) for t in range(MASK + 1)}))
    raw = draw(st.none() | st.dictionaries(st.integers(0, MASK), st.binary(max_size=4)))
    return Trace.collect([head, *passes, end], pieces.__getitem__, raw.get if raw is not None else None)
