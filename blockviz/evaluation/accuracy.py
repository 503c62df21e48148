"""How many held-out word problems a sampler solves, with a 95% interval, its network calls and its AR likelihood."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from blockviz.evaluation.arithmetic import check
from blockviz.evaluation.likelihood import ar_nll, generated_stops
from blockviz.models.checkpoint import Model
from blockviz.sampling.batch import sample_batch
from blockviz.sampling.settings import SamplerSettings
from blockviz.training.word_problems import Problem, problems

PROBLEM_SEED = 2_000_003
"""Stream of the test split that figures in model cards refer to; training validates on another one."""
PROBLEMS = 500
MAX_PROBLEMS = 100_000
BATCH_SIZE = 64
Z95 = 1.959963984540054

Progress = Callable[[float], None]
"""Told the number of problems finished since it was last told, a fraction where a batch is under way."""


class EvaluationError(ValueError):
    """An evaluation that cannot be made; the message is one sentence."""


@dataclass(frozen=True)
class Accuracy:
    """The result over `problems` problems.

    `accuracy` is the share whose final answer is right, [`low`, `high`] its 95% Wilson interval; `nfe_*` network calls
    per problem as one run at a time would make them, counted; `ar_nll` nats per generated token (end token included)
    by the model's own left-to-right reading; `tokens_per_problem` generated tokens; `seconds` wall time of it all.
    """

    accuracy: float
    low: float
    high: float
    problems: int
    right: int
    nfe_per_problem: float
    nfe_denoise_per_problem: float
    nfe_verify_per_problem: float
    ar_nll: float
    tokens_per_problem: float
    seconds: float


def wilson(right: int, count: int) -> tuple[float, float]:
    """The 95% Wilson score interval of a share `right` / `count`; (0, 1) when count is 0."""
    if count == 0:
        return 0.0, 1.0
    share, z2 = right / count, Z95 * Z95
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = Z95 * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count)) / (1 + z2 / count)
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


def held_out(count: int, seed: int = PROBLEM_SEED) -> list[Problem]:
    """The first `count` problems of the test stream `seed`. Raises EvaluationError for a count out of bounds."""
    if not 1 <= count <= MAX_PROBLEMS:
        raise EvaluationError(
            f"problems cannot be {count}: allowed is a whole number from 1 to {MAX_PROBLEMS}."
        )
    return list(islice(problems("test", seed), count))


def evaluate(
    model: Model,
    settings: SamplerSettings,
    tasks: Sequence[Problem],
    *,
    batch_size: int = BATCH_SIZE,
    progress: Progress | None = None,
) -> Accuracy:
    """Solve every problem of `tasks` once and judge the final answers.

    Problem i is run with seed `settings.seed` + i, so that a result does not depend on the batch size; problems that
    begin and end at similar positions share a batch. Raises EvaluationError for a model without this task, else as
    `sample`.
    """
    if model.info.task != "math":
        raise EvaluationError(f"{model.name} has no task whose results can be checked.")
    if batch_size < 1:
        raise EvaluationError(f"batch_size cannot be {batch_size}: allowed is a whole number from 1.")
    if not tasks:
        raise EvaluationError("There is no problem to solve.")
    began = time.perf_counter()
    order = sorted(range(len(tasks)), key=[_extent(model, task) for task in tasks].__getitem__)
    right = denoise = verify = tokens = 0
    nats = 0.0
    for first in range(0, len(order), batch_size):
        chosen = order[first : first + batch_size]
        seeds = [(settings.seed + index) % 2**31 for index in chosen]
        result = sample_batch(
            model,
            [tasks[index].prompt for index in chosen],
            settings,
            seeds,
            progress=_share(len(chosen), progress),
        )
        right += sum(
            check(text, tasks[index].answer).correct is True
            for text, index in zip(result.texts, chosen, strict=True)
        )
        denoise += int(result.nfe_denoise.sum())
        verify += int(result.nfe_verify.sum())
        stops = generated_stops(result.tokens, result.prompt_lengths, result.lengths, model.info.end_id)
        nats += float(ar_nll(model, result.tokens, result.prompt_lengths, stops, seeds).sum())
        tokens += int((stops - result.prompt_lengths).sum())
    count = len(tasks)
    low, high = wilson(right, count)
    return Accuracy(
        accuracy=right / count,
        low=low,
        high=high,
        problems=count,
        right=right,
        nfe_per_problem=(denoise + verify) / count,
        nfe_denoise_per_problem=denoise / count,
        nfe_verify_per_problem=verify / count,
        ar_nll=nats / max(1, tokens),
        tokens_per_problem=tokens / count,
        seconds=time.perf_counter() - began,
    )


def _extent(model: Model, task: Problem) -> tuple[int, int]:
    """About where a problem's solution begins, in blocks of 16, and where it will end, in tokens.

    A batch computes every block in which any of its rows writes, so that rows of one extent cost the least.
    """
    prompt = len(model.tokens.encode(task.prompt))
    return prompt // 16, prompt + len(model.tokens.encode(task.solution))


def _share(rows: int, progress: Progress | None) -> Callable[[int, int], None] | None:
    """Progress of one batch, told in positions, as problems finished since the last time."""
    if progress is None:
        return None
    told = 0.0

    def tell(position: int, length: int) -> None:
        nonlocal told
        done = rows * position / length
        progress(done - told)
        told = done

    return tell
