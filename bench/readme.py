"""The generated parts of the README: settings, models and benchmark, each between its two markers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.results import RESULTS, ROOT
from blockviz.evaluation.tables import settings_markdown
from blockviz.models.checkpoint import CHECKPOINTS, ModelCard, list_models

README = ROOT / "README.md"
ACCURACY, QUALITY = "accuracy.json", "quality.json"
Cell = tuple[str | None, int | None, float | None]
"""Preset, steps per block, temperature; none of them for the held-out texts themselves."""
Column = tuple[str, str | None, int | None, float | None]
"""Its heading before them."""
# What the README says of each model's accuracy, and of its texts.
COLUMNS: tuple[Column, ...] = (
    ("AR, greedy", "ar", None, 0.0),
    ("ancestral, 16 steps", "ancestral", 16, 1.0),
    ("ARPC, 8 steps", "arpc", 8, 1.0),
    ("ARPC, 16 steps", "arpc", 16, 1.0),
)
STORY_COLUMNS: tuple[Column, ...] = (
    ("held-out texts", None, None, None),
    ("AR", "ar", None, 1.0),
    ("ancestral, 16 steps", "ancestral", 16, 1.0),
    ("ARPC, 4 steps", "arpc", 4, 1.0),
    ("ARPC, 16 steps", "arpc", 16, 1.0),
    ("ARPC, 16 steps, T = 0.8", "arpc", 16, 0.8),
)


def fill(text: str, name: str, content: str) -> str:
    """`text` with `content` between its markers `name`:begin and `name`:end; raises ValueError without them."""
    pattern = re.compile(rf"(<!-- {name}:begin[^>]*-->\n).*?(<!-- {name}:end -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"README.md has no place for {name!r}")
    return pattern.sub(lambda found: found[1] + content + found[2], text)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; a bar inside a cell is escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def bench_markdown(path: Path = RESULTS) -> str:
    """The last results as a table under the name of the machine they were measured on."""
    if not path.exists():
        return "Not measured yet.\n"
    entries: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    machines = "; ".join(dict.fromkeys(entry["machine"] for entry in entries))
    rows = [
        (
            entry["name"],
            f"{entry['value']:.3g} {entry['unit']}",
            entry["target"],
            "yes" if entry["met"] else "**no**",
            entry["how"],
        )
        for entry in entries
    ]
    return f"Machine: {machines}.\n\n" + table(("what", "value", "target", "met", "how measured"), rows)


def models_markdown(folder: Path = CHECKPOINTS) -> str:
    """A table for each task, one row per checkpoint, with the figures beside the weights and their 95% intervals."""
    cards = [card for card in list_models(folder) if card.error is None]
    if not cards:
        return "None yet.\n"
    parts = []
    solving = [card for card in cards if card.task != "stories"]
    if solving:
        note = "Word problems: right final answers on held-out problems in percent, with 95% intervals"
        rows = [_row(card, _accuracy(folder / card.name / ACCURACY), COLUMNS) for card in solving]
        parts.append(f"{note}; block size 16, temperature 1.\n\n" + table(_header(COLUMNS), rows))
    # A model for block size 1 alone is the judge of the others.
    telling = [card for card in cards if card.task == "stories" and card.block_sizes != (1,)]
    if telling:
        judge = "[`stories-ar`](checkpoints/stories-ar/README.md), trained apart,"
        note = f"Stories: what {judge} finds of sampled texts in nats per token, with 95% intervals"
        rows = [_row(card, _nll(folder / card.name / QUALITY), STORY_COLUMNS) for card in telling]
        parts.append(f"{note}; block size 16, temperature T = 1.\n\n" + table(_header(STORY_COLUMNS), rows))
    return "\n".join(parts)


def _header(columns: Sequence[Column]) -> tuple[str, ...]:
    return ("model", "process", "parameters", "positions", *(column[0] for column in columns))


def _row(card: ModelCard, measured: Mapping[Cell, str], columns: Sequence[Column]) -> tuple[str, ...]:
    return (
        f"[`{card.name}`](checkpoints/{card.name}/README.md)",
        card.process or "",
        f"{(card.parameters or 0) / 1e6:.1f} M",
        f"{card.length}",
        *(measured.get(column[1:], "–") for column in columns),
    )


def _nll(path: Path) -> dict[Cell, str]:
    if not path.exists():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    figures = {(row["preset"], row["steps"], row["temperature"]): row["nll"] for row in rows}
    return {
        cell: f"{one['value']:.2f} [{one['low']:.2f}, {one['high']:.2f}]" for cell, one in figures.items()
    }


def _accuracy(path: Path) -> dict[Cell, str]:
    if not path.exists():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return {
        (row["preset"], row["steps"], row["temperature"]): (
            f"{100 * row['accuracy']:.1f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"
        )
        for row in rows
    }


def update(path: Path = README) -> None:
    """Write all generated parts into the README."""
    text = path.read_text(encoding="utf-8")
    parts = {"settings": settings_markdown(), "models": models_markdown(), "bench": bench_markdown()}
    for name, content in parts.items():
        text = fill(text, name, content)
    path.write_text(text, encoding="utf-8")
