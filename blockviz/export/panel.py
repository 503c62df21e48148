"""One run within a picture: its facts, canvas and verdicts, all at fixed places of a column of the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw

from blockviz.export import words
from blockviz.export.colors import RGB
from blockviz.export.frames import Frame, chip, facts
from blockviz.export.glyphs import Face, Written
from blockviz.export.sheet import Area, Sheet, sheet
from blockviz.export.tiles import Look, Tiles
from blockviz.sampling.trace import Check, Trace

FACT_SIZES = (15, 14, 13, 12, 11, 10)
FACT_GAP = 20
NARROW_SIZE = 13
NARROW_GAP = 14
FACT_PITCH = 27
SMALL = 13
FOOT = 12
CHECK_PITCH = 22
CHECK_LINES = 3
SIGNS = {"right": "✓ ", "wrong": "✗ ", "unfinished": "… "}


@dataclass(frozen=True)
class Slots:
    """Where the facts stand: size of their letters, width of the chip, and (x, y) of every fact and of the chip."""

    size: int
    chip_width: int
    facts: tuple[tuple[int, int], ...]
    chip: tuple[int, int]
    lines: int


class Panel:
    """Draws what changes with the pass of one run; `numbers` are the passes that will be drawn.

    `area` is the panel's column; `facts_y` is the middle of its first line of facts, which wraps in a narrow panel and
    then pushes the canvas down.
    """

    def __init__(self, trace: Trace, tiles: Tiles, numbers: Sequence[int], area: Area, facts_y: int) -> None:
        self.trace = trace
        self.tiles = tiles
        self.area = area
        self.slots = self._slots(numbers, facts_y)
        down = FACT_PITCH * (self.slots.lines - 1)
        self.sheet: Sheet = sheet(trace, area.moved(down))
        self._checks_top = self.sheet.bottom + 20
        self._check_lines = max((self._lines_for(trace.passes[k].checks) for k in numbers), default=0)

    @property
    def bottom(self) -> int:
        """The y under the verdicts."""
        return self._checks_top + CHECK_PITCH * self._check_lines

    @property
    def colors(self) -> dict[str, RGB]:
        """The colours of the theme by name."""
        return self.tiles.colors

    def paint(self, image: Image.Image, now: Frame) -> None:
        """Draw facts, canvas and verdicts after a pass into `image`."""
        draw = ImageDraw.Draw(image)
        self._facts(image, draw, now)
        self._canvas(image, draw, now)
        self._checks(draw, now.checks)

    # Facts.

    def _slots(self, numbers: Sequence[int], top: int) -> Slots:
        """Room for the widest text that every fact and the chip will have."""
        chips = {chip(self.trace.passes[number]) for number in numbers}
        rows = [facts(self.trace, number) for number in numbers]
        area, gap = self.area, NARROW_GAP if self.area.narrow else FACT_GAP
        for size in (NARROW_SIZE,) if area.narrow else FACT_SIZES:
            chip_width = round(max(self.width(text, "sans-bold", size) for text in chips)) + 24
            widths = [
                max(
                    sum(self.width(part, _face(strong), size) for part, strong in row[i].parts)
                    for row in rows
                )
                for i in range(len(rows[0]))
            ]
            widths.insert(2, chip_width)
            if sum(widths) + gap * (len(widths) - 1) <= area.room:
                break
        x, line, places = float(area.inner), 0, list[tuple[int, int]]()
        for width in widths:
            if area.narrow and x > area.inner and x + width > area.inner + area.room:
                x, line = float(area.inner), line + 1
            places.append((round(x), top + FACT_PITCH * line))
            x += width + gap
        at = places.pop(2)
        return Slots(size, chip_width, tuple(places), at, line + 1)

    def _facts(self, image: Image.Image, draw: ImageDraw.ImageDraw, now: Frame) -> None:
        size = self.slots.size
        for (left, y), fact in zip(self.slots.facts, now.facts, strict=True):
            x = float(left)
            for part, strong in fact.parts:
                written = self.tiles.glyphs.written(part, _face(strong))
                x += self.tiles.put(draw, (x, y), written, size, self.colors["ink" if strong else "muted"])
        tile = self.tiles.chip(now.phase, now.chip, self.slots.chip_width, size)
        x, y = self.slots.chip
        image.paste(tile, (x, y - tile.height // 2), tile)

    # The canvas.

    def _canvas(self, image: Image.Image, draw: ImageDraw.ImageDraw, now: Frame) -> None:
        plan = self.sheet
        first = plan.first_line(self.trace.passes[now.number])
        self._gutter(draw, now, first)
        for block, status in enumerate(now.statuses):
            box = plan.block_at(block, first)
            if box is None or status not in ("active", "commit"):
                continue
            look = (
                Look("ink", "accent-bg", "accent")
                if status == "active"
                else Look("ink", "commit-bg", "checked")
            )
            tile = self.tiles.box(box[2] - box[0], box[3] - box[1] - 1, look, 8)
            image.paste(tile, box[:2], tile)
        badges = []
        for cell in now.cells:
            corner = plan.cell_at(cell.position, first)
            if corner is None:
                continue
            tile = self.tiles.cell(cell.state, cell.text, cell.mask, plan.cell, plan.height)
            image.paste(tile, corner, tile)
            if cell.check:
                self._underline(draw, corner, cell.check)
            if cell.badge:
                badges.append((corner, self.tiles.badge(cell.badge, cell.kind)))
        for (x, y), tile in badges:
            image.paste(tile, (x + plan.cell + 4 - tile.width, y - 8), tile)
        if plan.lines > plan.shown:
            start, stop = plan.positions_shown(first)
            text = f"positions {start + 1} to {stop} of {plan.length} are in the picture"
            place = (self.area.inner + self.area.room, plan.bottom + 10)
            self.tiles.put(
                draw, place, self.tiles.glyphs.written(text, "sans"), FOOT, self.colors["muted"], "rm"
            )

    def _underline(self, draw: ImageDraw.ImageDraw, corner: tuple[int, int], check: str) -> None:
        left, right = corner[0] - 2, corner[0] + self.sheet.cell + 1
        y = corner[1] + self.sheet.height + 2
        if check == "right":
            draw.rectangle((left, y, right, y + 1), self.colors["checked"])
            return
        for x in range(left, right, 7):
            draw.rectangle((x, y, min(x + 3, right), y + 1), self.colors["wrong"])

    def _gutter(self, draw: ImageDraw.ImageDraw, now: Frame, first: int) -> None:
        plan, inner = self.sheet, self.area.inner
        for left in range(0, len(now.statuses), plan.per_row):
            box = plan.block_at(left, first)
            if box is None:
                continue
            right = min(len(now.statuses), left + plan.per_row)
            status = _together(now.statuses[left:right])
            number = str(left + 1) if right == left + 1 else f"{left + 1}–{right}"
            y = box[1] + plan.pitch / 2
            strong = self.colors["ink" if status else "muted"]
            wide = self.tiles.put(
                draw, (inner, y), self.tiles.glyphs.written(number, "sans-bold"), SMALL, strong
            )
            color = {"active": "accent-text", "commit": "checked", "✓ cached": "checked"}.get(status, "muted")
            face: Face = "sans-bold" if status == "active" else "sans"
            left_edge = max(20, wide + 7)
            if left_edge + self.width(status, face, SMALL) > self.area.gutter - 2:
                status = status[:1] if status.startswith("✓") else ""  # beside numbers like 127–128
            self.tiles.put(
                draw,
                (inner + left_edge, y),
                self.tiles.glyphs.written(status, face),
                SMALL,
                self.colors[color],
            )

    # Equations and their verdicts.

    def _check_items(self, checks: Sequence[Check]) -> list[tuple[str, str, float]]:
        items: list[tuple[str, str, float]] = []
        for check in checks:
            text = SIGNS[check.verdict] + words.short(check.text).replace(" - ", " − ").replace(" * ", " × ")
            text += {"wrong": " wrong", "unfinished": " unfinished"}.get(check.verdict, "")
            items.append((text, check.verdict, self.tiles.glyphs.width(self._check(text), SMALL)))
        return items

    def _check(self, text: str) -> Written:
        glyphs = self.tiles.glyphs
        most = self.area.width / (1.3 if self.area.narrow else 2)
        return glyphs.cut(glyphs.written(text, "mono"), SMALL, most)

    def _lines_for(self, checks: Sequence[Check]) -> int:
        return min(CHECK_LINES, len(self.area.wrapped([item[2] for item in self._check_items(checks)], 20)))

    def _checks(self, draw: ImageDraw.ImageDraw, checks: Sequence[Check]) -> None:
        items = self._check_items(checks)
        lines = self.area.wrapped([item[2] for item in items], 20)
        # Where there are too many, the latest stay.
        for row, line in enumerate(lines[max(0, len(lines) - self._check_lines) :]):
            x, y = float(self.area.text), self._checks_top + CHECK_PITCH * row
            for index in line:
                text, verdict, width = items[index]
                color = {"right": "checked", "wrong": "wrong"}.get(verdict, "muted")
                self.tiles.put(draw, (x, y), self._check(text), SMALL, self.colors[color])
                x += width + 20

    def width(self, text: str, face: Face, size: int) -> float:
        """Pixels that a text takes."""
        return self.tiles.glyphs.width(self.tiles.glyphs.written(text, face), size)


def _face(strong: bool) -> Face:
    return "sans-bold" if strong else "sans"


def _together(statuses: Sequence[str]) -> str:
    """The one word for blocks on a row: what is at work wins, then what the last one says."""
    for strong in ("commit", "active"):
        if strong in statuses:
            return strong
    if statuses[-1] == "" and len(set(statuses)) > 1:
        return "✓ cached" if "✓ cached" in statuses else ""
    return statuses[-1]
