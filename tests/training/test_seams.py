from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blockviz.models.attention import training_mask, two_stream_mask
from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.training.batches import Example, assemble, span
from blockviz.training.objective import block_times, predict
from blockviz.training.seams import Seam, Seams, draw_seams, lighter_times

CANVAS, END = 64, 0
TEXT = Example((*range(1, CANVAS), END), 0)


def test_seams_are_drawn_where_blocks_have_neighbours_and_room() -> None:
    sizes = [1, 2, 4, 8, 16, 32, CANVAS] * 400
    seams = draw_seams(Seams(0.25), sizes, CANVAS, random.Random(0))
    assert all(seam is None for size, seam in zip(sizes, seams, strict=True) if size in (1, 2, CANVAS))
    drawn = [(size, seam) for size, seam in zip(sizes, seams, strict=True) if seam is not None]
    # 1,600 rows may have one: 400 expected, standard deviation 17.
    assert 330 < len(drawn) < 470
    assert {seam.kind for _, seam in drawn} == {"overlap", "boundary"}
    for size, seam in drawn:
        assert 0 < seam.shift < size
        assert 0 < seam.reach <= size // 2
    assert draw_seams(None, sizes, CANVAS, random.Random(0)) == [None] * len(sizes)


def test_a_share_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match=r"lies between 0 and 1, not 1\.5"):
        Seams(1.5)


@given(st.sampled_from([4, 8, 16, 32]), st.data())
def test_shifted_blocks_cover_the_same_text(size: int, data: st.DataObject) -> None:
    shift = data.draw(st.integers(0, size - 1))
    length = data.draw(st.integers(1, CANVAS))
    prompt = data.draw(st.integers(0, length - 1))
    example = Example(tuple(range(length)), prompt)
    item = span(example, size, CANVAS, data.draw(st.booleans()), shift)
    assert 0 <= item.start <= prompt < length <= item.stop <= CANVAS
    assert item.start == 0 or (item.start + shift) % size == 0
    assert item.stop == CANVAS or (item.stop + shift) % size == 0
    assert prompt - item.start < size
    assert 0 <= item.clean < item.stop
    assert item.stop - item.clean <= size


@pytest.mark.parametrize("shift", [0, 1, 5, 7])
def test_a_shifted_row_predicts_what_the_moved_canvas_predicts(shift: int) -> None:
    """Rotary positions are relative: a text moved by the shift has the same blocks without one."""
    net = BlockDiT(NetworkConfig(16, 2, 2, 2 * CANVAS, 80))
    generator = torch.Generator().manual_seed(1)
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, std=0.3, generator=generator)
    streams = assemble([TEXT], [8], [False], CANVAS, END, shifts=[shift])
    xt = torch.randint(80, streams.noisy.shape, generator=generator)
    logits = predict(net.eval(), streams, xt)
    positions = torch.arange(CANVAS) + shift
    whole = net(
        torch.cat([torch.tensor([TEXT.tokens]), xt], dim=1),
        torch.cat([positions, positions]),
        two_stream_mask(positions, positions, 8, True),
        first_output=CANVAS,
    )
    torch.testing.assert_close(logits, whole, atol=1e-4, rtol=0)
    if shift == 0:
        assert torch.equal(two_stream_mask(positions, positions, 8, True), training_mask(CANVAS, 8, True))


def test_written_positions_carry_less_noise() -> None:
    size, rows = 16, 300
    seams: list[Seam | None] = [Seam("overlap", 4, 5), Seam("boundary", 8, 3), None] * (rows // 3)
    shifts = [seam.shift if seam is not None else 0 for seam in seams]
    streams = assemble([TEXT] * rows, [size] * rows, [False] * rows, CANVAS, END, shifts=shifts)
    generator = torch.Generator().manual_seed(0)
    even = block_times(streams, generator)
    times = lighter_times(even, streams, seams, generator)
    lighter = (times < even)[:3]
    position = torch.arange(CANVAS)
    inside = (position + 4) % size
    assert torch.equal(
        lighter[0], (inside < 5) & (position >= 12)
    )  # the first, short block has none before it
    assert torch.equal(lighter[1], ~((position % size < 3) | (position % size >= size - 3)))
    assert not lighter[2].any()
    # Half of the time on average where written; 100 rows of 3 or 4 blocks.
    assert (times[0::3] / even[0::3])[:, lighter[0]].mean().item() == pytest.approx(0.5, abs=0.06)
    assert torch.equal(times[2::3], even[2::3])
