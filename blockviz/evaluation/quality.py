"""How good sampled texts are: what a separately trained AR model makes of them, and how varied and long they are.

The likelihood of a text under another model says whether it reads like the text that model learned; repetition is
likely too, so token entropy and distinct n-grams stand beside it (MATHS.md, trap 17). Held-out texts go through the
same measures, as the line to compare with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockviz.base.token_counts import distinct, entropy
from blockviz.evaluation.accuracy import BATCH_SIZE, EvaluationError, wilson
from blockviz.evaluation.bootstrap import FEWEST, Figure, ratio
from blockviz.evaluation.likelihood import generated_stops
from blockviz.evaluation.scoring import nats_of_rows, same_tokens
from blockviz.evaluation.sweep import BLOCK_SIZE, Cell
from blockviz.models.checkpoint import Model
from blockviz.sampling.batch import sample_batch
from blockviz.sampling.settings import PRESETS, refused_on
from blockviz.training.batches import Example

SAMPLES = 64
MOST_SAMPLES = 1000
SEEDS = 2**31
CAUTIOUS = 0.8
"""A temperature at which texts are drawn as one would for reading; 1 is the model as it is."""
GRAMS = (1, 2, 3)
OPENINGS = (
    "Once upon a time",
    "One day, a little girl",
    "It was a sunny morning",
    "Tom had a big red ball.",
    "There was a small cat",
    "Every day, the old man",
    "Lily and her mom went",
    "In the garden, a bird",
)
"""Prompts where no file gives any; text i has the i-th, and begins again after the last."""
SAMPLERS: tuple[Cell, ...] = (
    Cell("ar", None, 1.0),
    Cell("ancestral", 4, 1.0),
    Cell("ancestral", 16, 1.0),
    Cell("random", 16, 1.0),
    Cell("eipc", 16, 1.0),
    Cell("arpc", 4, 1.0),
    Cell("arpc", 16, 1.0),
    Cell("ar", None, CAUTIOUS),
    Cell("confident", 16, CAUTIOUS),
    Cell("arpc", 16, CAUTIOUS),
    Cell("arpc", 32, CAUTIOUS),
)
"""The rows of the table: presets with their steps per block and temperature, where the model's noise allows them."""

Progress = Callable[[float], object]
"""Told the number of texts finished since it was last told, a fraction where a batch is under way."""


@dataclass(frozen=True)
class QualityRow:
    """The figures of one sampler (`preset`, `steps` per block, `temperature`), or of the held-out texts (all None).

    `nll` in nats per token by the judge, `entropy` of a text's token frequencies in nats, averaged over texts;
    `distinct` for n = 1, 2, 3 the share of different n-grams within a text, in percent; `tokens` per text, end token
    included; `ended` the share of texts with an end token, in percent, its interval Wilson's; `calls` network calls per
    token as one run at a time would make them, counted, None for held-out texts. All other intervals are bootstraps
    over texts.
    """

    preset: str | None
    steps: int | None
    temperature: float | None
    texts: int
    nll: Figure
    entropy: Figure
    distinct: tuple[Figure, ...]
    tokens: Figure
    ended: Figure
    calls: Figure | None


@dataclass(frozen=True)
class Quality:
    """The table of a model: `samples` texts a sampler, text i with the seed `seed` + i.

    `source` is the file whose held-out texts gave the prompts, None for `OPENINGS`. `canvas` is in tokens, `seconds`
    wall time of all.
    """

    judge: str
    judge_hash: str
    samples: int
    seed: int
    block_size: int
    canvas: int
    source: str | None
    rows: tuple[QualityRow, ...]
    seconds: float


@dataclass(frozen=True)
class Written:
    """Texts on canvases: `tokens` int64 [N, L], of which [`starts`, `stops`) int64 [N] count; `calls` per text."""

    tokens: NDArray[np.int64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    calls: NDArray[np.int64] | None = None


def cells_of(model: Model) -> list[Cell]:
    """The samplers a model is measured with: left to right alone where it was trained for nothing else."""
    blocks = model.info.block_sizes != (1,)
    fitting = [cell for cell in SAMPLERS if not refused_on(PRESETS[cell.preset], model.info.process)]
    return [cell for cell in fitting if blocks or cell.steps is None]


def check_judge(model: Model, judge: Model) -> None:
    """Raise EvaluationError unless `judge` can read the texts of `model` and was trained apart from it."""
    if judge.content_hash == model.content_hash:
        raise EvaluationError(f"{model.name} cannot be its own judge: name another model with --judge.")
    if not judge.config.x0_causal or 1 not in judge.info.block_sizes:
        raise EvaluationError(
            f"{judge.name} cannot be the judge: it was not trained to read from left to right."
        )
    if not same_tokens(judge, model):
        raise EvaluationError(
            f"{judge.name} cannot be the judge of {model.name}: their tokenizers differ, so that nats per token "
            "would not mean the same."
        )
    if judge.info.length < model.info.length:
        raise EvaluationError(
            f"{judge.name} cannot be the judge of {model.name}: it reads {judge.info.length} tokens, and the canvas "
            f"has {model.info.length}."
        )
    shared = sorted(_recipes(judge) & _recipes(model))
    if shared:
        raise EvaluationError(
            f"{judge.name} cannot be the judge of {model.name}: both come from the training run {shared[0]}, and a "
            "judge must be trained apart."
        )


def _recipes(model: Model) -> set[str]:
    """The training runs a model's weights have gone through, by recipe."""
    runs = model.info.training.get("runs")
    return {str(run.get("recipe")) for run in runs} if isinstance(runs, list) else set()


def quality(
    model: Model,
    judge: Model,
    *,
    beginnings: Sequence[tuple[str, Example]] | None = None,
    source: Path | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    block_size: int = BLOCK_SIZE,
    cells: Sequence[Cell] | None = None,
    batch_size: int = BATCH_SIZE,
    progress: Progress | None = None,
) -> Quality:
    """Sample with every sampler of the table and measure the texts, and the texts of `beginnings` where given.

    `beginnings` (`evaluation.texts.beginnings`, of the file `source`) give the prompts: then there are as many samples
    as there are of them, `samples` at most. Raises EvaluationError for a judge that cannot be one (`check_judge`) or
    too few texts for an interval, otherwise as `sample_batch`.
    """
    check_judge(model, judge)
    began = time.perf_counter()
    if beginnings is not None:
        beginnings = beginnings[:samples]
        samples = len(beginnings)
    if not FEWEST <= samples <= MOST_SAMPLES:
        raise EvaluationError(
            f"samples cannot be {samples}: allowed is a whole number of texts from {FEWEST} to {MOST_SAMPLES}."
        )
    prompts = [
        OPENINGS[i % len(OPENINGS)] if beginnings is None else beginnings[i][0] for i in range(samples)
    ]
    rows = [
        measure(cell, _sample(model, cell, prompts, seed, block_size, batch_size, progress), model, judge)
        for cell in (cells_of(model) if cells is None else cells)
    ]
    if beginnings is not None:
        rows.append(measure(None, held_out_texts([example for _, example in beginnings]), model, judge))
    return Quality(
        judge=judge.name,
        judge_hash=judge.content_hash,
        samples=samples,
        seed=seed,
        block_size=block_size,
        canvas=model.info.length,
        source=None if source is None else source.name,
        rows=tuple(rows),
        seconds=time.perf_counter() - began,
    )


def _sample(
    model: Model,
    cell: Cell,
    prompts: Sequence[str],
    seed: int,
    block_size: int,
    batch_size: int,
    progress: Progress | None,
) -> Written:
    parts = []
    settings = cell.settings(block_size, seed)
    for first in range(0, len(prompts), batch_size):
        some = prompts[first : first + batch_size]
        seeds = [(seed + first + i) % SEEDS for i in range(len(some))]
        result = sample_batch(model, some, settings, seeds, progress=_share(len(some), progress))
        stops = generated_stops(result.tokens, result.prompt_lengths, result.lengths, model.info.end_id)
        calls = result.nfe_denoise + result.nfe_verify
        parts.append((result.tokens, result.prompt_lengths, stops, calls))
    tokens, starts, stops, calls = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Written(tokens, starts, stops, calls)


def _share(rows: int, progress: Progress | None) -> Callable[[int, int], None] | None:
    """Progress of one batch, told in positions, as texts finished since the last time."""
    told = 0.0

    def tell(position: int, length: int) -> None:
        nonlocal told
        assert progress is not None
        progress(rows * position / length - told)
        told = rows * position / length

    return None if progress is None else tell


def held_out_texts(examples: Sequence[Example]) -> Written:
    """Examples as if their tokens behind the prompt had been written."""
    stops = np.array([len(example.tokens) for example in examples], np.int64)
    tokens = np.zeros((len(examples), int(stops.max())), np.int64)
    for row, example in zip(tokens, examples, strict=True):
        row[: len(example.tokens)] = example.tokens
    return Written(tokens, np.array([example.prompt_length for example in examples], np.int64), stops)


def measure(cell: Cell | None, written: Written, model: Model, judge: Model) -> QualityRow:
    """The figures of texts that `model` wrote with the sampler `cell`, or that stand in its tokens (None)."""
    texts = [
        row[start:stop].tolist()
        for row, start, stop in zip(written.tokens, written.starts, written.stops, strict=True)
    ]
    lengths = (written.stops - written.starts).astype(np.float64)
    each = np.ones(len(texts))
    ended = sum(text[-1:] == [model.info.end_id] for text in texts)
    low, high = wilson(ended, len(texts))
    return QualityRow(
        preset=None if cell is None else cell.preset,
        steps=None if cell is None else cell.steps,
        temperature=None if cell is None else cell.temperature,
        texts=len(texts),
        nll=ratio(_read(judge, written), lengths),
        entropy=ratio([entropy(text) for text in texts], each),
        distinct=tuple(_distinct(texts, n) for n in GRAMS),
        tokens=ratio(lengths, each),
        ended=Figure(100 * ended / len(texts), 100 * low, 100 * high),
        calls=None if written.calls is None else ratio(written.calls.astype(np.float64), lengths),
    )


def _read(judge: Model, written: Written) -> NDArray[np.float64]:
    """Nats of every text by the judge, float64 [N], a batch at a time."""
    parts = [slice(first, first + BATCH_SIZE) for first in range(0, len(written.tokens), BATCH_SIZE)]
    return np.concatenate(
        [nats_of_rows(judge, written.tokens[p], written.starts[p], written.stops[p]) for p in parts]
    )


def _distinct(texts: Sequence[Sequence[int]], n: int) -> Figure:
    counts = np.array([distinct(text, n) for text in texts], np.float64)
    return ratio(100 * counts[:, 0], counts[:, 1])
