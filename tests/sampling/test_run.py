from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from blockviz.models.checkpoint import Model
from blockviz.models.tokens import UnknownText
from blockviz.sampling.passes import STATE_CODE, Check, End, Header, Pass
from blockviz.sampling.run import sample, stream
from blockviz.sampling.settings import AR_SCORES, FIELDS, SamplerSettings, SettingsError
from blockviz.sampling.trace import Trace
from tests.sampling.small_models import golden_model, tiny_model, words

CORRECTORS = [choice.value for choice in FIELDS["corrector"].choices]
PROMPT = words(1, 2, 3, 1, 2, 4)
FEW = ["ar", "prefix", "whole canvas", "none", "kld"]

MODES: dict[str, dict[str, Any]] = {
    "ar": {"predictor": "autoregressive"},
    "ar greedy": {"predictor": "autoregressive", "temperature": 0},
    "prefix": {"ar_prefix": 3, "corrector": "ar_nll"},
    "one token per block": {"block_size": 1, "steps": 2},
    "whole canvas": {"block_size": 22, "corrector": "ar_nll"},
    "cosine, warm-up, every other": {
        "schedule": "cosine",
        "corrector": "ar_nll",
        "steps": 6,
        "warmup": 1,
        "every": 2,
    },
    "greedy corrector": {"temperature": 0, "corrector": "ar_nll"},
    "overlap": {"seams": "overlap", "overlap": 1},
    "overlap and corrector": {"seams": "overlap", "overlap": 2, "corrector": "ar_nll"},
    "seams": {"seams": "renoise", "seam_width": 3},
    "seams and corrector": {"seams": "renoise", "seam_width": 1, "corrector": "ar_gap"},
    **{name: {"corrector": name, "temperature": 0.8} for name in CORRECTORS},
}
MASKED_MODES: dict[str, dict[str, Any]] = {
    "confident": {"predictor": "confident"},
    "confident, floor, cosine": {"predictor": "confident", "reveal": "cosine", "counting": "floor"},
    "confident at random": {"predictor": "confident", "order": "random", "temperature": 0.7},
    "threshold": {"predictor": "threshold", "threshold": 0.2},
    "threshold, overlap": {"predictor": "threshold", "threshold": 0.2, "seams": "overlap", "overlap": 3},
    "confident, seams": {"predictor": "confident", "seams": "renoise"},
    "confident, prefix": {"predictor": "confident", "ar_prefix": 3},
}
ALL_MODES = [(process, MODES[mode]) for process in ("masked", "uniform") for mode in MODES]
ALL_MODES += [("masked", options) for options in MASKED_MODES.values()]


def run(model: Model, prompt: str = PROMPT, **options: Any) -> Trace:
    return sample(model, prompt, SamplerSettings(**{"block_size": 4, "steps": 3, "seed": 11, **options}))


def final(trace: Trace) -> list[int]:
    return trace.passes[-1].tokens.tolist()


@pytest.mark.parametrize(("process", "options"), ALL_MODES, ids=str)
def test_cached_and_recomputed_runs_agree(process: str, options: dict[str, Any]) -> None:
    """Trap 13, every mode: the same tokens after every pass, the same numbers, the same calls."""
    model = tiny_model(process)
    cached, recomputed = (run(model, **options, use_cache=on) for on in (True, False))
    assert len(cached.passes) == len(recomputed.passes)
    assert max(entry.cached for entry in cached.passes) > 0 or options.get("block_size") == 22
    for ours, theirs in zip(cached.passes, recomputed.passes, strict=True):
        assert ours.tokens.tolist() == theirs.tokens.tolist()
        assert ours.states.tolist() == theirs.states.tolist()
        assert (ours.nfe_denoise, ours.nfe_verify) == (theirs.nfe_denoise, theirs.nfe_verify)
        assert theirs.cached == 0
        np.testing.assert_allclose(ours.confidence, theirs.confidence, atol=2e-3)
        np.testing.assert_allclose(ours.score, theirs.score, atol=2e-3)


@pytest.mark.parametrize("process", ["masked", "uniform"])
@pytest.mark.parametrize("mode", [*FEW, "random"])
def test_one_seed_gives_one_trace_and_leaves_the_global_generator_alone(process: str, mode: str) -> None:
    model = tiny_model(process)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = run(model, **MODES[mode])
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    assert run(model, **MODES[mode]).same_content(first)


def test_another_seed_gives_another_run() -> None:
    model = tiny_model("uniform")
    assert final(run(model)) != final(run(model, seed=12))


@pytest.mark.parametrize("process", ["masked", "uniform"])
@pytest.mark.parametrize(
    ("corrector", "steps", "warmup", "every"),
    [*((name, 3, 0, 1) for name in CORRECTORS), ("tvd", 6, 1, 2), ("ar_nll", 1, 0, 1), ("random", 5, 0, 3)],
)
def test_calls_of_a_block(process: str, corrector: str, steps: int, warmup: int, every: int) -> None:
    """S without AR scores, S + floor((S - 2 - warmup) / every) + 1 with them, counted from the recorded calls."""
    trace = run(
        tiny_model(process), words(*[1] * 8), corrector=corrector, steps=steps, warmup=warmup, every=every
    )
    guided = (steps - 2 - warmup) // every + 1 if steps > 1 and corrector != "none" else 0
    verified = guided if corrector in AR_SCORES else 0
    blocks = 4  # 8..22 in blocks of 4, the last one short
    end = trace.passes[-1]
    assert (end.nfe_denoise, end.nfe_verify) == (blocks * steps, blocks * verified)
    phases = Counter(entry.phase for entry in trace.passes)
    assert phases["propose"] == phases["renoise"] == blocks * guided
    assert phases["verify"] == blocks * verified
    assert phases["denoise"] == blocks * (steps - guided)
    assert phases["commit"] == blocks
    assert phases["start"] == 1


@pytest.mark.parametrize("temperature", [0, 0.7])
def test_ar_takes_one_call_per_token(temperature: float) -> None:
    trace = run(tiny_model("masked"), predictor="autoregressive", temperature=temperature)
    assert trace.header.block_size == 1
    assert [entry.phase for entry in trace.passes] == ["start", *["denoise"] * 16]
    assert [entry.nfe_denoise for entry in trace.passes] == list(range(17))
    assert [(entry.start, entry.cached, entry.clean) for entry in trace.passes[1:4]] == [
        (6, 0, 6),
        (7, 6, 1),
        (8, 7, 1),
    ]


def test_greedy_ar_is_the_argmax_of_the_reference_network() -> None:
    """Against a plain loop over full recomputation on [context | MASK], no cache, no sampler."""
    model = golden_model("a")
    trace = sample(model, words(3, 4, 5), preset="ar", temperature=0, seed=1)
    tokens = [3, 4, 5]
    for position in range(3, 12):
        mask = torch.ones(position + 1, position + 1, dtype=torch.bool).tril()
        stream_tokens = torch.tensor([[*tokens, 39]])
        logits = model.net(stream_tokens, torch.arange(position + 1), mask)[0, -1]
        logits[39] = -torch.inf
        tokens.append(int(logits.argmax()))
    assert final(trace)[:12] == tokens
    assert sample(model, words(3, 4, 5), preset="ar", temperature=0, seed=2).end.text == trace.end.text


def test_greedy_predictor_takes_the_argmax_of_what_it_records() -> None:
    """Temperature 0: candidates and confidence are those of temperature 1, the token is the first candidate."""
    trace = run(tiny_model("masked"), temperature=0, steps=3)
    for entry in trace.passes:
        for offset in np.flatnonzero(entry.reasons == 2):
            assert entry.tokens[entry.start + offset] == entry.top_ids[offset, 0]
            assert 0 < entry.confidence[offset] < 1


@pytest.mark.parametrize("process", ["masked", "uniform"])
@pytest.mark.parametrize("mode", [*FEW, "greedy corrector"])
def test_no_forbidden_token_is_ever_written_or_offered(process: str, mode: str) -> None:
    """Traps 4 and 9: PAD and MASK are never candidates, on either process, in any mode."""
    model = tiny_model(process, pad_id=7, end_id=3)
    trace = run(model, fill_canvas=True, **MODES[mode])
    assert model.info.mask_id not in final(trace)
    for entry in trace.passes[1:]:
        assert 7 not in entry.top_ids
        assert model.info.mask_id is None or model.info.mask_id not in entry.top_ids
        drafts = entry.states[entry.start : entry.stop] != STATE_CODE["noise"]
        drafts &= entry.states[entry.start : entry.stop] != STATE_CODE["renoised"]
        if process == "masked":
            assert 7 not in entry.tokens[entry.start : entry.stop][drafts]


# Prompts (trap 8)


@pytest.mark.parametrize("process", ["masked", "uniform"])
@pytest.mark.parametrize("mode", FEW)
@pytest.mark.parametrize("count", [0, 4, 6, 21])
def test_prompts_of_every_length(process: str, mode: str, count: int) -> None:
    """Empty, a whole number of blocks, ending inside a block, all but one position; the canvas is no multiple of 4."""
    trace = run(tiny_model(process), words(*range(count % 7), *[1] * (count - count % 7)), **MODES[mode])
    assert trace.header.prompt_length == count
    tokens = trace.tokens
    assert tokens.shape[1] == 22
    assert (tokens[:, :count] == tokens[0, :count]).all()
    assert (trace.states[:, :count] == STATE_CODE["prompt"]).all()
    assert trace.end.finished == "canvas"
    assert len(trace.end.text.split()) == 22 - count
    if process == "masked":
        assert 12 not in final(trace)


def test_a_prompt_that_fills_the_canvas_is_refused() -> None:
    with pytest.raises(SettingsError, match="prompt") as error:
        run(tiny_model("masked"), words(*[1] * 22))
    assert "22 tokens" in str(error.value)
    assert "21 tokens" in str(error.value)


def test_a_shorter_canvas_keeps_the_positions_of_the_trained_one() -> None:
    """Trap 11: a run on 12 positions begins as the one on 22 does, since later blocks are not seen."""
    model = tiny_model("masked")
    short, whole = run(model, length=12), run(model)
    assert len(final(short)) == 12
    assert short.header.length == 12
    assert final(short) == final(whole)[:12]


def test_an_unknown_word_is_named_before_anything_runs() -> None:
    with pytest.raises(UnknownText, match="w99"):
        stream(tiny_model("masked"), "w1 w99", SamplerSettings(block_size=4))


def test_settings_that_the_model_cannot_run_are_refused_at_the_call() -> None:
    """AR scores and an AR prefix need a token-causal clean stream; AR itself and other scores do not."""
    model = tiny_model("masked", x0_causal=False)
    for corrector in CORRECTORS:
        if corrector in AR_SCORES:
            with pytest.raises(SettingsError, match="x0_causal"):
                stream(model, PROMPT, SamplerSettings(block_size=4, corrector=corrector))
        else:
            on, off = (run(model, corrector=corrector, use_cache=cache) for cache in (True, False))
            assert final(on) == final(off)
    with pytest.raises(SettingsError, match="ar_prefix"):
        run(model, ar_prefix=2)
    on, off = (run(model, predictor="autoregressive", use_cache=cache) for cache in (True, False))
    assert final(on) == final(off)


def test_settings_presets_and_overrides() -> None:
    model = tiny_model("masked")
    trace = sample(model, PROMPT, preset="arpc", block_size=4, steps=2)
    assert (trace.header.settings.corrector, trace.header.settings.steps) == ("ar_nll", 2)
    base = SamplerSettings(block_size=4, steps=2)
    assert sample(model, PROMPT, base, steps=3).header.settings.steps == 3
    with pytest.raises(SettingsError, match="preset"):
        sample(model, PROMPT, base, preset="arpc")
    with pytest.raises(SettingsError, match="stepz"):
        sample(model, PROMPT, stepz=3)


# The end token (trap 9)


@pytest.mark.parametrize("mode", ["ancestral", "arpc", "ar", "prefix"])
def test_a_run_ends_with_the_block_of_the_end_token(mode: str) -> None:
    options: dict[str, Any] = {
        "ancestral": {},
        "arpc": {"corrector": "ar_nll"},
        "ar": {"predictor": "autoregressive"},
        "prefix": {"ar_prefix": 2},
    }[mode]
    model = tiny_model("masked", end_id=5, favourite=5)
    trace = run(model, words(1, 5, 2, 5, 2, 4), **options)  # the prompt's own end tokens do not count
    assert trace.end.finished == "end_token"
    assert not trace.end.stopped
    first = 6 + final(trace)[6:].index(5)
    block = 1 if mode in ("ar", "prefix") and first < 8 else 4
    edge = min((first // block + 1) * block, 22)
    assert (trace.passes[-1].tokens[edge:] == 12).all()
    assert (trace.passes[-1].states[edge:] == STATE_CODE["unopened"]).all()
    assert 12 not in final(trace)[:edge]
    assert trace.end.text == words(*final(trace)[6:first])


def test_filling_the_canvas_goes_on_after_the_end_token() -> None:
    model = tiny_model("masked", end_id=5, favourite=5)
    trace = run(model, fill_canvas=True)
    assert trace.end.finished == "canvas"
    assert 12 not in final(trace)
    first = 6 + final(trace)[6:].index(5)
    states = trace.passes[-1].states
    assert (states[6 : first + 1] == STATE_CODE["committed"]).all()
    assert (states[first + 1 :] == STATE_CODE["after_end"]).all()
    assert trace.end.text == words(*final(trace)[6:first])


# Streaming


def test_a_stream_is_a_header_then_passes_then_an_end() -> None:
    items = list(stream(tiny_model("uniform"), PROMPT, SamplerSettings(block_size=4)))
    assert isinstance(items[0], Header)
    assert all(isinstance(item, Pass) for item in items[1:-1])
    assert isinstance(items[-1], End)
    assert items[-1].passes == len(items) - 2


@pytest.mark.parametrize("process", ["masked", "uniform"])
@pytest.mark.parametrize("together", [3, 1000])
def test_passes_recorded_together_are_those_recorded_one_by_one(process: str, together: int) -> None:
    settings = SamplerSettings(block_size=4, steps=4, corrector="ar_nll")
    one_by_one, at_once = (
        [
            event
            for event in stream(tiny_model(process), PROMPT, settings, together=count)
            if isinstance(event, Pass)
        ]
        for count in (1, together)
    )
    assert len(one_by_one) == len(at_once) > 20
    for alone, beside in zip(one_by_one, at_once, strict=True):
        assert alone.same(beside, frozenset({"ms"}))


def test_a_run_stops_between_two_passes() -> None:
    asked: list[int] = []

    def should_stop() -> bool:
        asked.append(len(seen))
        return len(seen) >= 6

    seen: list[object] = []
    for item in stream(
        tiny_model("masked"), PROMPT, SamplerSettings(block_size=4, steps=3), should_stop=should_stop
    ):
        seen.append(item)
    end = seen[-1]
    assert isinstance(end, End)
    assert (end.stopped, end.finished, end.passes) == (True, "stopped", 5)
    assert len(seen) == 7
    assert asked == [2, 3, 4, 5, 6]
    whole = run(tiny_model("masked"), seed=0)
    same = [a.same(b, ignore=frozenset({"ms"})) for a, b in zip(seen[1:6], whole.passes, strict=False)]
    assert all(same)


def test_a_stopped_run_has_the_text_of_its_finished_blocks() -> None:
    trace = run(tiny_model("masked"), seed=0)
    commits = [i for i, entry in enumerate(trace.passes) if entry.phase == "commit"]
    *passes, end = stream(
        tiny_model("masked"),
        PROMPT,
        SamplerSettings(block_size=4, steps=3),
        should_stop=countdown(commits[1] + 2),
    )
    assert isinstance(end, End)
    assert end.text == words(*final(trace)[6:12])
    assert len(passes) - 1 == commits[1] + 3


def countdown(answers: int) -> Any:
    """A `should_stop` that says no that many times, then yes."""
    left = iter([False] * answers)
    return lambda: next(left, True)


def test_closing_a_stream_early_is_safe_and_nothing_runs_after_it() -> None:
    model = tiny_model("masked")
    calls: list[int] = []
    handle = model.net.register_forward_hook(lambda *_: calls.append(1))
    try:
        items = stream(model, PROMPT, SamplerSettings(block_size=4))
        assert calls == []
        for _ in range(5):
            next(items)
        count = len(calls)
        items.close()
        assert len(calls) == count == 3
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()
        assert list(items) == []
    finally:
        handle.remove()


def test_calls_are_counted_where_the_network_is_called() -> None:
    """The recorded counts against a hook on the network itself."""
    model = tiny_model("uniform")
    calls: list[int] = []
    handle = model.net.register_forward_hook(lambda *_: calls.append(1))
    try:
        trace = run(model, corrector="ar_nll", ar_prefix=2)
    finally:
        handle.remove()
    end = trace.passes[-1]
    assert len(calls) == end.nfe_denoise + end.nfe_verify
    for before, after in pairwise(trace.passes):
        spent = (after.nfe_denoise - before.nfe_denoise, after.nfe_verify - before.nfe_verify)
        expected = {"denoise": (1, 0), "propose": (1, 0), "verify": (0, 1)}
        assert spent == expected.get(after.phase, (0, 0))


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_a_checker_annotates_passes_and_never_sees_noise(process: str) -> None:
    """Noise is -1 to the checker, also where a uniform noise token looks like any other."""
    asked: list[tuple[int, ...]] = []

    def checker(tokens: list[int], prompt_length: int) -> tuple[Check, ...]:
        assert prompt_length == 6
        asked.append(tuple(tokens))
        return (Check(6, 8, "right", str(tokens[6:8])),)

    settings = SamplerSettings(block_size=4, steps=3, corrector="entropy")
    trace = sample(tiny_model(process), PROMPT, settings, checker=checker)
    noise = [STATE_CODE[name] for name in ("unopened", "noise", "renoised")]
    for entry in trace.passes:
        expected = np.where(np.isin(entry.states, noise), -1, entry.tokens)[6:8].tolist()
        assert entry.checks[0].text == str(expected)
    assert len(asked) < len(trace.passes)  # not asked again where nothing it may see has changed
    assert all(before != after for before, after in pairwise(asked))
