"""Attention mask: which keys each query of a pass' forward may read, as a figure (the masks themselves: `masks.py`)."""

from __future__ import annotations

from typing import Any

from blockviz.sampling.settings import AR_SCORES
from blockviz.sampling.trace import Trace
from blockviz.views.layout import HEIGHT, Figure, alone, axis, layout
from blockviz.views.masks import (
    FEWEST_CELLS,
    KIND,
    KINDS,
    MAX_CELLS,
    NARROWEST,
    Axes,
    Geometry,
    axes,
    geometry,
    needs_whole,
    picture,
    source_pass,
)
from blockviz.views.palette import PALETTES, Theme

TITLE = "Attention mask"
HELP = "Which keys (across) each query (down) of this pass may read."

KIND_LABELS: dict[str, str] = {
    "earlier": "earlier pass",
    "cached": "cached context",
    "carried": "committed now",
    "active": "active block",
    "proposal": "proposal",
    "noise": "verifier's noise",
}

WORDS: dict[str, Any] = {
    "cell": "query {query}, key {key}: {kind}",
    "row": "query: {row}",
    "kinds": {
        "blocked": "not allowed",
        "earlier": "read in an earlier pass, now cached",
        "cached": "clean context, cached",
        "carried": "clean context, committed in this pass",
        "recomputed": "clean context, recomputed in this pass",
        "active": "active block",
        "proposal": "the proposal, read left to right",
        "noise": "verifier's noise token, itself",
    },
    "rows": {
        "earlier": "a cached token, not computed in this pass",
        "carried": "a clean token being committed",
        "recomputed": "a clean token, recomputed",
        "active": "a token of the active block",
        "proposal": "a token of the proposal",
        "noise": "a noise token of the verifier",
        "none": "no query here in this pass",
    },
    "reads": "Block {block} reads {context} + itself.",
    "verifies": "Verifier reads {context} + the proposal.",
    "cached": "{cached} cached",
    "carried": "{clean} being committed",
    "recomputed": "{clean} recomputed (no cache)",
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
            height=HEIGHT,
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
    parts = []
    if shape.cached:
        parts.append(WORDS["cached"].format(cached=shape.cached))
    if shape.clean:
        parts.append(WORDS["recomputed" if shape.recomputed else "carried"].format(clean=shape.clean))
    name = ("verifies" if shape.verify else "reads") + ("" if parts else "_alone")
    return WORDS[name].format(block=block + 1, context=" + ".join(parts))


def cell_words(shape: Geometry, frame: Axes, row: int, column: int, kind: str) -> str:
    """What hovering says of a cell of kind `kind`; `row` and `column` are places (`Axes.places`)."""
    query, row_kind = _row(shape, frame, row)
    key = column + 1 if column < frame.clean else shape.start + column - frame.clean + 1
    if kind == "carried" and shape.recomputed:
        kind = "recomputed"
    return "<br>".join(
        (
            WORDS["cell"].format(query=query, key=key, kind=WORDS["kinds"][kind]),
            WORDS["row"].format(row=WORDS["rows"][row_kind]),
        )
    )


def _row(shape: Geometry, frame: Axes, row: int) -> tuple[int, str]:
    if row >= frame.clean:
        place = row - frame.clean
        kind = "none" if place >= shape.window else "noise" if shape.verify else "active"
        return shape.start + place + 1, kind
    if row < shape.cached:
        return row + 1, "earlier"
    if row < shape.start:
        return row + 1, "recomputed" if shape.recomputed else "carried"
    return row + 1, "proposal" if shape.verify and row < shape.stop else "none"


def constants() -> dict[str, Any]:
    """What the JavaScript twin needs to lay the picture out as `axes` and `picture` do."""
    return {
        "kinds": list(KINDS),
        "most_cells": MAX_CELLS,
        "fewest_cells": FEWEST_CELLS,
        "narrowest": NARROWEST,
        "verifiers": sorted(AR_SCORES),
    }


def figure(trace: Trace, k: int, theme: Theme = "light") -> Figure:
    """The attention mask of pass `k` (or of the last network call before it), as a plain Plotly figure.

    Raises IndexError when the trace has no pass `k`.
    """
    palette = PALETTES[theme]
    trace.passes[k]
    view = template(theme)
    frame = axes(trace.header.length, trace.header.block_size, needs_whole(trace))
    layout_ = view["layout"]
    layout_["xaxis"]["range"], layout_["yaxis"]["range"] = [0, frame.cells], [frame.cells, 0]
    source = source_pass(trace, k)
    if source is None:
        return alone(view | {"data": []}, TITLE, WORDS["none"], palette)
    shape = geometry(trace, source)
    places = frame.places().tolist()
    cells = picture(shape, frame).tolist()
    view["data"][0] |= {
        "showscale": True,
        "z": cells,
        "text": [
            [
                cell_words(shape, frame, row, column, KINDS[code])
                for column, code in zip(places, line, strict=True)
            ]
            for row, line in zip(places, cells, strict=True)
        ],
    }
    says = reads(shape, trace.passes[source].block)
    if source != k:
        says = WORDS["last"].format(**{"pass": source}) + says
    return alone(view, TITLE, says, palette)
