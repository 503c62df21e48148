"""Several runs over their network calls: what is in place of the final text, how sure they are, how often they revise.

Three charts with shared axes; every run has a colour and a line style of its own. `assets/views_progress.js` and
`curves` in `assets/compare_facts.js` are the twins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from blockviz.sampling.passes import REASON_CODE, STATE_CODE
from blockviz.sampling.trace import Trace
from blockviz.views.comparison import DRAFTS, final_positions, revised
from blockviz.views.layout import Figure, alone, axis, layout
from blockviz.views.numbers import fixed
from blockviz.views.palette import PALETTES, THEMES, Theme

Chart = Literal["placed", "confidence", "revised"]
CHARTS: tuple[Chart, ...] = get_args(Chart)
LABELS = "ABCD"
HEIGHT = 230
LEGEND = 26
DASHES = ("solid", "dash", "dot", "dashdot")
"""Line styles of the runs, as Plotly names them, so that they are told apart without colour."""
COLORS: dict[Theme, tuple[str, ...]] = {
    "light": ("#1d2129", "#0072b2", "#a05a00", "#8a4fb0"),
    "dark": ("#e8eaee", "#56b4e9", "#e6a63c", "#c39bea"),
}
TITLES: dict[Chart, str] = {
    "placed": "Final tokens in place",
    "confidence": "Mean confidence",
    "revised": "Revisions",
}
HELPS: dict[Chart, str] = {
    "placed": "Share of the final text that stands already, in percent; it falls where tokens go back to noise.",
    "confidence": "Probability of the tokens in the active block by the latest prediction, averaged.",
    "revised": "How often a token has replaced another until then.",
}
AXES: dict[Chart, str] = {
    "placed": "% of the final text",
    "confidence": "probability",
    "revised": "tokens, in sum",
}
X_AXIS = "network calls (NFE)"
WORDS: dict[str, str] = {
    "placed": "{label} · pass {number} · {calls} NFE<br>{value} % of the final text in place",
    "confidence": "{label} · pass {number} · {calls} NFE<br>mean confidence {value}",
    "revised": "{label} · pass {number} · {calls} NFE<br>{value} tokens revised so far",
}
DIGITS: dict[Chart, int] = {"placed": 1, "confidence": 3, "revised": 0}

Curve = dict[str, list[float]]


def curves(trace: Trace) -> dict[Chart, Curve]:
    """x (network calls), y and k (pass) of each chart's line, a point for each pass that has a value."""
    calls = (trace.column("nfe_denoise") + trace.column("nfe_verify")).tolist()
    final = final_positions(trace)
    drafts = np.isin(trace.states[:, final], [STATE_CODE[name] for name in DRAFTS])
    there = (drafts & (trace.tokens[:, final] == trace.tokens[-1, final])).sum(axis=1)
    placed = [round(100 * int(n) / len(final), 3) if len(final) else 0.0 for n in there]
    sure: Curve = {"x": [], "y": [], "k": []}
    for k, entry in enumerate(trace.passes):
        known = entry.confidence[(entry.reasons != REASON_CODE["prompt"]) & ~np.isnan(entry.confidence)]
        if len(known):
            sure["x"].append(calls[k])
            sure["y"].append(round(float(known.astype(np.float64).mean()), 4))
            sure["k"].append(k)
    everything = list(range(len(calls)))
    return {
        "placed": {"x": calls, "y": placed, "k": list(everything)},
        "confidence": sure,
        "revised": {"x": calls, "y": revised(trace).tolist(), "k": list(everything)},
    }


def template(chart: Chart, theme: Theme) -> Figure:
    """The figure without data: a line for each of up to four runs."""
    palette = PALETTES[theme]
    grid = {"showgrid": True, "gridcolor": palette.line, "nticks": 5}
    ranges = {"placed": [-3, 103], "confidence": [0, 1.03], "revised": [0, 1]}
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines",
                "name": label,
                "x": [],
                "y": [],
                "line": {"color": COLORS[theme][i], "width": 2, "dash": DASHES[i]},
            }
            for i, label in enumerate(LABELS)
        ],
        "layout": layout(
            palette,
            (46, 12, 8, 36),
            height=HEIGHT,
            xaxis=axis(palette, X_AXIS, range=[0, 1]),
            yaxis=axis(palette, AXES[chart], range=ranges[chart], **grid),
        ),
    }


def legend(theme: Theme, labels: Sequence[str] = LABELS) -> list[dict[str, str]]:
    """Swatches of the runs for the page."""
    return [
        {"name": label.lower(), "color": COLORS[theme][i], "label": label, "mark": f"line-{DASHES[i]}"}
        for i, label in enumerate(labels)
    ]


def templates() -> dict[str, dict[str, Any]]:
    """The three charts as JSON values for the browser."""
    return {
        chart: {
            "title": TITLES[chart],
            "help": HELPS[chart],
            **{theme: template(chart, theme) for theme in THEMES},
            "legend": {theme: legend(theme) for theme in THEMES},
            "height": HEIGHT + LEGEND,
            "words": {"point": WORDS[chart]},
            "digits": DIGITS[chart],
        }
        for chart in CHARTS
    }


def ends(runs: Sequence[dict[Chart, Curve]]) -> tuple[float, float]:
    """The ends of the axes that the runs share: of network calls, and of revisions."""
    calls = max((max(run["placed"]["x"]) for run in runs), default=0)
    most = max((max(run["revised"]["y"]) for run in runs), default=0)
    return max(1, calls) * 1.02, max(1, most) * 1.06


def figure(traces: Sequence[Trace], chart: Chart = "placed", theme: Theme = "light") -> Figure:
    """One chart of one to four runs as a Plotly figure, labelled A to D in their order.

    Raises ValueError for another number of runs.
    """
    if not 1 <= len(traces) <= len(LABELS):
        raise ValueError(f"1 to {len(LABELS)} runs can be drawn, not {len(traces)}")
    lines = [curves(trace) for trace in traces]
    view = template(chart, theme)
    view["data"] = view["data"][: len(traces)]
    for label, drawn, line in zip(LABELS, view["data"], lines, strict=False):
        points = zip(line[chart]["k"], line[chart]["x"], line[chart]["y"], strict=True)
        drawn |= {
            "x": line[chart]["x"],
            "y": line[chart]["y"],
            "text": [
                WORDS[chart].format(label=label, number=int(k), calls=int(x), value=fixed(y, DIGITS[chart]))
                for k, x, y in points
            ],
            "hovertemplate": "%{text}<extra></extra>",
        }
    calls, most = ends(lines)
    frame = view["layout"]
    frame["xaxis"]["range"] = [0, calls]
    if chart == "revised":
        frame["yaxis"]["range"] = [0, most]
    frame["showlegend"] = True
    return alone(view, TITLES[chart], HELPS[chart], PALETTES[theme])
