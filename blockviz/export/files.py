"""Exports as files: one call for the command line and for the page, which gives a temporary folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from blockviz.base.writing import complete, file_to_write
from blockviz.export import film, plots, standalone, tables
from blockviz.export.board import Board, together
from blockviz.export.picture import picture
from blockviz.export.words import ExportError, about, short
from blockviz.sampling.trace import Trace
from blockviz.views.alignment import Axis
from blockviz.views.palette import Theme

Kind = Literal["html", "gif", "mp4", "csv", "parquet", "json", "png", "svg"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TABLES = ("passes", "positions")
HELP: dict[Kind, str] = {
    "html": "one page in one file with the player, for all runs together (up to 4, side by side); works offline",
    "gif": "a film of the canvas as GIF, one for each run or, with --beside, one of all side by side (2 to 4)",
    "mp4": "the same film as MP4 (H.264)",
    "csv": "two tables as CSV: passes, and positions (a row per pass and position)",
    "parquet": "the same two tables as Parquet",
    "json": "the whole trace as one readable JSON document",
    "png": "the canvas and every chart of one pass as PNG; the charts need a Chrome or Chromium on this machine "
    "(without one, use the download button on each chart of the page)",
    "svg": "every chart of one pass as SVG; needs a Chrome or Chromium too",
}


@dataclass(frozen=True)
class Options:
    """How exports look: `number` is the pass of pictures (None: the last), `rate` in passes a second.

    With `beside` a film of several runs is one film, in which they stand side by side as `axis` aligns them.
    """

    theme: Theme = "light"
    views: bool = True
    limit: int = film.LIMIT
    rate: float = film.RATE
    number: int | None = None
    beside: bool = False
    axis: Axis = "pass"


def write(
    traces: Sequence[Trace],
    names: Sequence[str],
    kinds: Sequence[Kind],
    folder: Path,
    options: Options | None = None,
    bar: Callable[[str], film.Progress] = lambda title: film.silent,
    sources: Sequence[Path] = (),
) -> list[Path]:
    """Write exports of the runs into `folder` and return the paths of the files, in the order of `kinds`.

    `names` are the runs' file names without an ending; `bar(title)` gives the progress of a film. A file that was there
    is replaced, once the new one is complete; a device or pipe is refused before any work, and so is one of the
    `sources` that the runs were read from. Raises `ExportError` or OSError.
    """
    options = options or Options()
    if not traces:
        raise ExportError("There is no run to export.")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise ExportError(f"The kinds of export are {', '.join(KINDS)}; not {', '.join(unknown) or 'none'}.")
    for trace in traces:
        _number(trace, options)
    names = _distinct(names)
    for target in _targets(names, kinds, folder, options):
        file_to_write(target)
        if any(target.exists() and target.samefile(source) for source in sources if source.exists()):
            raise ExportError(f"{target} is a run that is to be exported: give another folder with --out.")
    written: list[Path] = []
    for kind in kinds:
        if kind == "html":
            written.append(_html(traces, names, folder, options))
        elif kind in ("gif", "mp4") and options.beside and len(traces) > 1:
            written += _film(kind, traces, folder / _joined(names, kind), options, bar)
        elif kind in ("png", "svg"):
            if not {"png", "svg"} & set(kinds[: kinds.index(kind)]):
                both = tuple(each for each in kinds if each in ("png", "svg"))
                written += _pictures(traces, names, both, folder, options)  # type: ignore[arg-type]
        else:
            for trace, name in zip(traces, names, strict=True):
                written += _single(kind, trace, folder / name, options, bar)
    return written


def _targets(names: Sequence[str], kinds: Sequence[Kind], folder: Path, options: Options) -> list[Path]:
    """The files to come, but for the charts, whose number depends on the run."""
    files = [_joined(names, "html")] if "html" in kinds else []
    beside = options.beside and len(names) > 1
    files += [_joined(names, kind) for kind in kinds if kind in ("gif", "mp4") and beside]
    for name in names:
        own = ("json",) if beside else ("gif", "mp4", "json")
        files += [f"{name}.{kind}" for kind in kinds if kind in own]
        files += [f"{name}-{rows}.{kind}" for kind in kinds if kind in ("csv", "parquet") for rows in TABLES]
        files += [f"{name}-canvas.png"] if "png" in kinds else []
    return [folder / file for file in files]


def _joined(names: Sequence[str], ending: str) -> str:
    """The name of a file that holds all runs."""
    return f"{short('-'.join(names), 100)}.{ending}"


def _film(
    kind: Kind, traces: Sequence[Trace], target: Path, options: Options, bar: Callable[[str], film.Progress]
) -> list[Path]:
    make = film.write_gif if kind == "gif" else film.write_mp4
    with complete(target) as part:
        make(
            traces,
            part,
            theme=options.theme,
            limit=options.limit,
            rate=options.rate,
            axis=options.axis,
            progress=bar(target.name),
        )
    return [target]


def _single(
    kind: Kind, trace: Trace, stem: Path, options: Options, bar: Callable[[str], film.Progress]
) -> list[Path]:
    """The files of a kind that every run has for itself."""
    if kind in ("gif", "mp4"):
        return _film(kind, [trace], stem.with_name(f"{stem.name}.{kind}"), options, bar)
    if kind == "json":
        target = stem.with_name(f"{stem.name}.json")
        with complete(target) as part:
            part.write_text(tables.json_text(trace), encoding="utf-8", newline="\n")
        return [target]
    targets = []
    for rows, table in tables.tables(trace).items():
        target = stem.with_name(f"{stem.name}-{rows}.{kind}")
        with complete(target) as part:
            if kind == "csv":
                tables.write_csv(table, part)
            else:
                tables.write_parquet(table, part, trace)
        targets.append(target)
    return targets


def _html(traces: Sequence[Trace], names: Sequence[str], folder: Path, options: Options) -> Path:
    target = folder / _joined(names, "html")
    text = standalone.page(traces, views=options.views)
    with complete(target) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
    return target


def _pictures(
    traces: Sequence[Trace],
    names: Sequence[str],
    formats: Sequence[plots.Format],
    folder: Path,
    options: Options,
) -> list[Path]:
    titles, all_figures = [], []
    for trace, name in zip(traces, names, strict=True):
        for view, figure in plots.figures(trace, _number(trace, options), options.theme).items():
            titles.append(f"{name}-{view}")
            all_figures.append(figure)
    written = []
    for title, pictures in zip(titles, plots.render(all_figures, formats), strict=True):
        for ending, content in pictures.items():
            target = folder / f"{title}.{ending}"
            with complete(target) as part:
                part.write_bytes(content)
            written.append(target)
    if "png" in formats:
        written += [
            write_canvas(trace, folder / f"{name}-canvas.png", options)
            for trace, name in zip(traces, names, strict=True)
        ]
    return written


def write_canvas(traces: Trace | Sequence[Trace], target: Path, options: Options | None = None) -> Path:
    """Write the canvas of one pass as PNG, which needs no browser, and return its path; several stand side by side.

    The pass is then that of the run which leads.
    """
    from PIL.PngImagePlugin import PngInfo

    options = options or Options()
    facts = PngInfo()
    runs = [traces] if isinstance(traces, Trace) else list(traces)
    for name, value in about(runs).items():
        facts.add_itxt(f"blockviz.{name}", value)
    lead = runs[0] if len(runs) == 1 else runs[together(runs, options.axis).lead]
    number = _number(lead, options)
    with complete(target) as part:
        if len(runs) == 1:
            image = picture(lead, number, options.theme)
        else:
            image = Board(runs, options.theme, [number], axis=options.axis).paint(number)
        image.save(part, "PNG", pnginfo=facts)
    return target


def _number(trace: Trace, options: Options) -> int:
    last = len(trace.passes) - 1
    number = last if options.number is None else options.number
    if not 0 <= number <= last:
        raise ExportError(f"The pass cannot be {number}; this run has passes 0 to {last}.")
    return number


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, numbered where two are alike."""
    found: list[str] = []
    for name in names:
        base, count = name or "run", 2
        name = base
        while name in found:
            name, count = f"{base}-{count}", count + 1
        found.append(name)
    return found
