"""Who runs what: stop signals of each browser tab, and the turns at the one device.

A tab has at most one run per place (Explore, Compare); a new one replaces it. Runs of different tabs take turns pass by
pass, in the order in which they asked, so that none starves; beyond `MAX_RUNS` at once a run waits for another's end.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager

MAX_RUNS = 6
MAX_SIGNALS = 1000


class Turns:
    """A lock that is handed over first come, first served; threading.Lock may starve whoever waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: deque[threading.Lock] = deque()
        self._busy = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the device for the length of the block."""
        gate: threading.Lock | None = None
        with self._lock:
            if self._busy:
                gate = threading.Lock()
                gate.acquire()
                self._queue.append(gate)
            self._busy = True
        if gate is not None:
            gate.acquire()
        try:
            yield
        finally:
            with self._lock:
                if self._queue:
                    self._queue.popleft().release()
                else:
                    self._busy = False


class Places:
    """At most `count` runs at once; the others wait in the order of their arrival."""

    def __init__(self, count: int = MAX_RUNS) -> None:
        self._count = count
        self._changed = threading.Condition()
        self._line: list[object] = []

    def arrive(self) -> object:
        """Join the line; give the ticket back with `leave`."""
        ticket = object()
        with self._changed:
            self._line.append(ticket)
        return ticket

    def ahead(self, ticket: object, seconds: float = 0.0) -> int:
        """How many runs must end before this one may go; 0 when it may. Waits up to `seconds` for a change."""
        with self._changed:
            if self._behind(ticket) and seconds > 0:
                self._changed.wait(seconds)
            return self._behind(ticket)

    def others(self) -> int:
        """How many runs besides one's own are going now, taking turns at the device."""
        with self._changed:
            return max(0, min(len(self._line), self._count) - 1)

    def leave(self, ticket: object) -> None:
        """Make room; a ticket that left already is ignored."""
        with self._changed:
            if ticket in self._line:
                self._line.remove(ticket)
                self._changed.notify_all()

    def _behind(self, ticket: object) -> int:
        return max(0, self._line.index(ticket) + 1 - self._count)


class Signals:
    """Stop signals by tab and place; bounded, because a tab that vanished may never say goodbye."""

    def __init__(self, limit: int = MAX_SIGNALS) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._signals: OrderedDict[tuple[str, str], threading.Event] = OrderedDict()

    def begin(self, session: str, place: str) -> threading.Event:
        """A fresh signal for a run that begins; the tab's earlier run at this place is told to stop."""
        signal = threading.Event()
        with self._lock:
            earlier = self._signals.pop((session, place), None)
            self._signals[(session, place)] = signal
            while len(self._signals) > self._limit:
                self._signals.popitem(last=False)[1].set()
        if earlier is not None:
            earlier.set()
        return signal

    def stop(self, session: str, place: str | None = None) -> None:
        """Tell the runs of a tab (at one place, or all) to stop after the pass they are in."""
        with self._lock:
            for key, signal in self._signals.items():
                if key[0] == session and place in (None, key[1]):
                    signal.set()

    def end(self, session: str, place: str, signal: threading.Event) -> None:
        """Forget the signal of a run that is over, unless a newer run has taken its place."""
        with self._lock:
            if self._signals.get((session, place)) is signal:
                del self._signals[(session, place)]

    def __len__(self) -> int:
        with self._lock:
            return len(self._signals)
