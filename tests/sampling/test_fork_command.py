"""`python -m blockviz fork`: what is typed becomes an edit, and what cannot be done is one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blockviz.sampling.edits import Edit
from blockviz.sampling.trace import Trace
from tests.commands import call
from tests.evaluation.math_models import write_checkpoint

PROMPT = "Mia has 12 apples. She buys 30 more apples. How many apples does Mia have?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    write_checkpoint(folder / "tiny", "masked")
    return folder


@pytest.fixture(scope="module")
def parent(folder: Path) -> Path:
    from blockviz.__main__ import main

    path = folder / "parent.jsonl.gz"
    flags = ["--block-size", "16", "--steps", "3", "--preset", "ancestral", "--out", str(path)]
    assert main(["sample", "tiny", "--prompt", PROMPT, "--folder", str(folder), *flags]) == 0
    return path


def test_a_fork_is_made_as_typed_and_kept(
    folder: Path, parent: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, out = Trace.load(parent), folder / "fork.jsonl.gz"
    at = next(k for k, entry in enumerate(trace.passes) if entry.phase == "commit")
    first = trace.passes[at].stop - 4
    flags = ["--renoise", f"{first}-{first + 1}", "--force", f"{first + 2}=3 +", "--set", "temperature=0.5"]
    code, text, err = call(
        capsys, "fork", parent, "--pass", at, *flags, "--out", out, "--json", "--folder", folder
    )
    assert (code, err) == (0, "")
    child = Trace.load(out)
    assert child.header.fork is not None
    (edit,) = child.header.fork.edits
    tokens = [int(child.passes[at + 1].tokens[first + 1 + i]) for i in (0, 1)]
    assert [child.pieces[token] for token in tokens] == ["3", "+"]
    assert edit == Edit(
        at,
        renoise=(first - 1, first),
        force=((first + 1, tokens[0]), (first + 2, tokens[1])),
        settings={"temperature": 0.5},
    )
    report = json.loads(text)
    assert report["fork"]["parent"] == trace.header.run
    assert report["fork"]["hash"] == trace.content_hash()
    assert report["text"] == child.end.text


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--renoise", "0"], "--renoise cannot be '0': allowed is positions from 1 on"),
        (["--renoise", "9-4"], "allowed is positions from 1 on"),
        (["--force", "the"], "allowed is a position from 1 on and a text, as in 40=the"),
        (["--force", "60=zebra"], "zebra"),
        (["--force-id", "60=x"], "a token id"),
        (["--set", "temperature"], "temperature=0.5"),
        (["--set", "temperature=9"], "Temperature cannot be '9'"),
        (["--set", "block_size=8"], "allowed is 16, because a run keeps it from pass 1 on"),
        (["--freeze", "1"], "Position 1 belongs to the prompt"),
        (["--pass", "9999"], "no pass 9999"),
        (["--model", "none"], "none"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    folder: Path, parent: Path, capsys: pytest.CaptureFixture[str], flags: list[str], reason: str
) -> None:
    code, out, err = call(capsys, "fork", parent, "--pass", 2, *flags, "--folder", folder)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert reason in err
