"""Runs beside each other: the figures of each, and where their final texts differ; twin of `assets/compare_facts.js`.

The *final text* of a run are its written tokens that stand in its last pass: not the prompt, not noise, nothing after
the end token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockviz.base.token_counts import distinct, entropy
from blockviz.sampling.passes import STATE_CODE, Check
from blockviz.sampling.settings import FIELDS
from blockviz.sampling.trace import Trace
from blockviz.views.revisions import Tally, revisions

IN_PLACE = ("proposed", "revealed", "kept", "committed")
"""States of a written token that stands."""
DRAFTS = (*IN_PLACE, "after_end")
FINAL = "####"
"""Marks the final answer in the checker's verdicts."""
GRAMS = (1, 2, 3)


@dataclass(frozen=True)
class Facts:
    """Figures of one whole run. `tokens` are those of the final text; `entropy` that of its token frequencies in nats.

    `ms` is the time of all passes; `revised` counts tokens that replaced another; `distinct` has for n = 1, 2, 3 how
    many n-grams of the final text differ, and how many there are; `equations` how many are right of those finished;
    `answer` the final number ("" without one) with the checker's `verdict` ("" without one).
    """

    denoise: int
    verify: int
    passes: int
    ms: float
    tokens: int
    entropy: float
    distinct: tuple[tuple[int, int], ...]
    revised: int
    back: Tally
    equations: tuple[int, int]
    answer: str
    verdict: str

    @property
    def calls(self) -> int:
        """All network calls."""
        return self.denoise + self.verify


def final_positions(trace: Trace) -> NDArray[np.int64]:
    """Canvas positions of the final text, in order, int64."""
    states = trace.passes[-1].states
    return np.flatnonzero(np.isin(states, [STATE_CODE[name] for name in IN_PLACE]))


def facts(trace: Trace) -> Facts:
    """The figures of a run, as things stand after its last pass."""
    last = trace.passes[-1]
    text = last.tokens[final_positions(trace)].tolist()
    answer, verdict = _answer(last.checks)
    return Facts(
        denoise=last.nfe_denoise,
        verify=last.nfe_verify,
        passes=len(trace.passes) - 1,
        ms=sum(entry.ms for entry in trace.passes),
        tokens=len(text),
        entropy=entropy(text),
        distinct=tuple(distinct(text, n) for n in GRAMS),
        revised=int(revised(trace)[-1]),
        back=revisions(trace).tally(),
        equations=_equations(last.checks),
        answer=answer,
        verdict=verdict,
    )


def revised(trace: Trace) -> NDArray[np.int64]:
    """For each pass how many times a token has replaced another until then, whether or not noise came between: [P]."""
    draft = np.full(trace.header.length, -1, np.int64)
    out, count = [], 0
    for entry in trace.passes:
        stands = np.isin(entry.states, [STATE_CODE[name] for name in DRAFTS])
        count += int((stands & (draft >= 0) & (draft != entry.tokens)).sum())
        draft = np.where(stands, entry.tokens, draft)
        out.append(count)
    return np.array(out, np.int64)


def _equations(checks: Sequence[Check]) -> tuple[int, int]:
    verdicts = [c.verdict for c in checks if not c.text.startswith(FINAL) and c.verdict != "unfinished"]
    return verdicts.count("right"), len(verdicts)


def _answer(checks: Sequence[Check]) -> tuple[str, str]:
    last = [check for check in checks if check.text.startswith(FINAL)][-1:]
    return (last[0].text[len(FINAL) :].split(" (")[0].strip(), last[0].verdict) if last else ("", "")


def field_names() -> dict[str, str]:
    """What each thing in which runs may differ is called in a sentence."""
    labels = {name: field.label for name, field in FIELDS.items()}
    lower = {
        name: label if label[1:2].isupper() else label[:1].lower() + label[1:]
        for name, label in labels.items()
    }
    return {"prompt": "prompt", "model": "model", **lower}


def differing(traces: Sequence[Trace]) -> list[str]:
    """In which of prompt, model and settings the runs differ, by name, in the order of the form."""
    headers = [trace.header for trace in traces]
    asked = [
        {"prompt": header.prompt, "model": header.model.name, **header.settings.to_dict()}
        for header in headers
    ]
    return [name for name in field_names() if len({one[name] for one in asked}) > 1]


def differences(a: Sequence[str], b: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Which tokens of each text are not part of the longest sequence that both have in common (a token-level diff)."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    stop = 0
    while stop < min(len(a), len(b)) - start and a[len(a) - 1 - stop] == b[len(b) - 1 - stop]:
        stop += 1
    one, other = a[start : len(a) - stop], b[start : len(b) - stop]
    longest = np.zeros((len(one) + 1, len(other) + 1), np.int32)
    for i in range(len(one) - 1, -1, -1):
        for j in range(len(other) - 1, -1, -1):
            if one[i] == other[j]:
                longest[i, j] = longest[i + 1, j + 1] + 1
            else:
                longest[i, j] = max(longest[i + 1, j], longest[i, j + 1])
    marks = [False] * len(a), [False] * len(b)
    i = j = 0
    while i < len(one) or j < len(other):
        if i < len(one) and j < len(other) and one[i] == other[j]:
            i, j = i + 1, j + 1
        elif j == len(other) or (i < len(one) and longest[i + 1, j] >= longest[i, j + 1]):
            marks[0][start + i] = True
            i += 1
        else:
            marks[1][start + j] = True
            j += 1
    return marks
