"""What a canvas starts with: a text to go on from, a text with gaps, or tokens at given positions.

    Mia has [[2]] apples.    two tokens are written between the two fixed texts
    Once upon [[]]           from here to the end of the canvas
    [[40=dragon]]            position 40 (counted from 1) holds this text, wherever that is

A text with gaps ends with its last word, unless `[[]]` says that it goes on; a text without any goes on. Byte-pair
tokens carry the space before them, so a space in front of what is to be written belongs to that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from blockviz.models.tokens import Tokens as Tokenizer
from blockviz.sampling.settings import MAX_LENGTH, SettingsError

Tokens = Sequence[int | None]
"""Token ids from position 0 on; None is a position to write, and so is everything behind the last entry."""

_MARK = re.compile(r"\[\[(?:(?P<gap>[0-9]{0,9})|(?P<place>[0-9]{1,9})=(?P<text>[^\[\]\n]+))\]\]")


@dataclass(frozen=True)
class Prompt:
    """A prompt on its canvas: `tokens` (None is to be written), and the `length` of the canvas in positions."""

    tokens: tuple[int | None, ...]
    length: int

    @property
    def leading(self) -> list[int]:
        """The tokens before the first position to write."""
        return leading(self.tokens)


def leading(tokens: Tokens) -> list[int]:
    """The tokens before the first position to write."""
    stop = list(tokens).index(None) if None in tokens else len(tokens)
    return [token for token in tokens[:stop] if token is not None]


def has_gaps(text: str) -> bool:
    """Whether a text has marks of this module, so that it is more than something to go on from."""
    return _MARK.search(text) is not None


def read_prompt(text: str, tokenizer: Tokenizer, length: int, end_id: int | None) -> Prompt:
    """The prompt that `text` is on a canvas of `length` positions.

    Where a text with gaps ends, the canvas ends too: with end tokens to its last position, as in training, or shorter
    where the model has no end token. Raises UnknownText for words the tokenizer lacks, SettingsError for marks that
    leave nothing to write, do not fit, or contradict each other.
    """
    if not has_gaps(text):
        return Prompt(tuple(_before(text, tokenizer)), length)
    if text.rstrip().endswith("]]"):
        text = text.rstrip()
    given: list[int | None] = []
    places: list[tuple[int, list[int]]] = []
    sized = False
    parts = list(_parts(text))
    for (kind, words, count), following in zip(parts, [*(part[0] for part in parts[1:]), "end"], strict=True):
        if kind == "text":
            given += _before(words, tokenizer) if following in ("gap", "rest") else tokenizer.encode(words)
        elif kind == "place":
            places.append((count, tokenizer.encode(words)))
        elif kind == "gap":
            sized = True
            given += [None] * min(count, MAX_LENGTH + 1)
        elif not text.endswith("[[]]") or text.count("[[]]") > 1:
            raise _refused(text, "[[]] at the end only, where the rest of the canvas is written")
    if len(given) > length:
        raise SettingsError(
            "prompt",
            len(given),
            f"at most {length}, the length of the canvas",
            told=f"The prompt takes {len(given)} positions with its gaps",
        )
    if sized and not text.endswith("[[]]"):
        if end_id is None:
            length = len(given)
        else:
            given += [end_id] * (length - len(given))
    for place, ids in places:
        _put(text, given, place, ids, length)
    return Prompt(tuple(given), length)


def _parts(text: str) -> Iterator[tuple[str, str, int]]:
    """(kind, words, number) of the parts: "text", "gap" (of that many), "rest" and "place" (position, from 1)."""
    at = 0
    for mark in _MARK.finditer(text):
        if text[at : mark.start()]:
            yield "text", text[at : mark.start()], 0
        at = mark.end()
        if mark["text"] is not None:
            yield "place", mark["text"], int(mark["place"])
        elif mark["gap"]:
            yield "gap", "", int(mark["gap"])
        else:
            yield "rest", "", 0
    if text[at:] or not at:
        yield "text", text[at:], 0


def _before(words: str, tokenizer: Tokenizer) -> list[int]:
    """The tokens of a text that something is written behind, without a last token that is its last space alone, where
    the tokenizer has others that begin with one."""
    ids = list(tokenizer.encode(words))
    if (
        not words.endswith(" ")
        or not tokenizer.carries_spaces
        or ids[:-1] != list(tokenizer.encode(words[:-1]))
    ):
        return ids
    return ids[:-1]


def _put(text: str, given: list[int | None], place: int, ids: Sequence[int], length: int) -> None:
    """Put `ids` at position `place`, counted from 1, where nothing is fixed yet."""
    if not 1 <= place <= length - len(ids) + 1:
        raise SettingsError(
            "prompt",
            text,
            f"positions from 1 to {length}, the length of the canvas",
            told=f"Nothing can stand at position {place}",
        )
    given += [None] * (place - 1 + len(ids) - len(given))
    for offset, token in enumerate(ids):
        if given[place - 1 + offset] is not None:
            raise SettingsError(
                "prompt",
                text,
                "a position that is still to be written",
                told=f"Position {place + offset} is fixed already",
            )
        given[place - 1 + offset] = token


def _refused(text: str, allowed: str) -> SettingsError:
    return SettingsError("prompt", text, allowed)
