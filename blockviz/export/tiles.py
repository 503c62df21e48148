"""The pieces of a picture: cells in every state, badges, frames, chips; each drawn once and kept.

Shapes are drawn four times as large and reduced, so that their corners are smooth; text is drawn at its own size.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from PIL import Image, ImageDraw

from blockviz.export.colors import RGB
from blockviz.export.glyphs import Face, Glyphs, Written

FINE = 4
SIZES = (17, 16, 15, 14, 13, 12, 11, 10)
FLAT = re.compile("^[-−–—_=~+]+$")  # a horizontal strike would hide these


class Look(NamedTuple):
    """How a state is drawn: colours by their names in `colors`, "" for none."""

    ink: str
    ground: str = ""
    border: str = ""
    face: Face = "mono"
    dashed: bool = False
    smaller: int = 0


LOOKS: dict[str, Look] = {
    "prompt": Look("prompt", "prompt-bg", face="mono-bold"),
    "unopened": Look("unopened", smaller=3),
    "noise": Look("noise-ink", face="mono-oblique"),
    "proposed": Look("ink", "card", "accent", "mono-bold", dashed=True),
    "revealed": Look("accent-ink", "accent", face="mono-bold"),
    "kept": Look("ink", "card", "kept-line"),
    "renoised": Look("renoise-ink", "renoise-bg", "renoise"),
    "committed": Look("ink"),
    "after_end": Look("unopened", smaller=3),
}
BADGES: dict[str, Look] = {
    "cut": Look("badge-ink", "renoise-ink", face="sans-bold"),
    "doubt": Look("verify", "verify-bg", "verify", face="sans-bold"),
    "calm": Look("muted", "card", "line", face="sans"),
}
CHIPS: dict[str, Look] = {
    "start": Look("prompt", "prompt-bg"),
    "denoise": Look("accent-ink", "accent"),
    "propose": Look("accent-text", "accent-bg", "accent", dashed=True),
    "verify": Look("verify", "verify-bg"),
    "renoise": Look("renoise-ink", "renoise-bg", "renoise-line"),
    "commit": Look("checked", "commit-chip"),
    "edit": Look("edit", "edit-bg", "edit"),
}


@dataclass(frozen=True)
class Tiles:
    """Makes the pieces in the colours of one theme."""

    glyphs: Glyphs
    colors: dict[str, RGB]
    _kept: dict[tuple[object, ...], Image.Image] = field(default_factory=dict, repr=False)

    def cell(self, state: str, text: str, mask: bool, width: int, height: int) -> Image.Image:
        """A cell with its text, transparent where it has no ground."""
        key = ("cell", state, text, mask, width, height)
        if key not in self._kept:
            self._kept[key] = self._cell(state, text, mask, width, height)
        return self._kept[key]

    def _cell(self, state: str, text: str, mask: bool, width: int, height: int) -> Image.Image:
        look = LOOKS[state]
        if mask and state == "unopened":
            look = Look("faint")
        elif mask and state == "noise":
            look = Look("noise-ink", "hatch")
        image = self.hatched(width, height) if look.ground == "hatch" else self.box(width, height, look)
        image = image.copy()
        base = min(SIZES[0], round(height * 0.5)) - look.smaller
        sizes = tuple(size for size in SIZES if size <= base) or (SIZES[-1],)
        written, size = self.glyphs.fitted(text, look.face, sizes, width - 4)
        draw = ImageDraw.Draw(image)
        ink = self.colors[look.ink]
        self.put(draw, (width / 2, height / 2), written, size, ink, "mm")
        if state == "renoised":
            half = self.glyphs.width(written, size) / 2
            middle = width / 2, height / 2
            if FLAT.match(text):
                draw.line((middle[0] - 9, middle[1] - 7, middle[0] + 9, middle[1] + 7), fill=ink, width=2)
            else:
                draw.line((middle[0] - half, middle[1], middle[0] + half, middle[1]), fill=ink, width=2)
        return image

    def badge(self, text: str, kind: str, size: int = 11) -> Image.Image:
        """A score as it stands at the corner of a cell."""
        look = BADGES[kind]
        written = self.glyphs.written(text, look.face)
        width = round(self.glyphs.width(written, size)) + 8
        image = self.box(width, size + 5, look).copy()
        place = (width / 2, (size + 5) / 2)
        self.put(ImageDraw.Draw(image), place, written, size, self.colors[look.ink], "mm")
        return image

    def chip(self, phase: str, text: str, width: int, size: int) -> Image.Image:
        """The phase of a pass on its coloured ground."""
        look = CHIPS[phase]
        image = self.box(width, size + 12, look).copy()
        written = self.glyphs.written(text, "sans-bold")
        place = (width / 2, (size + 12) / 2)
        self.put(ImageDraw.Draw(image), place, written, size, self.colors[look.ink], "mm")
        return image

    def box(self, width: int, height: int, look: Look, radius: int = 5) -> Image.Image:
        """A rounded box with the ground and the border of `look`."""
        key = ("box", width, height, look.ground, look.border, look.dashed, radius)
        if key not in self._kept:
            self._kept[key] = self._box(width, height, look, radius)
        return self._kept[key]

    def _box(self, width: int, height: int, look: Look, radius: int) -> Image.Image:
        fine = Image.new("RGBA", (width * FINE, height * FINE))
        if not look.ground and not look.border:
            return fine.resize((width, height))
        draw = ImageDraw.Draw(fine)
        area = (0, 0, width * FINE - 1, height * FINE - 1)
        fill = self.colors[look.ground] if look.ground else None
        thick = round((2 if look.dashed or look.border == "renoise" else 1) * FINE)
        line = self.colors[look.border] if look.border else None
        draw.rounded_rectangle(area, radius * FINE, fill, line, thick if line else 0)
        if look.dashed and fill:
            for x in range(8 * FINE, (width - 8) * FINE, 7 * FINE):
                for y in (0, height * FINE - thick):
                    draw.rectangle((x, y, x + 3 * FINE, y + thick - 1), fill)
            for y in range(8 * FINE, (height - 8) * FINE, 7 * FINE):
                for x in (0, width * FINE - thick):
                    draw.rectangle((x, y, x + thick - 1, y + 3 * FINE), fill)
        return _reduced(fine, width, height)

    def hatched(self, width: int, height: int, radius: int = 5) -> Image.Image:
        """The striped box of the mask."""
        key = ("hatched", width, height, radius)
        if key not in self._kept:
            fine = Image.new("RGBA", (width * FINE, height * FINE), (*self.colors["hatch-bg"], 255))
            draw = ImageDraw.Draw(fine)
            for x in range(-height, width + height, 12):
                corners = ((x, height), (x + height, 0), (x + height + 5, 0), (x + 5, height))
                draw.polygon([(a * FINE, b * FINE) for a, b in corners], fill=self.colors["hatch"])
            shape = Image.new("L", fine.size)
            ImageDraw.Draw(shape).rounded_rectangle((0, 0, *fine.size), radius * FINE, 255)
            fine.putalpha(shape)
            self._kept[key] = _reduced(fine, width, height)
        return self._kept[key]

    def put(
        self,
        draw: ImageDraw.ImageDraw,
        place: tuple[float, float],
        written: Written,
        size: int,
        color: RGB,
        anchor: str = "lm",
    ) -> float:
        """Write a text at a place and return its width in pixels."""
        font = self.glyphs.font(written.face, size)
        draw.text(place, written.text, font=font, fill=(*color, 255), anchor=anchor)
        return self.glyphs.width(written, size)


def _reduced(fine: Image.Image, width: int, height: int) -> Image.Image:
    # With premultiplied alpha, so that the transparent corners do not darken the edge.
    return fine.convert("RGBa").resize((width, height), Image.Resampling.BOX).convert("RGBA")
