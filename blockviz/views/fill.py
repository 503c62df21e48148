"""Fill map: the state of every position after every pass, so that the blocks are seen filling one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockviz.sampling.trace import STATE_CODE, STATES, Trace
from blockviz.views.layout import (
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
from blockviz.views.palette import PALETTES, STATE_LABELS, Theme

TITLE = "Fill map"
HELP = "State of every position after every pass."

STATE_WORDS: dict[str, str] = {
    "prompt": "prompt",
    "unopened": "block not opened yet",
    "noise": "noise",
    "proposed": "proposed in this pass",
    "revealed": "new in this pass",
    "kept": "draft, kept",
    "renoised": "re-noised in this pass",
    "committed": "committed",
    "after_end": "after the end token",
}
WORDS: dict[str, Any] = {"states": STATE_WORDS, "cell": "{token}: {state}"}

# What a thinned cell shows of the states it covers: the rarest event first, the backdrop last.
STRIKING = (
    "unopened",
    "prompt",
    "committed",
    "after_end",
    "noise",
    "kept",
    "proposed",
    "revealed",
    "renoised",
)
RANK: tuple[int, ...] = tuple(STRIKING.index(name) for name in STATES)


def template(theme: Theme) -> Figure:
    """The figure without data: one discrete heat map, passes downward."""
    palette = PALETTES[theme]
    share = 1 / len(STATES)
    scale = [
        [edge, color]
        for code, color in enumerate(palette.states)
        for edge in (code * share, (code + 1) * share)
    ]
    return {
        "data": [
            {
                "type": "heatmap",
                "z": [],
                "x0": 1,
                "dx": 1,
                "y0": 0,
                "dy": 1,
                "zmin": -0.5,
                "zmax": len(STATES) - 0.5,
                "colorscale": scale,
                "showscale": False,
                "colorbar": {
                    "tickvals": list(range(len(STATES))),
                    "ticktext": [STATE_LABELS[name] for name in STATES],
                    "ticks": "",
                    "thickness": 12,
                    "outlinewidth": 0,
                },
                "hovertemplate": "%{text}<extra></extra>",
            }
        ],
        "layout": layout(
            palette,
            (46, 6, 4, 34),
            xaxis=axis(palette, "position on the canvas (tokens)"),
            yaxis=axis(palette, "pass (number)", autorange=False, range=[0.5, -0.5]),
        ),
    }


def legend(theme: Theme) -> list[dict[str, str]]:
    """Swatches for the legend: state word, colour and label, in the order of the codes."""
    palette = PALETTES[theme]
    return [
        {"name": name, "color": color, "label": STATE_LABELS[name]}
        for name, color in zip(STATES, palette.states, strict=True)
    ]


def thin_states(states: NDArray[np.uint8], rows: int, columns: int) -> NDArray[np.uint8]:
    """States [P, L] thinned to at most `rows` x `columns` cells; each shows the most striking state it covers."""
    order = np.array([STATE_CODE[name] for name in STRIKING], np.uint8)
    ranked = np.array(RANK, np.uint8)[states]
    ranked = np.maximum.reduceat(ranked, thin(states.shape[0], rows), axis=0)
    return order[np.maximum.reduceat(ranked, thin(states.shape[1], columns), axis=1)]


def figure(trace: Trace, k: int, theme: Theme = "light") -> Figure:
    """The fill map of a run with its cursor at pass `k`, as a plain Plotly figure.

    Raises IndexError when the trace has no pass `k`.
    """
    palette = PALETTES[theme]
    trace.passes[k]
    view = template(theme)
    states = trace.states
    z = thin_states(states, MAX_ROWS, MAX_COLUMNS)
    rows, columns = thin(states.shape[0], MAX_ROWS), thin(states.shape[1], MAX_COLUMNS)
    stretch_y, stretch_x = -(-states.shape[0] // MAX_ROWS), -(-states.shape[1] // MAX_COLUMNS)
    heat = view["data"][0]
    heat |= {
        "z": z.tolist(),
        "dx": stretch_x,
        "dy": stretch_y,
        "x0": 1 + (stretch_x - 1) / 2,
        "y0": (stretch_y - 1) / 2,
        "text": [[cell_words(trace, int(row), int(position)) for position in columns] for row in rows],
        "showscale": True,
    }
    frame = view["layout"]
    frame["yaxis"]["range"] = [len(trace.passes) - 0.5, -0.5]
    frame["xaxis"] |= {"range": [0.5, states.shape[1] + 0.5], "tick0": 0, "dtick": tick_step(states.shape[1])}
    lines = boundaries(palette, trace.header)
    frame["shapes"] = [*([lines] if lines else []), cursor(palette, k)]
    return alone(view, TITLE, HELP, palette)


def cell_words(trace: Trace, k: int, position: int) -> str:
    """What hovering says of a position after pass `k`."""
    state = STATES[trace.states[k, position]]
    token = token_words(trace.pieces.get(int(trace.tokens[k, position]), "?"))
    return "<br>".join(
        (
            place_words(position, trace.header),
            pass_words(trace.passes[k], k),
            WORDS["cell"].format(token=token, state=STATE_WORDS[state]),
        )
    )
