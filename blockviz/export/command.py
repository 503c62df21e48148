"""Writes recorded runs as files for others: a page in one file, films, tables, JSON, pictures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import cast

from tqdm import tqdm

from blockviz.base.command_line import any_path, folder, number, whole
from blockviz.export import film
from blockviz.export.files import HELP, KINDS, Kind, Options, write
from blockviz.export.words import ExportError
from blockviz.sampling.trace import Trace, TraceError
from blockviz.views.alignment import AXES, Axis
from blockviz.views.palette import THEMES, Theme

BAR_DELAY = 0.5
"""Seconds after which a film shows its progress."""
MAX_PASS = 10**9
USES: dict[str, tuple[str, tuple[Kind, ...]]] = {
    "--theme": ("theme", ("gif", "mp4", "png", "svg")),
    "--no-views": ("no_views", ("html",)),
    "--frames": ("frames", ("gif", "mp4")),
    "--rate": ("rate", ("gif", "mp4")),
    "--beside": ("beside", ("gif", "mp4")),
    "--align": ("align", ("gif", "mp4")),
    "--pass": ("number", ("png", "svg")),
}
"""Options with their names in the code and the kinds of file they change; with others alone they are refused."""
ENDINGS = (".gz", ".jsonl", ".json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `python -m blockviz export`."""
    parser.add_argument(
        "runs",
        nargs="+",
        type=any_path,
        metavar="RUN",
        help="trace file (.jsonl.gz or .jsonl), also one of several runs",
    )
    kinds = parser.add_argument_group("what to write (one or more)")
    for kind in KINDS:
        kinds.add_argument(f"--{kind}", action="store_true", help=HELP[kind])
    parser.add_argument(
        "--out",
        type=folder,
        default=Path(),
        metavar="FOLDER",
        help="folder for the files (default: this one)",
    )
    parser.add_argument("--theme", choices=THEMES, help="colours of films and pictures (default: light)")
    parser.add_argument(
        "--no-views", action="store_true", help="leave the charts out of the page, which is 5 MB smaller then"
    )
    parser.add_argument(
        "--frames",
        type=whole(*film.LIMITS),
        metavar="N",
        help="frames of a film; a longer run shows its first and last pass, then edits, commits, re-noisings and the "
        f"others evenly, as many as fit (default: {film.LIMIT})",
    )
    parser.add_argument(
        "--rate",
        type=number(*film.RATES),
        metavar="N",
        help=f"passes a second of a film (default: {film.RATE:g})",
    )
    parser.add_argument(
        "--beside", action="store_true", help="one film with the runs (2 to 4) side by side, not one for each"
    )
    parser.add_argument(
        "--align",
        choices=AXES,
        help="what runs side by side are aligned by: passes, network calls, place of the canvas, share of the run, "
        "recorded milliseconds (default: pass)",
    )
    parser.add_argument(
        "--pass",
        dest="number",
        type=whole(0, MAX_PASS),
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
    for option, (name, kinds_of_it) in USES.items():
        value = getattr(options, name)
        given = value is not None and value is not False  # pass 0 is given too
        if given and not set(kinds) & set(kinds_of_it):
            asked = ", ".join(f"--{kind}" for kind in kinds)
            uses = " or ".join(f"--{kind}" for kind in kinds_of_it)
            raise ExportError(f"{option} does nothing with {asked}: allowed is only together with {uses}.")
    loaded = [(trace, _name(path)) for path in options.runs for trace in _load(path)]
    return write(
        [trace for trace, _ in loaded],
        [name for _, name in loaded],
        kinds,
        options.out,
        Options(
            theme=cast(Theme, options.theme or "light"),
            views=not options.no_views,
            limit=film.LIMIT if options.frames is None else options.frames,
            rate=film.RATE if options.rate is None else options.rate,
            number=options.number,
            beside=options.beside,
            axis=cast(Axis, options.align or "pass"),
        ),
        bar=lambda title: (
            lambda numbers: tqdm(numbers, unit="frame", desc=title, delay=BAR_DELAY, leave=False)
        ),
        sources=options.runs,
    )


def _load(path: Path) -> list[Trace]:
    try:
        return Trace.load_all(path)
    except TraceError as error:
        raise TraceError(f"The run {path} cannot be exported: {error}") from None
    except OSError as error:
        raise ExportError(f"The run {path} cannot be read: {error.strerror or error}") from None


def _name(path: Path) -> str:
    name = path.name
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name
