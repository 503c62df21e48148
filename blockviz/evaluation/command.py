"""Measures a model: solved problems, the table of its card, programs in GSM8K's format, likelihood, sampled texts."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NoReturn

from tqdm import tqdm

from blockviz.base.command_line import any_path, name_or_path, target, whole
from blockviz.base.writing import file_to_write
from blockviz.evaluation import block_likelihood, quality
from blockviz.evaluation.accuracy import (
    BATCH_SIZE,
    MAX_PROBLEMS,
    PROBLEM_SEED,
    PROBLEMS,
    EvaluationError,
    Progress,
    evaluate,
    held_out,
)
from blockviz.evaluation.bootstrap import FEWEST
from blockviz.evaluation.gsm8k import evaluate_programs, read_questions
from blockviz.evaluation.model_card import recipe_of, write_card
from blockviz.evaluation.quality import Quality, cells_of
from blockviz.evaluation.story_card import check_story_card, write_story_card
from blockviz.evaluation.sweep import Cell, sweep
from blockviz.evaluation.tables import accuracy_markdown, likelihood_markdown, quality_markdown
from blockviz.evaluation.texts import beginnings, problem_examples, text_examples
from blockviz.models.checkpoint import Model, find
from blockviz.models.released import open_model
from blockviz.sampling.flags import add_model, add_settings, model_of, settings_of
from blockviz.sampling.settings import SamplerSettings

MAX_SEED = 2**31 - 1
BAR_DELAY = 2.0
"""Seconds after which work shows its progress."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `python -m blockviz evaluate`."""
    add_model(parser)
    add_settings(parser)
    parser.add_argument(
        "--problems",
        type=whole(1, MAX_PROBLEMS),
        default=PROBLEMS,
        help="how many problems (default: %(default)s)",
    )
    parser.add_argument(
        "--problem-seed",
        type=whole(0, MAX_SEED),
        default=PROBLEM_SEED,
        help="which problems of the test split (default: %(default)s)",
    )
    parser.add_argument(
        "--batch-size",
        type=whole(1, MAX_PROBLEMS),
        default=BATCH_SIZE,
        help="problems at once (default: %(default)s); likelihood is always measured in the same batches, since they "
        "decide which noise a text gets",
    )
    parser.add_argument(
        "--gsm8k",
        type=any_path,
        metavar="FILE",
        help="answer the problems of a file in GSM8K's format instead, with a Python function that is worked out and "
        "never executed",
    )
    parser.add_argument(
        "--table",
        type=target,
        metavar="FILE",
        help="measure the whole table of the model card instead (every preset, 1 to 16 steps, two temperatures; of the "
        "settings only block size and seed apply), into FILE, going on where it stops",
    )
    parser.add_argument(
        "--card",
        action="store_true",
        help="with --table, or with --likelihood --text FILE --judge MODEL for a model of stories (whose card has what "
        "--quality measures too): write the model card into the checkpoint's folder",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    group = parser.add_argument_group("likelihood")
    group.add_argument(
        "--likelihood",
        action="store_true",
        help="measure instead how likely held-out texts are: nats per token by block size, exact at 1 and a bound "
        "elsewhere, and the bounds of the mixture",
    )
    group.add_argument(
        "--text",
        type=any_path,
        metavar="FILE",
        help="with --likelihood or --quality: stories with lines <|endoftext|> between them, of which those that "
        "training holds out are taken (default: the held-out problems of a model with that task, or fixed openings)",
    )
    group.add_argument(
        "--all-texts",
        action="store_true",
        help="with --text: take all, for a file the model was not trained on",
    )
    group.add_argument(
        "--draws",
        type=whole(2, block_likelihood.MOST_DRAWS),
        default=block_likelihood.DRAWS,
        help="with --likelihood: noise draws per text (default: %(default)s)",
    )
    group = parser.add_argument_group("quality of sampled texts")
    group.add_argument(
        "--quality",
        action="store_true",
        help="measure instead what several samplers write (of the settings only block size and seed apply): likelihood "
        "by a judge, token entropy, distinct n-grams, length, network calls; with --text FILE the held-out texts give "
        "the prompts and are measured beside them",
    )
    group.add_argument(
        "--judge",
        type=name_or_path,
        metavar="MODEL",
        help="with --quality or the card of a model of stories: an AR model of the same tokenizer that was trained "
        "apart, as the recipe stories-ar makes one",
    )
    group.add_argument(
        "--samples",
        type=whole(FEWEST, quality.MOST_SAMPLES),
        default=quality.SAMPLES,
        help="with --judge: texts of each sampler (default: %(default)s)",
    )


def run_command(options: argparse.Namespace) -> str:
    """Measure what the flags ask for and return the report, JSON with --json. Raises what the measurements raise."""
    settings = settings_of(options)
    _check_flags(options)
    if options.card:
        file_to_write(find(options.model, options.folder) / "README.md")
    model = model_of(options)
    if options.likelihood:
        return _likelihood(options, model, settings)
    if options.quality:
        result = _quality(options, model, _judge(options, model), settings)
        if options.json:
            return json.dumps(finite({**asdict(result), **_model(model)}))
        return quality_markdown(model.name, result)
    if options.gsm8k is not None:
        return _programs(options, model, settings)
    if options.table is not None:
        return _table(options, model, settings)
    return _problems(options, model, settings)


def _check_flags(options: argparse.Namespace) -> None:
    story_card = options.card and options.likelihood and options.text is not None
    if options.card and options.table is None and not story_card:
        raise EvaluationError(
            "A model card needs its table: name one with --table FILE "
            "(a model of stories needs --likelihood --text FILE)."
        )
    asked = (options.likelihood, options.gsm8k is not None, options.table is not None, options.quality)
    if sum(asked) > 1:
        raise EvaluationError(
            "Of --likelihood, --gsm8k, --table and --quality only one is measured at a time."
        )
    if not options.likelihood and not options.quality and (options.text is not None or options.all_texts):
        raise EvaluationError("--text and --all-texts need --likelihood or --quality.")
    if options.quality and options.judge is None:
        raise EvaluationError(
            "--quality needs --judge MODEL, an AR model of the same tokenizer that was trained apart, as the recipe "
            "stories-ar makes one."
        )
    if options.judge is not None and not options.quality and not story_card:
        raise EvaluationError("--judge needs --quality, or --likelihood --text FILE --card.")


def _judge(options: argparse.Namespace, model: Model) -> Model:
    """The judge that the flags name, loaded; raises EvaluationError where it cannot be one."""
    judge = open_model(options.judge, options.device, folder=options.folder)
    quality.check_judge(model, judge)
    return judge


def _quality(options: argparse.Namespace, model: Model, judge: Model, settings: SamplerSettings) -> Quality:
    texts = None
    if options.text is not None:
        texts = beginnings(model, options.text, options.samples, whole=options.all_texts)
    total = (options.samples if texts is None else len(texts)) * len(cells_of(model))
    finished = 0.0
    with tqdm(total=total, unit="text", delay=BAR_DELAY, leave=False) as bar:

        def tell(done: float) -> None:
            nonlocal finished
            finished += done
            bar.update(round(finished) - bar.n)

        return quality.quality(
            model,
            judge,
            beginnings=texts,
            source=options.text,
            samples=options.samples,
            seed=settings.seed,
            block_size=settings.block_size,
            batch_size=options.batch_size,
            progress=tell,
        )


def _likelihood(options: argparse.Namespace, model: Model, settings: SamplerSettings) -> str:
    judge = None
    if options.card:
        check_story_card(model, options.judge is not None)  # as in _table
        judge = None if options.judge is None else _judge(options, model)
    if options.text is None:
        examples = problem_examples(model, options.problems, options.problem_seed)
    else:
        examples = text_examples(model, options.text, options.problems, whole=options.all_texts)
    rounds = block_likelihood.rounds(model, options.draws)
    with tqdm(total=len(examples) * rounds, unit="text", delay=BAR_DELAY, leave=False) as bar:
        result = block_likelihood.likelihood(model, examples, draws=options.draws, progress=bar.update)
    texts = None if judge is None else _quality(options, model, judge, settings)
    if options.card:
        folder = find(options.model, options.folder)
        write_story_card(model, folder, result, texts, all_texts=options.all_texts)
    if options.json:
        written = {} if texts is None else {"quality": asdict(texts)}
        return json.dumps(finite({**asdict(result), **written, **_model(model)}))
    tables = [likelihood_markdown(model.name, result)]
    return "\n".join([*tables, *([] if texts is None else [quality_markdown(model.name, texts)])])


def _model(model: Model) -> dict[str, str]:
    return {"model": model.name, "hash": model.content_hash, "device": str(model.device)}


def _table(options: argparse.Namespace, model: Model, settings: SamplerSettings) -> str:
    if options.card:
        recipe_of(model)  # a model without one has no card, which must not show after hours of measuring
    table = sweep(
        model,
        options.table,
        problems=options.problems,
        problem_seed=options.problem_seed,
        seed=settings.seed,
        block_size=settings.block_size,
        batch_size=options.batch_size,
        progress=_bars(options.problems),
    )
    if options.card:
        write_card(model, find(options.model, options.folder), table)
    return json.dumps(table) if options.json else accuracy_markdown(table)


def _problems(options: argparse.Namespace, model: Model, settings: SamplerSettings) -> str:
    tasks = held_out(options.problems, options.problem_seed)
    progress = _bars(options.problems)(Cell(options.preset, settings.steps, settings.temperature), 0, 1)
    result = evaluate(model, settings, tasks, batch_size=options.batch_size, progress=progress)
    progress(options.problems)  # runs that end before the last position leave the bar short of its end
    if options.json:
        report = {**asdict(result), **_model(model), "problem_seed": options.problem_seed}
        return json.dumps({**report, "settings": settings.to_dict()})
    return (
        f"{100 * result.accuracy:.1f}% right (95%: {100 * result.low:.1f} to {100 * result.high:.1f}), "
        f"{result.problems} problems, {result.nfe_per_problem:.1f} network calls a problem, "
        f"AR NLL {result.ar_nll:.3f} nats a token, {result.seconds:.1f} s"
    )


def _programs(options: argparse.Namespace, model: Model, settings: SamplerSettings) -> str:
    questions = read_questions(options.gsm8k, options.problems)
    with tqdm(total=len(questions), unit="problem", delay=BAR_DELAY, leave=False) as bar:
        result = evaluate_programs(
            model, settings, questions, batch_size=options.batch_size, progress=bar.update
        )
    if options.json:
        return json.dumps({**asdict(result), **_model(model), "settings": settings.to_dict()})
    lines = [
        f"{100 * result.accuracy:.1f}% right (95%: {100 * result.low:.1f} to {100 * result.high:.1f}), "
        f"{result.problems} problems ({result.left_out} left out, too long for the canvas), "
        f"{result.nfe_per_problem:.1f} network calls a problem, {result.seconds:.1f} s",
        *(f"  {count} without an answer: {reason}" for reason, count in result.no_answer.items()),
    ]
    return "\n".join(lines)


def finite(value: Any) -> Any:
    """Plain data with None for NaN, which JSON does not have."""
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    return [finite(inner) for inner in value] if isinstance(value, list | tuple) else value


def _bars(problems: int) -> Callable[[Cell, int, int], Progress]:
    """A bar over the problems of each entry; the one before is closed when the next begins."""
    bars: list[tqdm[NoReturn]] = []

    def start(cell: Cell, index: int, count: int) -> Progress:
        while bars:
            bars.pop().close()
        steps = "" if cell.steps is None else f" {cell.steps} steps"
        title = f"{index + 1}/{count} {cell.preset}{steps} T={cell.temperature:g}" if count > 1 else None
        bar = tqdm(total=problems, unit="problem", desc=title, delay=BAR_DELAY, leave=False)
        bars.append(bar)

        def tell(done: float) -> None:
            bar.update(min(done, problems - bar.n))

        return tell

    return start
