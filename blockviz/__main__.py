"""The command line: `python -m blockviz {models, sample, fork, evaluate, train, export} ...`.

Flags of the settings, their help and their bounds come from `sampling/settings.py`. Results go to stdout, progress and
errors to stderr; bad input ends with exit code 2 and one sentence.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from tqdm import tqdm

from blockviz.base.command_line import (
    Parser,
    add_release,
    any_path,
    device,
    in_options,
    name_or_path,
    printable,
    sentence,
    target,
    whole,
)
from blockviz.base.writing import file_to_write
from blockviz.evaluation.accuracy import (
    BATCH_SIZE,
    MAX_PROBLEMS,
    PROBLEM_SEED,
    EvaluationError,
    Progress,
    evaluate,
    held_out,
)
from blockviz.evaluation.gsm8k import evaluate_programs, read_questions
from blockviz.evaluation.model_card import recipe_of, write_card
from blockviz.evaluation.sweep import Cell, sweep
from blockviz.evaluation.tables import accuracy_markdown
from blockviz.evaluation.tasks import checker_for, known_answer
from blockviz.export import command as export
from blockviz.export.words import ExportError
from blockviz.models.checkpoint import (
    CHECKPOINTS,
    CheckpointError,
    Model,
    find,
    list_models,
    pick_device,
)
from blockviz.models.released import Told, open_model
from blockviz.models.tokens import UnknownText
from blockviz.sampling import fork_command as forking
from blockviz.sampling.edits import EditError
from blockviz.sampling.report import tell
from blockviz.sampling.run import stream
from blockviz.sampling.settings import (
    FIELDS,
    PRESETS,
    Field,
    SamplerSettings,
    SettingsError,
    from_preset,
    from_text,
)
from blockviz.sampling.trace import Event, Pass, Trace, TraceError
from blockviz.training import command as training
from blockviz.training.runfiles import RunError

MAX_SEED = 2**31 - 1
BAR_DELAY = 2.0
"""Seconds after which work shows its progress."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, or 2 for bad input, with the reason on stderr."""
    options = _parser().parse_args(arguments)
    try:
        options.action(options)
    except (
        SettingsError,
        CheckpointError,
        UnknownText,
        EditError,
        TraceError,
        EvaluationError,
        RunError,
        ExportError,
        OSError,
    ) as error:
        sys.stderr.write(sentence(in_options(str(error), options)))
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m blockviz", description="Run, measure and train block diffusion language models."
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=Parser)

    models = commands.add_parser("models", help="list the checkpoints as JSON")
    models.add_argument("--folder", type=Path, default=CHECKPOINTS, help="folder of checkpoints")
    models.set_defaults(action=_models)

    sample = commands.add_parser("sample", help="write one text and keep its trace")
    _add_model(sample)
    sample.add_argument("--prompt", required=True, help="the text to go on from")
    _add_settings(sample)
    sample.add_argument("--out", type=target, help="file for the trace (.jsonl.gz, or .jsonl)")
    sample.add_argument("--json", action="store_true", help="print JSON instead of text")
    sample.set_defaults(action=_sample)

    step_in = commands.add_parser(
        "fork", help="step into a recorded run, change it, and go on from there", description=forking.__doc__
    )
    forking.add_arguments(step_in)
    step_in.add_argument("--out", type=target, help="file for the trace (.jsonl.gz, or .jsonl)")
    step_in.add_argument("--json", action="store_true", help="print JSON instead of text")
    step_in.set_defaults(action=_fork)

    score = commands.add_parser("evaluate", help="solve held-out problems and count the right answers")
    _add_model(score)
    _add_settings(score)
    score.add_argument(
        "--problems",
        type=whole(1, MAX_PROBLEMS),
        default=500,
        help="how many problems (default: %(default)s)",
    )
    score.add_argument(
        "--problem-seed",
        type=whole(0, MAX_SEED),
        default=PROBLEM_SEED,
        help="which problems of the test split (default: %(default)s)",
    )
    score.add_argument(
        "--batch-size",
        type=whole(1, MAX_PROBLEMS),
        default=BATCH_SIZE,
        help="problems at once (default: %(default)s)",
    )
    score.add_argument(
        "--gsm8k",
        type=any_path,
        metavar="FILE",
        help="answer the problems of a file in GSM8K's format instead, with a Python function that is worked out and "
        "never executed",
    )
    score.add_argument(
        "--table",
        type=target,
        metavar="FILE",
        help="measure the whole table of the model card instead (every preset, 1 to 16 steps, two temperatures; of the "
        "settings only block size and seed apply), into FILE, going on where it stops",
    )
    score.add_argument(
        "--card",
        action="store_true",
        help="with --table: write the model card into the checkpoint's folder too",
    )
    score.add_argument("--json", action="store_true", help="print JSON instead of text")
    score.set_defaults(action=_evaluate)

    train = commands.add_parser("train", help="train a model", description=training.__doc__)
    training.add_arguments(train)
    train.set_defaults(action=_train)

    files = commands.add_parser(
        "export", help="write recorded runs as files for others", description=export.__doc__
    )
    export.add_arguments(files)
    files.set_defaults(action=_export)
    return parser


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        type=name_or_path,
        metavar="MODEL",
        help="name of a checkpoint, its folder, or hf:OWNER/REPO/SUBFOLDER for one released at the Hugging Face Hub",
    )
    parser.add_argument(
        "--folder", type=any_path, default=CHECKPOINTS, help="folder in which names are looked up"
    )
    parser.add_argument(
        "--device", type=device, default="auto", help="auto, cuda, cuda:N, mps or cpu (default: %(default)s)"
    )
    add_release(parser)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("settings")
    presets = "; ".join(f"{preset.name}: {preset.help}" for preset in PRESETS.values())
    group.add_argument(
        "--preset", default="ancestral", metavar="NAME", help=_plain(f"{presets} (default: ancestral)")
    )
    for field in FIELDS.values():
        flag = "--" + field.name.replace("_", "-")
        if field.kind == "bool":
            group.add_argument(
                flag, action=argparse.BooleanOptionalAction, default=None, help=_plain(field.help)
            )
        else:
            group.add_argument(flag, metavar=field.kind.upper(), default=None, help=_field_help(field))


def _field_help(field: Field) -> str:
    default = "the model's" if field.default is None else field.default
    return _plain(f"{field.help} {field.allowed[0].upper()}{field.allowed[1:]} (default: {default})")


def _plain(text: str) -> str:
    return text.replace("%", "%%")  # argparse formats help texts


def _settings(options: argparse.Namespace) -> SamplerSettings:
    values: dict[str, Any] = {}
    for name in FIELDS:
        given = getattr(options, name)
        if given is not None:
            values[name] = given if isinstance(given, bool) else from_text(name, given)
    return from_preset(options.preset, **values)


def _load(options: argparse.Namespace) -> Model:
    pick_device(options.device)  # refused before the weights are read
    told = Told(options.process, options.tokenizer, options.block_sizes, options.block_weights)
    return open_model(options.model, options.device, folder=options.folder, told=told)


def _models(options: argparse.Namespace) -> None:
    if not options.folder.is_dir():
        raise CheckpointError(f"there is no folder {options.folder} of checkpoints")
    print(json.dumps([asdict(card) for card in list_models(options.folder)], indent=1))


def _sample(options: argparse.Namespace) -> None:
    settings = _settings(options)
    model = _load(options)
    checker = checker_for(model, known_answer(options.prompt))
    events = stream(model, options.prompt, settings, checker=checker)
    tell(Trace.collect(_watched(events), model.tokens.piece, model.tokens.raw), options.out, options.json)


def _fork(options: argparse.Namespace) -> None:
    trace = forking.run_command(options, lambda model, prompt: checker_for(model, known_answer(prompt)))
    tell(trace, options.out, options.json)


def _watched(events: Iterator[Event]) -> Iterator[Event]:
    """The events, with a bar over the canvas' positions once they take longer than BAR_DELAY."""
    bar = None
    for event in events:
        if isinstance(event, Pass):
            bar = bar or tqdm(total=event.tokens.size, unit="position", delay=BAR_DELAY, leave=False)
            bar.update((event.stop if event.phase == "commit" else event.start) - bar.n)
        yield event
    if bar is not None:
        bar.close()


def _evaluate(options: argparse.Namespace) -> None:
    settings = _settings(options)
    if options.card and options.table is None:
        raise EvaluationError("A model card needs its table: name one with --table FILE.")
    if options.card:
        file_to_write(find(options.model, options.folder) / "README.md")
    model = _load(options)
    if options.card:
        recipe_of(model)  # a model without one has no card, which must not show after hours of measuring
    if options.gsm8k is not None:
        _evaluate_programs(options, model, settings)
        return
    if options.table is not None:
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
        print(json.dumps(table) if options.json else accuracy_markdown(table))
        return
    tasks = held_out(options.problems, options.problem_seed)
    progress = _bars(options.problems)(Cell(options.preset, settings.steps, settings.temperature), 0, 1)
    result = evaluate(model, settings, tasks, batch_size=options.batch_size, progress=progress)
    progress(options.problems)  # runs that end before the last position leave the bar short of its end
    if options.json:
        report = {
            **asdict(result),
            "model": model.name,
            "hash": model.content_hash,
            "device": str(model.device),
        }
        print(json.dumps({**report, "problem_seed": options.problem_seed, "settings": settings.to_dict()}))
        return
    print(
        f"{100 * result.accuracy:.1f}% right (95%: {100 * result.low:.1f} to {100 * result.high:.1f}), "
        f"{result.problems} problems, {result.nfe_per_problem:.1f} network calls a problem, "
        f"AR NLL {result.ar_nll:.3f} nats a token, {result.seconds:.1f} s"
    )


def _evaluate_programs(options: argparse.Namespace, model: Model, settings: SamplerSettings) -> None:
    questions = read_questions(options.gsm8k, options.problems)
    with tqdm(total=len(questions), unit="problem", delay=BAR_DELAY, leave=False) as bar:
        result = evaluate_programs(
            model, settings, questions, batch_size=options.batch_size, progress=bar.update
        )
    if options.json:
        report = {**asdict(result), "model": model.name, "hash": model.content_hash}
        print(json.dumps({**report, "device": str(model.device), "settings": settings.to_dict()}))
        return
    print(
        f"{100 * result.accuracy:.1f}% right (95%: {100 * result.low:.1f} to {100 * result.high:.1f}), "
        f"{result.problems} problems ({result.left_out} left out, too long for the canvas), "
        f"{result.nfe_per_problem:.1f} network calls a problem, {result.seconds:.1f} s"
    )
    for reason, count in result.no_answer.items():
        print(printable(f"  {count} without an answer: {reason}"))


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


def _train(options: argparse.Namespace) -> None:
    folder = training.run_command(options)
    if folder is not None:
        print(printable(str(folder)))


def _export(options: argparse.Namespace) -> None:
    for path in export.run_command(options):
        print(printable(str(path)))


if __name__ == "__main__":
    sys.exit(main())
