"""The charts of a run as PNG or SVG. Plotly draws in a browser, so this needs kaleido and a Chrome or Chromium.

Nothing is fetched: the browser loads the plotly.min.js of the installed package. Without a Chrome, the page's own
"Download as image" button on each chart makes the same picture (as PNG).
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from blockviz.export.words import ExportError, clean, footer
from blockviz.sampling.trace import Trace
from blockviz.views.layout import Figure, escape
from blockviz.views.palette import PALETTES, Theme
from blockviz.views.templates import VIEWS

Format = Literal["png", "svg"]
WIDTH, HEIGHT, SCALE = 960, 540, 2
"""Size in CSS pixels; a PNG has SCALE times as many."""
TITLE_ROOM = 20
FOOT_LINE = 13
FOOT_CHARACTERS = 150
TIMEOUT = 300
"""Seconds for one chart."""
BROWSERS = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "chrome")
NO_CHROME = (
    "Charts as PNG or SVG need kaleido (install requirements.txt) and a Chrome or Chromium on this machine "
    "(or its path in BROWSER_PATH); without one, use the download button on each chart of the page"
)


def figures(trace: Trace, number: int, theme: Theme = "light") -> dict[str, Figure]:
    """Every chart of pass `number` by name, with the footer under it; raises IndexError when there is no such pass."""
    return {name: _footed(view.figure(trace, number, theme), trace, theme) for name, view in VIEWS.items()}


def _footed(figure: Figure, trace: Trace, theme: Theme) -> Figure:
    frame = dict(figure["layout"])
    lines = [line for text in footer(trace.header) for line in _lines(clean(text))]
    margin = dict(frame["margin"])
    under = FOOT_LINE * len(lines) + 10
    margin["t"] += TITLE_ROOM
    margin["b"] += under
    foot = {
        "text": "<br>".join(escape(line) for line in lines),
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": 0,
        "xanchor": "left",
        "yanchor": "bottom",
        "xshift": 12 - margin["l"],
        "yshift": 8 - margin["b"],
        "align": "left",
        "showarrow": False,
        "font": {"size": 10, "color": PALETTES[theme].muted},
    }
    title = dict(frame.get("title") or {}) | {"y": 1, "yref": "container", "pad": {"t": TITLE_ROOM}}
    annotations = [*(frame.get("annotations") or []), foot]
    frame |= {
        "width": WIDTH,
        "height": HEIGHT,
        "autosize": False,
        "margin": margin,
        "title": title,
        "annotations": annotations,
    }
    return {"data": figure["data"], "layout": frame}


def _lines(text: str) -> Iterator[str]:
    line = ""
    for part in text.split(" · "):
        if line and len(line) + len(part) > FOOT_CHARACTERS:
            yield line
            line = part
        else:
            line = f"{line} · {part}" if line else part
    yield line


def browser() -> str | None:
    """The path of a Chrome: BROWSER_PATH, or the first of `BROWSERS` on the PATH; None where kaleido must look."""
    return os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, BROWSERS)), None)


def render(figures: Sequence[Figure], formats: Iterable[Format]) -> list[dict[Format, bytes]]:
    """The figures as pictures in each format, all in one start of the browser; raises `ExportError` without one.

    Must not be called from a thread that runs an asyncio loop.
    """
    return asyncio.run(_render(figures, tuple(formats)))


async def _render(figures: Sequence[Figure], formats: tuple[Format, ...]) -> list[dict[Format, bytes]]:
    try:
        import kaleido
    except ImportError:
        raise ExportError(f"{NO_CHROME}.") from None
    path = browser()
    options = {"path": path} if path else {}
    pictures: list[dict[Format, bytes]] = []
    try:
        async with kaleido.Kaleido(n=1, timeout=TIMEOUT, mathjax=False, **options) as chrome:
            for figure in figures:
                made: dict[Format, bytes] = {}
                for kind in formats:
                    size = {"width": WIDTH, "height": HEIGHT, "scale": SCALE if kind == "png" else 1}
                    made[kind] = await chrome.calc_fig(figure, opts={"format": kind, **size})
                pictures.append(made)
    except Exception as error:  # what kaleido and its browser raise has no common class
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ExportError(f"{NO_CHROME} ({reason}).") from error
    return pictures
