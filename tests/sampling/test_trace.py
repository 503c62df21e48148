"""Passes and traces: fixed point, no aliasing, columns, frames, equality of content."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from blockviz.sampling.passes import REASON_CODE, STATE_CODE, STATES
from blockviz.sampling.trace import Check, End, Pass, Trace, TraceError
from tests.sampling import traces as make


def one_pass(**changes: Any) -> Pass:
    values: dict[str, Any] = {"tokens": [1, 2, 3], "states": [0, 2, 2], "start": 1, "stop": 3}
    return Pass.record("denoise", **{**values, **changes})


def test_no_pass_aliases_what_it_was_made_from() -> None:
    canvas, states, numbers = (
        np.array([1, 2, 3]),
        np.array([0, 2, 2], np.uint8),
        np.array([0.5, 0.25], np.float32),
    )
    entry = one_pass(tokens=canvas, states=states, confidence=numbers, entropy=numbers, score=numbers)
    canvas[:], states[:], numbers[:] = 7, 8, 0.125
    assert entry.tokens.tolist() == [1, 2, 3]
    assert entry.states.tolist() == [0, 2, 2]
    assert entry.confidence.tolist() == entry.entropy.tolist() == entry.score.tolist() == [0.5, 0.25]


def test_passes_are_read_only() -> None:
    entry = one_pass(confidence=[0.5, 0.5], top_ids=[[1, 2, 3, 4, 5]] * 2, top_probs=[[0.2] * 5] * 2)
    arrays = [value for value in vars(entry).values() if isinstance(value, np.ndarray)]
    assert len(arrays) == 10
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
    with pytest.raises(FrozenInstanceError):
        entry.k = 3  # type: ignore[misc]


def test_what_nobody_can_change_is_shared_and_not_copied() -> None:
    first = one_pass(confidence=[0.5, 0.25])
    again = replace(first, step=first.step + 1)
    for name in ("tokens", "states", "reasons", "confidence", "score", "top_ids", "top_probs"):
        assert getattr(again, name) is getattr(first, name)


def test_numbers_are_rounded_when_they_are_recorded() -> None:
    entry = one_pass(
        alpha_t=0.12345678,
        ms=1.23456,
        confidence=[0.123456, 1.5],
        entropy=[1.23456, np.inf],
        ar_logprob=[-np.inf, 0.5],
        score=[np.nan, -0.00001],
        cut=-np.inf,
    )
    assert (entry.alpha_t, entry.ms, entry.cut) == (0.123457, 1.235, -99.0)
    assert entry.confidence.tolist() == [np.float32(0.1235), 1.0]
    assert entry.entropy.tolist() == [np.float32(1.235), 99.0]
    assert entry.ar_logprob.tolist() == [-99.0, 0.0]
    assert np.isnan(entry.score[0])
    assert str(entry.score[1]) == "0.0"  # not -0.0, which a file could not tell from it


def test_recording_a_recorded_pass_changes_nothing() -> None:
    entry = make.small_trace().passes[3]
    fields = {name: getattr(entry, name) for name in entry.__dataclass_fields__ if name != "phase"}
    assert Pass.record(entry.phase, **fields) == entry


def test_candidates_are_ordered_and_impossible_ones_dropped() -> None:
    entry = one_pass(
        top_ids=[[7, 8, 9, -1, 6], [1, 2, 3, 4, 5]],
        top_probs=[[0.1, 0.6, 0.0004, 0.9, 0.1], [0.5, 0.2, 0.1, 0.1, 0.1]],
    )
    assert entry.top_ids.tolist() == [[8, 7, 6, -1, -1], [1, 2, 3, 4, 5]]
    assert entry.top_probs[0].tolist() == [np.float32(0.6), np.float32(0.1), np.float32(0.1), 0.0, 0.0]


@pytest.mark.parametrize(
    "changes",
    [
        {"states": [0, 2]},
        {"stop": 4},
        {"start": 2, "stop": 1, "reasons": [], "confidence": []},
        {"confidence": [0.5]},
        {"score": [0.5, 0.5, 0.5]},
        {"top_ids": [[1, 2, 3]] * 2, "top_probs": [[0.1, 0.1, 0.1]] * 2},
        {"top_ids": [[1, 2, 3, 4, 5]] * 2},
    ],
)
def test_arrays_of_the_wrong_shape_are_refused(changes: dict[str, Any]) -> None:
    if "top_ids" in changes and "top_probs" not in changes:
        changes = {**changes, "top_probs": [[0.1] * 5]}
    with pytest.raises((TraceError, ValueError)):
        one_pass(**changes)


def test_columns() -> None:
    trace = make.small_trace()
    assert trace.tokens.shape == trace.states.shape == trace.score.shape == (5, 6)
    assert trace.column("phase").tolist() == ["start", "propose", "verify", "renoise", "commit"]
    assert trace.column("nfe_denoise").tolist() == [0, 1, 1, 1, 2]
    assert np.isnan(trace.column("cut")).tolist() == [True, True, True, False, True]
    assert trace.tokens_before[2].tolist() == trace.tokens[1].tolist()
    assert trace.tokens_before[0].tolist() == trace.tokens[0].tolist()
    assert trace.states[3, 2] == STATE_CODE["renoised"]
    assert trace.reasons[3].tolist() == [
        REASON_CODE[w] for w in ("prompt", "prompt", "renoised", "revealed", "none", "none")
    ]
    assert trace.score[3, 2] == np.float32(3.25)
    assert np.isnan(trace.score[3, [0, 1, 4, 5]]).all()
    assert np.isnan(trace.ar_logprob[1]).all()
    assert trace.ar_logprob[2, 3] == np.float32(-0.5)
    assert trace.verify_tokens.tolist() == [[-1] * 6] * 5
    assert trace.pieces == {
        1: "<1>",
        2: "<2>",
        3: "<3>",
        4: "<4>",
        5: "<5>",
        6: "<6>",
        7: "<7>",
        8: "<8>",
        9: "▒",
    }


def test_frame_has_a_row_per_pass_and_position() -> None:
    frame = make.small_trace().to_frame()
    assert len(frame) == 5 * 6
    row = frame[(frame["pass"] == 3) & (frame["position"] == 2)].iloc[0]
    assert (row["phase"], row["state"], row["reason"], row["token_before"], row["token"]) == (
        "renoise",
        "renoised",
        "renoised",
        3,
        9,
    )
    assert (row["piece"], row["position_block"], row["nfe_verify"], row["k"], row["cut"]) == (
        "▒",
        0,
        1,
        1,
        3.25,
    )
    assert row["score"] == pytest.approx(3.25)
    best = frame[(frame["pass"] == 1) & (frame["position"] == 3)].iloc[0]
    assert (best["best"], best["best_probability"]) == (4, pytest.approx(0.7))
    assert frame["best_probability"].isna().sum() == 30 - 8
    assert make.small_trace().passes_frame()["nfe_denoise"].tolist() == [0, 1, 1, 1, 2]


@settings(max_examples=30, deadline=None)
@given(make.traces())
def test_any_trace_has_a_frame_that_agrees_with_its_columns(trace: Trace) -> None:
    frame = trace.to_frame()
    shape = (len(trace.passes), trace.header.length)
    assert (frame["token"].to_numpy().reshape(shape) == trace.tokens).all()
    assert np.array_equal(frame["confidence"].to_numpy().reshape(shape), trace.confidence, equal_nan=True)
    assert [STATES[code] for code in trace.states.ravel()] == frame["state"].tolist()
    assert frame["piece"].tolist() == [trace.pieces[token] for token in trace.tokens.ravel()]


def test_same_content_looks_past_times_and_run_id_only() -> None:
    trace = make.small_trace()
    first, second = trace.passes[:2]
    slower = replace(
        trace,
        header=replace(trace.header, run="11", created="later"),
        passes=(first, replace(second, ms=99.0), *trace.passes[2:]),
        end=replace(trace.end, seconds=9.0),
    )
    assert trace.same_content(slower)
    assert trace != slower
    confident = second.confidence.copy()
    confident[3] += 0.0001
    different = [
        replace(trace, header=replace(trace.header, device="cuda")),
        replace(trace, header=replace(trace.header, prompt="other")),
        replace(trace, end=replace(trace.end, text="other")),
        replace(trace, passes=trace.passes[:-1]),
        replace(trace, passes=(first, replace(second, confidence=confident), *trace.passes[2:])),
        replace(trace, passes=(first, replace(second, nfe_verify=1), *trace.passes[2:])),
        replace(
            trace,
            passes=(first, replace(second, checks=(Check(2, 4, "right", "1 + 1 = 3"),)), *trace.passes[2:]),
        ),
        replace(trace, pieces={**trace.pieces, 1: "other"}),
    ]
    for other in different:
        assert not trace.same_content(other)


def test_collect_needs_a_whole_run() -> None:
    events = make.small_events()
    for broken in (events[1:], events[:-1], []):
        with pytest.raises(TraceError, match="cut short"):
            Trace.collect(broken, make.piece)


def test_header_knows_its_geometry() -> None:
    head = make.header(length=6, block_size=4, tokens=(1, 2))
    assert (head.prompt_length, head.blocks) == (2, 2)


def test_seconds_are_rounded() -> None:
    assert End(0.123456, False, "canvas", "", 1).seconds == 0.123


def test_reading_a_trace_imports_no_torch() -> None:
    code = (
        "import sys, blockviz, blockviz.sampling.trace, blockviz.sampling.settings\n"
        "assert not {'torch', 'gradio', 'plotly'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
