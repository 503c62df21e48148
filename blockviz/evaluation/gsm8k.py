"""Word problems in GSM8K's format for models that answer with a Python function, as those trained on TinyGSM do.

The function is worked out by `programs.answer_of`, which executes nothing. The data is the caller's; none is bundled.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blockviz.evaluation.accuracy import BATCH_SIZE, EvaluationError, Progress, wilson
from blockviz.evaluation.programs import ProgramError, answer_of
from blockviz.models.checkpoint import Model
from blockviz.models.tokens import UnknownText
from blockviz.sampling.batch import sample_batch
from blockviz.sampling.settings import SamplerSettings

SEPARATOR = "\n"
"""Stands between question and answer, as in the training data of the released models."""
LARGEST_FILE = 100_000_000
_FINAL = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_QUESTIONS = ("question", "prompt")
_ANSWERS = ("answer", "response_ground_truth")


@dataclass(frozen=True)
class Question:
    """One problem and its final answer."""

    text: str
    answer: float


@dataclass(frozen=True)
class ProgramAccuracy:
    """The result over `problems` problems.

    `accuracy` is the share whose function returns the answer, [`low`, `high`] its 95% Wilson interval; `no_answer`
    counts the answers that are no plain arithmetic, by reason; `left_out` the questions that do not fit on the canvas;
    `seconds` is wall time.
    """

    accuracy: float
    low: float
    high: float
    problems: int
    right: int
    left_out: int
    nfe_per_problem: float
    seconds: float
    no_answer: Mapping[str, int] = field(default_factory=dict)


def read_questions(path: Path, count: int | None = None) -> list[Question]:
    """The first `count` problems of a file: a JSON list, or one JSON object a line, with `question` and `answer`.

    The final answer is the number behind `####`, or the last number of the answer. Raises EvaluationError in one
    sentence, with the number of the problem where one is wrong.
    """
    if path.stat().st_size > LARGEST_FILE:
        raise EvaluationError(f"{path.name} is larger than {LARGEST_FILE // 1_000_000} MB.")
    try:
        text = path.read_text(encoding="utf-8").strip()
        rows = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
    except (ValueError, RecursionError) as error:
        raise EvaluationError(f"{path.name} is neither JSON nor one JSON object a line: {error}.") from None
    chosen = rows[:count] if isinstance(rows, list) else []
    if not chosen:
        raise EvaluationError(f"{path.name} holds no problems.")
    return [_question(path.name, number, row) for number, row in enumerate(chosen, 1)]


def _question(name: str, number: int, row: Any) -> Question:
    row = row if isinstance(row, dict) else {}
    text = next((row[key] for key in _QUESTIONS if isinstance(row.get(key), str)), None)
    answer = next((str(row[key]) for key in _ANSWERS if isinstance(row.get(key), (str, int, float))), None)
    numbers = _FINAL.findall((answer or "").split("####")[-1])
    if text is None or not numbers:
        raise EvaluationError(
            f"Problem {number} of {name} has no question and answer with a number: it must be an object with "
            "question and answer."
        )
    return Question(text, float(numbers[-1].replace(",", "")))


def is_right(text: str, answer: float) -> bool:
    """Whether the first function in `text` returns `answer`, up to rounding; raises ProgramError where it has none."""
    return math.isclose(float(answer_of(text)), answer, rel_tol=1e-6, abs_tol=1e-6)


def evaluate_programs(
    model: Model,
    settings: SamplerSettings,
    questions: Sequence[Question],
    *,
    batch_size: int = BATCH_SIZE,
    progress: Progress | None = None,
) -> ProgramAccuracy:
    """Let the model answer every question once and work its functions out.

    Question i is run with seed `settings.seed` + i. Questions that fill the canvas are left out and counted. Raises
    EvaluationError where nothing is left, else as `sample`.
    """
    began = time.perf_counter()
    length = settings.length or model.info.length
    fitting = [(i, q) for i, q in enumerate(questions) if _fits(model, q, length)]
    if not fitting:
        raise EvaluationError(f"None of the questions fits on a canvas of {length} tokens.")
    fitting.sort(key=lambda pair: len(model.tokens.encode(pair[1].text)))
    right = calls = 0
    reasons: Counter[str] = Counter()
    for first in range(0, len(fitting), batch_size):
        chosen = fitting[first : first + batch_size]
        result = sample_batch(
            model,
            [question.text + SEPARATOR for _, question in chosen],
            settings,
            [(settings.seed + i) % 2**31 for i, _ in chosen],
        )
        calls += int(result.nfe_denoise.sum() + result.nfe_verify.sum())
        for text, (_, question) in zip(result.texts, chosen, strict=True):
            try:
                right += is_right(text, question.answer)
            except ProgramError as error:
                reasons[str(error)] += 1
        if progress is not None:
            progress(len(chosen))
    low, high = wilson(right, len(fitting))
    return ProgramAccuracy(
        accuracy=right / len(fitting),
        low=low,
        high=high,
        problems=len(fitting),
        right=right,
        left_out=len(questions) - len(fitting),
        nfe_per_problem=calls / len(fitting),
        seconds=time.perf_counter() - began,
        no_answer=dict(reasons.most_common()),
    )


def _fits(model: Model, question: Question, length: int) -> bool:
    try:
        return len(model.tokens.encode(question.text + SEPARATOR)) < length
    except UnknownText as error:
        raise EvaluationError(f"A question cannot be read: {error}") from None
