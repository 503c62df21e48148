"""Rules of access, checked on a page in Chromium: axe-core's WCAG rules and the size of what a finger must hit."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

_CHECK = """async ([rules, places]) => {
  const found = await axe.run(places ? { include: places.map((place) => [place]) } : document,
                              { runOnly: { type: "tag", values: rules }, resultTypes: ["violations"] });
  return found.violations.map(({ id, help, nodes }) => [id, help, nodes.length, nodes[0].html.slice(0, 300),
    nodes[0].failureSummary, nodes.slice(0, 9).map((node) => String(node.target))]);
}"""

# A radio of a segmented field is pressed through its label; a token of the canvas is as wide as its row allows.
_TARGETS = """() => {
  const wanted = "button, select, textarea, summary, a[href], input, [role=tab], [role=gridcell]";
  return [...document.querySelectorAll(wanted)].flatMap((node) => {
    const whole = node.type === "radio" || node.type === "checkbox" ? node.closest("label") || node : node;
    const box = whole.getBoundingClientRect();
    if (!box.width || getComputedStyle(whole).visibility === "hidden") return [];
    if (whole.closest(".modebar, [inert], .bv-hidden")) return [];
    if (box.right < 0 || box.bottom + scrollY < 0) return [];
    const name = node.dataset.testid || node.getAttribute("aria-label") || node.className || node.textContent;
    return [[name, node.dataset.testid || "", Math.round(box.width * 10) / 10, Math.round(box.height * 10) / 10]];
  });
}"""


def violations(page: Page, places: list[str] | None = None) -> list[Any]:
    """What axe-core finds wrong under WCAG 2.2 A and AA: [rule, words, nodes, first node, why, targets] each."""
    if not page.evaluate("Boolean(window.axe)"):
        spec = find_spec("axe_playwright_python")
        assert spec is not None
        assert spec.origin is not None
        page.add_script_tag(path=Path(spec.origin).parent / "axe.min.js")
    page.add_style_tag(content="* { transition: none !important; animation: none !important }")
    return page.evaluate(_CHECK, [RULES, places])


def targets(page: Page) -> list[tuple[str, str, float, float]]:
    """Everything on the page that can be pressed: name, test hook, width and height in pixels."""
    return [tuple(entry) for entry in page.evaluate(_TARGETS)]
