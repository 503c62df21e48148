"""What came back of the tokens thrown back: a hand-made run, and any run against the definition written out slowly."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from blockviz.sampling.trace import STATE_CODE, STATES, Check, End, Pass, Trace
from blockviz.views.revisions import DRAFTS, OUTCOMES, Revisions, Tally, Throw, revisions, verdict
from tests.browser.fake_runs import fake_run
from tests.sampling.traces import MASK, header, piece, traces

S = STATE_CODE


def entry(phase: Any, tokens: list[int], states: list[str], **more: Any) -> Pass:
    codes = [S[name] for name in states]
    return Pass.record(phase, tokens=tokens, states=codes, start=0, stop=len(tokens), **more)


def story() -> Trace:
    """Five positions thrown back together: same, better, worse, never read again, never back."""
    wrong, right = [Check(0, 3, "wrong", "a")], [Check(0, 3, "right", "a")]
    draft = [1, 2, 3, 4, 5]
    back = [1, 6, 7, 8, MASK]
    shown = ["proposed"] * 5
    again = ["proposed"] * 4 + ["noise"]
    passes = [
        Pass.record("start", tokens=[MASK] * 5, states=[S["unopened"]] * 5, start=0, stop=0),
        entry("propose", draft, shown, checks=wrong),
        entry("verify", draft, shown, checks=wrong, ar_logprob=[-1.0, -2.0, -3.0, -4.0, -5.0]),
        entry(
            "renoise",
            [MASK] * 5,
            ["renoised"] * 5,
            ar_logprob=[-1.0, -2.0, -3.0, -4.0, -5.0],
            score=[1, 2, 3, 4, 5],
            k=5,
            cut=1.0,
        ),
        entry("propose", back, again),
        entry("verify", back, again, ar_logprob=[-9.0, -1.0, -8.0, np.nan, np.nan], checks=right),
        entry("denoise", back, again, checks=right),
    ]
    end = End(0.1, True, "stopped", "", len(passes))
    return Trace.collect([header(length=5, block_size=5, tokens=()), *passes, end], piece)


def test_every_outcome() -> None:
    found = revisions(story())
    throws = found.throws()
    assert [throw.outcome for throw in throws] == ["same", "better", "worse", "unjudged", "unjudged"]
    assert [(throw.at, throw.back, throw.new) for throw in throws] == [
        (3, 4, 1), (3, 4, 6), (3, 4, 7), (3, 4, 8), (3, -1, -1),
    ]  # fmt: skip
    assert [throw.checked for throw in throws] == ["", "better", "better", "", ""]
    assert found.tally() == Tally(
        thrown=5, same=1, better=1, worse=1, unjudged=2, lost=1, righted=2, spoilt=0
    )
    assert (throws[1].ar_before, throws[1].ar_after, throws[1].judged) == (-2.0, -1.0, 5)


def test_equal_likelihood_is_not_judged_and_a_worse_equation_is_counted() -> None:
    throw = Throw(1, 0, 3, -2.0, "right", back=2, new=4, judged=3, ar_after=-2.0, check_after="wrong")
    assert (throw.outcome, throw.checked) == ("unjudged", "worse")


def test_the_last_check_around_a_position_counts() -> None:
    checks = (Check(0, 4, "right", "a"), Check(2, 3, "unfinished", "b"))
    assert [verdict(checks, position) for position in range(5)] == ["right", "right", "", "right", ""]


def slowly(trace: Trace) -> list[tuple[Any, ...]]:
    """The definition of the module, position by position and pass by pass."""
    passes = trace.passes

    def drafted(k: int, p: int) -> bool:
        return STATES[passes[k].states[p]] in DRAFTS

    found = []
    for r in range(1, len(passes)):
        if passes[r].phase != "renoise":
            continue
        for p in range(passes[r].start, passes[r].stop):
            if STATES[passes[r].states[p]] != "renoised" or not drafted(r - 1, p):
                continue
            back = next((q for q in range(r + 1, len(passes)) if drafted(q, p)), -1)
            judged, after, check_after, new = -1, float("nan"), "", -1
            if back >= 0:
                new = int(passes[back].tokens[p])
                gone = next(
                    (q for q in range(back, len(passes)) if not drafted(q, p) or passes[q].tokens[p] != new),
                    len(passes),
                )
                for v in range(back, gone):
                    window = passes[v]
                    if window.phase == "verify" and window.start <= p < window.stop and judged < 0:
                        value = float(window.ar_logprob[p - window.start])
                        if not isnan(value):
                            judged, after = v, value
                check_after = verdict(passes[gone - 1].checks, p)
            before = float(passes[r].ar_logprob[p - passes[r].start])
            token = int(passes[r - 1].tokens[p])
            found.append(
                (r, p, token, before, verdict(passes[r - 1].checks, p), back, new, judged, after, check_after)
            )
    return found


def as_rows(trace: Trace) -> list[tuple[Any, ...]]:
    return [
        (t.at, t.position, t.token, t.ar_before, t.check_before, t.back, t.new, t.judged, t.ar_after, t.check_after)
        for t in revisions(trace).throws()
    ]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(traces())
def test_any_run_agrees_with_the_definition(trace: Trace) -> None:
    assert repr(as_rows(trace)) == repr(slowly(trace))  # as text: NaN equals NaN
    tally = revisions(trace).tally()
    counter = Revisions(keep=False)
    for one in trace.passes:
        counter.add(one)
    assert counter.tally() == tally
    assert counter.throws() == []
    assert tally.thrown == tally.same + tally.better + tally.worse + tally.unjudged
    assert tally.lost <= tally.unjudged
    assert tally.righted + tally.spoilt <= tally.thrown - tally.same - tally.lost
    for throw in revisions(trace).throws():
        assert throw.outcome in OUTCOMES
        assert (throw.outcome == "same") == (throw.new == throw.token)
        if throw.outcome in ("better", "worse"):
            assert throw.judged >= throw.back > throw.at


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_a_guided_run_counts_every_token_it_threw_back(process: str) -> None:
    trace = fake_run(process, seed=4, steps=4)
    assert repr(as_rows(trace)) == repr(slowly(trace))
    tally = revisions(trace).tally()
    assert tally.thrown == sum(entry.k for entry in trace.passes)
    assert tally.lost == 0
    assert tally.better
    assert tally.worse
