"""The player and the other parts of the page that our own scripts draw: each a gr.HTML with a constant skeleton.

Data never enters a template: Gradio would run it (a token `${...}` as JavaScript). It travels in the component's
string value and reaches the DOM as text only.
"""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

from blockviz.ui.serving import Asset

VIEWS = ("fill", "confidence", "renoising", "attention", "timeline")

# `watch` does not fire for the first value, hence the call after it.
_ON_LOAD = """
const options = %s;
const root = element.querySelector(".bv-root");
const part = window.BlockViz.parts[options.part](root, options, (name, data) => trigger(name, data));
const feed = () => part.feed(props.value || "");
watch("value", feed);
feed();
// events of this part: 'generate' 'stop' 'open' 'measure' 'study' 'fork' 'cost'
"""


def head(files: dict[str, Asset]) -> str:
    """The script tag that a part waits for before it is drawn."""
    return f'<script src="{files["blockviz.js"].address}"></script>'


def part(
    kind: str,
    files: dict[str, Asset],
    *,
    value: str = "",
    elem_id: str | None = None,
    classes: str = "",
    **options: Any,
) -> gr.HTML:
    """A part of the page drawn by `BlockViz.parts[kind](root, options, emit)`; `value` is its first text.

    `options` become JSON inside the component's script and hold constants of the page only, never what a visitor typed.
    """
    safe = json.dumps({"part": kind, **options}).replace("<", "\\u003c")
    return gr.HTML(
        value,
        html_template='<div class="bv-root"></div>',
        js_on_load=_ON_LOAD % safe,
        head=head(files),
        apply_default_css=False,
        elem_id=elem_id,
        elem_classes=classes.split(),
    )


def player(
    files: dict[str, Asset], *, value: str = "", group: str, suffix: str = "", elem_id: str
) -> gr.HTML:
    """One player: canvas, facts and views of a run; `suffix` "-a" to "-d" makes it a side of Compare."""
    return part(
        "player",
        files,
        value=value,
        elem_id=elem_id,
        classes="bv-card",
        group=group,
        suffix=suffix,
        label=suffix.removeprefix("-").upper(),
        transport=not suffix,
        views=list(VIEWS),
        plotly=files["plotly.js"].address,
    )
