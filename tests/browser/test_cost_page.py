"""The real page: a measurement of what a sampler costs, and a text with a gap."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser


def test_a_sampler_is_measured_where_it_is_asked_for(visit: Visit, site: str) -> None:
    page = visit(site)
    page.get_by_test_id("cost-rivals").click()
    expect(page.get_by_test_id("cost-status")).to_have_text("Measured.", timeout=90_000)
    rows = page.get_by_test_id("cost-table").locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(2).locator("td").last).to_have_text("1.00")
    bars = page.get_by_test_id("cost-chart").locator(".point path")
    expect(bars).to_have_count(12)
    page.get_by_test_id("cost-chart").scroll_into_view_if_needed()
    top = bars.nth(0).bounding_box()
    assert top is not None
    page.mouse.move(
        top["x"] + top["width"] / 2, top["y"] + 8
    )  # a bar of a logarithmic axis ends far below the chart
    hover = page.get_by_test_id("cost-chart").locator(".hoverlayer")
    expect(hover).to_contain_text(re.compile(r"network calls: \d+, \d+\.\d\d times AR's"))


def test_a_gap_is_filled_with_both_sides_in_sight(visit: Visit, site: str) -> None:
    page = visit(site)
    page.get_by_role("button", name="backwards").click()
    assert page.get_by_test_id("preset-canvas").is_checked()
    page.get_by_test_id("generate").click()
    expect(page.get_by_test_id("status")).to_contain_text("Done", timeout=60_000)
    page.wait_for_function("BlockViz.state().ended && BlockViz.state().shown === BlockViz.state().passes - 1")
    cells = page.get_by_test_id("canvas").locator(".bv-cell")
    given = [cells.nth(place).get_attribute("data-state") for place in (36, 37, 51, 52, 53, 54, 127)]
    assert given == ["prompt", "committed", "committed", "prompt", "prompt", "prompt", "prompt"]
    assert "[[15]]" in page.get_by_test_id("prompt").input_value()


def test_samplers_that_uniform_noise_refuses_cannot_be_chosen(visit: Visit, site: str) -> None:
    page = visit(site)
    page.get_by_test_id("model").select_option("math-uniform")
    assert page.get_by_test_id("preset-canvas").is_disabled()
    title = page.locator("#explore-form .bvc-segments label", has_text="Threshold").get_attribute("title")
    assert title is not None
    assert "uniform noise" in title
    assert page.get_by_test_id("preset-overlap").is_enabled()
