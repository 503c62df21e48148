from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blockviz.sampling.candidates import LARGE, Candidates


@pytest.mark.parametrize("size", [LARGE - 1, LARGE, LARGE + 1, LARGE + 255, 50258])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**31), width=st.integers(1, 4), together=st.booleans())
def test_searching_in_chunks_finds_what_one_search_finds(
    size: int, seed: int, width: int, together: bool
) -> None:
    """Wherever the best stand: spread out, all in one chunk, or in the tokens behind the last whole chunk."""
    generator = torch.Generator().manual_seed(seed)
    logs = torch.randn(width, size, generator=generator).log_softmax(-1)
    if together:
        first = int(torch.randint(size - 5, (1,), generator=generator))
        logs[:, first : first + 5] += 20
    logs[:, int(torch.randint(size, (1,), generator=generator))] = -torch.inf
    found = Candidates(logs.unsqueeze(0), np.ones(width, bool))
    expected = logs.topk(5, dim=-1)
    np.testing.assert_array_equal(found.probs, np.exp(expected.values.numpy()))
    np.testing.assert_array_equal(found.ids, expected.indices)


def test_there_are_no_more_candidates_than_tokens() -> None:
    found = Candidates(torch.tensor([[[0.7, 0.1, 0.2], [0.2, 0.3, 0.5]]]).log(), np.ones(2, bool))
    assert found.ids[:, :3].tolist() == [[0, 2, 1], [2, 1, 0]]
    np.testing.assert_allclose(found.probs, [[0.7, 0.2, 0.1, 0, 0], [0.5, 0.3, 0.2, 0, 0]], rtol=1e-6)
    tokens = np.array([1, 2], np.int32)
    np.testing.assert_allclose(found.of(tokens), np.log([0.1, 0.5]), rtol=1e-6)


def test_only_the_rows_asked_for_are_looked_at_and_removed_tokens_add_nothing_to_entropies() -> None:
    logs = torch.tensor([[[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5]]]).log()
    found = Candidates(logs, np.ones(3, bool))
    np.testing.assert_allclose(found.entropies(), [np.log(2), 0, 1.5 * np.log(2)], rtol=1e-6, atol=1e-7)
    some = Candidates(logs, np.array([False, True, True]))
    np.testing.assert_allclose(some.entropies(), [0, 1.5 * np.log(2)], rtol=1e-6, atol=1e-7)
    assert some.ids[:, 0].tolist() == [0, 2]
    assert (some.probs[0, 1:] == 0).all()
