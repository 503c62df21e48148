from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blockviz.evaluation.tasks import EXAMPLE_PROMPTS
from blockviz.sampling.settings import SamplerSettings, from_preset
from blockviz.sampling.trace import Trace
from blockviz.ui import runner as runner_module
from blockviz.ui.controls import FormError, Request
from blockviz.ui.runner import Runner, Update, refusal
from blockviz.ui.sessions import Places
from tests.evaluation.math_models import write_checkpoint

PROMPT = EXAMPLE_PROMPTS[0].prompt
QUICK = from_preset("arpc", steps=2, seed=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for process in ("masked", "uniform"):
        write_checkpoint(folder / f"math-{process}", process)
    write_checkpoint(folder / "broken", "masked")
    (folder / "broken" / "model.safetensors").write_bytes(b"no weights")
    return folder


@pytest.fixture
def runner(folder: Path) -> Runner:
    return Runner(folder, "cpu")


def request(model: str = "math-masked", prompt: str = PROMPT, settings: SamplerSettings = QUICK) -> Request:
    return Request(model, prompt, settings)


def updates(runner: Runner, **sides: Request) -> list[Update]:
    requests = {"" if side == "only" else side: asked for side, asked in sides.items()}
    return list(runner.updates("tab", "explore", requests))


def test_a_run_ends_with_its_whole_trace(runner: Runner) -> None:
    last = updates(runner, only=request())[-1]
    assert last.state == "done"
    assert last.message.startswith("Done: ")
    trace = Trace.from_lines(last.runs[""].text.splitlines())
    assert trace.header.settings == QUICK
    assert len(trace.passes) == last.runs[""].passes == trace.end.passes
    assert len(runner.signals) == 0


def test_the_text_only_grows(runner: Runner) -> None:
    seen = ""
    for update in runner.updates("tab", "explore", {"": request()}):
        if update.runs:
            text = update.runs[""].text
            assert text.startswith(seen)
            assert text.endswith("\n")
            seen = text
    assert json.loads(seen.splitlines()[-1]).keys() == {"end"}


def test_loading_is_said_once(runner: Runner) -> None:
    messages = [update.message for update in updates(runner, only=request())]
    assert messages[0] == "Loading math-masked …"
    assert not any("Loading" in update.message for update in updates(runner, only=request()))


def test_the_same_seed_gives_the_same_run(runner: Runner) -> None:
    first, second = (
        Trace.from_lines(updates(runner, only=request())[-1].runs[""].text.splitlines()) for _ in range(2)
    )
    assert first.same_content(second)
    assert first.header.run != second.header.run


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"model": "nobody"}, "model", "Choose one"),
        ({"model": "../math-masked"}, "model", "Choose one"),
        ({"model": "broken"}, "model", "SHA-256"),
        ({"prompt": "mia has 3 zebrafrogs"}, "prompt", "zebrafrogs"),
        ({"settings": from_preset("arpc", block_size=500)}, "block_size", "at most"),
        ({"settings": from_preset("arpc", length=500)}, "length", "500"),
    ],
)
def test_what_cannot_be_run_is_said_at_its_field(
    runner: Runner, changes: dict[str, Any], field: str, words: str
) -> None:
    last = updates(runner, only=request(**changes))[-1]
    assert (last.state, last.runs) == ("error", {})
    ((where, message),) = last.errors
    assert where == field
    assert words in message
    assert len(runner.signals) == 0


def test_in_compare_the_side_is_named(runner: Runner) -> None:
    last = updates(runner, a=request(), b=request(settings=from_preset("arpc", block_size=500)))[-1]
    assert [name for name, _ in last.errors] == ["b.block_size"]
    last = updates(runner, a=request(prompt="zebrafrog"), b=request())[-1]
    assert [name for name, _ in last.errors] == ["prompt"]


def test_compare_advances_both_runs_together(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blockviz.ui.live.UPDATE_SECONDS", 0.0)
    monkeypatch.setattr(runner_module, "follow", _every_step)
    counts = [
        tuple(update.runs[side].passes for side in "ab")
        for update in updates(runner, a=request(), b=request("math-uniform"))
        if update.runs
    ]
    assert all(abs(a - b) <= 1 for a, b in counts[: len(counts) // 2])


def _every_step(runs: list[Any]) -> Iterator[None]:
    from blockviz.ui.live import follow

    yield from follow(runs, seconds=0.0)


def test_stop_ends_the_run_after_the_pass_it_is_in(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "follow", _every_step)
    running = runner.updates("tab", "explore", {"": request(settings=from_preset("arpc", steps=50))})
    update = next(update for update in running if update.runs and update.runs[""].passes >= 3)
    passes = update.runs[""].passes
    runner.signals.stop("tab", "explore")
    last = list(running)[-1]
    assert last.state == "done"
    assert last.message.startswith("Stopped after")
    trace = Trace.from_lines(last.runs[""].text.splitlines())
    assert trace.end.stopped
    assert len(trace.passes) <= passes + 1


def test_a_run_too_long_for_the_page_is_stopped_and_says_so(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "follow", _every_step)
    monkeypatch.setattr(runner_module, "LARGEST", 20_000)
    last = updates(runner, only=request(settings=from_preset("arpc", steps=64)))[-1]
    assert last.state == "done"
    assert last.message.startswith("Stopped")
    assert "fewer steps" in last.message
    assert Trace.from_lines(last.runs[""].text.splitlines()).end.stopped
    assert len(last.runs[""].text) < 40_000


def test_another_tab_is_not_stopped(runner: Runner) -> None:
    running = runner.updates("mine", "explore", {"": request()})
    next(running)
    runner.signals.stop("theirs")
    assert list(running)[-1].message.startswith("Done")


def test_a_closed_page_gives_everything_back(runner: Runner) -> None:
    running = runner.updates("tab", "explore", {"": request()})
    next(running)
    running.close()
    assert len(runner.signals) == 0
    assert updates(runner, only=request())[-1].state == "done"


def test_a_run_beyond_the_places_says_that_it_waits(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_places", Places(1))
    first = runner.updates("one", "explore", {"": request()})
    next(first)
    second = runner.updates("two", "explore", {"": request()})
    waiting = next(second)
    assert (waiting.state, waiting.message) == (
        "waiting",
        "Waiting for the device: 1 run is ahead of this one.",
    )
    assert list(first)[-1].state == "done"
    assert list(second)[-1].state == "done"


def test_a_long_wait_is_told_again_and_again(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_places", Places(1))
    monkeypatch.setattr(runner_module, "REPEAT_SECONDS", 0.0)
    first = runner.updates("one", "explore", {"": request()})
    next(first)
    second = runner.updates("two", "explore", {"": request()})
    told = [next(second) for _ in range(3)]
    assert {update.state for update in told} == {"waiting"}
    first.close()
    assert list(second)[-1].state == "done"


def test_runs_that_share_the_device_say_so(runner: Runner) -> None:
    first = runner.updates("one", "explore", {"": request()})
    second = runner.updates("two", "explore", {"": request()})
    alone = next(update for update in first if update.runs)
    assert alone.message == ""
    shared = next(update for update in second if update.runs)
    assert shared.message == "The device is shared: 1 other run takes turns with this one, pass by pass."
    assert list(first)[-1].message.startswith("Done")
    assert list(second)[-1].message.startswith("Done")


def test_a_run_that_breaks_ends_in_words(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **more: Any) -> Iterator[Any]:
        raise RuntimeError("out of\n memory")

    monkeypatch.setattr("blockviz.sampling.run.stream", broken)
    last = updates(runner, only=request())[-1]
    assert (last.state, last.message) == ("error", "The run broke off: out of memory")


def test_answers_are_numbered_and_carry_the_errors() -> None:
    first, second = (json.loads(refusal(FormError("seed", "no")).status()) for _ in range(2))
    assert first["errors"] == [{"field": "seed", "message": "no"}]
    assert first["n"] != second["n"]


def test_warming_up_survives_a_broken_model(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "math-masked").mkdir()
    (tmp_path / "math-masked" / "model.safetensors").write_bytes(b"")
    Runner(tmp_path, "cpu").warm_up()
    assert "math-masked was not loaded" in capsys.readouterr().err
    warm = Runner(folder, "cpu")
    warm.warm_up()
    assert warm.shelf.holds("math-masked")
    assert warm.shelf.holds("math-uniform")


def test_attention_that_the_page_could_not_hold_is_refused_at_its_field(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = from_preset("arpc", steps=2, record_attention="mean")
    assert updates(runner, only=request(settings=kept))[-1].state == "done"
    monkeypatch.setattr(runner_module, "MOST_ATTENTION", 100)
    (last,) = updates(runner, only=request(settings=kept))
    assert last.state == "error"
    assert last.errors[0][0] == "record_attention"
    assert "average of the heads" in last.errors[0][1]
    assert updates(runner, a=request(settings=kept))[-1].errors[0][0] == "a.record_attention"
    assert updates(runner, only=request(settings=from_preset("arpc", steps=2)))[-1].state == "done"
