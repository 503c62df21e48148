"""Stepping in on the real page: choosing, changing, what comes next, and the fork beside its parent."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from blockviz.models.checkpoint import load
from blockviz.sampling.forks import replay
from blockviz.sampling.settings import FIELDS
from blockviz.sampling.trace import Trace
from tests.browser.conftest import PATIENCE_MS, Visit
from tests.browser.test_page import generate

pytestmark = pytest.mark.browser
expect.set_options(timeout=PATIENCE_MS)


def chosen_run(page: Page, preset: str = "eipc", **settings: str) -> dict[str, Any]:
    """Generate a run of that preset in Explore."""
    page.get_by_test_id(f"preset-{preset}").check(force=True)
    for name, value in settings.items():
        page.get_by_test_id(f"setting-{name}").fill(value)
    return generate(page)


def seek(page: Page, phase: str, skip: int = 0) -> int:
    """Show a pass of that phase, `skip` of them into the run; gives its number."""
    k = page.evaluate(
        """([phase, skip]) => {
          const bus = BlockViz.bus("explore");
          const k = bus.loaded[0].run.passes.map((p, i) => (p.phase === phase ? i : -1)).filter((i) => i >= 0)[skip];
          bus.seek(k);
          return k;
        }""",
        [phase, skip],
    )
    page.wait_for_function("(k) => BlockViz.bus('explore').loaded[0].shown === k", arg=k)
    return k


def step_in(page: Page) -> list[int]:
    """Open the panel at the pass on screen; gives the positions that may be written now."""
    page.get_by_test_id("step-open").click()
    return page.evaluate("BlockViz.stepping.panel.plan.open()")


def cell(page: Page, position: int) -> Locator:
    return page.get_by_test_id("canvas").locator(f"[data-pos='{position}']")


def resume(page: Page) -> Trace:
    """Run the fork and give it as its player in Compare has it."""
    page.get_by_test_id("step-resume").click()
    page.wait_for_function("BlockViz.tabNow() === 'compare'")
    page.wait_for_function(
        "() => { const b = BlockViz.compare.players().b; return b.run.end !== null && b.run.header.fork; }"
    )
    expect(page.get_by_test_id("step-status")).to_contain_text("The fork stands beside this run in Compare.")
    return Trace.from_lines(page.evaluate("BlockViz.compare.players().b.text").splitlines())


def test_a_fork_opens_beside_its_parent_and_replays(visit: Visit, site: str, models: Any) -> None:
    page = visit(site)
    parent = chosen_run(page)
    at = seek(page, "renoise", 1)
    cells = step_in(page)
    expect(page.locator(".bv-step h3")).to_have_text(f"Edit after pass {at} of {parent['passes'] - 1}")
    kept = [p for p in cells if cell(page, p).get_attribute("data-state") in ("revealed", "kept")]
    cell(page, kept[0]).click()
    cell(page, kept[0] + 1).click(modifiers=["Shift"])
    page.get_by_test_id("step-renoise").click()
    page.get_by_test_id("step-unpick").click()
    cell(page, kept[-1]).click()
    page.get_by_test_id("step-text").fill("7")
    page.get_by_test_id("step-text").press("Enter")
    expect(cell(page, kept[0])).to_have_attribute("data-edit", "renoise")
    expect(cell(page, kept[-1])).to_have_attribute("data-edit-text", "7")
    marks = page.get_by_test_id("step-marks")
    expect(marks).to_contain_text(f"{kept[-1] + 1} is “7”, frozen")
    made = resume(page)
    assert made.header.fork is not None
    (edit,) = made.header.fork.edits
    assert (edit.at, edit.freeze, edit.settings) == (at, (kept[-1],), {})
    assert kept[0] in edit.renoise
    assert made.pieces[dict(edit.force)[kept[-1]]] == "7"
    assert made.header.fork.parent == parent["run"]
    assert {made.pieces[int(entry.tokens[kept[-1]])] for entry in made.passes[at + 1 :]} == {"7"}
    sides = page.evaluate("['a', 'b'].map((side) => BlockViz.compare.players()[side].run.id)")
    assert sides == [parent["run"], made.header.run]
    page.wait_for_function("(k) => BlockViz.bus('compare').pass === k", arg=at + 1)
    again = replay(load("math-masked", folder=models), made)
    assert [entry.tokens.tolist() for entry in again.passes] == [e.tokens.tolist() for e in made.passes]

    # The fork can be stepped into in its turn.
    page.get_by_test_id("tab-explore").click()
    page.get_by_test_id("step-go-on").click()
    page.wait_for_function("(id) => BlockViz.bus('explore').loaded[0].run.id === id", arg=made.header.run)
    page.wait_for_function("(k) => BlockViz.bus('explore').loaded[0].shown === k", arg=at + 1)
    later = seek(page, "commit")
    held = step_in(page)
    assert page.evaluate("[...BlockViz.stepping.panel.plan.held]") == [kept[-1]]
    assert cell(page, kept[-1]).get_attribute("data-edit") == "held"
    cell(page, held[0]).click()
    page.get_by_test_id("step-renoise").click()
    grandchild = resume(page)
    assert grandchild.header.fork is not None
    assert [one.at for one in grandchild.header.fork.edits] == [at, later]


def test_what_comes_next_without_a_call_is_what_then_comes(visit: Visit, site: str) -> None:
    """The re-noising of a changed proposal, foreseen from the record alone, is the one the fork makes."""
    page = visit(site)
    chosen_run(page)
    at = seek(page, "propose", 2)
    cells = step_in(page)
    expect(page.get_by_test_id("step-renoise")).to_be_disabled()
    cell(page, cells[2]).click()
    expect(page.locator(".bv-step")).to_contain_text("what goes back to noise is the corrector's choice")
    page.get_by_test_id("step-freeze").click()
    cell(page, cells[2]).click()
    cell(page, cells[5]).click()
    offers = page.get_by_test_id("step-candidates").locator("button")
    offers.nth(1).click()
    expect(offers.nth(1)).to_have_attribute("aria-pressed", "true")
    told = page.get_by_test_id("step-next")
    expect(told).to_have_attribute("data-call", "no")
    expect(told).to_contain_text("no network call is needed for that")
    foreseen = page.evaluate("BlockViz.stepping.panel.step.positions")
    assert page.locator(".bv-cell.is-next").count() == len(foreseen)
    made = resume(page)
    coming = made.passes[at + 2]
    assert coming.phase == "renoise"
    assert [i for i, state in enumerate(coming.states) if state == 6] == foreseen
    assert cells[2] not in foreseen


def test_choosing_goes_by_keys_and_the_edit_goes_along_until_something_is_marked(
    visit: Visit, site: str
) -> None:
    page = visit(site)
    chosen_run(page, "ancestral")
    at = seek(page, "denoise", 2)
    cells = step_in(page)
    cell(page, cells[1]).focus()
    page.keyboard.press("Space")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+Space")
    expect(page.get_by_test_id("step-chosen")).to_have_text(f"Chosen: {cells[1] + 1}–{cells[1] + 3}")
    assert page.evaluate("BlockViz.bus('explore').moving") is False
    page.evaluate("BlockViz.bus('explore').step(1)")
    expect(page.locator(".bv-step h3")).to_contain_text(f"after pass {at + 1}")
    block = page.get_by_test_id("step-block")
    block.click()
    page.get_by_test_id("step-text").fill("7 + 7")
    page.get_by_test_id("step-force").click()
    page.evaluate("BlockViz.bus('explore').step(1)")
    expect(page.locator(".bv-step-back")).to_contain_text(f"the edit comes after pass {at + 1}")
    assert page.locator(".bv-cell[data-edit]").count() == 0
    page.get_by_test_id("step-back").click()
    expect(cell(page, cells[0])).to_have_attribute("data-edit", "force")
    prompt = page.locator(".bv-cell[data-state='prompt']").first
    prompt.click()
    assert prompt.get_attribute("aria-selected") is None  # the prompt cannot be chosen
    page.get_by_test_id("step-close").click()
    assert page.locator(".bv-cell.is-picked, .bv-cell[data-edit]").count() == 0
    expect(page.get_by_test_id("step-open")).to_be_focused()


def test_settings_are_taken_from_the_form_and_the_server_says_what_it_refuses(
    visit: Visit, site: str
) -> None:
    page = visit(site)
    chosen_run(page, "ancestral")
    seek(page, "denoise", 2)
    cells = step_in(page)
    page.get_by_test_id("setting-temperature").fill("0.5")
    page.get_by_test_id("setting-block_size").fill("8")
    # Its seams are a setting that the run's header leaves out.
    page.get_by_test_id("preset-overlap").check(force=True)
    page.get_by_test_id("step-settings").check()
    changes = page.get_by_test_id("step-changes")
    expect(changes).to_contain_text("temperature 1 → 0.5")
    expect(changes).to_contain_text(f"A run keeps its block size, {FIELDS['seams'].label.lower()}.")
    cell(page, cells[0]).click()
    page.get_by_test_id("step-text").fill("zebra")
    page.get_by_test_id("step-force").click()
    page.get_by_test_id("step-resume").click()
    status = page.get_by_test_id("step-status")
    expect(status).to_contain_text("zebra")
    assert page.evaluate("BlockViz.tabNow()") == "explore"
    page.get_by_test_id("step-clear").click()
    made = resume(page)
    assert made.header.settings.temperature == 0.5
    assert made.header.settings.block_size == 16
    # Compare's form says what stands there, and Explore's once the fork is there.
    expect(page.get_by_test_id("setting-temperature-a")).to_have_value("1")
    expect(page.get_by_test_id("setting-temperature-b")).to_have_value("0.5")
    page.wait_for_function("new URLSearchParams(location.search).get('b.temperature') === '0.5'")
    page.get_by_test_id("tab-explore").click()
    page.get_by_test_id("step-go-on").click()
    expect(page.get_by_test_id("setting-block_size")).to_have_value("16")
    expect(page.get_by_test_id("setting-temperature")).to_have_value("0.5")
    page.wait_for_function("new URLSearchParams(location.search).get('block_size') === '16'")


def test_chosen_positions_become_gaps_of_the_prompt(visit: Visit, site: str) -> None:
    page = visit(site)
    page.evaluate("BlockViz.bus('explore').toEnd()")
    page.wait_for_function("BlockViz.state().shown === BlockViz.state().passes - 1")
    cells = step_in(page)
    cell(page, cells[0]).click()
    cell(page, cells[0] + 1).click(modifiers=["Shift"])
    page.get_by_test_id("step-gaps").click()
    text = page.get_by_test_id("prompt").input_value()
    assert "[[2]]" in text
    assert text.startswith(cell(page, 0).inner_text().strip())


def test_it_fits_a_phone(visit: Visit, site: str) -> None:
    page = visit(site, width=390, height=844)
    seek(page, "renoise")
    cells = step_in(page)
    cell(page, cells[1]).tap() if page.evaluate("'ontouchstart' in window") else cell(page, cells[1]).click()
    expect(page.get_by_test_id("step-chosen")).to_have_text(f"Chosen: {cells[1] + 1}")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
