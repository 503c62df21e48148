"""Stepping in on the page: the panel under Explore's canvas, whose forks run in Compare beside their parents.

The run on screen comes up as an opened file does, through the strict reader, and nothing of it stays on the server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import gradio as gr

from blockviz.sampling.edits import CHANGEABLE
from blockviz.sampling.settings import FIELDS, SettingsError
from blockviz.ui import files as routes
from blockviz.ui.controls import FormError
from blockviz.ui.files import Handoff
from blockviz.ui.forking import ForkRequest, read_fork
from blockviz.ui.live import LiveRun
from blockviz.ui.player_component import part
from blockviz.ui.runner import LARGEST, Runner, Update, refusal
from blockviz.ui.serving import Asset
from blockviz.ui.stepping_words import NO_RUN, NOT_ONE, WORDS
from blockviz.ui.wording import FILES, SILENCE, too_long
from blockviz.views.numbers import count

PLACE = "compare"
SIDE = "b"
OVER = "() => { window.BlockViz.stepping.over(); }"


class Screen(Protocol):
    """Where the two runs are shown: Compare."""

    @property
    def outputs(self) -> list[gr.HTML]:
        """The components that show them."""

    def values(self, runs: Sequence[str]) -> tuple[str, ...]:
        """A value for each of `outputs`."""


def panel(assets: dict[str, Asset]) -> gr.HTML:
    """The panel, a part drawn by assets/stepping.js, which moves it under the canvas."""
    return part(
        "stepping",
        assets,
        elem_id="stepping",
        words=WORDS,
        reading=FILES,
        changeable=list(CHANGEABLE),
        labels={name: field.label.lower() for name, field in FIELDS.items()},
        open=routes.OPEN.removeprefix("/"),
        media=routes.MEDIA,
        largest=routes.LARGEST_FILE,
        alive=assets["logo.svg"].address,  # any file will do to ask whether the server is still there
        silence=SILENCE,
    )


def wire(stepping: gr.HTML, screen: Screen, runner: Runner, handoff: Handoff) -> None:
    """Let the panel run forks: the parent from the left in `screen`, the fork beside it, its state in the panel."""

    def fork(event: gr.EventData, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        try:
            asked = _asked(event._data, handoff)
        except (FormError, SettingsError) as error:
            yield (*[gr.skip()] * len(screen.outputs), refusal(error).status())
            return
        for update in runner.updates(request.session_hash or "", PLACE, {SIDE: asked}):
            yield _shown(update, asked)

    def _shown(update: Update, asked: ForkRequest) -> tuple[Any, ...]:
        run = update.runs.get(SIDE)
        if run is None:
            return (*[gr.skip()] * len(screen.outputs), update.status())
        if update.state == "done":
            update = replace(update, message=_spent(asked, run))
        return (*screen.values([asked.lines, run.text]), update.status())

    def stop(request: gr.Request) -> None:
        runner.signals.stop(request.session_hash or "", PLACE)

    hidden: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    outputs = [*screen.outputs, stepping]
    run = stepping.fork(fork, None, outputs, api_name="stepping", concurrency_limit=None, **hidden)
    run.then(None, None, None, js=OVER, **hidden)
    stepping.stop(stop, None, None, queue=False, concurrency_limit=None, **hidden)


def _spent(asked: ForkRequest, run: LiveRun) -> str:
    """Where the fork stands and what it cost: its own network calls, and those that were made again."""
    before = asked.parent.passes[asked.edit.at]
    fork = json.loads(run.text.partition("\n")[0])["fork"]
    own = run.calls - before.nfe_denoise - before.nfe_verify
    words = WORDS["done"].format(
        own=count(own, "network call"), again=count(fork["rebuilt"], "call"), k=asked.edit.at
    )
    return f"{words} {too_long(LARGEST)}" if run.size > LARGEST else words


def _asked(data: object, handoff: Handoff) -> ForkRequest:
    """The fork that an event of the panel asks for, whose run waits under its token; raises `FormError`."""
    body = data if isinstance(data, Mapping) else {}
    runs = handoff.take(body.get("token"))
    if len(runs) != 1:
        raise FormError("edit", NOT_ONE if runs else NO_RUN)
    return read_fork(runs[0], body.get("edit"))
