"""Exports as bytes, for the page and the API: made in a temporary folder of their own, named after the runs, bounded.

No name that comes from outside reaches the file system: files are called after what a run's model is called, reduced to
letters, digits and hyphens.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, get_args

from blockviz.export import film
from blockviz.export.files import Options, write, write_canvas
from blockviz.export.words import ExportError, file_words
from blockviz.sampling.trace import MOST_RUNS, Header, Trace
from blockviz.views.alignment import AXES
from blockviz.views.palette import THEMES

ParcelKind = Literal["html", "gif", "mp4", "picture", "csv", "parquet", "json"]
KINDS: tuple[ParcelKind, ...] = get_args(ParcelKind)
MEDIA = {
    "html": "text/html",
    "gif": "image/gif",
    "mp4": "video/mp4",
    "png": "image/png",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "zip": "application/zip",
}
TEXTS = frozenset({"text/html", "text/csv", "application/json"})
MOST_CELLS = 1_000_000
"""Passes x positions of all runs together that become tables or a document here; the command line takes more."""
MOST_FRAMES = 400
"""Frames of a film made here; the command line makes longer ones."""
MOST_BYTES = 64 * 2**20
"""Bytes of all files of one export."""
LONGEST_NAME = 60

Bar = Callable[[str], film.Progress]


@dataclass(frozen=True)
class Made:
    """One exported file."""

    name: str
    content: bytes

    @property
    def media(self) -> str:
        """Its media type, by its ending."""
        return MEDIA[self.name.rsplit(".", 1)[-1]]


def make(
    traces: Sequence[Trace],
    kind: ParcelKind,
    options: Options | None = None,
    bar: Bar = lambda title: film.silent,
) -> list[Made]:
    """The files of one kind for one to four runs; raises `ExportError`. `bar` gives the progress of a film."""
    if kind not in KINDS:
        raise ExportError(f"kind cannot be {kind!r}: allowed is one of {', '.join(KINDS)}.")
    if not 1 <= len(traces) <= MOST_RUNS:
        raise ExportError(f"An export holds 1 to {MOST_RUNS} runs, not {len(traces)}.")
    options = options or Options()
    if options.theme not in THEMES:
        raise ExportError(f"theme cannot be {options.theme!r}: allowed is one of {', '.join(THEMES)}.")
    if options.limit > MOST_FRAMES:
        raise ExportError(
            f"The number of frames cannot be {options.limit}; here it is at most {MOST_FRAMES}."
        )
    cells = sum(len(trace.passes) * trace.header.length for trace in traces)
    if kind in ("csv", "parquet", "json") and cells > MOST_CELLS:
        raise ExportError(
            f"These runs have {cells} cells (passes times positions), and {MOST_CELLS} become {kind} here at most; "
            "for more, save the runs and use python -m blockviz export."
        )
    if options.axis not in AXES:
        raise ExportError(f"align cannot be {options.axis!r}: allowed is one of {', '.join(AXES)}.")
    number = options.number if kind == "picture" else None
    options = replace(options, beside=True, number=number)
    names = [slug(trace.header) for trace in traces]
    with TemporaryDirectory(prefix="blockviz-") as folder:
        paths = _written(traces, names, kind, Path(folder), options, bar)
        size = sum(path.stat().st_size for path in paths)
        if size > MOST_BYTES:
            raise ExportError(f"The export has {size} bytes; here it may have {MOST_BYTES}.")
        return [Made(path.name, path.read_bytes()) for path in paths]


def _written(
    traces: Sequence[Trace],
    names: Sequence[str],
    kind: ParcelKind,
    folder: Path,
    options: Options,
    bar: Bar,
) -> list[Path]:
    if kind == "picture":
        name = names[0] if len(names) == 1 else f"blockviz-{len(names)}-runs"
        return [write_canvas(traces, folder / f"{name}-canvas.png", options)]
    return write(traces, names, [kind], folder, options, bar)


def packed(files: Sequence[Made], name: str) -> Made:
    """The files as one: the only one as it is, several in a zip archive called `name`."""
    if len(files) == 1:
        return files[0]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.writestr(
                zipfile.ZipInfo(file.name, (1980, 1, 1, 0, 0, 0)), file.content, zipfile.ZIP_DEFLATED
            )
    return Made(f"{name}.zip", buffer.getvalue())


def slug(header: Header) -> str:
    """A file's name for a run, without an ending: letters, digits and hyphens, such as math-masked-arpc-seed-40."""
    words = re.sub(r"[^a-z0-9]+", "-", file_words(header).lower()).strip("-")
    return f"{words[:LONGEST_NAME].strip('-') or 'run'}-seed-{header.settings.seed}"
