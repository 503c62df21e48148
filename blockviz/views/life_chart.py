"""The curves of one position's life: confidence, entropy and AR score over the passes of its block.

`assets/views_life.js` is the twin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockviz.sampling.trace import Trace
from blockviz.views.layout import Figure, alone, axis, layout, pass_words, place_words, token_words
from blockviz.views.life import WORDS, Moment, life
from blockviz.views.numbers import fixed, percent
from blockviz.views.palette import PALETTES, STATE_LABELS, Theme

TITLE = "Over the passes"
HELP = "How sure the model was of this position; the line is the pass on screen."
HEIGHT = 196
LEGEND = 34
AR_COLOR: dict[Theme, str] = {"light": "#9a3f78", "dark": "#e39cc7"}
"""What AR says; the canvas has the same colour for its doubts."""
NATS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 100.0)
"""Round ends of the axis of nats."""


def template(theme: Theme) -> Figure:
    """The figure without data: probability on the left axis, entropy and AR score in nats on the right one."""
    palette = PALETTES[theme]
    line: dict[str, Any] = {"type": "scatter", "mode": "lines+markers", "x": [], "y": []}
    marks: dict[str, Any] = {"type": "scatter", "mode": "markers", "x": [], "y": [], "yaxis": "y2"}
    thrown = {"symbol": "x", "size": 9, "color": palette.renoise, "line": {"width": 0}}
    doubt = {"symbol": "diamond", "size": 8, "color": AR_COLOR[theme], "line": {"width": 0}}
    return {
        "data": [
            {
                **line,
                "name": "confidence",
                "line": {"color": palette.accent, "width": 2, "shape": "hv"},
                "marker": {"size": 4, "color": palette.accent},
            },
            {
                **line,
                "name": "entropy",
                "yaxis": "y2",
                "line": {"color": palette.muted, "width": 1.5, "dash": "dot", "shape": "hv"},
                "marker": {"size": 3, "color": palette.muted},
            },
            {**marks, "name": "AR −log p", "marker": doubt, "cliponaxis": False},
            {**marks, "name": "re-noised", "marker": thrown, "yaxis": "y", "cliponaxis": False},
        ],
        "layout": layout(
            palette,
            (44, 42, 10, 34),
            height=HEIGHT,
            xaxis=axis(palette, "pass (number)", range=[-0.5, 0.5]),
            yaxis=axis(
                palette, "probability", range=[0, 1.05], nticks=5, showgrid=True, gridcolor=palette.line
            ),
            yaxis2=axis(palette, "nats", range=[0, 1.05], nticks=5, side="right", overlaying="y"),
        ),
    }


def legend(theme: Theme) -> list[dict[str, str]]:
    """Swatches for the legend of the page."""
    palette = PALETTES[theme]
    return [
        {"name": "confidence", "color": palette.accent, "label": "confidence", "mark": "line"},
        {"name": "entropy", "color": palette.muted, "label": "entropy", "mark": "dotted"},
        {"name": "ar", "color": AR_COLOR[theme], "label": "AR −log p", "mark": "diamond"},
        {"name": "renoised", "color": palette.renoise, "label": "re-noised", "mark": "cross"},
    ]


def curves(moments: tuple[Moment, ...]) -> list[dict[str, list[float | None]]]:
    """x and y of the four traces: confidence, entropy, AR −log p, and the passes that threw the token back (at 0)."""
    open_ = [moment for moment in moments if moment.state != "prompt"]

    def trace_of(name: str, sign: int) -> dict[str, list[float | None]]:
        values = [(moment.number, sign * getattr(moment, name)) for moment in open_]
        known = [(number, value) for number, value in values if not np.isnan(value)]
        return {"x": [number for number, _ in known], "y": [round(value, 4) for _, value in known]}

    ar = [moment for moment in open_ if moment.phase == "verify" and not np.isnan(moment.ar_logprob)]
    thrown = [moment.number for moment in open_ if moment.state == "renoised"]
    return [
        trace_of("confidence", 1),
        trace_of("entropy", 1),
        {"x": [m.number for m in ar], "y": [round(-m.ar_logprob + 0.0, 4) for m in ar]},
        {"x": list(thrown), "y": [0.0] * len(thrown)},
    ]


def nats_top(lines: list[dict[str, list[float | None]]]) -> float:
    """The end of the axis of nats: round, and above every value drawn on it."""
    highest = max([0.0, *(value or 0.0 for line in lines[1:3] for value in line["y"])])
    return next((top for top in NATS if top >= highest), highest)


def pass_range(moments: tuple[Moment, ...]) -> list[float]:
    """The passes that the chart spans: those of the position's block; the first pass where there are none."""
    numbers = [moment.number for moment in moments[1:]] or [0]
    return [numbers[0] - 0.5, numbers[-1] + 0.5]


def figure(trace: Trace, k: int, theme: Theme = "light", position: int | None = None) -> Figure:
    """The life of a position (default: the first after the prompt) with its cursor at pass `k`, as a Plotly figure.

    Raises IndexError when the trace has no such pass or position.
    """
    palette = PALETTES[theme]
    trace.passes[k]
    if position is None:
        position = min(trace.header.prompt_length, trace.header.length - 1)
    moments = life(trace, position)
    lines = curves(moments)
    view = template(theme)
    by_number = {moment.number: moment for moment in moments}
    for drawn, line in zip(view["data"], lines, strict=True):
        hover = [point_words(trace, by_number[number], position) for number in line["x"]]  # type: ignore[index]
        drawn |= {**line, "text": hover, "hovertemplate": "%{text}<extra></extra>"}
    frame = view["layout"]
    frame["yaxis2"]["range"] = [0, nats_top(lines) * 1.05]
    frame["xaxis"]["range"] = pass_range(moments)
    edge = {"color": palette.ink, "width": 1.5}
    frame["shapes"] = [
        {"type": "line", "xref": "x", "yref": "paper", "x0": k, "x1": k, "y0": 0, "y1": 1, "line": edge}
    ]
    frame["showlegend"] = True
    title = f"{TITLE}: {place_words(position, trace.header)}"
    return alone(view, title, HELP, palette)


def point_words(trace: Trace, moment: Moment, position: int) -> str:
    """What hovering says of a pass."""
    token = token_words(trace.pieces.get(moment.token, "?"))
    lines = [
        place_words(position, trace.header),
        pass_words(trace.passes[moment.number], moment.number),
        WORDS["point"].format(token=token, state=STATE_LABELS[moment.state]),
    ]
    if not np.isnan(moment.confidence):
        noisy = moment.state in ("noise", "renoised")
        lines.append(WORDS["best" if noisy else "confidence"].format(p=percent(moment.confidence)))
    if not np.isnan(moment.entropy):
        lines.append(WORDS["entropy"].format(h=fixed(moment.entropy, 2)))
    if not np.isnan(moment.ar_logprob):
        lines.append(WORDS["ar"].format(score=fixed(-moment.ar_logprob, 2)))
    return "<br>".join(lines)
