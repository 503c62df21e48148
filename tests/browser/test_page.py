"""The page as people use it: the real app, real Chromium, tiny models with random weights."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from blockviz.evaluation.tasks import EXAMPLE_PROMPTS
from blockviz.sampling.passes import STATES
from blockviz.ui.examples import FIRST, header_of, recorded
from tests.browser.conftest import PATIENCE_MS, Visit, serve

pytestmark = pytest.mark.browser
expect.set_options(timeout=PATIENCE_MS)

HOOKS = ["generate", "stop", "prompt", "model", "preset", "seed", "scrubber", "play", "canvas", "facts"]
PAIR = [
    "generate",
    "stop",
    "prompt",
    "seed",
    "scrubber",
    "play",
    "canvas-a",
    "canvas-b",
    "facts-a",
    "facts-b",
    "summary",
]
VIEWS = ["view-fill", "view-confidence", "view-renoising", "view-attention", "view-timeline"]
PROMPT = EXAMPLE_PROMPTS[1].prompt


def state(page: Page) -> dict[str, Any]:
    return page.evaluate("BlockViz.state()")


def idle(page: Page) -> None:
    """Wait until the run is over and the form can be used again."""
    expect(page.get_by_test_id("generate")).to_be_enabled()


def generate(page: Page) -> dict[str, Any]:
    """Click Generate and wait for the end of the new run."""
    before = state(page)["run"]
    page.get_by_test_id("generate").click()
    page.wait_for_function("(old) => BlockViz.state().run !== old && BlockViz.state().ended", arg=before)
    idle(page)
    page.evaluate("BlockViz.visibleBus().toEnd()")  # a run that came all at once plays from its start
    page.wait_for_function("BlockViz.state().shown === BlockViz.state().passes - 1")
    return state(page)


def texts(page: Page, canvas: str = "canvas") -> list[str]:
    return (
        page.get_by_test_id(canvas)
        .locator("[data-pos]")
        .evaluate_all("(cells) => cells.map((cell) => cell.dataset.token)")
    )


def errors(page: Page) -> dict[str, str]:
    """What is said at the fields, by field."""
    return page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll(".bvc-field")]
          .filter((field) => field.querySelector(".bvc-error").textContent && field.getClientRects().length)
          .map((field) => [field.dataset.field, field.querySelector(".bvc-error").textContent]))"""
    )


def quick(page: Page, steps: int = 2) -> None:
    page.get_by_test_id("prompt").fill(PROMPT)
    page.get_by_test_id("setting-steps").fill(str(steps))


def test_an_example_plays_before_anything_is_clicked(visit: Visit, site: str) -> None:
    page = visit(site, reduced_motion="no-preference")
    page.wait_for_function("BlockViz.state().playing")
    first = state(page)["pass"]
    page.wait_for_function("(first) => BlockViz.state().pass > first", arg=first)
    example = header_of(recorded(FIRST))
    assert example is not None
    assert state(page)["run"] == example.run
    expect(page.get_by_test_id("status")).to_have_text("What plays is a recorded example run.")
    expect(page.get_by_test_id("prompt")).to_have_value(example.prompt)
    expect(page.get_by_test_id("seed")).to_have_value(str(example.settings.seed))
    for view in VIEWS:
        expect(page.get_by_test_id(view).locator(".main-svg").first).to_be_visible()


def test_a_run_is_generated_scrubbed_and_stepped_by_keys(visit: Visit, site: str) -> None:
    page = visit(site)
    quick(page)
    end = generate(page)
    for hook in HOOKS + VIEWS:
        assert page.get_by_test_id(hook).count() == 1, hook
    assert end["passes"] > 3
    assert end["pass"] == end["passes"] - 1
    assert end["nfe"]["verify"] > 0
    expect(page.get_by_test_id("status")).to_contain_text(f"{end['passes'] - 1} passes")
    expect(page.get_by_test_id("run-model")).to_contain_text("math-masked")

    cells = page.get_by_test_id("canvas").locator("[data-pos]")
    assert cells.count() == 128
    assert set(cells.evaluate_all("(all) => all.map((cell) => cell.dataset.state)")) <= set(STATES)
    last = texts(page)

    scrubber = page.get_by_test_id("scrubber")
    scrubber.fill("1")
    page.wait_for_function("BlockViz.state().shown === 1")
    assert texts(page) != last
    page.locator("body").press("ArrowRight")
    page.wait_for_function("BlockViz.state().shown === 2")
    page.locator("body").press("ArrowLeft")
    page.wait_for_function("BlockViz.state().shown === 1")
    page.locator("body").press("Home")
    page.wait_for_function("BlockViz.state().shown === 0")
    page.locator("body").press("End")
    page.wait_for_function("(k) => BlockViz.state().shown === k", arg=end["passes"] - 1)
    assert texts(page) == last
    page.get_by_test_id("prompt").press("ArrowLeft")  # typing moves the caret, not the run
    assert state(page)["pass"] == end["passes"] - 1
    expect(page.get_by_test_id("facts")).to_contain_text("NFE")


def test_the_seed_is_kept_until_the_die_is_rolled(visit: Visit, site: str) -> None:
    page = visit(site)
    quick(page)
    first = generate(page)
    tokens = texts(page)
    second = generate(page)
    assert texts(page) == tokens
    assert second["run"] != first["run"]
    seed = page.get_by_test_id("seed")
    page.evaluate("Math.random = () => 0.4321")
    page.get_by_test_id("die").click()
    expect(seed).to_have_value("4321")
    generate(page)
    assert texts(page) != tokens


def test_only_settings_that_apply_are_shown(visit: Visit, site: str) -> None:
    page = visit(site)
    preset = page.get_by_test_id("preset")
    expect(page.get_by_test_id("preset-arpc")).to_be_checked()
    expect(page.get_by_test_id("setting-steps")).to_be_visible()
    preset.get_by_text("AR", exact=True).click()
    expect(page.get_by_test_id("setting-steps")).to_be_hidden()
    expect(page.get_by_test_id("setting-temperature")).to_be_visible()
    page.get_by_test_id("preset-ancestral").check()
    page.locator(".bvc-more summary").first.click()
    expect(page.get_by_test_id("setting-every")).to_be_hidden()
    page.get_by_test_id("setting-corrector").select_option("entropy")
    expect(page.get_by_test_id("preset-eipc")).to_be_checked()
    expect(page.get_by_test_id("setting-every")).to_be_visible()
    page.get_by_test_id("setting-corrector").select_option("margin")
    assert page.get_by_test_id("preset").locator("input:checked").count() == 0
    page.get_by_test_id("prompt").fill(PROMPT)
    page.get_by_test_id("setting-steps").fill("2")
    assert generate(page)["nfe"]["verify"] == 0


def test_an_error_stands_at_its_field_and_the_last_run_stays(visit: Visit, site: str) -> None:
    page = visit(site)
    quick(page)
    good = generate(page)
    tokens = texts(page)

    bad = "mia has 3 zebrafrogs <img src=x onerror=window.hurt=1> ${window.hurt=1}"
    page.get_by_test_id("prompt").fill(bad)
    page.get_by_test_id("generate").click()
    expect(page.locator("[data-field=prompt] .bvc-error").first).to_contain_text("zebrafrogs")
    idle(page)
    assert list(errors(page)) == ["prompt"]
    expect(page.get_by_test_id("prompt")).to_have_value(bad)
    assert page.evaluate("window.hurt") is None
    assert (state(page)["run"], texts(page)) == (good["run"], tokens)

    page.get_by_test_id("prompt").fill(PROMPT)
    assert errors(page) == {}
    for hook, field, value in (
        ("setting-steps", "steps", "999"),
        ("seed", "seed", "-1"),
        ("seed", "seed", ""),
    ):
        box = page.get_by_test_id(hook)
        kept = box.input_value()
        box.fill(value)
        page.get_by_test_id("generate").click()
        page.wait_for_function(
            "(field) => document.querySelector(`[data-field=${field}] .bvc-error`).textContent", arg=field
        )
        idle(page)
        said = errors(page)
        assert list(said) == [field]
        assert field in said[field]
        assert "allowed" in said[field]
        expect(box).to_have_value(value)
        box.fill(kept)
    assert state(page)["run"] == good["run"]
    assert generate(page)["run"] != good["run"]


def test_byte_level_tokens_and_markup_are_text_everywhere(visit: Visit, site: str) -> None:
    page = visit(site)
    page.get_by_test_id("model").select_option("unicode")
    page.get_by_test_id("prompt").fill("<|endoftext|> <img src=x onerror=window.hit=1>")
    page.get_by_test_id("generate").click()
    said = page.locator("[data-field=prompt] .bvc-error").first
    expect(said).to_contain_text('does not know "<|endoftext|>"')
    idle(page)

    page.get_by_test_id("prompt").fill(
        "3 \u20ac \u05e9 <img src=x onerror=window.hit=1> ${window.hit=1} {{1}}"
    )
    page.get_by_test_id("setting-steps").fill("2")
    assert generate(page)["ended"]
    cells = page.get_by_test_id("canvas").locator("[data-pos] .bv-text")
    shown = cells.evaluate_all("(all) => all.map((cell) => cell.textContent)")
    assert "".join(shown).startswith(
        "3\u2423\u27e8E2\u27e9\u27e882\u27e9\u27e8AC\u27e9\u2423\u27e8D7\u27e9\u27e8A9\u27e9\u2423<img"
    )
    page.locator("[data-testid=canvas] [data-pos='3']").hover()
    expect(page.locator(".bv-tip").first).to_contain_text("positions 3 to 5: \u2068\u20ac\u2069")
    assert page.evaluate("window.hit") is None
    assert page.locator("#player img, #player script").count() == 0
    widths = cells.evaluate_all("(all) => all.map((one) => one.parentElement.getBoundingClientRect().width)")
    assert max(widths) - min(widths) < 0.5


def long_run(page: Page) -> None:
    """Start a run of thousands of passes and wait until it moves."""
    before = state(page)["run"]
    page.get_by_test_id("prompt").fill(PROMPT)
    page.get_by_test_id("model").select_option("slow")
    page.locator("#explore .bvc-more").evaluate("(more) => { more.open = true; }")
    page.get_by_test_id("setting-fill_canvas").check()
    page.get_by_test_id("setting-block_size").fill("4")
    page.get_by_test_id("setting-steps").fill("256")
    page.get_by_test_id("generate").click()
    page.wait_for_function("(old) => BlockViz.state().run !== old && BlockViz.state().passes > 3", arg=before)


def test_stop_keeps_what_there_is(visit: Visit, site: str) -> None:
    page = visit(site)
    long_run(page)
    assert state(page)["live"]
    expect(page.get_by_test_id("generate")).to_be_disabled()
    page.get_by_test_id("stop").click()
    page.wait_for_function("BlockViz.state().ended")
    idle(page)
    expect(page.get_by_test_id("status")).to_contain_text("Stopped after")
    expect(page.get_by_test_id("stop")).to_be_disabled()
    page.get_by_test_id("model").select_option("math-masked")
    page.get_by_test_id("setting-fill_canvas").uncheck()
    quick(page)
    assert generate(page)["ended"]


def test_two_tabs_do_not_disturb_each_other(visit: Visit, site: str) -> None:
    first, second = visit(site), visit(site)
    long_run(first)
    quick(second)
    mine = state(first)["run"]
    assert generate(second)["ended"], (
        "the second tab takes turns with the first instead of waiting for its end"
    )
    assert state(first)["run"] == mine
    assert state(first)["live"]
    first.get_by_test_id("stop").click()
    long_run(second)
    idle(first)
    expect(first.get_by_test_id("status")).to_contain_text("Stopped after")
    passes = state(second)["passes"]
    second.wait_for_function("(passes) => BlockViz.state().passes > passes", arg=passes)
    second.get_by_test_id("stop").click()
    idle(second)


def test_compare_runs_both_under_one_scrubber(visit: Visit, site: str) -> None:
    page = visit(site)
    page.get_by_test_id("tab-compare").click()
    expect(page.get_by_test_id("model-a")).to_have_value("math-masked")
    expect(page.get_by_test_id("model-b")).to_have_value("math-uniform")
    page.get_by_test_id("prompt").fill(PROMPT)
    page.get_by_test_id("vary").select_option("steps")
    for side in "ab":
        page.get_by_test_id(f"setting-steps-{side}").fill("2")
    before = page.evaluate("BlockViz.state().players.map((player) => player.run)")
    page.get_by_test_id("generate").click()
    page.wait_for_function(
        """(old) => BlockViz.state().players.length === 2
          && BlockViz.state().players.every((player, i) => player.ended && player.run !== old[i])""",
        arg=before,
    )
    idle(page)
    for hook in [
        "generate",
        "stop",
        "prompt",
        "seed",
        "scrubber",
        "play",
        "canvas-a",
        "canvas-b",
        "facts-a",
        "facts-b",
        "summary",
    ]:
        assert page.get_by_test_id(hook).count() == 1, hook
    page.get_by_test_id("scrubber").fill("3")
    page.wait_for_function("BlockViz.state().players.every((player) => player.shown === 3)")
    rows = page.get_by_test_id("summary").locator("tbody tr")
    assert rows.count() >= 5
    calls = page.get_by_test_id("summary").locator("[data-row=calls] td").all_inner_texts()
    assert " + " in calls[0]
    assert " + " in calls[1]
    expect(page.get_by_test_id("final-texts")).to_contain_text("B")

    page.get_by_test_id("setting-steps-b").fill("0")
    page.get_by_test_id("generate").click()
    expect(page.locator("[data-row=steps] [data-letter=B] .bvc-error")).to_contain_text("steps")
    idle(page)
    assert list(errors(page)) == ["steps"]
    page.get_by_test_id("tab-explore").click()
    for hook in ("generate", "prompt", "scrubber", "canvas"):
        assert page.get_by_test_id(hook).count() == 1, hook


def test_the_theme_is_switched_and_remembered(visit: Visit, site: str) -> None:
    page = visit(site, color_scheme="light")
    colour = "getComputedStyle(document.body).getPropertyValue('--bv-card').trim()"
    assert page.evaluate(colour) == "#ffffff"
    page.get_by_test_id("theme").click()
    assert page.evaluate("document.body.classList.contains('dark')")
    assert page.evaluate(colour) == "#1c1f25"
    page.reload()
    page.get_by_test_id("generate").wait_for()
    page.wait_for_function("document.body.classList.contains('dark')")
    page.get_by_test_id("theme").click()
    # The address holds the theme as well, a moment later.
    page.wait_for_function("!location.search.includes('theme=dark')")
    page.reload()
    page.get_by_test_id("generate").wait_for()
    assert not page.evaluate("document.body.classList.contains('dark')")


def test_a_phone_shows_everything_without_sideways_scrolling(visit: Visit, site: str) -> None:
    page = visit(site, width=390, height=844)
    quick(page)
    generate(page)
    wide = "document.documentElement.scrollWidth - window.innerWidth"
    assert page.evaluate(wide) <= 0
    page.get_by_test_id("tab-compare").click()
    page.get_by_test_id("model-b").wait_for()
    assert page.evaluate(wide) <= 0


def test_without_checkpoints_the_page_says_so(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with serve(tmp_path / "empty", tmp_path / "app.log") as address:
        page = visit(address)
        expect(page.get_by_test_id("status")).to_contain_text("There is no checkpoint in 'empty' yet")
        expect(page.get_by_test_id("generate")).to_be_disabled()
        expect(page.get_by_test_id("stop")).to_be_disabled()
        page.get_by_test_id("tab-compare").click()
        expect(page.get_by_test_id("generate")).to_be_disabled()
        page.context.close()  # before its server, whose end it would report


@pytest.mark.parametrize(
    "path",
    [
        "gradio_api/file=app.py",
        "gradio_api/file=/etc/passwd",
        "gradio_api/proxy=http://127.0.0.1:1/",
        "gradio_api/upload",
        "gradio_api/component_server",
        "gradio_api/runs",
        "blockviz/..%2fapp.py",
        "openapi.json",
        "docs",
    ],
)
def test_the_server_hands_out_nothing_else(site: str, path: str) -> None:
    for data in (None, b"{}"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(urllib.request.Request(site + path, data=data), timeout=60)
        assert caught.value.code in (404, 405), path


def test_attention_is_recorded_when_asked_for_and_looked_at(visit: Visit, site: str) -> None:
    page = visit(site)
    quick(page)
    view = page.get_by_test_id("view-attention")
    view.get_by_role("button", name="was looked at").click()
    expect(view).to_contain_text("set “Record attention” and generate again")
    page.locator(".bvc-more summary").first.click()
    expect(page.get_by_test_id("setting-attention_layer")).to_be_hidden()
    page.get_by_test_id("setting-record_attention").select_option("heads")
    field = page.locator('.bvc-field[data-field="record_attention"]:visible')
    expect(field).to_contain_text(re.compile(r"Up to 16 queries × 128 keys × \d heads = \d+\.\d KiB in each"))
    page.get_by_test_id("setting-attention_layer").fill("99")
    page.get_by_test_id("generate").click()
    page.wait_for_function(
        "document.querySelector('[data-field=attention_layer] .bvc-error').textContent.includes('at most')"
    )
    page.get_by_test_id("setting-attention_layer").fill("1")
    end = generate(page)
    page.evaluate("BlockViz.bus('explore').seek(1)")
    expect(view).to_contain_text("What block")
    expect(view).to_contain_text("layer 1 of")
    expect(view.locator(".bv-view-heads")).to_be_visible()
    assert end["passes"] > 3
    ribbon = page.get_by_test_id("ribbon")
    expect(ribbon).to_contain_text("queries ×")
    heights = set()
    for k in range(end["passes"]):
        page.evaluate("(k) => BlockViz.bus('explore').seek(k)", k)
        page.wait_for_function("(k) => BlockViz.state().shown === k", arg=k)
        heights.add(ribbon.evaluate("(node) => node.offsetHeight"))
    assert len(heights) == 1
