"""Reading a checkpoint's small JSON files: every field as one kind of value, whatever else may stand there.

Knows nothing of torch, so that the page can read the files of a folder before torch is there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LARGEST_JSON = 1_000_000
"""Bytes of a JSON file; a longer one is refused unread."""


class CheckpointError(ValueError):
    """A checkpoint cannot be used; the message is one sentence that says why."""


_NEEDED: Any = object()
"""Stands for the default of a field that has none."""


@dataclass(frozen=True)
class Fields:
    """The fields of one JSON object, each read as one kind of value; `file` is its name in a message.

    A field that is not there gives its default where it has one; everything else raises CheckpointError.
    """

    file: str
    content: Mapping[str, Any]

    def whole(self, name: str, low: int, high: int, default: Any = _NEEDED) -> Any:
        """A whole number from `low` to `high`."""
        return self._value(name, _whole(low, high), f"a whole number from {low} to {high}", default)

    def whole_or_null(self, name: str, low: int, high: int) -> int | None:
        """A whole number from `low` to `high`, or null."""
        fits, allowed = _whole(low, high), f"a whole number from {low} to {high} or null"
        value: int | None = self._value(name, lambda value: value is None or fits(value), allowed)
        return value

    def number(self, name: str, low: float, high: float, default: Any = _NEEDED) -> float:
        """A number from `low` to `high`."""
        return float(self._value(name, _number(low, high), f"a number from {low} to {high}", default))

    def flag(self, name: str, default: Any = _NEEDED) -> bool:
        """True or false."""
        return bool(self._value(name, lambda value: isinstance(value, bool), "true or false", default))

    def text(self, name: str, default: Any = _NEEDED) -> Any:
        """A string."""
        return self._value(name, lambda value: isinstance(value, str), "a string", default)

    def choice(self, name: str, options: tuple[str | None, ...], default: Any = _NEEDED) -> Any:
        """One of the options."""
        return self._value(
            name, lambda value: value in options, " or ".join(shown(option) for option in options), default
        )

    def mapping(self, name: str, default: Any = _NEEDED) -> dict[str, Any]:
        """A JSON object."""
        return dict(self._value(name, lambda value: isinstance(value, dict), "an object", default))

    def wholes(self, name: str, low: int, high: int) -> tuple[int, ...]:
        """A list of whole numbers from `low` to `high`."""
        return self._items(name, _whole(low, high), f"whole numbers from {low} to {high}")

    def numbers(self, name: str, low: float, high: float) -> tuple[float, ...]:
        """A list of numbers from `low` to `high`."""
        return tuple(map(float, self._items(name, _number(low, high), f"numbers from {low} to {high}")))

    def _items(self, name: str, fits: Callable[[Any], bool], allowed: str) -> tuple[Any, ...]:
        items = self._value(name, lambda value: isinstance(value, list), f"a list of {allowed}")
        for item in items:
            if not fits(item):
                raise CheckpointError(
                    f"{self.file} has {shown(item)} in {name}, it must be a list of {allowed}"
                )
        return tuple(items)

    def _value(self, name: str, fits: Callable[[Any], bool], allowed: str, default: Any = _NEEDED) -> Any:
        if name not in self.content:
            if default is _NEEDED:
                raise CheckpointError(f"{self.file} lacks {name}")
            return default
        value = self.content[name]
        if not fits(value):
            raise CheckpointError(f"{self.file} has {name} {shown(value)}, it must be {allowed}")
        return value


def _whole(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and low <= value <= high  # a bool is an int to Python


def _number(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: type(value) in (int, float) and low <= value <= high


def shown(value: Any) -> str:
    """A JSON value in a message: printable, short, whatever a file says."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = repr(value[:100] if isinstance(value, str) else value)
    return text if len(text) <= 40 else text[:39] + "\u2026"


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object of a file of at most `LARGEST_JSON` bytes; CheckpointError for all else that may lie there."""
    if not os.path.isfile(path):
        raise CheckpointError(f"{path.parent.name} has no {path.name}")
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_JSON + 1)
        if len(text) > LARGEST_JSON:
            raise CheckpointError(f"{path.name} is longer than {LARGEST_JSON} bytes")
        content = json.loads(text.decode("utf-8"))
    except CheckpointError:
        raise
    except RecursionError:
        raise CheckpointError(f"{path.name} cannot be read: it is nested too deeply") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path.name} cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path.name} must hold one JSON object")
    return content
