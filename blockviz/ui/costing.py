"""What a sampler costs, on the page: from the event to JSON for assets/cost.js."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from itertools import count
from threading import Event as Signal
from typing import Any

from blockviz.sampling.settings import SettingsError
from blockviz.ui.controls import FormError, Request, read_explore
from blockviz.ui.many_seeds import Held, Stopped
from blockviz.ui.runner import Runner
from blockviz.ui.wording import COST, UNKNOWN_MODEL, failed, loading, waiting
from blockviz.views import cost as view
from blockviz.views.palette import THEMES

PLACE = "cost"
ROUNDS = {"rivals": 5, "grid": 3}

_serial = count(1)


def updates(runner: Runner, session: str, data: object) -> Iterator[str]:
    """Answers as JSON {n, state, message, done, total, shown}; never raises for what a visitor entered."""
    signal = runner.signals.begin(session, PLACE)
    ticket = runner.arrive()
    try:
        kind = data.get("kind") if isinstance(data, dict) else None
        if not isinstance(data, dict) or kind not in ROUNDS:
            raise FormError("", COST["bad_kind"])
        request = read_explore(data.get("form"))
        for ahead in runner.wait(ticket, signal):
            yield _answer("running", waiting(ahead))
        if not runner.shelf.holds(request.model):
            yield _answer("running", loading(request.model))
        yield from _measured(runner, request, kind, signal)
    except (FormError, SettingsError, ValueError) as error:
        yield _answer("error", str(error))
    except Exception as error:  # a measurement that breaks must end in words, not in a button that stays busy
        traceback.print_exception(error)
        yield _answer("error", failed(str(error)[:300] or type(error).__name__))
    finally:
        signal.set()
        runner.leave(ticket)
        runner.signals.end(session, PLACE, signal)


def _measured(runner: Runner, request: Request, kind: str, signal: Signal) -> Iterator[str]:
    from blockviz.evaluation.cost import Meter, cells_of, report, rivals_of

    try:
        model = runner.shelf.load(request.model)
    except KeyError:
        raise FormError("model", UNKNOWN_MODEL) from None
    settings, rounds = request.settings, ROUNDS[kind]
    if kind == "grid":
        samplers = cells_of(settings, settings.length or model.info.length)
    else:
        samplers = rivals_of(model, settings, request.prompt)
    meter = Meter(model, samplers, request.prompt, rounds)
    yield _answer("running", COST["starting"], 0, meter.total)
    with Held(runner, signal) as held:
        try:
            for done in meter.runs():
                held.pause()
                yield _answer(
                    "running", COST["progress"].format(done=done, total=meter.total), done, meter.total
                )
        except Stopped:
            yield _answer("done", COST["stopped"])
            return
    found = report(model, request.prompt, meter.costs(), rounds)
    yield _answer("done", COST["done"], meter.total, meter.total, _shown(found))


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    """The measurement as the page shows it: the table as text, the chart in both themes, the guidance."""
    return {
        "columns": list(view.COLUMNS),
        "rows": view.rows(found),
        "figures": {theme: view.figure(found, theme, framed=False) for theme in THEMES},
        "guidance": view.guidance(found),
        "method": view.says(found),
    }


def _answer(
    state: str, message: str, done: int = 0, total: int = 0, shown: dict[str, Any] | None = None
) -> str:
    return json.dumps(
        {"n": next(_serial), "state": state, "message": message, "done": done, "total": total, "shown": shown}
    )
