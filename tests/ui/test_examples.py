from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from blockviz.sampling.trace import Trace
from blockviz.ui.examples import (
    EXAMPLES,
    FIRST,
    FIRST_PAIR,
    entry_of,
    gallery,
    header_of,
    packed,
    recorded,
    settings_of_tasks,
)

NAMES = sorted({name for entry in gallery() for name in entry.runs})


def test_the_gallery_has_examples_of_both_tasks_each_with_its_sentence() -> None:
    listed = json.loads((EXAMPLES / "gallery.json").read_text("utf-8"))["entries"]
    assert [entry["name"] for entry in listed] == [entry.name for entry in gallery()]
    by_task = Counter(entry.task for entry in gallery())
    assert 8 <= by_task["math"] <= 14
    assert 4 <= by_task["stories"] <= 8
    for entry in gallery():
        assert 5 <= len(entry.title) <= 45
        assert 30 <= len(entry.sentence) <= 170
        assert entry.sentence.endswith(".")
    assert len({entry.title for entry in gallery()}) == len(listed)


def test_the_page_has_what_it_opens_with() -> None:
    first, pair = entry_of(FIRST), entry_of(FIRST_PAIR)
    assert first is not None
    assert pair is not None
    assert (first.runs, len(pair.runs)) == ((FIRST,), 2)
    assert entry_of("nothing") is None


def test_a_task_brings_the_settings_of_the_run_that_plays() -> None:
    settings = settings_of_tasks()
    assert set(settings) == {"math", "stories"}
    for task, one in settings.items():
        first = next(entry for entry in gallery() if entry.task == task and len(entry.runs) == 1)
        assert one == Trace.load(EXAMPLES / f"{first.runs[0]}.jsonl.gz").header.settings
    assert settings["math"] == Trace.load(EXAMPLES / f"{FIRST}.jsonl.gz").header.settings


def test_the_runs_are_small() -> None:
    files = [EXAMPLES / f"{name}.jsonl.gz" for name in NAMES]
    assert sum(path.stat().st_size for path in files) < 700_000


@pytest.mark.parametrize("name", NAMES)
def test_every_run_is_a_whole_trace_of_a_bundled_model(name: str) -> None:
    trace = Trace.load(EXAMPLES / f"{name}.jsonl.gz")
    assert "".join(trace.to_lines()) == recorded(name) == gzip.decompress(packed(name)).decode()
    assert not trace.end.stopped
    header = header_of(recorded(name))
    assert header == trace.header


def test_runs_of_one_entry_share_prompt_and_seed_and_say_how_they_were_chosen() -> None:
    for entry in gallery():
        headers = [Trace.load(EXAMPLES / f"{name}.jsonl.gz").header for name in entry.runs]
        assert len({header.prompt for header in headers}) == 1, entry.name
        assert len({header.settings.seed for header in headers}) == 1, entry.name
    told = {name for entry in gallery() if entry.chosen for name in entry.runs}
    assert told | {"no-second-thoughts", "story-first-thoughts"} == set(NAMES)
    for entry in gallery():
        among = "Not chosen" if entry.task == "stories" else "Chosen among"
        assert not entry.chosen or entry.chosen.startswith(among)


def test_what_is_missing_or_broken_is_left_out(tmp_path: Path) -> None:
    assert gallery(tmp_path) == ()
    shutil.copytree(EXAMPLES, tmp_path / "copy")
    (tmp_path / "copy" / f"{FIRST}.jsonl.gz").unlink()
    left = gallery(tmp_path / "copy")
    assert FIRST not in [name for entry in left for name in entry.runs]
    assert len(left) >= 8
    (tmp_path / "copy" / "left-to-right.jsonl.gz").write_bytes(b"no gzip")
    assert recorded("left-to-right", tmp_path / "copy") == ""
    for text in ("", "[]", '{"entries": [1]}', '{"entries": [{"name": "x"}]}'):
        (tmp_path / "copy" / "gallery.json").write_text(text)
        assert gallery(tmp_path / "copy") == ()


@pytest.mark.parametrize("name", ["../examples/doubts-mend", "", "x.jsonl", "DOUBTS", "nothing"])
def test_only_plain_names_are_looked_up(name: str) -> None:
    assert packed(name) == b""
    assert recorded(name) == ""
