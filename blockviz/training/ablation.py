"""Small ablations of the recipe's options: `python -m blockviz.training.ablation`.

Every variant is trained from scratch by the same number of optimiser steps on the same word problems in the same order,
with the same seeds, and measured on the same held-out problems. What is done is kept, so that a stopped run goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import torch

from blockviz.base.command_line import Parser, folder_to_make, sentence, target, whole
from blockviz.base.writing import complete
from blockviz.diffusion.processes import Process
from blockviz.training.batches import Example, assemble
from blockviz.training.curriculum import Curriculum
from blockviz.training.loop import Place, Trainer, train
from blockviz.training.objective import block_times, corrupt, predict, weighted_loss
from blockviz.training.recipes import RECIPES, Recipe, Stage
from blockviz.training.runfiles import RunError
from blockviz.training.seams import Seam, Seams, draw_seams, lighter_times
from blockviz.training.validation import validate

SIZES = (1, 2, 4, 8, 16, 32, 128)
MIXTURE = (0.40, 0.06, 0.06, 0.10, 0.24, 0.08, 0.06)
LEFT_TO_RIGHT = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
ONLY_16 = (0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
BASELINE = "mixture"
SEAM_BLOCK = 16
PROBLEMS, DRAWS = 128, 4
SHOWN = ("B = 1", "B = 4", "B = 16", "B = 128", "log-sum-exp", "seams")

# 97.5% points of Student's t by degrees of freedom.
_STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


@dataclass(frozen=True)
class Variant:
    """One way to train: what differs from the baseline, in words and as changes of its recipe."""

    words: str
    changes: Mapping[str, Any]
    ar_share: float = 0.0  # of the steps, first, left to right alone
    weights: tuple[float, ...] = MIXTURE


VARIANTS: dict[str, Variant] = {
    BASELINE: Variant("every block size at once, cross-entropy, even noise", {}),
    "fixed-16": Variant("block size 16 alone", {}, weights=ONLY_16),
    "elbo": Variant("the bound as loss, B = 1 as before", {"losses": ("ce", *["elbo"] * 6)}),
    "curriculum": Variant(
        "noise from heavy (k = 3) to light (k = 0.8)", {"curriculum": Curriculum(3.0, 0.8)}
    ),
    "seams": Variant("seams in a quarter of the rows of B = 4 to 32", {"seams": Seams(0.25)}),
    "overlay": Variant("an AR model for half of the steps, then the mixture over it", {}, ar_share=0.5),
}


def recipe_of(variant: Variant, process: Process, steps: int, seed: int) -> Recipe:
    """The recipe of a variant: the small network and the budget that all of them share."""
    stage = Stage(
        steps, variant.weights, rate_steps=steps, warmup_steps=min(50, steps // 4), practice_steps=steps
    )
    stages: tuple[Stage, ...] = (stage,)
    first = round(steps * variant.ar_share)
    if first:
        # One optimiser, one rate and one share of practice go through both: only the block sizes change.
        ar = replace(stage, steps=first, block_weights=LEFT_TO_RIGHT)
        later = replace(
            stage,
            steps=steps - first,
            rate=stage.rate_factor(first),
            rate_steps=0,
            warmup_steps=0,
            practice_start=stage.practice_share(first),
            practice_steps=steps - first,
        )
        stages = (ar, later)
    base = replace(RECIPES[f"math-{process}"], starts_from=None, stages=stages, block_sizes=SIZES)
    return replace(
        base,
        name="ablation",
        hidden_size=64,
        n_blocks=3,
        n_heads=2,
        ema_decay=0.99,
        seed=seed,
        **variant.changes,
    )


def measure(trainer: Trainer) -> dict[str, float]:
    """Nats per token of the averaged weights on the held-out problems, by block size and for the whole mixture.

    "seams" is the cross-entropy of rows that each have a seam, at block size `SEAM_BLOCK`.
    """
    examples = trainer.corpus.validation(PROBLEMS)
    # The mixture's bound is that of the baseline's weights, whatever a variant was trained with.
    judge = replace(
        trainer.recipe, stages=(replace(trainer.recipe.stages[-1], block_weights=MIXTURE),), seed=0
    )
    with trainer.averaged() as net, torch.inference_mode():
        result = validate(net, trainer.process, judge, examples, trainer.end_id, draws=DRAWS)
        figures = {f"B = {size}": value for size, value in result.nll.items()}
        figures["log-sum-exp"] = result.log_sum_exp
        figures["seams"] = _seam_loss(trainer, examples)
    return figures


def _seam_loss(trainer: Trainer, examples: list[Example]) -> float:
    sizes = [SEAM_BLOCK] * len(examples)
    seams: list[Seam | None] = draw_seams(Seams(1.0), sizes, trainer.recipe.canvas, Random(0))
    shifts = [seam.shift if seam is not None else 0 for seam in seams]
    streams = assemble(
        examples,
        sizes,
        [False] * len(sizes),
        trainer.recipe.canvas,
        trainer.end_id,
        trainer.place.device,
        shifts,
    )
    generator = torch.Generator().manual_seed(0)
    loss = weight = 0.0
    for _ in range(DRAWS):
        times = lighter_times(block_times(streams, generator), streams, seams, generator)
        noised = corrupt(streams, trainer.process, trainer.recipe.schedule, times, generator)
        never = torch.zeros_like(streams.block_size, dtype=torch.bool)
        logits = predict(trainer.net, streams, noised.xt)
        values = weighted_loss(logits, streams, noised, trainer.process, trainer.recipe.schedule, never)
        loss += float(values.sum())
        weight += float(noised.weight.sum())
    return loss / weight


def run_all(
    names: Sequence[str], process: Process, steps: int, seeds: int, out: Path, results: Path
) -> dict[str, Any]:
    """Train and measure what `results` does not hold yet; returns its content, saved after each run."""
    content: dict[str, Any] = {"process": process, "steps": steps, "figures": {}}
    if results.exists():
        content = json.loads(results.read_text(encoding="utf-8"))
        if (content["process"], content["steps"]) != (process, steps):
            raise RunError(
                f"{results} holds runs of {content['steps']} steps with {content['process']} noise"
            )
    for seed in range(seeds):
        for name in names:
            done = content["figures"].setdefault(name, {})
            if str(seed) in done:
                continue
            recipe = recipe_of(VARIANTS[name], process, steps, seed)
            place = Place(0, 1, torch.device("cpu"))
            trainer = train(
                recipe, out / f"{name}-{seed}", place, validate_every=steps + 1, validation_rows=1
            )
            done[str(seed)] = measure(trainer)
            with complete(results) as part:
                part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return content


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half the width of its 95% interval (Student's t); NaN for one value."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, math.nan
    spread = statistics.stdev(values) / math.sqrt(len(values))
    return mean, _STUDENT.get(len(values) - 1, 1.96) * spread


def markdown(content: Mapping[str, Any]) -> str:
    """The report: the baseline's figures, and every variant's paired differences from them."""
    figures = content["figures"]
    seeds = sorted(figures[BASELINE], key=int)
    lines = [
        "| variant | seeds | " + " | ".join(SHOWN) + " |",
        "| --- | --- |" + " --- |" * len(SHOWN),
        f"| **{BASELINE}** | {len(seeds)} | "
        + " | ".join(_cell(*interval([figures[BASELINE][s][key] for s in seeds])) for key in SHOWN)
        + " |",
    ]
    for name, runs in figures.items():
        both = [seed for seed in seeds if seed in runs]
        if name == BASELINE or not both:
            continue
        differences = (
            interval([runs[seed][key] - figures[BASELINE][seed][key] for seed in both]) for key in SHOWN
        )
        lines.append(
            f"| {name} | {len(both)} | " + " | ".join(_cell(*pair, sign="+") for pair in differences) + " |"
        )
    words = [f"- **{name}**: {VARIANTS[name].words}." for name in figures]
    return "\n".join([*lines, "", *words]) + "\n"


def _cell(mean: float, half: float, sign: str = "") -> str:
    return f"{mean:{sign}.3f}" + ("" if math.isnan(half) else f" ± {half:.3f}")


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `python -m blockviz.training.ablation`; exit code 2 on bad input."""
    parser = Parser(prog="python -m blockviz.training.ablation", description=__doc__)
    parser.add_argument("--process", choices=("masked", "uniform"), default="uniform", help="noise")
    parser.add_argument("--steps", type=whole(8, 1_000_000), default=500, help="optimiser steps of every run")
    parser.add_argument("--seeds", type=whole(1, 10), default=3, help="runs of every variant")
    parser.add_argument(
        "--variants", nargs="+", choices=sorted(VARIANTS), help="beside the baseline (default all)"
    )
    parser.add_argument(
        "--out", type=folder_to_make, default=Path("runs/ablation"), help="folder of the runs"
    )
    parser.add_argument("--results", type=target, help="JSON file of the figures (default in the folder)")
    options: argparse.Namespace = parser.parse_args(arguments)
    names = [BASELINE, *(name for name in options.variants or VARIANTS if name != BASELINE)]
    options.out.mkdir(parents=True, exist_ok=True)
    results = options.results or options.out / f"{options.process}.json"
    try:
        content = run_all(names, options.process, options.steps, options.seeds, options.out, results)
    except (RunError, OSError) as error:
        sys.stderr.write(sentence(str(error)))
        return 2
    print(markdown(content))
    return 0


if __name__ == "__main__":
    sys.exit(main())
