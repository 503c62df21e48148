"""What the figures of `training.ablation` say, in words and tables: paired differences over seeds with intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

BASELINE = "mixture"
FIXED = "fixed-16"
FIXED_SIZE = "B = 16"
BOUND = "mixture bound"
SHOWN = ("B = 1", "B = 4", FIXED_SIZE, "B = 128", BOUND, "seams")

# 97.5% points of Student's t by degrees of freedom.
_STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}

Figures = Mapping[str, Mapping[str, float]]
"""The figures of a variant by seed."""


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half the width of its 95% interval (Student's t); NaN for one value."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, math.nan
    spread = statistics.stdev(values) / math.sqrt(len(values))
    return mean, _STUDENT.get(len(values) - 1, 1.96) * spread


def paired(first: Figures, second: Figures, of: str, minus: str) -> list[float]:
    """Figure `of` of the first variant minus figure `minus` of the second, for every seed that both have, in order."""
    seeds = sorted(first.keys() & second.keys(), key=int)
    return [first[seed][of] - second[seed][minus] for seed in seeds]


def table(content: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """The baseline's figures, every variant's paired differences from them, and what each is; `words` says that."""
    figures = content["figures"]
    base = figures[BASELINE]
    seeds = sorted(base, key=int)
    lines = [
        "| variant | seeds | " + " | ".join(SHOWN) + " |",
        "| --- | --- |" + " --- |" * len(SHOWN),
        f"| **{BASELINE}** | {len(seeds)} | "
        + " | ".join(_cell(*interval([base[s][key] for s in seeds])) for key in SHOWN)
        + " |",
    ]
    for name, runs in figures.items():
        both = base.keys() & runs.keys()
        if name == BASELINE or not both:
            continue
        differences = (interval(paired(runs, base, key, key)) for key in SHOWN)
        lines.append(
            f"| {name} | {len(both)} | " + " | ".join(_cell(*pair, sign="+") for pair in differences) + " |"
        )
    return "\n".join([*lines, "", *(f"- **{name}**: {words[name]}." for name in figures)]) + "\n"


def claims(content: Mapping[str, Any]) -> list[str]:
    """What the figures say of the mixture against the model of one block size, a sentence each; none without both."""
    figures = content["figures"]
    mixture, fixed = figures[BASELINE], figures.get(FIXED, {})
    if not mixture.keys() & fixed.keys():
        return []
    share = "The mixture's log-sum-exp bound"
    return [
        _claim(
            f"{share} against the bound (ELBO) of the model of block size 16 alone",
            paired(mixture, fixed, BOUND, FIXED_SIZE),
            "This is the paper's claim",
        ),
        _claim(
            "Both at block size 16",
            paired(mixture, fixed, FIXED_SIZE, FIXED_SIZE),
            "This is what sharing one network between block sizes gives or takes at that size",
        ),
        _claim(
            f"{share} against the mixture's own left-to-right reading (B = 1, exact)",
            paired(mixture, mixture, BOUND, "B = 1"),
            "This is how much of the bound is owed to more than its block size 1",
        ),
    ]


def _claim(what: str, differences: Sequence[float], meaning: str) -> str:
    mean, half = interval(differences)
    seeds = f"{len(differences)} seed" + "s" * (len(differences) > 1)
    if math.isnan(half):
        told = "one seed has no interval, so that it tells nothing yet"
    elif mean + half < 0:
        told = "**lower, which is better**; the interval leaves out 0"
    elif mean - half > 0:
        told = "**higher, which is worse**; the interval leaves out 0"
    else:
        told = "**it cannot be told**: the interval holds 0"
    return f"{what}: {_cell(mean, half, sign='+')} nats per token ({seeds}); {told}. {meaning}."


def _cell(mean: float, half: float, sign: str = "") -> str:
    return f"{mean:{sign}.3f}" + ("" if math.isnan(half) else f" ± {half:.3f}")


def document(contents: Sequence[Mapping[str, Any]], words: Mapping[str, str], setting: str) -> str:
    """The whole report on result files, one per noise process, as Markdown.

    `setting` says in sentences what all runs share.
    """
    lines = [
        "# Ablations of the training recipe",
        "",
        "What each option of the recipe does to small networks. Every variant is trained from scratch by the same "
        "number of optimiser steps on the same problems in the same order, with the same seeds, and measured on the "
        "same held-out problems with the same noise. " + setting,
        "",
        "All figures are nats per token, lower is better: exact at B = 1, elsewhere the process' bound (ELBO). The "
        "*mixture bound* is the log-sum-exp over block sizes, per sequence, with the baseline's weights for every "
        "variant. The log-sum-exp of noisy estimates flatters, so it is cross-fitted (`diffusion.bounds."
        "cross_fitted_bound`): on average it lies at the bound or above it, never below. *seams*: cross-entropy at "
        "block size 16 of rows that have a seam. The first row has the baseline's figures, the others their "
        "differences from it, paired by seed; ± is half of the 95% interval over seeds (Student's t).",
        "",
    ]
    for content in contents:
        lines += [
            f"## {content['process'].capitalize()} noise, {content['steps']:,} steps",
            "",
            table(content, words),
            *_mixture_lines(content),
        ]
    lines += [
        "## What the figures do not show",
        "",
        "- Small networks and short runs: they are far from having learned the task, and an option that helps early "
        "may not help late, or the other way round.",
        "- One task, word problems with few words; stories or web text may differ.",
        "- Few seeds: an interval over three has wide tails, many differences are looked at at once, and one in twenty "
        "leaves out 0 by chance alone.",
        "- Equal budgets in optimiser steps and sequences, not in time: an option that costs more per step is not "
        "charged for it.",
        "- Likelihood only: nothing here says which variant writes better texts.",
        "- The recipe's rates were chosen for the mixture; another variant might do better with its own.",
        "",
        "## Made by",
        "",
        *(
            f"`python -m blockviz.training.ablation --process {content['process']} --steps {content['steps']} --seeds "
            f"{len(content['figures'][BASELINE])}`, then"
            for content in contents
        ),
        "`python -m blockviz.training.ablation --report FILE --results RESULTS ...`, which wrote this page.",
        "",
    ]
    return "\n".join(lines)


def _mixture_lines(content: Mapping[str, Any]) -> list[str]:
    said = claims(content)
    if not said:
        return []
    return [
        "### Is the mixture's bound better than one block size?",
        "",
        "BlockGen (arXiv 2606.02241) reports so on OpenWebText: perplexity 17.5 for the masked mixture, 21.6 for the "
        "best single block size. Only the direction can be compared. Differences of the first from the second:",
        "",
        *(f"- {sentence}" for sentence in said),
        "",
    ]
