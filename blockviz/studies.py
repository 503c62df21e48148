"""Measurements of samplers as tables, JSON and charts: `python -m blockviz cost` and `python -m blockviz seams`.

`cost` counts network calls, queries and keys, and times a sampler against the whole canvas at once and against AR;
`seams` compares what is done about the boundaries between blocks, over many runs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tqdm import tqdm

from blockviz.base.command_line import target, whole
from blockviz.base.writing import complete
from blockviz.evaluation import cost, seams
from blockviz.evaluation.accuracy import MAX_PROBLEMS, PROBLEM_SEED, held_out
from blockviz.export.plots import Format, render
from blockviz.export.words import ExportError
from blockviz.sampling.flags import add_model, add_settings, model_of, settings_of
from blockviz.views import cost as cost_view
from blockviz.views import seams as seams_view
from blockviz.views.layout import Figure
from blockviz.views.palette import THEMES, Theme

MAX_ROUNDS = 1000
BAR_DELAY = 2.0
"""Seconds after which work shows its progress."""
KINDS: dict[str, Format] = {".png": "png", ".svg": "svg"}


def add_cost(parser: argparse.ArgumentParser) -> None:
    """The flags of `cost`."""
    add_model(parser)
    add_settings(parser)
    parser.add_argument("--prompt", default="", help="the text to go on from (default: none)")
    parser.add_argument(
        "--grid",
        action="store_true",
        help="measure block sizes and steps side by side instead, and say what follows for choosing them",
    )
    parser.add_argument(
        "--rounds",
        type=whole(1, MAX_ROUNDS),
        default=5,
        help="rounds in which the samplers take turns (default: %(default)s)",
    )
    _add_files(parser)


def add_seams(parser: argparse.ArgumentParser) -> None:
    """The flags of `seams`."""
    add_model(parser)
    add_settings(parser)
    parser.add_argument(
        "--prompt",
        help="the text to go on from in every run (default: held-out problems for a model that solves them, else none)",
    )
    parser.add_argument(
        "--runs", type=whole(2, MAX_PROBLEMS), default=200, help="runs per sampler (default: %(default)s)"
    )
    _add_files(parser)


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=target, metavar="FILE", help="file for the measurement as JSON")
    parser.add_argument("--chart", type=_picture, metavar="FILE", help="file for the chart, .png or .svg")
    parser.add_argument(
        "--theme", choices=THEMES, default="light", help="of the chart (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _picture(text: str) -> Path:
    path = target(text)
    if path.suffix.lower() not in KINDS:
        raise argparse.ArgumentTypeError(f"cannot be {text!r}: allowed is a file that ends in .png or .svg")
    return path


def run_cost(options: argparse.Namespace) -> str:
    """Measure and write what was asked for; returns what is printed."""
    settings, model = settings_of(options), model_of(options)
    if options.grid:
        count = len(cost.GRID_STEPS) * (len(cost.GRID_BLOCKS) + 1) + 1
        with _bar(count * (options.rounds + 1), "run") as told:
            found = cost.grid(model, settings, options.prompt, rounds=options.rounds, progress=told)
    else:
        with _bar(3 * (options.rounds + 1), "run") as told:
            found = cost.measure(model, settings, options.prompt, rounds=options.rounds, progress=told)
    report = cost.report(model, options.prompt, found, options.rounds)
    _write(options, report, cost_view.figure)
    return json.dumps(report) if options.json else cost_view.markdown(report)


def run_seams(options: argparse.Namespace) -> str:
    """Measure and write what was asked for; returns what is printed."""
    settings, model = settings_of(options), model_of(options)
    if options.prompt is None and model.info.task == "math":
        prompts = [problem.prompt for problem in held_out(options.runs, PROBLEM_SEED)]
    else:
        prompts = [options.prompt or ""] * options.runs
    with _bar(len(seams.variants(settings)) * options.runs, "run") as told:
        curves = seams.measure(model, settings, prompts, progress=lambda name, done: told(done))
    report = seams.report(model, settings, curves)
    _write(options, report, seams_view.figure)
    return json.dumps(report) if options.json else seams_view.markdown(report)


def _write(
    options: argparse.Namespace, report: dict[str, Any], figure: Callable[[dict[str, Any], Theme], Figure]
) -> None:
    if options.data is not None:
        with complete(options.data) as part:
            part.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.chart is None:
        return
    kind = KINDS[options.chart.suffix.lower()]
    (picture,) = render([figure(report, options.theme)], [kind])
    if kind not in picture:
        raise ExportError("The chart was not drawn.")
    with complete(options.chart) as part:
        part.write_bytes(picture[kind])


class _bar:
    """A bar over so many steps, once they take longer than BAR_DELAY; told how many more are done."""

    def __init__(self, total: int, unit: str) -> None:
        self.bar: tqdm[Any] = tqdm(total=total, unit=unit, delay=BAR_DELAY, leave=False)

    def __enter__(self) -> Callable[[float], None]:
        return lambda done: self.bar.update(min(done, self.bar.total - self.bar.n)) and None

    def __exit__(self, *problem: object) -> None:
        self.bar.close()
