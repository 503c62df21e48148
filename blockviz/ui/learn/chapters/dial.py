"""Block size as the dial from AR to the whole canvas."""

from __future__ import annotations

from blockviz.sampling.trace import Trace
from blockviz.ui.learn import figures
from blockviz.ui.learn.chapter import Chapter, Control, Measured, Option, Outline, Question, Runs, Values
from blockviz.ui.learn.reading import calls, nth, verdict, written

SIZES = (1, 4, 16, 64)
BOUNDS = {"one": "B = 1", "middle": "B = 16", "whole": "B = 128"}


def _line(trace: Trace) -> str:
    rate = written(trace) / calls(trace)
    return (
        f"blocks of {trace.header.block_size}: {calls(trace)} calls for {written(trace)} tokens,"
        f" {rate:.1f} a call, answer {verdict(trace)}"
    )


def _facts(runs: Runs) -> Values:
    return {
        "lines": "; ".join(_line(runs[f"lesson-block-{size}"]) for size in SIZES),
        "steps": str(runs["lesson-block-16"].header.settings.steps),
        "length": str(runs["lesson-block-16"].header.length),
    }


def _figures() -> Values:
    bounds = figures.likelihood("math-masked")
    try:
        ours = {f"nll_{name}": bounds[column] for name, column in BOUNDS.items()}
    except KeyError as missing:
        raise figures.FiguresMissing(str(missing)) from None
    sizes = {f"size_{name}": column.removeprefix("B = ") for name, column in BOUNDS.items()}
    return ours | sizes


def _papers() -> Values:
    bd3lm, blockgen = figures.paper("bd3lm"), figures.paper("blockgen")
    return {f"bd3lm_{name}": value for name, value in bd3lm.items()} | {
        f"blockgen_{name}": value for name, value in blockgen.items()
    }


CHAPTER = Chapter(
    name="dial",
    short="Block size",
    title="Block size: the dial from AR to the whole canvas",
    sentences=(
        "One model serves many [[block sizes|block size]], because it was trained with several of them.",
        "In blocks of a single token the noise tells the network nothing, and each token is drawn after all before it:"
        " that is an [[AR]] model, exactly.",
        "In one block as long as the canvas nothing is finished before the end and nothing can be cached, but every"
        " position sees every other, so that gaps in the middle can be filled.",
        "In between, the dial trades network calls against what a token can know of its neighbours when it is drawn.",
        Measured(
            "How well the model predicts held-out answers gets worse with the block size: {nll_one} [[nats|nat]] per"
            " token for blocks of {size_one}, {nll_middle} for blocks of {size_middle} and {nll_whole} for the whole"
            " canvas of {size_whole} (upper bounds, except the first).",
            "How well the model predicts text at each size is measured in its model card.",
        ),
        "BD3-LM finds the same on OpenWebText, with a [[perplexity]] of {bd3lm_block_small} for blocks of"
        " {bd3lm_small}, {bd3lm_block_large} for blocks of {bd3lm_large}, {bd3lm_whole} for the whole sequence, and"
        " {bd3lm_ar} for AR.",
        "BlockGen, whose figures cannot be compared with those, reports a perplexity of {blockgen_mixture} for one"
        " model of all sizes, {blockgen_fixed} for its best model of a single block size, and {blockgen_ar} for AR.",
    ),
    control=Control(
        "Block size",
        "At most {steps} steps for each block, on a canvas of {length} positions; the largest block is the whole"
        " canvas.",
        tuple(Option("{block_size}", f"lesson-block-{size}", nth("denoise", 0)) for size in SIZES),
        chosen=2,
    ),
    outline=Outline("block", "the active block"),
    question=Question(
        "How many tokens does a call write at each block size, and what becomes of the answer?",
        "In these four runs: {lines}.",
        3,
        nth("commit", 0),
    ),
    facts=lambda runs: {**_facts(runs), **_papers()},
    figures=_figures,
    sources=("bounds", "bd3lm", "blockgen", "run"),
)
