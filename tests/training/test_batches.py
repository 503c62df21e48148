from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blockviz.models.attention import two_stream_mask
from blockviz.training.batches import PADDING_POSITION, Example, assemble, group_rows, span

CANVAS = 64
END = 0


@st.composite
def rows(draw: st.DrawFn) -> tuple[Example, int, bool]:
    length = draw(st.integers(1, CANVAS))
    prompt = draw(st.integers(0, length - 1))
    tokens = (*range(1, length), END)
    return Example(tokens, prompt), draw(st.sampled_from([1, 2, 4, 8, 16, 32, CANVAS])), draw(st.booleans())


@given(rows())
def test_a_span_holds_what_is_generated_and_whole_blocks(row: tuple[Example, int, bool]) -> None:
    example, size, tail = row
    result = span(example, size, CANVAS, tail)
    assert result.start <= example.prompt_length < len(example.tokens) <= result.stop <= CANVAS
    assert result.start % size == 0
    assert example.prompt_length - result.start < size
    assert result.stop % size == 0 or result.stop == CANVAS
    last_block = (result.stop - 1) // size * size
    assert result.clean == last_block


@given(st.lists(rows(), min_size=1, max_size=5))
def test_rows_of_a_batch_keep_their_own_content(batch: list[tuple[Example, int, bool]]) -> None:
    examples, sizes, tails = (list(column) for column in zip(*batch, strict=True))
    streams = assemble(examples, sizes, tails, CANVAS, END)
    for row, (example, size, tail) in enumerate(batch):
        item = span(example, size, CANVAS, tail)
        text = torch.tensor([*example.tokens, *[END] * CANVAS])
        width = item.stop - item.start
        assert torch.equal(streams.clean[row, : item.clean], text[: item.clean])
        assert torch.equal(streams.noisy[row, :width], text[item.start : item.stop])
        assert torch.equal(streams.noisy_positions[row, :width], torch.arange(item.start, item.stop))
        assert (streams.noisy_positions[row, width:] == PADDING_POSITION).all()
        assert not streams.target[row, width:].any()
        assert streams.target[row].sum() == item.stop - example.prompt_length
        assert streams.tail[row].sum() == item.stop - len(example.tokens)


@given(st.lists(rows(), min_size=2, max_size=4))
def test_nobody_reads_padding(batch: list[tuple[Example, int, bool]]) -> None:
    examples, sizes, tails = (list(column) for column in zip(*batch, strict=True))
    streams = assemble(examples, sizes, tails, CANVAS, END)
    mask = two_stream_mask(
        streams.clean_positions, streams.noisy_positions, streams.block_size[:, :, None], True
    )
    positions = torch.cat([streams.clean_positions, streams.noisy_positions], dim=1)
    real = positions != PADDING_POSITION
    read = mask & real[:, :, None] & ~real[:, None, :]
    assert not read.any()
    assert mask.any(dim=-1).all()


def test_too_long_examples_are_refused() -> None:
    with pytest.raises(ValueError, match="65 tokens does not fit a canvas of 64"):
        span(Example(tuple(range(65)), 3), 16, CANVAS, False)


def test_whole_canvas_rows_go_apart() -> None:
    assert group_rows([16, 64, 1, 64], 64) == [[0, 2], [1, 3]]
    assert group_rows([64], 64) == [[0]]


@given(rows())
def test_kept_spans_are_no_target_but_left_to_right(row: tuple[Example, int, bool]) -> None:
    example, size, tail = row
    first, last = len(example.tokens) // 3, len(example.tokens) // 3 + 5
    kept = Example(example.tokens, example.prompt_length, ((first, last),))
    streams, plain = (assemble([item], [size], [tail], CANVAS, END) for item in (kept, example))
    inside = (plain.noisy_positions >= first) & (plain.noisy_positions < last)
    expected = plain.target if size == 1 else plain.target & ~inside
    assert torch.equal(streams.target, expected)
    assert torch.equal(streams.noisy, plain.noisy)
