"""The table of a model card: every sampler at every number of steps, resumable."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from blockviz.base.writing import complete, file_to_write
from blockviz.evaluation.accuracy import (
    BATCH_SIZE,
    PROBLEM_SEED,
    PROBLEMS,
    EvaluationError,
    Progress,
    evaluate,
    held_out,
)
from blockviz.models.checkpoint import Model
from blockviz.sampling.settings import SamplerSettings, from_preset

SAMPLERS = ("ancestral", "random", "eipc", "arpc")
STEPS = (1, 2, 4, 8, 16)
TEMPERATURES = (1.0, 0.1)
BLOCK_SIZE = 16
FORMAT = 1


@dataclass(frozen=True)
class Cell:
    """One entry of the table: a preset with its steps per block (None for AR) and temperature."""

    preset: str
    steps: int | None
    temperature: float

    def settings(self, block_size: int, seed: int) -> SamplerSettings:
        """The settings the entry is measured with."""
        free = {} if self.steps is None else {"steps": self.steps, "block_size": block_size}
        return from_preset(self.preset, temperature=self.temperature, seed=seed, **free)


def cells(
    samplers: Sequence[str] = SAMPLERS,
    steps: Sequence[int] = STEPS,
    temperatures: Sequence[float] = TEMPERATURES,
) -> list[Cell]:
    """AR greedy, then every combination, the cheap ones first, so that an interrupted table is of use."""
    blocks = [Cell(preset, n, t) for n in sorted(steps) for t in temperatures for preset in samplers]
    return [Cell("ar", None, 0.0), *blocks]


def sweep(
    model: Model,
    path: Path,
    *,
    problems: int = PROBLEMS,
    problem_seed: int = PROBLEM_SEED,
    seed: int = 0,
    block_size: int = BLOCK_SIZE,
    batch_size: int = BATCH_SIZE,
    entries: Sequence[Cell] | None = None,
    progress: Callable[[Cell, int, int], Progress] | None = None,
) -> dict[str, Any]:
    """Measure every entry that the file `path` does not hold yet, writing it after each, and return its content.

    `progress(cell, index, count)` gives the progress function of an entry. Raises EvaluationError when the file belongs
    to other weights or another setting, since its rows could not stand beside the new ones, and TargetError where no
    regular file can stand.
    """
    file_to_write(path)
    entries = cells() if entries is None else entries
    head = {
        "format": FORMAT,
        "model": model.name,
        "hash": model.content_hash,
        "process": model.info.process,
        "problems": problems,
        "problem_seed": problem_seed,
        "seed": seed,
        "block_size": block_size,
    }
    table = _open(path, head)
    done = {(row["preset"], row["steps"], row["temperature"]) for row in table["rows"]}
    tasks = held_out(problems, problem_seed)
    for index, cell in enumerate(entries):
        if (cell.preset, cell.steps, cell.temperature) in done:
            continue
        result = evaluate(
            model,
            cell.settings(block_size, seed),
            tasks,
            batch_size=batch_size,
            progress=progress(cell, index, len(entries)) if progress else None,
        )
        table["rows"].append({**asdict(cell), **asdict(result)})
        _write(path, table)
    return table


def _open(path: Path, head: dict[str, Any]) -> dict[str, Any]:
    if not path.exists():
        return {**head, "rows": []}
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        for name, value in head.items():
            if table[name] != value:
                raise EvaluationError(
                    f"{path} holds figures for {name} {table[name]}, not {value}: name another file, or remove it."
                )
        if not isinstance(table["rows"], list):
            raise TypeError
    except (KeyError, TypeError, UnicodeDecodeError, json.JSONDecodeError):
        raise EvaluationError(f"{path} is not a table of this command: name another file.") from None
    return table


def _write(path: Path, table: dict[str, Any]) -> None:
    with complete(path) as part:
        part.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
