"""One HTML file with one to four runs and the page's own player: opens anywhere, asks no network for anything.

The runs stand in it as inert data: script elements of a data type, with every `<` as \\u003c, so that no token can end
them. Token text reaches the page as text only, as everywhere in the player. A Content-Security-Policy lets exactly the
file's own scripts run (by their hashes) and nothing be fetched or sent.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from dataclasses import replace

from blockviz import __version__
from blockviz.export.words import ExportError, clean, footer, title
from blockviz.sampling.trace import Trace
from blockviz.views.bundle import (
    ASSETS,
    EXPORT_SCRIPTS,
    EXPORT_STYLES,
    bundle,
    player_script,
    plotly_script,
    style,
)
from blockviz.views.templates import VIEWS

MOST_RUNS = 4
MOST_CHARACTERS = 64_000_000
"""Characters of the runs in one file; browsers slow down long before."""
LABELS = "ABCD"
_SHOW_VIEWS = "window.BlockViz.exported.showViews();\n"


def page(traces: Sequence[Trace], *, views: bool = True) -> str:
    """The file's text for one to four runs; without `views` it has no charts and no Plotly (4.8 MB less).

    Raises `ExportError`.
    """
    if not 1 <= len(traces) <= MOST_RUNS:
        raise ExportError(f"A page holds 1 to {MOST_RUNS} runs, not {len(traces)}.")
    runs = ["".join((trace if views else _without_attention(trace)).to_lines()) for trace in traces]
    total = sum(map(len, runs))
    if total > MOST_CHARACTERS:
        raise ExportError(f"The runs have {total} characters; a page may hold {MOST_CHARACTERS}.")
    scripts = [player_script().decode() + bundle(EXPORT_SCRIPTS).decode()]
    if views:
        scripts += [plotly_script().decode(), _SHOW_VIEWS]
    scripts = [_closed(script) for script in scripts]
    name = " | ".join(title(trace.header) for trace in traces)
    data = [_data("bv-config", "application/json", json.dumps(_config(traces, views)))]
    data += [_data(f"bv-run-{index}", "application/x-ndjson", run) for index, run in enumerate(runs)]
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f'<meta name="generator" content="BlockViz {__version__}">',
            f"<title>{_text(name)} · BlockViz</title>",
            f"<style>{style().decode()}{bundle(EXPORT_STYLES).decode()}</style>",
            "</head>",
            "<body>",
            f"<noscript>{_without_scripts(traces)}</noscript>",
            '<div id="bv-export"></div>',
            *data,
            *(f"<script>{script}</script>" for script in scripts),
            "</body>",
            "</html>",
            "",
        )
    )


def _without_attention(trace: Trace) -> Trace:
    """The run without its attention weights, which only the views show."""
    return replace(trace, passes=tuple(replace(entry, attention=None) for entry in trace.passes))


def policy(scripts: Sequence[str]) -> str:
    """The Content-Security-Policy that allows these inline scripts and no request at all."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    # Plotly sets style attributes; pictures are made in the page itself (the logo, a chart as an image).
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _config(traces: Sequence[Trace], views: bool) -> dict[str, object]:
    logo = base64.b64encode((ASSETS / "logo.svg").read_bytes()).decode()
    labels = LABELS[: len(traces)] if len(traces) > 1 else [""]
    return {
        "views": list(VIEWS) if views else [],
        "logo": f"data:image/svg+xml;base64,{logo}",
        "themes": {"light": "Switch to the light theme", "dark": "Switch to the dark theme"},
        "runs": [
            {"label": label, "title": title(trace.header), "footer": footer(trace.header)}
            for label, trace in zip(labels, traces, strict=True)
        ],
    }


def _data(name: str, kind: str, text: str) -> str:
    """A data block: JSON in which every `<` is an escape, which is the same JSON and ends no element."""
    return f'<script type="{kind}" id="{name}">{text.replace("<", chr(92) + "u003c")}</script>'


def _closed(script: str) -> str:
    """A script of ours (or Plotly's) that cannot end its element early; its text stands in no data."""
    script = script.replace("\r\n", "\n").replace("\r", "\n")  # as the parser reads it, for the hash
    script = re.sub(r"</(?=script)", r"<\\/", script, flags=re.IGNORECASE)
    if "<!--" in script:
        raise ExportError("A bundled script holds an HTML comment, so it cannot stand in a page.")
    return script


def _without_scripts(traces: Sequence[Trace]) -> str:
    texts = (f"<p>{_text(title(trace.header))}</p><pre>{_text(trace.end.text)}</pre>" for trace in traces)
    return "<p>This page plays recorded runs with JavaScript, which is off. Their texts:</p>" + "".join(texts)


def _text(text: str) -> str:
    return html.escape(clean(text))
