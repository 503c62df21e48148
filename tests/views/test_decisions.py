"""What the re-noising view reads from a trace."""

from __future__ import annotations

import numpy as np
import pytest

from blockviz.sampling.settings import FIELDS
from blockviz.sampling.trace import STATE_CODE
from blockviz.views.decisions import SCORES, TALLEST, cut_line, decision, is_doubted, score_range
from tests.views.runs import guided, large, left_to_right, with_settings


def test_every_corrector_has_words_for_its_score() -> None:
    assert {choice.value for choice in FIELDS["corrector"].choices} - {"none"} == SCORES.keys()


def test_a_decision_is_the_one_the_trace_records() -> None:
    trace = guided()
    for k, entry in enumerate(trace.passes):
        if entry.phase != "renoise":
            continue
        shown = decision(trace, k)
        assert shown is not None
        assert shown.moment == "now"
        window = slice(entry.start, entry.stop)
        assert np.array_equal(shown.chosen, entry.states[window] == STATE_CODE["renoised"])
        assert shown.chosen.sum() == entry.k == shown.k
        assert np.array_equal(shown.tokens, trace.passes[k - 1].tokens[window]), (
            "the proposal, not the noise after it"
        )
        assert np.array_equal(shown.choices, trace.passes[k - 1].top_ids[:, 0])


def test_a_verification_shows_its_doubts_before_the_cut() -> None:
    trace = guided()
    k = next(k for k, entry in enumerate(trace.passes) if entry.phase == "verify")
    entry, shown = trace.passes[k], decision(trace, k)
    assert shown is not None
    assert (shown.moment, shown.cut, shown.chosen.any()) == ("verify", None, False)
    known = ~np.isnan(entry.ar_logprob) & (entry.states[entry.start : entry.stop] != STATE_CODE["prompt"])
    assert np.array_equal(shown.scores[known], -entry.ar_logprob[known])
    assert np.isnan(shown.scores[~known]).all()


def test_other_passes_show_the_last_decision_of_their_own_block() -> None:
    trace = guided()
    phases = [entry.phase for entry in trace.passes]
    first = phases.index("renoise")
    after = decision(trace, first + 1)
    assert after is not None
    assert (after.moment, after.source) == ("earlier", first)
    block = trace.passes[first].block
    opening = next(k for k, entry in enumerate(trace.passes) if entry.block > block and k > first)
    assert decision(trace, opening) is None, "a new block has decided nothing yet"
    assert decision(trace, 0) is None


def test_a_run_without_a_corrector_decides_nothing() -> None:
    trace = left_to_right()
    assert all(decision(trace, k) is None for k in range(len(trace.passes)))
    assert score_range(trace) == (0.0, 0.1)


@pytest.mark.parametrize(
    ("scores", "chosen", "cut", "line"),
    [
        ([1.0, 4.0, 2.0, np.nan], [False, True, False, False], 4.0, 3.0),
        ([3.0, 3.0, 1.0], [True, False, False], 3.0, 3.0),  # a tie: some on the line were spared
        ([3.0, 5.0], [True, True], 3.0, 3.0),  # nothing was spared
        ([-2.0, -1.0], [False, True], -1.0, -1.5),
    ],
)
def test_the_cut_separates_chosen_from_spared(
    scores: list[float], chosen: list[bool], cut: float, line: float
) -> None:
    assert cut_line(np.array(scores, np.float32), np.array(chosen), cut) == pytest.approx(line)


def test_surprises_are_capped_and_other_scores_are_not() -> None:
    trace = large(4, 8)
    assert score_range(trace) == (0.0, 1.0)
    low, top = score_range(guided())
    assert low == 0.0
    assert 0 < top <= TALLEST


def test_ar_speaks_only_where_it_was_asked() -> None:
    trace = with_settings(large(4, 8))
    shown = decision(trace, 2)
    assert shown is not None
    assert not any(is_doubted(shown, i) for i in range(8))
    guided_run = guided()
    k = next(k for k, entry in enumerate(guided_run.passes) if entry.phase == "renoise")
    shown = decision(guided_run, k)
    assert shown is not None
    doubted = [i for i in range(len(shown.tokens)) if is_doubted(shown, i)]
    assert doubted == np.flatnonzero(shown.chosen & (shown.choices >= 0)).tolist()
    assert doubted
