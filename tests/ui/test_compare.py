from __future__ import annotations

import gradio as gr
import pytest

from blockviz.sampling.trace import Trace
from blockviz.ui.compare import Screen
from tests.browser.fake_runs import fake_run, text


@pytest.fixture(scope="module")
def screen() -> Screen:
    with gr.Blocks():
        return Screen(tuple(gr.HTML() for _ in range(4)), gr.HTML())


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    return [fake_run(length=32, prompt_length=8, seed=seed) for seed in range(4)]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_runs_fill_the_sides_from_the_left_and_empty_the_others(
    screen: Screen, traces: list[Trace], count: int
) -> None:
    values = screen.values(traces[:count])
    assert len(values) == len(screen.outputs)
    assert list(values[:4]) == [text(trace) for trace in traces[:count]] + [""] * (4 - count)


def test_traces_and_their_lines_are_the_same(screen: Screen, traces: list[Trace]) -> None:
    pair = traces[:2]
    assert screen.values(pair) == screen.values([text(trace) for trace in pair])


@pytest.mark.parametrize("count", [0, 5])
def test_there_is_room_for_one_to_four_runs(screen: Screen, traces: list[Trace], count: int) -> None:
    with pytest.raises(ValueError, match="1 to 4 runs"):
        screen.values((traces * 2)[:count])
