"""The player for everybody: WCAG AA by axe-core, the canvas as text, passes announced, nothing that moves unasked."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.access import violations
from tests.browser.fake_runs import fake_run, piece
from tests.browser.stage import with_views
from tests.browser.test_player import address, browser, feed, page, show, state  # noqa: F401 (fixtures)

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_player_keeps_the_rules_of_wcag(page: Page, dark: bool) -> None:  # noqa: F811
    page.evaluate("(dark) => document.body.classList.toggle('dark', dark)", dark)
    trace = fake_run(seed=41)
    with_views(page, trace)
    for phase in ("propose", "verify", "renoise", "commit"):
        show(page, next(k for k, entry in enumerate(trace.passes) if entry.phase == phase))
        page.wait_for_timeout(600)
        assert violations(page) == [], phase
    page.keyboard.press("?")
    assert violations(page) == [], "the list of keys"
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    page.evaluate("frame()")
    assert violations(page) == [], "Present mode"
    page.keyboard.press("Escape")


READ = "[...document.querySelectorAll('.bv-reader p')].map((line) => line.textContent)"


def test_the_canvas_is_there_as_text(page: Page) -> None:  # noqa: F811
    trace = fake_run(seed=42)
    feed(page, trace)
    k = next(k for k, entry in enumerate(trace.passes) if entry.phase == "renoise")
    show(page, k)
    page.wait_for_function(
        "(k) => document.querySelector('.bv-reader').textContent.includes('pass ' + k + ' ')", arg=k
    )
    lines = page.evaluate(READ)
    assert lines[0] == f"The canvas after pass {k} of {len(trace.passes) - 1}."
    assert lines[1] == "Block 1, prompt: " + " ".join(piece(t) for t in trace.header.tokens[:16])
    assert lines[2].startswith("Block 2, active: ")
    thrown = [pos for pos in range(16, 32) if trace.passes[k].states[pos] == 6]
    for pos in thrown:
        assert piece(int(trace.passes[k - 1].tokens[pos])) in lines[2]
    assert "thrown back: " in lines[2]
    assert lines[-1] == "Blocks 3 to 4: not opened yet"
    box = page.locator(".bv-reader").bounding_box()
    assert box is not None
    assert box["width"] <= 2, "it takes no room"
    assert page.locator(".bv-reader[aria-live], [aria-live] .bv-reader").count() == 0, "and announces nothing"
    page.keyboard.press("End")
    page.wait_for_function("document.querySelector('.bv-reader').textContent.includes('after the end')")
    assert page.locator(".bv-reader img, .bv-reader b, .bv-reader script").count() == 0
    assert page.evaluate("window.hit") is None


def test_the_text_is_written_at_rest_only(page: Page) -> None:  # noqa: F811
    feed(page, fake_run(seed=43))
    page.keyboard.press("Home")
    page.wait_for_function("document.querySelector('.bv-reader').textContent.includes('pass 0 ')")
    page.evaluate(
        """() => { window.wrote = 0;
             new MutationObserver(() => { if (BlockViz.state().playing) window.wrote += 1; })
               .observe(document.querySelector(".bv-reader"), { childList: true, subtree: true }); }"""
    )
    page.keyboard.press("Space")
    page.wait_for_function("BlockViz.state().pass > 6")
    page.keyboard.press("Space")
    k = state(page)["pass"]
    page.wait_for_function(
        "(k) => document.querySelector('.bv-reader').textContent.includes('pass ' + k + ' ')", arg=k
    )
    assert page.evaluate("wrote") == 0


def test_each_pass_is_announced_politely_and_not_too_often(page: Page) -> None:  # noqa: F811
    trace = fake_run(seed=44)
    feed(page, trace)
    page.keyboard.press("Home")
    live = page.locator(".bv-player [aria-live]")
    assert live.count() == 1
    assert live.get_attribute("aria-live") == "polite"
    k = next(k for k, entry in enumerate(trace.passes) if entry.phase == "renoise")
    show(page, k)
    words = f"pass {k} of {len(trace.passes) - 1}, block 2, re-noise, {trace.passes[k].k} tokens thrown back"
    page.wait_for_function(
        "(words) => document.querySelector('[aria-live]').textContent === words", arg=words
    )
    page.evaluate(
        """() => { window.said = 0; const all = { childList: true, characterData: true, subtree: true };
             new MutationObserver(() => { window.said += 1; })
               .observe(document.querySelector("[aria-live]"), all); }"""
    )
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    page.wait_for_function("!BlockViz.state().playing", timeout=60_000)
    page.wait_for_timeout(1000)
    assert 1 <= page.evaluate("said") < len(trace.passes) / 2


def test_reduced_motion_moves_nothing(browser: Browser, address: str) -> None:  # noqa: F811
    calm = browser.new_page(reduced_motion="reduce")
    calm.goto(address)
    feed(calm, fake_run(seed=45))
    calm.keyboard.press("p")
    calm.evaluate("frame()")
    moving = calm.evaluate(
        """() => [...document.querySelectorAll("body, body *")].filter((node) => {
             const style = getComputedStyle(node);
             return parseFloat(style.transitionDuration) > 0 || parseFloat(style.animationDuration) > 0; }).length"""
    )
    assert moving == 0
    assert state(calm)["playing"] is False
    calm.close()
