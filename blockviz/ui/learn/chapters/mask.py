"""The block-causal mask, and why what the cache holds is exact."""

from __future__ import annotations

import numpy as np

from blockviz.sampling.trace import Trace
from blockviz.ui.learn.chapter import Chapter, Control, Option, Outline, Question, Runs, Values
from blockviz.ui.learn.reading import begins, keys_read

CACHED, RECOMPUTED = "lesson-cached", "lesson-recomputed"


def differences(first: Trace, second: Trace) -> tuple[int, int]:
    """Entries of the token table [passes, positions] that differ between two runs of equal shape, and all entries."""
    return int(np.count_nonzero(first.tokens != second.tokens)), first.tokens.size


def _facts(runs: Runs) -> Values:
    cached, recomputed = runs[CACHED], runs[RECOMPUTED]
    different, entries = differences(cached, recomputed)
    return {
        "different": str(different),
        "entries": f"{entries:,}",
        "passes": str(len(cached.passes)),
        "cached_work": f"{keys_read(cached):,}",
        "recomputed_work": f"{keys_read(recomputed):,}",
    }


CHAPTER = Chapter(
    name="mask",
    short="Mask, cache",
    title="The block-causal mask, and why the cache is exact",
    sentences=(
        "Who may read whom inside the network is set by the [[attention mask]] in the chart: each row is a token that"
        " reads, each column a token that can be read.",
        "Finished tokens read only themselves and what stands before them, as in any [[AR]] model, which makes the"
        " triangle.",
        "The positions of the [[active block]], the lowest band, read all finished tokens and each other in both"
        " directions.",
        "No finished token ever reads the active block, so what the network computes for it cannot depend on what is"
        " still noise.",
        "Its [[keys and values|KV cache]] therefore need to be computed only once, and taking them from the cache gives"
        " what computing them again would give.",
        "The second run here has the cache turned off and computes the whole text anew in every call.",
        "The [[block-causal]] mask with a cache comes from BD3-LM; reading finished tokens strictly from left to right,"
        " so that one cache serves every [[block size]], is BlockGen's.",
    ),
    control=Control(
        "KV cache",
        "The same model, prompt and seed, with and without the cache.",
        (
            Option("on", CACHED, begins(1)),
            Option("off", RECOMPUTED, begins(1)),
        ),
    ),
    outline=Outline("block", "the active block, which reads in both directions"),
    question=Question(
        "In how many tokens do the two runs differ, and what does the cache save?",
        "In {different} of the {entries} tokens that stand on the canvas over all {passes} passes. With"
        " the cache {cached_work} tokens went through the network in all calls together, without it {recomputed_work}.",
        1,
        begins(2),
    ),
    facts=_facts,
    sources=("bd3lm", "blockgen", "run"),
    views=("attention",),
)
