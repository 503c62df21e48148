"""The sides of Compare, on the real page: given runs, and what stands under them."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE_MS, Visit
from tests.browser.fake_runs import fake_run, text

pytestmark = pytest.mark.browser
expect.set_options(timeout=PATIENCE_MS)


def sides(page: Page) -> list[str]:
    """The sides on screen, by name."""
    return page.evaluate(
        """() => [...document.querySelectorAll('#compare .bv-pair [data-testid^="canvas-"]')]
          .filter((node) => BlockViz.visible(node.closest(".bv-player")))
          .map((node) => node.dataset.testid.slice(-1))"""
    )


def open_compare(page: Page) -> None:
    page.get_by_test_id("tab-compare").click()
    page.wait_for_function(
        "BlockViz.state().players.length === 2 && BlockViz.state().players.every((p) => p.ended)"
    )


@pytest.mark.parametrize("count", [1, 3, 4])
def test_given_runs_take_the_sides(visit: Visit, site: str, count: int) -> None:
    page = visit(site)
    open_compare(page)
    runs = [
        fake_run(length=32, prompt_length=8, steps=2 + seed, seed=seed, run=f"r{seed}")
        for seed in range(count)
    ]
    shown = page.evaluate("(texts) => BlockViz.compare.put(texts)", [text(run) for run in runs])
    assert shown == count
    assert sides(page) == list("abcd")[:count]
    page.evaluate("BlockViz.bus('compare').toEnd()")
    page.wait_for_function("BlockViz.state().players.every((player) => player.shown >= 0)")
    assert page.evaluate("BlockViz.state().players.map((player) => player.run)") == [
        f"r{k}" for k in range(count)
    ]
    assert page.evaluate("BlockViz.state().players.map((player) => player.passes)") == [
        len(r.passes) for r in runs
    ]

    # A run of the form takes its two sides back.
    page.get_by_test_id("generate").click()
    expect(page.get_by_test_id("status")).to_contain_text("network calls")
    page.wait_for_function("BlockViz.state().players.length === 2")
    assert sides(page) == ["a", "b"]


def test_given_runs_do_not_wait_for_the_recorded_ones(visit: Visit, site: str) -> None:
    page = visit(site)
    run = fake_run(length=32, prompt_length=8, run="given")
    page.evaluate("(texts) => { BlockViz.compare.put(texts); BlockViz.compare.show(); }", [text(run)] * 2)
    page.wait_for_function(
        "BlockViz.state().group === 'compare' && BlockViz.state().players.every((p) => p.shown >= 0)"
    )
    page.wait_for_timeout(500)
    assert page.evaluate("BlockViz.state().players.map((player) => player.run)") == ["given", "given"]


def test_more_than_four_runs_are_refused(visit: Visit, site: str) -> None:
    page = visit(site)
    said = page.evaluate(
        "() => { try { BlockViz.compare.put(Array(5).fill('x')); } catch (error) { return error.message; } }"
    )
    assert said == "Compare shows 1 to 4 runs"
