from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockviz.models.pieces import CARRIER, LONGEST_PIECE, isolated, visible
from blockviz.sampling.trace_reader import MAX_PIECE


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("", "\u27e8\u27e9"),
        (" the", "\u2423the"),
        ("a\n\n\tb\r", "a\u23ce\u23ce\u21e5b\u27e80D\u27e9"),
        ("\x00\x1b[31m", "\u27e800\u27e9\u27e81B\u27e9[31m"),
        ("\u00a0\u3000\u00ad", "\u27e800A0\u27e9\u27e83000\u27e9\u27e800AD\u27e9"),
        ("a\u200bb\u200cc\ufeff", "a\u27e8200B\u27e9b\u27e8200C\u27e9c\u27e8FEFF\u27e9"),
        (
            "\u202eevil\u202c \u2066x\u2069",
            "\u27e8202E\u27e9evil\u27e8202C\u27e9\u2423\u27e82066\u27e9x\u27e82069\u27e9",
        ),
        ("e\u0301", "e\u0301"),
        ("\u0301e", CARRIER + "\u0301e"),
        (" \u0301\u0302", "\u2423" + CARRIER + "\u0301\u0302"),
        ("\u05e9\u05dc\u05d5\u05dd", "\u05e9\u05dc\u05d5\u05dd"),
        ("\u3164\u2800\u115f", "\u27e83164\u27e9\u27e82800\u27e9\u27e8115F\u27e9"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f468\u200d\U0001f469\u200d\U0001f467"),
        ("\U0001f44b\U0001f3fd\u200d\u2642\ufe0f", "\U0001f44b\U0001f3fd\u200d\u2642\ufe0f"),
        ("\u200d\U0001f469", "\u27e8200D\u27e9\U0001f469"),
        ("\U0001f468\u200d", "\U0001f468\u27e8200D\u27e9"),
        ("\ufe0f", "\u27e8FE0F\u27e9"),
        ("\U0001f1eb\U0001f1f7", "\U0001f1eb\U0001f1f7"),
        ("\ue000\U000e0067\u0378", "\u27e8E000\u27e9\u27e8E0067\u27e9\u27e80378\u27e9"),
        ("a\udce2\udc82", "a\u27e8E2\u27e9\u27e882\u27e9"),
        ("\u2423\u27e8E2\u27e9\u27e8x\u27e9", "\u27e82423\u27e9\u27e827E8\u27e9E2\u27e9\u27e8x\u27e9"),
        ("<img src=x onerror=1>${1}{{1}}</script>", "<img\u2423src=x\u2423onerror=1>${1}{{1}}</script>"),
    ],
)
def test_everything_has_something_to_see(text: str, piece: str) -> None:
    assert visible(text) == piece


@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda raw: raw.decode("utf-8", "surrogateescape")))
def test_no_piece_hides_or_reorders_anything(text: str) -> None:
    piece = visible(text)
    assert piece.strip()
    assert len(piece) <= LONGEST_PIECE
    assert unicodedata.category(piece[0])[0] != "M"
    for c in piece:
        assert c == "\u200d" or (c.isprintable() and not c.isspace()), hex(ord(c))
    piece.encode()  # no lone surrogate is left
    assert visible(piece.replace("\u2423", " ")) is not None


@given(st.binary(min_size=1, max_size=12), st.binary(min_size=1, max_size=12))
def test_different_bytes_look_different(a: bytes, b: bytes) -> None:
    first, second = (visible(raw.decode("utf-8", "surrogateescape")) for raw in (a, b))
    carried = CARRIER in first + second  # a lone mark looks like a mark on a dotted circle that was there
    assert (first == second) == (a == b) or carried


def test_a_very_long_text_is_cut_to_what_a_trace_takes() -> None:
    assert LONGEST_PIECE == MAX_PIECE
    assert visible("-" * 600) == "-" * (LONGEST_PIECE - 1) + "\u2026"
    assert len(visible("\u200b" * 300)) == LONGEST_PIECE


def test_only_what_could_turn_a_line_around_is_isolated() -> None:
    assert isolated("apples") == "apples"
    assert isolated("\u05e9") == "\u2068\u05e9\u2069"
