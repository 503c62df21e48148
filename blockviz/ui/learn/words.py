"""The texts of chapters: glossary marks and values. What is filled in is never read as markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_MARK = re.compile(r"\[\[(?:([^|\[\]]+)\|)?([^|\[\]]+)\]\]")
_VALUE = re.compile(r"\{(\w+)\}")

Segment = tuple[str, str]
"""Words and the glossary term they stand for, "" for none."""


def segments(text: str, values: Mapping[str, str]) -> list[Segment]:
    """A text in its parts; raises KeyError for a value that is not given."""
    parts: list[Segment] = []
    at = 0
    for found in _MARK.finditer(text):
        parts.append((fill(text[at : found.start()], values), ""))
        parts.append((fill(found.group(1) or found.group(2), values), found.group(2)))
        at = found.end()
    parts.append((fill(text[at:], values), ""))
    return [part for part in parts if part[0]]


def fill(text: str, values: Mapping[str, str]) -> str:
    """`text` with `{name}` replaced by the value of that name."""
    return _VALUE.sub(lambda found: values[found.group(1)], text)


def terms(text: str) -> Iterator[str]:
    """The glossary terms that a text marks."""
    return (found.group(2) for found in _MARK.finditer(text))


def wanted(text: str) -> set[str]:
    """The names of the values that a text asks for."""
    return set(_VALUE.findall(text))


def plain(text: str) -> str:
    """A text without its glossary marks."""
    return _MARK.sub(lambda found: found.group(1) or found.group(2), text)


def sentence_like(text: str) -> bool:
    """Whether a text is one sentence: a capital letter or a value first, one full stop or question mark, at the end."""
    bare = plain(text)
    ends = re.findall(r"[.?!](?=\s|$)", bare)
    return len(ends) == 1 and bare[-1] in ".?!" and (bare[0].isupper() or bare[0] in "{“")
