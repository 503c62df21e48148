"""Recorded attention as a figure: exact weights of the right head, with words; and plain words where there are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from blockviz.sampling.trace import attention_weights
from blockviz.views import attention, weights
from tests.views.runs import guided, left_to_right, with_attention

RUN = with_attention(guided(length=40, block_size=16))
MEAN = with_attention(guided(process="uniform", length=40, block_size=8), kept="mean")


def phase(name: str, number: int = 0) -> int:
    return [k for k, entry in enumerate(RUN.passes) if entry.phase == name][number]


def test_a_head_is_shown_as_recorded_and_the_average_is_of_weights() -> None:
    k = phase("propose")
    recorded = RUN.passes[k].attention
    assert recorded is not None
    for head in range(3):
        shown = weights.codes(RUN, k, head)
        assert np.array_equal(shown, recorded[head])
    average = weights.codes(RUN, k, None)
    assert average is not None
    np.testing.assert_allclose((average / 255) ** 2, attention_weights(recorded).mean(axis=0), atol=1e-6)
    only = MEAN.passes[1].attention
    assert only is not None
    assert np.array_equal(weights.codes(MEAN, 1, 2), only[0]), "only the average was kept"


def test_what_a_verifier_may_not_read_has_no_weight() -> None:
    k = phase("verify", 1)
    shown = weights.codes(RUN, k, 0)
    assert shown is not None
    start = RUN.passes[k].start
    assert np.array_equal(np.isnan(shown[:, start:]), np.triu(np.ones((16, 16), bool), 1))
    assert not np.isnan(shown[:, :start]).any()
    assert not np.isnan(weights.codes(RUN, phase("propose"), 0)).any()  # type: ignore[arg-type]


@pytest.mark.parametrize(("trace", "head"), [(RUN, None), (RUN, 2), (MEAN, None)])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_pass_gives_a_valid_figure(trace, head, theme) -> None:  # type: ignore[no-untyped-def]
    for k in range(0, len(trace.passes), 2):
        figure = attention.figure(trace, k, theme, "looked", head)
        go.Figure(figure)
        assert attention.TITLE in figure["layout"]["title"]["text"]
        for trace_ in figure["data"]:
            assert np.array(trace_["text"]).shape == np.array(trace_["z"]).shape


def test_the_figure_says_whose_attention_it_is() -> None:
    k = phase("verify")
    title = attention.figure(RUN, k + 1, show="looked")["layout"]["title"]["text"]
    assert f"What the verifier of block 2 looked at in pass {k}: layer 4 of 4, average of 3 heads." in title
    assert "head 2 of 3" in attention.figure(RUN, k, show="looked", head=1)["layout"]["title"]["text"]
    assert "recorded no attention" in attention.figure(guided(), 3, show="looked")["layout"]["title"]["text"]
    with pytest.raises(IndexError, match="no head 3"):
        attention.figure(RUN, k, show="looked", head=3)


def test_a_cell_names_its_weight_its_tokens_and_why_it_could_be_read() -> None:
    k = phase("verify")
    entry, codes = RUN.passes[k], weights.codes(RUN, k, 1)
    assert codes is not None
    words = attention.weight_words(RUN, k, 2, 3, codes[2, 3])
    piece = weights.escape(RUN.pieces[int(entry.tokens[3])])
    assert words == (
        f"query {entry.start + 3}, key 4 <b>{piece}</b>:<br>{100 * (codes[2, 3] / 255) ** 2:.1f}% of its attention"
        "<br>clean context, cached"
    )
    start = entry.start
    assert attention.weight_words(RUN, k, 2, start + 1, 5).endswith(f"proposal before {start + 3}")
    assert attention.weight_words(RUN, k, 2, start + 2, 5).endswith("itself, the verifier's noise token")
    assert "▒" in attention.weight_words(RUN, k, 2, start + 2, 5)
    k = phase("propose")
    assert attention.weight_words(RUN, k, 0, RUN.passes[k].start, 5).endswith("itself, same block, noise")


def test_keys_are_the_tokens_that_were_read() -> None:
    k = phase("propose", 1)
    entry = RUN.passes[k]
    for key in range(entry.start, entry.stop):
        assert weights.key_token(RUN, k, 0, key) == RUN.passes[k - 1].tokens[key]
    uniform = next(j for j, one in enumerate(MEAN.passes) if one.phase == "verify")
    noisy = replace(MEAN.passes[uniform], verify_tokens=np.full(8, 7))
    changed = replace(MEAN, passes=(*MEAN.passes[:uniform], noisy, *MEAN.passes[uniform + 1 :]))
    assert weights.key_token(changed, uniform, 1, noisy.start + 1) == 7
    assert "(noise)" in weights.cell_words(MEAN, uniform, 1, noisy.start + 1, 5), "not recorded in this run"
    assert weights.key_token(changed, uniform, 1, noisy.start) == noisy.tokens[noisy.start]


def test_a_large_map_is_thinned_by_its_largest_weights() -> None:
    values = np.zeros((400, 1000))
    values[399, 999], values[7, 0] = 9.0, np.nan
    shown, high, wide = weights.thinned(values)
    assert shown.shape[0] <= weights.MAX_QUERIES
    assert shown.shape[1] <= weights.MAX_KEYS
    assert shown[399 // high, 999 // wide] == 9.0
    assert not np.isnan(shown).any(), "one unknown among known ones hides nothing"
    small = np.array([[1.0, np.nan]])
    assert weights.thinned(small)[1:] == (1, 1)
    assert np.array_equal(weights.thinned(small)[0], small, equal_nan=True)


def test_left_to_right_runs_have_one_row() -> None:
    trace = with_attention(left_to_right(), heads=1)
    figure = attention.figure(trace, 3, show="looked")
    assert np.array(figure["data"][0]["z"]).shape == (1, trace.passes[3].stop)
    assert "its only head" in figure["layout"]["title"]["text"]
