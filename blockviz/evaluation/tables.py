"""Tables in Markdown: the figures of a model card, the fields of the settings. Plain data in, text out; no torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from blockviz.sampling.settings import FIELDS, PRESETS


def accuracy_markdown(table: Mapping[str, Any]) -> str:
    """The figures of `evaluation.sweep` as Markdown: one table per temperature, accuracy in percent with its interval.

    An entry that was not measured is shown as a dash.
    """
    rows: Sequence[Mapping[str, Any]] = table["rows"]
    lines = [
        f"`{table['model']}` ({table['process']} noise), {table['problems']} held-out problems, block size "
        f"{table['block_size']}. Final answers right, in percent, with 95% Wilson intervals; in parentheses network "
        "calls (NFE) per problem, counted.",
        "",
    ]
    left_to_right = [row for row in rows if row["steps"] is None]
    lines += [f"Left to right, temperature {row['temperature']:g}: {_cell(row)}." for row in left_to_right]
    blocks = [row for row in rows if row["steps"] is not None]
    steps = sorted({row["steps"] for row in blocks})
    for temperature in sorted({row["temperature"] for row in blocks}, reverse=True):
        by_key = {(row["preset"], row["steps"]): row for row in blocks if row["temperature"] == temperature}
        body = [
            [PRESETS[name].label, *(_cell(by_key.get((name, count))) for count in steps)]
            for name in PRESETS
            if any(key[0] == name for key in by_key)
        ]
        header = [f"T = {temperature:g}", *(f"{count} step" + "s" * (count > 1) for count in steps)]
        lines += ["", *_table(header, body)]
    return "\n".join(lines) + "\n"


def settings_markdown() -> str:
    """Every setting with its values, default and help, for the README."""
    body = [
        [
            f"`{field.name}`",
            field.allowed,
            "the model's" if field.default is None else f"`{field.default}`",
            field.help,
        ]
        for field in FIELDS.values()
    ]
    return "\n".join(_table(["setting", "values", "default", "meaning"], body)) + "\n"


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "–"
    low, high = 100 * row["low"], 100 * row["high"]
    return f"{100 * row['accuracy']:.1f} [{low:.1f}, {high:.1f}] ({row['nfe_per_problem']:.0f})"


def _table(header: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    rows = [header, ["---"] * len(header), *body]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
