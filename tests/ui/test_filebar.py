from __future__ import annotations

import json

import pytest

from blockviz.ui.examples import gallery, recorded
from blockviz.ui.filebar import OpenError, asked_for, bar
from blockviz.ui.files import Handoff
from blockviz.ui.serving import PICTURES, assets


def test_an_example_comes_by_its_name() -> None:
    for entry in gallery():
        assert asked_for({"example": entry.name}, Handoff()) == [recorded(name) for name in entry.runs]
    for name in ("nothing", "../entries", 3, ["x"], {}):
        with pytest.raises(OpenError, match="no example"):
            asked_for({"example": name}, Handoff())


def test_opened_runs_come_once_by_the_names_of_their_files() -> None:
    handoff = Handoff()
    tokens = [handoff.put(["a"]), handoff.put(["b", "c"])]
    assert asked_for({"tokens": tokens}, handoff) == ["a", "b", "c"]
    for wrong in (tokens, [], None, "x", [1, None, {}]):
        with pytest.raises(OpenError, match="no longer there"):
            asked_for({"tokens": wrong}, handoff)
    many = [handoff.put(["a", "b", "c"]), handoff.put(["d", "e"])]
    with pytest.raises(OpenError, match="5 runs; at most 4"):
        asked_for({"tokens": many}, handoff)


def test_the_bar_holds_what_each_example_shows_and_the_pictures_fit() -> None:
    script = bar(assets(), "explore", "x").js_on_load
    options = json.loads(script.split("const options = ", 1)[1].split(";\n", 1)[0])
    assert [entry["name"] for entry in options["entries"]] == [entry.name for entry in gallery()]
    pictures = json.loads(assets()[PICTURES].content)
    for entry in options["entries"]:
        assert len(entry["ids"]) == len(entry["runs"])
        for name in entry["runs"]:
            assert {len(row) for row in pictures[name]} == {64}
            assert set("".join(pictures[name])) <= set("0123456789")
    assert options["colors"].keys() == {"light", "dark"}
