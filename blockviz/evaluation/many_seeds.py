"""The same configurations on many seeds: every figure of every run, and what they differ in, pair by pair.

One run shows what can happen; many show what usually does. All configurations run on the same seeds, so that
differences are taken seed by seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from blockviz.base.token_counts import distinct, entropy
from blockviz.evaluation.arithmetic import check
from blockviz.evaluation.paired import Difference, mean_difference, share_difference
from blockviz.evaluation.scoring import ScoringError, nll_per_token, same_tokens
from blockviz.models.checkpoint import Model
from blockviz.sampling.batch import BatchResult, sample_batch
from blockviz.sampling.prompts import read_prompt
from blockviz.sampling.settings import SamplerSettings

FEWEST_SEEDS = 5
MOST_SEEDS = 200
MOST_CONFIGURATIONS = 4
CHUNK = 10
"""Seeds that are run at once: few, so that something is seen soon."""
SEEDS = 2**31
NUMBERS = ("nll", "entropy", "distinct", "nfe", "tokens")
"""Figures that are numbers; `right` is a verdict, and `ms` is one number for all runs of a configuration."""

Tick = Callable[[], None]


@dataclass(frozen=True)
class Configuration:
    """A model and its settings; the seed of the settings is not used."""

    model: Model
    settings: SamplerSettings


@dataclass(frozen=True)
class Outcome:
    """One run. `right`: the final answer, None without a task; `nll` in nats per token by the scoring model, None where
    it cannot read the text; `entropy` of the tokens in nats; `distinct` share of different 2-grams, in percent;
    `nfe` network calls, as the run alone would have made them; `tokens` written, end token included."""

    right: bool | None
    nll: float | None
    entropy: float
    distinct: float | None
    nfe: int
    tokens: int


@dataclass
class Study:
    """What is known so far: `outcomes` of each configuration by seed, `seeds` those that all have finished.

    `judged` says what `right` means: "answer" (it is the known answer of the prompt) or "sound" (every equation is
    right and the last one leads to the answer); None without a task. `ms` are milliseconds per run of each
    configuration, as they came to when `CHUNK` runs shared their network calls.
    """

    scorer: str
    judged: str | None
    seeds: list[int] = field(default_factory=list)
    outcomes: list[list[Outcome]] = field(default_factory=list)
    ms: list[float] = field(default_factory=list)

    def values(self, configuration: int, figure: str) -> list[float] | None:
        """A figure of every finished run of a configuration; None where a run has none."""
        found = [getattr(one, figure) for one in self.outcomes[configuration][: len(self.seeds)]]
        return None if any(value is None for value in found) else [float(value) for value in found]

    def difference(self, figure: str, configuration: int) -> Difference | None:
        """The configuration minus the first one, over pairs of seeds; None where the figure is missing."""
        first, second = self.values(0, figure), self.values(configuration, figure)
        if not first or not second:
            return None
        if figure == "right":
            return share_difference([value > 0 for value in first], [value > 0 for value in second])
        return mean_difference(first, second)


def study(
    configurations: Sequence[Configuration],
    prompt: str,
    count: int,
    *,
    seed: int = 0,
    scorer: Model | None = None,
    answer: int | None = None,
    tick: Tick | None = None,
) -> Iterator[Study]:
    """Run every configuration on the seeds `seed`, `seed` + 1, ... and yield the growing study after every batch.

    `scorer` reads all texts (default: the first model); `answer` is the prompt's, where it is known. `tick` is called
    often; what it raises ends the study. Raises ValueError for a count or a number of configurations out of bounds,
    otherwise as `sample_batch`.
    """
    if not FEWEST_SEEDS <= count <= MOST_SEEDS:
        raise ValueError(
            f"seeds cannot be {count}: allowed is a whole number from {FEWEST_SEEDS} to {MOST_SEEDS}."
        )
    if not 1 <= len(configurations) <= MOST_CONFIGURATIONS:
        raise ValueError(
            f"1 to {MOST_CONFIGURATIONS} configurations can be compared, not {len(configurations)}"
        )
    reader = scorer or configurations[0].model
    task = all(one.model.info.task == "math" for one in configurations)
    found = Study(
        scorer=reader.name,
        judged=None if not task else "sound" if answer is None else "answer",
        outcomes=[[] for _ in configurations],
        ms=[0.0] * len(configurations),
    )
    given = [_given(one, prompt) for one in configurations]
    seeds = [(seed + i) % SEEDS for i in range(count)]
    for start in range(0, count, CHUNK):
        chunk = seeds[start : start + CHUNK]
        for index, one in enumerate(configurations):
            result = sample_batch(
                one.model,
                [prompt] * len(chunk),
                one.settings,
                chunk,
                progress=None if tick is None else lambda *_: tick(),
            )
            for row in range(len(chunk)):
                positions = _written(result, row, given[index], one.model.info.end_id)
                found.outcomes[index].append(
                    _outcome(one.model, result, row, positions, reader, task, answer)
                )
                if tick is not None:
                    tick()
            before = len(found.outcomes[index]) - len(chunk)
            found.ms[index] = (found.ms[index] * before + 1000 * result.seconds) / len(found.outcomes[index])
            if index == len(configurations) - 1:
                found.seeds.extend(chunk)
            yield found


def _given(one: Configuration, prompt: str) -> NDArray[np.bool_]:
    """Where the canvas of a configuration holds a token of the prompt, bool [L]."""
    info = one.model.info
    read = read_prompt(prompt, one.model.tokens, one.settings.length or info.length, info.end_id)
    # A prompt that does not fit is refused by whoever runs it.
    given = np.zeros(max(read.length, len(read.tokens)), bool)
    given[: len(read.tokens)] = [token is not None for token in read.tokens]
    return given


def _written(
    result: BatchResult, row: int, given: NDArray[np.bool_], end_id: int | None
) -> NDArray[np.int64]:
    """Positions of a run's final text, int64: none that is `given`, none behind the first end token written.

    They are those of `views.comparison.final_positions` for the run alone.
    """
    positions = np.flatnonzero(~given[: result.lengths[row]])
    if end_id is None:
        return positions
    ends = np.flatnonzero(result.tokens[row, positions] == end_id)
    return positions[: ends[0] + 1] if ends.size else positions


def _outcome(
    model: Model,
    result: BatchResult,
    row: int,
    positions: NDArray[np.int64],
    reader: Model,
    task: bool,
    answer: int | None,
) -> Outcome:
    text = result.tokens[row, positions].tolist()
    different, grams = distinct(text, 2)
    verdict = check(result.texts[row], answer) if task else None
    right = None if verdict is None else verdict.sound if answer is None else verdict.correct is True
    return Outcome(
        right=right,
        nll=_nll(model, reader, result.tokens[row], positions.tolist()),
        entropy=entropy(text),
        distinct=100 * different / grams if grams else None,
        nfe=int(result.nfe_denoise[row] + result.nfe_verify[row]),
        tokens=len(text),
    )


def _nll(model: Model, reader: Model, tokens: NDArray[np.int64], positions: list[int]) -> float | None:
    if not positions or not same_tokens(reader, model):
        return None
    try:
        nats = nll_per_token(reader, tokens[: positions[-1] + 1].tolist(), positions)
    except ScoringError:
        return None
    return nats if np.isfinite(nats) else None
