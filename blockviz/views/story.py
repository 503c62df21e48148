"""A pass in one sentence, and the passes that read as one step: proposal, AR's doubts, the cut, the tokens thrown back.

`assets/story.js` says the same from the same words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockviz.sampling.passes import REASON_CODE, STATE_CODE, Phase
from blockviz.sampling.settings import AR_SCORES
from blockviz.sampling.trace import Trace
from blockviz.views.decisions import SCORES, Decision, decision, is_doubted
from blockviz.views.layout import PHASE_WORDS
from blockviz.views.numbers import brief, count, quoted

PARTS: tuple[Phase, ...] = ("propose", "verify", "renoise")
"""Phases of one guided step, in order."""

WORDS: dict[str, str] = {
    "start": "The prompt is in place; every other position holds pure noise.",
    "denoise": "{new} taken from the prediction, {kept} kept, {left} left as noise.",
    "denoise_all": "{new} taken from the prediction, {kept} kept; no noise is left.",
    "propose": "The model drafts the whole block: {new} of {free} are new, the others stay.",
    "propose_all": "The model drafts the whole block: {free}, all of them new.",
    "verify": "Reading left to right, AR would write {doubted} of {free} differently; it doubts {token} most "
    "({score} nats).",
    "verify_none": "Reading left to right, AR would write every one of the {free} the same.",
    # How many go back is the schedule's choice, which ones the score's: a sure reading throws tokens back as well.
    "renoise_ar_nll": "AR would write {doubted} of {free} differently; at this step the schedule sends the {k} "
    "unlikeliest, from {cut} nats up, back to noise.",
    "renoise_ar_nll_one": "AR would write {doubted} of {free} differently; at this step the schedule sends the "
    "unlikeliest, at {cut} nats, back to noise.",
    "renoise_ar": "AR would write {doubted} of {free} differently; at this step the schedule sends the {k} of highest "
    "{short}, from {cut} up, back to noise.",
    "renoise_ar_one": "AR would write {doubted} of {free} differently; at this step the schedule sends the one of "
    "highest {short}, {cut}, back to noise.",
    "renoise_own": "Of {free}, the {k} of highest {short}, from {cut} up, go back to noise.",
    "renoise_own_one": "Of {free}, the one of highest {short}, {cut}, goes back to noise.",
    "renoise_random": "Of {free}, {k} drawn by lot go back to noise, whatever the model thinks of them.",
    "renoise_random_one": "Of {free}, one drawn by lot goes back to noise, whatever the model thinks of it.",
    "renoise_seam": "{count} around the boundary go back to noise, to be written again with both sides in sight.",
    "renoise_draft": "{count} drafted at the end of the block before go back to noise, to be written with this one.",
    "renoise_nothing": "No token goes back to noise in this step.",
    "commit": "Block {block} is finished; its {free} no longer change.",
    "edit": "A person stepped in: {what}.",
    "edit_force": "{tokens} forced",
    "edit_renoise": "{tokens} back to noise",
    "edit_freeze": "{tokens} frozen",
    "edit_release": "{tokens} released",
    "edit_settings": "{changed} from here on",
    "edit_nothing": "A person stepped in here and changed nothing; the run goes on.",
}

PLAYER_WORDS: dict[str, str] = {
    "legend": "what AR would write",
    "step": "The passes of this step; press one to see it",
    "alternative": "AR would write {token} here, probability {p}",
    "returns": "Of {thrown} thrown back, came back:",
    "same": "{n} the same",
    "better": "{n} better",
    "worse": "{n} worse",
    "unjudged": "{n} not judged",
    "lost": "{n} not at all",
    "righted": "{n} righting an equation",
    "spoilt": "{n} spoiling an equation",
    "same_help": "The token that came back is the one that was thrown back.",
    "better_help": "Another token came back, and the next AR verification finds it likelier than the last one found "
    "the old token (higher log-probability, each under the text to its left at that time).",
    "worse_help": "Another token came back, and the next AR verification finds it less likely than the last one found "
    "the old token (lower log-probability, each under the text to its left at that time).",
    "unjudged_help": "Another token came back, but AR has not read it: no verification followed in its block, "
    "or this corrector asks AR nothing.",
    "lost_help": "The run ended before a token came back.",
    "righted_help": "Another token came back, and the checker finds the equation around it right where it was wrong.",
    "spoilt_help": "Another token came back, and the checker finds the equation around it wrong where it was right.",
    "none": "No token was thrown back to noise in this run.",
    "throw": "pass {at} · position {position}",
    "nothing": "nothing",
    "unread": "not read",
    "ar": "AR log p {before} → {after} nats",
    "more": "The first {shown} of {all}.",
    "list": "Tokens thrown back: {what}. Press one to see the pass in which it was thrown back.",
}


def constants() -> dict[str, Any]:
    """What the JavaScript twin needs to say the same."""
    return {
        "words": WORDS,
        "player": PLAYER_WORDS,
        "parts": list(PARTS),
        "phases": PHASE_WORDS,
        "verifiers": sorted(AR_SCORES),
        "scores": {name: {"short": score.short, "unit": score.unit} for name, score in SCORES.items()},
    }


def step_passes(trace: Trace, k: int) -> dict[Phase, int]:
    """The passes of the guided step that pass `k` belongs to, by phase; empty for any other pass."""
    entry = trace.passes[k]
    if entry.phase not in PARTS:
        return {}
    found: dict[Phase, int] = {}
    for places in (range(k, -1, -1), range(k, len(trace.passes))):
        for index in places:
            candidate = trace.passes[index]
            if candidate.phase not in (*PARTS, "edit") or (candidate.block, candidate.step) != (
                entry.block,
                entry.step,
            ):
                break
            # A person may step in between, and have the proposal read again: the nearest pass of each phase counts.
            if candidate.phase in PARTS:
                found.setdefault(candidate.phase, index)
    return found


def alternatives(trace: Trace, k: int) -> dict[int, tuple[int, float]]:
    """What AR would have written instead, beside each token it doubts: canvas position -> (token id, probability).

    Only verify and re-noise passes whose proposal was verified have any.
    """
    if trace.passes[k].phase not in ("verify", "renoise"):
        return {}
    shown = decision(trace, k)
    if shown is None:
        return {}
    return {
        shown.start + i: (int(shown.choices[i]), float(shown.choice_p[i]))
        for i in range(len(shown.tokens))
        if is_doubted(shown, i)
    }


def sentence(trace: Trace, k: int) -> str:
    """What happens in pass `k`, in one sentence; IndexError when there is no such pass."""
    entry = trace.passes[k]
    reasons = np.bincount(entry.reasons, minlength=len(REASON_CODE))
    held = int(
        np.isin(entry.states[entry.start : entry.stop], [STATE_CODE["noise"], STATE_CODE["renoised"]]).sum()
    )
    new = int(reasons[REASON_CODE["revealed"]] + reasons[REASON_CODE["resampled"]])
    free = len(entry.reasons) - int(reasons[REASON_CODE["prompt"]])
    if entry.phase == "start":
        return WORDS["start"]
    if entry.phase == "edit":
        return _edited(trace, k)
    if entry.phase == "commit":
        return WORDS["commit"].format(block=entry.block + 1, free=count(free, "token"))
    if entry.phase == "propose":
        return WORDS["propose_all" if new == free else "propose"].format(new=new, free=count(free, "token"))
    if entry.phase == "denoise":
        kept = int(reasons[REASON_CODE["kept"]])
        words = WORDS["denoise" if held else "denoise_all"]
        return words.format(new=count(new, "token"), kept=kept, left=held)
    if entry.phase == "renoise" and entry.cut is None and entry.k:
        kind = "draft" if trace.header.settings.seams == "overlap" else "seam"
        return WORDS["renoise_" + kind].format(count=count(entry.k, "token"))
    shown = decision(trace, k)
    assert shown is not None, "verify and re-noise passes have a decision"
    return _verified(trace, shown) if entry.phase == "verify" else _thrown(trace, shown)


def disagreements(shown: Decision) -> int:
    """At how many positions AR's own choice is another token than the proposed one."""
    return int(((shown.choices >= 0) & (shown.choices != shown.tokens) & ~np.isnan(shown.scores)).sum())


def _edited(trace: Trace, k: int) -> str:
    edit = trace.edit_at(k)
    if edit is None or edit.empty:
        return WORDS["edit_nothing"]
    parts = [
        WORDS[f"edit_{name}"].format(tokens=count(len(positions), "token"))
        for name in ("force", "renoise", "freeze", "release")
        if (positions := getattr(edit, name))
    ]
    if edit.settings:
        changed = ", ".join(
            f"{name.replace('_', ' ')} {_plain(value)}" for name, value in edit.settings.items()
        )
        parts.append(WORDS["edit_settings"].format(changed=changed))
    return WORDS["edit"].format(what=", ".join(parts))


def _plain(value: object) -> str:
    """A setting's value as the page's JavaScript writes it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _verified(trace: Trace, shown: Decision) -> str:
    free = count(int((~np.isnan(shown.scores)).sum()), "token")
    doubted = disagreements(shown)
    if doubted == 0:
        return WORDS["verify_none"].format(free=free)
    worst = int(np.nanargmax(shown.scores))
    return WORDS["verify"].format(
        doubted=doubted,
        free=free,
        token=quoted(trace.pieces.get(int(shown.tokens[worst]), "?")),
        score=brief(float(shown.scores[worst])),
    )


def _thrown(trace: Trace, shown: Decision) -> str:
    if shown.k == 0 or shown.cut is None:
        return WORDS["renoise_nothing"]
    corrector = shown.corrector
    kind = corrector if corrector in ("ar_nll", "random") else "own"
    if corrector in AR_SCORES and kind == "own":
        kind = "ar"
    if kind.startswith("ar") and not (shown.choices >= 0).any():
        kind = "own"
    score = SCORES.get(corrector, SCORES["ar_nll"])
    unit = score.unit if kind != "ar_nll" else ""
    return WORDS[f"renoise_{kind}{'_one' if shown.k == 1 else ''}"].format(
        doubted=disagreements(shown),
        free=count(int((~np.isnan(shown.scores)).sum()), "token"),
        k=shown.k,
        cut=f"{brief(shown.cut)} {unit}".strip(),
        short=score.short,
    )
