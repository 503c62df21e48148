"""One active block, and a past that no pass changes."""

from __future__ import annotations

import numpy as np

from blockviz.sampling.trace import Trace
from blockviz.ui.learn.chapter import Chapter, Control, Option, Outline, Question, Runs, Values
from blockviz.ui.learn.reading import begins, last, outlined

RUN = "lesson-cached"
LAST_BLOCK = 2


def changed(trace: Trace, k: int) -> int:
    """How many of the tokens that are committed after pass `k` are others at the end of the run."""
    frozen = list(outlined("frozen", trace, k))
    return int(np.count_nonzero(trace.passes[k].tokens[frozen] != trace.passes[-1].tokens[frozen]))


def _facts(runs: Runs) -> Values:
    trace = runs[RUN]
    k = begins(LAST_BLOCK)(trace)
    return {
        "size": str(trace.header.block_size),
        "frozen": str(len(outlined("frozen", trace, k))),
        "changed": str(changed(trace, k)),
        "passes": str(last(trace) - k),
    }


CHAPTER = Chapter(
    name="frozen",
    short="Active block",
    title="One active block, a frozen past",
    sentences=(
        "Only one [[block]] is written at a time: the [[active block]], which has a frame on the canvas.",
        "The blocks after it are not opened yet, and the network does not see them.",
        "When its last [[step]] is done, a block is finished, or [[committed|commit]]: its tokens stay as they are for"
        " the rest of the run.",
        "So the {size} positions of a block are filled in any order, but the text as a whole still grows from left to"
        " right.",
        "A past that cannot change need not be computed again: what the network knows about it is kept in the"
        " [[KV cache]].",
        "It also has a price, for an error in a finished block is there for good, and every later block reads it.",
    ),
    control=Control(
        "Active block",
        "The same run, at the first pass of each block that it writes.",
        (
            Option("first", RUN, begins(0)),
            Option("second", RUN, begins(1)),
            Option("third", RUN, begins(LAST_BLOCK)),
        ),
        chosen=1,
    ),
    outline=Outline("frozen", "finished tokens, which no later pass changes"),
    question=Question(
        "How many of the finished tokens change between the start of the third block and the end of the run?",
        "In the {passes} passes from there to the end, {changed} of the {frozen} finished tokens change. Play on, and"
        " watch the outlined ones.",
        LAST_BLOCK,
        begins(LAST_BLOCK),
    ),
    facts=_facts,
    sources=("run",),
)
