"""The sides of Compare, on the real page: given runs, and what stands under them."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from blockviz.views.seeds import figure
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


def test_four_runs_from_one_click_with_their_figures(visit: Visit, site: str) -> None:
    page = visit(site)
    open_compare(page)
    page.get_by_test_id("ready-noise-2-16").click()
    expect(page.get_by_test_id("status")).to_contain_text("network calls")
    page.wait_for_function(
        "BlockViz.state().players.length === 4 && BlockViz.state().players.every((p) => p.ended)"
    )
    expect(page.get_by_test_id("differs-form")).to_have_text("The runs differ in model, steps per block.")
    expect(page.get_by_test_id("differs")).to_have_text("The runs shown differ in model, steps per block.")
    row = page.locator("[data-testid=summary] [data-row=nll] td")
    expect(row.nth(3)).not_to_have_text("…")
    assert row.count() == 4
    assert page.locator("[data-testid=chart-placed] .bv-progress-dot:visible").count() == 4
    # The canvases alone, until a view is chosen; the address knows.
    assert page.locator(".bv-pair .bv-view:visible").count() == 0
    page.get_by_test_id("under").select_option("confidence")
    expect(page.locator(".bv-pair .bv-view:visible")).to_have_count(4)
    page.wait_for_function("new URLSearchParams(location.search).get('view') === 'confidence'")
    # A run less, and a setting of one run only.
    page.get_by_test_id("remove-d").click()
    page.get_by_test_id("vary").select_option("seed")
    page.get_by_test_id("seed-c").fill("8")
    expect(page.get_by_test_id("differs-form")).to_contain_text("seed")
    page.get_by_test_id("generate").click()
    page.wait_for_function(
        "BlockViz.state().players.length === 3 && BlockViz.state().players.every((p) => p.ended)"
    )
    expect(page.get_by_test_id("generate")).to_be_enabled()
    seeds = page.evaluate("BlockViz.bus('compare').loaded.map((player) => player.run.header.settings.seed)")
    assert seeds[0] == seeds[1] != seeds[2] == 8
    # What was shared once more is shared by all.
    page.get_by_test_id("share-model").click()
    page.get_by_test_id("shared").locator("summary").click()
    expect(page.get_by_test_id("model")).to_be_visible()
    expect(page.get_by_test_id("model")).to_have_value("math-masked")


def test_the_cache_changes_the_time_and_no_token(visit: Visit, site: str) -> None:
    page = visit(site)
    open_compare(page)
    page.get_by_test_id("ready-cache").click()
    page.wait_for_function(
        "BlockViz.bus('compare').loaded.some((p) => p.run.header.settings.use_cache === false)"
    )
    expect(page.get_by_test_id("generate")).to_be_enabled()
    expect(page.get_by_test_id("same-tokens")).to_contain_text("Every run wrote the same")
    expect(page.get_by_test_id("same-tokens")).to_contain_text("Time of all passes: A ")
    assert page.locator("[data-testid=final-texts] mark").count() == 0


def test_many_seeds_show_spread_and_what_can_be_told(visit: Visit, site: str) -> None:
    page = visit(site)
    open_compare(page)
    page.get_by_test_id("seed-count").select_option("10")
    page.get_by_test_id("seeds-run").click()
    expect(page.get_by_test_id("seeds-status")).to_have_text("Done: 10 seeds.")
    expect(page.locator("[data-testid=seeds-table] [data-row=right] td").last).to_contain_text("cannot tell")
    expect(page.get_by_test_id("seeds-method")).to_contain_text("Newcombe")
    for name in ("right", "nll", "entropy", "nfe"):
        expect(page.get_by_test_id("seeds-" + name).locator(".main-svg").first).to_be_visible()
    dots = page.evaluate(
        "document.querySelector('[data-testid=seeds-nll] .bv-view-plot').data.map((line) => line.x.length)"
    )
    assert dots == [10, 10, 2]
    lines = page.evaluate(
        "document.querySelector('[data-testid=seeds-nll] .bv-view-plot').data.map(({ x, y }) => ({ x, y }))"
    )
    wanted = figure([line["x"] for line in lines[:2]], "nll")["data"]
    for line, python in zip(lines, wanted, strict=True):
        assert line["x"] == pytest.approx(python["x"])
        assert line["y"] == pytest.approx(python["y"])
    page.get_by_test_id("seed-count").select_option("200")
    page.get_by_test_id("seeds-run").click()
    expect(page.get_by_test_id("seeds-status")).to_contain_text("of 400 runs")
    page.get_by_test_id("seeds-stop").click()
    expect(page.get_by_test_id("seeds-status")).to_contain_text("Stopped")
    expect(page.get_by_test_id("seeds-run")).to_be_enabled()


def test_hostile_texts_are_text_in_the_comparison(visit: Visit, site: str) -> None:
    page = visit(site)
    open_compare(page)
    runs = [fake_run(length=48, prompt_length=8, seed=seed, run=f"h{seed}") for seed in (3, 4)]
    page.evaluate("(texts) => BlockViz.compare.put(texts)", [text(run) for run in runs])
    shown = page.get_by_test_id("final-texts")
    expect(shown).to_contain_text("B: ")
    assert page.locator("[data-testid=final-texts] mark").count() > 1
    assert page.locator("#compare-result img, #compare-result script").count() == 0
    assert page.evaluate("window.hit") is None


def offered(page: Page) -> list[str]:
    """What may still differ."""
    values = page.get_by_test_id("vary").locator("option").evaluate_all("all => all.map((one) => one.value)")
    return [value for value in values if value]


def test_what_may_differ_goes_with_the_settings(visit: Visit, site: str) -> None:
    page = visit(site)
    open_compare(page)
    assert "preset" in offered(page)
    assert "overlap" not in offered(page)
    page.get_by_test_id("shared").locator("summary").click()
    page.get_by_test_id("preset-overlap").check(force=True)
    assert {"preset", "overlap"} <= set(offered(page))
    page.get_by_test_id("setting-corrector").select_option("kld")
    assert "preset" not in offered(page), "no sampler has a name that the runs could begin with"


def test_the_focus_stays_in_the_table(visit: Visit, site: str) -> None:
    page = visit(site)
    open_compare(page)
    focused = "document.activeElement.dataset.testid"
    page.get_by_test_id("vary").focus()
    page.get_by_test_id("vary").select_option("seed")
    assert page.evaluate(focused) == "vary"
    page.get_by_test_id("add-run").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("remove-c")).to_be_visible()
    assert page.evaluate(focused) == "add-run"
    page.get_by_test_id("share-seed").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("share-seed")).to_have_count(0)
    assert page.evaluate(focused) == "vary"


def test_runs_that_came_while_others_were_read_are_read_in_their_turn(visit: Visit, site: str) -> None:
    page = visit(site)
    open_compare(page)
    texts = [text(fake_run(length=32, prompt_length=8, seed=seed, run=f"r{seed}")) for seed in range(4)]
    page.evaluate("(texts) => BlockViz.compare.put(texts)", texts[:2])
    page.evaluate(
        """() => {
          const root = document.createElement("div");
          document.querySelector("#compare").prepend(root);
          const reader = { name: "reader", task: null, reads_only: true };
          window.sent = [];
          const emit = (name, data) => sent.push(data);
          window.result = new BlockViz.Comparison(root, { group: "compare", scorers: [reader], emit });
          window.cells = () => [...root.querySelectorAll("[data-row=nll] td")].map((cell) => cell.textContent);
        }"""
    )
    asked = "sent.length && sent[sent.length - 1].runs.map((one) => one.run).join()"
    answer = """(nll) => {
      const runs = Object.fromEntries(sent[0].runs.map(({ run }) => [run, { nll }]));
      result.answer(JSON.stringify({ scorer: "reader", runs }));
    }"""
    page.wait_for_function(f"{asked} === 'r0,r1'")
    page.evaluate("(texts) => BlockViz.compare.put(texts)", texts[2:])
    page.wait_for_function(f"{asked} === 'r2,r3'")
    page.evaluate("sent.splice(1)")  # the second question is lost
    page.evaluate(answer, 1.5)
    page.wait_for_function(f"{asked} === 'r2,r3'")
    page.evaluate("sent.shift()")
    page.evaluate(answer, 2.5)
    assert page.evaluate("cells().slice(0, 2)") == ["2.50", "2.50"]
