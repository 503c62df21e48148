"""What the four views share: the frame of a figure, hover text, labels of passes, thinning of large maps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockviz.sampling.trace import Header, Pass
from blockviz.views.palette import Palette

Figure = dict[str, Any]
"""A plain Plotly figure: `data`, `layout` and, in templates, `words` that JavaScript fills in."""

HEIGHT = 264
"""Pixels of a plot on the page; a view never changes its height."""

LEGEND = 48
"""Pixels under a plot for its legend (or, inside the figure, for its colour bar)."""

MAX_COLUMNS = 256
MAX_ROWS = 256
"""A map with more positions or passes is thinned to this for display: a card has some 250 pixels for either."""

PHASE_WORDS: dict[str, str] = {
    "start": "start",
    "denoise": "denoise",
    "propose": "propose",
    "verify": "verify",
    "renoise": "re-noise",
    "commit": "commit",
    "edit": "edit",
}


def escape(piece: str) -> str:
    """The piece as Plotly must be given it to show it as text: Plotly reads a little markup, and `<eos>` is none."""
    escaped = piece.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace(
        "$", "&#36;"
    )  # a pair of dollars is a formula wherever MathJax is loaded, as in notebooks


LONGEST_TOKEN = 40
"""Characters of a token in hover words; the whole of a longer one stands in the player's own card."""


def token_text(piece: str, longest: int = LONGEST_TOKEN) -> str:
    """A token within a line of Plotly's text: shortened, safe, and its direction of writing moves nothing beside it."""
    escaped = escape(piece if len(piece) <= longest else piece[: longest - 1] + "…")
    return escaped if piece.isascii() else f"\u2068{escaped}\u2069"


def token_words(piece: str) -> str:
    """A token in hover words: `token_text` in bold."""
    return f"<b>{token_text(piece)}</b>"


PLACE = "position {position} · block {block}"
WHEN = "pass {number} · {phase}, step {step}"
WHEN_IDLE = "pass {number} · {phase}"


def place_words(position: int, header: Header) -> str:
    """The place of a canvas position in words; people count positions and blocks from 1."""
    return PLACE.format(position=position + 1, block=header.block_of(position) + 1)


def pass_words(entry: Pass, number: int) -> str:
    """A pass in words: its number (the start is 0), phase and step (people count steps from 1)."""
    words = WHEN_IDLE if entry.phase in ("start", "commit") else WHEN
    return words.format(number=number, phase=PHASE_WORDS[entry.phase], step=entry.step + 1)


def axis(palette: Palette, title: str, **more: Any) -> dict[str, Any]:
    """One quiet axis: no grid, outside ticks, title in the muted colour."""
    quiet: dict[str, Any] = {
        "title": {"text": title, "standoff": 4, "font": {"size": 11, "color": palette.muted}},
        "showgrid": False,
        "zeroline": False,
        "ticks": "outside",
        "ticklen": 3,
        "tickcolor": palette.line,
        "linecolor": palette.line,
        "tickfont": {"size": 10, "color": palette.muted},
        "nticks": 6,
        "automargin": False,
    }
    return quiet | more


def layout(palette: Palette, margin: tuple[int, int, int, int], **more: Any) -> dict[str, Any]:
    """The frame of a view; `margin` is left, right, top, bottom in pixels."""
    left, right, top, bottom = margin
    frame: dict[str, Any] = {
        "autosize": True,
        "height": HEIGHT,
        "margin": {"l": left, "r": right, "t": top, "b": bottom, "pad": 0},
        "paper_bgcolor": palette.card,
        "plot_bgcolor": palette.page,
        "font": {"family": palette.font, "size": 11, "color": palette.ink},
        "hoverlabel": {
            "bgcolor": palette.hover,
            "bordercolor": palette.hover,
            "font": {"family": palette.font, "size": 12, "color": palette.hover_ink},
            "align": "left",
        },
        "hovermode": "closest",
        "dragmode": "zoom",
        "showlegend": False,
        "modebar": {
            "bgcolor": "rgba(0,0,0,0)",
            "color": palette.muted,
            "activecolor": palette.accent,
            "orientation": "h",
        },
        "uirevision": "run",
    }
    return frame | more


def alone(figure: Figure, title: str, help_text: str, palette: Palette) -> Figure:
    """The figure for a notebook or an export: with its title and help above it, larger, without the page's `words`."""
    frame = dict(figure["layout"])
    margin = dict(frame["margin"])
    margin["t"] += 62
    margin["b"] += 24
    frame.update(
        height=420,
        margin=margin,
        title={
            "text": f"<b>{escape(title)}</b><br><span style='font-size:12px'>{escape(help_text)}</span>",
            "x": 0.0,
            "xref": "paper",
            "xanchor": "left",
            "y": 0.98,
            "yanchor": "top",
            "font": {"size": 15, "color": palette.ink},
        },
    )
    return {"data": figure["data"], "layout": frame}


def boundaries(palette: Palette, header: Header) -> dict[str, Any] | None:
    """Thin lines between blocks as ONE shape (cheap to draw); None where blocks are narrower than a line is useful."""
    if header.block_size < max(2, header.length // 64):
        return None
    edges = range(header.origin or header.block_size, header.length, header.block_size)
    if not edges:
        return None
    return {
        "type": "path",
        "path": " ".join(f"M{edge + 0.5},0L{edge + 0.5},1" for edge in edges),
        "xref": "x",
        "yref": "paper",
        "line": {"color": palette.boundary, "width": 1},
        "layer": "above",
    }


def cursor(palette: Palette, k: int) -> dict[str, Any]:
    """The frame around the row of pass `k` (in the browser an element laid over the plot, which is cheap to move)."""
    return {
        "type": "rect",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": k - 0.5,
        "y1": k + 0.5,
        "line": {"color": palette.ink, "width": 1.5},
        "layer": "above",
    }


def tick_step(length: int) -> int:
    """Distance between ticks along positions: a power of two, as block sizes are, and at most five ticks."""
    step = 1
    while length / step > 4.2:
        step *= 2
    return step


def thin(count: int, limit: int) -> NDArray[np.int64]:
    """Starts of at most `limit` equal bins over `count` rows or columns; int64 [bins]."""
    width = -(-count // limit) if count > limit else 1
    return np.arange(0, count, width, dtype=np.int64)
