"""Reveal schedules: how many tokens in each step, and which."""

from __future__ import annotations

from blockviz.sampling.trace import Trace
from blockviz.ui.learn import figures
from blockviz.ui.learn.chapter import Chapter, Control, Measured, Option, Outline, Question, Runs, Values
from blockviz.ui.learn.reading import calls, drawn, nth

EVEN, COSINE, THRESHOLD = "lesson-reveal-even", "lesson-reveal-cosine", "lesson-reveal-threshold"


def filled(trace: Trace, count: int) -> int:
    """How many positions were filled by the first `count` denoising passes of a run of one block."""
    passes = [k for k, entry in enumerate(trace.passes) if entry.phase == "denoise"]
    return sum(len(drawn(trace, k)) for k in passes[:count])


def _half(trace: Trace) -> int:
    return trace.header.settings.steps // 2


def _halfway(trace: Trace) -> int:
    return nth("denoise", _half(trace) - 1)(trace)


def _facts(runs: Runs) -> Values:
    even, cosine, threshold = (runs[name] for name in (EVEN, COSINE, THRESHOLD))
    return {
        "half": str(_half(even)),
        "steps": str(even.header.settings.steps),
        "free": str(filled(even, len(even.passes))),
        "even": str(filled(even, _half(even))),
        "cosine": str(filled(cosine, _half(cosine))),
        "threshold": str(filled(threshold, _half(even))),
        "first": str(filled(threshold, 1)),
        "threshold_calls": str(calls(threshold)),
        "even_calls": str(calls(even)),
        "limit": f"{threshold.header.settings.threshold:g}",
    }


def _figures() -> Values:
    tried, right = figures.seeds(EVEN)
    return {
        "tried": str(tried),
        "even_right": str(right),
        "cosine_right": str(figures.seeds(COSINE)[1]),
        "threshold_right": str(figures.seeds(THRESHOLD)[1]),
    }


CHAPTER = Chapter(
    name="reveal",
    short="Revealing",
    title="Reveal schedules: how many tokens, and which",
    sentences=(
        "Here every position that waits for its token holds a mask, and to put a token there is to [[reveal]] it.",
        "A reveal schedule says two things: how many positions are revealed in each [[step]], and which ones.",
        "The even schedule reveals the same number in every step.",
        "A cosine [[schedule]] reveals few at first, while the model sees little and is unsure, and most of them near"
        " the end.",
        "A [[threshold]] sets no number: every token that is likely enough is revealed at once, so that easy stretches"
        " take few network calls and hard ones take many.",
        "Which come first is decided in all three runs here by how sure the model is of them ([[confidence]]); other"
        " samplers go from left to right, or by lot.",
        "A revealed token is not taken back, so the unsure ones had better wait until more of the text is there.",
        Measured(
            "Of {tried} seeds with this problem, {even_right} end right with the even schedule, {cosine_right} with the"
            " cosine and {threshold_right} with the threshold.",
            "How often each ends right has to be measured, and differs from text to text.",
        ),
    ),
    control=Control(
        "Schedule",
        "The same model, problem and seed, one block of the whole answer; the threshold is a probability of {limit}.",
        (
            Option("even", EVEN, _halfway),
            Option("cosine", COSINE, _halfway),
            Option("threshold", THRESHOLD, nth("denoise", 0)),
        ),
    ),
    outline=Outline("new", "tokens revealed in this pass"),
    question=Question(
        "How much is revealed after half of the steps, and how many calls does the threshold need?",
        "After {half} of {steps} steps it is {even} of {free} positions with the even schedule and {cosine} with the"
        " cosine. The threshold reveals {first} in its first call, is done after {threshold_calls}, and the others take"
        " {even_calls}.",
        2,
        nth("denoise", 0),
    ),
    facts=_facts,
    figures=_figures,
    sources=("seeds", "run"),
)
