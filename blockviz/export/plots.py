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
WIDTH, SCALE = 960, 2
"""Width in CSS pixels; a PNG has SCALE times as many."""
TITLE_ROOM = 20
FOOT_LINE = 15
FOOT_CHARACTERS = 150
TIMEOUT = 300
"""Seconds for one chart."""
BROWSERS = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "chrome")
NO_CHROME = (
    "Charts as PNG or SVG need kaleido (install requirements.txt) and a Chrome or Chromium on this machine "
    "(or its path in BROWSER_PATH); without one, use the download button on each chart of the page"
)


def figures(trace: Trace, number: int, theme: Theme = "light") -> dict[str, Figure]:
    """Every chart of pass `number` by name, with model, settings, seed and version under its help.

    Raises IndexError when there is no such pass.
    """
    return {name: _named(view.figure(trace, number, theme), trace, theme) for name, view in VIEWS.items()}


def _named(figure: Figure, trace: Trace, theme: Theme) -> Figure:
    frame = dict(figure["layout"])
    lines = [line for text in footer(trace.header) for line in _lines(clean(text))]
    # Above the plot: keys and colour bars have the room below it.
    style = f"font-size:10px;color:{PALETTES[theme].muted}"
    words = "".join(f"<br><span style='{style}'>{escape(line)}</span>" for line in lines)
    title = dict(frame["title"])
    title |= {"text": title["text"] + words, "y": 1, "yref": "container", "pad": {"t": TITLE_ROOM}}
    room = TITLE_ROOM + FOOT_LINE * len(lines)
    margin = dict(frame["margin"]) | {"t": frame["margin"]["t"] + room}
    size = {"width": WIDTH, "height": frame["height"] + room, "autosize": False}
    return {"data": figure["data"], "layout": frame | {"margin": margin, "title": title} | size}


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
    where = {"path": path} if path else {}
    pictures: list[dict[Format, bytes]] = []
    try:
        async with kaleido.Kaleido(n=1, timeout=TIMEOUT, mathjax=False, **where) as chrome:
            for figure in figures:
                made: dict[Format, bytes] = {}
                for kind in formats:
                    options = {"format": kind, "width": WIDTH, "height": figure["layout"]["height"]}
                    options |= {"scale": SCALE if kind == "png" else 1}
                    made[kind] = await chrome.calc_fig(figure, opts=options)
                pictures.append(made)
    except Exception as error:  # what kaleido and its browser raise has no common class
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ExportError(f"{NO_CHROME} ({reason}).") from error
    return pictures
