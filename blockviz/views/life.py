"""The whole life of one position: what each pass knew of it, and what the decision of one pass was compared with.

`assets/life.js` is the twin; `life_chart.py` draws the curves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from blockviz.sampling.passes import REASON_CODE, REASONS, STATE_CODE, STATES, Pass, Phase
from blockviz.sampling.trace import Trace
from blockviz.views.decisions import SCORES
from blockviz.views.layout import PHASE_WORDS
from blockviz.views.numbers import close, count, fixed, percent, quoted
from blockviz.views.palette import STATE_LABELS

REASON_LABELS: dict[str, str] = {
    "none": "",
    "prompt": "given",
    "revealed": "drawn",
    "resampled": "drawn anew",
    "renoised": "re-noised",
    "kept": "kept",
    "forced": "forced",
}

WORDS: dict[str, str] = {
    "point": "{token}: {state}",
    "confidence": "probability {p}",
    "best": "best candidate {p}",
    "entropy": "entropy {h} nats",
    "ar": "AR −log p {score} nats",
    "given": "Part of the prompt: given, never predicted.",
    "prior": "Pure noise so far: nothing has been predicted here.",
    "elsewhere": "Pass {k} works on block {block}; nothing is decided here.",
    "drawn": "{token} was drawn; it had probability {p}, the likeliest candidate {best} {best_p}.",
    "drawn_best": "{token} was drawn; with probability {p} it was the likeliest candidate.",
    "kept": "{token} was kept; the latest prediction of this position gives it {p}.",
    "noise": "It stays noise; the likeliest candidate is {best} with {best_p}.",
    "fresh": "It was drawn back to noise; the likeliest candidate is {best} with {best_p}.",
    "unsure": "Entropy of the prediction {h} nats (0: certain).",
    "sure": "Probability rank {rank} of {free} in the block (1: surest); {sides}.",
    "doubt": "{short} {score}: rank {rank} of {free} in the block (1: worst); {sides}.",
    "sides": "left {left}, right {right}",
    "undecided": "What goes back to noise is decided in the re-noise pass that follows.",
    "over": "At or above the cut of {cut}, so it went back to noise.",
    "under": "Below the cut of {cut}, so it was kept.",
    "level": "Level with the cut of {cut}, but only {k} go back: it was kept.",
    "alternative": "AR would write {best} here with probability {best_p}.",
    "agrees": "AR would write the same here, with probability {best_p}.",
    "commit": "Nothing is decided: the block is finished.",
    "edit_forced": "A person put {token} here; the latest prediction gave it {p}.",
    "edit_unknown": "A person put {token} here, which is not among the recorded candidates.",
    "edit_renoised": "A person turned it back to noise.",
    "edit_frozen": "A person froze it: no later pass writes here.",
    "edit_released": "A person released it: later passes may write here again.",
    "edit_none": "A person stepped in, and changed nothing here.",
    "quiet": "Nothing was predicted here.",
}

PANEL_WORDS: dict[str, str] = {
    "title": "Position {position}",
    "place": "position {position} of {length} · block {block}, place {place} of {size}",
    "id": "token id {id}",
    "back": "now {token}, token id {id}",
    "bytes": "bytes {bytes}",
    "bytes_none": "a special token, no bytes of text",
    "bytes_unknown": "bytes not recorded in this run",
    "now": "In pass {k} ({phase})",
    "table": "Pass by pass",
    "table_help": "Press a row to go to that pass. Candidates: the five likeliest tokens of the prediction, in verify "
    "passes of AR. Entropy and AR −log p in nats.",
    "pass": "pass",
    "phase": "phase",
    "token": "token",
    "why": "change",
    "candidates": "candidates, %",
    "p": "p %",
    "p_help": "Probability of the token in place by the latest prediction; of the best candidate where there is noise.",
    "entropy": "entropy",
    "entropy_help": "Entropy of the latest prediction, in nats.",
    "ar": "AR −log p",
    "ar_help": "How unlikely AR finds the token, in nats; only where it was verified.",
    "score": "score",
    "score_help": "The score that decided what went back to noise ({score}).",
    "left": "Position to the left (arrow left)",
    "right": "Position to the right (arrow right)",
    "close": "Close (Escape)",
    "hint": "Arrow left and right: neighbouring position · up and down: pass before and after · Escape: close",
}


@dataclass(frozen=True)
class Moment:
    """What one pass knew of the position: its number, phase and step, the token and state after it, and the rest.

    `candidates` are (token id, probability) pairs, likeliest first; NaN and empty where the pass knew nothing.
    """

    number: int
    phase: Phase
    step: int
    token: int
    state: str
    reason: str
    confidence: float
    entropy: float
    ar_logprob: float
    score: float
    candidates: tuple[tuple[int, float], ...] = ()


def life(trace: Trace, position: int) -> tuple[Moment, ...]:
    """The first pass, and every pass whose window holds the position; IndexError off the canvas."""
    if not 0 <= position < trace.header.length:
        raise IndexError(f"The canvas has positions 0 to {trace.header.length - 1}, not {position}.")
    return tuple(
        _moment(entry, number, position)
        for number, entry in enumerate(trace.passes)
        if number == 0 or entry.start <= position < entry.stop
    )


def _moment(entry: Pass, number: int, position: int) -> Moment:
    token, state = int(entry.tokens[position]), STATES[entry.states[position]]
    nan = float("nan")
    if not entry.start <= position < entry.stop:
        return Moment(number, entry.phase, entry.step, token, state, "none", nan, nan, nan, nan)
    i = position - entry.start
    pairs = zip(entry.top_ids[i].tolist(), entry.top_probs[i].tolist(), strict=True)
    return Moment(
        number=number,
        phase=entry.phase,
        step=entry.step,
        token=token,
        state=state,
        reason=REASONS[entry.reasons[i]],
        confidence=float(entry.confidence[i]),
        entropy=float(entry.entropy[i]),
        ar_logprob=float(entry.ar_logprob[i]),
        score=float(entry.score[i]),
        candidates=tuple((token, p) for token, p in pairs if token >= 0),
    )


def compared(trace: Trace, k: int, position: int) -> list[str]:
    """What the decision about the position at pass `k` was compared with, in sentences; IndexError off the run."""
    entry = trace.passes[k]
    if not 0 <= position < trace.header.length:
        raise IndexError(f"The canvas has positions 0 to {trace.header.length - 1}, not {position}.")
    if entry.states[position] == STATE_CODE["prompt"]:
        return [WORDS["given"]]
    if entry.phase == "start":
        return [WORDS["prior"]]
    if entry.phase == "edit":
        return _edited(trace, k, position)
    if not entry.start <= position < entry.stop:
        return [WORDS["elsewhere"].format(k=k, block=entry.block + 1)]
    if entry.phase == "commit":
        return [WORDS["commit"]]
    if entry.phase in ("denoise", "propose"):
        return _drawn(trace, entry, position)
    return _doubted(trace, k, position)


def _name(trace: Trace, token: int) -> str:
    return quoted(trace.pieces.get(token, "?"))


def _edited(trace: Trace, k: int, position: int) -> list[str]:
    entry, edit = trace.passes[k], trace.edit_at(k)
    if edit is None or position not in edit.positions:
        return [WORDS["edit_none"]]
    lines = []
    if position in dict(edit.force):
        p = float(entry.confidence[position - entry.start])
        words = WORDS["edit_unknown"] if np.isnan(p) else WORDS["edit_forced"].replace("{p}", percent(p))
        lines.append(words.format(token=_name(trace, int(entry.tokens[position]))))
    for name in ("renoise", "freeze", "release"):
        if position in getattr(edit, name):
            lines.append(
                WORDS[{"renoise": "edit_renoised", "freeze": "edit_frozen", "release": "edit_released"}[name]]
            )
    return lines


def _drawn(trace: Trace, entry: Pass, position: int) -> list[str]:
    moment = _moment(entry, 0, position)
    best, best_p = moment.candidates[0] if moment.candidates else (-1, 0.0)
    noisy = moment.state in ("noise", "renoised")
    name = "kept"
    if noisy:
        name = "fresh" if moment.reason == "renoised" else "noise"
    elif moment.reason in ("revealed", "resampled"):
        name = "drawn_best" if moment.token == best else "drawn"
    known = not np.isnan(moment.confidence)
    lines = []
    if (best >= 0 or name in ("kept", "drawn_best")) and known:
        lines.append(
            WORDS[name].format(
                token=_name(trace, moment.token),
                p=percent(moment.confidence),
                best=_name(trace, best) if best >= 0 else "",
                best_p=percent(best_p),
            )
        )
    if known:
        free = np.where(entry.reasons == REASON_CODE["prompt"], np.nan, entry.confidence)
        lines.append(_ranked("sure", -free, free, position - entry.start, percent))
    if not np.isnan(moment.entropy):
        lines.append(WORDS["unsure"].format(h=fixed(moment.entropy, 2)))
    return lines or [WORDS["quiet"]]


def _doubted(trace: Trace, k: int, position: int) -> list[str]:
    entry = trace.passes[k]
    i = position - entry.start
    verify = entry.phase == "verify"
    corrector = "ar_nll" if verify else trace.header.settings.corrector
    score = SCORES.get(corrector, SCORES["ar_nll"])
    scores = -entry.ar_logprob if verify else entry.score

    def number(value: float) -> str:
        return f"{close(value)} {score.unit}".strip()

    lines = []
    if not np.isnan(scores[i]):
        words = {"short": score.short, "score": number(float(scores[i]))}
        lines.append(_ranked("doubt", -scores, scores, i, number, **words))
    if verify:
        lines.append(WORDS["undecided"])
    elif entry.cut is not None and not np.isnan(scores[i]):
        chosen = entry.states[position] == STATE_CODE["renoised"]
        name = "over" if chosen else "level" if round(float(scores[i]), 3) >= entry.cut else "under"
        lines.append(WORDS[name].format(cut=number(entry.cut), k=entry.k))
    source = entry if verify else trace.passes[k - 1]
    told = source.phase == "verify" and (source.start, source.stop) == (entry.start, entry.stop)
    if told and source.top_ids[i, 0] >= 0:
        best = int(source.top_ids[i, 0])
        name = "agrees" if best == int(source.tokens[position]) else "alternative"
        best_p = percent(float(source.top_probs[i, 0]))
        lines.append(WORDS[name].format(best=_name(trace, best), best_p=best_p))
    return lines or [WORDS["quiet"]]


def _ranked(
    name: Literal["sure", "doubt"],
    order: NDArray[np.float32],
    values: NDArray[np.float32],
    i: int,
    number: Any,
    **more: str,
) -> str:
    """Rank (1: lowest of `order`, NaN left out) and both neighbours' values, in words."""

    def side(j: int) -> str:
        return number(float(values[j])) if 0 <= j < len(values) and not np.isnan(values[j]) else "–"

    return WORDS[name].format(
        rank=1 + int((order < order[i]).sum()),
        free=count(int((~np.isnan(order)).sum()), "position"),
        sides=WORDS["sides"].format(left=side(i - 1), right=side(i + 1)),
        **more,
    )


def constants() -> dict[str, Any]:
    """What the JavaScript twins need besides the figure."""
    return {
        "panel": PANEL_WORDS,
        "reasons": REASON_LABELS,
        "states": STATE_LABELS,
        "scores": {name: {"short": score.short, "unit": score.unit} for name, score in SCORES.items()},
        "phase_words": PHASE_WORDS,
    }
