"""Markdown tables: every figure at its place, every setting described."""

from __future__ import annotations

from typing import Any

from blockviz.evaluation.tables import accuracy_markdown, settings_markdown
from blockviz.sampling.settings import FIELDS


def row(preset: str, steps: int | None, temperature: float, accuracy: float) -> dict[str, Any]:
    figures = {"accuracy": accuracy, "low": accuracy - 0.02, "high": accuracy + 0.01, "nfe_per_problem": 31.4}
    return {"preset": preset, "steps": steps, "temperature": temperature, **figures}


def test_accuracy_table() -> None:
    table = {
        "model": "math-masked",
        "process": "masked",
        "problems": 500,
        "block_size": 16,
        "rows": [
            row("ar", None, 0.0, 0.985),
            row("arpc", 8, 0.1, 0.9),
            row("ancestral", 8, 0.1, 0.2),
            row("ancestral", 1, 0.1, 0.1),
            row("arpc", 8, 1.0, 0.8),
        ],
    }
    text = accuracy_markdown(table)
    assert "500 held-out problems, block size 16" in text
    assert "Left to right, temperature 0: 98.5 [96.5, 99.5] (31)." in text
    hot, cold = text.split("| T = ")[1:]
    assert hot.splitlines() == [
        "1 | 1 step | 8 steps |",
        "| --- | --- | --- |",
        "| AR-informed corrector (ARPC) | – | 80.0 [78.0, 81.0] (31) |",
        "",
    ]
    assert cold.splitlines() == [
        "0.1 | 1 step | 8 steps |",
        "| --- | --- | --- |",
        "| Ancestral | 10.0 [8.0, 11.0] (31) | 20.0 [18.0, 21.0] (31) |",
        "| AR-informed corrector (ARPC) | – | 90.0 [88.0, 91.0] (31) |",
    ]


def test_settings_table_has_a_row_for_every_field() -> None:
    lines = settings_markdown().splitlines()
    assert len(lines) == 2 + len(FIELDS)
    for line, field in zip(lines[2:], FIELDS.values(), strict=True):
        assert line.startswith(f"| `{field.name}` | {field.allowed}")
        assert field.help in line
        assert line.count("|") == 5
