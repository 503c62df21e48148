"""Whether blocks fit each other: AR surprise by place inside the block, at boundaries against the interior, over runs.

Blocks that are fluent alone and disconnected together (a "confident patchwork") show as a rise of the negative
log-likelihood, read left to right by the same model, at the first positions of a block. Left-to-right decoding has no
seams: its curve on the same grid says what the places themselves are worth. An unlikely text is not a wrong one and a
likely one may be dull, so the entropy of the tokens stands beside it (MATHS.md, trap 17).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockviz.evaluation.accuracy import Z95, EvaluationError
from blockviz.evaluation.likelihood import generated_stops, token_nll
from blockviz.models.checkpoint import Model
from blockviz.sampling.batch import sample_batch
from blockviz.sampling.settings import MAX_STEPS, SamplerSettings, applies

BATCH_SIZE = 64


@dataclass(frozen=True)
class SeamCurve:
    """One sampler over all runs. NLL in nats per token, errors are half widths of 95% intervals over runs.

    `offsets` is the mean at each place of a block (NaN where there is none), `boundary` that within `width` positions
    of a boundary between two generated tokens, on either side, `interior` that of all other tokens; `gap` is the mean
    over runs of their difference. `entropy` (nats) is that of the distribution of tokens within a run, `nfe_per_token`
    network calls as one run at a time would make them, counted.
    """

    name: str
    settings: dict[str, Any]
    runs: int
    tokens: int
    offsets: list[float]
    offset_errors: list[float]
    boundary: float
    interior: float
    gap: float
    gap_error: float
    nll: float
    nll_error: float
    entropy: float
    nfe_per_token: float


def variants(settings: SamplerSettings) -> dict[str, SamplerSettings]:
    """The samplers to compare with `settings`, all on one grid of blocks: seams left, overlapping, written again, AR.

    Where steps are counted, "steps" leaves the seams and spends on each block what writing its seam again would cost.
    The windows of overlapping blocks are wider by the overlap, so that they keep as many tokens as the others. Raises
    EvaluationError for a sampler without blocks.
    """
    if settings.predictor == "autoregressive" or settings.context == "canvas":
        raise EvaluationError("This sampler writes no blocks, so that there are no seams to measure.")
    plain = replace(settings, seams="none")
    more = min(settings.steps + settings.seam_steps, MAX_STEPS)
    return {
        "none": plain,
        **({"steps": replace(plain, steps=more)} if applies("steps", plain) else {}),
        "overlap": replace(plain, seams="overlap", block_size=settings.block_size + settings.overlap),
        "renoise": replace(plain, seams="renoise"),
        "ar": replace(plain, predictor="autoregressive", corrector="none"),
    }


def measure(
    model: Model,
    settings: SamplerSettings,
    prompts: Sequence[str],
    *,
    batch_size: int = BATCH_SIZE,
    progress: Callable[[str, float], None] | None = None,
) -> list[SeamCurve]:
    """The curves of `variants(settings)` over one run per prompt; run i has the seed `settings.seed` + i.

    `progress` is told a sampler's name and the number of runs since it was last told. Raises EvaluationError where no
    run reaches a second block, else as `sample_batch`.
    """
    if not prompts:
        raise EvaluationError("There is no prompt to start from.")
    return [
        _curve(model, name, one, settings.block_size, settings.seam_width, prompts, batch_size, progress)
        for name, one in variants(settings).items()
    ]


def _curve(
    model: Model,
    name: str,
    settings: SamplerSettings,
    size: int,
    width: int,
    prompts: Sequence[str],
    batch_size: int,
    progress: Callable[[str, float], None] | None,
) -> SeamCurve:
    nll, starts, ends, entropies = [], [], [], []
    calls = 0
    for first in range(0, len(prompts), batch_size):
        some = prompts[first : first + batch_size]
        seeds = [(settings.seed + first + i) % 2**31 for i in range(len(some))]
        result = sample_batch(model, some, settings, seeds)
        stops = generated_stops(result.tokens, result.prompt_lengths, result.lengths, model.info.end_id)
        nll.append(token_nll(model, result.tokens, result.prompt_lengths, stops, seeds))
        starts.append(result.prompt_lengths)
        ends.append(stops)
        calls += int(result.nfe_denoise.sum() + result.nfe_verify.sum())
        entropies += [
            _entropy(row[start:stop])
            for row, start, stop in zip(result.tokens, result.prompt_lengths, stops, strict=True)
        ]
        if progress is not None:
            progress(name, len(some))
    each, begins = np.concatenate(nll), np.concatenate(starts)
    places = _places(settings, begins, each.shape[1], size)
    near = _near_a_boundary(places, begins, np.concatenate(ends), size, width) & ~np.isnan(each)
    far = ~np.isnan(each) & ~near
    gaps = _by_run(each, near) - _by_run(each, far) if near.any() and far.any() else np.array([])
    if np.isfinite(gaps).sum() < 2:  # one alone has no interval
        better = "larger blocks" if near.any() and size <= 2 * width else "smaller blocks or longer texts"
        raise EvaluationError(
            f"Fewer than two runs have tokens beside a boundary and away from it (blocks of {size}, of which {width} "
            f"tokens on each side are beside one): take {better}."
        )
    offsets = [_mean_error(_by_run(each, places == place)) for place in range(size)]
    gap, gap_error = _mean_error(gaps)
    mean, error = _mean_error(_by_run(each, ~np.isnan(each)))
    return SeamCurve(
        name=name,
        settings=settings.to_dict(),
        runs=len(prompts),
        tokens=int((~np.isnan(each)).sum()),
        offsets=[value for value, _ in offsets],
        offset_errors=[half for _, half in offsets],
        boundary=float(each[near].mean()),
        interior=float(each[far].mean()),
        gap=gap,
        gap_error=gap_error,
        nll=mean,
        nll_error=error,
        entropy=float(np.mean(entropies)),
        nfe_per_token=calls / int((~np.isnan(each)).sum()),
    )


def _places(
    settings: SamplerSettings, begins: NDArray[np.int64], length: int, size: int
) -> NDArray[np.int64]:
    """The place of every position inside its block of `size`, [N, L]; blocks begin at 0, or where the prompt ends."""
    origin = begins[:, None] if settings.sees_canvas else np.zeros((len(begins), 1), np.int64)
    return (np.arange(length) - origin) % size


def _near_a_boundary(
    places: NDArray[np.int64],
    begins: NDArray[np.int64],
    stops: NDArray[np.int64],
    size: int,
    width: int,
) -> NDArray[np.bool_]:
    """Positions within `width` of a boundary between two tokens generated in [`begins`, `stops`), bool [N, L].

    Only a position that is generated itself means anything.
    """
    positions = np.arange(places.shape[1])
    after = (places < width) & (positions - places > begins[:, None])
    before = (places >= size - width) & (positions - places + size < stops[:, None])
    return after | before


def _by_run(values: NDArray[np.float64], where: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The mean of each row over the marked positions that are known, [N]; NaN where it has none."""
    known = where & ~np.isnan(values)
    count = known.sum(axis=1)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _mean_error(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean over runs and half the width of its 95% interval, both NaN without a run that has a value."""
    known = values[~np.isnan(values)]
    if not known.size:
        return math.nan, math.nan
    spread = float(known.std(ddof=1)) if known.size > 1 else math.nan
    return float(known.mean()), Z95 * spread / math.sqrt(known.size)


def _entropy(tokens: NDArray[np.int64]) -> float:
    if not tokens.size:
        return 0.0
    shares = np.unique(tokens, return_counts=True)[1] / tokens.size
    return float(-(shares * np.log(shares)).sum())


def report(model: Model, settings: SamplerSettings, curves: Sequence[SeamCurve]) -> dict[str, Any]:
    """The measurement as plain JSON data, NaN as None, with what it was made of."""
    return {
        "model": model.name,
        "hash": model.content_hash,
        "process": model.info.process,
        "device": str(model.device),
        "block_size": settings.block_size,
        "width": settings.seam_width,
        "curves": [_plain(asdict(curve)) for curve in curves],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 6)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
