from __future__ import annotations

from typing import Any

import pytest

from blockviz.sampling.trace_lines import LineWriter
from blockviz.ui import live
from blockviz.ui.live import LiveRun, follow
from blockviz.ui.sessions import Turns
from tests.sampling.traces import piece, small_events


def run_of(events: list[Any]) -> LiveRun:
    return LiveRun(iter(events), LineWriter(piece), Turns())


def test_the_text_is_the_lines_of_the_trace() -> None:
    events = small_events()
    run = run_of(events)
    writer = LineWriter(piece)
    for _ in follow([run]):
        pass
    assert run.text == "".join(writer.line(event) for event in events)
    assert run.size == len(run.text)
    assert run.end is events[-1]
    assert run.calls == sum((events[-2].nfe_denoise, events[-2].nfe_verify))


def test_the_first_update_comes_with_the_first_pass_and_the_last_with_the_end() -> None:
    run = run_of(small_events())
    passes = [run.passes for _ in follow([run], seconds=0.0)]
    assert passes[0] == 1
    assert passes == sorted(passes)
    assert run.end is not None
    assert len(passes) == run.passes + 1, "one update for each pass, one for the end"


def test_updates_are_rare_while_nobody_could_see_them(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: clock[0])
    events = small_events()
    middle = events[2:-1] * 50

    def slowly() -> Any:
        for event in [*events[:2], *middle, events[-1]]:
            clock[0] += 0.01
            yield event

    def updates() -> int:
        return sum(1 for _ in follow([LiveRun(slowly(), LineWriter(piece), Turns())], seconds=0.05))

    usual = updates()
    monkeypatch.setattr(live, "DOUBLING_SIZE", 5_000)
    assert 2 < updates() < usual <= len(middle) / 4


def test_passes_a_little_rarer_than_the_updates_have_an_update_each(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: clock[0])
    events = small_events()
    jitter = [0.0, 0.004, -0.003, 0.006, -0.006]

    def paced() -> Any:
        for i, event in enumerate([*events[:2], *events[2:-1] * 20, events[-1]]):
            clock[0] = max(clock[0], 100 + 0.05 * i + jitter[i % len(jitter)])
            yield event

    run = LiveRun(paced(), LineWriter(piece), Turns())
    seen = []
    for _ in follow([run], seconds=0.045):
        clock[0] += 0.02  # what it takes to send one
        seen.append(run.passes)
    assert seen[:-1] == list(range(1, run.passes + 1))


def test_a_short_run_beside_a_long_one_ends_alone() -> None:
    events = small_events()
    short, long = run_of([*events[:3], events[-1]]), run_of(events)
    for _ in follow([short, long], seconds=0.0):
        pass
    assert short.end is not None
    assert long.end is not None
    assert short.passes < long.passes
