"""Learn in the real page: chapters, outlines, control, answers, Explore, glossary, links, print; no model is needed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from blockviz.ui.examples import FIRST, header_of, recorded
from blockviz.ui.learn.book import check, contents
from blockviz.ui.learn.glossary import TERMS
from blockviz.views.bundle import ASSETS
from tests.browser.access import targets, violations
from tests.browser.conftest import PATIENCE_MS, Visit, serve

pytestmark = pytest.mark.browser
expect.set_options(timeout=PATIENCE_MS)
NAMES = [chapter["name"] for chapter in contents()]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page without any checkpoint."""
    with serve(tmp_path_factory.mktemp("none"), tmp_path_factory.mktemp("log") / "app.log") as address:
        yield address


def enter(page: Page, chapter: str = "start") -> dict[str, Any]:
    """Open Learn at a chapter and wait until its run stands."""
    page.get_by_test_id("tab-learn").click()
    page.get_by_test_id("chapter-" + chapter).click()
    sent = check(chapter)
    expect(page.get_by_test_id("chapter-title")).to_have_text(sent["title"])
    arrive(page, sent, sent["control"]["chosen"])
    return sent


def arrive(page: Page, sent: dict[str, Any], option: int, at: int | None = None) -> None:
    wanted = sent["control"]["options"][option]
    k = wanted["pass"] if at is None else at
    page.wait_for_function(
        "([run, k]) => { const s = BlockViz.state(); return s.group === 'learn' && s.run === run && s.shown === k; }",
        arg=[run_id(wanted["run"]), k],
    )


def run_id(name: str) -> str:
    with gzip.open(ASSETS / "examples" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return json.loads(file.readline())["run"]


def marked(page: Page) -> list[int]:
    return page.locator("#learn .bv-cell.is-outlined").evaluate_all(
        "(cells) => cells.map((cell) => Number(cell.dataset.pos)).sort((a, b) => a - b)"
    )


def test_every_chapter_opens_at_its_pass_with_its_positions_outlined(visit: Visit, bare: str) -> None:
    page = visit(bare)
    for name in NAMES:
        sent = enter(page, name)
        options = sent["control"]["options"]
        assert marked(page) == options[sent["control"]["chosen"]]["outlined"], name
        told = page.get_by_test_id("chapter-text").inner_text().replace("\xa0", " ")
        for sentence in sent["sentences"]:
            assert "".join(text for text, _ in sentence) in " ".join(told.split())
        for view in sent["views"]:
            expect(page.get_by_test_id(f"view-{view}-learn").locator(".main-svg").first).to_be_visible()
        assert page.locator("#learn .bv-view").count() == len(sent["views"])
        expect(page.get_by_test_id("chapter-" + name)).to_have_attribute("aria-current", "step")


def test_the_control_changes_the_run_and_the_outline_follows_the_pass(visit: Visit, bare: str) -> None:
    page = visit(bare)
    for name in NAMES:
        sent = enter(page, name)
        for i, option in enumerate(sent["control"]["options"]):
            page.get_by_test_id(f"option-{i}").check(force=True)
            arrive(page, sent, i)
            expect(page.get_by_test_id("told")).to_have_text(option["told"])
            assert marked(page) == option["outlined"], (name, option["label"])
    page.evaluate("BlockViz.visibleBus().toEnd()")
    page.wait_for_function("BlockViz.state().shown === BlockViz.state().passes - 1")
    twin = page.evaluate(
        "() => { const {run, shown} = BlockViz.bus('learn').players.at(-1);"
        " const {rule, listed} = BlockViz.bus('learn').transports.at(-1);"
        " return BlockViz.outlined(rule, run, shown, listed); }"
    )
    page.wait_for_function(
        "(n) => document.querySelectorAll('#learn .is-outlined').length === n", arg=len(twin)
    )
    assert marked(page) == twin


def test_an_answer_is_shown_in_the_run(visit: Visit, bare: str) -> None:
    page = visit(bare)
    for name in NAMES:
        sent = enter(page, name)
        expect(page.get_by_test_id("answer")).to_be_hidden()
        page.get_by_test_id("ask").click()
        expect(page.get_by_test_id("answer")).to_have_text("".join(text for text, _ in sent["answer"]))
        shown = sent["shown"]
        arrive(page, sent, shown["option"], shown["pass"])
        if shown["listed"] is not None:
            assert marked(page) == sorted(shown["listed"])
        expect(page.get_by_test_id("ask")).to_have_attribute("aria-expanded", "true")


def test_open_in_explore_takes_run_pass_and_settings_along(visit: Visit, site: str) -> None:
    page = visit(site)
    sent = enter(page, "arpc")
    page.keyboard.press("ArrowRight")
    at = sent["control"]["options"][sent["control"]["chosen"]]["pass"] + 1
    page.wait_for_function("(k) => BlockViz.state().shown === k", arg=at)
    page.get_by_test_id("open-in-explore").click()
    run = run_id("lesson-arpc-informed")
    page.wait_for_function(
        "([run, k]) => { const s = BlockViz.state(); return s.group === 'explore' && s.run === run && s.shown === k; }",
        arg=[run, at],
    )
    expect(page.get_by_test_id("seed")).to_have_value("41")
    expect(page.get_by_test_id("setting-length")).to_have_value("64")
    expect(page.get_by_test_id("preset-arpc")).to_be_checked()
    expect(page.get_by_test_id("link-note")).to_contain_text("from Learn")
    expect(page.locator(".bvf-about").first).to_contain_text("Opened from Learn")
    page.get_by_test_id("generate").click()  # and a run of its own takes the place
    page.wait_for_function("(old) => BlockViz.state().run !== old && BlockViz.state().ended", arg=run)
    expect(page.locator(".bvf-about").first).to_contain_text("A run made here.")


def test_an_example_takes_the_place_of_a_run_from_learn_though_the_server_sent_it_before(
    visit: Visit, bare: str
) -> None:
    page = visit(bare)
    first = header_of(recorded(FIRST))
    assert first is not None
    page.wait_for_function("(run) => BlockViz.state().run === run", arg=first.run)
    enter(page, "arpc")
    page.get_by_test_id("open-in-explore").click()
    page.wait_for_function("(run) => BlockViz.state().run === run", arg=run_id("lesson-arpc-informed"))
    page.get_by_test_id("next-explore").click()
    page.wait_for_function("(run) => BlockViz.state().run === run", arg=first.run)
    expect(page.locator(".bvf-about").first).to_contain_text("example 1 of")
    expect(page.get_by_test_id("seed")).to_have_value(str(first.settings.seed))
    expect(page.get_by_test_id("prompt")).to_have_value(first.prompt)


def test_a_link_opens_the_chapter_the_choice_and_the_pass(visit: Visit, bare: str) -> None:
    page = visit(bare)
    page.goto(bare + "?v=1&tab=learn&chapter=arpc&option=1&pass=5")
    page.get_by_test_id("chapter-title").wait_for()
    arrive(page, check("arpc"), 1, 5)
    expect(page.get_by_test_id("chapter-title")).to_have_text(check("arpc")["title"])
    page.wait_for_function("location.search.includes('chapter=arpc') && location.search.includes('pass=5')")
    enter(page, "noise")
    page.wait_for_function("location.search.includes('chapter=noise')")


def test_glossary_by_keyboard_pointer_and_tap(visit: Visit, bare: str) -> None:
    page = visit(bare)
    enter(page)
    word = page.locator("#learn .bvl-text .bv-term").first
    meaning = {term.name: term.definition for term in TERMS}[word.get_attribute("data-term") or ""]
    box = page.get_by_test_id("gloss")
    page.get_by_test_id("chapter-title").focus()
    page.keyboard.press("Tab")
    expect(word).to_be_focused()
    expect(box).to_contain_text(meaning)
    expect(word).to_have_attribute("aria-describedby", "bv-gloss")
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    page.keyboard.press("Enter")
    expect(box).to_be_visible()
    page.keyboard.press("Tab")
    expect(box).not_to_contain_text(meaning)
    page.keyboard.press("Escape")
    word.hover()
    expect(box).to_contain_text(meaning)
    box.hover()  # it can be read with the pointer on it
    page.wait_for_timeout(500)
    expect(box).to_be_visible()
    page.mouse.move(5, 5)
    expect(box).to_be_hidden()


def test_words_of_labels_are_marked_everywhere(visit: Visit, site: str) -> None:
    page = visit(site)
    terms = lambda place: page.locator(place + " .bv-term")  # noqa: E731
    expect(terms("#explore .bvc").first).to_be_visible()
    expect(terms("#explore .bv-facts").first).to_be_visible()
    expect(terms("#explore .bv-view-title").first).to_be_visible()
    label = terms("#explore .bvc").first
    label.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("gloss")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("gloss")).to_be_hidden()


def test_only_what_is_shown_is_fetched(visit: Visit, bare: str) -> None:
    page = visit(bare)
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url))
    page.wait_for_timeout(500)
    assert not any("/learn/" in url or "lesson-" in url for url in seen)
    enter(page, "noise")
    assert sum("lesson-" in url for url in seen) == 2  # the first chapter's run, and this one's


def test_a_chapter_keeps_the_rules_of_access(visit: Visit, bare: str) -> None:
    for theme in ("light", "dark"):
        page = visit(bare, query=f"?__theme={theme}")
        enter(page, "arpc")
        page.get_by_test_id("ask").click()
        page.wait_for_timeout(800)
        assert violations(page, ["#learn"]) == []
        page.get_by_test_id("chapter-glossary").click()
        expect(page.get_by_test_id("glossary")).to_be_visible()
        assert violations(page, ["#learn"]) == []


def test_a_phone_has_it_all_in_one_column(visit: Visit, bare: str) -> None:
    page = visit(bare, width=390, height=844, has_touch=True, is_mobile=True)
    for name in NAMES:
        enter(page, name)
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0, name
    page.wait_for_timeout(500)
    assert [entry for entry in targets(page) if min(entry[2:]) < 24] == []
    word = page.locator("#learn .bvl-text .bv-term").first
    word.tap()
    expect(page.get_by_test_id("gloss")).to_be_visible()
    page.get_by_test_id("chapter-title").tap()
    expect(page.get_by_test_id("gloss")).to_be_hidden()


def test_all_chapters_go_to_paper(visit: Visit, bare: str, tmp_path: Path) -> None:
    page = visit(bare, query="?__theme=dark")
    enter(page)
    page.evaluate("() => { window.print = () => { window.printed = true; }; }")
    page.get_by_test_id("print").click()
    page.wait_for_function("window.printed")
    sheets = page.locator(".bvl-page")
    assert sheets.count() == len(NAMES) + 1
    for i, name in enumerate(NAMES):
        sent = check(name)
        text = sheets.nth(i).evaluate("(sheet) => sheet.textContent")
        assert sent["title"] in text
        assert "".join(words for words, _ in sent["answer"]) in text
        assert sheets.nth(i).locator(".bv-cell").count() in (64, 80, 128)
        assert sheets.nth(i).locator(".bv-cell.is-outlined").count() > 0
    page.emulate_media(media="print")
    assert page.locator("#learn .bvl-nav").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).getPropertyValue('--bv-card').trim()") == "#ffffff"
    path = tmp_path / "learn.pdf"
    page.pdf(path=path, prefer_css_page_size=True, print_background=True)
    pages = path.read_bytes().count(b"/Type /Page\n") or path.read_bytes().count(b"/Type /Page")
    assert len(NAMES) + 1 <= pages
    page.emulate_media(media="screen")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert sheets.count() == 0


def test_a_server_that_is_gone_is_said(visit: Visit, bare: str) -> None:
    page = visit(bare)
    enter(page)
    page.route("**/blockviz/learn/noise", lambda route: route.fulfill(status=200, body="no JSON"))
    page.get_by_test_id("chapter-noise").click()
    expect(page.locator(".bvl-lost")).to_contain_text("could not be fetched")
    page.unroute("**/blockviz/learn/noise")
