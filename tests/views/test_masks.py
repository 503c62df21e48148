"""The masks that the views draw are the masks that the network had."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blockviz.models.attention import generation_mask, verification_mask
from blockviz.views.attention import WORDS, reads, why_words
from blockviz.views.masks import (
    KIND,
    Axes,
    Geometry,
    allowed,
    axes,
    axes_of,
    codes,
    geometry,
    picture,
    reason,
    rule,
    source_pass,
)
from tests.views.runs import guided, left_to_right, sampled, with_settings


@given(
    st.integers(0, 6), st.integers(0, 6), st.sampled_from([1, 2, 3, 4, 8]), st.integers(1, 8), st.booleans()
)
def test_a_generating_pass_has_the_network_s_mask(
    cached_blocks: int, clean_blocks: int, size: int, window: int, causal: bool
) -> None:
    cached, clean = cached_blocks * size, clean_blocks * size
    start = cached + clean
    shape = Geometry(cached, clean, start, start + min(window, size), size, x0_causal=causal)
    expected = generation_mask(cached, clean, shape.window, size, causal)
    assert np.array_equal(allowed(shape), expected.numpy())


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 9))
def test_a_token_causal_pass_may_start_anywhere(cached: int, clean: int, window: int) -> None:
    start = cached + clean
    expected = generation_mask(cached, clean, window, 4, True)
    assert np.array_equal(allowed(Geometry(cached, clean, start, start + window, 4)), expected.numpy())


@given(st.integers(0, 20), st.integers(1, 12))
def test_a_verification_has_the_network_s_mask(cached: int, count: int) -> None:
    shape = Geometry(cached, 0, cached, cached + count, count, verify=True)
    assert np.array_equal(allowed(shape), verification_mask(cached, count).numpy())


@given(st.integers(0, 9), st.integers(1, 9), st.integers(1, 6))
def test_a_verification_without_a_cache_recomputes_its_context(cached: int, clean: int, count: int) -> None:
    start = cached + clean
    mask = allowed(Geometry(cached, clean, start, start + count, count, verify=True))
    causal = torch.ones(clean, start, dtype=torch.bool).tril(cached)
    assert np.array_equal(mask[:clean, :start], causal.numpy())
    assert not mask[:clean, start:].any()
    assert np.array_equal(mask[clean:], verification_mask(start, count).numpy())


def test_every_key_is_named_by_its_kind() -> None:
    generating = codes(Geometry(2, 2, 4, 6, 2))
    names = [KIND[name] for name in ("cached", "cached", "carried", "carried", "active", "active")]
    assert generating[-1].tolist() == names
    assert generating[0].tolist() == [*names[:3], 0, 0, 0]
    verifying = codes(Geometry(1, 0, 1, 3, 2, verify=True))
    cached, proposal, noise = KIND["cached"], KIND["proposal"], KIND["noise"]
    assert verifying.tolist() == [
        [cached, proposal, 0, 0, 0],
        [cached, proposal, proposal, 0, 0],
        [cached, 0, 0, noise, 0],
        [cached, proposal, 0, 0, noise],
    ]


@given(
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from([1, 2, 4]),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_every_cell_has_its_reason_and_only_what_may_be_read_a_reason_to_read(
    cached: int, clean: int, size: int, window: int, causal: bool, verify: bool, recomputed: bool
) -> None:
    start = (cached + clean) * size
    stop = start + min(window, size)
    shape = Geometry(cached * size, clean * size, start, stop, size, verify, causal or verify, recomputed)
    reads = {"earlier", "cached", "carried", "recomputed", "active", "proposal", "in_proposal", "noise"}
    places = [(False, at) for at in range(stop + 2)] + [(True, at) for at in range(shape.window + 1)]
    tokens = (np.array([noisy for noisy, _ in places]), np.array([at for _, at in places]))
    may = rule(shape, tokens, tokens) > 0
    for row, query in enumerate(places):
        for column, key in enumerate(places):
            name = reason(shape, *query, *key)
            assert name in WORDS["why"]
            assert (name in reads) == may[row, column], (shape, query, key, name)


def test_the_reasons_of_a_verification_and_of_a_block_causal_model() -> None:
    shape = Geometry(4, 0, 4, 8, 4, verify=True)
    noise = [reason(shape, True, 1, False, key) for key in (0, 4, 5, 6, 8)]
    assert noise == ["cached", "proposal", "own_proposal", "later_proposal", "no_key"]
    assert [reason(shape, True, 1, True, key) for key in (0, 1)] == ["noise_of_another", "noise"]
    assert [reason(shape, False, 5, False, key) for key in (4, 5, 6)] == ["proposal", "in_proposal", "later"]
    assert why_words(shape, True, 1, False, 4) == "proposal before 6"
    assert why_words(shape, False, 5, False, 5) == "itself, in the proposal"
    blocks = Geometry(0, 8, 8, 12, 4, x0_causal=False)
    assert [reason(blocks, False, 1, False, key) for key in (0, 3, 4)] == [
        "carried",
        "carried",
        "later_block",
    ]
    assert reason(blocks, False, 1, True, 0) == "noise_unread"
    assert reason(blocks, False, 8, False, 0) == "no_query"
    assert why_words(blocks, True, 2, True, 2) == "itself, same block, noise"
    assert why_words(blocks, True, 2, True, 3) == "same block, noise"


def test_a_block_causal_model_is_drawn_as_such() -> None:
    trace = guided(length=32, block_size=8)
    model = replace(trace.header.model, x0_causal=False)
    changed = replace(trace, header=replace(trace.header, model=model))
    assert not geometry(changed, 1).x0_causal
    assert geometry(trace, 1).x0_causal


def test_the_picture_puts_the_mask_at_its_positions() -> None:
    shape = Geometry(4, 4, 8, 12, 4)
    frame = axes(16, 4, whole=False)
    assert frame == Axes(clean=12, noisy=4, cells=16, clean_cells=12)
    cells = picture(shape, frame)
    rows, columns = [4, 5, 6, 7, 12, 13, 14, 15], [0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15]
    assert np.array_equal(cells[np.ix_(rows, columns)], codes(shape))
    earlier = np.tri(4, dtype=bool)
    assert np.array_equal(cells[:4, :4] == KIND["earlier"], earlier)
    assert not cells[:4, 4:].any()
    assert not cells[8:12].any(), "positions not written yet ask nothing"
    assert not cells[:, 8:12].any()


def test_axes_hold_still_and_are_thinned() -> None:
    assert axes(1024, 16, whole=True).cells <= 192
    one = axes(128, 1, whole=False)
    assert one.cells - one.clean_cells >= one.cells // 12, "a block of one token can be seen"
    whole = axes(64, 64, whole=False)
    assert (whole.clean, whole.clean_cells, whole.noisy) == (0, 0, 64)
    for frame in (axes(1024, 16, True), one, whole):
        places = frame.places()
        stride = (frame.clean + frame.noisy) // frame.cells + 1
        assert places.min() < stride
        assert places.max() >= frame.clean + frame.noisy - stride
        assert (np.diff(places) >= 0).all()


@pytest.mark.parametrize(
    "trace",
    [
        guided(),
        guided(length=50, block_size=16),
        left_to_right(),
        *(sampled(name) for name in ("blockwise", "canvas", "overlap", "seams")),
        sampled("arpc", context="bidirectional"),
    ],
)
def test_the_geometry_of_a_run_fits_its_axes(trace) -> None:  # type: ignore[no-untyped-def]
    frame = axes_of(trace)
    for k in range(len(trace.passes)):
        source = source_pass(trace, k)
        if source is None:
            assert trace.passes[k].phase == "start"
            continue
        shape = geometry(trace, source)
        assert shape.start <= frame.clean
        cells = picture(shape, frame)
        assert (cells > 0).any()


def test_a_pass_without_a_call_shows_the_last_one() -> None:
    trace = guided()
    phases = [entry.phase for entry in trace.passes]
    renoise = phases.index("renoise")
    assert phases[renoise - 1] == "verify"
    assert source_pass(trace, renoise) == renoise - 1
    assert source_pass(trace, 0) is None


def test_a_canvas_that_is_read_as_a_whole_has_no_mask() -> None:
    trace = sampled("blockwise")
    assert trace.passes[1].stop < 22
    shape = geometry(trace, 1)
    assert (shape.window, shape.cached, shape.clean) == (22, 0, 0)
    assert allowed(shape).all()
    assert reason(shape, True, 3, True, 20) == "whole"
    assert "whole canvas, 22 positions" in reads(shape, 1)
    verified = sampled("arpc", context="bidirectional")
    at = [entry.phase for entry in verified.passes].index("verify")
    assert not geometry(verified, at).whole


def test_without_a_cache_the_context_is_recomputed() -> None:
    trace = with_settings(guided(), use_cache=False)
    assert geometry(trace, 1).recomputed
