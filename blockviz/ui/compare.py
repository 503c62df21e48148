"""The Compare tab: two to four runs of one prompt, each with its player, under one transport; figures of whole runs.

Runs that were not asked for in its form (an opened file, a fork beside its parent) come in through `Screen`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from blockviz.sampling.settings import SettingsError
from blockviz.sampling.trace import Trace
from blockviz.ui import filebar, many_seeds
from blockviz.ui.compare_words import SEEDS
from blockviz.ui.controls import SIDES, FormError, read_compare
from blockviz.ui.measuring import measure
from blockviz.ui.player_component import part, player
from blockviz.ui.runner import Runner, Update, refusal
from blockviz.ui.serving import Asset
from blockviz.ui.wording import SILENCE

PLACE = "compare"
OVER = "() => { window.BlockViz.over('compare'); }"
SEEDS_OVER = "() => { window.BlockViz.seedsOver(); }"
SHOW = "() => { window.BlockViz.compare.show(); }"
"""For an event that has put runs into the sides: shows the tab with them."""


@dataclass(frozen=True)
class Screen:
    """Where runs are shown beside each other: any event of the page can put some there.

    Its `outputs` take what `values` gives; `SHOW` as the script of a following step opens the tab:
    `event(lambda ...: screen.values(runs), ..., screen.outputs).then(None, None, None, js=SHOW)`.
    """

    players: tuple[gr.HTML, ...]
    bar: gr.HTML

    @property
    def outputs(self) -> list[gr.HTML]:
        """The components that show the runs."""
        return list(self.players)

    def values(self, runs: Sequence[Trace | str]) -> tuple[str, ...]:
        """A value for each of `outputs`: one to four runs (traces, or their lines as text) from the left, in order.

        Raises ValueError for none or more than four. Text that is no trace is refused by the player it is shown in.
        """
        if not 1 <= len(runs) <= len(self.players):
            raise ValueError(f"Compare shows 1 to {len(self.players)} runs, not {len(runs)}")
        texts = ["".join(run.to_lines()) if isinstance(run, Trace) else run for run in runs]
        return (*texts, *[""] * (len(self.players) - len(texts)))


def build(runner: Runner, files: dict[str, Asset], spec: str, examples: tuple[str, str]) -> Screen:
    """Put the tab into the current Blocks and give its screen; `examples` are the two runs it opens with, as lines.

    They are sent when the tab is first opened, so that they do not delay the first paint of the page.
    """
    with gr.Column(elem_id="compare"):
        alive = files["logo.svg"].address  # any file will do to ask whether the server is still there
        form = part(
            "form", files, classes="bv-card", elem_id="compare-form", form=PLACE, spec=spec, alive=alive
        )
        bar = filebar.bar(files, PLACE, "compare-files")
        part("transport", files, classes="bv-card", elem_id="compare-transport", group=PLACE)
        part("sides", files, elem_id="compare-under")
        with gr.Row(elem_classes=["bv-pair"]):
            players = tuple(
                player(files, group=PLACE, suffix="-" + side, elem_id="player-" + side) for side in SIDES
            )
        scorers = [
            {"name": offer.name, "task": offer.task, "reads_only": offer.reads_only}
            for offer in runner.shelf.offers()
        ]
        result = part("result", files, elem_id="compare-result", group=PLACE, scorers=scorers)
        study = part(
            "seeds",
            files,
            classes="bv-card",
            elem_id="compare-seeds",
            words=SEEDS,
            counts=many_seeds.COUNTS,
            usual=many_seeds.USUAL,
            models=len(scorers),
            alive=alive,
            silence=SILENCE,
        )
    screen = Screen(players, bar)

    def open_tab() -> tuple[str, ...]:
        return examples

    def generate(event: gr.EventData, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        try:
            asked = read_compare(event._data)
        except (FormError, SettingsError) as error:
            yield (*[gr.skip()] * len(players), refusal(error).status())
            return
        for update in runner.updates(request.session_hash or "", PLACE, asked):
            yield shown(update)

    def shown(update: Update) -> tuple[Any, ...]:
        if not update.runs:
            return (*[gr.skip()] * len(players), update.status())
        return (*[update.runs[side].text if side in update.runs else "" for side in SIDES], update.status())

    def read(event: gr.EventData) -> str:
        return measure(runner, event._data)

    def stop(request: gr.Request) -> None:
        runner.signals.stop(request.session_hash or "", PLACE)

    def many(event: gr.EventData, request: gr.Request) -> Iterator[str]:
        yield from many_seeds.updates(runner, request.session_hash or "", event._data)

    def stop_many(request: gr.Request) -> None:
        runner.signals.stop(request.session_hash or "", many_seeds.PLACE)

    hidden = {"show_progress": "hidden", "api_visibility": "private"}
    run = form.generate(
        generate,
        None,
        [*screen.outputs, form],
        api_name=PLACE + "_form",
        concurrency_limit=None,
        **hidden,
    )
    run.then(None, None, None, js=OVER, **hidden)
    form.stop(stop, None, None, queue=False, concurrency_limit=None, **hidden)
    form.open(open_tab, None, [*players[:2]], concurrency_limit=None, **hidden)
    # Other runs may have come on screen before the answer for the last ones is there.
    result.measure(read, None, result, trigger_mode="multiple", concurrency_limit=None, **hidden)
    ran = study.study(many, None, study, concurrency_limit=None, **hidden)
    ran.then(None, None, None, js=SEEDS_OVER, **hidden)
    study.stop(stop_many, None, None, queue=False, concurrency_limit=None, **hidden)
    return screen
