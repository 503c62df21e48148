"""The model card's table: its entries, resuming, refusal of figures that do not belong together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blockviz.evaluation.accuracy import EvaluationError
from blockviz.evaluation.sweep import Cell, cells, sweep
from tests.evaluation.math_models import math_model

ENTRIES = (Cell("ar", None, 0.0), Cell("ancestral", 1, 1.0), Cell("arpc", 2, 0.1))


def run(path: Path, **changes: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"problems": 2, "entries": ENTRIES, "batch_size": 2, "block_size": 32}
    return sweep(math_model("masked"), path, **{**options, **changes})


def test_the_table_has_every_sampler_at_every_number_of_steps() -> None:
    table = cells()
    assert table[0] == Cell("ar", None, 0.0)
    assert len(table) == len(set(table)) == 1 + 4 * 5 * 2
    assert {(cell.preset, cell.steps, cell.temperature) for cell in table[1:]} == {
        (preset, steps, temperature)
        for preset in ("ancestral", "random", "eipc", "arpc")
        for steps in (1, 2, 4, 8, 16)
        for temperature in (1.0, 0.1)
    }
    settings = Cell("arpc", 8, 0.1).settings(16, 3)
    assert (settings.corrector, settings.steps, settings.temperature) == ("ar_nll", 8, 0.1)
    assert (settings.block_size, settings.seed) == (16, 3)


def test_a_table_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    measured: list[Cell] = []

    def watch(stop_after: int):  # type: ignore[no-untyped-def]
        def start(cell: Cell, index: int, count: int):  # type: ignore[no-untyped-def]
            if len(measured) == stop_after:
                raise KeyboardInterrupt
            measured.append(cell)
            assert (cell, count) == (ENTRIES[index], 3)
            return lambda done: None

        return start

    with pytest.raises(KeyboardInterrupt):
        run(path, progress=watch(2))
    assert [row["preset"] for row in json.loads(path.read_text())["rows"]] == ["ar", "ancestral"]
    table = run(path, progress=watch(9))
    assert measured == list(ENTRIES)
    assert json.loads(path.read_text()) == table
    assert [(row["preset"], row["steps"], row["temperature"]) for row in table["rows"]] == [
        ("ar", None, 0.0),
        ("ancestral", 1, 1.0),
        ("arpc", 2, 0.1),
    ]
    assert run(path, progress=watch(3)) == table  # nothing is left to measure
    assert [entry.name for entry in tmp_path.iterdir()] == ["table.json"]


def test_figures_of_something_else_are_not_mixed_in(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    run(path, entries=ENTRIES[1:2])
    for change in ({"problems": 3}, {"seed": 1}, {"block_size": 16}, {"problem_seed": 1}):
        with pytest.raises(EvaluationError, match="name another file"):
            run(path, **change)
    with pytest.raises(EvaluationError, match="holds figures for "):
        sweep(math_model("uniform"), path, problems=2, block_size=32)


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", '{"format": 1}', "\ud800"])
def test_a_foreign_file_is_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "table.json"
    data = content.encode("utf-8", "surrogatepass")
    path.write_bytes(data)
    with pytest.raises(EvaluationError, match="is not a table of this command"):
        run(path)
    assert path.read_bytes() == data
