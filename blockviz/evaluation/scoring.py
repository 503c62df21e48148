"""How likely a named model finds a text that another may have written: one teacher-forced reading, left to right."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

import numpy as np

from blockviz.evaluation.likelihood import ar_nll
from blockviz.models.checkpoint import Model

NOISE_SEED = 0
"""A uniform model reads on noise tokens; they are always the same ones, so that two readings of a text agree."""


class ScoringError(ValueError):
    """A text that a model cannot read; the message is one sentence."""


def nll_per_token(model: Model, tokens: Sequence[int], positions: Sequence[int]) -> float:
    """Negative log-likelihood in nats per token of `tokens` at `positions`, each given all tokens before it.

    `tokens` are those of a canvas from its start, prompt included, as ids of `model`; `positions` are in order. At
    temperature 1. Raises `ScoringError` for an empty text, one longer than the model's canvas, ids it does not have,
    or a model whose clean stream is not causal and therefore cannot read from left to right.
    """
    if not model.config.x0_causal:
        raise ScoringError(f"{model.name} sees whole blocks at once and cannot read from left to right.")
    if not positions:
        raise ScoringError("There is no text to read.")
    if len(tokens) > model.info.length:
        raise ScoringError(f"The text has {len(tokens)} tokens, and {model.name} reads {model.info.length}.")
    if not all(0 <= token < model.info.vocab_size and token != model.info.mask_id for token in tokens):
        raise ScoringError(f"The text has tokens that {model.name} does not know.")
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
