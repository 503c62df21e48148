from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from blockviz.sampling.passes import STATE_CODE, Check, End, Pass
from blockviz.ui.summary import Summary, comparison, differences
from tests.sampling.traces import MASK, header, small_events

S = STATE_CODE


def summary_of(*events: Any) -> Summary:
    summary = Summary()
    for event in events:
        summary.add(event)
    return summary


def shown(tokens: list[int], states: list[str], **more: Any) -> Pass:
    return Pass.record("denoise", tokens=tokens, states=[S[name] for name in states], start=0, stop=0, **more)


def end(text: str) -> End:
    return End(seconds=1.0, stopped=False, finished="canvas", text=text, passes=1)


def test_the_figures_of_a_small_run() -> None:
    events = small_events()
    summary = summary_of(*events)
    last = [event for event in events if isinstance(event, Pass)][-1]
    assert summary.nfe == (last.nfe_denoise, last.nfe_verify)
    assert summary.milliseconds == pytest.approx(sum(e.ms for e in events if isinstance(e, Pass)))
    assert summary.written == int((last.states == S["committed"]).sum())
    assert summary.header is events[0]


def test_a_revision_is_another_token_whether_or_not_noise_came_between() -> None:
    summary = summary_of(
        header(length=2, tokens=()),
        shown([MASK, 5], ["noise", "revealed"]),
        shown([7, 6], ["revealed", "kept"]),  # 5 -> 6 at once
        shown([MASK, MASK], ["renoised", "renoised"]),
        shown([7, 9], ["proposed", "proposed"]),  # 7 came back, 6 -> 9 over noise
        shown([7, 9], ["committed", "committed"]),
    )
    assert summary.revisions == 2
    assert summary.written == 2


def test_what_came_back_of_the_tokens_thrown_back() -> None:
    rows = summary_of(*small_events()).row_values()
    assert rows["thrown"] == {"text": "1", "number": 1}
    assert rows["returned"] == {"text": "0 / 0 / 0 / 1", "number": None}
    assert rows["righted"]["text"] == "–"
    assert summary_of(header(), end("")).row_values()["returned"]["text"] == "–"


def test_uniform_noise_is_no_draft() -> None:
    summary = summary_of(
        header(length=1, tokens=()), shown([5], ["noise"]), shown([6], ["noise"]), shown([7], ["revealed"])
    )
    assert summary.revisions == 0


@pytest.mark.parametrize(
    ("verdict", "answer"), [("right", "42 ✓"), ("wrong", "42 ✗"), ("unfinished", "42"), (None, "42")]
)
def test_the_final_answer_carries_its_verdict(verdict: Any, answer: str) -> None:
    checks = [
        Check(0, 1, "right", "1 + 1 = 2"),
        Check(0, 1, "wrong", "1 + 1 = 3"),
        Check(0, 1, "unfinished", "1 +"),
    ]
    checks += [Check(1, 2, verdict, "#### 42")] if verdict else []
    summary = summary_of(
        header(length=1, tokens=()), shown([5], ["committed"], checks=checks), end("1 + 1 = 2 ; #### 4 2")
    )
    assert summary.answer == answer
    assert summary.equations == (1, 2)


def test_a_run_without_an_answer_shows_a_dash() -> None:
    assert summary_of(header(), end("no answer")).answer == "–"
    assert Summary().row_values()["per_call"]["text"] == "–"


def test_differences_are_marked_word_by_word() -> None:
    a, b = differences("1 + 1 = 2 ; #### 2", "1 + 1 = 3 ; #### 2")
    assert a == [("1 + 1 =", False), ("2", True), ("; #### 2", False)]
    assert b == [("1 + 1 =", False), ("3", True), ("; #### 2", False)]
    assert differences("", "x") == ([], [("x", True)])


def test_the_table_compares_b_with_a() -> None:
    a = Summary(nfe=(10, 5), written=30)
    b = replace(a, nfe=(10, 0), written=28)
    rows = {row["key"]: row for row in json.loads(comparison(a, b))["rows"]}
    assert (rows["calls"]["a"], rows["calls"]["b"], rows["calls"]["difference"]) == ("10 + 5", "10 + 0", "−5")
    assert rows["per_call"]["difference"] == "+0.80"
    assert rows["revisions"]["difference"] == "0"
    assert rows["equations"]["difference"] == ""


def test_texts_are_data() -> None:
    a = summary_of(header(), end("<b>${x}</b>"))
    assert json.loads(comparison(a, a))["texts"]["a"] == [["<b>${x}</b>", False]]
