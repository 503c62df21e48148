"""Figures that chapters cite: the tables beside the bundled checkpoints, and results of papers.

They are read from files when a chapter is opened; none is typed into a text.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from blockviz.ui.examples import EXAMPLES
from blockviz.views.bundle import ASSETS

CHECKPOINTS = ASSETS.parent / "checkpoints"
PAPERS = ASSETS / "learn" / "papers.json"

SOURCES: dict[str, str] = {
    "blockgen": "BlockGen, arXiv 2606.02241",
    "bd3lm": "BD3-LM, arXiv 2503.09573",
    "accuracy": "Measured here: accuracy.json of the bundled checkpoints, {problems} held-out problems, block size "
    "{block_size}, temperature {temperature}.",
    "quality": "Measured here: quality.json of stories-masked, its sampled texts read by stories-ar, "
    "temperature {temperature}.",
    "bounds": "Measured here: likelihood table in the README of math-masked, held-out problems.",
    "seeds": "Measured here: every seed that assets/examples/make.py tried for these runs (lessons.json).",
    "run": "Counted in the run on this page.",
}
"""What a chapter rests on, by the names in `Chapter.sources`."""

TEMPERATURE = 1.0
"""The temperature whose rows are cited; AR is cited at 0, where it was measured."""


class FiguresMissing(LookupError):
    """A measured figure that is not there: no such checkpoint, table or row."""


@cache
def accuracy(model: str) -> dict[str, Any]:
    """The accuracy table of a bundled checkpoint, read once; raises FiguresMissing."""
    return read_accuracy(model, CHECKPOINTS)


def read_accuracy(model: str, folder: Path) -> dict[str, Any]:
    """The accuracy table of a checkpoint in `folder`; raises FiguresMissing."""
    try:
        table = json.loads((folder / model / "accuracy.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise FiguresMissing(model) from None
    if not isinstance(table, dict) or not isinstance(table.get("rows"), list):
        raise FiguresMissing(model)
    return table


def row(model: str, preset: str, steps: int | None = None) -> dict[str, Any]:
    """The row of a sampler in a checkpoint's accuracy table; raises FiguresMissing."""
    temperature = 0.0 if preset == "ar" else TEMPERATURE
    for entry in accuracy(model)["rows"]:
        if (entry["preset"], entry["steps"], entry["temperature"]) == (preset, steps, temperature):
            return entry
    raise FiguresMissing(f"{model} {preset} {steps}")


def percent(model: str, preset: str, steps: int | None = None) -> str:
    """Right final answers in percent."""
    return f"{100 * row(model, preset, steps)['accuracy']:.0f}%"


def mean_calls(model: str, preset: str, steps: int | None = None) -> str:
    """Network calls per problem, on average."""
    return f"{row(model, preset, steps)['nfe_per_problem']:.0f}"


def problems(model: str) -> str:
    """The number of held-out problems of the table."""
    return str(accuracy(model)["problems"])


def likelihood(model: str) -> dict[str, str]:
    """Nats per token by block size ("B = 16"), from the table in the model's README; raises FiguresMissing."""
    try:
        lines = (CHECKPOINTS / model / "README.md").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        raise FiguresMissing(model) from None
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| B = ")
    ]
    if not rows:
        raise FiguresMissing(model)
    return {size: nats.partition(" ")[0] for size, nats, *_ in rows}


def quality(model: str) -> dict[str, Any]:
    """What was measured of a story model's texts; raises FiguresMissing."""
    try:
        table = json.loads((CHECKPOINTS / model / "quality.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise FiguresMissing(model) from None
    if not isinstance(table, dict) or not isinstance(table.get("rows"), list):
        raise FiguresMissing(model)
    return table


def nll(model: str, preset: str, steps: int | None = None) -> str:
    """What a judge finds of a sampler's texts, in nats per token, from quality.json; raises FiguresMissing."""
    rows = quality(model)["rows"]
    asked = (preset, steps, TEMPERATURE)
    found = [
        row["nll"]["value"] for row in rows if (row["preset"], row["steps"], row["temperature"]) == asked
    ]
    if not found:
        raise FiguresMissing(f"{model} {preset} {steps}")
    return f"{found[0]:.2f}"


@cache
def _lessons() -> dict[str, Any]:
    try:
        listed = json.loads((EXAMPLES / "lessons.json").read_text(encoding="utf-8"))["entries"]
        return {run: entry["chosen"] for entry in listed for run in entry["runs"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def seeds(run: str) -> tuple[int, int]:
    """Of how many seeds tried for a recorded run, how many end right; raises FiguresMissing."""
    chosen = _lessons().get(run, {})
    if run not in chosen.get("right", {}):
        raise FiguresMissing(run)
    return chosen["seeds_tried"], chosen["right"][run]


@cache
def paper(name: str) -> dict[str, str]:
    """Results of a paper by name, as its tables print them."""
    return json.loads(PAPERS.read_text(encoding="utf-8"))[name]["results"]


def source(name: str) -> str:
    """The line that names a source under a chapter; raises FiguresMissing where its file is not there."""
    if name == "seeds" and not _lessons():
        raise FiguresMissing(name)
    if name != "accuracy":
        if name == "bounds":
            likelihood("math-masked")
        if name == "quality":
            nll("stories-masked", "ar")
            return SOURCES[name].format(temperature=f"{TEMPERATURE:g}")
        return SOURCES[name]
    table = accuracy("math-masked")
    return SOURCES[name].format(
        problems=table["problems"], block_size=table["block_size"], temperature=f"{TEMPERATURE:g}"
    )
