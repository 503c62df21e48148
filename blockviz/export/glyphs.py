"""The bundled fonts: which characters they have, how wide a text is, and how to write what they lack.

A character without a glyph is written as its code point, ⟨U+5B57⟩, and so is one that would not be seen or would turn
the text around (controls, lone surrogates, bidirectional marks, unusual spaces): nothing becomes an empty box.
"""

from __future__ import annotations

import struct
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from PIL import ImageFont

from blockviz.views.bundle import ASSETS

FONTS = ASSETS / "fonts"

Face = Literal["mono", "mono-bold", "mono-oblique", "sans", "sans-bold"]
FILES: dict[Face, str] = {
    "mono": "DejaVuSansMono.ttf",
    "mono-bold": "DejaVuSansMono-Bold.ttf",
    "mono-oblique": "DejaVuSansMono-Oblique.ttf",
    "sans": "DejaVuSans.ttf",
    "sans-bold": "DejaVuSans-Bold.ttf",
}
# The face with more scripts, for what a monospaced one lacks.
WIDER: dict[Face, Face] = {"mono": "sans", "mono-bold": "sans-bold", "mono-oblique": "sans"}
_UNSEEN = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"))
_JOINERS = "\u200c\u200d"


@dataclass(frozen=True)
class Written:
    """A text as it is drawn: in which face, and with code points in place of what no face has."""

    text: str
    face: Face


@dataclass(frozen=True)
class Glyphs:
    """The fonts in `folder`; what was loaded or measured once is kept."""

    folder: Path = FONTS
    _fonts: dict[tuple[Face, int], ImageFont.FreeTypeFont] = field(default_factory=dict, repr=False)
    _covered: dict[Face, frozenset[int]] = field(default_factory=dict, repr=False)
    _written: dict[tuple[str, Face], Written] = field(default_factory=dict, repr=False)

    def font(self, face: Face, size: int) -> ImageFont.FreeTypeFont:
        """The face at a size in pixels."""
        key = (face, size)
        if key not in self._fonts:
            self._fonts[key] = ImageFont.truetype(self.folder / FILES[face], size)
        return self._fonts[key]

    def covered(self, face: Face) -> frozenset[int]:
        """The code points the face has a glyph for."""
        if face not in self._covered:
            self._covered[face] = code_points((self.folder / FILES[face]).read_bytes())
        return self._covered[face]

    def written(self, text: str, face: Face) -> Written:
        """How `text` is drawn in `face`, or in its wider sibling where only that has a character."""
        key = (text, face)
        if key not in self._written:
            self._written[key] = self._write(text, face)
        return self._written[key]

    def _write(self, text: str, face: Face) -> Written:
        wider = WIDER.get(face, face)
        own, more = self.covered(face), self.covered(wider)
        named = "".join(
            character if _plain(character) and ord(character) in own | more else named_point(character)
            for character in text
        )
        fits = all(ord(character) in own for character in named)
        return Written(named, face if fits else wider)

    def width(self, written: Written, size: int) -> float:
        """Pixels a text takes at a size."""
        return self.font(written.face, size).getlength(written.text)

    def fitted(self, text: str, face: Face, sizes: tuple[int, ...], room: float) -> tuple[Written, int]:
        """The text at the largest of `sizes` that fits into `room` pixels, cut with … where none does."""
        written = self.written(text, face)
        for size in sizes:
            if self.width(written, size) <= room:
                return written, size
        return self.cut(written, sizes[-1], room), sizes[-1]

    def cut(self, written: Written, size: int, room: float) -> Written:
        """The text, shortened from its end until it fits into `room` pixels with an ellipsis."""
        if self.width(written, size) <= room:
            return written
        low, high = 0, len(written.text)
        while low < high:
            middle = (low + high + 1) // 2
            if self.width(Written(written.text[:middle] + "…", written.face), size) <= room:
                low = middle
            else:
                high = middle - 1
        return Written(written.text[:low] + "…", written.face)


def named_point(character: str) -> str:
    """A character by its code point: ⟨U+5B57⟩."""
    return f"⟨U+{ord(character):04X}⟩"


def _plain(character: str) -> bool:
    category = unicodedata.category(character)
    if category == "Zs":
        return character == " "
    return category not in _UNSEEN or character in _JOINERS


def code_points(font: bytes) -> frozenset[int]:
    """The code points in the Unicode character map of a TrueType file (formats 4 and 12); ValueError without one."""
    tables = struct.unpack_from(">H", font, 4)[0]
    for index in range(tables):
        tag, _, offset, _ = struct.unpack_from(">4sIII", font, 12 + 16 * index)
        if tag == b"cmap":
            return _mapped(font, offset)
    raise ValueError("The font has no character map.")


def _mapped(font: bytes, table: int) -> frozenset[int]:
    found: set[int] = set()
    for index in range(struct.unpack_from(">H", font, table + 2)[0]):
        platform, _, offset = struct.unpack_from(">HHI", font, table + 4 + 8 * index)
        start = table + offset
        kind = struct.unpack_from(">H", font, start)[0]
        if platform in (0, 3) and kind == 12:
            for group in range(struct.unpack_from(">I", font, start + 12)[0]):
                first, last, _ = struct.unpack_from(">III", font, start + 16 + 12 * group)
                found.update(range(first, last + 1))
        elif platform in (0, 3) and kind == 4:
            found.update(_segments(font, start))
    return frozenset(found)


def _segments(font: bytes, start: int) -> set[int]:
    count = struct.unpack_from(">H", font, start + 6)[0] // 2
    ends = struct.unpack_from(f">{count}H", font, start + 14)
    starts = struct.unpack_from(f">{count}H", font, start + 16 + 2 * count)
    deltas = struct.unpack_from(f">{count}h", font, start + 16 + 4 * count)
    where = start + 16 + 6 * count
    offsets = struct.unpack_from(f">{count}H", font, where)
    found = set()
    for index, (first, last, delta, offset) in enumerate(zip(starts, ends, deltas, offsets, strict=True)):
        for point in range(first, min(last, 0xFFFE) + 1):
            if offset:
                at = where + 2 * index + offset + 2 * (point - first)
                glyph = struct.unpack_from(">H", font, at)[0]
            else:
                glyph = (point + delta) & 0xFFFF
            if glyph:
                found.add(point)
    return found
