"""Present mode in a real browser: it fills the screen, shows one view, hides its controls and leaves no trace."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.fake_runs import fake_run
from tests.browser.stage import VIEWS, with_views
from tests.browser.test_player import address, browser, feed, page, show, state  # noqa: F401 (fixtures)

pytestmark = pytest.mark.browser

GEOMETRY = """() => {
  const box = (node) => { const b = node.getBoundingClientRect();
                          return [b.left, b.top, b.right, b.bottom].map(Math.round); };
  const one = (name) => { const node = [...document.querySelectorAll(name)].find((n) => n.getClientRects().length);
                          return node ? box(node) : null; };
  return { window: [innerWidth, innerHeight], stage: one(".bv-stage"), canvas: one(".bv-canvas"), grid: one(".bv-grid"),
           view: one(".bv-view.is-chosen"), plot: one(".bv-view.is-chosen .main-svg"), bar: one(".bv-bar"),
           ribbon: one(".bv-ribbon"), chooser: one(".bv-present-bar"), facts: one(".bv-facts"),
           text: parseFloat(getComputedStyle(document.querySelector(".bv-cell")).fontSize)
                 * (parseFloat(document.querySelector(".bv-canvas").style.getPropertyValue("--bv-zoom")) || 1),
           views: [...document.querySelectorAll(".bv-view")].filter((n) => n.getClientRects().length)
                    .map((n) => n.dataset.view),
           over: document.documentElement.scrollWidth - innerWidth };
}"""


def geometry(page: Page) -> dict[str, Any]:  # noqa: F811
    page.evaluate("frame().then(frame)")
    return page.evaluate(GEOMETRY)


def present(page: Page) -> None:  # noqa: F811
    page.keyboard.press("p")
    page.wait_for_function("BlockViz.present.on")
    page.evaluate("frame().then(frame)")


def inside(inner: list[int], outer: list[int]) -> bool:
    starts = inner[0] >= outer[0] - 1 and inner[1] >= outer[1] - 1
    return starts and inner[2] <= outer[2] + 1 and inner[3] <= outer[3] + 1


def apart(one: list[int], other: list[int]) -> bool:
    return (
        one[2] <= other[0] + 1 or other[2] <= one[0] + 1 or one[3] <= other[1] + 1 or other[3] <= one[1] + 1
    )


def test_every_view_fits_beside_and_under_the_canvas(page: Page) -> None:  # noqa: F811
    trace = fake_run(seed=31)
    with_views(page, trace)
    show(page, 3)
    before = geometry(page)
    present(page)
    ribbons: list[bool] = []
    for number, name in enumerate(VIEWS, 1):
        page.keyboard.press(str(number))
        for _ in range(2):
            here = geometry(page)
            whole = [0, 0, *here["window"]]
            assert here["stage"] == whole
            assert here["views"] == [name]
            for part in ("canvas", "view", "bar", "chooser", "facts"):
                assert inside(here[part], whole), (name, part)
            if here["plot"]:
                assert inside(here["plot"], here["view"]), name
            if here["ribbon"]:
                assert inside(here["ribbon"], whole)
                assert all(apart(here["ribbon"], here[part]) for part in ("canvas", "view", "bar", "facts"))
            ribbons.append(bool(here["ribbon"]))
            parts = [here[part] for part in ("facts", "canvas", "view", "bar", "chooser")]
            for i, one in enumerate(parts):
                assert all(apart(one, other) for other in parts[i + 1 :]), (name, here)
            assert inside(here["grid"], here["canvas"]), "the whole canvas is seen"
            page.keyboard.press("s")
    here = geometry(page)
    assert ribbons[::2] == [True] * len(VIEWS), "what is cached is seen by the room too"
    assert here["text"] >= before["text"]
    page.keyboard.press("0")
    alone = geometry(page)
    assert alone["views"] == []
    assert alone["canvas"][2] >= alone["window"][0] - 2
    assert alone["text"] > 1.2 * before["text"], "large type"
    page.keyboard.press("v")
    assert geometry(page)["views"] == [VIEWS[0]]
    page.keyboard.press("V")
    assert geometry(page)["views"] == [VIEWS[-1]]
    page.keyboard.press("p")
    page.wait_for_function("!BlockViz.present.on")
    after = geometry(page)
    assert after == before, "the page is as it was"


def test_the_run_goes_on_as_before(page: Page) -> None:  # noqa: F811
    trace = fake_run(seed=32)
    with_views(page, trace)
    show(page, 0)
    present(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("n")
    k = state(page)["pass"]
    assert trace.passes[k].phase == "renoise"
    page.evaluate("frame()")
    page.wait_for_function(
        "(k) => p.cards.all.find((view) => view.name === BlockViz.present.view).drawn === k", arg=k
    )
    assert f"pass {k}" in page.inner_text("[data-testid=facts]")
    page.keyboard.press("?")
    assert page.locator("dialog.bv-keys").is_visible()
    assert "While presenting" in page.inner_text("dialog.bv-keys")
    page.get_by_role("button", name="Close").click()
    assert page.evaluate("BlockViz.present.on")


def test_it_takes_the_full_screen_and_leaving_that_leaves(page: Page) -> None:  # noqa: F811
    feed(page, fake_run(seed=33))
    page.get_by_test_id("present").click()
    page.wait_for_function("Boolean(document.fullscreenElement)")
    page.evaluate("document.exitFullscreen()")
    page.wait_for_function("!BlockViz.present.on")
    assert page.locator(".bv-stage").count() == 0
    assert page.evaluate("document.activeElement.dataset.testid") == "present"


@pytest.mark.parametrize(
    "refusal", ["undefined", "() => Promise.reject(new Error('no'))"], ids=["missing", "refused"]
)
def test_without_full_screen_it_fills_the_window(page: Page, refusal: str) -> None:  # noqa: F811
    page.evaluate(f"() => {{ Element.prototype.requestFullscreen = {refusal}; }}")
    feed(page, fake_run(seed=34))
    present(page)
    here = geometry(page)
    assert here["stage"] == [0, 0, *here["window"]]
    assert page.evaluate("document.fullscreenElement") is None
    assert page.evaluate("document.getElementById('field').closest('[inert]') !== null"), (
        "the page behind it sleeps"
    )
    page.keyboard.press("Escape")
    page.wait_for_function("!BlockViz.present.on")
    assert page.locator("[inert]").count() == 0


def test_controls_hide_until_something_moves(page: Page) -> None:  # noqa: F811
    feed(page, fake_run(seed=35))
    show(page, 2)
    present(page)
    shown = "getComputedStyle(document.querySelector('.bv-present-bar')).opacity"
    page.add_style_tag(content="* { transition: none !important }")
    page.wait_for_function("document.body.classList.contains('bv-idle')")
    assert page.evaluate(shown) == "0"
    still = geometry(page)
    page.mouse.move(300, 300)
    page.mouse.move(320, 320)
    assert page.evaluate(shown) == "1"
    assert geometry(page) == still, "nothing moves when the controls come"
    page.wait_for_function("document.body.classList.contains('bv-idle')")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(shown) == "1"
    assert state(page)["pass"] == 3


def test_two_runs_stand_side_by_side(page: Page) -> None:  # noqa: F811
    page.evaluate("single()")
    page.evaluate("pair()")
    feed(page, fake_run(seed=36), "a")
    feed(page, fake_run("uniform", seed=37), "b")
    page.evaluate("frame()")
    present(page)
    boxes = page.evaluate(
        """() => ["a", "b"].map((side) => { const b = document.getElementById("player-" + side).getBoundingClientRect();
             return [b.left, b.top, b.right, b.bottom].map(Math.round); })"""
    )
    assert apart(*boxes)
    whole = [0, 0, *geometry(page)["window"]]
    assert all(inside(box, whole) for box in boxes)
    page.keyboard.press("Escape")
    page.wait_for_function("!BlockViz.present.on")


def test_before_any_run_there_is_nothing_to_present(page: Page) -> None:  # noqa: F811
    page.evaluate("single()")
    page.keyboard.press("p")
    assert page.evaluate("BlockViz.present.on") is False


def test_a_phone_presents_one_above_the_other(browser: Browser, address: str) -> None:  # noqa: F811
    phone = browser.new_page(viewport={"width": 390, "height": 844}, has_touch=True)
    phone.goto(address)
    with_views(phone, fake_run(seed=38))
    present(phone)
    here = geometry(phone)
    assert here["view"][1] >= here["canvas"][3] - 1
    assert here["over"] <= 0
    phone.close()
