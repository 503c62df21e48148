"""The texts a likelihood is measured on: held-out problems, or the held-out part of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from blockviz.evaluation.accuracy import PROBLEM_SEED, EvaluationError, held_out
from blockviz.models.checkpoint import Model
from blockviz.training.batches import Example
from blockviz.training.text_source import TextSource, split_of


def problem_examples(model: Model, count: int, seed: int = PROBLEM_SEED) -> list[Example]:
    """The first `count` held-out problems; the solution counts, the problem does not. Needs the math task."""
    if model.info.task != "math" or model.info.end_id is None:
        raise EvaluationError(f"{model.name} has no task of its own: name texts with --text FILE.")
    examples = []
    for problem in held_out(count, seed):
        prompt = model.tokens.encode(problem.prompt)
        solution = model.tokens.encode(problem.solution)
        examples.append(Example((*prompt, *solution, model.info.end_id), len(prompt)))
    return examples


def text_examples(model: Model, file: Path, count: int, *, whole: bool = False) -> list[Example]:
    """The beginnings, a canvas long, of the first `count` texts of `file` that training holds out.

    With `whole` all its texts are taken, which is right for a file the model was not trained on. A text that ends on
    the canvas is followed by the end token, where the model has one. Raises RunError for a file that cannot be read and
    EvaluationError where it holds no such text.
    """
    texts = TextSource(file=file).read()
    chosen = [text for text in texts if whole or split_of(text) == "test"][:count]
    examples = [Example(ids, 0) for text in chosen if (ids := _window(model, model.tokens.encode(text)))]
    if not examples:
        raise EvaluationError(
            f"{file.name} has no held-out text: add --all-texts if the model was not trained on it."
        )
    return examples


def _window(model: Model, ids: Sequence[int]) -> tuple[int, ...]:
    window = tuple(ids[: model.info.length])
    ends = len(window) < model.info.length and model.info.end_id is not None
    return (*window, model.info.end_id) if ends and model.info.end_id is not None else window
