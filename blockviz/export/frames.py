"""The frame model: everything the canvas and the facts line say after a pass, as data.

GIF and MP4 draw it, the tests hold the live page and exported pages against it, cell by cell.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from blockviz.export.words import SCORES, fixed
from blockviz.sampling.trace import STATE_CODE, STATES, Check, Pass, Trace
from blockviz.views.layout import PHASE_WORDS
from blockviz.views.palette import STATE_LABELS

BadgeKind = Literal["", "cut", "doubt", "calm"]
MASK_GLYPH = "▒"
MASK_UNOPENED = "·"
_UNSEEN = frozenset(("Cc", "Zl", "Zp", "Cs"))
_TURNING = frozenset((0x61C, 0x200B, 0x200E, 0x200F, 0xFEFF, *range(0x202A, 0x202F), *range(0x2060, 0x2070)))
_PLACED = tuple(STATE_CODE[name] for name in ("proposed", "revealed", "kept", "committed"))


@dataclass(frozen=True)
class Cell:
    """One position: token id and state after the pass, and what its cell says.

    `text` is the display piece (of the token thrown back where one was re-noised), `badge` a score and `kind` how the
    badge looks, `check` the checker's verdict ("right", "wrong" or ""), `mask` whether the text stands for the mask.
    """

    position: int
    token: int
    state: str
    text: str
    badge: str = ""
    kind: BadgeKind = ""
    check: str = ""
    mask: bool = False


@dataclass(frozen=True)
class Fact:
    """One fact of the facts line: its parts with whether each is strong."""

    name: str
    parts: tuple[tuple[str, bool], ...]

    @property
    def text(self) -> str:
        """The fact as one text."""
        return "".join(part for part, _ in self.parts)


@dataclass(frozen=True)
class Frame:
    """The canvas after pass `number`: L cells, a status per block ("active", "✓ cached", ...), the facts line."""

    number: int
    phase: str
    chip: str
    facts: tuple[Fact, ...]
    cells: tuple[Cell, ...]
    statuses: tuple[str, ...]
    checks: tuple[Check, ...]


def frame(trace: Trace, number: int) -> Frame:
    """The frame after pass `number`; raises IndexError when the trace has no such pass."""
    if not 0 <= number < len(trace.passes):
        raise IndexError(f"The run has passes 0 to {len(trace.passes) - 1}, not {number}.")
    entry = trace.passes[number]
    return Frame(
        number=number,
        phase=entry.phase,
        chip=chip(entry),
        facts=facts(trace, number),
        cells=_cells(trace, number),
        statuses=_statuses(trace, entry),
        checks=entry.checks,
    )


def chip(entry: Pass) -> str:
    """The phase of a pass with its step, as the page's coloured chip says it."""
    name = PHASE_WORDS[entry.phase]
    return name if entry.phase in ("start", "commit", "edit") else f"{name} · step {entry.step + 1}"


def facts(trace: Trace, number: int) -> tuple[Fact, ...]:
    """The facts line after pass `number`, in the order of the page."""
    entry = trace.passes[number]
    calls = entry.nfe_denoise + entry.nfe_verify
    placed = int(np.isin(entry.states, _PLACED).sum())
    rate = "–" if calls == 0 else fixed(placed / calls, 2 if placed / calls < 9.995 else 1)
    return (
        _fact("pass", "pass ", number, f" / {len(trace.passes) - 1}"),
        _fact("block", "block ", entry.block + 1, f" / {trace.header.blocks}"),
        _fact("nfe", "NFE ", calls, f" = {entry.nfe_denoise} denoise + {entry.nfe_verify} verify"),
        _fact("alpha", "α ", fixed(entry.alpha_t, 2), f" → {fixed(entry.alpha_s, 2)}"),
        _fact("cached", "cached ", entry.cached, ""),
        _fact("ms", "", fixed(entry.ms, 1 if entry.ms < 100 else 0), " ms"),
        _fact("rate", "", rate, " tokens / NFE"),
    )


def _fact(name: str, before: str, value: object, after: str) -> Fact:
    return Fact(name, tuple((part, part == str(value)) for part in (before, str(value), after) if part))


def _cells(trace: Trace, number: int) -> tuple[Cell, ...]:
    entry = trace.passes[number]
    before = trace.passes[max(0, number - 1)].tokens
    scores = entry.score if entry.phase == "renoise" and trace.header.settings.corrector != "random" else None
    doubts = -entry.ar_logprob if entry.phase == "verify" else None
    verdicts = _verdicts(entry.checks, trace.header.length)
    mask = trace.header.model.mask_id
    cells = []
    for position, (token, code) in enumerate(zip(entry.tokens.tolist(), entry.states.tolist(), strict=True)):
        state = STATES[code]
        thrown = state == "renoised"
        shown = int(before[position]) if thrown else token
        inside = entry.start <= position < entry.stop
        badge, kind = "", ""
        if thrown and scores is not None and inside:
            badge = _badge(float(scores[position - entry.start]))
            kind = "cut" if badge else ""
        elif not thrown and doubts is not None and inside:
            doubt = float(doubts[position - entry.start])
            if doubt >= 0.05:  # one that would read 0.0 is no news
                badge, kind = _badge(doubt), "doubt" if doubt >= 1 else "calm"
        is_mask = shown == mask
        text = MASK_UNOPENED if is_mask and state == "unopened" else MASK_GLYPH if is_mask else ""
        cells.append(
            Cell(
                position=position,
                token=token,
                state=state,
                text=text or clean(trace.pieces.get(shown, "")) or f"#{shown}",
                badge=badge,
                kind=kind,  # type: ignore[arg-type]
                check=verdicts[position],
                mask=is_mask,
            )
        )
    return tuple(cells)


def clean(piece: str) -> str:
    """A piece as the page shows it, whoever wrote it: what would hide or turn text around is named, as ⟨202E⟩."""
    return (
        "".join(_named(character) for character in piece)
        if not piece.isascii() or not piece.isprintable()
        else piece
    )


def _named(character: str) -> str:
    point = ord(character)
    if unicodedata.category(character) in _UNSEEN or point in _TURNING:
        return f"⟨{point:02X}⟩" if point < 0x80 else f"⟨{point:04X}⟩"
    return character


def _badge(score: float) -> str:
    if np.isnan(score):
        return ""
    size = abs(score)
    sign = "−" if score < 0 and size >= 0.05 else ""
    return sign + fixed(size, 1 if size < 9.95 else 0)


def _verdicts(checks: Iterable[Check], length: int) -> list[str]:
    verdicts = [""] * length
    for check in checks:
        word = check.verdict if check.verdict != "unfinished" else ""
        verdicts[check.start : check.stop] = [word] * (check.stop - check.start)
    return verdicts


def _statuses(trace: Trace, entry: Pass) -> tuple[str, ...]:
    header = trace.header
    cached = entry.cached + (0 if entry.phase in ("commit", "renoise") else entry.clean)
    statuses = []
    for block in range(header.blocks):
        start, stop = header.span_of(block)
        first, last = STATES[entry.states[start]], STATES[entry.states[stop - 1]]
        if block == entry.block and entry.phase != "start":
            status = "commit" if entry.phase == "commit" else "active"
        elif last == "prompt":
            status = "prompt"
        elif first == "unopened" or last not in ("committed", "after_end"):
            status = ""
        else:
            status = "✓ cached" if header.settings.caches and stop <= cached else "✓ done"
        statuses.append(status)
    return tuple(statuses)


def legend(trace: Trace) -> tuple[tuple[str, str], ...]:
    """The states this run can show, each with its label, in the order of the page's legend."""
    settings = trace.header.settings
    diffusion = settings.predictor != "autoregressive"
    guided = diffusion and settings.corrector != "none"
    states = ["prompt", "unopened"]
    states += ["noise"] if diffusion else []
    states += ["proposed"] if guided else []
    states += ["revealed"]
    states += ["kept"] if diffusion else []
    seams = diffusion and settings.seams != "none" and settings.context != "canvas"
    states += ["renoised"] if guided or seams or trace.header.fork is not None else []
    states += ["committed", "after_end"]
    labels = dict(STATE_LABELS)
    if guided and settings.corrector in SCORES:
        labels["renoised"] += f", {SCORES[settings.corrector]}"
    return tuple((state, labels[state]) for state in states)


def chosen(trace: Trace, limit: int) -> tuple[int, ...]:
    """The passes that become frames, at most `limit` (at least 2), in order.

    All of them where they fit. Otherwise the first and the last, then as many edits as fit, then commits, then
    re-noisings, then the others, each kind thinned evenly.
    """
    last = len(trace.passes) - 1
    if last < limit:
        return tuple(range(last + 1))
    taken = {0, last}
    kinds: tuple[tuple[str, ...], ...] = (
        ("edit",),
        ("commit",),
        ("renoise",),
        ("denoise", "propose", "verify", "start"),
    )
    for phases in kinds:
        left = [
            number
            for number, entry in enumerate(trace.passes)
            if entry.phase in phases and number not in taken
        ]
        room = limit - len(taken)
        if room < len(left):
            taken |= {left[index * len(left) // room] for index in range(room)}
            break
        taken |= set(left)
    return tuple(sorted(taken))
