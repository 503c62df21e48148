"""The two routes for files: runs that a visitor opens, and exports of runs that stand on the page. Knows no Gradio.

What comes is the bytes of a trace file and a few words from fixed lists; it is read in memory by the strict reader of
`blockviz.sampling.trace`, and no name or path of it reaches the file system. Opened runs wait for the event that shows
them (`Handoff`); nothing stays on the server afterwards.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import secrets
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from blockviz.export.files import Options
from blockviz.export.parcel import ParcelKind, make, packed
from blockviz.export.words import ExportError
from blockviz.sampling.trace import MOST_RUNS, Trace, TraceError
from blockviz.ui.sessions import Places
from blockviz.ui.wording import FILES
from blockviz.views.alignment import Axis
from blockviz.views.palette import Theme

__all__ = ["EXPORT", "LARGEST_FILE", "LIMITS", "MEDIA", "MOST_RUNS", "OPEN", "Handoff", "routes"]

OPEN, EXPORT = "/blockviz/open", "/blockviz/export"
LARGEST_FILE = 20_000_000
"""Bytes of an opened file, packed or unpacked: four runs of the size that the page keeps."""
LIMITS = {OPEN: LARGEST_FILE, EXPORT: LARGEST_FILE}
MEDIA = "application/x-blockviz"
"""What the page's requests say they carry; pages from elsewhere cannot send it without asking first."""
MOST_EXPORTS = 2
"""Exports at once; others wait in line."""


class _Cancelled(Exception):
    """Nobody waits for the export any more."""


class Handoff:
    """Opened runs on their way from the request that brought their file to the event that shows them.

    Each is kept under a name nobody can guess, until it is taken once; of several the newest few, and none for long.
    """

    def __init__(self, most: int = 6, seconds: float = 120.0) -> None:
        self._most, self._seconds = most, seconds
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, list[str]]] = OrderedDict()

    def put(self, runs: list[str]) -> str:
        """Keep the lines of some runs; returns the name under which they can be taken."""
        name = secrets.token_urlsafe(18)
        with self._lock:
            self._drop_old()
            self._kept[name] = time.monotonic(), runs
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return name

    def take(self, name: object) -> list[str]:
        """The runs kept under that name, which are then forgotten; none for a name that is not known (any more)."""
        with self._lock:
            self._drop_old()
            return self._kept.pop(name, (0.0, list[str]()))[1] if isinstance(name, str) else []

    def _drop_old(self) -> None:
        limit = time.monotonic() - self._seconds
        for name in [name for name, (since, _) in self._kept.items() if since < limit]:
            del self._kept[name]

    def __len__(self) -> int:
        with self._lock:
            return len(self._kept)


def routes(handoff: Handoff) -> list[Route]:
    """`POST /blockviz/open` and `POST /blockviz/export`; the limits of their bodies stand in `LIMITS`.

    What was opened waits in `handoff`.
    """
    reading = asyncio.Semaphore(1)  # a large file keeps a core busy for seconds
    places = Places(MOST_EXPORTS)

    async def open_file(request: Request) -> Response:
        if request.headers.get("content-type") != MEDIA:
            return JSONResponse({"error": FILES["foreign"]}, status_code=415)
        async with reading:
            body = await request.body()
            return JSONResponse(await run_in_threadpool(opened, body, handoff))

    async def export(request: Request) -> Response:
        if request.headers.get("content-type") != MEDIA:
            return JSONResponse({"error": FILES["foreign"]}, status_code=415)
        asked, body = dict(request.query_params), await request.body()
        return StreamingResponse(
            _news(places, lambda progress: exported(asked, body, progress)), media_type="application/x-ndjson"
        )

    return [Route(OPEN, open_file, methods=["POST"]), Route(EXPORT, export, methods=["POST"])]


def opened(content: bytes, handoff: Handoff) -> dict[str, Any]:
    """Read a file strictly: how many `runs` wait under the name `token`, or an `error` in one sentence."""
    try:
        traces = Trace.read_all(io.BytesIO(content), LARGEST_FILE)
    except TraceError as error:
        return {"error": str(error)}
    return {"token": handoff.put(["".join(trace.to_lines()) for trace in traces]), "runs": len(traces)}


Progress = Callable[[Mapping[str, Any]], None]


def exported(asked: Mapping[str, str], content: bytes, tell: Progress) -> None:
    """Make what the page asked for of the runs in `content` and tell of its progress, its file or its error."""
    try:
        kind, options = read_options(asked)
        traces = Trace.read_all(io.BytesIO(content), LARGEST_FILE)
        files = make(traces, kind, options, lambda name: lambda numbers: _told(numbers, name, tell))
        file = packed(files, f"{files[0].name.rsplit('.', 1)[0]}-{kind}")
    except (ExportError, TraceError) as error:
        tell({"error": str(error)})
        return
    data = base64.b64encode(file.content).decode("ascii")
    tell({"name": file.name, "media": file.media, "data": data})


def read_options(asked: Mapping[str, str]) -> tuple[ParcelKind, Options]:
    """Kind and options from the words of a request; raises `ExportError` for one that is not known."""
    unknown = set(asked) - {"kind", "theme", "views", "frames", "rate", "pass", "align"}
    if unknown:
        raise ExportError(FILES["option"].format(name=", ".join(sorted(unknown))[:100]))
    usual = Options()
    return cast(ParcelKind, asked.get("kind", "")), Options(
        theme=cast(Theme, asked.get("theme", usual.theme)),
        views=asked.get("views", "1") != "0",
        limit=_number(asked, "frames", usual.limit),
        rate=_number(asked, "rate", usual.rate, float),
        number=_number(asked, "pass", None),
        axis=cast(Axis, asked.get("align", usual.axis)),
    )


def _number(asked: Mapping[str, str], name: str, usual: Any, kind: Callable[[str], Any] = int) -> Any:
    text = asked.get(name)
    if text is None:
        return usual
    try:
        if len(text) > 10 or not text.isascii():
            raise ValueError
        return kind(text)
    except ValueError:
        raise ExportError(FILES["number"].format(name=name, value=text[:20])) from None


def _told(numbers: Sequence[int], name: str, tell: Progress) -> Iterator[int]:
    for index, number in enumerate(numbers):
        tell({"progress": index, "of": len(numbers), "file": name})
        yield number
    tell({"progress": len(numbers), "of": len(numbers), "file": name})


async def _news(places: Places, work: Callable[[Progress], None]) -> AsyncIterator[bytes]:
    """Run `work` in a thread once there is a place and give what it tells as lines; stops when nobody listens."""
    loop, news = asyncio.get_running_loop(), asyncio.Queue[Mapping[str, Any] | None]()
    stop, ticket = threading.Event(), places.arrive()

    def tell(entry: Mapping[str, Any] | None) -> None:
        if entry is not None and stop.is_set():
            raise _Cancelled
        try:
            loop.call_soon_threadsafe(news.put_nowait, entry)
        except RuntimeError:  # the server is going down
            raise _Cancelled from None

    def run() -> None:
        try:
            told = 0
            while (ahead := places.ahead(ticket, seconds=0.2)) > 0:
                if ahead != told:
                    tell({"waiting": ahead})
                    told = ahead
                if stop.is_set():
                    return
            work(tell)
        except _Cancelled:
            return
        except Exception as error:  # an export that breaks must end in words
            traceback.print_exception(error)
            tell({"error": FILES["broke"]})
        finally:
            places.leave(ticket)
            with contextlib.suppress(_Cancelled):
                tell(None)

    threading.Thread(target=run, name="export", daemon=True).start()
    try:
        while (entry := await news.get()) is not None:
            yield json.dumps(entry).encode() + b"\n"
    finally:
        stop.set()
