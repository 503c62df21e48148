"""The model card of a bundled checkpoint: what it is, how it was made, and every figure measured here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from blockviz.base.writing import complete
from blockviz.evaluation.accuracy import PROBLEM_SEED, PROBLEMS, EvaluationError, held_out
from blockviz.evaluation.block_likelihood import likelihood
from blockviz.evaluation.tables import accuracy_markdown, likelihood_markdown
from blockviz.evaluation.texts import problem_examples
from blockviz.models.checkpoint import Model
from blockviz.sampling.run import sample
from blockviz.sampling.settings import FIELDS
from blockviz.training.recipes import RECIPES, Recipe

BOUND_PROBLEMS = 256
BOUND_DRAWS = 16
SAMPLES = 5


def recipe_of(model: Model) -> Recipe:
    """The recipe a bundled model was trained with; raises EvaluationError for a model of another origin."""
    name = model.info.training.get("recipe")
    if name not in RECIPES:
        raise EvaluationError(
            f"{model.name} was not trained by a recipe of this project, so it has no card here."
        )
    return RECIPES[name]


def write_card(model: Model, folder: Path, table: Mapping[str, Any]) -> Path:
    """Write `README.md` into a checkpoint folder from its accuracy table (`sweep`); returns the file."""
    recipe = recipe_of(model)
    noise = "masked (absorbing)" if model.info.process == "masked" else "uniform"
    lines = [
        "---",
        "license: apache-2.0",
        "library_name: blockviz",
        "tags: [diffusion-language-model, block-diffusion, arithmetic]",
        "---",
        f"# {model.name}",
        "",
        f"A blockwise discrete-diffusion language model with {noise} noise that solves arithmetic word problems step "
        "by step. It is small on purpose: it runs on a laptop CPU, and its answers can be checked. One denoiser "
        f"serves the block sizes {', '.join(map(str, recipe.block_sizes))} (BlockGen, arXiv 2606.02241); at block size "
        "1 it is an autoregressive model and can score its own drafts (ARPC).",
        "",
        *shape_lines(model, "words, digits, signs, end"),
        "",
        "## Data",
        "",
        "Word problems made by this project's own generator (`blockviz/training/word_problems.py`): one to five steps, "
        "every number from 0 to 99, one equation per step. One problem structure in fifty is kept for testing by a "
        "hash of its wording and numbers, so no test structure was seen in training. Rows of bare equations are mixed "
        f"in: {recipe.lineage[0].stages[0].practice_start:.0%} of the rows at first, "
        f"{recipe.stages[-1].practice_end:.0%} in the end.",
        "",
        "## Training",
        "",
        *training_lines(model),
        "",
        "## Likelihood",
        "",
        likelihood_markdown(
            model.name, likelihood(model, problem_examples(model, BOUND_PROBLEMS), draws=BOUND_DRAWS)
        ).strip(),
        "",
        f"Made by `python -m blockviz evaluate {model.name} --likelihood --problems {BOUND_PROBLEMS}`: the first "
        "held-out problems; tokens of a problem do not count, those of its solution do.",
        "",
        "## Accuracy",
        "",
        accuracy_markdown(table).strip(),
        "",
        f"Made by `{_table_command(model, table)}`, problem stream {table['problem_seed']}.",
        "",
        "## Samples",
        "",
        f"The first {SAMPLES} held-out problems, unchosen: ARPC, block size 16, 16 steps, temperature 1, seeds 0 to "
        f"{SAMPLES - 1}.",
        "",
        *_sample_lines(model),
        "",
        "## Limits",
        "",
        "It knows the words and sentence patterns of its generator and numbers below 100, and nothing else. A prompt "
        "with other words is refused; one with other patterns is answered confidently and often wrongly. The figures "
        "above are for problems of the training distribution and say nothing about other text.",
        "",
    ]
    path = folder / "README.md"
    with complete(path) as part:
        part.write_text("\n".join(lines), encoding="utf-8")
    return path


def shape_lines(model: Model, entries: str) -> list[str]:
    """The card's table of what the model is; `entries` says what its vocabulary holds beside MASK."""
    recipe = recipe_of(model)
    return [
        "| | |",
        "|---|---|",
        f"| parameters | {model.info.training['parameters']:,} (stored as float16) |",
        f"| shape | {recipe.n_blocks} layers, width {recipe.hidden_size}, {recipe.n_heads} heads, no adaLN, "
        "untied head |",
        f"| canvas | {recipe.canvas} positions |",
        f"| vocabulary | {model.info.vocab_size} ({entries}"
        + (", MASK)" if model.info.process == "masked" else ")")
        + " |",
        *(
            f"| block sizes and weights, {run['recipe']}, {stage['steps']:,} steps | "
            f"{_pairs(run['block_sizes'], stage['block_weights'])} |"
            for run in _runs(model)
            for stage in run["stages"]
        ),
        *([f"| noise schedule | {recipe.schedule} |"] if recipe.block_sizes != (1,) else []),
        f"| weights' SHA-256 (first 16 digits) | `{model.content_hash}` |",
    ]


def training_lines(model: Model) -> list[str]:
    """The card's account of how the weights came about."""
    recipe = recipe_of(model)
    *before, run = _runs(model)
    lines = []
    for place, base in enumerate(before):
        lines += [
            f"The weights {'went on with' if place else 'start from'} `{_command(base)}`, which uses "
            f"{base['process']} noise: {base['steps']:,} optimiser steps of {base['batch']} sequences{_time(base)}.",
            "",
        ]
    if any(base["process"] != run["process"] for base in before):
        lines += [
            "At block size 1 the noise says nothing about the text, so what one process learned there holds for the "
            "other.",
            "",
        ]
    return [
        *lines,
        f"`{_command(run)}`: {run['steps']:,} optimiser steps of {run['batch']} sequences "
        f"({run['steps'] * run['batch']:,} in all){_time(run)}, bfloat16 autocast, Muon on the trunk's matrices and "
        f"AdamW on the rest, cosine rate, average of the weights (decay {recipe.ema_decay}).{_options(recipe)}",
    ]


def _options(recipe: Recipe) -> str:
    """What a recipe adds to the plain one, in sentences."""
    said = ""
    if recipe.seams is not None:
        said += (
            f" {recipe.seams.share:.0%} of the rows in larger blocks have a seam, as overlapping blocks do."
        )
    if recipe.curriculum is not None:
        start, end = recipe.curriculum.start, recipe.curriculum.end
        said += f" Noise levels go from heavy to light (k from {start:g} to {end:g})."
    return said


def flags(named: Mapping[str, tuple[object, object]]) -> str:
    """The options of a command that are not at their defaults, each from (its value, its default)."""
    return "".join(f" {name} {value}" for name, (value, default) in named.items() if value != default)


def _table_command(model: Model, table: Mapping[str, Any]) -> str:
    said = flags(
        {
            "--problems": (table["problems"], PROBLEMS),
            "--problem-seed": (table["problem_seed"], PROBLEM_SEED),
            "--seed": (table["seed"], FIELDS["seed"].default),
            "--block-size": (table["block_size"], FIELDS["block_size"].default),
        }
    )
    return f"python -m blockviz evaluate {model.name} --table FILE{said} --card"


def _runs(model: Model) -> list[dict[str, Any]]:
    """What was run, oldest first: as the training recorded it, or, before it did, as the recipes have it."""
    training = model.info.training
    if "runs" in training:
        return list(training["runs"])
    runs: list[dict[str, Any]] = [
        {
            "recipe": part.name,
            "process": part.process,
            "batch": part.batch,
            "block_sizes": part.block_sizes,
            "stages": [asdict(stage) for stage in part.stages],
            "steps": part.steps,
        }
        for part in recipe_of(model).lineage
    ]
    if "base_seconds" in training:
        runs[0]["seconds"] = training["base_seconds"]
    runs[-1] |= {"steps": training["steps"], "seconds": training["seconds"]}
    return runs


def _command(run: Mapping[str, Any]) -> str:
    """How a run is made again on any machine; what it is trained on is named where it is not our own generator's."""
    text = " --text FILE" if RECIPES[run["recipe"]].corpus == "stories" else ""
    return f"python -m blockviz train {run['recipe']}{text}"


def _time(run: Mapping[str, Any]) -> str:
    if "seconds" not in run:
        return ""
    return f", {run['seconds'] / 60:.0f} minutes on one {'CPU core' if run.get('device', 'cpu') == 'cpu' else 'GPU'}"


def _pairs(block_sizes: Sequence[int], block_weights: Sequence[float]) -> str:
    pairs = zip(block_sizes, block_weights, strict=True)
    return ", ".join(f"{size}: {weight:g}" for size, weight in pairs)


def _sample_lines(model: Model) -> list[str]:
    lines = []
    for seed, problem in enumerate(held_out(SAMPLES, PROBLEM_SEED)):
        trace = sample(model, problem.prompt, preset="arpc", steps=16, seed=seed)
        lines += [f"{seed + 1}. {problem.prompt}", f"   `{trace.end.text}` (right answer: {problem.answer})"]
    return lines
