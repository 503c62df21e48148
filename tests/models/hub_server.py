"""A Hugging Face Hub on this machine that serves the files of one repository, and counts what it is asked for."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import constants

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class _Hub(ThreadingHTTPServer):
    root: Path
    sent: list[str]


class _Handler(BaseHTTPRequestHandler):
    server: _Hub

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        words = self.path.split("?")[0].strip("/").split("/")
        if len(words) < 5 or words[2] != "resolve":
            self._refuse("NotServedHere")
            return
        owner, repository, _, revision, *parts = words
        file = self.server.root.joinpath(owner, repository, *parts)
        if not self.server.root.joinpath(owner, repository).is_dir():
            self._refuse("RepoNotFound")
        elif revision not in ("main", COMMIT):
            self._refuse("RevisionNotFound")
        elif not file.is_file():
            self._refuse("EntryNotFound")
        else:
            content = file.read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if body:
                self.server.sent.append("/".join(parts))
                self.wfile.write(content)

    def _refuse(self, code: str) -> None:
        self.send_response(404)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def use_hub(patch: pytest.MonkeyPatch, address: str, cache: Path) -> None:
    """Let `huggingface_hub` speak to `address` and keep what it fetches under `cache`."""
    patch.setattr(constants, "ENDPOINT", address)
    patch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}"
    )
    patch.setattr(constants, "HF_HUB_CACHE", str(cache))


@contextmanager
def hub(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve `root/OWNER/REPO/...`; gives the address and the list of files sent so far."""
    server = _Hub(("127.0.0.1", 0), _Handler)
    server.root, server.sent = root, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", server.sent
    finally:
        server.shutdown()
        server.server_close()
