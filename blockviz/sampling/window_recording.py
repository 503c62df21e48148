"""What a recorder knows of the active window, from one event of its segment to the next.

For the masked process the network says nothing about a position it sees a token in (carry-over, MATHS.md), so the
confidence, entropy and candidates of a revealed position stay those of the pass in which it was last noise. For the
uniform process every pass predicts every free position.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from blockviz.sampling.candidates import Candidates
from blockviz.sampling.fixed_point import (
    PROBABILITY_SCALE,
    SCORE,
    SCORE_LIMIT,
    SCORE_SCALE,
    TOP_SCALE,
    frozen,
    on_steps,
    rounded,
)
from blockviz.sampling.job import Event
from blockviz.sampling.passes import REASON_CODE, STATE_CODE, TOP, Codes, Floats, Ints

Mask = NDArray[np.bool_]

# As uint8, so that numpy keeps to it: a conversion costs as much as the work.
S, R = ({name: np.uint8(code) for name, code in codes.items()} for codes in (STATE_CODE, REASON_CODE))
_PREDICTED = np.array([PROBABILITY_SCALE, SCORE_SCALE] + [TOP_SCALE] * TOP)
_READ = np.array([SCORE_SCALE] + [TOP_SCALE] * TOP)
"""Steps of the columns of a table: one rounding of it costs less than one of each."""


class WindowRecording:
    """The fields of a pass that belong to its window, brought up to date by one event after another.

    Their arrays are as a pass keeps them, rounded and read-only: what changes is replaced, what stays is shared between
    passes. `states` uint8 [W] counts only where the window is `free`.
    """

    def __init__(
        self, event: Event, states: Codes, masked: bool, before: WindowRecording | None = None
    ) -> None:
        """`states` stand in the window so far. What `before` knew of positions written again stays known."""
        self.segment = event.segment
        self.masked = masked
        self.free = row_of(event.free)
        self.noise = self.free
        self.at_rest: Codes = frozen(np.where(states == S["prompt"], R["prompt"], R["none"]))
        width = self.free.shape[0]
        self.states: Codes = np.full(width, S["noise"], np.uint8)
        self.unknown: Floats = frozen(np.full(width, np.nan, np.float32))
        self.no_tokens: Ints = frozen(np.full(width, -1, np.int32))
        self.confidence = self.entropy = self.unknown
        self.no_ids: Ints = frozen(np.full((width, TOP), -1, np.int32))
        self.no_probs: Floats = frozen(np.zeros((width, TOP), np.float32))
        self.top_ids, self.top_probs = self.no_ids, self.no_probs
        self.ar_logprob = self.unknown
        self._forget()
        if before is not None:
            self._go_on_from(before)

    def _go_on_from(self, before: WindowRecording) -> None:
        mine, theirs = self.segment, before.segment
        first, last = max(mine.start, theirs.start), min(mine.stop, theirs.stop)
        if first >= last:
            return
        again = np.zeros_like(self.free)
        again[first - mine.start : last - mine.start] = self.free[first - mine.start : last - mine.start]
        there = np.flatnonzero(again) + mine.start - theirs.start
        for name in ("confidence", "entropy", "top_ids", "top_probs"):
            setattr(self, name, _with(getattr(self, name), again, getattr(before, name)[there]))

    def observe(self, event: Event, now: Ints, before: Ints) -> Codes:
        """Take in one event, which left the tokens `now` where those `before` stood. Returns why, per position."""
        ar_logprob = self.ar_logprob
        self._forget()
        reasons = self.at_rest
        if event.phase in ("denoise", "propose"):
            reasons = self._drawn(event, now, now != before)
        elif event.phase == "verify":
            self._verified(event, now)
        elif event.phase == "renoise" and event.scores is None:
            reasons = self._reopened(event)
        elif event.phase == "renoise":
            self.ar_logprob = ar_logprob
            reasons = self._renoised(event)
        return frozen(np.where(self.free, reasons, self.at_rest))

    def _forget(self) -> None:
        """Drop what belongs to one pass only."""
        self.k = 0
        self.cut: float | None = None
        self.score = self.unknown
        self.ar_logprob = self.unknown
        self.verify_tokens = self.no_tokens
        self.shown_ids, self.shown_probs = self.top_ids, self.top_probs

    def _drawn(self, event: Event, now: Ints, changed: Mask) -> Codes:
        """Denoise and propose: tokens come from the prediction, or stay, or (uniform) become fresh noise."""
        was_noise, self.noise = self.noise, row_of(event.noise)
        assert event.log_probs is not None
        self._predicted(event.log_probs, was_noise if self.masked else self.free, now)
        drawn = S["proposed" if event.phase == "propose" else "revealed"]
        self.states = np.where(was_noise | changed, drawn, S["kept"])
        self.states[self.noise] = S["noise"]
        reasons = np.where(was_noise, R["revealed"], np.where(changed, R["resampled"], R["kept"]))
        reasons[self.noise] = R["none"]
        if not self.masked:
            reasons[self.noise & (changed | ~was_noise)] = R["renoised"]
        return reasons

    def _predicted(self, log_probs: torch.Tensor, known: Mask, now: Ints) -> None:
        """Take in what a prediction says of the `known` positions: of their tokens or, where noise is, of the best."""
        found = Candidates(log_probs, known)
        numbers = np.empty((len(found.ids), 2 + TOP))
        numbers[:, 0] = np.where(self.noise[known], found.probs[:, 0], np.exp(found.of(now[known])))
        numbers[:, 1] = found.entropies()
        numbers[:, 2:] = found.probs
        kept = rounded(numbers, _PREDICTED)
        self.confidence = _with(self.confidence, known, kept[:, 0])
        self.entropy = _with(self.entropy, known, kept[:, 1])
        self.top_ids = _with(self.top_ids, known, _likely(found.ids, kept[:, 2:]))
        self.top_probs = _with(self.top_probs, known, kept[:, 2:])
        self.shown_ids, self.shown_probs = self.top_ids, self.top_probs

    def _verified(self, event: Event, now: Ints) -> None:
        """Verify: nothing changes; the AR reading of the proposal is known, and its candidates are shown."""
        assert event.log_p_ar is not None
        assert event.verify_tokens is not None
        found = Candidates(event.log_p_ar, self.free)
        numbers = np.empty((len(found.ids), 1 + TOP))
        numbers[:, 0] = np.maximum(found.of(now[self.free]), -SCORE_LIMIT)
        numbers[:, 1:] = found.probs
        kept = rounded(numbers, _READ)
        self.ar_logprob = _with(self.unknown, self.free, kept[:, 0])
        self.shown_ids = _with(self.no_ids, self.free, _likely(found.ids, kept[:, 1:]))
        self.shown_probs = _with(self.no_probs, self.free, kept[:, 1:])
        if not self.masked:
            self.verify_tokens = frozen(row_of(event.verify_tokens).astype(np.int32))

    def _renoised(self, event: Event) -> Codes:
        """Re-noise: the positions with the worst scores went back to noise, the proposal stands elsewhere."""
        assert event.scores is not None
        scores = row_of(event.scores)
        chosen = self._back_to_noise(event)
        self.score = on_steps(np.where(self.free, scores, np.nan), SCORE)
        self.cut = min(scores[chosen].tolist(), default=None)
        self.states[self.states == S["proposed"]] = S["revealed"]
        self.states[chosen] = S["renoised"]
        return np.where(chosen, R["renoised"], R["kept"])

    def _reopened(self, event: Event) -> Codes:
        """A seam: what is written again went back to noise, for its place and not for a score."""
        chosen = self._back_to_noise(event)
        self.states[self.noise] = S["noise"]
        self.states[chosen] = S["renoised"]
        return np.where(chosen, R["renoised"], R["none"])

    def _back_to_noise(self, event: Event) -> Mask:
        """The positions that were chosen for noise, where confidence is now that of the best candidate."""
        assert event.chosen is not None
        chosen: Mask = row_of(event.chosen)
        self.noise = row_of(event.noise)
        self.k = int(np.count_nonzero(chosen))
        self.confidence = _with(self.confidence, chosen, self.top_probs[chosen, 0])
        return chosen


def row_of(values: torch.Tensor) -> NDArray[Any]:
    """The one row of `[1, ...]` as numpy, on the CPU without a copy."""
    row: NDArray[Any] = values.cpu().numpy()[0]
    return row


def _with(values: NDArray[Any], where: Mask, new: NDArray[Any]) -> NDArray[Any]:
    """The array with the `new` values, one for each True of `where`, in their places; read-only."""
    changed = values.copy()
    changed[where] = new
    return frozen(changed)


def _likely(ids: NDArray[np.int64], probs: Floats) -> NDArray[np.int64]:
    """Candidates without those of a probability that is rounded to 0."""
    ids[probs == 0] = -1
    return ids
