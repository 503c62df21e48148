"""The scripts and styles of the browser side: one list for the page and for exported pages, read from `assets/`."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

from blockviz import __version__
from blockviz.sampling.settings import FIELDS
from blockviz.views.templates import SCRIPTS as VIEW_SCRIPTS
from blockviz.views.templates import STYLES as VIEW_STYLES
from blockviz.views.templates import panels, templates

ASSETS = Path(__file__).resolve().parents[2] / "assets"
PLAYER_SCRIPTS = (
    "dom.js",
    "pieces.js",
    "trace.js",
    "numbers.js",
    "canvas.js",
    "hover.js",
    "facts.js",
    "revisions.js",
    "story.js",
    "returns.js",
    "life.js",
    "inspector.js",
    "haste.js",
    "head.js",
    "clock.js",
    "align.js",
    "bus.js",
    "transport.js",
    "keys.js",
    "reader.js",
    "speech.js",
    "present.js",
    "cards.js",
    "player.js",
    "compare_facts.js",
    "compare_result.js",
)
PAGE_SCRIPTS = (
    "fields.js",
    "silence.js",
    "forms.js",
    "compare_plan.js",
    "compare_table.js",
    "compare_form.js",
    "compare.js",
    "compare_seeds.js",
    "glossary.js",
    "learn_outline.js",
    "learn.js",
    "learn_print.js",
    "cost.js",
    "permalink.js",
    "page.js",
    "files.js",
    "gallery.js",
    "filebar.js",
    "stepping_plan.js",
    "stepping_marks.js",
    "stepping_settings.js",
    "stepping_panel.js",
    "stepping.js",
)
STYLES = (
    "theme.css",
    "compare.css",
    "player.css",
    "transport.css",
    "present.css",
    "story.css",
    "inspector.css",
    "files.css",
    "stepping.css",
    *VIEW_STYLES,
)
PAGE_STYLES = ("glossary.css", "learn.css", "learn_print.css")
EXPORT_SCRIPTS = ("export.js",)
EXPORT_STYLES = ("export.css",)


def bundle(names: tuple[str, ...]) -> bytes:
    """The named files of assets/, one after another."""
    return b"\n".join((ASSETS / name).read_bytes() for name in names) + b"\n"


def player_script() -> bytes:
    """The player with its views, their templates and its words; needs nothing else but, for the views, Plotly."""
    return bundle(PLAYER_SCRIPTS + tuple(VIEW_SCRIPTS)) + _templates()


def page_script() -> bytes:
    """The player and what only the live page has (forms, tabs)."""
    return bundle(PLAYER_SCRIPTS + tuple(VIEW_SCRIPTS) + PAGE_SCRIPTS) + _templates()


def style() -> bytes:
    """The style of the page and the player."""
    return bundle(STYLES + PAGE_STYLES)


def _templates() -> bytes:
    # No "<": exported pages carry this inside a script element.
    known = {
        "templates": templates(),
        "panels": panels(),
        "version": __version__,
        "defaults": {name: field.default for name, field in FIELDS.items()},
    }
    text = json.dumps(known).replace("<", "\\u003c")
    return f"Object.assign(window.BlockViz, {text});\n".encode()


def plotly_script() -> bytes:
    """The installed plotly's own plotly.min.js, read without importing plotly."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("plotly is not installed; install requirements.txt")
    return (Path(spec.origin).parent / "package_data" / "plotly.min.js").read_bytes()
