"""The views of a player under fast scrubbing and live growth: none is stale, none keeps the canvas waiting."""

from __future__ import annotations

import random
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.fake_runs import fake_run, text
from tests.browser.stage import VIEWS, with_views
from tests.browser.test_player import address, browser, page  # noqa: F401 (fixtures)

pytestmark = pytest.mark.browser

DRAWN = "p.cards.all.every((view) => !view.it || !view.seen || (!view.due && view.drawn === p.shown))"
RESTED = "p.cards.all.every(({ it }) => !it || !(it._behind || (it.sheet && it.sheet.on)))"
LOOK = """(views) => {
  const flat = (list) => Array.from(list, (v) => (v === null || v !== v ? -1 : v));
  const look = {};
  for (const [name, { it, mount }] of views) {
    const plot = it.plot, cursor = it.cursor ? [it.cursor.style.transform, it.cursor.style.visibility] : null;
    const help = mount.querySelector(".bv-view-help").textContent;
    look[name] = { help, cursor };
    if (name === "attention") look[name].z = plot.data[0].z.map(flat);
    if (name === "fill" || name === "confidence") look[name].z = plot.data[0].z.map(flat);
    if (name === "renoising") {
      look[name].bars = plot.data.map(({ y }) => flat(y));
      look[name].quiet = it.quietNode.textContent;
    }
  }
  return look;
}"""
SEEN = f"({LOOK})(p.cards.all.filter((view) => view.name !== 'inspector').map((view) => [view.name, view]))"
FRESH = f"""async (k) => {{
  const views = [];
  for (const name of Object.keys(BlockViz.templates)) {{
    const mount = document.createElement("section");
    mount.className = "bv-view";
    mount.style.width = p.cards.all.find((view) => view.name === name).mount.clientWidth + "px";
    p.cards.node.append(mount);
    const it = BlockViz.views[name].mount(mount, BlockViz.templates[name]);
    it.load(p.run);
    it.draw(p.run, k);
    views.push([name, {{ it, mount }}]);
  }}
  const look = ({LOOK})(views);
  await new Promise((done) => setTimeout(done, 200)); // Plotly is not taken away while it draws
  for (const [, {{ it, mount }}] of views) {{ it.destroy(); mount.remove(); }}
  return look;
}}"""


def same(seen: dict[str, Any], fresh: dict[str, Any]) -> None:
    """A cursor may stand elsewhere: the fresh view is as wide as the card with its padding."""
    for name in VIEWS:
        assert {**seen[name], "cursor": 0} == {**fresh[name], "cursor": 0}, name
        if seen[name]["cursor"]:
            assert seen[name]["cursor"][1] == fresh[name]["cursor"][1]


def test_after_fast_scrubbing_every_view_shows_the_pass(page: Page) -> None:  # noqa: F811
    trace = fake_run(seed=41)
    with_views(page, trace)
    rng = random.Random(1)
    count = len(trace.passes)
    for _ in range(4):
        path = [rng.randrange(1, count) for _ in range(25)]
        page.evaluate(
            """async (path) => { for (const k of path) { p.show(k);
                 if (k % 3) await new Promise((done) => requestAnimationFrame(done)); } }""",
            path,
        )
        page.wait_for_function(f"p.shown === {path[-1]} && {DRAWN}")
        same(page.evaluate(SEEN), page.evaluate(FRESH, path[-1]))
    page.wait_for_function(RESTED)
    bars = page.evaluate(
        "(() => { const { plot } = p.cards.all.find((view) => view.name === 'renoising').it;"
        " return [plot.data, plot.calcdata.map((bars) => bars.map(({ s }) => ({ s })))]; })()"
    )
    for given, drawn in zip(*bars, strict=True):
        heights = [bar["s"] for bar in drawn if bar.get("s") is not None]
        assert heights == pytest.approx([y for y in given["y"] if y is not None]), "Plotly has the same bars"


def test_a_growing_run_is_drawn_by_every_view_when_it_ends(page: Page) -> None:  # noqa: F811
    trace = fake_run(seed=42)
    lines = text(trace).splitlines(keepends=True)
    with_views(page, fake_run("uniform", seed=43))
    for at in range(2, len(lines), 3):
        page.evaluate("(lines) => { p.feed(lines); }", "".join(lines[:at]))
        page.wait_for_timeout(20)
    page.evaluate("(lines) => { p.feed(lines); }", "".join(lines))
    page.wait_for_function(f"p.run.end && p.shown === p.run.last && {DRAWN}")
    same(page.evaluate(SEEN), page.evaluate(FRESH, len(trace.passes) - 1))
    page.wait_for_function(RESTED)


def test_a_slow_view_does_not_keep_the_canvas_waiting(page: Page) -> None:  # noqa: F811
    trace = fake_run(seed=44)
    with_views(page, trace)
    page.evaluate("p.show(0)")  # else it plays
    page.wait_for_function(f"p.shown === 0 && {DRAWN}")
    page.evaluate(
        """() => { const { it } = p.cards.all.find((view) => view.name === "fill"); const draw = it.draw.bind(it);
             window.order = [];
             it.draw = (run, k) => { const end = performance.now() + 60; while (performance.now() < end);
                                     order.push(["view", k]); draw(run, k); };
             const paint = p.canvas.draw.bind(p.canvas);
             p.canvas.draw = (k) => { order.push(["canvas", k]); paint(k); }; }"""
    )
    page.evaluate(
        """async () => { for (let k = 1; k <= 12; k++) { p.show(k);
             await new Promise((done) => requestAnimationFrame(done)); } }"""
    )
    page.wait_for_function(f"p.shown === 12 && {DRAWN}")
    order = page.evaluate("order")
    assert [k for who, k in order if who == "canvas"] == list(range(1, 13)), "every pass is on the canvas"
    views = [k for who, k in order if who == "view"]
    assert views == sorted(views)
    assert views[-1] == 12
