"""Small ablations of the recipe's options: `python -m blockviz.training.ablation`.

Every variant is trained from scratch by the same number of optimiser steps on the same word problems in the same order,
with the same seeds, and measured on the same held-out problems. What is done is kept, so that a stopped run goes on.
`--report FILE` writes what the result files of one or both noise processes say as a page, and trains nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, get_args

import torch

from blockviz.base.command_line import Parser, folder_to_make, sentence, target, whole
from blockviz.base.writing import complete
from blockviz.diffusion.bounds import cross_fitted_bound
from blockviz.diffusion.processes import Process
from blockviz.training.ablation_report import BASELINE, BOUND, FIXED, SHOWN, document, table
from blockviz.training.batches import Example, assemble
from blockviz.training.curriculum import Curriculum
from blockviz.training.loop import Place, Trainer, train
from blockviz.training.objective import block_times, corrupt, predict, weighted_loss
from blockviz.training.recipes import RECIPES, Recipe, Stage
from blockviz.training.runfiles import STATE, RunError
from blockviz.training.seams import Seam, Seams, draw_seams, lighter_times
from blockviz.training.validation import sequence_nats

SIZES = (1, 2, 4, 8, 16, 32, 128)
MIXTURE = (0.40, 0.06, 0.06, 0.10, 0.24, 0.08, 0.06)
LEFT_TO_RIGHT = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
ONLY_16 = (0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
SEAM_BLOCK = 16
PROBLEMS, DRAWS = 128, 8
WIDTH, LAYERS, HEADS = 64, 3, 2


@dataclass(frozen=True)
class Variant:
    """One way to train: what differs from the baseline, in words and as changes of its recipe."""

    words: str
    changes: Mapping[str, Any]
    ar_share: float = 0.0  # of the steps, first, left to right alone
    weights: tuple[float, ...] = MIXTURE


VARIANTS: dict[str, Variant] = {
    BASELINE: Variant("every block size at once, cross-entropy, even noise", {}),
    FIXED: Variant("block size 16 alone", {}, weights=ONLY_16),
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
        hidden_size=WIDTH,
        n_blocks=LAYERS,
        n_heads=HEADS,
        ema_decay=0.99,
        seed=seed,
        **variant.changes,
    )


def measure(trainer: Trainer) -> dict[str, float]:
    """Nats per token of the averaged weights on the held-out problems, by block size and for the whole mixture.

    The mixture's bound is cross-fitted (`bounds.cross_fitted_bound`): noise cannot make it look too good. "seams" is
    the cross-entropy of rows that each have a seam, at block size `SEAM_BLOCK`.
    """
    examples = trainer.corpus.validation(PROBLEMS)
    with trainer.averaged() as net, torch.inference_mode():
        found = sequence_nats(
            net, trainer.process, replace(trainer.recipe, seed=0), examples, trainer.end_id, draws=DRAWS
        )
        nats = found.nats.mean(dim=0).sum(dim=0) / found.tokens
        figures = {f"B = {size}": float(nats[i]) for i, size in enumerate(trainer.recipe.block_sizes)}
        # With the baseline's weights, whatever a variant was trained with.
        figures[BOUND] = float(cross_fitted_bound(found.nats, MIXTURE).mean(dim=0).sum()) / found.tokens
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
    """Train and measure what `results` does not hold yet; returns its content, saved after each run.

    A run that was stopped goes on from its state, and one that has ended is not made again but measured.
    """
    content: dict[str, Any] = {"process": process, "steps": steps, "figures": {}}
    if results.exists():
        content = read_results(results)
        if (content["process"], content["steps"]) != (process, steps):
            raise RunError(
                f"{results} holds runs of {content['steps']} steps with {content['process']} noise"
            )
    for seed in range(seeds):
        for name in names:
            done = content["figures"].setdefault(name, {})
            if set(SHOWN) <= done.get(str(seed), {}).keys():
                continue
            recipe = recipe_of(VARIANTS[name], process, steps, seed)
            run = out / process / f"{name}-{seed}"
            place = Place(0, 1, torch.device("cpu"))
            resume = (run / STATE).exists()
            trainer = train(recipe, run, place, resume=resume, validate_every=steps + 1, validation_rows=1)
            done[str(seed)] = measure(trainer)
            with complete(results) as part:
                part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return content


def read_results(path: Path) -> dict[str, Any]:
    """The content of a result file; raises RunError where it is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        shaped = (
            content["process"] in get_args(Process)
            and isinstance(content["steps"], int)
            and all(isinstance(runs, dict) for runs in content["figures"].values())
            and content["figures"].keys() <= VARIANTS.keys()
        )
    except FileNotFoundError:
        raise RunError(f"there is no file {path}") from None
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, json.JSONDecodeError):
        shaped = False
    if not shaped:
        raise RunError(f"{path} holds no results of this command")
    return dict(content)


def write_report(results: Sequence[Path], report: Path) -> None:
    """Write the page that says what the result files show; raises RunError where one has no whole run of both."""
    contents = [read_results(path) for path in results]
    for path, content in zip(results, contents, strict=True):
        figures = content["figures"]
        runs = [run for name in figures for run in figures[name].values()]
        if not figures.get(BASELINE) or any(not set(SHOWN) <= run.keys() for run in runs):
            raise RunError(
                f"{path} lacks figures: run the command with its --process and --steps again to measure them"
            )
    if len({content["process"] for content in contents}) < len(contents):
        raise RunError("the result files are of the same noise process")
    base = recipe_of(VARIANTS[BASELINE], "uniform", contents[0]["steps"], 0)
    setting = (
        f"The networks have {LAYERS} layers of width {WIDTH} and a canvas of {base.canvas}, a step {base.batch} "
        f"sequences; measured on {PROBLEMS} held-out problems with {DRAWS} noise draws each."
    )
    words = {name: variant.words for name, variant in VARIANTS.items()}
    with complete(report) as part:
        part.write_text(document(contents, words, setting), encoding="utf-8")


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
    parser.add_argument(
        "--results",
        type=target,
        nargs="+",
        help="JSON file of the figures (default PROCESS.json in the folder; for --report all there are)",
    )
    parser.add_argument("--report", type=target, metavar="FILE", help="write the page of the results")
    options: argparse.Namespace = parser.parse_args(arguments)
    try:
        print(_report(options) if options.report is not None else _run(options))
    except (RunError, OSError) as error:
        sys.stderr.write(sentence(str(error)))
        return 2
    return 0


def _report(options: argparse.Namespace) -> Path:
    files = options.results or [
        path for process in get_args(Process) if (path := options.out / f"{process}.json").exists()
    ]
    if not files:
        raise RunError(f"there are no results in {options.out}")
    write_report(files, options.report)
    return Path(options.report)


def _run(options: argparse.Namespace) -> str:
    if options.results is not None and len(options.results) > 1:
        raise RunError("the figures of a run go into one file: name one with --results")
    names = [BASELINE, *(name for name in options.variants or VARIANTS if name != BASELINE)]
    options.out.mkdir(parents=True, exist_ok=True)
    results = options.results[0] if options.results else options.out / f"{options.process}.json"
    content = run_all(names, options.process, options.steps, options.seeds, options.out, results)
    return table(content, {name: variant.words for name, variant in VARIANTS.items()})


if __name__ == "__main__":
    sys.exit(main())
