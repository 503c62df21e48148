"""ARPC: the model reads its own draft from left to right."""

from __future__ import annotations

import numpy as np

from blockviz.sampling.trace import Trace
from blockviz.ui.learn import figures
from blockviz.ui.learn.chapter import Chapter, Control, Measured, Option, Outline, Question, Runs, Values
from blockviz.ui.learn.reading import nth, verdict
from blockviz.views.numbers import close, percent, quoted
from blockviz.views.story import alternatives

NONE, RANDOM, INFORMED = "lesson-arpc-none", "lesson-arpc-random", "lesson-arpc-informed"
MODEL, STEPS = "math-masked", 8


def most_surprising(trace: Trace) -> tuple[int, int]:
    """The re-noising of the token that surprised AR most, where AR would have written another one: (pass, position)."""
    best, found = -np.inf, (0, 0)
    for k, entry in enumerate(trace.passes):
        if entry.phase != "renoise":
            continue
        for position, (token, _) in alternatives(trace, k).items():
            score = float(entry.score[position - entry.start])
            if score > best and token != int(trace.passes[k - 1].tokens[position]):
                best, found = score, (k, position)
    return found


def _pass(trace: Trace) -> int:
    return most_surprising(trace)[0]


def _place(trace: Trace) -> tuple[int, ...]:
    return (most_surprising(trace)[1],)


def _facts(runs: Runs) -> Values:
    trace = runs[INFORMED]
    k, position = most_surprising(trace)
    entry = trace.passes[k]
    token, probability = alternatives(trace, k)[position]
    end = trace.passes[-1]
    return {
        "token": quoted(trace.pieces[int(trace.passes[k - 1].tokens[position])]),
        "position": str(position + 1),
        "pass": str(k),
        "score": close(float(entry.score[position - entry.start])),
        "other": quoted(trace.pieces[token]),
        "probability": percent(probability),
        "denoise": str(end.nfe_denoise),
        "verify": str(end.nfe_verify),
        "verdict": verdict(trace),
    }


def _figures() -> Values:
    values = {"problems": figures.problems(MODEL), "steps": str(STEPS)}
    for preset in ("ancestral", "random", "arpc"):
        values[preset] = figures.percent(MODEL, preset, STEPS)
    return values | {
        "arpc_mean": figures.mean_calls(MODEL, "arpc", STEPS),
        "ancestral_mean": figures.mean_calls(MODEL, "ancestral", STEPS),
    }


CHAPTER = Chapter(
    name="arpc",
    short="ARPC",
    title="ARPC: the model reads its own draft",
    sentences=(
        "Which tokens go back to noise need not be left to chance: the model can read its own [[draft|proposal]] and"
        " doubt it.",
        "Used with blocks of a single token the same network is an [[AR]] model, and in one call it says of every token"
        " of a draft how likely it is after those before it.",
        "The AR-informed predictor-corrector ([[ARPC]]) throws back the tokens that surprise this reading most.",
        "The surprise is the negative log-probability ([[NLL]]) of the token in [[nats|nat]]: zero for a token that was"
        " certain, and more the less likely it was.",
        "Each reading is one network call more; the line above the canvas counts these [[verify]] calls apart.",
        Measured(
            "On {problems} held-out problems with {steps} steps the masked model answers {ancestral} right without"
            " corrector, {random} with the random one and {arpc} with ARPC, which takes {arpc_mean} calls each in place"
            " of {ancestral_mean}.",
            "How much it helps is measured in the model cards of the checkpoints.",
        ),
        "BlockGen reports that ARPC closes the gap between masked and uniform noise, with masked noise slightly ahead"
        " when many calls are spent.",
    ),
    control=Control(
        "Corrector",
        "The same model, problem, seed and number of steps.",
        (
            Option("none", NONE, nth("denoise", 4)),
            Option("random", RANDOM, nth("renoise", 2)),
            Option("ARPC", INFORMED, nth("renoise", 2)),
        ),
        chosen=2,
    ),
    outline=Outline("thrown", "tokens thrown back to noise in this pass"),
    question=Question(
        "Which token surprised the reading most, and what would the reader have written there?",
        "It was {token} at position {position}, in pass {pass}: its surprise is {score} nats, and reading from left to"
        " right the model would have written {other} with a probability of {probability}. The whole run took {denoise}"
        " denoise and {verify} verify calls, and its answer is {verdict}.",
        2,
        _pass,
        _place,
    ),
    facts=_facts,
    figures=_figures,
    sources=("accuracy", "blockgen", "run"),
    views=("renoising",),
)
