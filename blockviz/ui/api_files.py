"""Runs that a program sends in, and the files that `/export` makes of them."""

from __future__ import annotations

import base64
import io
from typing import Any, Literal

from blockviz.export.files import Options
from blockviz.export.parcel import TEXTS, Made, ParcelKind, make
from blockviz.export.words import ExportError
from blockviz.sampling.trace import MOST_RUNS, Trace, TraceError
from blockviz.ui.files import LARGEST_FILE
from blockviz.ui.wording import API
from blockviz.views.alignment import Axis
from blockviz.views.palette import Theme


class SentError(ValueError):
    """Something that was sent in and cannot be used; the message is one sentence."""


def read_runs(text: object) -> list[Trace]:
    """The runs in a text: the lines of a trace, or a trace file (packed or not) in base64; raises `SentError`."""
    if not isinstance(text, str):
        raise SentError(API["no_trace"])
    content = text.encode("utf-8", "replace")
    if not text.lstrip().startswith("{"):
        try:
            content = base64.b64decode(text, validate=True)
        except ValueError:
            raise SentError(API["no_trace"]) from None
    try:
        return Trace.read_all(io.BytesIO(content), LARGEST_FILE)
    except TraceError as error:
        raise SentError(str(error)) from None


def export(
    runs: list[str],
    kind: ParcelKind,
    theme: Theme = "light",
    views: bool = True,
    frames: int = Options().limit,
    rate: float = Options().rate,
    number: int | None = None,
    align: Axis = "pass",
) -> list[dict[str, Any]]:
    """The files of one kind for one to four runs, as `/export` answers; raises `SentError`."""
    if not isinstance(runs, list) or not runs:
        raise SentError(API["no_runs"].format(most=MOST_RUNS))
    traces = [trace for text in runs for trace in read_runs(text)]
    values: dict[str, tuple[object, tuple[type, ...]]] = {
        "views": (views, (bool,)),
        "frames": (frames, (int,)),
        "rate": (rate, (int, float)),
        "number": (number, (int, type(None))),
        "theme": (theme, (str,)),
        "align": (align, (str,)),
        "kind": (kind, (str,)),
    }
    for name, (value, types) in values.items():
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise SentError(API["no_option"].format(name=name, value=str(value)[:40]))
    options = Options(theme=theme, views=views, limit=frames, rate=rate, number=number, axis=align)
    try:
        return [_sent(file) for file in make(traces, kind, options)]
    except ExportError as error:
        raise SentError(str(error)) from None


def _sent(file: Made) -> dict[str, Any]:
    """A file as JSON can carry it: text as it is, everything else in base64."""
    encoding: Literal["text", "base64"] = "text" if file.media in TEXTS else "base64"
    data = (
        file.content.decode("utf-8") if encoding == "text" else base64.b64encode(file.content).decode("ascii")
    )
    return {"name": file.name, "media": file.media, "encoding": encoding, "data": data}
