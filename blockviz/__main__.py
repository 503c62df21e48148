"""The command line: `python -m blockviz {models, sample, fork, compare, evaluate, cost, seams, train, export} ...`.

Flags of the settings, their help and their bounds come from `sampling/settings.py`. Results go to stdout, progress and
errors to stderr; bad input ends with exit code 2 and one sentence.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

from blockviz import studies
from blockviz.base.command_line import Parser, in_options, printable, sentence, target
from blockviz.evaluation import command as evaluation
from blockviz.evaluation import compare_command as comparing
from blockviz.evaluation.accuracy import EvaluationError
from blockviz.evaluation.tasks import checker_for, known_answer
from blockviz.export import command as export
from blockviz.export.words import ExportError
from blockviz.models.checkpoint import CHECKPOINTS, CheckpointError, list_models
from blockviz.models.tokens import UnknownText
from blockviz.sampling import fork_command as forking
from blockviz.sampling.edits import EditError
from blockviz.sampling.flags import add_model, add_settings, model_of, settings_of
from blockviz.sampling.report import tell
from blockviz.sampling.run import stream
from blockviz.sampling.settings import SettingsError
from blockviz.sampling.trace import Event, Pass, Trace, TraceError
from blockviz.training import command as training
from blockviz.training.runfiles import RunError

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
    add_model(sample)
    sample.add_argument("--prompt", required=True, help="the text to go on from")
    add_settings(sample)
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

    several = commands.add_parser(
        "compare", help="run configurations on the same seeds, with intervals", description=comparing.__doc__
    )
    comparing.add_arguments(several)
    several.set_defaults(action=_compare)

    score = commands.add_parser(
        "evaluate", help="count right answers, measure the likelihood of texts or the quality of sampled ones"
    )
    evaluation.add_arguments(score)
    score.set_defaults(action=_evaluate)

    price = commands.add_parser(
        "cost", help="count and time a sampler against the whole canvas at once and against AR"
    )
    studies.add_cost(price)
    price.set_defaults(action=_cost)

    edges = commands.add_parser(
        "seams", help="measure whether blocks fit each other, and what helps, over many runs"
    )
    studies.add_seams(edges)
    edges.set_defaults(action=_seams)

    train = commands.add_parser("train", help="train a model", description=training.__doc__)
    training.add_arguments(train)
    train.set_defaults(action=_train)

    files = commands.add_parser(
        "export", help="write recorded runs as files for others", description=export.__doc__
    )
    export.add_arguments(files)
    files.set_defaults(action=_export)
    return parser


def _models(options: argparse.Namespace) -> None:
    if not options.folder.is_dir():
        raise CheckpointError(f"there is no folder {options.folder} of checkpoints")
    print(json.dumps([asdict(card) for card in list_models(options.folder)], indent=1))


def _sample(options: argparse.Namespace) -> None:
    settings = settings_of(options)
    model = model_of(options)
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


def _compare(options: argparse.Namespace) -> None:
    print(printable(comparing.run_command(options)))


def _evaluate(options: argparse.Namespace) -> None:
    print(printable(evaluation.run_command(options)))


def _cost(options: argparse.Namespace) -> None:
    print(studies.run_cost(options))


def _seams(options: argparse.Namespace) -> None:
    print(studies.run_seams(options))


def _train(options: argparse.Namespace) -> None:
    folder = training.run_command(options)
    if folder is not None:
        print(printable(str(folder)))


def _export(options: argparse.Namespace) -> None:
    for path in export.run_command(options):
        print(printable(str(path)))


if __name__ == "__main__":
    sys.exit(main())
