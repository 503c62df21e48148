"""Releases named at the start of the page: refused with what to say, or offered and run like any other model."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from gradio_client import Client

import app
from blockviz.evaluation.tasks import PAGE_PROMPTS
from blockviz.models.block_dit import NetworkConfig
from blockviz.models.released import Told, release
from blockviz.sampling.settings import from_preset
from blockviz.sampling.trace import Trace
from blockviz.ui.controls import Request
from blockviz.ui.page import build
from tests.models.releases import GPT2_SIZE, byte_level_tokenizer, write_release

ROOT = Path(__file__).resolve().parents[2]
SMALL = NetworkConfig(hidden_size=16, n_blocks=2, n_heads=2, length=48, vocab_size=301, x0_causal=True)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_what_cannot_be_told_ends_with_2_and_what_to_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_release(tmp_path / "mine", SMALL, tokenizer=byte_level_tokenizer(300))
    arguments = ["--port", str(free_port()), "--models", str(tmp_path), "--model", str(folder)]
    assert app.main(arguments) == 2
    err = capsys.readouterr().err
    assert "--process masked or --process uniform" in err
    assert err.count("\n") == 1


def test_a_release_is_offered_first_and_runs(tmp_path: Path) -> None:
    path = "multi_block_size/16/owt/0.1_0.9/uniform"
    folder = write_release(tmp_path / path, SMALL, tokenizer=byte_level_tokenizer(300))
    page = build(tmp_path, "cpu", PAGE_PROMPTS, [release(str(folder), Told())])
    (offer,) = page.runner.shelf.offers()
    assert (offer.name, offer.process, offer.length, offer.layers) == ("uniform", "uniform", 48, 2)
    settings = from_preset("arpc", steps=2)
    updates = list(page.runner.updates("s", "explore", {"": Request("uniform", "one", settings)}))
    assert updates[-1].state == "done", updates[-1]
    assert page.runner.shelf.holds("uniform")


def test_a_block_causal_release_says_why_it_cannot_be_verified(tmp_path: Path) -> None:
    config = replace(SMALL, x0_causal=False)
    path = "single_block_size/16/owt/absorb"
    folder = write_release(tmp_path / path, config, tokenizer=byte_level_tokenizer(300))
    page = build(tmp_path, "cpu", PAGE_PROMPTS, [release(str(folder), Told())])
    request = Request("absorb", "one", from_preset("arpc", steps=2))
    (update,) = [u for u in page.runner.updates("s", "explore", {"": request}) if u.state == "error"]
    assert update.errors[0][0] == "corrector"
    assert "x0_causal is false" in update.errors[0][1]


@pytest.mark.slow
def test_a_release_of_real_size_runs_through_the_served_page(tmp_path: Path) -> None:
    """170 million parameters and GPT-2's vocabulary, from `python app.py --model FOLDER` to a trace."""
    config = replace(
        SMALL, hidden_size=768, n_blocks=12, n_heads=12, length=1024, vocab_size=GPT2_SIZE + 1, cond_dim=128
    )
    path = "multi_block_size/16/owt/0.05_0.95/absorb"
    folder = write_release(tmp_path / path, config, tokenizer=byte_level_tokenizer(GPT2_SIZE))
    port = free_port()
    command = [sys.executable, "app.py", "--port", str(port), "--device", "cpu", "--model", str(folder)]
    server = subprocess.Popen([*command, "--models", str(tmp_path)], cwd=ROOT, env={**os.environ})
    try:
        client = _connected(port)
        lines = client.predict(
            model="absorb", prompt="The theory", preset="arpc", steps=2, length=48, api_name="/generate"
        )
    finally:
        server.terminate()
        server.wait(timeout=60)
    trace = Trace.from_lines(lines.splitlines())
    assert trace.header.model.mask_id == GPT2_SIZE
    assert 160e6 < trace.header.model.parameters < 180e6
    assert {p.phase for p in trace.passes} >= {"propose", "verify", "renoise", "commit"}
    assert trace.passes[-1].tokens.max() < GPT2_SIZE


def _connected(port: int) -> Client:
    until = time.monotonic() + 180
    while True:
        try:
            return Client(f"http://127.0.0.1:{port}/", verbose=False, analytics_enabled=False)
        except Exception:  # not listening yet, whatever the client makes of it
            if time.monotonic() > until:
                raise
            time.sleep(1)
