"""Checked access to the entries of a JSON object from outside; every refusal is a `TraceError` of one sentence."""

from __future__ import annotations

import json
from typing import Any, NoReturn, TypeVar

from blockviz.sampling.passes import TraceError

MAX_TEXT = 200_000
"""Characters of one text (a prompt, a generated text, a name)."""

Word = TypeVar("Word", bound=str)


def load_object(line: str) -> dict[str, Any]:
    """The JSON object that the line holds."""
    try:
        body = json.loads(line, parse_constant=_constant)
    except (ValueError, RecursionError):  # an integer of thousands of digits is a ValueError too
        raise TraceError("it is not JSON.") from None
    if not isinstance(body, dict):
        raise TraceError("it is not a JSON object.")
    return body


def _constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are not JSON


def refuse(name: str, expected: str) -> NoReturn:
    """Raise the error that entry `name` must be what `expected` says."""
    raise TraceError(f'"{name}" must be {expected}.')


def check_keys(body: dict[str, Any], known: frozenset[str], needed: frozenset[str]) -> None:
    """Refuse an object with an entry that is not `known`, or without one that is `needed`."""
    for name in body:
        if name not in known:
            raise TraceError(f'it has the unknown entry "{name[:40]}".')
    for name in sorted(needed):
        if name not in body:
            raise TraceError(f'"{name}" is missing.')


def whole(body: dict[str, Any], name: str, low: int, high: int) -> int:
    """The entry, a whole number within [low, high] (a bool is none)."""
    value = body[name]
    if type(value) is not int or not low <= value <= high:
        refuse(name, f"a whole number from {low} to {high}")
    return value


def number(value: object, name: str, low: float, high: float) -> float:
    """The value, a number within [low, high]."""
    if type(value) not in (int, float) or not low <= value <= high:  # type: ignore[operator]
        refuse(name, f"a number from {low:g} to {high:g}")
    return float(value)  # type: ignore[arg-type]


def two_numbers(body: dict[str, Any], name: str, low: float, high: float) -> tuple[float, float]:
    """The entry, a list of two numbers within [low, high]."""
    pair = body[name]
    if not isinstance(pair, list) or len(pair) != 2:
        refuse(name, "two numbers")
    return number(pair[0], name, low, high), number(pair[1], name, low, high)


def wholes(body: dict[str, Any], name: str, count: int | None, low: int, high: int) -> list[int]:
    """The entry, a list of whole numbers within [low, high], `count` of them unless None."""
    values = body[name]
    if not isinstance(values, list) or (count is not None and len(values) != count):
        refuse(name, "a list" if count is None else f"a list of {count}")
    if values and (set(map(type, values)) != {int} or min(values) < low or max(values) > high):
        refuse(name, f"whole numbers from {low} to {high}")
    return values


def text_of(body: dict[str, Any], name: str) -> str:
    """The entry, a text of at most MAX_TEXT characters."""
    value = body[name]
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        refuse(name, f"text of at most {MAX_TEXT} characters")
    return value


def word_of(body: dict[str, Any], name: str, words: tuple[Word, ...]) -> Word:
    """The entry, one of `words`."""
    value = body[name]
    for word in words:
        if value == word:
            return word
    refuse(name, "one of " + ", ".join(words))
