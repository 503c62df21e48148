"""From a request of the page to its updates: loading, waiting, running, errors in words. Knows no Gradio."""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from threading import Event as Signal
from typing import TYPE_CHECKING, Literal

from blockviz.sampling.passes import Header
from blockviz.sampling.settings import SettingsError
from blockviz.ui.controls import FormError, Request, on_side
from blockviz.ui.forking import ForkRequest
from blockviz.ui.live import LiveRun, follow
from blockviz.ui.sessions import Places, Signals, Turns
from blockviz.ui.shelf import Shelf
from blockviz.ui.wording import (
    failed,
    finished,
    loading,
    sharing,
    too_long,
    too_much_attention,
    waiting,
)

if TYPE_CHECKING:
    from blockviz.models.released import Release

LARGEST = 4_000_000
"""Characters of one run that the page keeps; a canvas of 1024 positions and 256 passes has half of that."""
MOST_ATTENTION = 2_000_000
"""Bytes of recorded attention in one run of the page, two thirds of LARGEST as text."""

REPEAT_SECONDS = 5.0
"""A waiting page hears this often that it still waits: silence would mean a lost connection."""

State = Literal["waiting", "running", "done", "error"]

_serial = count(1)


@dataclass(frozen=True)
class Update:
    """One update of the page. `runs` are the runs by side, empty while there is nothing new of them."""

    state: State
    message: str = ""
    errors: tuple[tuple[str, str], ...] = ()
    runs: Mapping[str, LiveRun] = field(default_factory=dict)

    def status(self) -> str:
        """The form's answer as JSON; numbered, because the browser does not report a value that stays the same."""
        errors = [{"field": name, "message": message} for name, message in self.errors]
        return json.dumps(
            {
                "n": next(_serial),
                "state": self.state,
                "message": self.message,
                "errors": errors,
                "runs": list(self.runs),
            }
        )


def refusal(error: FormError | SettingsError) -> Update:
    """The update that puts an error at the field where it was made."""
    return Update("error", errors=((error.field, str(error)),))


class Runner:
    """Owns the models, the turns at the device and the stop signals of all tabs."""

    def __init__(self, folder: Path | str, device: str = "auto", releases: Sequence[Release] = ()) -> None:
        self.shelf = Shelf(folder, device, releases)
        self.signals = Signals()
        self._turns = Turns()
        self._places = Places()

    def arrive(self) -> object:
        """Join the line of those that run at once; the ticket goes back with `leave`."""
        return self._places.arrive()

    def leave(self, ticket: object) -> None:
        """Make room for who waits next."""
        self._places.leave(ticket)

    def wait(self, ticket: object, signal: Signal) -> Iterator[int]:
        """Yield now and then how many are ahead, until the ticket's turn has come or the signal is set."""
        ahead = self._places.ahead(ticket)
        told, when = 0, 0.0
        while ahead and not signal.is_set():
            now = time.monotonic()
            if ahead != told or now - when > REPEAT_SECONDS:
                yield ahead
                told, when = ahead, now
            ahead = self._places.ahead(ticket, seconds=0.2)

    def turn(self) -> AbstractContextManager[None]:
        """Hold the device for the length of the block, first come, first served among all runs."""
        return self._turns.turn()

    def warm_up(self) -> None:
        """Load the models offered first, so that the first click need not wait; a broken one shows on first use."""
        for offer in self.shelf.offers()[:2]:
            try:
                self.shelf.load(offer.name)
            except Exception as error:  # reported to whoever chooses the model
                print(f"{offer.name} was not loaded: {error}", file=sys.stderr)

    def updates(
        self, session: str, place: str, requests: Mapping[str, Request | ForkRequest]
    ) -> Iterator[Update]:
        """Run the requests (by side; one side is Explore) step by step and say what the page should show.

        Never raises for what a visitor entered or for a run that breaks: both come as an update with state "error".
        """
        signal = self.signals.begin(session, place)
        ticket = self._places.arrive()
        try:
            for ahead in self.wait(ticket, signal):
                yield Update("waiting", waiting(ahead))
            yield from self._run(requests, signal)
        except (FormError, SettingsError) as error:
            yield refusal(error)
        except Exception as error:  # a run that breaks must end in words, not in a button that stays busy
            traceback.print_exception(error)
            yield Update("error", failed(_one_line(error)))
        finally:
            signal.set()
            self._places.leave(ticket)
            self.signals.end(session, place, signal)

    def _run(self, requests: Mapping[str, Request | ForkRequest], signal: Signal) -> Iterator[Update]:
        for request in requests.values():
            if not self.shelf.holds(request.model):
                yield Update("running", loading(request.model))
        runs = {side: self._begin(request, signal, side) for side, request in requests.items()}
        note = ""
        for _ in follow(list(runs.values())):
            if not note and any(run.size > LARGEST for run in runs.values()):
                note = too_long(LARGEST)
                signal.set()
            yield Update("running", note or sharing(self._places.others()), runs=runs)
        yield Update("done", " ".join(filter(None, (_summary(runs), note))), runs=runs)

    def _begin(self, request: Request | ForkRequest, signal: Signal, side: str) -> LiveRun:
        """A run that has given its header, so that everything wrong with the request has been said."""
        from blockviz.evaluation.tasks import checker_for, known_answer
        from blockviz.models.checkpoint import CheckpointError
        from blockviz.models.tokens import UnknownText
        from blockviz.sampling.attention_recording import recorded_bytes
        from blockviz.sampling.trace_lines import LineWriter

        def located(name: str, message: str) -> FormError:
            return on_side(side, name, message) if side else FormError(name, message)

        try:
            model = self.shelf.load(request.model)
        except KeyError:
            raise located("model", request.unknown_model) from None
        except CheckpointError as error:
            raise located("model", str(error)) from None
        checker = checker_for(model, known_answer(request.prompt))
        try:
            with self._turns.turn():
                events = request.begin(model, checker, signal.is_set)
                header = next(events)
        except SettingsError as error:
            raise located(error.field, str(error)) from None
        except UnknownText as error:
            raise located("prompt", str(error)) from None
        assert isinstance(header, Header)
        asked, _ = recorded_bytes(header.settings, header.model.heads, header.prompt_length, header.length)
        if asked > MOST_ATTENTION:
            events.close()
            raise located("record_attention", too_much_attention(asked, MOST_ATTENTION))
        return LiveRun(chain([header], events), LineWriter(model.tokens.piece, model.tokens.raw), self._turns)


def _summary(runs: Mapping[str, LiveRun]) -> str:
    ended = [run for run in runs.values() if run.end is not None]
    if len(ended) != len(runs):
        return ""
    return finished(
        sum(run.passes - 1 for run in ended),  # as the page counts: pass 0 is the start
        sum(run.calls for run in ended),
        max(run.end.seconds for run in ended if run.end is not None),
        any(run.end.stopped for run in ended if run.end is not None),
    )


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."
