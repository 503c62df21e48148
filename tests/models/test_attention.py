from __future__ import annotations

import re

import pytest
import torch

from blockviz.models.attention import (
    additive,
    clean_to_clean,
    generation_mask,
    training_mask,
    two_stream_mask,
    verification_mask,
)
from tests.golden import tensors

GOLDEN = tensors("attention_masks")


def numbers(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name.replace("x0causal", "").replace("xt", ""))]


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith("train")])
def test_training_masks_are_the_reference_ones(name: str) -> None:
    length, block_size, causal = numbers(name)
    assert torch.equal(training_mask(length, block_size, bool(causal)), GOLDEN[name].bool())


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith("gen")])
def test_generation_masks_are_the_reference_ones(name: str) -> None:
    context, noisy, block_size, first, causal = numbers(name)
    mask = generation_mask(first, context - first, noisy, block_size, bool(causal))
    assert torch.equal(mask, GOLDEN[name].bool())


@pytest.mark.parametrize(
    "name", [name for name in GOLDEN if name.startswith("verify") and "nocache" not in name]
)
def test_verification_masks_are_the_reference_ones(name: str) -> None:
    cached, count = numbers(name)
    assert torch.equal(verification_mask(cached, count), GOLDEN[name].bool())


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.endswith("nocache")])
def test_recomputed_verification_is_the_two_stream_mask_at_block_size_1(name: str) -> None:
    context, count = numbers(name)
    clean = torch.arange(context + count)
    mask = two_stream_mask(clean, clean[context:], 1, True)
    assert torch.equal(mask, GOLDEN[name].bool())


def test_a_batch_of_block_sizes_gives_each_row_its_own_mask() -> None:
    positions = torch.arange(12).expand(3, 12)
    sizes = torch.tensor([1, 4, 12])[:, None, None]
    batch = two_stream_mask(positions, positions, sizes, True)
    for row, size in enumerate((1, 4, 12)):
        assert torch.equal(batch[row], training_mask(12, size, True))


def test_causal_clean_rows_do_not_depend_on_the_block_size() -> None:
    positions = torch.arange(9)
    assert torch.equal(
        clean_to_clean(positions, positions, 2, True), clean_to_clean(positions, positions, 8, True)
    )
    assert not torch.equal(
        clean_to_clean(positions, positions, 2, False), clean_to_clean(positions, positions, 8, False)
    )


def test_an_additive_mask_forbids_what_the_bool_one_forbids() -> None:
    mask = generation_mask(3, 2, 4, 4, True)
    added = additive(mask, torch.float32)
    assert torch.equal(added == 0, mask)
    assert torch.equal(added == -torch.inf, ~mask)
    scores = torch.randn(6, 9, generator=torch.Generator().manual_seed(0))
    assert torch.equal((scores + added).softmax(-1), scores.masked_fill(~mask, -torch.inf).softmax(-1))
