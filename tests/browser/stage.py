"""A page with the player, its views and Plotly on a made-up run, for the tests of Present mode and of access."""

from __future__ import annotations

from pathlib import Path

import plotly
from playwright.sync_api import Page

from blockviz.sampling.trace import Trace
from blockviz.views.templates import SCRIPTS, STYLES, templates
from tests.browser.fake_runs import text

ROOT = Path(__file__).resolve().parents[2]
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
VIEWS = list(templates())


def with_views(page: Page, trace: Trace) -> None:
    """Put the views' scripts into the harness page and show a run with all of them."""
    for name in STYLES:
        page.add_style_tag(path=ROOT / "assets" / name)
    page.add_script_tag(path=PLOTLY)
    for name in SCRIPTS:
        page.add_script_tag(path=ROOT / "assets" / name)
    page.evaluate(
        """([templates, lines]) => {
             BlockViz.templates = templates;
             document.body.style.background = "var(--bv-page)";
             window.p = BlockViz.Player(at("player"), { group: "explore" });
             p.feed(lines);
             return frame(); }""",
        [templates(), text(trace)],
    )
    page.wait_for_function("p.cards.all.every((view) => view.it)")
