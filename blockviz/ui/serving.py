"""What the server hands out: exactly the bundled scripts, styles and the logo, and answers with safe headers.

No path that comes from the page reaches the file system: files are read once at start-up into a table by name, what a
visitor opens is read in memory (`blockviz.ui.files`), and Gradio's own routes for files, uploads, proxies and component
calls, none of which the page uses, are closed.
"""

from __future__ import annotations

import hashlib
import json
import traceback
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from blockviz.ui import files
from blockviz.ui.examples import pictures
from blockviz.views.bundle import ASSETS, page_script, plotly_script, style

# Gradio's routes that would serve, fetch or store what a visitor names.
CLOSED = tuple(
    prefix + route
    for prefix in ("/gradio_api", "")
    for route in (
        "/file=",
        "/file/",
        "/proxy=",
        "/upload",
        "/stream",
        "/component_server",
        "/custom_component",
        "/process_recording",
        "/vibe",
        "/undo-vibe",
        "/run-history",
        "/runs",
        "/deep_link",
        "/monitoring",
        "/dev/reload",
    )
)

# Gradio builds templates and handlers with Function(), so scripts need unsafe-eval; nothing may come from elsewhere.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
    )
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)

PICTURES = "pictures.json"
"""The asset with the small pictures of the gallery."""
LARGEST_REQUEST = 256_000
"""Bytes of a form as the page sends it, many times over."""
LARGEST_CALL = 1_000_000
"""Bytes of what a program sends: `/export` takes whole runs."""
LIMITS = files.LIMITS | dict.fromkeys(
    [f"/gradio_api/{path}" for path in ("queue/join", "call/export", "call/v2/export")], LARGEST_CALL
)
"""Bytes of a request by path, where it is not LARGEST_REQUEST."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True)
class Asset:
    """A file as it is served; `version` is a hash of its content, so that browsers may keep it for ever.

    `encoding` names the compression of the content, "" for none.
    """

    name: str
    content: bytes
    media: str
    encoding: str = ""
    """"gzip" where the content is served compressed."""

    @property
    def version(self) -> str:
        """The first 12 hexadecimal digits of the SHA-256 of the content."""
        return hashlib.sha256(self.content).hexdigest()[:12]

    @property
    def address(self) -> str:
        """The address relative to the page, so that it also works behind a proxy's path."""
        return f"blockviz/{self.name}?v={self.version}"


def assets(more: Sequence[Asset] = (), words: bytes = b"") -> dict[str, Asset]:
    """Every file the page needs, by name, with `more`; `words` are data that belong behind the scripts."""
    fixed = (
        *more,
        Asset("blockviz.js", page_script() + words, "text/javascript; charset=utf-8"),
        Asset("blockviz.css", style(), "text/css; charset=utf-8"),
        Asset("plotly.js", plotly_script(), "text/javascript; charset=utf-8"),
        Asset("logo.svg", (ASSETS / "logo.svg").read_bytes(), "image/svg+xml"),
        Asset(PICTURES, json.dumps(pictures()).encode(), "application/json"),
    )
    return {file.name: file for file in fixed}


def routes(table: dict[str, Asset], handoff: files.Handoff) -> list[Route]:
    """The routes for opening and exporting runs, and one for the assets: a name not in the table is not found."""

    async def serve(request: Request) -> Response:
        file = table.get(request.path_params["name"])
        if file is None:
            return PlainTextResponse("There is no such file.", status_code=404)
        keep = (
            "public, max-age=31536000, immutable"
            if request.query_params.get("v") == file.version
            else "no-cache"
        )
        headers = {"cache-control": keep}
        if file.encoding:
            headers["content-encoding"] = file.encoding
        return Response(file.content, media_type=file.media, headers=headers)

    return [*files.routes(handoff), Route("/blockviz/{name}", serve, methods=["GET", "HEAD"])]


def _length(scope: Scope) -> int:
    """The length that a request states for its body, in bytes; -1 when it states none."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return -1


def _limit(scope: Scope) -> int:
    return LIMITS.get(scope["path"], LARGEST_REQUEST)


class Guard:
    """ASGI middleware: closes the routes of `CLOSED`, refuses large requests, adds `HEADERS` to every answer."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what is closed or too large, pass everything else on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            started = True
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        refusal: Response | None = None
        if any(scope["path"].startswith(path) for path in CLOSED):
            refusal = PlainTextResponse("This page serves no such thing.", status_code=404)
        elif scope["method"] == "POST" and not 0 <= _length(scope) <= _limit(scope):
            refusal = PlainTextResponse("A request must state its length and be small.", status_code=413)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        try:
            await self.app(scope, receive, send_with_headers)
        except Exception as error:
            # Gradio's own answer to a request that breaks it would go around the headers.
            if started:
                raise
            traceback.print_exception(error)
            answer = PlainTextResponse("The request could not be understood.", status_code=500)
            await answer(scope, receive, send_with_headers)


def app_options(
    table: dict[str, Asset], handoff: files.Handoff, more: Sequence[Route] = ()
) -> dict[str, Any]:
    """`app_kwargs` for Gradio's launch: our routes first, the guard around everything, no generated API documents."""
    return {
        "routes": [*routes(table, handoff), *more],
        "middleware": [Middleware(Guard)],
        "docs_url": None,
        "redoc_url": None,
        "openapi_url": None,
    }
