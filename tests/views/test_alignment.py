"""Runs beside each other: exact times, and what holds for every pair of runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockviz.sampling.trace import Trace
from blockviz.views.alignment import AXES, Axis, beside, leading, pass_at, times
from tests.browser.fake_runs import fake_run


def run(block_size: int = 16, steps: int = 3, length: int = 64, prompt: int = 8, seed: int = 0) -> Trace:
    trace = fake_run(length=length, prompt_length=prompt, block_size=block_size, steps=steps, seed=seed)
    # Whole quarters of a millisecond: their sums are exact.
    passes = (replace(p, ms=((7 * k + seed) % 9) / 4) for k, p in enumerate(trace.passes))
    return replace(trace, passes=tuple(passes))


runs = st.builds(
    run,
    block_size=st.sampled_from([4, 8, 16, 32, 64]),
    steps=st.integers(1, 4),
    length=st.sampled_from([32, 60, 64]),
    prompt=st.integers(0, 20),
    seed=st.integers(0, 3),
).filter(lambda trace: len(trace.passes) > 1)


def test_equal_blocks_begin_and_end_together_whatever_their_steps() -> None:
    few, many = run(steps=1), run(steps=4)
    own = [times(trace, "block") for trace in (few, many)]
    for block in range(4):
        ends = [max(k for k, p in enumerate(trace.passes) if p.block == block) for trace in (few, many)]
        assert own[0][ends[0]] == own[1][ends[1]] == (block + 1) * 16
        assert beside(own[1], ends[1], own[0]) == (ends[0], False)


def test_a_large_block_stands_beside_the_small_ones_in_its_place() -> None:
    small, large = run(block_size=4, prompt=0), run(block_size=32, prompt=0)
    own = times(large, "block"), times(small, "block")
    middle = [k for k, p in enumerate(large.passes) if p.block == 0 and k > 0]
    half = middle[len(middle) // 2 - 1]
    shown, held = beside(own[0], half, own[1])
    assert own[0][half] == 16.0
    assert (small.passes[shown].phase, small.passes[shown].stop, held) == ("commit", 16, False)


def test_network_calls_and_shares() -> None:
    slow, quick = run(steps=4), run(steps=2)
    nfe = times(slow, "nfe"), times(quick, "nfe")
    assert nfe[0][-1] == 4 * (4 + 3)
    assert leading(nfe) == 0
    shown, held = beside(nfe[0], len(nfe[0]) - 1, nfe[1])
    assert (shown, held) == (len(quick.passes) - 1, True), "a shorter run keeps its last pass"
    share = times(slow, "share"), times(quick, "share")
    assert beside(share[0], len(share[0]) - 1, share[1]) == (len(quick.passes) - 1, False)


def test_a_run_without_times_and_one_of_a_single_pass() -> None:
    short = replace(run(), passes=run().passes[:1])
    for axis in AXES:
        assert times(short, axis).tolist() == [8.0 if axis == "block" else 0.0]
        assert beside(times(run(), axis), 0, times(short, axis)) == (0, False)


@pytest.mark.parametrize("axis", AXES)
@settings(max_examples=40, deadline=None)
@given(one=runs, other=runs)
def test_what_holds_for_every_pair_of_runs(axis: Axis, one: Trace, other: Trace) -> None:
    own = times(one, axis), times(other, axis)
    assert all((np.diff(line) >= 0).all() for line in own), "time never runs backwards"
    lead = own[leading(own)]
    for line in own:
        shown = [beside(lead, k, line) for k in range(len(lead))]
        passes = [k for k, _ in shown]
        assert passes == sorted(passes)
        assert passes[-1] == len(line) - 1, "every run is over when the lead is"
        assert not any(held for k, held in shown if k < len(line) - 1), "only a run that is over is held"
        for k, (at, _) in enumerate(shown):
            assert line[at] <= lead[k] + 1e-6 or at == 0
            assert line is lead or at + 1 == len(line) or line[at + 1] > lead[k]
    mine = own[leading(own)]
    assert [pass_at(mine, t) for t in np.unique(mine)] == [
        int((mine <= t).sum()) - 1 for t in np.unique(mine)
    ]
