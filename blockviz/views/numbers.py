"""Numbers as the words of the page show them, rounded half up so that Python and JavaScript write the same digits."""

from __future__ import annotations

from math import floor

LONGEST_PIECE = 14


def fixed(value: float, digits: int) -> str:
    """A number with so many decimals and a true minus sign."""
    scale = 10**digits
    text = f"{floor(abs(value) * scale + 0.5) / scale:.{digits}f}"
    return f"−{text}" if value < 0 and float(text) != 0 else text


def brief(value: float) -> str:
    """A score in a sentence: one decimal, three where it would read 0.0."""
    return fixed(value, 3 if 0 < abs(value) < 0.05 else 1)


def close(value: float) -> str:
    """A score to compare with others: two decimals, three (as many as are recorded) where it is small."""
    return fixed(value, 3 if 0 < abs(value) < 0.1 else 2)


def percent(probability: float) -> str:
    """A probability in percent with one decimal, "<0.1%" below a twentieth of that."""
    tenths = floor(probability * 1000 + 0.5)
    return "<0.1%" if tenths == 0 and probability > 0 else f"{tenths / 10:.1f}%"


def count(number: int, word: str) -> str:
    """ "1 token", "3 tokens"."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def quoted(piece: str) -> str:
    """A token in a sentence: in quotation marks, shortened; its direction of writing moves nothing beside it."""
    long = len(piece) > LONGEST_PIECE
    start = piece[: LONGEST_PIECE - 1] if long else piece
    text = start + "…" if long else start
    return f"“{text}”" if start.isascii() else f"“\u2068{text}\u2069”"
