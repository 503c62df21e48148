"""What a chapter of the Learn tab is: sentences, a recorded run per choice, what is outlined on it, a question.

A text holds three kinds of things: plain words, `[[term]]` or `[[words|term]]` for a word of the glossary, and `{name}`
for a value that the chapter reads from its runs or from measured figures. No number is typed into a text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from blockviz.sampling.trace import Trace

Runs = Mapping[str, Trace]
"""The recorded runs of a chapter by name."""
Values = Mapping[str, str]
"""What stands for the `{name}`s of a text."""
Pick = Callable[[Trace], int]
"""Chooses a pass of a run."""
Places = Callable[[Trace], tuple[int, ...]]
"""Chooses positions of a run."""

Rule = Literal["new", "thrown", "frozen", "block", "noise", "listed"]
"""Which positions are outlined at a pass: `reading.outlined` and `assets/learn_outline.js` say what each means."""


@dataclass(frozen=True)
class Option:
    """One choice of a chapter's control: its label, the run it shows and the pass at which that opens."""

    label: str
    run: str
    at: Pick
    places: Places | None = None


@dataclass(frozen=True)
class Control:
    """The one thing to turn in a chapter: `chosen` is the option it opens with."""

    label: str
    help: str
    options: tuple[Option, ...]
    chosen: int = 0


@dataclass(frozen=True)
class Outline:
    """What is outlined on the canvas, and in which words."""

    rule: Rule
    words: str


@dataclass(frozen=True)
class Question:
    """A question whose answer the run shows: at the pass `at` of the option with this number.

    There the positions `places` are outlined, where given, instead of the chapter's own.
    """

    text: str
    answer: str
    option: int
    at: Pick
    places: Places | None = None


@dataclass(frozen=True)
class Measured:
    """A sentence with figures from a file that may not be there, and the sentence that stands for it then."""

    text: str
    without: str


@dataclass(frozen=True)
class Chapter:
    """One chapter. `facts` reads values from its runs, `figures` from measured tables and papers.

    `short` is its name in the list of chapters; `sources` are names in `figures.SOURCES`; `paragraph` is the number of
    sentences before the first break; `views` are shown under the canvas.
    """

    name: str
    short: str
    title: str
    sentences: tuple[str | Measured, ...]
    control: Control
    outline: Outline
    question: Question
    facts: Callable[[Runs], Values]
    figures: Callable[[], Values] | None = None
    sources: tuple[str, ...] = ()
    views: tuple[str, ...] = ("fill",)
    paragraph: int = 3
