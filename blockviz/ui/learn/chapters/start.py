"""From AR to diffusion: one token a call, or several."""

from __future__ import annotations

from blockviz.ui.learn import figures
from blockviz.ui.learn.chapter import Chapter, Control, Measured, Option, Outline, Question, Runs, Values
from blockviz.ui.learn.reading import calls, drawn, fullest, nth, written

AR, BLOCKS = "lesson-left-to-right", "lesson-in-blocks"
MODEL, STEPS = "math-masked", 8


def _facts(runs: Runs) -> Values:
    ar, blocks = runs[AR], runs[BLOCKS]
    return {
        "size": str(blocks.header.block_size),
        "parameters": f"{blocks.header.model.parameters / 1e6:.1f} million",
        "ar_calls": str(calls(ar)),
        "ar_tokens": str(written(ar)),
        "block_calls": str(calls(blocks)),
        "block_tokens": str(written(blocks)),
        "together": str(len(drawn(blocks, fullest(blocks)))),
    }


def _figures() -> Values:
    return {
        "problems": figures.problems(MODEL),
        "ar_right": figures.percent(MODEL, "ar"),
        "ar_mean": figures.mean_calls(MODEL, "ar"),
        "steps": str(STEPS),
        "block_right": figures.percent(MODEL, "ancestral", STEPS),
        "block_mean": figures.mean_calls(MODEL, "ancestral", STEPS),
    }


CHAPTER = Chapter(
    name="start",
    short="AR to diffusion",
    title="From one token at a time to many",
    sentences=(
        "A usual language model is autoregressive ([[AR]]): it writes from left to right, and every token costs one"
        " call of the network.",
        "A discrete [[diffusion]] model begins with a [[canvas]] full of [[noise]] and turns it into text in several"
        " [[passes|pass]], with a few tokens in each.",
        "In one call it predicts a token for every position that still holds noise, with what stands to the left and"
        " to the right of it in view.",
        "The model on this page can do both: its canvas is cut into [[blocks|block]] of {size} positions which follow"
        " each other from left to right, and inside a block the tokens come in any order.",
        "It is small ({parameters} weights) and solves word problems, so that every answer you see here can be"
        " checked.",
        Measured(
            "Fewer calls have a price: on {problems} held-out problems it answers {ar_right} right from left to right"
            " with {ar_mean} calls each on average, and {block_right} when it writes in blocks the simplest way, with"
            " {steps} [[steps|step]] for each block and {block_mean} calls.",
            "Fewer calls have a price, which is measured in the model cards of the checkpoints.",
        ),
        "Why that is so, and what can be done about it, is what the other chapters are about.",
    ),
    control=Control(
        "Way of writing",
        "Both runs answer the same problem with the same model.",
        (
            Option("left to right", AR, nth("denoise", 3)),
            Option("in blocks", BLOCKS, fullest),
        ),
        chosen=1,
    ),
    outline=Outline("new", "tokens drawn in this pass"),
    question=Question(
        "How many network calls does each way of writing need for this answer?",
        "Left to right needs {ar_calls} calls for {ar_tokens} tokens, one for each. In blocks it takes {block_calls}"
        " for {block_tokens}; in the pass now on screen, {together} tokens were drawn at once.",
        1,
        fullest,
    ),
    facts=_facts,
    figures=_figures,
    sources=("accuracy", "run"),
)
