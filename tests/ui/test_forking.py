"""Forks asked for by the page and by programs: what is read, what is refused, and that they are the engine's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blockviz import load, sample
from blockviz.evaluation.tasks import EXAMPLE_PROMPTS, checker_for, known_answer
from blockviz.models.checkpoint import Model
from blockviz.sampling.edits import Edit
from blockviz.sampling.forks import fork
from blockviz.sampling.trace import Trace
from blockviz.ui.controls import FormError
from blockviz.ui.forking import ForkRequest, read_fork
from blockviz.ui.runner import Runner, Update
from tests.evaluation.math_models import write_checkpoint

PROMPT = EXAMPLE_PROMPTS[0].prompt


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_checkpoint(folder / "math-masked", "masked")
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return load("math-masked", folder=folder)


@pytest.fixture(scope="module")
def parent(model: Model) -> Trace:
    checker = checker_for(model, known_answer(PROMPT))
    return sample(model, PROMPT, preset="arpc", steps=2, seed=3, checker=checker)


def lines(trace: Trace) -> str:
    return "".join(trace.to_lines())


def ended(runner: Runner, asked: ForkRequest) -> Update:
    return list(runner.updates("tab", "compare", {"b": asked}))[-1]


def refused(folder: Path, parent: Trace, body: Any) -> str:
    """What is said of an edit that cannot be made, while it is read or when the fork begins."""
    try:
        last = ended(Runner(folder, "cpu"), read_fork(lines(parent), body))
    except FormError as error:
        return str(error)
    return " ".join(message for _, message in last.errors)


def commit(trace: Trace) -> tuple[int, int]:
    """The first commit and a position in its block."""
    at = next(k for k, entry in enumerate(trace.passes) if entry.phase == "commit")
    return at, trace.passes[at].stop - 2


def test_the_page_runs_the_engines_fork(folder: Path, model: Model, parent: Trace) -> None:
    at, position = commit(parent)
    body = {"at": at, "renoise": [position - 1], "force": [[position, "3"]], "settings": {"temperature": 0.5}}
    last = ended(Runner(folder, "cpu"), read_fork(lines(parent), body))
    assert last.state == "done"
    made = Trace.from_lines(last.runs["b"].text.splitlines())
    (token,) = model.tokens.encode("3")
    edit = Edit(at, renoise=(position - 1,), force=((position, token),), settings={"temperature": 0.5})
    checker = checker_for(model, known_answer(PROMPT))
    assert made.same_content(fork(model, parent, edit, checker=checker))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"at": 1, "renoise": [0]}, "belongs to the prompt"),
        ({"at": 1, "force": [[9999, "3"]]}, "edit must be an object"),
        ({"at": 1, "force": [[120, 9999]]}, "none that this model may write"),
        ({"at": 1, "force": [[120, "zebra"]]}, "zebra"),
        ({"at": 1, "settings": {"block_size": 4}}, "because a run keeps it"),
        ({"at": 1, "settings": {"temperature": "hot"}}, "temperature cannot be"),
        ({"at": 1, "colour": 3}, "unknown entry"),
        ({"at": -1}, "at"),
        ({"at": 1, "force": "3"}, "edit must be an object"),
        ("an edit", "edit must be an object"),
    ],
)
def test_what_cannot_be_done_is_said(folder: Path, parent: Trace, body: Any, reason: str) -> None:
    assert reason in refused(folder, parent, body)


def test_a_run_whose_model_is_not_here_or_has_other_weights_is_refused(
    folder: Path, tmp_path: Path, parent: Trace
) -> None:
    write_checkpoint(tmp_path / "other", "masked")
    absent = ended(Runner(tmp_path, "cpu"), read_fork(lines(parent), {"at": 1}))
    assert absent.errors[0][1] == "The model of this run, math-masked, is not here, so it cannot go on."
    text = lines(parent).replace(parent.header.model.hash, "0" * 64, 1)
    other = ended(Runner(folder, "cpu"), read_fork(text, {"at": 1}))
    assert "has other weights" in other.errors[0][1]


def test_lines_that_are_no_run_are_refused() -> None:
    with pytest.raises(FormError, match="not JSON"):
        read_fork("hello\n", {"at": 1})
