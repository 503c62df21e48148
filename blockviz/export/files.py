"""Exports as files: one call for the command line and for the page, which gives a temporary folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from blockviz.base.writing import complete, file_to_write
from blockviz.export import film, plots, standalone, tables
from blockviz.export.picture import picture
from blockviz.export.words import ExportError, about, short
from blockviz.sampling.trace import Trace
from blockviz.views.palette import Theme

Kind = Literal["html", "gif", "mp4", "csv", "parquet", "json", "png", "svg"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TABLES = ("passes", "positions")
HELP: dict[Kind, str] = {
    "html": "one page in one file with the player, for all runs together (up to 4, side by side); works offline",
    "gif": "a film of the canvas as GIF",
    "mp4": "a film of the canvas as MP4 (H.264)",
    "csv": "two tables as CSV: passes, and positions (a row per pass and position)",
    "parquet": "the same two tables as Parquet",
    "json": "the whole trace as one readable JSON document",
    "png": "the canvas and every chart of one pass as PNG; the charts need a Chrome or Chromium on this machine "
    "(without one, use the download button on each chart of the page)",
    "svg": "every chart of one pass as SVG; needs a Chrome or Chromium too",
}


@dataclass(frozen=True)
class Options:
    """How exports look: `number` is the pass of pictures (None: the last), `rate` in passes a second."""

    theme: Theme = "light"
    views: bool = True
    limit: int = film.LIMIT
    rate: float = film.RATE
    number: int | None = None


def write(
    traces: Sequence[Trace],
    names: Sequence[str],
    kinds: Sequence[Kind],
    folder: Path,
    options: Options | None = None,
    bar: Callable[[str], film.Progress] = lambda title: film.silent,
) -> list[Path]:
    """Write exports of the runs into `folder` and return the paths of the files, in the order of `kinds`.

    `names` are the runs' file names without an ending; `bar(title)` gives the progress of a film. A file that was there
    is replaced, once the new one is complete; a device or pipe is refused before any work. Raises `ExportError` or
    OSError.
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
    for target in _targets(names, kinds, folder):
        file_to_write(target)
    written: list[Path] = []
    for kind in kinds:
        if kind == "html":
            written.append(_html(traces, names, folder, options))
        elif kind in ("png", "svg"):
            if not {"png", "svg"} & set(kinds[: kinds.index(kind)]):
                both = tuple(each for each in kinds if each in ("png", "svg"))
                written += _pictures(traces, names, both, folder, options)  # type: ignore[arg-type]
        else:
            for trace, name in zip(traces, names, strict=True):
                written += _single(kind, trace, folder / name, options, bar)
    return written


def _targets(names: Sequence[str], kinds: Sequence[Kind], folder: Path) -> list[Path]:
    """The files to come, but for the charts, whose number depends on the run."""
    files = [_page_name(names)] if "html" in kinds else []
    for name in names:
        files += [f"{name}.{kind}" for kind in kinds if kind in ("gif", "mp4", "json")]
        files += [f"{name}-{rows}.{kind}" for kind in kinds if kind in ("csv", "parquet") for rows in TABLES]
        files += [f"{name}-canvas.png"] if "png" in kinds else []
    return [folder / file for file in files]


def _page_name(names: Sequence[str]) -> str:
    return f"{short('-'.join(names), 100)}.html"


def _single(
    kind: Kind, trace: Trace, stem: Path, options: Options, bar: Callable[[str], film.Progress]
) -> list[Path]:
    """The files of a kind that every run has for itself."""
    if kind in ("gif", "mp4"):
        make = film.write_gif if kind == "gif" else film.write_mp4
        target = stem.with_name(f"{stem.name}.{kind}")
        with complete(target) as part:
            progress = bar(target.name)
            make(trace, part, theme=options.theme, limit=options.limit, rate=options.rate, progress=progress)
        return [target]
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
    target = folder / _page_name(names)
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


def write_canvas(trace: Trace, target: Path, options: Options | None = None) -> Path:
    """Write the canvas of one pass as PNG, which needs no browser, and return its path."""
    from PIL.PngImagePlugin import PngInfo

    options = options or Options()
    facts = PngInfo()
    for name, value in about([trace]).items():
        facts.add_itxt(f"blockviz.{name}", value)
    with complete(target) as part:
        picture(trace, _number(trace, options), options.theme).save(part, "PNG", pnginfo=facts)
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
