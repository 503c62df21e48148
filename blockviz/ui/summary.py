"""Figures of a whole run, gathered from its passes as they come: the table under Compare. Knows no torch."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockviz.sampling.passes import STATE_CODE, Check, End, Header, Pass
from blockviz.sampling.trace_lines import Event
from blockviz.ui.wording import SUMMARY_ROWS, SUMMARY_TITLE, TEXTS_TITLE
from blockviz.views.revisions import Revisions

DRAFTS = [STATE_CODE[name] for name in ("proposed", "revealed", "kept", "committed", "after_end")]
WRITTEN = STATE_CODE["committed"]
FINAL = "####"
"""Marks the final answer, in texts and in the checker's verdicts."""
ANSWER = re.compile(rf"{FINAL}\s*(-?[\d ]*\d)")
MARKS = {"right": " ✓", "wrong": " ✗", "unfinished": ""}


@dataclass
class Summary:
    """Counts of one run so far; `row_values` gives them as the table shows them."""

    header: Header | None = None
    end: End | None = None
    nfe: tuple[int, int] = (0, 0)
    milliseconds: float = 0.0
    written: int = 0
    revisions: int = 0
    checks: tuple[Check, ...] = ()
    renoised: Revisions = field(default_factory=lambda: Revisions(keep=False))
    _draft: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def add(self, event: Event) -> None:
        """Take the next event of the run."""
        if isinstance(event, Header):
            self.header = event
            self._draft = np.full(event.length, -1, np.int32)
        elif isinstance(event, End):
            self.end = event
        else:
            self._add_pass(event)

    def _add_pass(self, event: Pass) -> None:
        self.nfe = (event.nfe_denoise, event.nfe_verify)
        self.milliseconds += event.ms
        self.checks = event.checks
        self.renoised.add(event)
        draft = np.isin(event.states, DRAFTS)
        # A revision is a token that stands where another stood before, whether or not noise came between.
        self.revisions += int((draft & (self._draft >= 0) & (self._draft != event.tokens)).sum())
        self._draft = np.where(draft, event.tokens, self._draft)
        self.written = int((event.states == WRITTEN).sum())

    @property
    def equations(self) -> tuple[int, int]:
        """How many equations are right, of how many that are finished."""
        equations = [check for check in self.checks if not check.text.startswith(FINAL)]
        verdicts = [check.verdict for check in equations if check.verdict != "unfinished"]
        return verdicts.count("right"), len(verdicts)

    @property
    def answer(self) -> str:
        """What stands after the answer mark of the final text, with the checker's mark; a dash where there is none."""
        found = ANSWER.search(self.end.text) if self.end is not None else None
        verdicts = [check.verdict for check in self.checks if check.text.startswith(FINAL)]
        if found is None:
            return "–"
        return re.sub(r"\s", "", found.group(1)) + (MARKS[verdicts[-1]] if verdicts else "")

    def row_values(self) -> dict[str, dict[str, Any]]:
        """Each figure by name: `text` as it is shown, `number` where a difference makes sense (else None)."""
        calls = sum(self.nfe)
        right, total = self.equations
        per_call = self.written / calls if calls else None
        back = self.renoised.tally()
        returned = f"{back.same} / {back.better} / {back.worse} / {back.unjudged}"
        return {
            "calls": {"text": f"{self.nfe[0]} + {self.nfe[1]}", "number": calls},
            "tokens": {"text": str(self.written), "number": self.written},
            "per_call": {
                "text": "–" if per_call is None else f"{per_call:.2f}",
                "number": None if per_call is None else round(per_call, 2),
            },
            "ms": {"text": f"{self.milliseconds:.0f}", "number": round(self.milliseconds)},
            "revisions": {"text": str(self.revisions), "number": self.revisions},
            "thrown": {"text": str(back.thrown), "number": back.thrown},
            "returned": {"text": returned if back.thrown else "–", "number": None},
            "righted": {
                "text": f"{back.righted} / {back.spoilt}" if total and back.thrown else "–",
                "number": None,
            },
            "equations": {
                "text": f"{right} of {total}" if total else "–",
                "number": right if total else None,
            },
            "answer": {"text": self.answer, "number": None},
        }


def comparison(a: Summary, b: Summary) -> str:
    """The table under Compare and the two final texts as JSON for assets/page.js."""
    first, second = a.row_values(), b.row_values()
    rows = [
        {
            "key": key,
            "name": label,
            "a": first[key]["text"],
            "b": second[key]["text"],
            "difference": _difference(first[key]["number"], second[key]["number"]),
        }
        for key, label in SUMMARY_ROWS.items()
    ]
    texts = differences(a.end.text if a.end else "", b.end.text if b.end else "")
    return json.dumps(
        {
            "title": SUMMARY_TITLE,
            "texts_title": TEXTS_TITLE,
            "rows": rows,
            "texts": {"a": texts[0], "b": texts[1]},
        }
    )


def differences(a: str, b: str) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """Both texts as (words, differs) pieces in order, so that what differs can be marked."""
    first, second = a.split(), b.split()
    pieces: tuple[list[tuple[str, bool]], list[tuple[str, bool]]] = ([], [])
    for kind, i, j, k, m in difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        for words, piece in ((first[i:j], pieces[0]), (second[k:m], pieces[1])):
            if words:
                piece.append((" ".join(words), kind != "equal"))
    return pieces


def _difference(a: float | None, b: float | None) -> str:
    if a is None or b is None:
        return ""
    difference = b - a
    text = f"{difference:+.2f}" if isinstance(difference, float) else f"{difference:+d}"
    return "0" if difference == 0 else text.replace("-", "−")
