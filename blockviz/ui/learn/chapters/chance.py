"""Random correction: second chances without any knowledge."""

from __future__ import annotations

from blockviz.ui.learn import figures
from blockviz.ui.learn.chapter import Chapter, Control, Measured, Option, Outline, Question, Runs, Values
from blockviz.ui.learn.reading import nth
from blockviz.views.revisions import revisions

NONE, RANDOM = "lesson-no-corrector", "lesson-random"
STEPS = 16


def _facts(runs: Runs) -> Values:
    tally = revisions(runs[RANDOM]).tally()
    return {
        "thrown": str(tally.thrown),
        "same": str(tally.same),
        "changed": str(tally.thrown - tally.same - tally.lost),
        "righted": str(tally.righted),
        "spoilt": str(tally.spoilt),
    }


def _figures() -> Values:
    values = {"problems": figures.problems("math-uniform"), "steps": str(STEPS)}
    for noise in ("masked", "uniform"):
        for preset in ("ancestral", "random"):
            values[f"{noise}_{preset}"] = figures.percent(f"math-{noise}", preset, STEPS)
    return values


CHAPTER = Chapter(
    name="chance",
    short="Random",
    title="Random correction: a second chance for every token",
    sentences=(
        "A simple remedy against tokens that do not fit is to let none of them be final before the block is.",
        "A [[corrector]] turns some tokens of a [[draft|proposal]] back into noise ([[re-noise]]), and the next step"
        " draws them again with all the others in view.",
        "The [[random corrector]] chooses them by lot: it knows nothing of right and wrong, and it needs no further"
        " network call.",
        "Good tokens are thrown out as often as bad ones, but a good one is likely to come back, since the tokens"
        " around it speak for it, and a bad one is not.",
        "How many go back is set by the [[schedule]]: most of them at first, fewer and fewer later, none in the last"
        " step.",
        Measured(
            "On {problems} held-out problems with {steps} steps it takes the uniform model from {uniform_ancestral} to"
            " {uniform_random} right answers, and the masked one from {masked_ancestral} to {masked_random}.",
            "How much it helps is measured in the model cards of the checkpoints.",
        ),
    ),
    control=Control(
        "Corrector",
        "The same model with uniform noise, the same problem and seed.",
        (
            Option("none", NONE, nth("denoise", 6)),
            Option("random", RANDOM, nth("renoise", 6)),
        ),
        chosen=1,
    ),
    outline=Outline("thrown", "tokens thrown back to noise in this pass"),
    question=Question(
        "How many of the tokens that the lot threw back came back as they were?",
        "It threw {thrown} tokens back in all passes together, and {same} of them came back the same. {changed} came"
        " back as another token; with {righted} of these an equation became right, and with {spoilt} one became wrong.",
        1,
        nth("renoise", 10),
    ),
    facts=_facts,
    figures=_figures,
    sources=("accuracy", "run"),
)
