"""Figures, differences and curves of runs: the browser says what Python says."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from blockviz.sampling.settings import FIELDS
from blockviz.views.comparison import differences, differing, facts, field_names
from blockviz.views.progress import curves
from tests.browser.fake_runs import fake_run, text
from tests.browser.test_player import address, browser, page  # noqa: F401 (fixtures)

pytestmark = pytest.mark.browser
ASSETS = Path(__file__).resolve().parents[2] / "assets"
RUNS = [
    fake_run(seed=41),
    fake_run("uniform", seed=42, steps=2),
    fake_run(seed=43, block_size=8, steps=1),
    fake_run("uniform", seed=44, length=50, prompt_length=0),
    fake_run(seed=45, prompt_length=60),
    fake_run(seed=46, more={"seams": "overlap", "overlap": 4}),  # its header has the later settings, too
]


@pytest.fixture
def with_facts(page: Page) -> Page:  # noqa: F811
    page.add_script_tag(path=ASSETS / "compare_facts.js")
    page.evaluate(
        """([fields, defaults]) => {
          BlockViz.panels = { ...BlockViz.panels, compare: { fields } };
          BlockViz.defaults = defaults;
        }""",
        [field_names(), {name: field.default for name, field in FIELDS.items()}],
    )
    page.evaluate(
        """(texts) => { window.runs = texts.map((text) => {
             const run = new BlockViz.Run(); run.feed(text); return run; }); }""",
        [text(run) for run in RUNS],
    )
    return page


def test_the_figures_are_those_of_python(with_facts: Page) -> None:
    said = with_facts.evaluate("runs.map((run) => BlockViz.comparison.facts(run))")
    for mine, run in zip(said, RUNS, strict=True):
        wanted: dict[str, Any] = asdict(facts(run))
        assert mine.pop("entropy") == pytest.approx(wanted.pop("entropy"))
        assert mine.pop("ms") == pytest.approx(wanted.pop("ms"))
        wanted["distinct"] = [list(pair) for pair in wanted["distinct"]]
        wanted["equations"] = list(wanted["equations"])
        assert mine == wanted


def test_the_curves_are_those_of_python(with_facts: Page) -> None:
    said = with_facts.evaluate("runs.map((run) => BlockViz.comparison.curves(run))")
    for mine, run in zip(said, RUNS, strict=True):
        for chart, line in curves(run).items():
            assert mine[chart]["k"] == line["k"]
            assert mine[chart]["x"] == line["x"]
            assert mine[chart]["y"] == pytest.approx(line["y"], abs=2e-4)


def test_what_differs_is_what_python_says(with_facts: Page) -> None:
    for i, one in enumerate(RUNS):
        for j, other in enumerate(RUNS):
            said = with_facts.evaluate(
                "([i, j]) => BlockViz.comparison.differing([runs[i].header, runs[j].header])", [i, j]
            )
            assert said == differing([one, other])


def test_differences_are_marked_as_in_python(with_facts: Page) -> None:
    pairs = [
        ["abcabba", "cbabac"],
        ["", "x"],
        ["x", ""],
        ["", ""],
        ["same", "same"],
        ["abcd", "xyz"],
        ["aXbXc", "abc"],
        ["the cat sat on the mat", "the bat sat at a mat"],
    ]
    said = with_facts.evaluate(
        "(pairs) => pairs.map(([a, b]) => BlockViz.comparison.differences([...a], [...b]))", pairs
    )
    assert said == [[list(marks) for marks in differences(list(a), list(b))] for a, b in pairs]
