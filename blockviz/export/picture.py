"""Pictures of a run: one image per pass, all of the same size and with everything at the same place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PIL import Image, ImageDraw

from blockviz.export import words
from blockviz.export.colors import RGB, colors
from blockviz.export.frames import frame, legend
from blockviz.export.glyphs import Glyphs
from blockviz.export.panel import FOOT, SMALL, Panel
from blockviz.export.sheet import Area, Sheet
from blockviz.export.tiles import Tiles
from blockviz.sampling.trace import Trace
from blockviz.views.palette import STATE_LABELS, Theme

FACTS_Y = 76
TRACK_Y = 108


class Stand:
    """What stands still in a picture, and the track of its scrubber: shared by pictures of one run and of several."""

    def __init__(self, theme: Theme, area: Area) -> None:
        self.colors: dict[str, RGB] = colors(theme)
        self.tiles = Tiles(Glyphs(), self.colors)
        self.area = area

    def title(self, draw: ImageDraw.ImageDraw, text: str) -> None:
        """The name at the top, with ours at its right."""
        name = self.tiles.glyphs.written(text, "sans-bold")
        name = self.tiles.glyphs.cut(name, 20, self.area.room - 130)
        self.tiles.put(draw, (self.area.inner, 32), name, 20, self.colors["ink"])
        brand = self.tiles.glyphs.written("BlockViz", "sans-bold")
        self.tiles.put(draw, (self.area.inner + self.area.room, 32), brand, 16, self.colors["muted"], "rm")

    def track(
        self, draw: ImageDraw.ImageDraw, y: int, ticks: Sequence[float], dots: Sequence[Sequence[float]]
    ) -> None:
        """The scrubber's line: ticks where blocks begin, a row of dots for each run where it threw tokens back.

        All places are shares of the line.
        """
        left, wide = self.area.inner, self.area.room
        draw.rounded_rectangle((left, y - 2, left + wide, y + 2), 2, self.colors["line"])
        for share in ticks:
            x = left + wide * share
            draw.rectangle((x, y - 6, x, y + 6), self.colors["tick"])
        for row, shares in enumerate(dots):
            for share in shares:
                x = left + wide * share
                draw.ellipse((x - 1.5, y + 8 + 5 * row, x + 1.5, y + 11 + 5 * row), self.colors["renoise"])

    def progress(self, draw: ImageDraw.ImageDraw, y: int, share: float) -> None:
        """How far along the track the picture is."""
        x = self.area.inner + self.area.room * share
        left = self.area.inner
        draw.rounded_rectangle((left, y - 2, max(left + 4, x), y + 2), 2, self.colors["accent"])
        draw.ellipse((x - 7, y - 7, x + 7, y + 7), self.colors["card"], self.colors["accent"], 3)

    def samples(self, runs: Sequence[Trace]) -> tuple[list[tuple[str, str, str, bool]], list[list[int]]]:
        """The legend: (state, label, sample text, whether it is the mask) of every state, and their lines."""
        found: dict[str, tuple[str, str, str, bool]] = {}
        for trace in runs:
            masked = trace.header.model.mask_id is not None
            for state, label in legend(trace):
                is_mask = masked and state in ("noise", "unopened")
                text = ("·" if state == "unopened" else "▒") if is_mask else "a"
                found.setdefault(label if not is_mask else f"{label} ▒", (state, label, text, is_mask))
        order = {state: place for place, (state, _) in enumerate(STATE_LABELS.items())}
        samples = sorted(found.values(), key=lambda sample: order.get(sample[0], 99))
        widths = [self._width(label, SMALL) + 27 for _, label, _, _ in samples]
        return samples, self.area.wrapped(widths, 18)

    def legend(
        self,
        image: Image.Image,
        draw: ImageDraw.ImageDraw,
        y: int,
        samples: tuple[list[tuple[str, str, str, bool]], list[list[int]]],
    ) -> None:
        """Draw the legend from `y` on, 26 pixels a line."""
        for row, line in enumerate(samples[1]):
            x = float(self.area.text)
            for index in line:
                state, label, text, masked = samples[0][index]
                tile = self.tiles.cell(state, text, masked, 20, 19)
                image.paste(tile, (round(x), y + 26 * row - 9), tile)
                written = self.tiles.glyphs.written(label, "sans")
                self.tiles.put(draw, (x + 27, y + 26 * row), written, SMALL, self.colors["muted"])
                x += self._width(label, SMALL) + 45

    def foot_lines(self, texts: Sequence[str]) -> list[str]:
        """The footer in as many lines as it takes, broken between its parts."""
        lines = []
        for text in texts:
            parts = text.split(" · ")
            widths = [self._width(part + " · ", FOOT) for part in parts]
            for line in self.area.wrapped(widths, 0, self.area.inner):
                lines.append(" · ".join(parts[index] for index in line))
        return lines

    def foot(self, draw: ImageDraw.ImageDraw, y: int, lines: Sequence[str]) -> None:
        """Draw the footer under a line at `y`, 19 pixels a line."""
        draw.line((self.area.left, y, self.area.left + self.area.width, y), self.colors["line"])
        for row, text in enumerate(lines):
            written = self.tiles.glyphs.cut(self.tiles.glyphs.written(text, "sans"), FOOT, self.area.room)
            self.tiles.put(draw, (self.area.inner, y + 20 + 19 * row), written, FOOT, self.colors["muted"])

    def sheet(self, height: int) -> Image.Image:
        """An empty picture of an even height."""
        return Image.new("RGB", (self.area.width, height + height % 2), self.colors["card"])

    def _width(self, text: str, size: int) -> float:
        return self.tiles.glyphs.width(self.tiles.glyphs.written(text, "sans"), size)


class Painter:
    """Draws the frames of a run in a theme; `numbers` are the passes that will be drawn, `note` is for the footer."""

    def __init__(
        self, trace: Trace, theme: Theme = "light", numbers: Sequence[int] | None = None, note: str = ""
    ) -> None:
        self.trace = trace
        self.theme = theme
        self.stand = Stand(theme, Area())
        shown = range(len(trace.passes)) if numbers is None else numbers
        self.panel = Panel(trace, self.stand.tiles, shown, Area(), FACTS_Y)
        self.ground = self._ground(note)

    @property
    def colors(self) -> Mapping[str, RGB]:
        """The colours of the theme by name."""
        return self.stand.colors

    @property
    def sheet(self) -> Sheet:
        """Where the canvas stands."""
        return self.panel.sheet

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of every picture in pixels, both even."""
        return self.ground.size

    def paint(self, number: int) -> Image.Image:
        """The picture after pass `number`, RGB."""
        image = self.ground.copy()
        self.stand.progress(ImageDraw.Draw(image), TRACK_Y, number / max(1, len(self.trace.passes) - 1))
        self.panel.paint(image, frame(self.trace, number))
        return image

    def _ground(self, note: str) -> Image.Image:
        stand, trace = self.stand, self.trace
        samples = stand.samples([trace])
        lines = stand.foot_lines((*words.footer(trace.header), *([note] if note else [])))
        legend_y = self.panel.bottom + 6
        foot_y = legend_y + 26 * len(samples[1]) + 10
        image = stand.sheet(foot_y + 18 + 19 * len(lines) + 8)
        draw = ImageDraw.Draw(image)
        stand.title(draw, words.title(trace.header))
        stand.track(draw, TRACK_Y, ticks(trace), [dots(trace)])
        stand.legend(image, draw, legend_y, samples)
        stand.foot(draw, foot_y, lines)
        return image


def ticks(trace: Trace) -> list[float]:
    """Where blocks begin, as shares of the run."""
    last = max(1, len(trace.passes) - 1)
    shares, block = [], -1
    for number, entry in enumerate(trace.passes):
        if entry.phase != "start" and entry.block != block:
            block = entry.block
            shares.append(number / last)
    return shares


def dots(trace: Trace) -> list[float]:
    """Where tokens were thrown back, as shares of the run."""
    last = max(1, len(trace.passes) - 1)
    return [number / last for number, entry in enumerate(trace.passes) if entry.phase == "renoise"]


def picture(trace: Trace, number: int, theme: Theme = "light") -> Image.Image:
    """The canvas after pass `number` as a picture, RGB; raises IndexError when the trace has no such pass."""
    frame(trace, number)
    return Painter(trace, theme, [number]).paint(number)
