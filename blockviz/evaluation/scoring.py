"""How likely a named model finds texts that another may have written: one teacher-forced reading, left to right."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from blockviz.evaluation.likelihood import ar_nll
from blockviz.models.checkpoint import Model

NOISE_SEED = 0
"""A uniform model reads on noise tokens; they are always the same ones, so that two readings of a text agree."""


class ScoringError(ValueError):
    """A text that a model cannot read; the message is one sentence."""


def same_tokens(reader: Model, model: Model) -> bool:
    """Whether ids mean the same to both, so that `reader` can read what `model` wrote."""
    return reader is model or reader.tokens.tokenizer.to_str() == model.tokens.tokenizer.to_str()


def nats_of_rows(
    model: Model, tokens: NDArray[np.int64], starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Negative log-likelihood in nats of many texts at once, summed over [starts, stops) of each row: float64 [N].

    `tokens` [N, L] are canvases from their start; what stands behind `stops`, noise for instance, does not matter. A
    text's value does not depend on its batch mates. Raises `ScoringError` as `nll_per_token`; an empty text has 0.
    """
    _check_reader(model)
    longest = int(stops.max(initial=0))
    clean = np.where(np.arange(longest) < stops[:, None], tokens[:, :longest], 0)
    _check_tokens(model, longest, clean)
    return ar_nll(model, clean, starts, stops, [NOISE_SEED] * len(clean))


def nll_per_token(model: Model, tokens: Sequence[int], positions: Sequence[int]) -> float:
    """Negative log-likelihood in nats per token of `tokens` at `positions`, each given all tokens before it.

    `tokens` are those of a canvas from its start, prompt included, as ids of `model`; `positions` are in order. At
    temperature 1. Raises `ScoringError` for an empty text, one longer than the model's canvas, ids it does not have,
    or a model whose clean stream is not causal and therefore cannot read from left to right.
    """
    _check_reader(model)
    if not positions:
        raise ScoringError("There is no text to read.")
    _check_tokens(model, len(tokens), np.array(tokens, np.int64))
    rising = all(a < b for a, b in pairwise(positions))
    if not rising or min(positions) < 0 or max(positions) >= len(tokens):
        raise ScoringError("The positions to read are not those of the text.")
    # Every stretch of neighbours is a row of one batch.
    stretches = [
        [position for _, position in group]
        for _, group in groupby(enumerate(positions), key=lambda pair: pair[1] - pair[0])
    ]
    canvas = np.tile(np.array(tokens, np.int64), (len(stretches), 1))
    starts = np.array([stretch[0] for stretch in stretches], np.int64)
    stops = np.array([stretch[-1] + 1 for stretch in stretches], np.int64)
    nats = ar_nll(model, canvas, starts, stops, [NOISE_SEED] * len(stretches))
    return float(nats.sum()) / len(positions)


def _check_reader(model: Model) -> None:
    if not model.config.x0_causal:
        raise ScoringError(f"{model.name} sees whole blocks at once and cannot read from left to right.")


def _check_tokens(model: Model, length: int, ids: NDArray[np.int64]) -> None:
    if length > model.info.length:
        raise ScoringError(f"The text has {length} tokens, and {model.name} reads {model.info.length}.")
    unknown = (ids < 0) | (ids >= model.info.vocab_size)
    if model.info.mask_id is not None:
        unknown |= ids == model.info.mask_id
    if unknown.any():
        raise ScoringError(f"The text has tokens that {model.name} does not know.")
