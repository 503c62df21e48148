"""Text made visible for one cell of the canvas: white space, bytes, controls and lone marks each get something to see.

Two hexadecimal digits in ⟨ ⟩ are always a byte, four or more a code point (below U+0080 the two agree).
"""

from __future__ import annotations

import re
import unicodedata

LONGEST_PIECE = 512
"""Characters of a piece; the trace format takes no longer one."""

WHITE_SPACE = {" ": "\u2423", "\n": "\u23ce", "\t": "\u21e5"}
CARRIER = "\u25cc"
"""The dotted circle, which carries a combining mark that has no letter before it in its token."""

_JOINER = "\u200d"
_SELECTORS = (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
# Unicode calls these letters, marks and symbols, but they leave no ink.
_BLANK = frozenset(map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0)))
# Characters as which something else is shown: standing for themselves they go by their number.
_SIGNS = frozenset(WHITE_SPACE.values())
_LIKE_A_CODE = re.compile("\u27e8(?=[0-9A-F]{2,6}\u27e9)")


def visible(text: str) -> str:
    """The text on one line with nothing invisible in it, at most `LONGEST_PIECE` characters; never empty.

    A lone surrogate U+DC80 to U+DCFF is a byte that is no text alone (`errors="surrogateescape"`) and becomes ⟨80⟩ to
    ⟨FF⟩. Marks stay on their letter and emoji stay joined; a mark without a letter gets the dotted circle.
    """
    codes = {match.start() for match in _LIKE_A_CODE.finditer(text)}
    shown: list[str] = []
    carried = False  # whether the last character is one that a mark can stand on
    for i, c in enumerate(text):
        if c in WHITE_SPACE:
            shown.append(WHITE_SPACE[c])
            carried = False
        elif carried and (_is_selector(c) or _joins_emoji(text, i)):
            shown.append(c)
        elif c in _SIGNS or i in codes or not _leaves_ink(c):
            shown.append(code(c))
            carried = False
        elif unicodedata.category(c).startswith("M"):
            shown.append(c if carried else CARRIER + c)
            carried = True
        else:
            shown.append(c)
            carried = True
    piece = "".join(shown) or "\u27e8\u27e9"
    return piece if len(piece) <= LONGEST_PIECE else piece[: LONGEST_PIECE - 1] + "\u2026"


def code(character: str) -> str:
    """A character by its number, ⟨200D⟩; an escaped byte (U+DC80 to U+DCFF) by the byte's, ⟨E2⟩."""
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:
        return f"\u27e8{number - 0xDC00:02X}\u27e9"
    return f"\u27e8{number:02X}\u27e9" if number < 0x80 else f"\u27e8{number:04X}\u27e9"


def isolated(text: str) -> str:
    """The text so that its direction of writing does not move what stands beside it on a line of plain text."""
    return text if text.isascii() else f"\u2068{text}\u2069"


def _is_selector(c: str) -> bool:
    return any(ord(c) in selectors for selectors in _SELECTORS)


def _joins_emoji(text: str, i: int) -> bool:
    if text[i] != _JOINER or i + 1 == len(text):
        return False
    before = text[:i].rstrip("\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")[-1:]
    return all(c and unicodedata.category(c) == "So" for c in (before, text[i + 1]))


def _leaves_ink(c: str) -> bool:
    return c.isprintable() and not c.isspace() and c not in _BLANK and not _is_selector(c)
