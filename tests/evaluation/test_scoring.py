from __future__ import annotations

import numpy as np
import pytest

from blockviz.evaluation.likelihood import ar_nll
from blockviz.evaluation.scoring import NOISE_SEED, ScoringError, nll_per_token
from tests.evaluation.math_models import math_model


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_the_mean_over_the_text_in_one_or_several_stretches(process: str) -> None:
    model = math_model(process)
    tokens = [(7 * i) % 50 for i in range(30)]
    whole = nll_per_token(model, tokens, range(10, 30))
    row = np.array([tokens], np.int64)
    nats = ar_nll(model, row, np.array([10]), np.array([30]), [NOISE_SEED])
    assert whole == pytest.approx(float(nats[0]) / 20)
    parts = nll_per_token(model, tokens, range(10, 15)), nll_per_token(model, tokens, range(20, 30))
    together = nll_per_token(model, tokens, [*range(10, 15), *range(20, 30)])
    assert together == pytest.approx((5 * parts[0] + 10 * parts[1]) / 15, rel=1e-5)
    assert nll_per_token(model, tokens, range(10, 30)) == whole


@pytest.mark.parametrize(
    ("tokens", "positions", "says"),
    [
        ([1, 2], [], "no text"),
        ([1] * 129, [128], "129 tokens"),
        ([1, 10_000], [1], "does not know"),
        ([1, -1], [1], "does not know"),
        ([1, 2, 3], [2, 1], "positions"),
        ([1, 2, 3], [1, 3], "positions"),
        ([1, 2, 3], [-1, 1], "positions"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(tokens: list[int], positions: list[int], says: str) -> None:
    with pytest.raises(ScoringError, match=says):
        nll_per_token(math_model("masked"), tokens, positions)
    mask = math_model("masked").info.mask_id
    assert mask is not None
    with pytest.raises(ScoringError, match="does not know"):
        nll_per_token(math_model("masked"), [1, mask, 2], [2])
