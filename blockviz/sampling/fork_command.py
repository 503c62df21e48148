"""Steps into a recorded run: goes on from any of its passes with what is changed here, and keeps both as one fork.

Positions count from 1, as the page shows them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path

from blockviz.base.command_line import any_path, device, name_or_path, shown, whole
from blockviz.models.checkpoint import CHECKPOINTS, Model, load, pick_device
from blockviz.models.tokens import Tokens
from blockviz.sampling.edits import Edit, EditError
from blockviz.sampling.forks import fork
from blockviz.sampling.recorder import Checker
from blockviz.sampling.settings import MAX_LENGTH, from_text
from blockviz.sampling.trace import Trace

MAX_PASS = 10**6
CheckerFor = Callable[[Model, str], Checker | None]
"""From a model and a prompt to what judges the run, where there is something to judge."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `python -m blockviz fork`, but for where the result goes."""
    parser.add_argument("run", type=any_path, metavar="RUN", help="trace file (.jsonl.gz or .jsonl)")
    parser.add_argument(
        "--pass",
        dest="at",
        type=whole(0, MAX_PASS),
        required=True,
        metavar="N",
        help="the pass to step in after; 0 is the beginning",
    )
    edit = parser.add_argument_group(
        "what to change (positions from 1, as the page shows them: 34,35 or 34-40)"
    )
    for name, words in (
        ("renoise", "turn back to noise"),
        ("freeze", "never write again"),
        ("release", "write again, where frozen"),
    ):
        edit.add_argument(f"--{name}", type=positions, default=(), metavar="POSITIONS", help=f"{words}")
    edit.add_argument(
        "--force",
        type=placed,
        action="append",
        default=[],
        metavar="POSITION=TEXT",
        help="put the tokens of a text there, one after another; may be repeated",
    )
    edit.add_argument(
        "--force-id",
        type=placed_id,
        action="append",
        default=[],
        metavar="POSITION=ID",
        help="put the token with this id there; may be repeated",
    )
    edit.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a setting from there on (--set temperature=0.5); may be repeated",
    )
    where = parser.add_argument_group("model")
    where.add_argument("--model", type=name_or_path, help="checkpoint (default: the one the run names)")
    where.add_argument(
        "--folder", type=any_path, default=CHECKPOINTS, help="folder in which names are looked up"
    )
    where.add_argument(
        "--device", type=device, default="auto", help="auto, cuda, cuda:N, mps or cpu (default: %(default)s)"
    )


def run_command(options: argparse.Namespace, checker_for: CheckerFor) -> Trace:
    """Make the fork that the options ask for. Raises EditError, SettingsError, TraceError, CheckpointError, OSError."""
    parent = Trace.load(options.run)
    pick_device(options.device)
    name = options.model or parent.header.model.name
    model = load(name, options.device, folder=_named(name, options))
    edit = Edit(
        options.at,
        renoise=options.renoise,
        force=tuple({**_forced(options, model.tokens), **dict(options.force_id)}.items()),
        freeze=options.freeze,
        release=options.release,
        settings={name: from_text(name, value) for name, value in options.set},
    )
    return fork(model, parent, edit, checker=checker_for(model, parent.header.prompt))


def _named(name: str, options: argparse.Namespace) -> Path:
    if options.model is None and re.search(r"[/\\]|^\.", name):
        raise EditError(f"The run names its model {shown(name)}: say with --model which checkpoint that is.")
    return options.folder


def _forced(options: argparse.Namespace, tokens: Tokens) -> dict[int, int]:
    return {p: token for start, text in options.force for p, token in typed(tokens, start, text).items()}


def typed(tokens: Tokens, position: int, text: str) -> dict[int, int]:
    """The tokens of a typed text at the positions from `position` on; raises UnknownText, or EditError for no token."""
    ids = tokens.encode(text)
    if not ids:
        raise EditError(f"The text {shown(text)} has no token.")
    return {position + i: token for i, token in enumerate(ids)}


def positions(text: str) -> tuple[int, ...]:
    """The type of an argument that lists positions, from 1: `3,7` or `3-7`; gives them from 0."""
    found: set[int] = set()
    for part in text.split(","):
        span = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
        first, last = (int(span[1]), int(span[2] or span[1])) if span else (0, 0)
        if not 1 <= first <= last <= MAX_LENGTH:
            raise _refusal(text, "positions from 1 on, as in 34,35 or 34-40")
        found.update(range(first - 1, last))
    return tuple(sorted(found))


def placed(text: str) -> tuple[int, str]:
    """The type of an argument that puts a text at a position, from 1; gives it from 0."""
    match = re.fullmatch(r"(\d{1,6})=(.+)", text, re.DOTALL)
    if match is None or not 1 <= int(match[1]) <= MAX_LENGTH:
        raise _refusal(text, "a position from 1 on and a text, as in 40=the")
    return int(match[1]) - 1, match[2]


def placed_id(text: str) -> tuple[int, int]:
    """The type of an argument that puts a token id at a position, from 1; gives it from 0."""
    position, token = placed(text)
    if not re.fullmatch(r"\d{1,9}", token):
        raise _refusal(text, "a position from 1 on and a token id, as in 40=17")
    return position, int(token)


def setting(text: str) -> tuple[str, str]:
    """The type of an argument that sets a setting by name; whether there is one, the edit says."""
    name, equals, value = text.partition("=")
    if not equals:
        raise _refusal(text, "a setting and its value, as in temperature=0.5")
    return name.strip().replace("-", "_"), value


def _refusal(text: str, allowed: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"cannot be {shown(text)}: allowed is {allowed}")
