"""Masked against uniform noise."""

from __future__ import annotations

from blockviz.sampling.passes import REASON_CODE
from blockviz.sampling.trace import Trace
from blockviz.ui.learn import figures
from blockviz.ui.learn.chapter import Chapter, Control, Measured, Option, Outline, Question, Runs, Values
from blockviz.ui.learn.reading import nth
from blockviz.views.numbers import quoted

MASKED, UNIFORM = "lesson-masked", "lesson-uniform"
MANY, FEW = 16, 2


def second_thoughts(trace: Trace) -> list[tuple[int, int]]:
    """Where a token that had been drawn was replaced by another draw: [(pass, position), ...]."""
    code = REASON_CODE["resampled"]
    return [
        (k, entry.start + place)
        for k, entry in enumerate(trace.passes)
        for place in range(entry.stop - entry.start)
        if entry.phase == "denoise"
        and entry.reasons[place] == code
        and entry.tokens[entry.start + place] != trace.passes[k - 1].tokens[entry.start + place]
    ]


def _pass(trace: Trace) -> int:
    return second_thoughts(trace)[0][0]


def _place(trace: Trace) -> tuple[int, ...]:
    return (second_thoughts(trace)[0][1],)


def _facts(runs: Runs) -> Values:
    uniform = runs[UNIFORM]
    k, place = second_thoughts(uniform)[0]
    before, after = (uniform.pieces[int(uniform.passes[j].tokens[place])] for j in (k - 1, k))
    return {
        "masked_changes": str(len(second_thoughts(runs[MASKED]))),
        "uniform_changes": str(len(second_thoughts(uniform))),
        "pass": str(k),
        "position": str(place + 1),
        "before": quoted(before),
        "after": quoted(after),
    }


def _figures() -> Values:
    values = {"problems": figures.problems("math-masked"), "many": str(MANY), "few": str(FEW)}
    for noise in ("masked", "uniform"):
        for name, steps in (("many", MANY), ("few", FEW)):
            values[f"{noise}_{name}"] = figures.percent(f"math-{noise}", "ancestral", steps)
    return values


CHAPTER = Chapter(
    name="noise",
    short="Two noises",
    title="Two kinds of noise: masked and uniform",
    sentences=(
        "Noise can be one of two things, and a model is trained for one of them.",
        "With [[masked noise]] an open position holds a special mask token, which says that nothing has been written"
        " there.",
        "With [[uniform noise]] it holds a random word of the vocabulary, and the model has to tell by itself which"
        " words are noise.",
        "A masked position changes once, from mask to token, and then stays as it is; a uniform one can change at every"
        " step while its block is active.",
        "That gives uniform noise the freedom to repair, because a token that no longer fits the others can be replaced"
        " in the next step.",
        Measured(
            "Sampled the simplest way with {many} steps, our masked model answers {masked_many} of {problems} held-out"
            " problems right and the uniform one {uniform_many}; with {few} steps it is {masked_few} and"
            " {uniform_few}.",
            "How well each does is measured in the model cards of the checkpoints.",
        ),
        "BlockGen, with larger models and real text, finds uniform noise ahead in such sampling, most of all at few"
        " steps.",
    ),
    control=Control(
        "Noise",
        "The same problem and seed, on a model for each kind of noise.",
        (
            Option("masked", MASKED, nth("denoise", 4)),
            Option("uniform", UNIFORM, nth("denoise", 4)),
        ),
        chosen=1,
    ),
    outline=Outline("noise", "noise of the active block"),
    question=Question(
        "How often is a token that had been drawn replaced by another in each run?",
        "Masked: {masked_changes} times. Uniform: {uniform_changes} times; in pass {pass} the {before} at position"
        " {position} became {after}.",
        1,
        _pass,
        _place,
    ),
    facts=_facts,
    figures=_figures,
    sources=("accuracy", "blockgen", "run"),
)
