"""What samplers cost, as a chart and as a table with the guidance that follows, from `evaluation.cost.report`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockviz.sampling.settings import PRESETS, parse, preset_of
from blockviz.views.layout import Figure, alone, axis, escape, layout
from blockviz.views.palette import PALETTES, Theme

TITLE = "What it costs"
HEIGHT = 340
"""Pixels of the chart on the page, its key included."""
HELP = "Measured on {device} with {model}, medians of {rounds} rounds in which the samplers take turns."
GRID_HELP = (
    "Time per token against left to right (1 is AR's), measured on {device} with {model}, medians of {rounds} rounds. "
    "Below the line, blocks are faster."
)
NAMES: dict[str, str] = {
    "asked": "this sampler",
    "canvas": "the whole canvas at once",
    "ar": "left to right (AR)",
}
COLUMNS = (
    "sampler",
    "tokens",
    "network calls",
    "tokens per call",
    "queries",
    "query-key pairs",
    "ms",
    "ms per token",
    "time, AR = 1",
)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")


def _costs(report: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {cost["name"]: cost for cost in report["costs"]}


def rows(report: Mapping[str, Any]) -> list[list[str]]:
    """The table under COLUMNS: one row per sampler."""
    found = _costs(report)
    base = found.get("ar")
    table = []
    for name, cost in found.items():
        per_token = cost["milliseconds"] / cost["tokens"]
        against = "" if base is None else f"{per_token / (base['milliseconds'] / base['tokens']):.2f}"
        calls = str(cost["calls"]) + (f" ({cost['verify']} verify)" if cost["verify"] else "")
        table.append(
            [
                sampler_name(name, cost),
                str(cost["tokens"]),
                calls,
                f"{cost['tokens'] / cost['calls']:.2f}",
                f"{cost['queries']:,}",
                f"{cost['pairs']:,}",
                f"{cost['milliseconds']:.1f}",
                f"{per_token:.2f}",
                against,
            ]
        )
    return table


def sampler_name(name: str, cost: Mapping[str, Any]) -> str:
    """The sampler of a row in words."""
    settings = parse(cost["settings"])
    if "/" in name:
        size, steps = name.split("/")
        return f"blocks of {size}, {steps} step" + ("" if steps == "1" else "s")
    words = NAMES[name]
    if name == "asked":
        preset = preset_of(settings)
        label = "own settings" if preset is None else PRESETS[preset].label
        words = f"{words}: {label}"
    return words


def says(report: Mapping[str, Any]) -> str:
    """One sentence: what was measured, on what."""
    words = GRID_HELP if by_block(report) else HELP
    return words.format(device=report["device"], model=report["model"], rounds=report["rounds"])


def figure(report: Mapping[str, Any], theme: Theme = "light", *, framed: bool = True) -> Figure:
    """The chart of a report: four groups of bars against AR, or for a grid time per token by steps and block size.

    Unless `framed` it has no title: the page has its own words around it.
    """
    view = _grid(report, theme) if by_block(report) else _bars(report, theme)
    if not framed:
        return view
    titled = alone(view, TITLE, escape(says(report)), PALETTES[theme])
    frame = titled["layout"]
    frame["margin"] |= {"b": frame["margin"]["b"] + 24, "t": frame["margin"]["t"] + 20}
    frame["title"] |= {"y": 1, "yref": "container", "pad": {"t": 20}}
    return titled


def template(theme: Theme) -> Figure:
    """The figure before anything is measured."""
    return {"data": [], "layout": layout(PALETTES[theme], (52, 12, 16, 84), height=HEIGHT)}


def _bars(report: Mapping[str, Any], theme: Theme) -> Figure:
    palette = PALETTES[theme]
    found = _costs(report)
    base = found.get("ar") or next(iter(found.values()))
    measures = (
        ("network calls", "calls"),
        ("queries", "queries"),
        ("query-key pairs", "pairs"),
        ("time", "milliseconds"),
    )
    colors = {"asked": palette.accent, "canvas": palette.renoise, "ar": palette.muted}
    patterns = {"asked": "", "canvas": "/", "ar": "."}
    data = [
        {
            "type": "bar",
            "name": sampler_name(name, cost),
            "x": [label for label, _ in measures],
            "y": [cost[key] / base[key] for _, key in measures],
            "text": [_short(cost[key], key) for _, key in measures],
            "textposition": "outside",
            "cliponaxis": False,
            "marker": {
                "color": colors[name],
                "pattern": {
                    "shape": patterns[name],
                    "fillmode": "overlay",
                    "fgcolor": palette.card,
                    "fgopacity": 0.8,
                    "size": 6,
                    "solidity": 0.25,
                },
            },
            "hovertext": [
                f"{label}: {_short(cost[key], key)}, {cost[key] / base[key]:.2f} times AR's"
                for label, key in measures
            ],
            "hovertemplate": "%{hovertext}<extra></extra>",
        }
        for name, cost in found.items()
    ]
    frame = layout(
        palette,
        (52, 12, 16, 84),
        height=HEIGHT,
        barmode="group",
        bargap=0.3,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": -0.2, "font": {"size": 11, "color": palette.ink}},
        xaxis=axis(palette, "", ticks=""),
        yaxis=axis(
            palette,
            "times as much as left to right",
            type="log",
            dtick=1,
            showgrid=True,
            gridcolor=palette.line,
        ),
        shapes=[_at_one(palette.ink)],
    )
    return {"data": data, "layout": frame}


def _grid(report: Mapping[str, Any], theme: Theme) -> Figure:
    palette = PALETTES[theme]
    colors = (palette.accent, palette.checked, palette.renoise, palette.prompt, palette.muted)
    data = []
    for number, (size, cells) in enumerate(by_block(report).items()):
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": f"blocks of {size}",
                "x": [steps for steps, _ in cells],
                "y": [ratio for _, ratio in cells],
                "line": {"color": colors[number % 5], "width": 2, "dash": DASHES[number % 5]},
                "marker": {"color": colors[number % 5], "size": 8, "symbol": SYMBOLS[number % 5]},
                "hovertext": [_steps(size, steps, ratio) for steps, ratio in cells],
                "hovertemplate": "%{hovertext}<extra></extra>",
            }
        )
    counts = sorted({steps for cells in by_block(report).values() for steps, _ in cells})
    frame = layout(
        palette,
        (56, 12, 16, 84),
        height=HEIGHT,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": -0.24, "font": {"size": 11, "color": palette.ink}},
        xaxis=axis(
            palette, "steps per block", type="log", tickvals=counts, ticktext=[str(count) for count in counts]
        ),
        yaxis=axis(
            palette, "time per token, AR = 1", type="log", dtick=1, showgrid=True, gridcolor=palette.line
        ),
        shapes=[_at_one(palette.ink)],
    )
    return {"data": data, "layout": frame}


def by_block(report: Mapping[str, Any]) -> dict[int, list[tuple[int, float]]]:
    """Of a grid: block size -> (steps, time per token in units of AR's), in order."""
    found = _costs(report)
    if not any("/" in name for name in found):
        return {}
    base = found["ar"]["milliseconds"] / found["ar"]["tokens"]
    table: dict[int, list[tuple[int, float]]] = {}
    for name, cost in found.items():
        if "/" in name:
            size, steps = (int(part) for part in name.split("/"))
            table.setdefault(size, []).append((steps, cost["milliseconds"] / cost["tokens"] / base))
    return {size: sorted(cells) for size, cells in sorted(table.items())}


def guidance(report: Mapping[str, Any]) -> list[str]:
    """What follows from a grid for block size and steps, one sentence per block size; from its measurements alone."""
    lines = []
    for size, cells in by_block(report).items():
        faster = [cell for cell in cells if cell[1] < 1]
        slower = [cell for cell in cells if cell[1] >= 1]
        parts = []
        if faster:
            parts.append(f"{_steps(size, *faster[-1])}, still less than AR")
        if slower:
            parts.append(f"{_steps(size, *slower[0])}, more than AR")
        lines.append(f"Blocks of {size}: {'; '.join(parts)}.")
    return lines


def _steps(size: int, steps: int, ratio: float) -> str:
    named = "1 step" if steps == 1 else f"{steps} steps"
    per_pass = "1 token" if size == steps else f"{size / steps:g} tokens"
    return f"{named} ({per_pass} per pass) take {ratio:.2f} times AR's time"


def markdown(report: Mapping[str, Any]) -> str:
    """The table and, for a grid, the guidance, as Markdown."""
    head = ["| " + " | ".join(COLUMNS) + " |", "| " + " | ".join("---" for _ in COLUMNS) + " |"]
    body = ["| " + " | ".join(row) + " |" for row in rows(report)]
    more = (
        ["", *(f"- {line}" for line in guidance(report))]
        if "ar" in _costs(report) and by_block(report)
        else []
    )
    help_text = HELP.format(device=report["device"], model=report["model"], rounds=report["rounds"])
    return "\n".join([help_text, "", *head, *body, *more]) + "\n"


def _short(value: float, key: str) -> str:
    if key == "milliseconds":
        return f"{value:.0f} ms"
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= 10 * size:
            return f"{value / size:.0f}{unit}"
    return f"{value:,.0f}"


def _at_one(color: str) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "yref": "y",
        "x0": 0,
        "x1": 1,
        "y0": 1,
        "y1": 1,
        "line": {"color": color, "width": 1, "dash": "dot"},
    }
