"""The sentence of a pass, the passes of a step, what AR would write instead, and the life of a position."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from blockviz.sampling.trace import STATE_CODE, Trace
from blockviz.views import life_chart
from blockviz.views.life import compared, life
from blockviz.views.numbers import brief, close, count, fixed, percent, quoted
from blockviz.views.story import alternatives, sentence, step_passes
from tests.sampling.traces import small_trace
from tests.views.runs import guided, left_to_right, with_settings

GUIDED = guided(length=40, block_size=16)


def phase(trace: Trace, name: str) -> int:
    return next(k for k, entry in enumerate(trace.passes) if entry.phase == name)


def test_a_guided_step_is_told_as_one() -> None:
    trace = small_trace()
    assert [sentence(trace, k) for k in range(5)] == [
        "The prompt is in place; every other position holds pure noise.",
        "The model drafts the whole block: 2 tokens, all of them new.",
        "Reading left to right, AR would write every one of the 2 tokens the same.",
        "AR would write 0 of 2 tokens differently; at this step the schedule sends the unlikeliest, at 3.3 nats, "
        "back to noise.",
        "Block 1 is finished; its 4 tokens no longer change.",
    ]
    assert [step_passes(trace, k) for k in (0, 1, 2, 3, 4)] == [
        {},
        *[{"propose": 1, "verify": 2, "renoise": 3}] * 3,
        {},
    ]


def test_doubts_are_counted_and_what_ar_would_write_is_named() -> None:
    k = phase(GUIDED, "verify")
    here = GUIDED.passes[k]
    free = here.states[here.start : here.stop] != STATE_CODE["prompt"]
    tokens = here.tokens[here.start : here.stop]
    other = free & (here.top_ids[:, 0] != tokens)
    assert f"would write {other.sum()} of {free.sum()} tokens differently" in sentence(GUIDED, k)
    told = alternatives(GUIDED, k)
    assert set(told) == set((here.start + np.flatnonzero(other)).tolist())
    thrown = alternatives(GUIDED, k + 1)
    after = GUIDED.passes[k + 1]
    assert set(thrown) == set(np.flatnonzero(after.states == STATE_CODE["renoised"]).tolist())
    for position, (token, p) in thrown.items():
        assert token == here.top_ids[position - here.start, 0]
        assert p == here.top_probs[position - here.start, 0]
    words = sentence(GUIDED, k + 1)
    assert words.startswith(
        f"AR would write {other.sum()} of {free.sum()} tokens differently; "
        f"at this step the schedule sends the {after.k} "
    )
    assert f"{brief(after.cut or 0)} nats" in words
    assert alternatives(GUIDED, k - 1) == {}


@pytest.mark.parametrize(
    ("corrector", "words"),
    [
        ("kld", "of highest KL, from"),
        ("entropy", "tokens, the 6 of highest entropy"),
        ("random", "6 drawn by lot"),
        ("tvd", "of highest total variation"),
    ],
)
def test_other_correctors_are_named(corrector: str, words: str) -> None:
    trace = with_settings(guided(length=40, block_size=16, prompt_length=4), corrector=corrector)
    assert words in sentence(trace, phase(trace, "renoise"))


def test_one_token_and_no_token_read_well() -> None:
    k = phase(GUIDED, "renoise")
    one = list(GUIDED.passes)
    one[k] = replace(one[k], k=1)
    assert "the unlikeliest, at" in sentence(replace(GUIDED, passes=tuple(one)), k)
    one[k] = replace(one[k], k=0, cut=None)
    assert sentence(replace(GUIDED, passes=tuple(one)), k) == "No token goes back to noise in this step."
    run = left_to_right()
    assert sentence(run, 2) == "1 token taken from the prediction, 0 kept; no noise is left."


def test_numbers_round_half_up_with_a_true_minus() -> None:
    assert [fixed(x, 1) for x in (0.25, -0.25, -0.01, 12.349)] == ["0.3", "−0.3", "0.0", "12.3"]
    assert [percent(x) for x in (0.0, 0.0001, 0.3745, 1.0)] == ["0.0%", "<0.1%", "37.5%", "100.0%"]
    assert (brief(0.002), brief(0.0), brief(4.13), close(0.05), close(3.254)) == (
        "0.002", "0.0", "4.1", "0.050", "3.25",
    )  # fmt: skip
    assert (count(1, "token"), count(0, "token")) == ("1 token", "0 tokens")
    assert quoted("a" * 30) == "“" + "a" * 13 + "…”"


def test_life_holds_every_pass_of_the_block_and_the_first() -> None:
    position = 25
    rows = life(GUIDED, position)
    wanted = [0, *(k for k, e in enumerate(GUIDED.passes) if e.start <= position < e.stop)]
    assert [row.number for row in rows] == wanted
    for row in rows[1:]:
        here = GUIDED.passes[row.number]
        i = position - here.start
        assert row.token == here.tokens[position]
        assert np.array_equal(
            [row.confidence, row.entropy, row.ar_logprob, row.score],
            np.array([here.confidence[i], here.entropy[i], here.ar_logprob[i], here.score[i]]),
            equal_nan=True,
        )
        assert [token for token, _ in row.candidates] == [t for t in here.top_ids[i].tolist() if t >= 0]
    with pytest.raises(IndexError):
        life(GUIDED, 40)


def test_a_renoised_token_is_compared_with_cut_and_neighbours() -> None:
    k = phase(GUIDED, "renoise")
    here = GUIDED.passes[k]
    scores = here.score
    chosen = int(np.nanargmax(scores))
    lines = compared(GUIDED, k, here.start + chosen)
    assert f"rank 1 of {count(int((~np.isnan(scores)).sum()), 'position')}" in lines[0]
    assert f"left {close(float(scores[chosen - 1]))} nats" in lines[0]
    assert lines[1] == f"At or above the cut of {close(here.cut or 0)} nats, so it went back to noise."
    spared = int(np.nanargmin(scores))
    assert "Below the cut" in compared(GUIDED, k, here.start + spared)[1]
    assert any("AR would write" in line for line in lines)


def test_a_draw_names_its_probability_and_rank() -> None:
    k = phase(GUIDED, "propose")
    here = GUIDED.passes[k]
    i = int(np.flatnonzero(here.reasons == 2)[0])
    lines = compared(GUIDED, k, here.start + i)
    assert percent(float(here.confidence[i])) in lines[0]
    better = int((here.confidence[here.reasons != 1] > here.confidence[i]).sum())
    assert f"rank {better + 1} of" in lines[1]
    assert "nats" in lines[2]


def test_every_position_of_every_pass_has_something_to_say() -> None:
    for trace in (GUIDED, guided(process="uniform", length=40), left_to_right(), small_trace()):
        for k in range(len(trace.passes)):
            for position in range(trace.header.length):
                lines = compared(trace, k, position)
                assert lines
                assert all(line and not set("{}") & set(re.sub("“.*?”", "", line)) for line in lines)
    assert compared(GUIDED, 3, 0) == ["Part of the prompt: given, never predicted."]
    with pytest.raises(IndexError):
        compared(GUIDED, 1, -1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_chart_is_a_figure_with_its_cursor(theme: str) -> None:
    for trace, position in ((GUIDED, 25), (GUIDED, 0), (left_to_right(), 5)):
        figure = life_chart.figure(trace, 2, theme, position)  # type: ignore[arg-type]
        go.Figure(figure)
        assert (figure["layout"]["shapes"][0]["x0"], figure["layout"]["shapes"][0]["x1"]) == (2, 2)
        assert figure["layout"]["yaxis"]["title"]["text"] == "probability"
        assert figure["layout"]["yaxis2"]["title"]["text"] == "nats"
    confidence, entropy, ar, thrown = life_chart.curves(life(GUIDED, 25))
    assert confidence["x"] == entropy["x"]
    assert [GUIDED.passes[k].phase for k in ar["x"]] == ["verify"] * len(ar["x"])  # type: ignore[index]
    assert [GUIDED.passes[k].phase for k in thrown["x"]] == ["renoise"] * len(thrown["x"])  # type: ignore[index]
    assert life_chart.curves(life(GUIDED, 0)) == [{"x": [], "y": []}] * 4
    with pytest.raises(IndexError):
        life_chart.figure(GUIDED, 999)


def test_tokens_in_the_chart_are_never_markup() -> None:
    hostile = guided(length=40)
    for position in range(20, 40):
        assert "<img" not in str(life_chart.figure(hostile, 1, "light", position))
