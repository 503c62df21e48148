"""Figures of whole runs, in what they differ, and where their texts do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockviz.sampling.passes import STATE_CODE, Check, End, Header, Pass
from blockviz.sampling.settings import FIELDS
from blockviz.sampling.trace import Trace
from blockviz.views.comparison import (
    differences,
    differing,
    facts,
    field_names,
    final_positions,
    revised,
)
from blockviz.views.progress import CHARTS, DASHES, curves, figure, template
from tests.browser.fake_runs import fake_run
from tests.sampling.traces import MASK, header, small_events

S = STATE_CODE
words = st.lists(st.sampled_from("abcd"), max_size=12)


def shown(tokens: list[int], states: list[str], **more: Any) -> Pass:
    return Pass.record("denoise", tokens=tokens, states=[S[name] for name in states], start=0, stop=0, **more)


def trace(*events: Any, start: Header | None = None) -> Trace:
    passes = [event for event in events if isinstance(event, Pass)]
    end = End(seconds=1.0, stopped=False, finished="canvas", text="", passes=len(passes))
    first = start or header(length=len(passes[0].tokens), tokens=())
    return Trace.collect([first, *passes, end], lambda token: f"w{token}")


def test_the_figures_of_a_small_run() -> None:
    events = small_events()
    passes = [event for event in events if isinstance(event, Pass)]
    run = Trace.collect(events, lambda token: f"w{token}")
    found = facts(run)
    assert (found.denoise, found.verify) == (passes[-1].nfe_denoise, passes[-1].nfe_verify)
    assert found.ms == pytest.approx(sum(entry.ms for entry in passes))
    assert found.tokens == int((passes[-1].states == S["committed"]).sum())
    assert found.passes == len(passes) - 1
    assert (found.back.thrown, found.back.unjudged) == (1, 1)


def test_a_revision_is_another_token_whether_or_not_noise_came_between() -> None:
    run = trace(
        shown([MASK, 5], ["noise", "revealed"]),
        shown([7, 6], ["revealed", "kept"]),  # 5 -> 6 at once
        shown([MASK, MASK], ["renoised", "renoised"]),
        shown([7, 9], ["proposed", "proposed"]),  # 7 came back, 6 -> 9 over noise
        shown([7, 9], ["committed", "committed"]),
    )
    assert revised(run).tolist() == [0, 1, 1, 2, 2]
    assert facts(run).revised == 2


def test_uniform_noise_is_no_draft_and_what_follows_the_end_is_no_text() -> None:
    run = trace(
        shown([5, 1, 2], ["noise", "noise", "noise"]),
        shown([6, 1, 2], ["noise", "noise", "noise"]),
        shown([7, 3, 4], ["revealed", "revealed", "after_end"]),
    )
    assert facts(run).revised == 0
    assert final_positions(run).tolist() == [0, 1]
    # Noise that happens to be the final token is not in place yet.
    assert curves(trace(shown([7], ["noise"]), shown([7], ["committed"])))["placed"]["y"] == [0.0, 100.0]


@pytest.mark.parametrize("verdict", ["right", "wrong", "unfinished", None])
def test_the_final_answer_carries_its_verdict(verdict: Any) -> None:
    checks = [
        Check(0, 1, "right", "1 + 1 = 2"),
        Check(0, 1, "wrong", "1 + 1 = 3"),
        Check(0, 1, "unfinished", "1 +"),
    ]
    checks += (
        [Check(1, 2, verdict, "#### 42 (it is 41)" if verdict == "wrong" else "#### 42")] if verdict else []
    )
    found = facts(trace(shown([5], ["committed"], checks=checks)))
    assert (found.answer, found.verdict) == (("42", verdict) if verdict else ("", ""))
    assert found.equations == (1, 2)


def test_what_runs_differ_in() -> None:
    run = fake_run(length=32, prompt_length=8)
    assert differing([run, run]) == []
    settings = replace(run.header.settings, steps=5, seed=9)
    other = replace(
        run, header=replace(run.header, settings=settings, model=replace(run.header.model, name="b"))
    )
    assert differing([run, other, run]) == ["model", "steps", "seed"]
    assert set(field_names()) == {"prompt", "model", *FIELDS}
    assert field_names()["use_cache"].startswith("KV")


def test_a_difference_is_marked_in_both_texts() -> None:
    assert differences("1+1=2;", "1+1=34;") == (
        [*[False] * 4, True, False],
        [*[False] * 4, True, True, False],
    )
    assert differences([], ["x"]) == ([], [True])


@given(words, words)
def test_what_is_not_marked_is_the_longest_common_part(a: list[str], b: list[str]) -> None:
    one, other = differences(a, b)
    rest = [[w for w, m in zip(text, marks, strict=True) if not m] for text, marks in ((a, one), (b, other))]
    assert rest[0] == rest[1]

    def longest(i: int, j: int) -> int:
        if i == len(a) or j == len(b):
            return 0
        known = table.get((i, j))
        if known is None:
            known = 1 + longest(i + 1, j + 1) if a[i] == b[j] else max(longest(i + 1, j), longest(i, j + 1))
            table[i, j] = known
        return known

    table: dict[tuple[int, int], int] = {}
    assert len(rest[0]) == longest(0, 0)
    assert differences(a, a)[0] == [False] * len(a)


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_charts_have_a_line_a_run_and_shared_axes(chart: Any, theme: Any) -> None:
    runs = [fake_run(length=32, prompt_length=8, steps=steps, seed=steps) for steps in (2, 3, 4)]
    drawn = figure(runs, chart, theme)
    assert [line["name"] for line in drawn["data"]] == ["A", "B", "C"]
    styles = [(line["line"]["dash"], line["line"]["color"]) for line in drawn["data"]]
    assert len(set(styles)) == 3
    assert [dash for dash, _ in styles] == list(DASHES[:3])
    assert drawn["layout"]["xaxis"]["range"][1] >= max(max(line["x"]) for line in drawn["data"])
    assert all(len(line["text"]) == len(line["x"]) for line in drawn["data"])
    assert len(template(chart, theme)["data"]) == 4
    last = drawn["data"][0]
    if chart == "placed":
        assert last["y"][-1] == 100.0


@pytest.mark.parametrize("count", [0, 5])
def test_a_chart_has_one_to_four_runs(count: int) -> None:
    with pytest.raises(ValueError, match="1 to 4 runs"):
        figure([fake_run(length=32, prompt_length=8)] * count)
