"""The timeline: bars that tile the run, exact numbers in words, groups where a run is too long to draw pass by pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockviz.sampling.trace import Trace
from blockviz.views import timeline
from blockviz.views.palette import PALETTES, THEMES, Theme
from tests.views.runs import guided, left_to_right

RUN = guided(length=40, block_size=16)


def timed(trace: Trace, times: list[float]) -> Trace:
    """The run with other milliseconds, pass by pass from the first on."""
    passes = [replace(entry, ms=ms) for entry, ms in zip(trace.passes, times, strict=False)]
    return replace(trace, passes=(*passes, *trace.passes[len(passes) :]))


@pytest.mark.parametrize("along", timeline.ALONGS)
def test_passes_follow_each_other_without_gaps(along: timeline.Along) -> None:
    edges = timeline.edges(RUN, along)
    assert np.array_equal(edges[1:, 0], edges[:-1, 1])
    assert (edges[:, 1] >= edges[:, 0]).all()


def test_the_axis_counts_what_it_says() -> None:
    last = RUN.passes[-1]
    assert timeline.edges(RUN, "nfe")[-1, 1] == last.nfe_denoise + last.nfe_verify
    assert timeline.edges(RUN, "ms")[-1, 1] == pytest.approx(sum(entry.ms for entry in RUN.passes))
    assert timeline.edges(RUN, "pass")[7].tolist() == [6.5, 7.5]
    assert timeline.edges(timed(RUN, [float("nan"), -1.0, 2.0]), "ms")[2].tolist() == [0.0, 2.0]


@given(
    st.lists(st.floats(0, 50), min_size=4, max_size=9), st.integers(1, 40), st.sampled_from(timeline.ALONGS)
)
def test_groups_keep_the_length_of_every_phase(times: list[float], limit: int, along: timeline.Along) -> None:
    trace = timed(RUN, times)
    where = timeline.edges(trace, along)
    for phase in timeline.NETWORK:
        drawn = sum(bar.length for bar in timeline.bars(trace, along, limit) if bar.phase == phase)
        wanted = sum(where[k, 1] - where[k, 0] for k, p in enumerate(trace.passes) if p.phase == phase)
        assert drawn == pytest.approx(wanted)
    groups = {(bar.first, bar.last) for bar in timeline.bars(trace, along, limit)}
    covered = [k for first, last in sorted(groups) for k in range(first, last + 1)]
    assert covered == list(range(1, len(trace.passes))), "every pass but the start, once, in order"
    for bar in timeline.bars(trace, along, limit):
        assert {trace.passes[k].block for k in range(bar.first, bar.last + 1)} == {bar.block}


def test_passes_without_a_call_can_be_seen_on_every_axis() -> None:
    for along in timeline.ALONGS:
        low, high = timeline.extent(RUN, along)
        free = [bar for bar in timeline.bars(RUN, along) if bar.phase in timeline.FREE]
        assert free
        assert all(bar.length >= timeline.HAIR * (high - low) * 0.999 for bar in free)
        assert all(low <= bar.start and bar.start + bar.length <= high + 1e-9 for bar in free)


def test_words_have_numbers_and_units() -> None:
    k = next(k for k, entry in enumerate(RUN.passes) if entry.phase == "renoise")
    entry = RUN.passes[k]
    words = timeline.words(timed(RUN, [0.0, 1.25, 2.5, 0.125]), k).split("<br>")
    assert words[0] == f"block {entry.block + 1}"
    assert words[1] == f"pass {k} · re-noise, step 1"
    assert words[2] == "no network call; NFE 2 so far"
    assert words[3] == "0.13 ms, from 3.8 to 3.9 ms of the run"
    assert words[4] == f"{entry.k} tokens back to noise"
    assert "network call 1 = 1 denoise + 0 verify so far" in timeline.words(RUN, 1)
    block = [p for p in RUN.passes[1:] if p.block == entry.block]
    sums = timeline.block_words(RUN, k)
    assert f"Block {entry.block + 1}: {len(block)} passes, NFE 5 = 3 denoise + 2 verify" in sums
    assert "click" in timeline.block_words(RUN, 0)


def test_an_ar_run_is_a_staircase() -> None:
    trace = left_to_right()
    figure = timeline.figure(trace, 3, along="nfe")
    denoise = figure["data"][timeline.DRAWN.index("denoise")]
    assert denoise["y"] == [entry.block + 1 for entry in trace.passes[1:]]
    assert denoise["base"] == [float(k) for k in range(len(trace.passes) - 1)]
    assert figure["layout"]["shapes"][0]["x1"] == 3.0


@pytest.mark.parametrize("theme", THEMES)
def test_phases_are_told_by_more_than_colour(theme: Theme) -> None:
    palette = PALETTES[theme]
    assert len(set(palette.phases)) == len(palette.phases)
    heights = [timeline.HEIGHTS[name] for name in timeline.NETWORK]
    assert len(set(heights)) == len(heights)
    labels = [entry["label"] for entry in timeline.legend(theme)]
    assert labels == [
        "propose",
        "denoise",
        "verify",
        "re-noise (no call)",
        "commit (no call)",
        "edit (no call)",
    ]


def test_halves_are_rounded_as_in_the_browser() -> None:
    assert [timeline.fixed(value, 1) for value in (0.25, 0.35, 1.0, 0.0)] == ["0.3", "0.3", "1.0", "0.0"]
