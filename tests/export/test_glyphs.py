from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockviz.export.glyphs import FILES, FONTS, Glyphs, code_points

GLYPHS = Glyphs()


def test_every_sign_of_the_page_has_a_glyph() -> None:
    for face in FILES:
        written = GLYPHS.written("␣⏎⇥⟨⟩▒·…−×→α ✓✗äйλ", face)
        assert "U+" not in written.text, face


def test_what_has_no_glyph_is_named() -> None:
    assert GLYPHS.written("字x", "mono").text == "⟨U+5B57⟩x"
    assert GLYPHS.written("🙂", "sans").text == "⟨U+1F642⟩"
    assert GLYPHS.written("\ud800\u202e\x00\u00a0", "mono").text == "⟨U+D800⟩⟨U+202E⟩⟨U+0000⟩⟨U+00A0⟩"
    hebrew = GLYPHS.written("שלום", "mono")
    assert (hebrew.text, hebrew.face) == ("שלום", "sans")


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=[]), max_size=6))
def test_nothing_that_is_drawn_lacks_its_glyph(text: str) -> None:
    written = GLYPHS.written(text, "mono-oblique")
    assert {ord(character) for character in written.text} <= GLYPHS.covered(written.face)
    assert GLYPHS.width(written, 12) >= 0


def test_the_character_map_is_that_of_the_font() -> None:
    """A code point counts as covered exactly where the font does not draw its box for missing characters."""
    font = GLYPHS.font("mono", 40)
    box = bytes(font.getmask("\U000f0000"))
    covered = sorted(GLYPHS.covered("mono"))
    for point in random.Random(0).sample(covered, 60):
        assert bytes(font.getmask(chr(point))) != box, hex(point)
    for character in "字ש🙂":
        assert ord(character) not in GLYPHS.covered("mono")
        assert bytes(font.getmask(character)) == box


def test_long_texts_are_fitted_then_cut() -> None:
    written, size = GLYPHS.fitted("ab", "mono", (17, 12, 10), 60)
    assert (written.text, size) == ("ab", 17)
    written, size = GLYPHS.fitted("remaining", "mono", (17, 12, 10), 60)
    assert (written.text, size) == ("remaining", 10)
    written, size = GLYPHS.fitted("x" * 400, "mono", (17, 12, 10), 60)
    assert size == 10
    assert written.text.endswith("…")
    assert 45 < GLYPHS.width(written, size) <= 60


def test_only_fonts_have_a_character_map() -> None:
    with pytest.raises(ValueError, match="no character map"):
        code_points(b"\x00\x01\x00\x00" + b"\x00" * 40)


def test_the_fonts_come_with_their_licence() -> None:
    assert "Bitstream Vera" in (FONTS / "LICENSE").read_text(encoding="utf-8")
    assert {path.name for path in FONTS.glob("*.ttf")} == set(FILES.values())
