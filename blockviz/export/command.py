"""Writes recorded runs as files for others: a page in one file, films, tables, JSON, pictures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import cast

from tqdm import tqdm

from blockviz.export import film
from blockviz.export.files import HELP, KINDS, Options, write
from blockviz.export.words import ExportError
from blockviz.sampling.trace import Trace, TraceError
from blockviz.views.palette import THEMES, Theme

BAR_DELAY = 0.5
"""Seconds after which a film shows its progress."""
ENDINGS = (".gz", ".jsonl", ".json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `python -m blockviz export`."""
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="trace file of a run (.jsonl.gz or .jsonl)"
    )
    kinds = parser.add_argument_group("what to write (one or more)")
    for kind in KINDS:
        kinds.add_argument(f"--{kind}", action="store_true", help=HELP[kind])
    parser.add_argument(
        "--out", type=Path, default=Path(), metavar="FOLDER", help="folder for the files (default: this one)"
    )
    parser.add_argument(
        "--theme", choices=THEMES, default="light", help="colours of films and pictures (default: light)"
    )
    parser.add_argument(
        "--no-views", action="store_true", help="leave the charts out of the page, which is 5 MB smaller then"
    )
    parser.add_argument(
        "--frames",
        type=int,
        default=film.LIMIT,
        metavar="N",
        help="frames of a film; a longer run shows its first and last pass, then commits, re-noisings and the others "
        "evenly, as many as fit (default: %(default)s)",
    )
    parser.add_argument(
        "--rate",
        type=float,
        default=film.RATE,
        metavar="N",
        help="passes a second of a film (default: %(default)g)",
    )
    parser.add_argument(
        "--pass",
        dest="number",
        type=int,
        metavar="K",
        help="the pass that pictures show (default: the last)",
    )


def run_command(options: argparse.Namespace) -> list[Path]:
    """Write what the flags ask for and return the paths; raises `ExportError`, `TraceError` or OSError."""
    kinds = [kind for kind in KINDS if getattr(options, kind)]
    if not kinds:
        raise ExportError(
            "Nothing was asked for: give one or more of " + ", ".join(f"--{kind}" for kind in KINDS)
        )
    if not options.out.is_dir():
        raise ExportError(f"There is no folder {options.out} for the files")
    traces = [_load(path) for path in options.runs]
    return write(
        traces,
        [_name(path) for path in options.runs],
        kinds,
        options.out,
        Options(
            theme=cast(Theme, options.theme),
            views=not options.no_views,
            limit=options.frames,
            rate=options.rate,
            number=options.number,
        ),
        bar=lambda title: (
            lambda numbers: tqdm(numbers, unit="frame", desc=title, delay=BAR_DELAY, leave=False)
        ),
    )


def _load(path: Path) -> Trace:
    try:
        return Trace.load(path)
    except TraceError as error:
        raise TraceError(f"The run {path} cannot be exported: {error}") from None
    except OSError as error:
        raise ExportError(f"The run {path} cannot be read: {error.strerror or error}") from None


def _name(path: Path) -> str:
    name = path.name
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name
