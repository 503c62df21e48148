"""Many seeds on the page: the runs that Compare's form asks for, over n seeds, from the event to JSON for its part."""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from threading import Event as Signal
from typing import TYPE_CHECKING, Any

from blockviz.sampling.settings import SettingsError
from blockviz.ui.compare_words import SEEDS
from blockviz.ui.controls import FormError, Request, on_side, read_compare
from blockviz.ui.runner import Runner
from blockviz.ui.wording import UNKNOWN_MODEL, failed, loading, waiting
from blockviz.views.numbers import fixed

if TYPE_CHECKING:
    from blockviz.evaluation.many_seeds import Configuration, Study
    from blockviz.evaluation.paired import Difference

PLACE = "seeds"
COUNTS = (10, 20, 50, 100, 200)
USUAL = 20
LABELS = "ABCD"
DIGITS = {"right": 0, "nll": 3, "entropy": 2, "distinct": 1, "nfe": 1, "tokens": 1}

_serial = count(1)


class Stopped(Exception):
    """Someone pressed Stop."""


@dataclass(frozen=True)
class _Asked:
    requests: Mapping[str, Request]
    count: int
    scorer: str | None


def updates(runner: Runner, session: str, data: object) -> Iterator[str]:
    """Answers as JSON for assets/compare_seeds.js: {n, state, message, done, total, study}; never raises for input."""
    signal = runner.signals.begin(session, PLACE)
    ticket = runner.arrive()
    try:
        asked = _asked(data)
        for ahead in runner.wait(ticket, signal):
            yield _answer("running", waiting(ahead))
        for request in asked.requests.values():
            if not runner.shelf.holds(request.model):
                yield _answer("running", loading(request.model))
        yield from _studied(runner, asked, signal)
    except (FormError, SettingsError, ValueError) as error:
        yield _answer("error", str(error))
    except Exception as error:  # a study that breaks must end in words, not in a button that stays busy
        traceback.print_exception(error)
        yield _answer("error", failed(str(error)[:300] or type(error).__name__))
    finally:
        signal.set()
        runner.leave(ticket)
        runner.signals.end(session, PLACE, signal)


def _asked(data: object) -> _Asked:
    if not isinstance(data, dict) or type(data.get("count")) is not int or data["count"] not in COUNTS:
        raise FormError("count", SEEDS["bad_count"].format(counts=", ".join(map(str, COUNTS))))
    scorer = data.get("scorer")
    return _Asked(read_compare(data.get("form")), data["count"], scorer if isinstance(scorer, str) else None)


def _studied(runner: Runner, asked: _Asked, signal: Signal) -> Iterator[str]:
    from blockviz.evaluation.many_seeds import study
    from blockviz.evaluation.tasks import known_answer
    from blockviz.models.tokens import UnknownText

    configurations = [_configuration(runner, side, request) for side, request in asked.requests.items()]
    first = next(iter(asked.requests.values()))
    try:
        scorer = runner.shelf.load(asked.scorer) if asked.scorer else configurations[0].model
    except KeyError:
        raise FormError("scorer", UNKNOWN_MODEL) from None
    total = asked.count * len(configurations)
    found: Study | None = None
    yield _answer("running", SEEDS["starting"], 0, total)
    with Held(runner, signal) as turns:
        runs = study(
            configurations,
            first.prompt,
            asked.count,
            seed=first.settings.seed,
            scorer=scorer,
            answer=known_answer(first.prompt),
            tick=turns.pause,
        )
        try:
            for found in runs:
                done = sum(map(len, found.outcomes))
                shown = _shown(found, first.settings.seed) if found.seeds else None
                turns.give()  # a page that reads slowly keeps no one waiting for the device
                yield _answer("running", SEEDS["progress"].format(done=done, total=total), done, total, shown)
                turns.take()
        except Stopped:
            pass
        except (SettingsError, UnknownText) as error:
            raise FormError("", str(error)) from None
    if found is None or not found.seeds:
        yield _answer("done", SEEDS["stopped_early"])
        return
    words = SEEDS["done" if len(found.seeds) == asked.count else "stopped"]
    yield _answer(
        "done", words.format(count=len(found.seeds)), total, total, _shown(found, first.settings.seed)
    )


class Held:
    """The device, held while something is computed, and given to others between two events of the runs."""

    def __init__(self, runner: Runner, signal: Signal) -> None:
        self._runner, self._signal = runner, signal
        self._turn: Any = None

    def __enter__(self) -> Held:
        self.take()
        return self

    def __exit__(self, *_: object) -> None:
        self.give()

    def take(self) -> None:
        """Wait for the device and hold it."""
        self._turn = self._runner.turn()
        self._turn.__enter__()

    def give(self) -> None:
        """Let others have the device."""
        if self._turn is not None:
            self._turn.__exit__(None, None, None)
            self._turn = None

    def pause(self) -> None:
        """Let others have a turn; raises `Stopped` where someone said so."""
        if self._signal.is_set():
            raise Stopped
        self.give()
        self.take()


def _configuration(runner: Runner, side: str, request: Request) -> Configuration:
    from blockviz.evaluation.many_seeds import Configuration
    from blockviz.models.checkpoint import CheckpointError

    try:
        return Configuration(runner.shelf.load(request.model), request.settings)
    except KeyError:
        raise on_side(side, "model", UNKNOWN_MODEL) from None
    except CheckpointError as error:
        raise on_side(side, "model", str(error)) from None


def _answer(
    state: str, message: str, done: int = 0, total: int = 0, study: dict[str, Any] | None = None
) -> str:
    return json.dumps(
        {
            "n": next(_serial),
            "state": state,
            "message": message,
            "done": done,
            "total": total,
            "study": study,
        }
    )


def _shown(found: Study, first_seed: int) -> dict[str, Any]:
    """The study as the page shows it: values for the charts, rows of text for the table."""
    from blockviz.evaluation.accuracy import wilson

    many = range(len(found.outcomes))
    charts = {name: [found.values(i, name) for i in many] for name in ("right", "nll", "entropy", "nfe")}
    rights = charts["right"]
    intervals = [wilson(int(sum(row)), len(row)) for row in rights if row is not None]
    return {
        "labels": list(LABELS[: len(found.outcomes)]),
        "seeds": found.seeds,
        "charts": {name: rows for name, rows in charts.items() if all(row is not None for row in rows)},
        "intervals": intervals,
        "columns": [SEEDS["column"].format(label=LABELS[i]) for i in many if i],
        "rows": [row for row in (_row(found, name) for name in DIGITS) if row] + [_times(found)],
        "method": SEEDS["method"].format(count=len(found.seeds), first=first_seed),
    }


def _row(found: Study, name: str) -> dict[str, Any] | None:
    many = range(len(found.outcomes))
    values = [found.values(i, name) for i in many]
    if any(row is None for row in values):
        return None
    title = (
        SEEDS["right_" + str(found.judged)] if name == "right" else SEEDS[name].format(scorer=found.scorer)
    )
    return {
        "key": name,
        "name": title,
        "cells": [_cell(name, row) for row in values if row is not None],
        "differences": [_difference(name, found.difference(name, i)) for i in many if i],
    }


def _cell(name: str, values: list[float]) -> str:
    if name == "right":
        return SEEDS["of"].format(right=int(sum(values)), count=len(values))
    mean = sum(values) / len(values)
    low, high = min(values), max(values)
    digits = DIGITS[name]
    whole = 0 if name in ("nfe", "tokens") else digits
    return f"{fixed(mean, digits)} ({fixed(low, whole)} – {fixed(high, whole)})"


def _difference(name: str, found: Difference | None) -> dict[str, Any]:
    if found is None or math.isnan(found.low):
        return {"text": "–", "tells": False, "words": ""}
    factor, digits = (100, 0) if name == "right" else (1, DIGITS[name])
    value, low, high = (_signed(factor * number, digits) for number in (found.value, found.low, found.high))
    unit = SEEDS["points"] if name == "right" else ""
    p = ""
    if found.p is not None:
        p = SEEDS["mcnemar"].format(p=f"= {fixed(found.p, 3)}" if found.p >= 0.001 else "< 0.001")
    if found.value == found.low == found.high == 0:
        return {"text": SEEDS["equal"], "tells": False, "words": ""}
    words = SEEDS["tells_more" if found.value > 0 else "tells_less"] if found.tells else SEEDS["cannot_tell"]
    return {"text": f"{value}{unit} [{low}, {high}]{p}", "tells": found.tells, "words": words}


def _signed(value: float, digits: int) -> str:
    text = fixed(value, digits)
    return f"+{text}" if value > 0 and float(text) != 0 else text


def _times(found: Study) -> dict[str, Any]:
    cells = [f"{fixed(ms, 0)}" for ms in found.ms]
    none = {"text": SEEDS["no_interval"], "tells": False, "words": ""}
    return {"key": "ms", "name": SEEDS["ms"], "cells": cells, "differences": [none] * (len(found.ms) - 1)}
