"""Tokens drawn in the same pass that do not fit each other: why few steps hurt."""

from __future__ import annotations

from blockviz.sampling.trace import Trace
from blockviz.ui.learn import figures
from blockviz.ui.learn.chapter import Chapter, Control, Measured, Option, Outline, Question, Runs, Values
from blockviz.ui.learn.reading import drawn, nth
from blockviz.views.numbers import quoted

MODEL, PRESET = "math-masked", "eipc"
COUNTS = {"one": 1, "two": 2, "four": 4, "eight": 8, "sixteen": 16}
SHOWN = "lesson-steps-2"

_last_step = nth("denoise", 0)
"""The last step of the first block: the others are drafts."""


def result_and_copy(trace: Trace, k: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Positions of the first result (digits after the first "=") and of the number after the ";" behind it."""
    entry = trace.passes[k]
    words = [trace.pieces[int(token)] for token in entry.tokens]
    at = words.index("=", trace.header.prompt_length) + 1
    result = _digits(words, at)
    return result, _digits(words, result[-1] + 2) if result else ()


def _digits(words: list[str], start: int) -> tuple[int, ...]:
    stop = start
    while stop < len(words) and words[stop].isdigit():
        stop += 1
    return tuple(range(start, stop))


def _both(trace: Trace) -> tuple[int, ...]:
    result, copy = result_and_copy(trace, _last_step(trace))
    return (*result, *copy)


def _number(trace: Trace, positions: tuple[int, ...]) -> str:
    tokens = trace.passes[_last_step(trace)].tokens
    return "".join(trace.pieces[int(tokens[position])] for position in positions)


def _facts(runs: Runs) -> Values:
    trace = runs[SHOWN]
    k = _last_step(trace)
    result, copy = result_and_copy(trace, k)
    verdicts = [check.verdict for check in trace.passes[-1].checks]
    return {
        "pass": str(k),
        "together": str(len(drawn(trace, k))),
        "result": quoted(_number(trace, result)),
        "copy": quoted(_number(trace, copy)),
        "wrong": str(verdicts.count("wrong")),
        "statements": str(len(verdicts)),
    }


def _figures() -> Values:
    rates = {name: figures.percent(MODEL, PRESET, steps) for name, steps in COUNTS.items()}
    return {"problems": figures.problems(MODEL), **rates}


CHAPTER = Chapter(
    name="steps",
    short="Few steps",
    title="Tokens drawn together can disagree",
    sentences=(
        "A call returns one distribution for each position, and each is made without knowing what will be drawn at the"
        " others.",
        "Where two positions depend on each other, drawing both in one pass can give a pair that nobody would write,"
        " though each token alone is likely.",
        "An [[AR]] model cannot make this mistake, since each of its tokens is drawn when the one before it is known.",
        "More [[steps|step]] for each block mean fewer tokens in each pass, so that less can disagree; fewer steps are"
        " quicker and blinder.",
        "The runs here keep the most certain tokens of each [[draft|proposal]] and draw the others again in the next"
        " step, where the model can see what was kept.",
        Measured(
            "On {problems} held-out problems one step gives {one} right answers, two give {two}, four {four}, eight"
            " {eight} and sixteen {sixteen}.",
            "How much it helps is measured in the model cards of the checkpoints.",
        ),
    ),
    control=Control(
        "Steps per block",
        "The same model, problem and seed; opened at the last step of the first block.",
        tuple(Option("{steps}", f"lesson-steps-{count}", _last_step) for count in COUNTS.values()),
        chosen=1,
    ),
    outline=Outline("new", "tokens drawn together in this pass"),
    question=Question(
        "Look at the run with two steps: which tokens drawn in the same pass do not fit each other?",
        "In pass {pass}, {together} tokens were drawn at once. The result of the first sum became {result}, and where"
        " the next statement repeats it stands {copy}: each was drawn as if the other was not known. In the end the"
        " checker finds {wrong} of {statements} statements wrong.",
        1,
        _last_step,
        _both,
    ),
    facts=_facts,
    figures=_figures,
    sources=("accuracy", "run"),
)
