"""The Compare tab: one prompt and seed on two configurations, two players under one transport, the whole-run table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from blockviz.sampling.settings import SettingsError
from blockviz.ui.controls import FormError, read_compare
from blockviz.ui.player_component import part, player
from blockviz.ui.runner import Runner, Update, refusal
from blockviz.ui.serving import Asset
from blockviz.ui.summary import Summary, comparison

PLACE = "compare"
OVER = "() => { window.BlockViz.over('compare'); }"


def build(runner: Runner, files: dict[str, Asset], spec: str, examples: tuple[str, str], result: str) -> None:
    """Put the tab into the current Blocks; `examples` are the two runs it opens with, as lines.

    These and `result`, their table as JSON, are sent when the tab is first opened, so that they do not delay the
    first paint of the page.
    """
    with gr.Column(elem_id="compare"):
        alive = files["logo.svg"].address  # any file will do to ask whether the server is still there
        form = part(
            "form", files, classes="bv-card", elem_id="compare-form", form=PLACE, spec=spec, alive=alive
        )
        part("transport", files, classes="bv-card", elem_id="compare-transport", group=PLACE)
        with gr.Row(elem_classes=["bv-pair"]):
            first = player(files, group=PLACE, suffix="-a", elem_id="player-a")
            second = player(files, group=PLACE, suffix="-b", elem_id="player-b")
        table = part("result", files, classes="bv-card", elem_id="compare-result")

    def open_tab() -> tuple[str, str, str]:
        return (*examples, result)

    def generate(event: gr.EventData, request: gr.Request) -> Iterator[tuple[Any, Any, str, Any]]:
        try:
            asked = read_compare(event._data)
        except (FormError, SettingsError) as error:
            yield gr.skip(), gr.skip(), refusal(error).status(), gr.skip()
            return
        for update in runner.updates(request.session_hash or "", PLACE, asked):
            yield shown(update)

    def shown(update: Update) -> tuple[Any, Any, str, Any]:
        if not update.runs:
            return gr.skip(), gr.skip(), update.status(), gr.skip()
        a, b = update.runs["a"], update.runs["b"]
        done = update.state == "done"
        return a.text, b.text, update.status(), comparison(a.summary, b.summary) if done else gr.skip()

    def stop(request: gr.Request) -> None:
        runner.signals.stop(request.session_hash or "", PLACE)

    hidden = {"show_progress": "hidden", "api_visibility": "private"}
    run = form.generate(
        generate,
        None,
        [first, second, form, table],
        api_name=PLACE + "_form",
        concurrency_limit=None,
        **hidden,
    )
    run.then(None, None, None, js=OVER, **hidden)
    form.stop(stop, None, None, queue=False, concurrency_limit=None, **hidden)
    form.open(open_tab, None, [first, second, table], concurrency_limit=None, **hidden)


def summary_of(lines: str) -> Summary:
    """The figures of a recorded run; empty for an empty text."""
    from blockviz.sampling.trace import Trace

    summary = Summary()
    if lines:
        for event in Trace.from_lines(lines.splitlines()).events():
            summary.add(event)
    return summary
