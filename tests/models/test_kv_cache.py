from __future__ import annotations

import pytest
import torch

from blockviz.models.block_dit import NetworkConfig
from blockviz.models.kv_cache import KEPT_SLOTS, KVCache

CONFIG = NetworkConfig(hidden_size=16, n_blocks=2, n_heads=2, length=8, vocab_size=5)


def filled(rows: int, length: int) -> KVCache:
    """A cache in which row r holds r + 1 in its first `length` places."""
    cache = KVCache(CONFIG, rows, 8)
    for slot in cache.slots(length):
        numbers = torch.arange(1.0, rows + 1)[:, None, None, None].expand_as(slot.new_keys)
        slot.add(numbers, -numbers)
    cache.length = length
    return cache


def test_a_slot_shows_what_is_committed_and_what_is_new() -> None:
    cache = filled(2, 3)
    first = cache.slots(2)[0]
    keys, values = first.add(torch.full((2, 2, 2, 8), 9.0), torch.full((2, 2, 2, 8), 7.0))
    assert keys[0, 0, :, 0].tolist() == [1, 1, 1, 9, 9]
    assert values[1, 1, :, 0].tolist() == [-2, -2, -2, 7, 7]
    assert cache.keys[1].max() == 2  # the other layer's are its own
    with pytest.raises(ValueError, match="holds 8 tokens, 9 are needed"):
        cache.slots(6)


def test_views_are_made_once_for_a_length_and_few_are_kept() -> None:
    cache = filled(1, 2)
    assert cache.slots(3) is cache.slots(3)
    before = cache.slots(3)
    cache.length = 4
    assert cache.slots(3)[0].keys.shape[2] == 7
    cache.length = 2
    assert cache.slots(3) is before
    for count in range(1, KEPT_SLOTS + 2):
        cache.slots(count)
    assert len(cache._slots) == KEPT_SLOTS


def test_the_rows_kept_move_up_where_they_are() -> None:
    cache = filled(5, 3)
    place, views = cache.keys.data_ptr(), cache.slots(1)
    cache.keep(torch.tensor([1, 3, 4]))
    assert cache.keys.data_ptr() == place
    assert cache.slots(1) is not views
    assert cache.keys.shape[1] == 3
    for layer in range(2):
        assert cache.keys[layer, :, 0, 0, 0].tolist() == [2, 4, 5]
        assert cache.values[layer, :, 1, 2, 7].tolist() == [-2, -4, -5]
    cache.keep(torch.tensor([2]))
    assert cache.slots(2)[1].keys[:, 0, 0, 0].tolist() == [5]
