"""The recorded runs that come with the page, so that something plays before any model is loaded.

They are real traces, made by assets/examples/make.py from the bundled checkpoints; a missing one leaves
its player empty.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Literal

from blockviz.sampling.passes import Header, TraceError
from blockviz.sampling.trace_reader import LineReader
from blockviz.views.bundle import ASSETS

EXAMPLES = ASSETS / "examples"
LARGEST = 4_000_000
"""Characters of one recorded run; larger ones would slow down the first paint."""

Example = Literal["explore", "compare-a", "compare-b"]


def recorded(name: Example, folder: Path = EXAMPLES) -> str:
    """The lines of a recorded run, or an empty text when it is not there or cannot be read."""
    try:
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            text = file.read(LARGEST + 1)
    except (OSError, EOFError, ValueError):
        return ""
    return text if len(text) <= LARGEST else ""


def header_of(lines: str) -> Header | None:
    """The header of a recorded run: what was asked for; None for an empty text or one that is no trace."""
    reader = LineReader()
    try:
        reader.read(lines.partition("\n")[0])
    except TraceError:
        return None
    return reader.header
