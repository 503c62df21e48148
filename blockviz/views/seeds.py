"""Many runs of each configuration: how a figure is spread over the seeds, a row of dots a run, or a bar of rights.

Takes plain numbers (they are no single trace). `assets/views_seeds.js` is the twin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from blockviz.views.layout import Figure, alone, axis, layout
from blockviz.views.numbers import fixed
from blockviz.views.palette import PALETTES, THEMES, Theme
from blockviz.views.progress import COLORS, LABELS, legend

Chart = Literal["right", "nll", "entropy", "nfe"]
CHARTS: tuple[Chart, ...] = get_args(Chart)
HEIGHT = 196
LEGEND = 26
SPREAD = 0.6
"""How far the dots of a row are spread, as a share of the distance of rows."""
GOLDEN = 0.6180339887498949
SYMBOLS = ("circle", "square", "triangle-up", "diamond")
"""Dots of the runs, so that they are told apart without colour."""
TITLES: dict[Chart, str] = {
    "right": "Right answers",
    "nll": "AR −log p per token",
    "entropy": "Token entropy",
    "nfe": "Network calls",
}
HELPS: dict[Chart, str] = {
    "right": "Share of the seeds, with its 95% Wilson interval.",
    "nll": "One left-to-right reading of each text; a dot a seed, the bar is the mean.",
    "entropy": "Of how often each token occurs in a text; low where it repeats itself.",
    "nfe": "Denoise and verify calls of each run.",
}
AXES: dict[Chart, str] = {"right": "% of the seeds", "nll": "nats", "entropy": "nats", "nfe": "calls a run"}
DIGITS: dict[Chart, int] = {"right": 0, "nll": 3, "entropy": 2, "nfe": 0}
WORDS: dict[str, str] = {
    "point": "{label} · seed {seed}<br>{value} {unit}",
    "bar": "{label}: {right} of {count} right<br>95% interval {low} to {high} %",
}


def offset(index: int) -> float:
    """Where the dot of the index-th seed lies within its row, from -SPREAD / 2 to SPREAD / 2."""
    return ((index * GOLDEN) % 1 - 0.5) * SPREAD


def template(chart: Chart, theme: Theme) -> Figure:
    """The figure without data: a bar trace of rights, or dots for each of up to four runs and a tick for each mean."""
    palette = PALETTES[theme]
    if chart == "right":
        error = {
            "type": "data",
            "symmetric": False,
            "array": [],
            "arrayminus": [],
            "color": palette.ink,
            "width": 5,
        }
        data: list[dict[str, Any]] = [
            {
                "type": "bar",
                "orientation": "h",
                "x": [],
                "y": [],
                "width": 0.55,
                "marker": {"color": list(COLORS[theme])},
                "error_x": error,
            }
        ]
    else:
        dot: dict[str, Any] = {"type": "scatter", "mode": "markers", "x": [], "y": []}
        data = [
            {
                **dot,
                "name": label,
                "marker": {"color": COLORS[theme][i], "symbol": SYMBOLS[i], "size": 7, "opacity": 0.6},
            }
            for i, label in enumerate(LABELS)
        ]
        mean = {"symbol": "line-ns-open", "size": 26, "color": palette.ink, "line": {"width": 2.5}}
        data.append({**dot, "name": "mean", "marker": mean})
    across: dict[str, Any] = {"range": [0, 103]} if chart == "right" else {"autorange": True}
    return {
        "data": data,
        "layout": layout(
            palette,
            (30, 14, 8, 36),
            height=HEIGHT,
            xaxis=axis(palette, AXES[chart], showgrid=True, gridcolor=palette.line, nticks=5, **across),
            yaxis=axis(palette, "", range=[1.5, -0.5], tickvals=[], ticktext=[], ticks=""),
        ),
    }


def templates() -> dict[str, dict[str, Any]]:
    """The charts as JSON values for the browser."""
    return {
        chart: {
            "title": TITLES[chart],
            "help": HELPS[chart],
            **{theme: template(chart, theme) for theme in THEMES},
            "legend": {theme: legend(theme) for theme in THEMES},
            "height": HEIGHT + LEGEND,
            "words": {**WORDS, "unit": AXES[chart]},
            "digits": DIGITS[chart],
            "spread": SPREAD,
            "golden": GOLDEN,
        }
        for chart in CHARTS
    }


def figure(
    values: Sequence[Sequence[float]],
    chart: Chart = "nll",
    theme: Theme = "light",
    *,
    seeds: Sequence[int] | None = None,
    intervals: Sequence[tuple[float, float]] = (),
) -> Figure:
    """One chart as a Plotly figure: `values` of every seed for each of one to four runs (1 and 0 for rights).

    `seeds` name the columns (default 0, 1, ...); `intervals` are the ends of the share of rights of each run, 0 to 1.
    Raises ValueError for another number of runs.
    """
    if not 1 <= len(values) <= len(LABELS):
        raise ValueError(f"1 to {len(LABELS)} runs can be drawn, not {len(values)}")
    view = template(chart, theme)
    frame, rows = view["layout"], list(range(len(values)))
    frame["yaxis"] |= {
        "range": [len(values) - 0.5, -0.5],
        "tickvals": rows,
        "ticktext": list(LABELS[: len(values)]),
    }
    known = list(range(len(values[0]))) if seeds is None else list(seeds)
    if chart == "right":
        shares = [100 * sum(row) / len(row) for row in values]
        bars = view["data"][0]
        bars |= {"x": shares, "y": rows}
        bars["marker"]["color"] = bars["marker"]["color"][: len(values)]
        if intervals:
            bars["error_x"]["array"] = [
                100 * high - share for (_, high), share in zip(intervals, shares, strict=True)
            ]
            bars["error_x"]["arrayminus"] = [
                share - 100 * low for (low, _), share in zip(intervals, shares, strict=True)
            ]
    else:
        means = view["data"][-1]
        view["data"] = [*view["data"][: len(values)], means]
        for row, (label, drawn) in enumerate(zip(LABELS, view["data"][:-1], strict=False)):
            drawn |= {
                "x": list(values[row]),
                "y": [row + offset(i) for i in range(len(values[row]))],
                "text": [
                    WORDS["point"].format(
                        label=label, seed=seed, value=fixed(value, DIGITS[chart]), unit=AXES[chart]
                    )
                    for seed, value in zip(known, values[row], strict=True)
                ],
                "hovertemplate": "%{text}<extra></extra>",
            }
        means |= {"x": [sum(row) / len(row) for row in values], "y": rows}
    return alone(view, TITLES[chart], HELPS[chart], PALETTES[theme])
