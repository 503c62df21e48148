"""Exported pages opened from disk without a network, held cell by cell against the frame model and the live page."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from blockviz.export.board import together
from blockviz.export.files import write
from blockviz.export.frames import Frame, frame, legend
from blockviz.export.standalone import page as exported
from blockviz.export.words import footer, title
from blockviz.sampling.trace import Trace
from blockviz.ui.examples import FIRST, recorded
from blockviz.views.alignment import AXES
from blockviz.views.progress import CHARTS, figure
from tests.browser.conftest import PATIENCE_MS, Visit
from tests.browser.fake_runs import fake_run

pytestmark = pytest.mark.browser

# Every pass of the visible player, drawn at once: what its cells and its facts line say.
GATHER = """(index) => {
  const player = BlockViz.visibleBus().players[index];
  const text = (cell, name) => (cell.querySelector(name) || { textContent: "" }).textContent;
  const all = [];
  for (let k = 0; k <= player.run.last; k++) {
    player.draw(k);
    all.push({
      cells: [...player.frame.querySelectorAll(".bv-cell")].map((cell) => [
        Number(cell.dataset.pos), Number(cell.dataset.token), cell.dataset.state, text(cell, ".bv-text"),
        cell.dataset.badge ? text(cell, ".bv-badge") : "", cell.dataset.badge || "", cell.dataset.check || "",
        cell.dataset.glyph === "mask",
      ]),
      facts: Object.fromEntries(
        [...player.frame.querySelectorAll("[data-fact]")].map((fact) => [fact.dataset.fact, fact.textContent])),
      chip: player.frame.querySelector(".bv-chip-phase").textContent,
      statuses: [...player.frame.querySelectorAll(".bv-row .bv-status")].map((node) => node.textContent),
    });
  }
  return all;
}"""


@pytest.fixture
def opened(chromium: Browser, tmp_path: Path) -> Iterator[Any]:
    """Open an exported page from disk, offline; nothing may go wrong, be blocked or be asked for."""
    problems: list[str] = []
    contexts = []

    def open_page(text: str, width: int = 1440, scheme: str = "light", **options: Any) -> Page:
        path = tmp_path / f"page {len(contexts)} #1.html"
        path.write_text(text, encoding="utf-8", newline="\n")
        calm = {"reduced_motion": "reduce", "offline": True, "color_scheme": scheme, **options}
        context = chromium.new_context(viewport={"width": width, "height": 900}, **calm)
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(PATIENCE_MS)
        tab.on("pageerror", lambda error: problems.append(f"error: {error}"))
        tab.on(
            "console",
            lambda line: problems.append(line.text) if line.type in ("error", "warning") else None,
        )
        asked = f"{path.as_uri()}"
        tab.on(
            "request",
            lambda request: (
                problems.append(f"asked for {request.url[:200]}")
                if request.url != asked and not request.url.startswith(("data:", "blob:"))
                else None
            ),
        )
        tab.goto(asked)
        until(tab, "BlockViz.state().ended && BlockViz.state().shown >= 0")
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def until(page: Page, expression: str) -> None:
    """Wait until it holds; Playwright's own waiting evaluates text inside the page, which its policy forbids."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(100)


def told(one: Frame) -> dict[str, Any]:
    """A frame as GATHER tells it."""
    cells = [
        [cell.position, cell.token, cell.state, cell.text, cell.badge, cell.kind, cell.check, cell.mask]
        for cell in one.cells
    ]
    facts = {fact.name: fact.text for fact in one.facts}
    return {"cells": cells, "facts": facts, "chip": one.chip, "statuses": list(one.statuses)}


def agree(page: Page, trace: Trace, index: int = 0) -> None:
    seen = page.evaluate(GATHER, index)
    assert len(seen) == len(trace.passes)
    for number, shown in enumerate(seen):
        expected = told(frame(trace, number))
        for name, text in expected["facts"].items():
            assert shown["facts"][name] == text, (number, name)
        assert shown["cells"] == expected["cells"], number
        assert shown["chip"] == expected["chip"], number
        assert shown["statuses"] == expected["statuses"], number


def hostile(trace: Trace) -> Trace:
    """The run with texts that would run in a page that took them for markup."""
    bad = "</script><img src=x onerror='window.hit=1'><!--${window.hit=1}"
    header = replace(trace.header, prompt=bad, model=replace(trace.header.model, name=bad))
    mask = trace.header.model.mask_id
    pieces = {
        token: piece if token == mask or token % 3 else f"{bad}{token}\u202e\ud800\x07"
        for token, piece in trace.pieces.items()
    }
    return replace(trace, header=header, pieces=pieces, end=replace(trace.end, text=bad))


def test_live_page_exported_page_and_frames_agree(visit: Visit, site: str, opened: Any) -> None:
    trace = Trace.from_lines(recorded(FIRST).splitlines())
    live = visit(site)
    live.wait_for_function("BlockViz.state().ended")
    agree(live, trace)
    page = opened(exported([trace], views=False))
    agree(page, trace)
    # What AR would have written stands on the page's cells only, not in films.
    labels = page.locator('.bv-legend li:not(:has([data-state="other"]))').all_text_contents()
    assert [label[1:] for label in labels] == [label for _, label in legend(trace)]
    assert page.evaluate("BlockViz.describe(BlockViz.visibleBus().players[0].run.header)") == title(
        trace.header
    )
    assert page.evaluate("BlockViz.footer(BlockViz.visibleBus().players[0].run.header)") == list(
        footer(trace.header)
    )


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_hostile_text_is_shown_and_never_run(process: str, opened: Any) -> None:
    trace = hostile(fake_run(process, seed=4))
    page = opened(exported([trace], views=False))
    agree(page, trace)
    assert page.evaluate("window.hit") is None
    assert page.locator("main img, main script").count() == 0
    assert footer(trace.header)[0] in page.get_by_test_id("footer").inner_text()


def test_four_runs_under_one_scrubber_with_their_charts(opened: Any, tmp_path: Path) -> None:
    runs = [fake_run(process, seed=seed) for seed, process in enumerate(["masked", "uniform"] * 2)]
    page = opened(exported(runs), width=1600)
    until(page, "document.querySelectorAll('.bv-view-plot .main-svg').length >= 16")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    until(page, "BlockViz.state().players.every((player) => player.shown === 1)")
    assert page.get_by_test_id("scrubber").count() == 1
    assert [page.get_by_test_id(f"canvas-{side}").count() for side in "abcd"] == [1] * 4
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for index, trace in enumerate(runs):
        agree(page, trace, index)


def test_pages_and_films_put_the_same_passes_beside_each_other(opened: Any) -> None:
    runs = [
        Trace.from_lines(recorded(name).splitlines())
        for name in ("doubts-mend", "own-doubts", "blocks-of-32")
    ]
    page = opened(exported(runs, views=False), width=1600)
    for axis in AXES:
        shown = page.evaluate(
            """(axis) => {
              const bus = BlockViz.visibleBus();
              bus.setAlignment(axis);
              return [...Array(bus.last + 1).keys()].map((k) => {
                bus.seek(k);
                return bus.players.map((player) => {
                  const target = bus.target(player);
                  return [Math.min(target, player.run.last), target > player.run.last];
                });
              });
            }""",
            axis,
        )
        assert shown == [[list(side) for side in row] for row in together(runs, axis).rows], axis
    for index, trace in enumerate(runs):
        agree(page, trace, index)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_is_the_systems_until_it_is_switched(scheme: str, opened: Any) -> None:
    page = opened(exported([fake_run("masked")], views=False), scheme=scheme, width=390)
    dark = "document.body.classList.contains('dark')"
    assert page.evaluate(dark) == (scheme == "dark")
    page.get_by_test_id("theme").click()
    assert page.evaluate(dark) == (scheme == "light")
    page.emulate_media(color_scheme="light" if scheme == "dark" else "dark")
    assert page.evaluate(dark) == (scheme == "light")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_hover_works_in_an_exported_page(opened: Any, tmp_path: Path) -> None:
    trace = fake_run("uniform")
    (path,) = write([trace], ["run"], ["html"], tmp_path)
    page = opened(path.read_text(encoding="utf-8"))
    page.evaluate("BlockViz.visibleBus().seek(2)")
    until(page, "BlockViz.state().shown === 2")
    page.get_by_test_id("canvas").locator('[data-pos="22"]').hover()
    tip = page.locator(".bv-tip")
    tip.wait_for()
    assert "position 23 of 64 · block 2" in tip.inner_text()


def test_several_runs_have_their_figures_and_charts_below(opened: Any) -> None:
    runs = [fake_run(process, seed=seed) for seed, process in enumerate(["masked", "uniform"])]
    page = opened(exported(runs))
    until(page, "document.querySelectorAll('[data-testid^=chart-] .main-svg').length >= 3")
    assert page.get_by_test_id("summary").locator("[data-row=calls] td").count() == 3
    assert page.get_by_test_id("summary").locator("[data-row=nll]").count() == 0, "no model can be asked here"
    assert page.locator("[data-testid=final-texts] mark").count() > 0
    for chart in CHARTS:
        said = page.evaluate(
            """(chart) => {
                 const { data, layout } = document.querySelector(`[data-testid=chart-${chart}] .bv-view-plot`);
                 return [data.map(({ x, y, line, name }) => ({ x, y, dash: line.dash, name })), layout.xaxis.range,
                         layout.yaxis.range]; }""",
            chart,
        )
        python = figure(runs, chart)
        lines = [
            {"dash": line["line"]["dash"], **{k: line[k] for k in ("x", "y", "name")}}
            for line in python["data"]
        ]
        for mine, wanted in zip(said[0], lines, strict=True):
            assert mine.pop("y") == pytest.approx(wanted.pop("y"), abs=2e-4)
            assert mine == wanted
        assert said[1] == pytest.approx(python["layout"]["xaxis"]["range"])
        assert said[2] == pytest.approx(python["layout"]["yaxis"]["range"])
    page.select_option("[data-testid=align]", "share")
    page.keyboard.press("End")
    until(page, "BlockViz.state().players.every((player) => player.pass === player.passes - 1)")
    assert page.locator(".bv-progress-dot:not([hidden])").count() == 6
