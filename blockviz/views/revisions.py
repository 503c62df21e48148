"""What became of the tokens that a corrector threw back to noise: the same again, better, worse, or not judged.

A *throw* is a position that a re-noise pass turns from a draft into noise. The token that comes back is the first
draft that stands there afterwards. It is *better* when the next verification gives it a higher AR log-probability
than the verification before the throw gave the old one, each under the text that stood to its left at the time. The
checker judges apart from that, by the verdict on the equation around the position in the last pass in which each of
the two tokens stood. `assets/revisions.js` is the twin.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from blockviz.sampling.passes import STATE_CODE, STATES, Check, Pass
from blockviz.sampling.trace import Trace

Outcome = Literal["same", "better", "worse", "unjudged"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

DRAFTS = ("proposed", "revealed", "kept", "committed", "after_end")
"""States in which a position holds a token, and not the prompt or noise."""
_IS_DRAFT = np.isin(np.arange(len(STATES)), [STATE_CODE[name] for name in DRAFTS])


@dataclass(slots=True)
class Throw:
    """One token thrown back at pass `at`, and what came of it.

    `new` came back at pass `back` (both -1: nothing did before the run ended). `ar_before` and `ar_after` are AR
    log-probabilities in nats (NaN: never verified), the latter of pass `judged`; `check_before` and `check_after` the
    checker's verdicts, "right", "wrong" or "".
    """

    at: int
    position: int
    token: int
    ar_before: float
    check_before: str
    back: int = -1
    new: int = -1
    judged: int = -1
    ar_after: float = float("nan")
    check_after: str = ""

    @property
    def outcome(self) -> Outcome:
        """By AR likelihood; equal log-probabilities, and those never compared, are not judged."""
        if self.new == self.token:
            return "same"
        if self.ar_after > self.ar_before:
            return "better"
        return "worse" if self.ar_after < self.ar_before else "unjudged"

    @property
    def checked(self) -> Literal["better", "worse", ""]:
        """By the checker: another token with which a wrong equation is right, or a right one wrong; else ""."""
        if self.back < 0 or self.new == self.token:
            return ""
        return {("wrong", "right"): "better", ("right", "wrong"): "worse"}.get(  # type: ignore[return-value]
            (self.check_before, self.check_after), ""
        )


@dataclass(frozen=True)
class Tally:
    """Counts of throws: `thrown` = same + better + worse + unjudged; `lost` of the unjudged never came back.

    `righted` and `spoilt` count tokens that changed and with which their equation became right, or wrong.
    """

    thrown: int = 0
    same: int = 0
    better: int = 0
    worse: int = 0
    unjudged: int = 0
    lost: int = 0
    righted: int = 0
    spoilt: int = 0


@dataclass
class Revisions:
    """Follows a run pass by pass. With `keep` it holds every throw, else only those whose token may still change."""

    keep: bool = True
    _throws: list[Throw] = field(default_factory=list)
    _closed: Counter[str] = field(default_factory=Counter)
    _standing: dict[int, Throw] = field(default_factory=dict)
    _before: Pass | None = None
    _index: int = 0
    _waiting: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    _unread: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    _tokens: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def add(self, entry: Pass) -> None:
        """Take the next pass of the run."""
        before = self._before
        if before is None:
            length = entry.tokens.shape[0]
            self._waiting, self._unread = np.zeros(length, np.bool_), np.zeros(length, np.bool_)
            self._tokens = np.full(length, -1, np.int32)
        else:
            draft = _IS_DRAFT[entry.states]
            self._leave(entry, before, draft)
            self._return(entry, draft)
            if entry.phase == "verify":
                self._read(entry)
            if entry.phase == "renoise":
                self._throw(entry, before)
        self._before = entry
        self._index += 1

    def _leave(self, entry: Pass, before: Pass, draft: NDArray[np.bool_]) -> None:
        """Tokens that came back and stand no longer: the checker's last word on them was that of the pass before."""
        for position in np.flatnonzero(
            (self._tokens >= 0) & (~draft | (entry.tokens != self._tokens))
        ).tolist():
            throw = self._standing.pop(position)
            throw.check_after = verdict(before.checks, position)
            _count(self._closed, throw)
            self._tokens[position] = -1
            self._unread[position] = False

    def _return(self, entry: Pass, draft: NDArray[np.bool_]) -> None:
        for position in np.flatnonzero(self._waiting & draft).tolist():
            throw = self._standing[position]
            throw.back, throw.new = self._index, int(entry.tokens[position])
            self._tokens[position] = throw.new
            self._waiting[position] = False
            self._unread[position] = True

    def _read(self, entry: Pass) -> None:
        window = slice(entry.start, entry.stop)
        for place in np.flatnonzero(self._unread[window] & ~np.isnan(entry.ar_logprob)).tolist():
            position = entry.start + place
            throw = self._standing[position]
            throw.judged, throw.ar_after = self._index, float(entry.ar_logprob[place])
            self._unread[position] = False

    def _throw(self, entry: Pass, before: Pass) -> None:
        window = slice(entry.start, entry.stop)
        thrown = (entry.states[window] == STATE_CODE["renoised"]) & _IS_DRAFT[before.states[window]]
        for place in np.flatnonzero(thrown).tolist():
            position = entry.start + place
            throw = Throw(
                at=self._index,
                position=position,
                token=int(before.tokens[position]),
                ar_before=float(entry.ar_logprob[place]),
                check_before=verdict(before.checks, position),
            )
            if self.keep:
                self._throws.append(throw)
            self._standing[position] = throw
            self._waiting[position] = True

    def throws(self) -> list[Throw]:
        """All throws in order, as things stand; empty without `keep`."""
        self._judge()
        return self._throws

    def _judge(self) -> None:
        """The checker's word on what still stands is its latest."""
        if self._before is not None:
            for position in np.flatnonzero(self._tokens >= 0).tolist():
                self._standing[position].check_after = verdict(self._before.checks, position)

    def tally(self) -> Tally:
        """The counts, as things stand."""
        self._judge()
        counts = self._closed.copy()
        for throw in self._standing.values():
            _count(counts, throw)
        return Tally(**counts)


def _count(counts: Counter[str], throw: Throw) -> None:
    """Count a throw under the names of `Tally`."""
    counts["thrown"] += 1
    counts[throw.outcome] += 1
    counts["lost"] += throw.back < 0
    counts["righted"] += throw.checked == "better"
    counts["spoilt"] += throw.checked == "worse"


def verdict(checks: tuple[Check, ...], position: int) -> str:
    """What the last check around a position says: "right", "wrong", or "" (unfinished, or nothing judged there)."""
    for check in reversed(checks):
        if check.start <= position < check.stop:
            return "" if check.verdict == "unfinished" else check.verdict
    return ""


def revisions(trace: Trace) -> Revisions:
    """All throws of a whole run."""
    follower = Revisions()
    for entry in trace.passes:
        follower.add(entry)
    return follower
