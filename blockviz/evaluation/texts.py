"""The texts that models are measured on: held-out problems, or the held-out part of a file, whole or to go on from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from blockviz.evaluation.accuracy import PROBLEM_SEED, EvaluationError, held_out
from blockviz.models.checkpoint import Model
from blockviz.sampling.prompts import has_gaps
from blockviz.training.batches import Example
from blockviz.training.text_source import TextSource, split_of

OPENING_WORDS = 8
"""Words that a beginning has. A word's end is always the end of a token: byte-level tokenizers join no two words."""
_OPENING = re.compile(rf"(?:\S+\s+){{{OPENING_WORDS - 1}}}\S+(?=\s)")


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
    examples = [
        Example(ids, 0)
        for text in _held_out(file, whole)[:count]
        if (ids := _window(model, model.tokens.encode(text)))
    ]
    if not examples:
        raise _no_text(file)
    return examples


def beginnings(model: Model, file: Path, count: int, *, whole: bool = False) -> list[tuple[str, Example]]:
    """The first words of held-out texts as prompts, each with the text itself, a canvas long, its prompt marked.

    The first `count` texts of `file` that are longer than `OPENING_WORDS` words; arguments and errors as
    `text_examples`.
    """
    found: list[tuple[str, Example]] = []
    for text in _held_out(file, whole):
        opening = _OPENING.match(text)
        if opening is None or has_gaps(opening[0]):
            continue
        prompt = model.tokens.encode(opening[0])
        window = _window(model, model.tokens.encode(text))
        if len(prompt) < len(window) and list(window[: len(prompt)]) == prompt:
            found.append((opening[0], Example(window, len(prompt))))
        if len(found) == count:
            break
    if not found:
        raise _no_text(file)
    return found


def _held_out(file: Path, whole: bool) -> list[str]:
    return [text for text in TextSource(file=file).read() if whole or split_of(text) == "test"]


def _no_text(file: Path) -> EvaluationError:
    return EvaluationError(
        f"{file.name} has no held-out text: add --all-texts if the model was not trained on it."
    )


def _window(model: Model, ids: Sequence[int]) -> tuple[int, ...]:
    window = tuple(ids[: model.info.length])
    ends = len(window) < model.info.length and model.info.end_id is not None
    return (*window, model.info.end_id) if ends and model.info.end_id is not None else window
