"""Where everything stands in a picture of a run: fixed for all its frames, whatever they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from blockviz.sampling.trace import Pass, Trace

WIDTH = 1280
MARGIN = 32
GUTTER = 112
GAP = 3
INSET = 6
"""Pixels of a block's frame and padding on each side."""
WIDEST = 66
SPREADS = (16, 24, 32)
"""Cells on a line, tried in turn until the canvas needs few lines."""
FEW_LINES = 20
MOST_LINES = 32
"""Lines of a picture; a longer canvas is followed as the page scrolls."""
TOP = 132


@dataclass(frozen=True)
class Area:
    """The column of a picture that a run's canvas stands in: `left` and `width` with its margins, `top` of the canvas.

    `spreads` are the cells on a line that are tried in turn; a `narrow` area takes the first one.
    """

    left: int = 0
    width: int = WIDTH
    top: int = TOP
    margin: int = MARGIN
    gutter: int = GUTTER
    spreads: tuple[int, ...] = SPREADS

    @property
    def narrow(self) -> bool:
        """Whether it is one of several beside each other."""
        return len(self.spreads) == 1

    @property
    def inner(self) -> int:
        """The x where the margin ends."""
        return self.left + self.margin

    @property
    def room(self) -> int:
        """Pixels between the margins."""
        return self.width - 2 * self.margin

    @property
    def text(self) -> int:
        """The x of the first cell's block, where verdicts and the legend begin too."""
        return self.inner + self.gutter + INSET

    def moved(self, down: int) -> Area:
        """The same column with its canvas further down."""
        return replace(self, top=self.top + down)

    def wrapped(self, widths: Sequence[float], gap: float, left: int | None = None) -> list[list[int]]:
        """Indices of items of these widths, broken into lines between `left` (usually `text`) and the right margin."""
        first = self.text if left is None else left
        last = self.inner + self.room
        lines: list[list[int]] = []
        x = 0
        for index, width in enumerate(widths):
            if not lines or x + width > last:
                lines.append([])
                x = first
            lines[-1].append(index)
            x += round(width + gap)
        return lines


@dataclass(frozen=True)
class Sheet:
    """The canvas as lines of cells: `columns` cells of a block on a line, `per_row` blocks beside each other.

    The first block has `origin` positions where that is not 0. `cell` and `height` are the size of a cell, `pitch` the
    distance of lines, all in pixels; `lines` counts all lines, `shown` those in a picture.
    """

    block_size: int
    length: int
    columns: int
    per_row: int
    cell: int
    height: int
    lines: int
    area: Area = Area()
    origin: int = 0

    @property
    def shown(self) -> int:
        """Lines in one picture."""
        return min(self.lines, MOST_LINES)

    @property
    def pitch(self) -> int:
        """Pixels from one line to the next; the room between them is for badges and block frames."""
        return self.height + 12

    @property
    def depth(self) -> int:
        """Lines of one block."""
        return -(-min(self.block_size, self.length) // self.columns)

    @property
    def bottom(self) -> int:
        """The y under the last line."""
        return self.area.top + self.shown * self.pitch

    @property
    def block_width(self) -> int:
        """Pixels of a block with its frame."""
        return self.columns * (self.cell + GAP) - GAP + 2 * INSET

    def line_of(self, position: int) -> int:
        """The line a position stands on, counted from the top of the whole canvas."""
        block, offset = self._place(position)
        return block // self.per_row * self.depth + offset // self.columns

    def first_line(self, entry: Pass) -> int:
        """The line at the top of the picture of a pass: as far up as its window lets it."""
        if self.lines <= self.shown or entry.start >= entry.stop:
            return 0
        top, bottom = self.line_of(entry.start), self.line_of(entry.stop - 1)
        return min(max(0, bottom + 1 - self.shown), top)

    def cell_at(self, position: int, first: int) -> tuple[int, int] | None:
        """The left upper corner of a position's cell, or None when its line is not in the picture."""
        line = self.line_of(position) - first
        if not 0 <= line < self.shown:
            return None
        block, offset = self._place(position)
        left = self.area.text + block % self.per_row * self.block_width
        return left + offset % self.columns * (self.cell + GAP), self.area.top + line * self.pitch + INSET

    def block_at(self, block: int, first: int) -> tuple[int, int, int, int] | None:
        """The frame (left, top, right, bottom) of what the picture shows of a block, or None."""
        start = self._first(block)
        stop = min(self.length, self._first(block + 1))
        above = max(0, self.line_of(start) - first)
        below = min(self.shown - 1, self.line_of(stop - 1) - first)
        if above > below:
            return None
        left = self.area.text - INSET + block % self.per_row * self.block_width
        wide = min(self.columns, stop - start) * (self.cell + GAP) - GAP + 2 * INSET
        return left, self.area.top + above * self.pitch, left + wide, self.area.top + (below + 1) * self.pitch

    def positions_shown(self, first: int) -> tuple[int, int]:
        """The positions [start, stop) whose lines are in the picture."""
        rows, within = divmod(first, self.depth)
        start = self._first(rows * self.per_row) + within * self.columns
        rows, within = divmod(first + self.shown, self.depth)
        return start, min(self.length, self._first(rows * self.per_row) + within * self.columns)

    def _place(self, position: int) -> tuple[int, int]:
        """Block of a position, and its place in it."""
        if position < self.origin:
            return 0, position
        block, offset = divmod(position - self.origin, self.block_size)
        return block + (self.origin > 0), offset

    def _first(self, block: int) -> int:
        """First position of a block."""
        return max(0, self.origin + (block - (self.origin > 0)) * self.block_size)


def sheet(trace: Trace, area: Area | None = None) -> Sheet:
    """The layout for a run in an area; depends on its geometry only, so that frames of equal runs lie on each other."""
    area = area or Area()
    length = trace.header.length
    size = min(trace.header.block_size, length)
    blocks = trace.header.blocks
    for spread in area.spreads:
        if size <= spread * 1.25:
            columns, per_row = size, min(blocks, max(1, spread // size))
        else:
            columns, per_row = -(-size // -(-size // spread)), 1
        lines = -(-blocks // per_row) * -(-size // columns)
        if lines <= FEW_LINES:
            break
    room = area.room - area.gutter
    cell = (room - per_row * 2 * INSET + GAP) // (per_row * columns) - GAP
    height = 34 if lines <= 10 else 30 if lines <= 16 else 28 if lines <= FEW_LINES else 24
    return Sheet(size, length, columns, per_row, min(WIDEST, cell), height, lines, area, trace.header.origin)
