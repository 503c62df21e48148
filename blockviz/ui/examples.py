"""The gallery: the recorded runs that come with the page, so that something plays before any model is loaded.

They are real traces, made by assets/examples/make.py from the bundled checkpoints, and `gallery.json` beside them says
what each shows and how it was chosen. One that is missing or cannot be read is left out.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockviz.evaluation.tasks import Task
from blockviz.sampling.passes import Header, TraceError
from blockviz.sampling.settings import SamplerSettings
from blockviz.sampling.trace_reader import LineReader
from blockviz.ui.wording import chosen_among
from blockviz.views.bundle import ASSETS

EXAMPLES = ASSETS / "examples"
LARGEST = 4_000_000
"""Characters of one recorded run; larger ones would slow down the first paint."""
MOST_RUNS = 4
"""Runs of one entry, as many as Compare holds."""
FIRST = "doubts-mend"
"""The entry, and the run, that Explore opens with."""
FIRST_PAIR = "masked-beside-uniform"
"""The entry that Compare opens with."""

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class Entry:
    """One example: `runs` are the names of its recorded runs, one for Explore, several for Compare.

    `chosen` is a sentence that says among how many seeds the run was chosen, and how; "" where the entry chose none.
    """

    name: str
    title: str
    sentence: str
    runs: tuple[str, ...]
    chosen: str
    task: Task = "math"


def gallery(folder: Path = EXAMPLES) -> tuple[Entry, ...]:
    """The entries whose runs are all there, in the order in which they are shown."""
    try:
        listed = json.loads((folder / "gallery.json").read_text("utf-8"))["entries"]
        found = [_entry(entry) for entry in listed]
    except (OSError, ValueError, KeyError, TypeError):
        return ()
    return tuple(entry for entry in found if all(packed(name, folder) for name in entry.runs))


def entry_of(name: str, folder: Path = EXAMPLES) -> Entry | None:
    """The entry of that name, or None."""
    return next((entry for entry in gallery(folder) if entry.name == name), None)


def settings_of_tasks(folder: Path = EXAMPLES) -> dict[Task, SamplerSettings]:
    """By task, the settings of the single run that plays when it is turned to: those of the first in the gallery."""
    found: dict[Task, SamplerSettings] = {}
    for entry in gallery(folder):
        if len(entry.runs) == 1 and entry.task not in found:
            header = header_of(recorded(entry.runs[0], folder))
            if header is not None:
                found[entry.task] = header.settings
    return found


def pictures(folder: Path = EXAMPLES) -> dict[str, list[str]]:
    """The small picture of each run by its name: rows (passes) of state digits (positions); {} where there are none."""
    try:
        found = json.loads((folder / "gallery.json").read_text("utf-8"))["pictures"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def lesson_choices(folder: Path = EXAMPLES) -> dict[str, str]:
    """For every run of Learn, by name, the sentence that says how it was chosen."""
    try:
        listed = json.loads((folder / "lessons.json").read_text("utf-8"))["entries"]
        return {name: _how(entry["chosen"]) for entry in listed for name in entry["runs"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def packed(name: str, folder: Path = EXAMPLES) -> bytes:
    """The file of a recorded run, gzip-compressed; nothing when there is none of that name."""
    if not _NAME.fullmatch(name):
        return b""
    try:
        content = (folder / f"{name}.jsonl.gz").read_bytes()
    except OSError:
        return b""
    return content if len(content) <= LARGEST else b""


def recorded(name: str, folder: Path = EXAMPLES) -> str:
    """The lines of a recorded run, or an empty text when it is not there or cannot be read."""
    try:
        if not packed(name, folder):
            return ""
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            text = file.read(LARGEST + 1)
    except (OSError, EOFError, ValueError):
        return ""
    return text if len(text) <= LARGEST else ""


def header_of(lines: str) -> Header | None:
    """The header of a recorded run: what was asked for; None for an empty text or one that is no trace."""
    reader = LineReader()
    try:
        reader.read(lines.partition("\n")[0])
    except TraceError:
        return None
    return reader.header


def _entry(entry: dict[str, Any]) -> Entry:
    chosen, runs = entry["chosen"], tuple(entry["runs"])
    if not 1 <= len(runs) <= MOST_RUNS or not all(isinstance(name, str) for name in runs):
        raise ValueError(f"The entry {entry['name']} of the gallery needs 1 to {MOST_RUNS} names of runs.")
    task: Task = "stories" if entry.get("task") == "stories" else "math"
    return Entry(entry["name"], entry["title"], entry["sentence"], runs, _how(chosen), task)


def _how(chosen: dict[str, Any]) -> str:
    return chosen_among(chosen["seeds_tried"], chosen["seeds_fitting"], chosen["rule"]) if chosen else ""
