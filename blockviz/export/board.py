"""Pictures of two to four runs beside each other under one scrubber: the same cells and rules as a picture of one.

1280 pixels wide for two runs, 1920 for three or four. A run that is over keeps its last frame and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw

from blockviz.export import words
from blockviz.export.frames import frame
from blockviz.export.panel import Panel
from blockviz.export.picture import Stand, dots, ticks
from blockviz.export.sheet import WIDTH, Area
from blockviz.sampling.trace import MOST_RUNS, Trace
from blockviz.views import alignment
from blockviz.views.alignment import Axis
from blockviz.views.palette import Theme

WIDE = 1920
LABELS = "ABCD"
TRACK_Y = 66
TITLE_Y = 110
FACTS_Y = 144
TOP = 170
MARGIN = 20
GUTTER = 70
SPREADS = {2: 8, 3: 8, 4: 6}
"""Cells on a line by the number of runs."""
AXIS_WORDS: dict[Axis, str] = {
    "pass": "at the same pass",
    "nfe": "after as many network calls",
    "block": "at the same place of the canvas",
    "share": "after the same share of their passes",
    "ms": "after the same time on the machine that ran them",
}


@dataclass(frozen=True)
class Beside:
    """Which passes stand beside each other: `rows` has (pass, whether held) of every run for each pass of the lead.

    `lead` is the index of the run whose passes are counted.
    """

    lead: int
    rows: tuple[tuple[tuple[int, bool], ...], ...]


def together(traces: Sequence[Trace], axis: Axis) -> Beside:
    """How runs stand beside each other on an axis."""
    times = [alignment.times(trace, axis) for trace in traces]
    lead = alignment.leading(times)
    rows = tuple(
        tuple(alignment.beside(times[lead], k, own) for own in times) for k in range(len(traces[lead].passes))
    )
    return Beside(lead, rows)


class Board:
    """Draws runs side by side; `numbers` are the passes of the run that leads which will be drawn."""

    def __init__(
        self,
        traces: Sequence[Trace],
        theme: Theme = "light",
        numbers: Sequence[int] | None = None,
        note: str = "",
        axis: Axis = "pass",
    ) -> None:
        if not 2 <= len(traces) <= MOST_RUNS:
            raise words.ExportError(f"Side by side stand 2 to {MOST_RUNS} runs, not {len(traces)}.")
        self.traces = tuple(traces)
        self.axis = axis
        self.beside = together(traces, axis)
        width = WIDTH if len(traces) == 2 else WIDE
        self.stand = Stand(theme, Area(width=width))
        shown = range(len(self.lead.passes)) if numbers is None else numbers
        column = width // len(traces)
        self.panels = tuple(
            Panel(
                trace,
                self.stand.tiles,
                sorted({self.beside.rows[k][index][0] for k in shown}),
                Area(column * index, column, TOP, MARGIN, GUTTER, (SPREADS[len(traces)],)),
                FACTS_Y,
            )
            for index, trace in enumerate(traces)
        )
        self.ground = self._ground(note)

    @property
    def lead(self) -> Trace:
        """The run whose passes are counted."""
        return self.traces[self.beside.lead]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of every picture in pixels, both even."""
        return self.ground.size

    def paint(self, number: int) -> Image.Image:
        """The picture at pass `number` of the run that leads, RGB."""
        image = self.ground.copy()
        draw = ImageDraw.Draw(image)
        self.stand.progress(draw, TRACK_Y, number / max(1, len(self.lead.passes) - 1))
        for panel, (own, held) in zip(self.panels, self.beside.rows[number], strict=True):
            panel.paint(image, frame(panel.trace, own))
            if held:
                self._held(draw, panel, own)
        return image

    def _held(self, draw: ImageDraw.ImageDraw, panel: Panel, number: int) -> None:
        glyphs, area = self.stand.tiles.glyphs, panel.area
        place = (area.inner + area.room, TITLE_Y)
        text = glyphs.written(f"ended at pass {number}", "sans-bold")
        self.stand.tiles.put(draw, place, text, 12, self.stand.colors["checked"], "rm")

    def _ground(self, note: str) -> Image.Image:
        stand = self.stand
        samples = stand.samples(self.traces)
        texts = []
        for label, trace in zip(LABELS, self.traces, strict=False):
            first, second = words.footer(trace.header)
            texts += [f"{label}: {first}", second]
        lines = stand.foot_lines([*texts, *([note] if note else [])])
        bottom = max(panel.bottom for panel in self.panels)
        legend_y = bottom + 24
        foot_y = legend_y + 26 * len(samples[1]) + 10
        image = stand.sheet(foot_y + 18 + 19 * len(lines) + 8)
        draw = ImageDraw.Draw(image)
        stand.title(draw, f"{len(self.traces)} runs {AXIS_WORDS[self.axis]}")
        runs = list(enumerate(self.traces))
        starts = sorted({share for index, trace in runs for share in self._on_track(index, ticks(trace))})
        stand.track(draw, TRACK_Y, starts, [self._on_track(index, dots(trace)) for index, trace in runs])
        for label, panel in zip(LABELS, self.panels, strict=False):
            self._head(draw, label, panel)
            if panel.area.left:
                draw.line((panel.area.left, TITLE_Y - 16, panel.area.left, bottom + 2), stand.colors["line"])
        stand.legend(image, draw, legend_y, samples)
        stand.foot(draw, foot_y, lines)
        return image

    def _on_track(self, index: int, shares: Sequence[float]) -> list[float]:
        """Where shares of a run lie on the track, which counts the passes of the run that leads."""
        last = max(1, len(self.traces[index].passes) - 1)
        first: dict[int, int] = {}
        for k, row in enumerate(self.beside.rows):
            first.setdefault(row[index][0], k)
        along = max(1, len(self.lead.passes) - 1)
        passes = (round(share * last) for share in shares)
        return [
            min((k for own, k in first.items() if own >= number), default=along) / along for number in passes
        ]

    def _head(self, draw: ImageDraw.ImageDraw, label: str, panel: Panel) -> None:
        tiles, area = self.stand.tiles, panel.area
        letter = tiles.glyphs.written(label, "sans-bold")
        x = area.inner + tiles.put(draw, (area.inner, TITLE_Y), letter, 16, self.stand.colors["ink"]) + 10
        name = tiles.glyphs.written(words.title(panel.trace.header), "sans")
        size = 14 if len(self.traces) < MOST_RUNS else 13
        name = tiles.glyphs.cut(name, size, area.inner + area.room - x - 112)
        tiles.put(draw, (x, TITLE_Y), name, size, self.stand.colors["ink"])
