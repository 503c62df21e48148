"""Recorded attention: how much of its attention each position of the active block gave to each key, as a heat map.

Colours follow the codes of the trace, the square roots of the weights: most weights are small, and differences among
them would vanish on a linear scale. Numbers on hover and at the colour bar are the weights themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockviz.sampling.settings import FIELDS
from blockviz.sampling.trace import ATTENTION_STEPS, Trace
from blockviz.views.layout import Figure, axis, escape, layout, thin, tick_step
from blockviz.views.palette import PALETTES, Theme

MAX_QUERIES = 192
MAX_KEYS = 384
"""A map with more queries or keys is thinned to this for display; a cell then shows the largest weight in it."""

SHOWN_WEIGHTS = (0.0, 0.01, 0.1, 0.5, 1.0)
"""Weights at the ticks of the colour bar."""

WORDS: dict[str, Any] = {
    "read": "What block {block} looked at in pass {pass}: layer {layer} of {layers}, {heads}.",
    "verified": "What the verifier of block {block} looked at in pass {pass}: layer {layer} of {layers}, {heads}.",
    "average": "average of {count} heads",
    "head": "head {head} of {count}",
    "only_head": "its only head",
    "cell": "query {query}, key {key} {token}:<br>{weight} of its attention",
    "unknown": "(noise)",
    "none": "This run recorded no attention weights.",
    "how": "No attention weights were recorded.\nTo see them, set “{label}” and generate again.".format(
        label=FIELDS["record_attention"].label
    ),
    "axis_keys": "key: position on the canvas (tokens)",
    "axis_queries": "query: position in the active block",
}


def heads_of(trace: Trace) -> int:
    """Heads whose weights the run recorded: 0 for nothing, 1 for their average, else each head of the layer."""
    kept = trace.header.settings.record_attention
    return {"none": 0, "mean": 1, "heads": trace.header.model.heads}[kept]


def codes(trace: Trace, source: int, head: int | None) -> NDArray[np.float64] | None:
    """255 times the roots of pass `source`'s weights, float64 [W, stop], NaN where the query may not read.

    `head` counts from 0; None is the average (which is not a whole number then). None where nothing was recorded.
    """
    entry = trace.passes[source]
    if entry.attention is None:
        return None
    kept = entry.attention.astype(np.float64)
    if head is not None and len(kept) > 1:
        values: NDArray[np.float64] = kept[head].copy()
    else:
        values = kept[0].copy() if len(kept) == 1 else np.sqrt((kept**2).mean(axis=0))
    if entry.phase == "verify":
        width = entry.stop - entry.start
        values[:, entry.start :][np.triu(np.ones((width, width), bool), 1)] = np.nan
    return values


def thinned(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], int, int]:
    """The map for display with the rows and columns that each of its cells stands for; a cell has the largest value."""
    rows, columns = thin(values.shape[0], MAX_QUERIES), thin(values.shape[1], MAX_KEYS)
    high, wide = -(-values.shape[0] // len(rows)), -(-values.shape[1] // len(columns))
    if high > 1 or wide > 1:
        known = np.where(np.isnan(values), -1.0, values)
        known = np.maximum.reduceat(np.maximum.reduceat(known, rows, axis=0), columns, axis=1)
        values = np.where(known < 0, np.nan, known)
    return values, high, wide


def template(theme: Theme, height: int) -> Figure:
    """The figure without data: one heat map, queries of the active block downward, keys of the canvas across."""
    palette = PALETTES[theme]
    last = len(palette.weights) - 1
    ticks = [ATTENTION_STEPS * weight**0.5 for weight in SHOWN_WEIGHTS]
    return {
        "data": [
            {
                "type": "heatmap",
                "z": [],
                "x0": 1,
                "dx": 1,
                "y0": 1,
                "dy": 1,
                "zmin": 0,
                "zmax": ATTENTION_STEPS,
                "colorscale": [[place / last, color] for place, color in enumerate(palette.weights)],
                "hoverongaps": True,
                "showscale": False,
                "colorbar": {
                    "title": {"text": "weight", "side": "right"},
                    "tickvals": ticks,
                    "ticktext": [f"{weight:g}" for weight in SHOWN_WEIGHTS],
                    "thickness": 12,
                    "outlinewidth": 0,
                },
                "hovertemplate": "%{text}<extra></extra>",
            }
        ],
        "layout": layout(
            palette,
            (50, 6, 4, 34),
            height=height,
            xaxis=axis(palette, WORDS["axis_keys"], range=[0.5, 1.5]),
            yaxis=axis(palette, WORDS["axis_queries"], autorange=False, range=[1.5, 0.5]),
        ),
    }


def legend(theme: Theme) -> list[dict[str, str]]:
    """Swatches for the legend of the page."""
    palette = PALETTES[theme]
    scale = ", ".join(palette.weights)
    return [
        {
            "name": "weight",
            "color": scale,
            "label": "0 to 100% of a query's attention",
            "mark": "scale",
        },
        {
            "name": "root",
            "color": palette.page,
            "label": "colour goes by the root of the share",
            "mark": "words",
        },
        {"name": "blocked", "color": palette.page, "label": "no key to read", "mark": ""},
    ]


def constants() -> dict[str, Any]:
    """What the JavaScript twin needs."""
    return {"most_queries": MAX_QUERIES, "most_keys": MAX_KEYS, "steps": ATTENTION_STEPS}


def says(trace: Trace, source: int, head: int | None) -> str:
    """One sentence: whose attention this is, of which layer and heads."""
    entry, model = trace.passes[source], trace.header.model
    if entry.attention is None:
        return str(WORDS["none"])
    if model.heads == 1:
        heads = WORDS["only_head"]
    elif head is None or heads_of(trace) == 1:
        heads = WORDS["average"].format(count=model.heads)
    else:
        heads = WORDS["head"].format(head=head + 1, count=model.heads)
    layer = trace.header.settings.attention_layer or model.layers
    words: str = WORDS["verified" if entry.phase == "verify" else "read"]
    values = {
        "block": entry.block + 1,
        "pass": source,
        "layer": layer,
        "layers": model.layers,
        "heads": heads,
    }
    return words.format(**values)


def cell_words(trace: Trace, source: int, place: int, key: int, code: float) -> str:
    """What hovering says of the weight that the query at `place` in the window gave to canvas position `key`."""
    entry = trace.passes[source]
    token = key_token(trace, source, place, key)
    shown = WORDS["unknown"] if token < 0 else f"<b>{escape(trace.pieces[token])}</b>"
    return str(
        WORDS["cell"].format(
            query=entry.start + place + 1,
            key=key + 1,
            token=shown,
            weight=f"{100 * (code / ATTENTION_STEPS) ** 2:.1f}%",
        )
    )


def key_token(trace: Trace, source: int, place: int, key: int) -> int:
    """The token that stood at a key when it was read, as the call had it (noise in the noisy stream); -1 unknown."""
    entry = trace.passes[source]
    if entry.phase != "verify":
        before = trace.passes[source - 1] if source and key >= entry.start else entry
        return int(before.tokens[key])
    if key == entry.start + place:
        mask = trace.header.model.mask_id
        return int(entry.verify_tokens[place]) if mask is None else mask
    return int(entry.tokens[key])


def key_ticks(length: int) -> list[int]:
    """Canvas positions, counted from 1, at which the key axis has its ticks."""
    step = tick_step(length)
    return list(range(step, length, step))


def ticks(start: int, width: int) -> tuple[list[int], list[str]]:
    """Places and labels of a few queries of a window that begins at position `start`."""
    step = tick_step(width)
    places = list(range(1, width + 1, step))
    return places, [str(start + place) for place in places]
