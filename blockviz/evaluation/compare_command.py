"""Runs two to four configurations of one prompt on the same seeds and says what can be told of their differences."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict

from tqdm import tqdm

from blockviz.base.command_line import any_path, device, whole
from blockviz.evaluation.accuracy import EvaluationError
from blockviz.evaluation.many_seeds import (
    FEWEST_SEEDS,
    MOST_CONFIGURATIONS,
    MOST_SEEDS,
    NUMBERS,
    SEEDS,
    Configuration,
    Study,
    study,
)
from blockviz.evaluation.paired import Difference
from blockviz.evaluation.tasks import known_answer
from blockviz.models.checkpoint import CHECKPOINTS, Model, pick_device
from blockviz.models.released import open_model
from blockviz.sampling.settings import SamplerSettings, from_preset, from_text

LETTERS = "ABCD"
BAR_DELAY = 2.0
"""Seconds after which work shows its progress."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `python -m blockviz compare`."""
    parser.add_argument("--prompt", required=True, help="the text to go on from")
    parser.add_argument(
        "--run",
        action="append",
        required=True,
        metavar='"MODEL NAME=VALUE ..."',
        help="a model and its settings, as in --run 'math-masked preset=arpc steps=8'; two to four of them",
    )
    parser.add_argument(
        "--seeds",
        type=whole(FEWEST_SEEDS, MOST_SEEDS),
        default=20,
        help=f"how many seeds, {FEWEST_SEEDS} to {MOST_SEEDS} (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=whole(0, SEEDS - 1), default=0, help="the first seed (default: %(default)s)"
    )
    parser.add_argument(
        "--answer", type=int, help="the number that is right, where the prompt is a word problem"
    )
    parser.add_argument(
        "--folder", type=any_path, default=CHECKPOINTS, help="folder in which names are looked up"
    )
    parser.add_argument(
        "--device", type=device, default="auto", help="auto, cuda, cuda:N, mps or cpu (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run_command(options: argparse.Namespace) -> str:
    """Run what the flags ask for and give the table or JSON to print. Raises EvaluationError, SettingsError, ..."""
    if not 2 <= len(options.run) <= MOST_CONFIGURATIONS:
        raise EvaluationError(
            f"--run must be given 2 to {MOST_CONFIGURATIONS} times, not {len(options.run)}."
        )
    pick_device(options.device)
    asked = [_asked(text) for text in options.run]
    models: dict[str, Model] = {}
    for name, _ in asked:
        if name not in models:
            models[name] = open_model(name, options.device, folder=options.folder)
    configurations = [Configuration(models[name], settings) for name, settings in asked]
    answer = known_answer(options.prompt) if options.answer is None else options.answer
    found = None
    with tqdm(total=options.seeds * len(asked), unit="run", delay=BAR_DELAY, leave=False) as bar:
        for found in study(configurations, options.prompt, options.seeds, seed=options.seed, answer=answer):
            bar.update(sum(map(len, found.outcomes)) - bar.n)
    assert found is not None
    return _json(found, options.run) if options.json else _table(found, options.run)


def _asked(text: str) -> tuple[str, SamplerSettings]:
    name, *rest = text.split()[:64] or [""]
    preset, values = "ancestral", {}
    for part in rest:
        key, equals, value = part.partition("=")
        if not equals:
            raise EvaluationError(
                f"--run cannot read {part!r}: allowed is NAME=VALUE after the model's name."
            )
        key = key.replace("-", "_")
        if key == "preset":
            preset = value
        else:
            values[key] = from_text(key, value)
    return name, from_preset(preset, **values)


def _figures(found: Study) -> list[str]:
    names = ["right", *NUMBERS]
    return [
        name for name in names if all(found.values(i, name) is not None for i in range(len(found.outcomes)))
    ]


def _json(found: Study, asked: list[str]) -> str:
    return json.dumps(
        {
            "runs": asked,
            "seeds": found.seeds,
            "scorer": found.scorer,
            "judged": found.judged,
            "ms": found.ms,
            "values": {name: [found.values(i, name) for i in range(len(asked))] for name in _figures(found)},
            "differences": {
                name: [_plain(found.difference(name, i)) for i in range(1, len(asked))]
                for name in _figures(found)
            },
        },
        indent=1,
    )


def _plain(difference: Difference | None) -> dict[str, float | int | None] | None:
    if difference is None:
        return None
    numbers = asdict(difference)
    return {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in numbers.items()}


def _table(found: Study, asked: list[str]) -> str:
    lines = [f"{letter}: {text}" for letter, text in zip(LETTERS, asked, strict=False)]
    lines.append(
        f"{len(found.seeds)} seeds from {found.seeds[0]} on; nll (nats per token) read by {found.scorer}"
    )
    for name in _figures(found):
        for i in range(len(asked)):
            values = found.values(i, name) or []
            lines.append(f"{name:>9} {LETTERS[i]}  {sum(values) / len(values):.4g}")
        for i in range(1, len(asked)):
            gap = found.difference(name, i)
            if gap is not None:
                told = "" if gap.tells else "  cannot tell"
                p = "" if gap.p is None else f", McNemar's p {gap.p:.3g}"
                ends = f"{gap.value:+.4g}  95% [{gap.low:+.4g}, {gap.high:+.4g}]"
                lines.append(f"{name:>9} {LETTERS[i]} - A  {ends}{p}{told}")
    return "\n".join(lines)
