from __future__ import annotations

import math

import pytest

from blockviz.base.token_counts import distinct, entropy


def test_entropy_and_different_n_grams() -> None:
    assert entropy([]) == entropy([3]) == entropy([3, 3, 3]) == 0.0
    assert entropy([1, 2, 3, 4]) == pytest.approx(math.log(4))
    assert distinct([1, 2, 1, 2, 1], 2) == (2, 4)
    assert distinct([1], 2) == (0, 0)
