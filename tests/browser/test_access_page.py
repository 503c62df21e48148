"""The real page for everybody: WCAG AA by axe-core, and targets that a finger can hit on a phone."""

from __future__ import annotations

import pytest

from tests.browser.access import targets, violations
from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser

OURS = [".bv-header", "#explore", "#compare"]
SMALLEST = 24
OFTEN = ["generate", "stop", "play", "first", "back", "forward", "last"]
OFTEN += ["scrubber", "speed", "pace", "present", "theme"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_keeps_the_rules_of_wcag(visit: Visit, site: str, theme: str) -> None:
    one = visit(site, query=f"?__theme={theme}")
    one.locator(".bvc-more summary").first.click()
    one.wait_for_timeout(800)
    assert violations(one, OURS) == []
    one.get_by_test_id("tab-compare").click()
    one.get_by_test_id("canvas-b").wait_for()
    one.wait_for_timeout(800)
    assert violations(one, OURS) == []


def test_a_finger_can_hit_everything_on_a_phone(visit: Visit, site: str) -> None:
    one = visit(site, width=390, height=844, has_touch=True, is_mobile=True)
    one.locator(".bvc-more summary").first.click()
    for tab in ("explore", "compare"):
        one.get_by_test_id("tab-" + tab).click()
        one.get_by_test_id("scrubber").wait_for()
        one.wait_for_timeout(500)
        found = targets(one)
        assert len(found) > 100
        small = [entry for entry in found if min(entry[2:]) < SMALLEST]
        assert small == []
        often = [entry for entry in found if entry[1] in OFTEN]
        assert {name for _, name, _, _ in often} == set(OFTEN)
        assert [entry for entry in often if min(entry[2:]) < 39.5] == []
        assert one.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
