"""The bar over the runs of a tab: gallery, opening, saving, exports. What it does stands in assets/filebar.js.

Runs come on screen through one event, whether they are bundled examples (by name) or opened files (by the name under
which the `Handoff` keeps them).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Protocol

import gradio as gr

from blockviz.export.parcel import KINDS
from blockviz.ui import files as routes
from blockviz.ui.examples import Entry, gallery, header_of, recorded
from blockviz.ui.files import Handoff
from blockviz.ui.player_component import part
from blockviz.ui.serving import PICTURES, Asset
from blockviz.ui.wording import EXPORT_KINDS, FILES, TASKS
from blockviz.views.palette import PALETTES

_serial = count(1)


class Screen(Protocol):
    """What takes several runs: Compare."""

    @property
    def outputs(self) -> list[gr.HTML]:
        """The components that show them."""

    def values(self, runs: Sequence[str]) -> tuple[str, ...]:
        """A value for each of `outputs`."""


class OpenError(ValueError):
    """Runs that cannot be shown; the message is one sentence."""


def bar(assets: dict[str, Asset], place: str, elem_id: str) -> gr.HTML:
    """The bar of a tab, a part named "files" drawn by assets/filebar.js."""
    return part(
        "files",
        assets,
        elem_id=elem_id,
        group=place,
        words=FILES,
        tasks=[{"name": name, "label": task["label"]} for name, task in TASKS.items()],
        entries=[_shown(entry) for entry in gallery()],
        pictures=assets[PICTURES].address,
        colors={theme: palette.states for theme, palette in PALETTES.items()},
        kinds=[{"kind": kind, **EXPORT_KINDS[kind]} for kind in KINDS],
        open=routes.OPEN.removeprefix("/"),
        export=routes.EXPORT.removeprefix("/"),
        media=routes.MEDIA,
        largest=routes.LARGEST_FILE,
    )


def wire(bars: Sequence[gr.HTML], single: gr.HTML, several: Screen, handoff: Handoff) -> None:
    """Let the bars put runs on screen: one in Explore's player `single`, two to four in Compare, `several`.

    A bar asks again as soon as it has its answer, when Gradio may still count the event as going on: hence "multiple".
    """
    outputs = [single, *several.outputs, *bars]

    def show(event: gr.EventData) -> tuple[Any, ...]:
        data = event._data if isinstance(event._data, Mapping) else {}
        kept = [gr.skip()] * len(outputs)
        asked = data.get("asked")
        try:
            runs = asked_for(data, handoff)
        except OpenError as error:
            return (*kept[: -len(bars)], *_answers(len(bars), asked=asked, error=str(error)))
        answers = _answers(len(bars), asked=asked, runs=len(runs), file=data.get("file"))
        if len(runs) == 1:
            return (runs[0], *[gr.skip()] * len(several.outputs), *answers)
        return (gr.skip(), *several.values(runs), *answers)

    for one in bars:
        one.open(
            show,
            None,
            outputs,
            show_progress="hidden",
            api_visibility="private",
            trigger_mode="multiple",
            concurrency_limit=None,
        )


def asked_for(data: Mapping[str, Any], handoff: Handoff) -> list[str]:
    """The lines of the runs that an event of the bar asks for; raises `OpenError`."""
    name = data.get("example")
    if name is not None:
        entry = next((entry for entry in gallery() if entry.name == name), None)
        if entry is None:
            raise OpenError(FILES["no_example"])
        return [recorded(run) for run in entry.runs]
    tokens = data.get("tokens")
    runs = [run for token in tokens for run in handoff.take(token)] if isinstance(tokens, list) else []
    if not runs:
        raise OpenError(FILES["gone"])
    if len(runs) > routes.MOST_RUNS:
        raise OpenError(FILES["too_many"].format(count=len(runs), most=routes.MOST_RUNS))
    return runs


def _answers(bars: int, **told: Any) -> list[str]:
    """The same answer for every bar; numbered, because the browser does not report a value that stays the same."""
    return [json.dumps({"n": next(_serial), **told})] * bars


def _shown(entry: Entry) -> dict[str, Any]:
    headers = [header_of(recorded(name)) for name in entry.runs]
    return {
        "name": entry.name,
        "task": entry.task,
        "title": entry.title,
        "sentence": entry.sentence,
        "chosen": entry.chosen,
        "runs": list(entry.runs),
        "ids": [header.run for header in headers if header is not None],
    }
