"""The address bar holds the page's state, and opening such an address brings it back."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE_MS, Visit

pytestmark = pytest.mark.browser
expect.set_options(timeout=PATIENCE_MS)


def query(page: Page) -> dict[str, str]:
    return {
        name: values[0] for name, values in parse_qs(urlsplit(page.url).query, keep_blank_values=True).items()
    }


def settled(page: Page, **wanted: str) -> dict[str, str]:
    """The address once it says what is wanted."""
    page.wait_for_function(
        """wanted => {
            const query = new URLSearchParams(location.search);
            return Object.entries(wanted).every(([name, value]) => query.get(name) === value);
        }""",
        arg=wanted,
    )
    return query(page)


def generate(page: Page) -> None:
    page.get_by_test_id("generate").click()
    expect(page.get_by_test_id("status")).to_contain_text("network calls")


def canvas(page: Page, name: str = "canvas") -> list[str]:
    return (
        page.get_by_test_id(name)
        .locator(".bv-cell")
        .evaluate_all("cells => cells.map(cell => cell.dataset.token + ' ' + cell.dataset.state)")
    )


def test_an_opened_address_shows_the_same_pass_of_the_same_run(site: str, visit: Visit) -> None:
    page = visit(site)
    page.get_by_test_id("prompt").fill(
        "Tom has 7 pens. He buys 5 more pens. How many pens does Tom have now?"
    )
    page.get_by_test_id("setting-steps").fill("3")
    page.get_by_test_id("seed").fill("11")
    page.get_by_test_id("preset-eipc").check(force=True)
    generate(page)
    page.get_by_test_id("first").click()
    for _ in range(3):
        page.get_by_test_id("forward").click()
    said = settled(page, steps="3", seed="11", corrector="entropy")
    said = settled(page, **{"pass": "3"})
    assert said["tab"] == "explore"
    assert said["prompt"].startswith("Tom has 7 pens")
    shown = canvas(page)

    other = visit(page.url, width=1280)
    other.wait_for_function("() => { const s = BlockViz.state(); return s.ended && s.pass === 3; }")
    assert other.get_by_test_id("prompt").input_value() == said["prompt"]
    assert other.get_by_test_id("setting-steps").input_value() == "3"
    other.wait_for_function("() => BlockViz.state().shown === 3")
    assert canvas(other) == shown
    assert settled(other, **{"pass": "3"}) == said


def test_the_bundled_run_is_not_made_again(site: str, visit: Visit) -> None:
    page = visit(site)
    page.wait_for_function("() => BlockViz.state().ended")
    run = page.evaluate("() => BlockViz.state().run")
    page.get_by_test_id("first").click()
    page.get_by_test_id("forward").click()
    settled(page, **{"pass": "1"})
    other = visit(page.url)
    other.wait_for_function("() => BlockViz.state().pass === 1")
    assert other.evaluate("() => BlockViz.state().run") == run


def test_compare_and_theme_come_back(site: str, visit: Visit) -> None:
    link = {
        "v": "1",
        "tab": "compare",
        "theme": "dark",
        "seed": "4",
        "pass": "2",
        "a.steps": "2",
        "b.corrector": "random",
    }
    page = visit(f"{site}?{urlencode({**link, 'b.steps': '5', 'b.predictor': 'ancestral'})}")
    expect(page.get_by_test_id("status")).to_contain_text("network calls")
    page.wait_for_function(
        "() => { const s = BlockViz.state(); return s.group === 'compare' && s.pass === 2; }"
    )
    assert page.evaluate("() => document.body.classList.contains('dark')")
    said = settled(
        page, **{"a.steps": "2", "b.steps": "5", "b.corrector": "random", "seed": "4", "theme": "dark"}
    )
    assert said["tab"] == "compare"
    # The choice of whoever sent the link is not this visitor's for ever.
    assert page.evaluate("() => localStorage.getItem('blockviz-theme')") is None


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ({"v": "1", "tab": "explore", "steps": "9999"}, "steps = 9999"),
        ({"v": "1", "tab": "explore", "colour": "<img src=x onerror=alert(1)>"}, "colour = <img"),
        ({"v": "1", "tab": "explore", "model": "../secret"}, "model = ../secret"),
        ({"v": "1", "tab": "explore", "corrector": "magic", "seed": "-1"}, "seed = -1"),
        ({"v": "0", "tab": "explore"}, "another version"),
        ({"v": "1", "tab": "admin"}, "does not have: admin"),
        ({"v": "1", "tab": "constructor"}, "does not have: constructor"),
        ({"v": "1", "tab": "explore", "__proto__": "1"}, "__proto__ = 1"),
        ({"v": "1", "tab": "explore", "__proto__.polluted": "1"}, "__proto__.polluted = 1"),
        ({"v": "1", "tab": "explore", "steps": "0x8"}, "steps = 0x8"),
        ({"v": "1", "tab": "explore", "pass": "later"}, "pass = later"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_link_opens_with_a_message_and_the_usual_values(
    site: str, visit: Visit, link: dict[str, str], says: str
) -> None:
    page = visit(f"{site}?{urlencode(link)}")
    page.wait_for_function("() => BlockViz.state().passes > 0")
    expect(page.get_by_test_id("link-note")).to_contain_text(says)
    assert page.get_by_test_id("setting-steps").input_value() == "8"
    assert page.evaluate("() => ({}).polluted") is None


def test_a_link_cannot_reach_what_objects_inherit(site: str, visit: Visit) -> None:
    link = {"v": "1", "tab": "compare", "__proto__.polluted": "1", "constructor.x": "1", "a.steps": "3"}
    page = visit(f"{site}?{urlencode(link)}")
    expect(page.get_by_test_id("link-note")).to_contain_text("__proto__.polluted = 1")
    assert page.evaluate("() => ({}).polluted") is None


def test_copy_link_copies_the_address(site: str, visit: Visit) -> None:
    page = visit(site, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_test_id("setting-steps").fill("6")
    button = page.get_by_test_id("copy-link")
    button.click()
    expect(button).to_have_text("Link copied")
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied.startswith(site)
    assert parse_qs(urlsplit(copied).query)["steps"] == ["6"]
    expect(button).to_have_text("Copy link")


def test_up_to_four_runs_with_alignment_pace_and_present_mode_come_back(site: str, visit: Visit) -> None:
    page = visit(site)
    page.get_by_test_id("tab-compare").click()
    page.get_by_test_id("ready-noise-2-16").click()
    expect(page.get_by_test_id("status")).to_contain_text("network calls")
    page.wait_for_function(
        "BlockViz.state().players.length === 4 && BlockViz.state().players.every((p) => p.ended)"
    )
    page.get_by_test_id("align").select_option("block")
    page.get_by_test_id("pace").select_option("nfe")
    page.get_by_test_id("first").click()
    for _ in range(4):
        page.get_by_test_id("forward").click()
    page.get_by_test_id("present").click()
    page.keyboard.press("2")
    settled(page, present="confidence", align="block", pace="nfe", runs="4")
    said = settled(page, **{"pass": "4", "a.steps": "2", "d.steps": "16", "d.model": "math-uniform"})
    page.wait_for_function("BlockViz.state().players.every((p) => p.shown === p.pass)")
    shown = [canvas(page, f"canvas-{side}") for side in "abcd"]

    other = visit(page.url)
    other.wait_for_function(
        "BlockViz.present.on && BlockViz.state().players.every((p) => p.ended && p.shown === p.pass)"
    )
    assert other.evaluate("BlockViz.present.view") == "confidence"
    assert [canvas(other, f"canvas-{side}") for side in "abcd"] == shown
    assert settled(other, present="confidence", **{"pass": "4"}) == said


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ({"runs": "9"}, "9 runs"),
        ({"runs": "3", "d.steps": "4"}, "d.steps = 4"),
        ({"align": "moon"}, "align = moon"),
        ({"pace": "__proto__"}, "pace = __proto__"),
        ({"present": "constructor"}, "present = constructor"),
        ({"c.steps": "1e9"}, "c.steps = 1e9"),
        ({"v": "99"}, "another version"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_link_to_compare_opens_with_a_message(
    site: str, visit: Visit, link: dict[str, str], says: str
) -> None:
    page = visit(f"{site}?{urlencode({'v': '2', 'tab': 'compare', **link})}")
    expect(page.get_by_test_id("link-note")).to_contain_text(says)
    page.wait_for_function("BlockViz.state().group === 'compare'")
    assert page.evaluate("BlockViz.state().alignment") == "pass"
    assert not page.evaluate("BlockViz.present.on")


@pytest.mark.parametrize("tab", ["explore", "compare"])
def test_a_link_whose_run_is_refused_does_not_hold_the_address(site: str, visit: Visit, tab: str) -> None:
    link = {"v": "2", "tab": tab, "model": "math-uniform", "context": "bidirectional", "pass": "3"}
    page = visit(f"{site}?{urlencode(link)}")
    expect(page.locator(f"#{tab}-form")).to_contain_text("context cannot be")
    expect(page.get_by_test_id("generate")).to_be_enabled()
    page.get_by_test_id("seed").fill("77")
    assert settled(page, seed="77")["tab"] == tab
