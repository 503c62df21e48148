"""Seams between blocks, what can be done about them, and texts with gaps."""

from __future__ import annotations

import numpy as np

from blockviz.sampling.passes import STATE_CODE
from blockviz.sampling.trace import Trace
from blockviz.ui.learn import figures
from blockviz.ui.learn.chapter import Chapter, Control, Measured, Option, Outline, Question, Runs, Values
from blockviz.ui.learn.reading import begins, calls, last, nth
from blockviz.views.comparison import FINAL

PLAIN, OVERLAP, AGAIN, GAP = "lesson-seams-none", "lesson-seams-overlap", "lesson-seams-again", "lesson-gap"


def seam(trace: Trace) -> tuple[int, ...]:
    """The two tokens beside the seam between the first two blocks that a run writes."""
    boundary = trace.passes[begins(1)(trace)].start
    return boundary - 1, boundary


def thrown(trace: Trace) -> tuple[int, ...]:
    """The positions that are turned back into noise at the first seam."""
    states = trace.passes[nth("renoise")(trace)].states
    return tuple(int(position) for position in np.flatnonzero(states == STATE_CODE["renoised"]))


def gap(trace: Trace) -> tuple[int, ...]:
    """The positions that were not given."""
    return tuple(int(position) for position in np.flatnonzero(trace.passes[0].states != STATE_CODE["prompt"]))


def _facts(runs: Runs) -> Values:
    trace = runs[GAP]
    checks = trace.passes[-1].checks
    return {
        "gap": str(len(gap(trace))),
        "text": "; ".join(check.text for check in checks if not check.text.startswith(FINAL)),
        "calls": str(calls(trace)),
        "right": str(sum(check.verdict == "right" for check in checks)),
        "statements": str(len(checks)),
        "plain_calls": str(calls(runs[PLAIN])),
        "overlap_calls": str(calls(runs[OVERLAP])),
        "again_calls": str(calls(runs[AGAIN])),
    }


def _figures() -> Values:
    tried, right = figures.seeds(PLAIN)
    return {
        "tried": str(tried),
        "plain_right": str(right),
        "overlap_right": str(figures.seeds(OVERLAP)[1]),
        "again_right": str(figures.seeds(AGAIN)[1]),
    }


CHAPTER = Chapter(
    name="seams",
    short="Seams, gaps",
    title="Seams, overlap, and filling gaps",
    sentences=(
        "Where two blocks meet there is a [[seam]]: the first was finished before anything of the second stood.",
        "Its last tokens could not look ahead, and a text can become a patchwork, with parts that are good by"
        " themselves and do not go together.",
        "With [[overlap]] the last tokens of each block are only drafts, which are written once more together with the"
        " next block.",
        "Or the seam is written again: when the second block stands, the tokens around the seam turn back into noise"
        " and are drawn anew with both sides in view.",
        Measured(
            "Both cost further calls ({overlap_calls} and {again_calls} in place of {plain_calls} here), and whether"
            " they help has to be measured: of {tried} seeds with this problem {plain_right} end right without them,"
            " {overlap_right} with overlap and {again_right} with the seams written again.",
            "Both cost further calls ({overlap_calls} and {again_calls} in place of {plain_calls} here), and whether"
            " they help has to be measured.",
        ),
        "If the whole canvas is one block there is no seam, and gaps in a given text can be filled with both sides in"
        " view, which is called [[infilling]].",
        "In the last run the answer is given and the calculation before it is the gap, so that the model has to find"
        " steps which lead there.",
    ),
    control=Control(
        "At a seam",
        "The same model, problem and seed; in the last run there is no seam but a gap.",
        (
            Option("leave it", PLAIN, begins(1), seam),
            Option("overlap", OVERLAP, nth("renoise"), thrown),
            Option("write again", AGAIN, nth("renoise"), thrown),
            Option("fill a gap", GAP, nth("denoise", 1), gap),
        ),
        chosen=1,
    ),
    outline=Outline("listed", "the tokens at the seam, or the gap"),
    question=Question(
        "What does the model write into the gap before the given answer, and is it right?",
        "Into the {gap} positions of the gap it writes {text}, in {calls} calls; {right} of {statements} statements are"
        " right, the given answer included, which never changed.",
        3,
        last,
        gap,
    ),
    facts=_facts,
    figures=_figures,
    sources=("seeds", "run"),
)
