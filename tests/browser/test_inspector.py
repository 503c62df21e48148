"""The inspector, the story of a pass and what came back, in a real browser, against what Python says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import Any

import plotly
import pytest
from playwright.sync_api import Browser, Page

from blockviz.sampling.trace import Trace
from blockviz.views.life import compared, life
from blockviz.views.life_chart import curves
from blockviz.views.revisions import revisions
from blockviz.views.story import alternatives, sentence, step_passes
from blockviz.views.templates import SCRIPTS, STYLES, panels
from tests.browser.fake_runs import fake_run, piece, text
from tests.browser.test_player import CONTRAST, DESK, PHONE, address, browser, feed, show, state
from tests.sampling.traces import small_trace
from tests.views.runs import left_to_right, with_settings
from tests.views.test_fork_views import made
from tests.views.test_revisions import story

__all__ = ["address", "browser"]  # fixtures
pytestmark = pytest.mark.browser
ASSETS = Path(__file__).resolve().parents[2] / "assets"
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
PATIENCE_MS = 240_000


def fresh(browser: Browser, address: str, size: Any, charts: bool, **options: Any) -> tuple[Page, list[str]]:
    page = browser.new_page(viewport=size, reduced_motion="reduce", **options)
    page.set_default_timeout(PATIENCE_MS)
    problems: list[str] = []
    page.on("pageerror", lambda problem: problems.append(str(problem)))
    page.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
    page.goto(address)
    if charts:
        page.add_script_tag(path=PLOTLY)
        for name in SCRIPTS:
            page.add_script_tag(path=ASSETS / name)
    for name in STYLES:
        page.add_style_tag(path=ASSETS / name)
    page.evaluate("(panels) => { BlockViz.panels = panels; }", panels())
    return page, problems


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    one, problems = fresh(browser, address, DESK, charts=True)
    yield one
    one.close()
    assert problems == []


@pytest.fixture
def phone(browser: Browser, address: str) -> Iterator[Page]:
    one, problems = fresh(browser, address, PHONE, charts=False, has_touch=True)
    yield one
    one.close()
    assert problems == []


RUNS = {
    "guided": fake_run(length=40),
    "uniform": fake_run("uniform", length=40, steps=4, seed=3),
    "left to right": left_to_right(),
    "small": small_trace(),
    "stopped": story(),
    "entropy": with_settings(fake_run(length=32, block_size=8, prompt_length=9), corrector="entropy"),
    "kld": with_settings(fake_run(length=32, prompt_length=9), corrector="kld"),
    "random": with_settings(fake_run(length=32, prompt_length=9), corrector="random"),
    "fork": made(),
    "example": Trace.load(ASSETS / "examples" / "doubts-mend.jsonl.gz"),
}

READ = """([lines, positions]) => {
  const run = new BlockViz.Run();
  run.feed(lines);
  const all = run.passes.map((pass, k) => k);
  const plain = (value) => JSON.parse(JSON.stringify(value, (key, x) => (Number.isNaN(x) ? null : x)));
  const throws = BlockViz.revisions(run);
  return plain({
    error: run.error,
    sentences: all.map((k) => BlockViz.story.sentence(run, k)),
    alternatives: all.map((k) => BlockViz.story.alternatives(run, k)),
    steps: all.map((k) => BlockViz.story.stepPasses(run, k)),
    throws,
    tally: BlockViz.tally(throws),
    compared: positions.map((pos) => all.map((k) => BlockViz.life.compared(run, k, pos))),
    life: positions.map((pos) => BlockViz.life.rows(run, pos)),
    curves: positions.map((pos) => BlockViz.views.life.curves(BlockViz.life.rows(run, pos))),
    bytes: [1, 2, 3].map((id) => run.bytes(id)),
  });
}"""


def same(mine: float | None, theirs: float) -> bool:
    return isnan(theirs) if mine is None else abs(mine - theirs) < 1e-5


def test_the_browser_says_what_python_says(page: Page) -> None:
    for name, trace in RUNS.items():
        positions = sorted({0, trace.header.length // 2, trace.header.length - 3, trace.header.length - 1})
        seen = page.evaluate(READ, [text(trace), positions])
        passes = range(len(trace.passes))
        assert seen["error"] is None, name
        assert seen["sentences"] == [sentence(trace, k) for k in passes], name
        assert seen["steps"] == [step_passes(trace, k) for k in passes], name
        for k in passes:
            told = {one["pos"]: (one["id"], pytest.approx(one["p"])) for one in seen["alternatives"][k]}
            assert alternatives(trace, k) == told, (name, k)
        found = revisions(trace)
        assert seen["tally"] == vars(found.tally()), name
        for mine, theirs in zip(seen["throws"], found.throws(), strict=True):
            for key in ("at", "position", "token", "check_before", "check_after", "back", "new", "judged"):
                assert mine[key] == getattr(theirs, key), (name, key)
            assert (mine["outcome"], mine["checked"]) == (theirs.outcome, theirs.checked)
            assert same(mine["ar_before"], theirs.ar_before)
            assert same(mine["ar_after"], theirs.ar_after)
        for i, position in enumerate(positions):
            assert seen["compared"][i] == [compared(trace, k, position) for k in passes], (name, position)
            rows = life(trace, position)
            for one, row in zip(seen["life"][i], rows, strict=True):
                here = (row.number, row.phase, row.step, row.token, row.state, row.reason)
                assert (
                    one["number"],
                    one["phase"],
                    one["step"],
                    one["token"],
                    one["state"],
                    one["reason"],
                ) == here
                assert same(one["confidence"], row.confidence)
                assert same(one["entropy"], row.entropy)
                assert same(one["ar"], row.ar_logprob)
                assert same(one["score"], row.score)
                assert [c["id"] for c in one["candidates"]] == [token for token, _ in row.candidates]
            for one, line in zip(seen["curves"][i], curves(rows), strict=True):
                assert one["x"] == line["x"]
                assert one["y"] == pytest.approx(line["y"], abs=1e-4)


def test_bytes_are_shown_where_the_run_has_them(page: Page) -> None:
    trace = fake_run("uniform", length=40)
    raw = {token: piece(token).encode() for token in trace.pieces} | {11: b" ", 12: b""}
    feed(page, Trace.collect(trace.events(), piece, raw.get))
    told = set()
    for position in range(20, 40):
        page.evaluate("(pos) => p.inspector.open(pos)", position)
        token = int(page.get_attribute(f"[data-testid=canvas] [data-pos='{position}']", "data-token") or -1)
        facts = page.inner_text(".bv-life-facts")
        wanted = " ".join(f"{byte:02X}" for byte in raw[token])
        assert (f"bytes {wanted}" if wanted else "no bytes of text") in facts
        assert f"token id {token}" in facts
        told.add(token)
    assert len(told) > 5
    feed(page, fake_run("uniform", length=40, run="without"))
    page.evaluate("() => p.inspector.open(30)")
    assert "bytes not recorded" in page.inner_text(".bv-life-facts")


BOXES = """() => [...document.querySelectorAll(".bv-cell, .bv-story, .bv-checks, .bv-legend")].map((node) => {
    const box = node.getBoundingClientRect();
    return [box.left, box.top + scrollY, box.width, box.height].map(Math.round).join(); })"""


def test_a_cell_opens_its_whole_life(page: Page) -> None:
    trace = fake_run(seed=8)
    feed(page, trace)
    k = next(i for i, entry in enumerate(trace.passes) if entry.phase == "renoise")
    show(page, k)
    before = page.evaluate(BOXES)
    position = trace.passes[k].stop - 2
    panel = page.get_by_test_id("inspector")
    assert not panel.is_visible()
    page.click(f"[data-testid=canvas] [data-pos='{position}']")
    assert panel.is_visible()
    assert page.evaluate(BOXES) == before, "opening the inspector moves nothing on the canvas"
    rows = life(trace, position)
    assert page.locator("[data-testid=life-table] tbody tr").count() == len(rows)
    current = page.locator("[data-testid=life-table] tr[aria-current]")
    assert current.get_attribute("data-pass") == str(k)
    assert page.locator("[data-testid=life-now] li").all_inner_texts() == compared(trace, k, position)
    plot = page.locator("[data-testid=life-chart] .js-plotly-plot")
    assert plot.count() == 1
    cursor = "getComputedStyle(document.querySelector('.bv-life-cursor'))"
    assert page.evaluate(f"{cursor}.visibility") == "visible"
    at = page.evaluate(f"{cursor}.transform")
    # It moves along, and its rows lead to their passes.
    page.evaluate("() => BlockViz.visibleBus().step(1)")
    page.wait_for_function("(k) => p.inspector.k === k", arg=k + 1)
    assert page.evaluate(f"{cursor}.transform") != at
    page.click(f"[data-testid=life-table] tr[data-pass='{rows[1].number}']")
    assert state(page)["pass"] == rows[1].number
    page.wait_for_function("(k) => p.inspector.k === k", arg=rows[1].number)
    last = len(trace.passes) - 1
    show(page, last)
    page.wait_for_function("(k) => p.inspector.k === k", arg=last)
    assert page.locator("[data-testid=life-now] li").all_inner_texts() == compared(trace, last, position)
    # The same cell again closes it, hovering keeps the short card.
    page.hover(f"[data-testid=canvas] [data-pos='{position + 1}']")
    assert page.locator(".bv-tip").is_visible()
    page.click(f"[data-testid=canvas] [data-pos='{position}']")
    assert not panel.is_visible()


def test_the_inspector_by_keyboard(page: Page) -> None:
    trace = fake_run(seed=8)
    feed(page, trace)
    show(page, 5)
    page.focus("[data-testid=canvas] [data-pos='30']")
    page.keyboard.press("Enter")
    panel = page.get_by_test_id("inspector")
    assert panel.get_attribute("aria-label") == "Position 31"
    assert page.evaluate("document.activeElement.dataset.testid") == "inspector"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert panel.get_attribute("aria-label") == "Position 32"
    assert state(page)["pass"] == 5, "the pass stays where it is"
    assert page.locator(".bv-cell.is-inspected").get_attribute("data-pos") == "31"
    assert page.locator(".bv-cell.is-inspected").get_attribute("aria-selected") == "true"
    assert "Position 32" in page.inner_text(".bv-inspector [role=status]")
    page.keyboard.press("ArrowDown")
    assert state(page)["pass"] == 6
    page.keyboard.press("ArrowUp")
    assert state(page)["pass"] == 5
    page.keyboard.press("Escape")
    assert not panel.is_visible()
    assert page.evaluate("document.activeElement.dataset.pos") == "31"
    # Moving over the canvas takes it along; the edges of the canvas hold.
    page.keyboard.press("Enter")
    page.evaluate("document.querySelector('[data-pos=\"31\"]').focus()")
    page.keyboard.press("Shift+ArrowLeft")
    page.evaluate("() => p.inspector.open(0)")
    page.focus("[data-testid=inspector]")
    page.keyboard.press("ArrowLeft")
    assert panel.get_attribute("aria-label") == "Position 1"
    assert "prompt" in page.inner_text("[data-testid=life-now]")


def test_it_grows_with_a_live_run_and_closes_for_the_next(page: Page) -> None:
    trace = fake_run(seed=9)
    lines = text(trace).splitlines(keepends=True)
    feed(page, "".join(lines[:4]))
    page.evaluate("() => p.inspector.open(25)")
    feed(page, "".join(lines[:9]))
    page.wait_for_function("() => p.inspector.k === 7")
    rows = page.locator("[data-testid=life-table] tbody tr")
    known = [row.number for row in life(trace, 25) if row.number <= 7]
    page.wait_for_function(
        "(n) => document.querySelectorAll('[data-testid=life-table] tbody tr').length === n", arg=len(known)
    )
    feed(page, "".join(lines))
    page.wait_for_function("(n) => p.inspector.rows.length === n", arg=len(life(trace, 25)))
    assert page.locator("[data-testid=returns]").is_visible()
    assert rows.count() == len(life(trace, 25))
    other = fake_run("uniform", seed=10, length=48, run="other")
    feed(page, other)
    assert page.evaluate("() => p.inspector.pos") < 0, "what it told was of another run"
    assert not page.get_by_test_id("inspector").is_visible()
    assert page.locator(".bv-cell.is-inspected").count() == 0
    page.evaluate("() => p.inspector.open(25)")
    page.wait_for_function("(n) => p.inspector.rows.length === n", arg=len(life(other, 25)))


def test_both_sides_of_compare_have_one(page: Page) -> None:
    page.evaluate("pair()")
    runs = {"a": fake_run(seed=13), "b": fake_run("uniform", seed=14)}
    for side, trace in runs.items():
        feed(page, trace, side)
    page.keyboard.press("End")
    for side, trace in runs.items():
        page.click(f"[data-testid=canvas-{side}] [data-pos='40']")
        panel = page.locator(f"#player-{side} [data-testid=inspector]")
        assert panel.is_visible()
        assert panel.get_attribute("aria-label") == f"{side.upper()}: Position 41"
        assert panel.locator("tbody tr").count() == len(life(trace, 40))
    page.keyboard.press("ArrowLeft")
    wanted = [len(trace.passes) - 2 for trace in runs.values()]
    page.wait_for_function("([x, y]) => a.inspector.k === x && b.inspector.k === y", arg=wanted)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.keyboard.press("Escape")
    assert page.locator("[data-testid=inspector]:visible").count() == 0


def test_on_a_phone_it_is_a_sheet_that_hides_no_cell(phone: Page) -> None:
    trace = fake_run(seed=8)
    feed(phone, trace)
    show(phone, 4)
    phone.tap("[data-testid=canvas] [data-pos='60']")
    panel = phone.get_by_test_id("inspector")
    assert panel.is_visible()
    sheet, cell = panel.bounding_box(), phone.locator("[data-pos='60']").bounding_box()
    assert sheet
    assert cell
    assert sheet["y"] + sheet["height"] == pytest.approx(PHONE["height"], abs=1)
    assert sheet["width"] == PHONE["width"]
    assert cell["y"] + cell["height"] < sheet["y"]
    assert sheet["height"] < 0.6 * PHONE["height"]
    assert phone.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    for name in ("left", "right", "close"):
        box = phone.locator(f".bv-inspector [data-act={name}]").bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= 40
    phone.tap(".bv-inspector [data-act=right]")
    assert panel.get_attribute("aria-label") == "Position 62"
    phone.set_viewport_size(DESK)
    phone.wait_for_function("() => !document.querySelector('.bv-inspector').hasAttribute('popover')")
    assert panel.is_visible()
    phone.tap(".bv-inspector [data-act=close]")
    assert not panel.is_visible()


@pytest.mark.parametrize("width", [1440, 900, 390])
def test_the_story_is_told_without_moving_anything(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    trace = fake_run("uniform", seed=4)
    feed(page, trace)
    show(page, 0)
    start = page.evaluate(BOXES)
    for k in range(len(trace.passes)):
        show(page, k)
        assert page.evaluate(BOXES) == start, f"pass {k}"
        assert page.inner_text(".bv-story-said") == sentence(trace, k)
        parts = {
            part.get_attribute("data-phase"): int(part.get_attribute("data-pass") or -1)
            for part in page.locator(".bv-story-part:enabled").all()
        }
        assert parts == step_passes(trace, k)
        shown = page.evaluate(
            """() => Object.fromEntries([...document.querySelectorAll(".bv-cell.has-other")].map((cell) =>
                 [cell.dataset.pos, cell.querySelector(".bv-other-piece").textContent]))"""
        )
        assert shown == {str(p): piece(token) for p, (token, _) in alternatives(trace, k).items()}
        overflow = """() => [...document.querySelectorAll(".has-other")].some((cell) => {
            const box = cell.getBoundingClientRect();
            const other = cell.querySelector(".bv-other").getBoundingClientRect();
            return other.left < box.left || other.right > box.right || other.bottom > box.bottom; })"""
        assert not page.evaluate(overflow)
    show(page, 2)
    page.click(".bv-story-part[data-phase=renoise]")
    assert state(page)["pass"] == 3


def test_what_came_back_is_counted_and_listed(page: Page) -> None:
    trace = story()
    feed(page, trace)
    words = " ".join(page.inner_text("[data-testid=returns]").split())
    assert words.startswith("Of 5 tokens thrown back, came back:")
    for part in (
        "1 the same",
        "1 better",
        "1 worse",
        "1 not judged",
        "1 not at all",
        "2 righting an equation",
    ):
        assert part in words
    page.click(".bv-returns-kind[data-kind=worse]")
    row = page.locator(".bv-returns-row")
    assert row.count() == 1
    assert " ".join(row.inner_text().split()) == (
        "pass 3 · position 3 <3> → <7> AR log p −3.00 → −8.00 nats wrong → right"
    )
    row.click()
    assert state(page)["pass"] == 3
    assert page.get_by_test_id("inspector").get_attribute("aria-label") == "Position 3"
    page.click(".bv-returns-kind[data-kind=worse]")
    assert not page.locator(".bv-returns-list").is_visible()
    feed(page, left_to_right())
    assert not page.get_by_test_id("returns").is_visible()
    lines = text(fake_run(seed=9)).splitlines(keepends=True)
    feed(page, "".join(lines[:9]))
    assert not page.get_by_test_id("returns").is_visible(), "not before the run is over"


def test_hostile_tokens_are_text_everywhere(page: Page) -> None:
    trace = fake_run("uniform", seed=6)
    feed(page, json.loads(json.dumps(text(trace))))
    seen = ""
    for k in (1, 2, 3, len(trace.passes) - 1):
        show(page, k)
        for position in range(20, 64, 3):
            page.evaluate("(pos) => p.inspector.open(pos)", position)
            seen += page.inner_text("[data-testid=inspector]")
    for kind in ("same", "better", "worse"):
        button = page.locator(f".bv-returns-kind[data-kind={kind}]")
        if button.is_enabled():
            button.click()
            seen += page.inner_text(".bv-returns-list")
    assert piece(8) in seen
    assert piece(10) in seen
    assert page.evaluate("window.hit") is None
    assert page.locator(".bv-player img, .bv-player script").count() == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_can_be_read_in_light_and_dark(page: Page, dark: bool) -> None:
    page.evaluate("(dark) => document.body.classList.toggle('dark', dark)", dark)
    page.add_style_tag(content="* { transition: none !important }")
    feed(page, fake_run("uniform", seed=18))
    words = (
        "story-said", "story-part:enabled", "other-piece", "other-p", "returns-kind:enabled", "returns-counts > span",
        "life-title", "life-facts", "life-token", "inspector h4", "life-now li", "life-help", "life-hint",
        "inspector th", "life-go", "life-phase", "life-cell", "life-why", "life-piece", "inspector small",
        "life-number",
    )  # fmt: skip
    nodes = json.dumps(", ".join(f".bv-{name}" for name in words))
    script = CONTRAST[: CONTRAST.index("const words =")] + f"const words = {nodes};" + CONTRAST[
        CONTRAST.index("for (const node") - 2 :
    ]  # fmt: skip
    for k in (0, 1, 2, 3, 7):
        show(page, k)
        page.evaluate("() => p.inspector.open(30)")
        for name, ratio in page.evaluate(script).items():
            assert ratio >= 4.5, f"pass {k}: {name} has contrast {ratio:.2f}"
