"""The real app on a free port with two tiny random models, and pages of it that report every problem."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page, sync_playwright

from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.models.checkpoint import save
from tests.browser.byte_tokens import hand_made
from tests.evaluation.math_models import math_model, write_checkpoint

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = int(os.environ.get("PATIENCE_MS", 240_000))  # a shared machine may be many times slower
Visit = Callable[..., Page]


@contextmanager
def serve(models: Path, log: Path) -> Iterator[str]:
    """app.py itself in a process of its own; gives its address once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "app.py", "--port", str(port), "--models", str(models), "--device", "cpu"]
    address = f"http://127.0.0.1:{port}/"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output, env=environment)
        try:
            _wait_for(address, process, log)
            yield address
        finally:
            process.terminate()
            process.wait(60)


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(address, timeout=20).read()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"the page did not come up:\n{log.read_text()}")


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for process in ("masked", "uniform"):
        write_checkpoint(folder / f"math-{process}", process)
    # For runs that last: the tiny ones are over before a test could stop them.
    tokens = math_model("uniform").tokens
    shape = NetworkConfig(hidden_size=192, n_blocks=10, n_heads=4, length=128, vocab_size=tokens.vocab_size)
    save(folder / "slow", BlockDiT(shape), math_model("uniform").info, tokens)
    _save_bytes(folder / "unicode")
    return folder


def _save_bytes(folder: Path) -> None:
    """A uniform model with random weights on byte-level tokens of every kind."""
    tokens = hand_made()
    shape = NetworkConfig(hidden_size=16, n_blocks=1, n_heads=2, length=128, vocab_size=tokens.vocab_size)
    net = BlockDiT(shape)
    net.initialise(torch.Generator().manual_seed(0))
    info = replace(math_model("uniform").info, vocab_size=tokens.vocab_size, end_id=tokens.end_id, task=None)
    save(folder, net, info, tokens)


@pytest.fixture(scope="session")
def site(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve(models, tmp_path_factory.mktemp("log") / "app.log") as address:
        yield address


# Not for the session: two Playwrights cannot live at once, and other test files have their own.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Visit]:
    """Open a page in a browser context of its own; at the end nothing may have gone wrong or left the machine."""
    problems: list[str] = []
    contexts = []

    def watch(page: Page, address: str) -> None:
        home = address.split("/")[2]
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
        page.on(
            "request",
            lambda request: (
                problems.append(f"left the machine: {request.url}")
                if not request.url.startswith((f"http://{home}/", "data:", "blob:"))
                else None
            ),
        )
        page.on(
            "response",
            lambda answer: problems.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None,
        )

    def open_page(
        address: str, width: int = 1440, height: int = 900, query: str = "", **options: object
    ) -> Page:
        # Without playback the page is still where a test looks at it, and a busy machine has less to draw.
        calm = {"reduced_motion": "reduce", **options}
        context = chromium.new_context(viewport={"width": width, "height": height}, **calm)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.set_default_navigation_timeout(PATIENCE_MS)
        watch(page, address)
        page.goto(address + query)
        page.get_by_test_id("generate").wait_for()
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
