"""Pictures of a run: one image per pass, all of the same size and with everything at the same place."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image, ImageDraw

from blockviz.export import words
from blockviz.export.colors import colors
from blockviz.export.frames import Frame, chip, facts, frame, legend
from blockviz.export.glyphs import Face, Glyphs
from blockviz.export.sheet import GUTTER, MARGIN, WIDTH, sheet
from blockviz.export.tiles import Look, Tiles
from blockviz.sampling.trace import Check, Trace
from blockviz.views.palette import Theme

FACT_SIZES = (15, 14, 13, 12, 11, 10)
FACT_GAP = 20
FACTS_Y = 76
TRACK_Y = 108
SMALL = 13
FOOT = 12
CHECK_LINES = 3
SIGNS = {"right": "✓ ", "wrong": "✗ ", "unfinished": "… "}


class Painter:
    """Draws the frames of a run in a theme; `numbers` are the passes that will be drawn, `note` is for the footer."""

    def __init__(
        self, trace: Trace, theme: Theme = "light", numbers: Sequence[int] | None = None, note: str = ""
    ) -> None:
        self.trace = trace
        self.theme = theme
        self.sheet = sheet(trace)
        self.glyphs = Glyphs()
        self.colors = colors(theme)
        self.tiles = Tiles(self.glyphs, self.colors)
        shown = range(len(trace.passes)) if numbers is None else numbers
        self._slots(shown)
        self._checks_top = self.sheet.bottom + 20
        self._check_lines = max((self._lines_for(trace.passes[k].checks) for k in shown), default=0)
        self.ground = self._ground(note)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of every picture in pixels, both even."""
        return self.ground.size

    def paint(self, number: int) -> Image.Image:
        """The picture after pass `number`, RGB."""
        image = self.ground.copy()
        draw = ImageDraw.Draw(image)
        now = frame(self.trace, number)
        self._facts(image, draw, now)
        self._progress(draw, number)
        self._canvas(image, draw, now)
        self._checks(draw, now.checks)
        return image

    # What changes with the pass.

    def _slots(self, numbers: Sequence[int]) -> None:
        """The x of every fact and of the chip, with room for the widest text each will have."""
        chips = {chip(self.trace.passes[number]) for number in numbers}
        rows = [facts(self.trace, number) for number in numbers]
        for size in FACT_SIZES:
            chip_width = round(max(self._width(text, "sans-bold", size) for text in chips)) + 24
            widths = [
                max(
                    sum(self._width(part, _face(strong), size) for part, strong in row[i].parts)
                    for row in rows
                )
                for i in range(len(rows[0]))
            ]
            widths.insert(2, chip_width)
            if sum(widths) + FACT_GAP * (len(widths) - 1) <= WIDTH - 2 * MARGIN:
                break
        self._fact_size, self._chip_width = size, chip_width
        x, places = float(MARGIN), []
        for width in widths:
            places.append(round(x))
            x += width + FACT_GAP
        self._chip_x = places.pop(2)
        self._fact_x = places

    def _facts(self, image: Image.Image, draw: ImageDraw.ImageDraw, now: Frame) -> None:
        size = self._fact_size
        for left, fact in zip(self._fact_x, now.facts, strict=True):
            x = float(left)
            for part, strong in fact.parts:
                color = self.colors["ink" if strong else "muted"]
                written = self.glyphs.written(part, _face(strong))
                x += self.tiles.put(draw, (x, FACTS_Y), written, size, color)
        tile = self.tiles.chip(now.phase, now.chip, self._chip_width, size)
        image.paste(tile, (self._chip_x, FACTS_Y - tile.height // 2), tile)

    def _progress(self, draw: ImageDraw.ImageDraw, number: int) -> None:
        last = max(1, len(self.trace.passes) - 1)
        x = MARGIN + (WIDTH - 2 * MARGIN) * number / last
        draw.rounded_rectangle(
            (MARGIN, TRACK_Y - 2, max(MARGIN + 4, x), TRACK_Y + 2), 2, self.colors["accent"]
        )
        draw.ellipse((x - 7, TRACK_Y - 7, x + 7, TRACK_Y + 7), self.colors["card"], self.colors["accent"], 3)

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
            place = (WIDTH - MARGIN, plan.bottom + 10)
            self.tiles.put(draw, place, self.glyphs.written(text, "sans"), FOOT, self.colors["muted"], "rm")

    def _underline(self, draw: ImageDraw.ImageDraw, corner: tuple[int, int], check: str) -> None:
        left, right = corner[0] - 2, corner[0] + self.sheet.cell + 1
        y = corner[1] + self.sheet.height + 2
        if check == "right":
            draw.rectangle((left, y, right, y + 1), self.colors["checked"])
            return
        for x in range(left, right, 7):
            draw.rectangle((x, y, min(x + 3, right), y + 1), self.colors["wrong"])

    def _gutter(self, draw: ImageDraw.ImageDraw, now: Frame, first: int) -> None:
        plan = self.sheet
        for left in range(0, len(now.statuses), plan.per_row):
            box = plan.block_at(left, first)
            if box is None:
                continue
            right = min(len(now.statuses), left + plan.per_row)
            status = _together(now.statuses[left:right])
            number = str(left + 1) if right == left + 1 else f"{left + 1}–{right}"
            y = box[1] + plan.pitch / 2
            strong = self.colors["ink" if status else "muted"]
            wide = self.tiles.put(draw, (MARGIN, y), self.glyphs.written(number, "sans-bold"), SMALL, strong)
            color = {"active": "accent-text", "commit": "checked", "✓ cached": "checked"}.get(status, "muted")
            face: Face = "sans-bold" if status == "active" else "sans"
            left_edge = max(20, wide + 7)
            if left_edge + self._width(status, face, SMALL) > GUTTER - 2:
                status = status[:1] if status.startswith("✓") else ""  # beside numbers like 127–128
            place = (MARGIN + left_edge, y)
            self.tiles.put(draw, place, self.glyphs.written(status, face), SMALL, self.colors[color])

    # Equations and their verdicts.

    def _check_items(self, checks: Sequence[Check]) -> list[tuple[str, str, float]]:
        items: list[tuple[str, str, float]] = []
        for check in checks:
            text = SIGNS[check.verdict] + words.short(check.text).replace(" - ", " − ").replace(" * ", " × ")
            text += {"wrong": " wrong", "unfinished": " unfinished"}.get(check.verdict, "")
            written = self.glyphs.cut(self.glyphs.written(text, "mono"), SMALL, WIDTH / 2)
            items.append((text, check.verdict, self.glyphs.width(written, SMALL)))
        return items

    def _lines_for(self, checks: Sequence[Check]) -> int:
        return min(CHECK_LINES, len(_wrapped([item[2] for item in self._check_items(checks)], 20)))

    def _checks(self, draw: ImageDraw.ImageDraw, checks: Sequence[Check]) -> None:
        items = self._check_items(checks)
        lines = _wrapped([item[2] for item in items], 20)
        # Where there are too many, the latest stay.
        for row, line in enumerate(lines[max(0, len(lines) - self._check_lines) :]):
            x = float(MARGIN + GUTTER + 6)
            for index in line:
                text, verdict, width = items[index]
                color = {"right": "checked", "wrong": "wrong"}.get(verdict, "muted")
                written = self.glyphs.cut(self.glyphs.written(text, "mono"), SMALL, WIDTH / 2)
                self.tiles.put(draw, (x, self._checks_top + 22 * row), written, SMALL, self.colors[color])
                x += width + 20

    # What stands still.

    def _ground(self, note: str) -> Image.Image:
        legend_y = self._checks_top + 22 * self._check_lines + 6
        samples = [
            (state, label, self._width(label, "sans", SMALL) + 27) for state, label in legend(self.trace)
        ]
        rows = _wrapped([width for _, _, width in samples], 18)
        foot_y = legend_y + 26 * len(rows) + 10
        lines = self._foot_lines(note)
        height = foot_y + 18 + 19 * len(lines) + 8
        image = Image.new("RGB", (WIDTH, height + height % 2), self.colors["card"])
        draw = ImageDraw.Draw(image)
        name = self.glyphs.written(words.title(self.trace.header), "sans-bold")
        name = self.glyphs.cut(name, 20, WIDTH - 2 * MARGIN - 130)
        self.tiles.put(draw, (MARGIN, 32), name, 20, self.colors["ink"])
        brand = self.glyphs.written("BlockViz", "sans-bold")
        self.tiles.put(draw, (WIDTH - MARGIN, 32), brand, 16, self.colors["muted"], "rm")
        self._track(draw)
        for row, line in enumerate(rows):
            x, y = float(MARGIN + GUTTER + 6), legend_y + 26 * row
            for index in line:
                state, label, width = samples[index]
                masked = self.trace.header.model.mask_id is not None and state in ("noise", "unopened")
                text = ("·" if state == "unopened" else "▒") if masked else "a"
                tile = self.tiles.cell(state, text, masked, 20, 19)
                image.paste(tile, (round(x), y - 9), tile)
                written = self.glyphs.written(label, "sans")
                self.tiles.put(draw, (x + 27, y), written, SMALL, self.colors["muted"])
                x += width + 18
        draw.line((0, foot_y, WIDTH, foot_y), self.colors["line"])
        for row, text in enumerate(lines):
            written = self.glyphs.cut(self.glyphs.written(text, "sans"), FOOT, WIDTH - 2 * MARGIN)
            self.tiles.put(draw, (MARGIN, foot_y + 20 + 19 * row), written, FOOT, self.colors["muted"])
        return image

    def _foot_lines(self, note: str) -> list[str]:
        """The footer in as many lines as it takes, broken between its parts."""
        lines = []
        for text in (*words.footer(self.trace.header), *([note] if note else [])):
            parts = text.split(" · ")
            widths = [self._width(part + " · ", "sans", FOOT) for part in parts]
            for line in _wrapped(widths, 0, MARGIN):
                lines.append(" · ".join(parts[index] for index in line))
        return lines

    def _track(self, draw: ImageDraw.ImageDraw) -> None:
        """The scrubber's line with a tick where a block begins and a dot where tokens were thrown back."""
        last = max(1, len(self.trace.passes) - 1)
        draw.rounded_rectangle((MARGIN, TRACK_Y - 2, WIDTH - MARGIN, TRACK_Y + 2), 2, self.colors["line"])
        block = -1
        for number, entry in enumerate(self.trace.passes):
            x = MARGIN + (WIDTH - 2 * MARGIN) * number / last
            if entry.phase != "start" and entry.block != block:
                block = entry.block
                draw.rectangle((x, TRACK_Y - 6, x, TRACK_Y + 6), self.colors["tick"])
            if entry.phase == "renoise":
                draw.ellipse((x - 1.5, TRACK_Y + 8, x + 1.5, TRACK_Y + 11), self.colors["renoise"])

    def _width(self, text: str, face: Face, size: int) -> float:
        return self.glyphs.width(self.glyphs.written(text, face), size)


def picture(trace: Trace, number: int, theme: Theme = "light") -> Image.Image:
    """The canvas after pass `number` as a picture, RGB; raises IndexError when the trace has no such pass."""
    frame(trace, number)
    return Painter(trace, theme, [number]).paint(number)


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


def _wrapped(widths: Sequence[float], gap: float, left: float = MARGIN + GUTTER + 6) -> list[list[int]]:
    """Indices of items of these widths, broken into lines between `left` and the right margin."""
    lines: list[list[int]] = []
    x = WIDTH
    for index, width in enumerate(widths):
        if not lines or x + width > WIDTH - MARGIN:
            lines.append([])
            x = round(left)
        lines[-1].append(index)
        x += round(width + gap)
    return lines
