from __future__ import annotations

import json
from pathlib import Path

import pytest

from blockviz.__main__ import main
from blockviz.evaluation.tasks import EXAMPLE_PROMPTS
from tests.evaluation.math_models import write_checkpoint

PROMPT = EXAMPLE_PROMPTS[0].prompt


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models")
    for process in ("masked", "uniform"):
        write_checkpoint(path / f"math-{process}", process)
    return path


def call(folder: Path, *runs: str, more: tuple[str, ...] = ()) -> int:
    flags = [flag for run in runs for flag in ("--run", run)]
    return main(
        [
            "compare",
            "--prompt",
            PROMPT,
            "--folder",
            str(folder),
            "--device",
            "cpu",
            "--seeds",
            "5",
            *flags,
            *more,
        ]
    )


def test_a_study_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        call(
            folder, "math-masked preset=arpc steps=2", "math-uniform steps=2", more=("--json", "--seed", "7")
        )
        == 0
    )
    said = json.loads(capsys.readouterr().out)
    assert said["seeds"] == [7, 8, 9, 10, 11]
    assert said["judged"] == "answer"
    assert [len(row) for row in said["values"]["nfe"]] == [5, 5]
    (gap,) = said["differences"]["nfe"]
    assert gap["low"] <= gap["value"] <= gap["high"]
    assert said["differences"]["right"][0]["p"] == 1.0


def test_a_study_as_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(folder, "math-masked steps=2", "math-masked steps=2 temperature=0.5") == 0
    text = capsys.readouterr().out
    assert text.startswith(
        "A: math-masked steps=2\nB: math-masked steps=2 temperature=0.5\n5 seeds from 0 on"
    )
    assert "B - A" in text
    assert "cannot tell" in text


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        (("math-masked",), "2 to 4 times"),
        (("math-masked", "elsewhere"), "elsewhere"),
        (("math-masked", "math-masked steps"), "NAME=VALUE"),
        (("math-masked", "math-masked colour=red"), "colour"),
        (("math-masked", "math-masked steps=0"), "steps"),
        (("math-masked", "math-masked preset=none"), "preset"),
        (("math-masked", ""), ""),
    ],
)
def test_what_cannot_be_run_is_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], runs: tuple[str, ...], says: str
) -> None:
    assert call(folder, *runs) == 2
    said = capsys.readouterr().err
    assert says.lower() in said.lower()
    assert said.count("\n") == 1
