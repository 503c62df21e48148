"""A run as it reaches the page: the growing text of its lines, in batches. Knows no Gradio.

The text is what Gradio streams: it sends only what was appended, and the newest value is always the whole trace so
far, so that a lost update loses nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from blockviz.sampling.passes import End, Pass
from blockviz.sampling.trace_lines import Event, LineWriter
from blockviz.ui.sessions import Turns

UPDATE_SECONDS = 0.045
"""At most about 22 updates a second: more would only queue up in the browser."""
FIRST_PASSES = 2
"""So many passes of every run are shown at once: the start, which costs nothing, and the first network call."""
DOUBLING_SIZE = 200_000
"""Characters of text at which updates come half as often: Gradio compares the whole value in the browser each time."""


@dataclass
class LiveRun:
    """One run being followed. `text` grows by whole lines; `end` is there once the run is over; `calls` are its NFE."""

    events: Iterator[Event]
    writer: LineWriter
    turns: Turns
    end: End | None = None
    passes: int = 0
    size: int = 0
    calls: int = 0
    _text: str = ""
    _new: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All lines so far."""
        if (
            self._new
        ):  # joined only when it is asked for: appending line by line would copy the text every time
            self._text += "".join(self._new)
            self._new.clear()
        return self._text

    def step(self) -> bool:
        """Take the next event, holding the device meanwhile; False when the run is over."""
        with self.turns.turn():
            event = next(self.events, None)
        if event is None:
            return False
        line = self.writer.line(event)
        self._new.append(line)
        self.size += len(line)
        if isinstance(event, Pass):
            self.passes += 1
            self.calls = event.nfe_denoise + event.nfe_verify
        if isinstance(event, End):
            self.end = event
        return not isinstance(event, End)


def follow(runs: list[LiveRun], seconds: float = UPDATE_SECONDS) -> Iterator[None]:
    """Advance the runs in turn, pass by pass; yields when the page should be updated, and at the very end.

    The start of a run and its first network pass are updates of their own, so that something moves at once. Then one
    update is due every `seconds`; one that was late makes the next one no later, so that passes that come a little
    more seldom than that have an update each.
    """
    going = list(runs)
    due = 0.0
    while going:
        going = [run for run in going if run.step()]
        now = time.monotonic()
        fewest = min((run.passes for run in going), default=0)
        if fewest and (fewest <= FIRST_PASSES or now >= due):
            pause = seconds * (1 + sum(run.size for run in runs) / DOUBLING_SIZE)
            due = max(due, now - pause) + pause
            yield
    yield
