"""From examples to the two streams of one training pass.

The noisy stream holds only the blocks in which something is generated, the clean stream only what those blocks may
read; rows of different lengths share a pass, their padding seen by nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

# Padding sits behind every canvas, so that no query of a real position may read it under any mask.
PADDING_POSITION = 1 << 20
TAIL = 32
TAIL_CHANCE = 0.25
# Widths are rounded up to a multiple of this, so that memory is asked for in few different sizes.
WIDTH_UNIT = 32
# At t = 0 nothing is noise, and the evidence of a token for itself is infinite.
EARLIEST_TIME = 1e-4


@dataclass(frozen=True)
class Example:
    """A sequence to learn: token ids, the end token last where the text ends; the first `prompt_length` stay clean.

    So do the positions of `kept`, pairs of first and last + 1, in blocks of more than one position.
    """

    tokens: tuple[int, ...]
    prompt_length: int
    kept: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Streams:
    """One padded group of rows, all tensors on one device.

    `clean`, `clean_positions` int64 `[N, C]`; `noisy`, `noisy_positions` int64 `[N, T]` (`noisy` still holds the
    clean tokens x0); `target` bool `[N, T]`, the positions to generate; `tail` bool `[N, T]`, those after the first
    end token; `block_size` and `shift` int64 `[N, 1]`: position p belongs to block `(p + shift) // block_size`.
    """

    clean: Tensor
    clean_positions: Tensor
    noisy: Tensor
    noisy_positions: Tensor
    target: Tensor
    tail: Tensor
    block_size: Tensor
    shift: Tensor


@dataclass(frozen=True)
class Span:
    """What one row carries: clean positions 0..clean-1 and noisy positions start..stop-1."""

    clean: int
    start: int
    stop: int


def span(example: Example, block_size: int, canvas: int, long_tail: bool, shift: int = 0) -> Span:
    """The positions a row needs at a block size: from the block the prompt ends in to the block the text ends in.

    With `long_tail` the text is followed by end tokens up to a multiple of `TAIL`, as a larger block would hold them.
    With `shift` blocks begin that many positions earlier, the first one being short. Raises ValueError when the
    example is longer than the canvas.
    """
    used = len(example.tokens)
    if used > canvas:
        raise ValueError(f"an example of {used} tokens does not fit a canvas of {canvas}")
    unit = max(block_size, TAIL) if long_tail else block_size
    start = max(0, _begin(example.prompt_length, block_size, shift))
    stop = min(canvas, -(-(used + shift) // unit) * unit - shift)
    return Span(clean=max(0, _begin(stop - 1, block_size, shift)), start=start, stop=stop)


def _begin(position: int, block_size: int, shift: int) -> int:
    return (position + shift) // block_size * block_size - shift


def group_rows(block_sizes: Sequence[int], canvas: int) -> list[list[int]]:
    """Split row indices into groups that share a pass: whole-canvas rows have no clean stream and go apart."""
    whole = [row for row, size in enumerate(block_sizes) if size >= canvas]
    blocks = [row for row, size in enumerate(block_sizes) if size < canvas]
    return [group for group in (blocks, whole) if group]


def _rounded(width: int) -> int:
    return -(-width // WIDTH_UNIT) * WIDTH_UNIT


def assemble(
    examples: Sequence[Example],
    block_sizes: Sequence[int],
    long_tails: Sequence[bool],
    canvas: int,
    end_id: int,
    device: torch.device | str = "cpu",
    shifts: Sequence[int] | None = None,
) -> Streams:
    """Pad rows into one `Streams`; after the text a row continues with end tokens."""
    moved = [0] * len(examples) if shifts is None else list(shifts)
    spans = [
        span(example, size, canvas, tail, shift)
        for example, size, tail, shift in zip(examples, block_sizes, long_tails, moved, strict=True)
    ]
    rows = len(examples)
    clean_width = _rounded(max(item.clean for item in spans))
    noisy_width = _rounded(max(item.stop - item.start for item in spans))
    clean = torch.full((rows, clean_width), end_id)
    clean_positions = torch.full((rows, clean_width), PADDING_POSITION)
    noisy = torch.full((rows, noisy_width), end_id)
    noisy_positions = torch.full((rows, noisy_width), PADDING_POSITION)
    target = torch.zeros((rows, noisy_width), dtype=torch.bool)
    tail = torch.zeros((rows, noisy_width), dtype=torch.bool)
    for row, (example, item) in enumerate(zip(examples, spans, strict=True)):
        canvas_tokens = torch.full((item.stop,), end_id)
        canvas_tokens[: len(example.tokens)] = torch.tensor(example.tokens)
        positions = torch.arange(item.stop)
        width = item.stop - item.start
        clean[row, : item.clean] = canvas_tokens[: item.clean]
        clean_positions[row, : item.clean] = positions[: item.clean]
        noisy[row, :width] = canvas_tokens[item.start :]
        noisy_positions[row, :width] = positions[item.start :]
        target[row, :width] = positions[item.start :] >= example.prompt_length
        tail[row, :width] = positions[item.start :] >= len(example.tokens)
        if block_sizes[row] > 1:
            for first, last in example.kept:
                target[row, max(0, first - item.start) : max(0, last - item.start)] = False
    streams = (
        clean,
        clean_positions,
        noisy,
        noisy_positions,
        target,
        tail,
        torch.tensor(block_sizes)[:, None],
        torch.tensor(moved)[:, None],
    )
    return Streams(*(tensor.to(device) for tensor in streams))
