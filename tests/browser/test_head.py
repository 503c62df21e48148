"""What is painted of a live run, by a clock that the test moves: passes as sent, frames as a screen has them."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from blockviz.views.templates import panels
from tests.browser.fake_runs import fake_run, text
from tests.browser.stage import with_views
from tests.browser.test_player import address, browser, page  # noqa: F401 (fixtures)

pytestmark = pytest.mark.browser

# messages: [ms, lines so far]; while a stall [from, to] lasts neither messages nor frames are looked at.
LIVE = """async ([lines, messages, stalls, frameMs]) => {
  window.single();
  do await frame(); while (p.bus._asked); // nothing asked of the page's own clock is left
  const own = window.requestAnimationFrame;
  let clock = 10000, asked = [];
  performance.now = () => clock;
  window.requestAnimationFrame = (act) => asked.push(act);
  const drawn = [], late = [];
  const draw = p.canvas.draw.bind(p.canvas);
  p.canvas.draw = (k) => { drawn.push(k); draw(k); };
  const begun = clock, end = messages[messages.length - 1][0] + 1500;
  const held = (ms) => stalls.some(([from, to]) => from <= ms && ms < to);
  let next = begun + frameMs, sent = 0;
  for (let ms = 0; ms <= end; ms++) {
    clock = begun + ms;
    if (held(ms)) continue;
    while (sent < messages.length && messages[sent][0] <= ms) p.feed(lines.slice(0, messages[sent++][1]).join(""));
    if (clock < next) continue;
    while (next <= clock) next += frameMs;
    const now = asked;
    asked = [];
    for (const act of now) act(clock);
    late.push(p.run.last - p.shown);
  }
  delete performance.now;
  window.requestAnimationFrame = own;
  for (const act of asked) own(act);
  return { drawn, late, live: BlockViz.state().live, following: BlockViz.state().following };
}"""


def lived(
    page: Page,  # noqa: F811
    rate: float,
    together: int = 1,
    stalls: tuple[tuple[int, int], ...] = (),
    frame_ms: float = 16.7,
) -> tuple[dict[str, Any], int]:
    """Play a run live: `rate` passes a second, sent `together` at a time; what was painted, and its last pass."""
    lines = text(fake_run(length=128, steps=4, seed=51)).splitlines(keepends=True)
    passes = len(lines) - 2
    messages = []
    for count in range(1, passes + 1):
        if count % together == 0 or count == passes:
            messages.append([round((count - 1) * 1000 / rate), 1 + count])
    messages[-1][1] = len(lines)
    seen: dict[str, Any] = page.evaluate(LIVE, [lines, messages, list(stalls), frame_ms])
    return seen, passes - 1


@pytest.mark.parametrize("together", [1, 2, 4])
def test_at_twenty_a_second_every_pass_is_painted_in_order(page: Page, together: int) -> None:  # noqa: F811
    seen, last = lived(page, 20, together)
    assert seen["drawn"] == list(range(last + 1))
    assert max(seen["late"]) <= together, "the screen is not behind what came last"
    assert not seen["following"]


def test_what_came_while_the_page_was_held_up_is_painted_one_by_one(page: Page) -> None:  # noqa: F811
    seen, last = lived(page, 20, 2, stalls=((600, 1300), (2500, 3100)))
    assert seen["drawn"] == list(range(last + 1))
    assert seen["late"][-1] == 0


def test_on_a_slow_screen_each_pass_still_has_a_frame_where_there_are_enough(page: Page) -> None:  # noqa: F811
    seen, last = lived(page, 15, 2, frame_ms=50)
    assert seen["drawn"] == list(range(last + 1))


@pytest.mark.parametrize(("rate", "together", "frame_ms"), [(200, 9, 16.7), (20, 2, 120)])
def test_what_no_screen_can_show_is_followed_closely(
    page: Page,  # noqa: F811
    rate: float,
    together: int,
    frame_ms: float,
) -> None:
    seen, last = lived(page, rate, together, frame_ms=frame_ms)
    drawn = seen["drawn"]
    assert drawn == sorted(set(drawn)), "no pass comes after a later one"
    assert drawn[-1] == last
    assert max(seen["late"]) <= max(4 * together, 0.4 * rate), "the screen is less than 400 ms behind"
    assert len(drawn) > last * min(1.0, 1000 / frame_ms / rate) / 2, "and uses its frames"


def test_charts_wait_for_the_first_pass_of_a_run_that_was_asked_for(page: Page) -> None:  # noqa: F811
    with_views(page, fake_run("uniform", seed=52))
    page.wait_for_function(
        "p.cards.all.every((view) => !view.it || !view.seen || (!view.due && view.drawn === p.shown))"
    )
    lines = text(fake_run(seed=53)).splitlines(keepends=True)
    # The clock stands still: what is put off is not begun because it took too long.
    page.evaluate(
        """([start, more]) => {
             const now = performance.now();
             performance.now = () => now;
             window.order = [];
             const draw = p.canvas.draw.bind(p.canvas);
             p.canvas.draw = (k) => { order.push(k); draw(k); };
             for (const { name, it } of p.cards.all) {
               if (!it || name === "inspector") continue;
               const load = it.load.bind(it);
               it.load = (run, scales) => { order.push(name); load(run, scales); };
             }
             BlockViz.haste.await();
             p.feed(start);
             setTimeout(() => p.feed(more), 100);
           }""",
        ["".join(lines[:2]), "".join(lines[:6])],
    )
    page.wait_for_function("p.shown === 4 && order.includes('timeline') && order.includes('fill')")
    order = page.evaluate("() => { delete performance.now; return order; }")
    assert [step for step in order if isinstance(step, int)] == [0, 1, 2, 3, 4]
    assert order[:2] == [0, 1], "the start and the first network pass come before any chart"


def test_plotly_does_not_redraw_while_a_run_plays(page: Page) -> None:  # noqa: F811
    with_views(page, fake_run(seed=54))
    page.wait_for_function("p.cards.all.every(({ it }) => !it || !(it._behind || (it.sheet && it.sheet.on)))")
    page.evaluate(
        """() => { window.caught = [];
             for (const { name, it } of p.cards.all) {
               if (!it || !it.catchUp || name === "inspector") continue;
               const catchUp = it.catchUp.bind(it);
               it.catchUp = () => { caught.push([name, p.bus.moving]); catchUp(); };
             }
             p.bus.first(); p.bus.setSpeed(0.5); p.bus.play(); }"""
    )
    page.wait_for_function("p.shown >= 9")
    page.evaluate("p.bus.pause()")
    page.wait_for_function("caught.some(([name]) => name === 'renoising')")
    caught = page.evaluate("caught")
    assert [name for name, moving in caught if moving and name == "renoising"] == []


@pytest.mark.parametrize("width", [1140, 1440])
def test_the_words_of_a_pass_never_move_the_canvas(page: Page, width: int) -> None:  # noqa: F811
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("(panels) => { BlockViz.panels = panels; }", panels())
    with_views(page, fake_run(seed=55, length=128))
    boxes = page.evaluate(
        """async () => { const boxes = [];
             for (let k = 0; k <= p.run.last; k++) {
               p.show(k);
               await frame();
               const top = (selector) => p.frame.querySelector(selector).getBoundingClientRect().top;
               const left = (name) => p.frame.querySelector(`[data-fact=${name}]`).getBoundingClientRect().left;
               const said = p.frame.querySelector(".bv-story-said").getBoundingClientRect().height;
               const tops = [".bv-grid", ".bv-ribbon", ".bv-views"].map(top);
               boxes.push([said, ...tops, left("nfe"), left("rate")].map(Math.round)); }
             return boxes; }"""
    )
    lines = {said for said, *_ in boxes}
    assert len(lines) == (2 if width < 1400 else 1), "the sentences take one line or two where they must"
    assert len({tuple(rest) for _, *rest in boxes}) == 1
