"""Attention: which keys each query of a pass' forward may read (the masks: `masks.py`), and what was looked at.

The second, in `weights.py`, needs a run that recorded attention weights.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from blockviz.sampling.settings import AR_SCORES
from blockviz.sampling.trace import Trace
from blockviz.views import ribbon, weights
from blockviz.views.layout import HEIGHT, Figure, alone, axis, layout
from blockviz.views.masks import (
    FEWEST_CELLS,
    KIND,
    KINDS,
    MAX_CELLS,
    NARROWEST,
    Axes,
    Geometry,
    axes_of,
    geometry,
    picture,
    reason,
    source_pass,
)
from blockviz.views.palette import PALETTES, THEMES, Theme

TITLE = "Attention"
HELP = "Which keys (across) each query (down) of this pass may read, and what it looked at where that was recorded."

CONTROLS = 28
"""Pixels above the plot for the choice between the two."""

Show = Literal["seen", "looked"]
"""What the figure shows: what may be seen (the mask), or what was looked at (recorded weights)."""

KIND_LABELS: dict[str, str] = {
    "earlier": "earlier pass",
    "cached": "cached context",
    "carried": "committed now",
    "active": "active block",
    "proposal": "proposal",
    "noise": "verifier's noise",
}

WORDS: dict[str, Any] = {
    "show": "Show the attention that",
    "shows": {"seen": "may be seen", "looked": "was looked at"},
    "heads": "Heads",
    "average": "average",
    "head": "head {head}",
    "cell": "query {query}, key {key}:<br>{why}",
    "row": "query: {row}",
    "itself": "itself, {why}",
    "why": {
        "earlier": "read in an earlier pass, now cached",
        "cached": "clean context, cached",
        "carried": "clean context, committed in this pass",
        "recomputed": "clean context, recomputed in this pass",
        "active": "same block, noise",
        "whole": "on the canvas, which is read as a whole",
        "proposal": "proposal before {query}",
        "in_proposal": "in the proposal",
        "noise": "the verifier's noise token",
        "later": "later, masked",
        "later_block": "later block, masked",
        "noise_unread": "noise, never read by clean tokens",
        "own_proposal": "its own token in the proposal, masked",
        "later_proposal": "later in the proposal, masked",
        "noise_of_another": "noise of another position, masked",
        "no_query": "no such query in this pass",
        "no_key": "no such key in this pass",
    },
    "rows": {
        "earlier": "a cached token, not computed now",
        "carried": "a clean token being committed",
        "recomputed": "a clean token, recomputed",
        "active": "a token of the active block",
        "whole": "a token of the canvas, recomputed",
        "proposal": "a token of the proposal",
        "noise": "a noise token of the verifier",
        "none": "none here in this pass",
    },
    "reads": "Block {block} reads {context} + itself.",
    "verifies": "Verifier reads {context} + the proposal.",
    "cached": "{cached} cached",
    "carried": "{clean} being committed",
    "recomputed": "{clean} recomputed (no cache)",
    "reads_whole": "Block {block} reads the whole canvas, {window} positions, on both sides.",
    "reads_alone": "Block {block} reads itself only.",
    "verifies_alone": "Verifier reads the proposal only.",
    "last": "Last forward (pass {pass}): ",
    "none": "No forward yet.",
    "quiet": "No network call yet:\nno mask.",
    "noisy": "{first}–{last}",
    "axis_keys": "key: clean tokens | noisy block",
    "axis_queries": "query: clean tokens | noisy block",
}


def template(theme: Theme) -> Figure:
    """The figure without data: one discrete heat map over cells, queries downward."""
    palette = PALETTES[theme]
    share = 1 / len(KINDS)
    return {
        "data": [
            {
                "type": "heatmap",
                "z": [],
                "x0": 0.5,
                "dx": 1,
                "y0": 0.5,
                "dy": 1,
                "zmin": -0.5,
                "zmax": len(KINDS) - 0.5,
                "colorscale": [
                    [edge, color]
                    for code, color in enumerate((palette.page, *palette.kinds[1:]))
                    for edge in (code * share, (code + 1) * share)
                ],
                "showscale": False,
                "colorbar": {
                    "tickvals": list(range(1, len(KINDS))),
                    "ticktext": [KIND_LABELS[name] for name in KINDS[1:]],
                    "ticks": "",
                    "thickness": 12,
                    "outlinewidth": 0,
                },
                "hovertemplate": "%{text}<extra></extra>",
            }
        ],
        "layout": layout(
            palette,
            (50, 6, 4, 34),
            height=HEIGHT - CONTROLS,
            xaxis=axis(palette, WORDS["axis_keys"], range=[0, 1]),
            yaxis=axis(palette, WORDS["axis_queries"], autorange=False, range=[1, 0]),
        ),
    }


def legend(theme: Theme) -> list[dict[str, str]]:
    """Swatches for the legend of the page."""
    palette = PALETTES[theme]
    return [
        {"name": name, "color": palette.kinds[KIND[name]], "label": KIND_LABELS[name], "mark": ""}
        for name in KIND_LABELS
    ]


def reads(shape: Geometry, block: int) -> str:
    """One sentence: what the forward reads, with the cached length."""
    if shape.whole:
        return str(WORDS["reads_whole"].format(block=block + 1, window=shape.window))
    parts = []
    if shape.cached:
        parts.append(WORDS["cached"].format(cached=shape.cached))
    if shape.clean:
        parts.append(WORDS["recomputed" if shape.recomputed else "carried"].format(clean=shape.clean))
    name = ("verifies" if shape.verify else "reads") + ("" if parts else "_alone")
    return WORDS[name].format(block=block + 1, context=" + ".join(parts))


def cell_words(shape: Geometry, frame: Axes, row: int, column: int) -> str:
    """What hovering says of a cell of the mask; `row` and `column` are places (`Axes.places`)."""
    query, row_kind = _row(shape, frame, row)
    key = column + 1 if column < frame.clean else shape.start + column - frame.clean + 1
    streams = [
        (place >= frame.clean, place - frame.clean * (place >= frame.clean)) for place in (row, column)
    ]
    return "<br>".join(
        (
            WORDS["cell"].format(query=query, key=key, why=why_words(shape, *streams[0], *streams[1])),
            WORDS["row"].format(row=WORDS["rows"][row_kind]),
        )
    )


def why_words(shape: Geometry, noisy_query: bool, query: int, noisy_key: bool, key: int) -> str:
    """Why a query reads a key, or does not, in words; places as in `masks.reason`."""
    name = reason(shape, noisy_query, query, noisy_key, key)
    position = (shape.start if noisy_query else 0) + query + 1
    words: str = WORDS["why"][name].format(query=position)
    if name in _READ and (noisy_query, query) == (noisy_key, key):
        words = WORDS["itself"].format(why=words)
    return words


_READ = frozenset(KINDS[1:]) | {"recomputed", "in_proposal", "whole"}
"""The reasons for reading a key."""


def weight_words(trace: Trace, source: int, place: int, key: int, code: float) -> str:
    """What hovering says of a recorded weight, and why that key could be read (see `weights.cell_words`)."""
    shape = geometry(trace, source)
    in_window = key >= shape.start and not (shape.verify and key - shape.start < place)
    at = key - shape.start if in_window else key
    query = place + trace.passes[source].start - shape.start
    return f"{weights.cell_words(trace, source, place, key, code)}<br>{why_words(shape, True, query, in_window, at)}"


def _row(shape: Geometry, frame: Axes, row: int) -> tuple[int, str]:
    if row >= frame.clean:
        place = row - frame.clean
        kind = (
            "none"
            if place >= shape.window
            else "noise"
            if shape.verify
            else "whole"
            if shape.whole
            else "active"
        )
        return shape.start + place + 1, kind
    if row < shape.cached:
        return row + 1, "earlier"
    if row < shape.start:
        return row + 1, "recomputed" if shape.recomputed else "carried"
    return row + 1, "proposal" if shape.verify and row < shape.stop else "none"


def constants() -> dict[str, Any]:
    """What the JavaScript twin needs to lay the pictures out as `axes`, `picture` and `weights.codes` do."""
    return {
        "kinds": list(KINDS),
        "most_cells": MAX_CELLS,
        "fewest_cells": FEWEST_CELLS,
        "narrowest": NARROWEST,
        "verifiers": sorted(AR_SCORES),
        "controls": CONTROLS,
        "weights": {
            **{theme: weights.template(theme, HEIGHT - CONTROLS) for theme in THEMES},
            "legend": {theme: weights.legend(theme) for theme in THEMES},
            "words": weights.WORDS,
            **weights.constants(),
        },
        "ribbon": ribbon.constants(),
    }


def figure(
    trace: Trace, k: int, theme: Theme = "light", show: Show = "seen", head: int | None = None
) -> Figure:
    """The attention of pass `k` (or of the last network call before it), as a plain Plotly figure.

    `show` "looked" has the recorded weights of `head` (from 0), or their average. Raises IndexError when the trace has
    no pass `k`, or its layer no such head.
    """
    trace.passes[k]
    if head is not None and not 0 <= head < trace.header.model.heads:
        raise IndexError(f"there is no head {head}, the layer has {trace.header.model.heads}")
    source = source_pass(trace, k)
    if source is None:
        return alone(template(theme) | {"data": []}, TITLE, WORDS["none"], PALETTES[theme])
    if show == "looked":
        return _looked(trace, source, theme, head)
    last = "" if source == k else WORDS["last"].format(**{"pass": source})
    return _seen(trace, source, last, theme, ribbon.sentence(trace, k))


def _seen(trace: Trace, source: int, last: str, theme: Theme, more: str) -> Figure:
    view = template(theme)
    frame = axes_of(trace)
    view["layout"]["xaxis"]["range"], view["layout"]["yaxis"]["range"] = [0, frame.cells], [frame.cells, 0]
    shape = geometry(trace, source)
    places = frame.places().tolist()
    view["data"][0] |= {
        "showscale": True,
        "z": picture(shape, frame).tolist(),
        "text": [[cell_words(shape, frame, row, column) for column in places] for row in places],
    }
    says = f"{last}{reads(shape, trace.passes[source].block)} {more}"
    return alone(view, TITLE, says, PALETTES[theme])


def _looked(trace: Trace, source: int, theme: Theme, head: int | None) -> Figure:
    view = weights.template(theme, HEIGHT)
    says = weights.says(trace, source, head)
    values = weights.codes(trace, source, head)
    if values is None:
        return alone(view | {"data": []}, TITLE, says, PALETTES[theme])
    width, start = values.shape[0], trace.passes[source].start
    shown, high, wide = weights.thinned(values)
    known = ~np.isnan(shown)
    heat = view["data"][0]
    heat |= {"showscale": True, "dy": high, "y0": (high + 1) / 2, "dx": wide, "x0": (wide + 1) / 2}
    heat["z"] = [
        [value if there else None for value, there in zip(*pair, strict=True)]
        for pair in zip(shown.tolist(), known.tolist(), strict=True)
    ]
    heat["text"] = [
        [
            weight_words(trace, source, min(row * high, width - 1), column * wide, shown[row, column])
            if known[row, column]
            else ""
            for column in range(shown.shape[1])
        ]
        for row in range(shown.shape[0])
    ]
    axes_ = view["layout"]
    keys = weights.key_ticks(trace.header.length)
    axes_["xaxis"] |= {
        "range": [0.5, trace.header.length + 0.5],
        "tickvals": keys,
        "ticktext": list(map(str, keys)),
    }
    places, labels = weights.ticks(start, width)
    rows = max(width, min(trace.header.settings.widest or trace.header.length, trace.header.length))
    axes_["yaxis"] |= {"range": [rows + 0.5, 0.5], "tickvals": places, "ticktext": labels}
    return alone(view, TITLE, says, PALETTES[theme])
