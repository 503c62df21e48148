"""Confidence: the probability the latest prediction gives the token in place, for every position after every pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockviz.sampling.trace import STATE_CODE, Trace
from blockviz.views.layout import (
    HEIGHT,
    LEGEND,
    MAX_COLUMNS,
    MAX_ROWS,
    Figure,
    alone,
    axis,
    boundaries,
    cursor,
    layout,
    pass_words,
    place_words,
    thin,
    tick_step,
    token_words,
)
from blockviz.views.palette import PALETTES, SEQUENTIAL, Palette, Theme

TITLE = "Confidence"
HELP = "Probability of the token in place, as the latest prediction has it."

WORDS: dict[str, str] = {
    "cell": "{token}: probability {p}",
    "noise": "noise; best candidate: probability {p}",
    "carried": "predicted in pass {seen}",
    "none": "no prediction yet",
    "prompt": "{token}: prompt, given",
}


def template(theme: Theme) -> Figure:
    """The figure without data: one heat map on a fixed scale 0..1, colour bar below, passes downward."""
    palette = PALETTES[theme]
    return {
        "data": [
            {
                "type": "heatmap",
                "z": [],
                "x0": 1,
                "dx": 1,
                "y0": 0,
                "dy": 1,
                "zmin": 0,
                "zmax": 1,
                "colorscale": SEQUENTIAL,
                "hoverongaps": True,
                "hovertemplate": "%{text}<extra></extra>",
                "colorbar": {
                    "orientation": "h",
                    "title": {
                        "text": "probability",
                        "side": "bottom",
                        "font": {"size": 10, "color": palette.muted},
                    },
                    "thickness": 8,
                    "thicknessmode": "pixels",
                    "len": 1.0,
                    "x": 0.5,
                    "xanchor": "center",
                    "y": 0,
                    "yref": "container",
                    "yanchor": "bottom",
                    "xpad": 0,
                    "ypad": 2,
                    "outlinewidth": 0,
                    "tickvals": [0, 0.25, 0.5, 0.75, 1],
                    "tickfont": {"size": 10, "color": palette.muted},
                    "ticks": "",
                },
            }
        ],
        "layout": layout(
            palette,
            (46, 6, 4, 34 + LEGEND),
            height=HEIGHT + LEGEND,
            xaxis=axis(palette, "position on the canvas (tokens)"),
            yaxis=axis(palette, "pass (number)", autorange=False, range=[0.5, -0.5]),
        ),
    }


def prompt_ground(palette: Palette, prompt_length: int) -> dict[str, Any]:
    """The prompt's columns in the prompt's colour: nothing is predicted there."""
    return {
        "type": "rect",
        "x0": 0.5,
        "x1": prompt_length + 0.5,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "layer": "below",
        "fillcolor": palette.state("prompt"),
        "line": {"width": 0},
    }


def carried(trace: Trace) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The last known confidence of every position and the pass it was predicted in.

    float32 [P, L] (NaN before the first prediction, and in the prompt) and int64 [P, L] (-1 where there is none).
    """
    values = trace.confidence
    rows = np.arange(values.shape[0])[:, None]
    seen = np.maximum.accumulate(np.where(np.isnan(values), -1, rows), axis=0)
    last = np.take_along_axis(values, np.maximum(seen, 0), axis=0)
    hidden = (seen < 0) | (trace.states == STATE_CODE["prompt"])
    return np.where(hidden, np.float32(np.nan), last), np.where(hidden, -1, seen)


def thin_values(values: NDArray[np.float32], rows: int, columns: int) -> NDArray[np.float64]:
    """Values [P, L] thinned to at most `rows` x `columns` cells, each the mean of what it covers (NaN ignored)."""
    known = ~np.isnan(values)
    sums, counts = np.where(known, values, 0.0).astype(np.float64), known.astype(np.float64)
    for axis_index, limit in ((0, rows), (1, columns)):
        starts = thin(values.shape[axis_index], limit)
        sums = np.add.reduceat(sums, starts, axis=axis_index)
        counts = np.add.reduceat(counts, starts, axis=axis_index)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def figure(trace: Trace, k: int, theme: Theme = "light") -> Figure:
    """The confidence map of a run with its cursor at pass `k`, as a plain Plotly figure.

    Raises IndexError when the trace has no pass `k`.
    """
    palette = PALETTES[theme]
    trace.passes[k]
    view = template(theme)
    values, seen = carried(trace)
    z = np.round(thin_values(values, MAX_ROWS, MAX_COLUMNS), 4)
    passes, length = values.shape
    rows, columns = thin(passes, MAX_ROWS), thin(length, MAX_COLUMNS)
    stretch_y, stretch_x = -(-passes // MAX_ROWS), -(-length // MAX_COLUMNS)
    heat = view["data"][0]
    heat |= {
        "z": [[None if np.isnan(value) else value for value in row] for row in z.tolist()],
        "dx": stretch_x,
        "dy": stretch_y,
        "x0": 1 + (stretch_x - 1) / 2,
        "y0": (stretch_y - 1) / 2,
        "text": [
            [
                cell_words(
                    trace, int(row), int(position), float(values[row, position]), int(seen[row, position])
                )
                for position in columns
            ]
            for row in rows
        ],
    }
    frame = view["layout"]
    frame["yaxis"]["range"] = [passes - 0.5, -0.5]
    frame["xaxis"] |= {"range": [0.5, length + 0.5], "tick0": 0, "dtick": tick_step(length)}
    lines = boundaries(palette, trace.header)
    frame["shapes"] = [
        prompt_ground(palette, trace.header.prompt_length),
        *([lines] if lines else []),
        cursor(palette, k),
    ]
    return alone(view, TITLE, HELP, palette)


def cell_words(trace: Trace, k: int, position: int, value: float, seen: int) -> str:
    """What hovering says of a position after pass `k`; `value` and `seen` as `carried` has them."""
    code = trace.states[k, position]
    token = token_words(trace.pieces.get(int(trace.tokens[k, position]), "?"))
    lines = [place_words(position, trace.header), pass_words(trace.passes[k], k)]
    if code == STATE_CODE["prompt"]:
        lines.append(WORDS["prompt"].format(token=token))
    elif seen < 0:
        lines.append(WORDS["none"])
    else:
        noise = code in (STATE_CODE["noise"], STATE_CODE["renoised"])
        lines.append(WORDS["noise" if noise else "cell"].format(token=token, p=f"{value:.3f}"))
        if seen < k:
            lines.append(WORDS["carried"].format(seen=seen))
    return "<br>".join(lines)
