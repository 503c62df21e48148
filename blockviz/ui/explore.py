"""The Explore tab: one form, one player."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from blockviz.sampling.settings import SettingsError
from blockviz.ui import costing, filebar
from blockviz.ui.controls import FormError, read_explore
from blockviz.ui.player_component import part, player
from blockviz.ui.runner import Runner, Update, refusal
from blockviz.ui.serving import Asset
from blockviz.ui.wording import COST, SILENCE

PLACE = "explore"
OVER = "() => { window.BlockViz.over('explore'); }"
COST_OVER = "() => { window.BlockViz.costOver(); }"


def build(runner: Runner, files: dict[str, Asset], spec: str, example: str) -> tuple[gr.HTML, gr.HTML]:
    """Put the tab into the current Blocks and give its player and the bar over it.

    `spec` is the form's JSON, `example` the run (lines) that plays first.
    """
    with gr.Row(elem_id="explore"):
        alive = files["logo.svg"].address  # any file will do to ask whether the server is still there
        form = part(
            "form", files, classes="bv-card", elem_id="explore-form", form=PLACE, spec=spec, alive=alive
        )
        with gr.Column(elem_id="explore-run"):
            bar = filebar.bar(files, PLACE, "explore-files")
            screen = player(files, value=example, group=PLACE, elem_id="player")
        price = part(
            "cost",
            files,
            classes="bv-card",
            elem_id="explore-cost",
            words=COST,
            models=len(runner.shelf.offers()),
            alive=alive,
            silence=SILENCE,
        )

    def generate(event: gr.EventData, request: gr.Request) -> Iterator[tuple[Any, str]]:
        try:
            asked = read_explore(event._data)
        except (FormError, SettingsError) as error:
            yield gr.skip(), refusal(error).status()
            return
        for update in runner.updates(request.session_hash or "", PLACE, {"": asked}):
            yield shown(update), update.status()

    def shown(update: Update) -> Any:
        return update.runs[""].text if update.runs else gr.skip()

    def stop(request: gr.Request) -> None:
        runner.signals.stop(request.session_hash or "", PLACE)

    def cost(event: gr.EventData, request: gr.Request) -> Iterator[str]:
        yield from costing.updates(runner, request.session_hash or "", event._data)

    def stop_cost(request: gr.Request) -> None:
        runner.signals.stop(request.session_hash or "", costing.PLACE)

    hidden = {"show_progress": "hidden", "api_visibility": "private"}
    run = form.generate(
        generate, None, [screen, form], api_name=PLACE + "_form", concurrency_limit=None, **hidden
    )
    run.then(None, None, None, js=OVER, **hidden)
    measured = price.cost(cost, None, price, concurrency_limit=None, **hidden)
    measured.then(None, None, None, js=COST_OVER, **hidden)
    price.stop(stop_cost, None, None, queue=False, concurrency_limit=None, **hidden)
    form.stop(stop, None, None, queue=False, concurrency_limit=None, **hidden)
    return screen, bar
