"""The rules of the sources' samplers, one by one (MATHS.md, "Samplers of the sources", items 1, 2, 3 and 5)."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from blockviz.diffusion.draws import GeneratorDraws
from blockviz.sampling.batch import sample_batch
from blockviz.sampling.passes import REASON_CODE, STATE_CODE
from blockviz.sampling.run import passes, prepare, sample
from blockviz.sampling.settings import PRESETS, SamplerSettings, SettingsError, from_preset, validate
from blockviz.sampling.trace import Trace
from tests.sampling.scripted_models import character_model, seen, shown
from tests.sampling.small_models import tiny_model, words

S, R = STATE_CODE, REASON_CODE
TEXT = "the lazy dogs"
SURE = [0.5, 0.5, 0.5, 0.5, 0.60, 0.90, 0.80, 0.95, 0.70, 0.65, 0.75, 0.85, 0.55]


def states_seen(trace: Trace) -> list[str]:
    """The canvas after every pass that changed it."""
    texts = [shown(entry.tokens.tolist()) for entry in trace.passes]
    return [texts[0]] + [after for before, after in pairwise(texts) if after != before]


def test_thirteen_characters_in_blocks_of_three() -> None:
    """Two steps per block fill one and then three positions of each block; later blocks are still masked."""
    model = character_model(TEXT, SURE)
    trace = sample(model, "the ", preset="blockwise", block_size=3, steps=2, temperature=0)
    assert states_seen(trace) == [
        "the .........",
        "the .a.......",
        "the laz......",
        "the lazy.....",
        "the lazy d...",
        "the lazy d.g.",
        "the lazy dogs",
    ]
    # Every call reads the whole canvas as it is, and none is cached.
    assert seen(model) == states_seen(trace)[:-1]
    assert [
        (entry.nfe_denoise, entry.cached, entry.clean) for entry in trace.passes if entry.phase == "denoise"
    ] == [(n, 0, 0) for n in range(1, 7)]
    assert [(entry.start, entry.stop) for entry in trace.passes if entry.phase == "commit"] == [
        (4, 7),
        (7, 10),
        (10, 13),
    ]
    assert (trace.header.block_size, trace.header.origin, trace.header.blocks) == (3, 1, 5)
    assert [entry.block for entry in trace.passes if entry.phase == "commit"] == [2, 3, 4]


def test_a_short_last_block_and_steps_that_reveal_nothing() -> None:
    """Three blocks of four, four and one position; floor leaves out the steps in which the last one reveals nothing."""
    model = character_model(TEXT, SURE)
    trace = sample(model, "the ", preset="blockwise", block_size=4, steps=3, temperature=0)
    counts = [
        (entry.block, entry.step, int((entry.reasons == R["revealed"]).sum())) for entry in denoised(trace)
    ]
    assert counts == [(1, 0, 1), (1, 1, 1), (1, 2, 2), (2, 0, 1), (2, 1, 1), (2, 2, 2), (3, 2, 1)]
    assert len(seen(model)) == 7
    assert trace.end.text.replace(" ", "") == "lazydogs"


def denoised(trace: Trace) -> list[Any]:
    return [entry for entry in trace.passes if entry.phase == "denoise"]


@pytest.mark.parametrize(
    ("steps", "counting", "cumulative"),
    [
        (4, "ceil", [3, 5, 7, 9]),
        (4, "floor", [2, 4, 6, 9]),
        (2, "ceil", [5, 9]),
        (1, "ceil", [9]),
        (
            12,
            "ceil",
            [1, 2, 3, 4, 5, 6, 7, 8, 9],
        ),  # 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9: three steps are left out
        (12, "floor", [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_the_whole_canvas_at_once(steps: int, counting: str, cumulative: list[int]) -> None:
    """R_i = ceil(i N / S): the most confident masked positions first; passes that reveal nothing cost no call."""
    model = character_model(TEXT, SURE)
    trace = sample(model, "the ", preset="canvas", counting=counting, steps=steps, temperature=0)
    order = sorted(range(4, 13), key=lambda place: -SURE[place])
    for entry, count in zip(denoised(trace), cumulative, strict=True):
        done = set(order[:count])
        assert shown(entry.tokens.tolist()) == "".join(
            TEXT[place] if place < 4 or place in done else "." for place in range(13)
        )
        assert entry.alpha_s == pytest.approx(count / 9, abs=1e-6)
    assert len(seen(model)) == len(cumulative) == trace.passes[-1].nfe_denoise
    assert trace.header.block_size == 13


def test_an_empty_prompt_is_unconditional() -> None:
    trace = sample(character_model(TEXT, SURE), "", preset="canvas", steps=13, temperature=0)
    assert [int((entry.reasons == R["revealed"]).sum()) for entry in denoised(trace)] == [1] * 13
    assert shown(trace.passes[-1].tokens.tolist()) == TEXT


@pytest.mark.parametrize("context", ["causal", "bidirectional", "canvas"])
def test_a_threshold_reveals_all_that_is_certain_and_at_least_one(context: str) -> None:
    model = character_model(TEXT, SURE)
    options: dict[str, Any] = {"context": context, "block_size": 9, "temperature": 0, "threshold": 0.82}
    trace = sample(model, "the " if context != "causal" else "", preset="threshold", **options)
    first = denoised(trace)[0]
    sure = [
        place
        for place in range(first.start, first.stop)
        if SURE[place] > 0.81 and place >= len(trace.header.tokens)
    ]
    revealed = (np.flatnonzero(first.reasons == R["revealed"]) + first.start).tolist()
    assert revealed == sure
    counts = [int((entry.reasons == R["revealed"]).sum()) for entry in denoised(trace)]
    assert min(counts) == 1
    assert shown(trace.passes[-1].tokens.tolist()) == TEXT
    assert len(seen(model)) == len(counts)


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_the_ends_of_the_threshold(threshold: float) -> None:
    """At 0 a block takes one call, at 1 one call per token."""
    trace = sample(
        tiny_model("masked"), words(*[1] * 6), preset="threshold", block_size=4, threshold=threshold
    )
    calls = Counter(entry.block for entry in denoised(trace))
    assert calls == ({1: 1, 2: 1, 3: 1, 4: 1, 5: 1} if threshold == 0 else {1: 2, 2: 4, 3: 4, 4: 4, 5: 2})


@pytest.mark.parametrize(
    ("order", "first"),
    [("confidence", 7), ("margin", 7), ("entropy", 7), ("left_to_right", 4)],
)
def test_what_is_revealed_first(order: str, first: int) -> None:
    trace = sample(character_model(TEXT, SURE), "the ", preset="canvas", order=order, steps=9, temperature=0)
    revealed = [int(np.flatnonzero(entry.reasons == R["revealed"])[0]) for entry in denoised(trace)]
    assert revealed[0] == first
    if order == "left_to_right":
        assert revealed == list(range(4, 13))
    else:
        assert revealed == sorted(range(4, 13), key=lambda place: -SURE[place])


def test_margin_is_not_confidence() -> None:
    """Position 0: 0.5 and 0.48; position 1: 0.4 and 0.1: confidence takes the first, margin the second."""
    model = character_model("ab", [0.5, 0.5])
    net: Any = model.net
    probs = torch.full((2, 28), 1e-9)
    probs[0, 0], probs[0, 5] = 0.5, 0.48
    probs[1, 1], probs[1, 2], probs[1, 3:9] = 0.4, 0.1, 0.08
    net.logits = probs.log()
    for order, place in (("confidence", 0), ("margin", 1), ("entropy", 0)):
        trace = sample(model, "", preset="canvas", order=order, steps=2, temperature=0)
        assert np.flatnonzero(denoised(trace)[0].reasons == R["revealed"]).tolist() == [place]


def test_a_random_order_depends_on_the_seed_alone() -> None:
    orders = set()
    for seed in (0, 0, 1, 2):
        trace = sample(
            character_model(TEXT, SURE), "the ", preset="canvas", order="random", steps=9, seed=seed
        )
        orders.add(tuple(int(np.flatnonzero(entry.reasons == R["revealed"])[0]) for entry in denoised(trace)))
    assert len(orders) == 3
    assert all(sorted(order) == list(range(4, 13)) for order in orders)


def test_causal_blocks_of_any_size_from_one_token_to_the_canvas() -> None:
    """B = 1 takes a call per token, B = L is the canvas at once; what comes later is not seen in between."""
    for size, calls in ((1, 9), (4, 3 * 2), (13, 2)):
        model = character_model(TEXT, SURE)
        trace = sample(
            model, "the ", preset="confident", block_size=size, steps=2, counting="floor", temperature=0
        )
        assert shown(trace.passes[-1].tokens.tolist()) == TEXT
        assert trace.passes[-1].nfe_denoise == len(seen(model)) <= calls
        assert all(not text.endswith("." * (size + 1)) for text in seen(model))


# Seams


def test_overlapping_blocks_advance_by_what_they_keep() -> None:
    trace = sample(tiny_model("masked"), words(1), preset="overlap", block_size=6, overlap=2, steps=2)
    windows = list(dict.fromkeys((entry.start, entry.stop) for entry in denoised(trace)))
    assert windows == [(0, 6), (4, 10), (8, 14), (12, 18), (16, 22)]
    reopened = [entry for entry in trace.passes if entry.phase == "renoise"]
    assert [(entry.start, entry.k) for entry in reopened] == [(4, 2), (8, 2), (12, 2), (16, 2)]
    for entry in reopened:
        assert entry.tokens[entry.start : entry.start + 2].tolist() == [12, 12]
        assert entry.reasons.tolist() == [R["renoised"]] * 2 + [R["none"]] * 4
        assert (entry.states[1 : entry.start] == S["committed"]).all()
        assert entry.cached <= entry.start
    commits = [entry for entry in trace.passes if entry.phase == "commit"]
    assert [int((entry.states == S["committed"]).sum()) for entry in commits] == [3, 7, 11, 15, 21]
    assert (trace.header.block_size, trace.header.blocks) == (4, 6)
    assert [entry.block for entry in commits] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_boundaries_are_written_again_and_the_cache_forgets_them(process: str) -> None:
    trace = sample(
        tiny_model(process), words(1, 2), preset="seams", block_size=8, seam_width=3, seam_steps=2, steps=3
    )
    reopened = [(i, entry) for i, entry in enumerate(trace.passes) if entry.phase == "renoise"]
    assert [(entry.start, entry.stop, entry.block, entry.k) for _, entry in reopened] == [
        (5, 16, 1, 6),
        (13, 22, 2, 6),
    ]
    for i, entry in reopened:
        before, boundary = trace.passes[i - 1], entry.start + 3
        again = np.arange(entry.start, boundary + 3)
        assert (entry.states[again] == S["renoised"]).all()
        changed = np.flatnonzero(before.tokens != entry.tokens)
        assert set(changed.tolist()) <= set(again.tolist())
        assert before.cached == boundary
        assert entry.cached == entry.start
        steps = [later for later in trace.passes[i + 1 :] if later.block == entry.block]
        assert [later.phase for later in steps] == ["denoise", "denoise", "commit"]
        assert [(later.cached, later.clean) for later in steps[:2]] == [(entry.start, 0)] * 2
        rest = np.setdiff1d(np.arange(22), again)
        assert (steps[-1].tokens[rest] == before.tokens[rest]).all()
        assert (steps[-1].states[again] == S["committed"]).all()
    # The next block carries everything that the cache has forgotten, and all of it again when it is cut back.
    third = next(entry for entry in trace.passes if entry.block == 2)
    assert (third.cached, third.clean) == (5, 11)
    assert trace.passes[-1].nfe_denoise == 3 * 3 + 2 * 2


def test_there_is_no_seam_between_a_prompt_and_what_follows_it() -> None:
    trace = sample(tiny_model("masked"), words(*[1] * 8), preset="seams", block_size=8, seam_width=2, steps=2)
    assert [entry.start for entry in trace.passes if entry.phase == "renoise"] == [14]


# What holds for all of them


@st.composite
def runs(draw: st.DrawFn) -> tuple[str, SamplerSettings]:
    """A process and settings that it allows, on a canvas of 22 positions."""
    process = draw(st.sampled_from(["masked", "uniform"]))
    chosen = SamplerSettings(
        predictor=draw(st.sampled_from(["ancestral", "confident", "threshold", "autoregressive"])),
        context=draw(st.sampled_from(["causal", "bidirectional", "canvas"])),
        block_size=draw(st.integers(1, 9)),
        steps=draw(st.integers(1, 6)),
        temperature=draw(st.sampled_from([0.0, 0.5, 1.0])),
        order=draw(st.sampled_from(["confidence", "margin", "entropy", "left_to_right", "random"])),
        reveal=draw(st.sampled_from(["linear", "cosine"])),
        counting=draw(st.sampled_from(["ceil", "floor"])),
        threshold=draw(st.sampled_from([0.0, 0.15, 0.9])),
        seams=draw(st.sampled_from(["none", "overlap", "renoise"])),
        overlap=draw(st.integers(1, 4)),
        seam_width=draw(st.integers(1, 4)),
        seam_steps=draw(st.integers(1, 3)),
        ar_prefix=draw(st.sampled_from([0, 3])),
        forbid_end=draw(st.booleans()),
        seed=draw(st.integers(0, 5)),
    )
    try:
        validate(chosen, 22, True, process)
    except SettingsError:
        assume(False)
    return process, chosen


PROMPTS = ["", words(1, 2, 3), words(*[1] * 8), "w1 [[4]] w2 w3 [[2]] w4", "w1 [[5]] w2 [[]]", "[[9=w3]]"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(runs(), st.sampled_from(PROMPTS))
def test_rules_of_every_sampler(run: tuple[str, SamplerSettings], prompt: str) -> None:
    process, chosen = run
    model = tiny_model(process, end_id=9, pad_id=7)
    calls: list[int] = []
    handle = model.net.register_forward_hook(lambda *_: calls.append(1))
    try:
        trace = sample(model, prompt, chosen)
    finally:
        handle.remove()
    first, last = trace.passes[0], trace.passes[-1]
    # Network calls are counted where they are made.
    assert last.nfe_denoise + last.nfe_verify == len(calls)
    # What is given never changes.
    given_ = first.states == S["prompt"]
    assert (trace.tokens[:, given_] == first.tokens[given_]).all()
    assert (trace.states[:, given_] == S["prompt"]).all()
    # What a pass may not write it does not change.
    for before, after in pairwise(trace.passes):
        outside = np.ones(22, bool)
        outside[after.start : after.stop] = False
        assert (before.tokens[outside] == after.tokens[outside]).all()
    # Special tokens are never written, and no noise is left in what is finished.
    finished = np.isin(last.states, [S["committed"], S["after_end"]]) | (last.states == S["revealed"])
    assert 7 not in last.tokens[finished & ~given_]
    if process == "masked":
        assert 12 not in last.tokens[finished]
    assert trace.end.finished == "end_token" or (finished | given_).all()
    if chosen.forbid_end:
        assert 9 not in last.tokens[~given_ & finished]
    # A pass that costs a call reveals something, where positions are counted.
    if chosen.predictor in ("confident", "threshold"):
        for before, after in pairwise(trace.passes):
            if after.phase == "denoise":
                assert ((before.tokens == 12) & (after.tokens != 12)).any()
                assert not ((before.tokens != 12) & (after.tokens != before.tokens)).any()
    # The cache changes nothing.
    again = sample(model, prompt, chosen, use_cache=False)
    assert again.passes[-1].tokens.tolist() == last.tokens.tolist()


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(runs())
def test_a_batch_is_its_rows(run: tuple[str, SamplerSettings]) -> None:
    process, chosen = run
    model = tiny_model(process, end_id=9)
    prompts = [words(1, 2), words(1, 2, 3, 4, 5), "w1 [[4]] w2 [[]]", "w3 [[2]] w4"]
    batch = sample_batch(model, prompts, chosen, [3, 4, 5, 6])
    for row, prompt in enumerate(prompts):
        alone = sample(model, prompt, chosen, seed=3 + row)
        assert batch.tokens[row].tolist() == alone.passes[-1].tokens.tolist()
        assert batch.texts[row] == alone.end.text
        assert batch.nfe_denoise[row] == alone.passes[-1].nfe_denoise


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_runs_and_survives_its_file(preset: str, tmp_path: Any) -> None:
    trace = sample(
        tiny_model("masked", end_id=9), words(1, 2, 3, 4, 5), from_preset(preset, block_size=6, steps=3)
    )
    trace.save(tmp_path / "run.jsonl.gz")
    assert Trace.load(tmp_path / "run.jsonl.gz").same_content(trace)


def test_rows_whose_prompts_end_apart_cannot_share_a_bidirectional_job() -> None:
    draws = GeneratorDraws(0)
    chosen = from_preset("blockwise", block_size=4)
    with pytest.raises(ValueError, match="must end at one position"):
        prepare(tiny_model("masked"), chosen, [[1], [1, 2]], lambda active: draws)
    job = prepare(tiny_model("masked"), chosen, [[1], [2]], lambda active: draws)
    assert len(list(passes(job))) > 0
