"""The bar over the runs: examples, opening, saving and exporting, in the real page."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from blockviz.export.parcel import slug
from blockviz.export.standalone import page as exported
from blockviz.sampling.settings import PRESETS, from_preset
from blockviz.sampling.trace import Trace, save_all
from blockviz.ui.examples import FIRST, gallery, recorded
from blockviz.views.bundle import ASSETS
from tests.browser.conftest import PATIENCE_MS, Visit, serve
from tests.browser.fake_runs import fake_run

pytestmark = pytest.mark.browser

SPOILT = "doubts-spoil"
PAIR = ("two-people-masked", "two-people-uniform")


def trace(name: str) -> Trace:
    return Trace.from_lines(recorded(name).splitlines())


def runs(page: Page) -> list[str]:
    return [player["run"] for player in page.evaluate("BlockViz.state().players") if player["passes"]]


def until_shows(page: Page, *wanted: Trace) -> None:
    ids = [run.header.run for run in wanted]
    script = (
        "(ids) => BlockViz.state().players.filter((p) => p.passes).map((p) => p.run).join() === ids.join()"
    )
    page.wait_for_function(script, arg=ids)


def news(page: Page, group: str = "explore") -> Locator:
    return page.get_by_test_id(f"files-news-{group}")


def saved(page: Page, group: str, path: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_test_id(f"save-{group}").click()
    target = path / download.value.suggested_filename
    download.value.save_as(target)
    return target


def test_a_saved_run_is_the_run_and_opens_again(visit: Visit, site: str, tmp_path: Path) -> None:
    page = visit(site)
    until_shows(page, trace(FIRST))
    expect(page.locator("#explore-files")).to_contain_text("example 1 of")
    file = saved(page, "explore", tmp_path)
    assert file.name == "math-masked-arpc-seed-40.jsonl.gz"
    assert Trace.load(file) == trace(FIRST)
    assert gzip.decompress(file.read_bytes()).decode() == recorded(FIRST)
    page.get_by_test_id("next-explore").click()
    until_shows(page, trace(SPOILT))
    expect(page.get_by_test_id("seed")).to_have_value(str(trace(SPOILT).header.settings.seed))
    foreign = fake_run("uniform", run="foreign1")
    foreign.save(tmp_path / "foreign.jsonl")
    page.get_by_test_id("chooser-explore").set_input_files(tmp_path / "foreign.jsonl")
    until_shows(page, foreign)
    expect(page.locator("#explore-files")).to_contain_text("Opened from foreign.jsonl.")
    page.get_by_test_id("chooser-explore").set_input_files(file)
    until_shows(page, trace(FIRST))
    assert saved(page, "explore", tmp_path).read_bytes() == file.read_bytes()


def test_dropped_files_open_side_by_side_and_are_saved_as_one(
    visit: Visit, site: str, tmp_path: Path
) -> None:
    page = visit(site)
    until_shows(page, trace(FIRST))
    data = page.evaluate_handle(
        """(texts) => {
          const data = new DataTransfer();
          texts.forEach((text, i) => data.items.add(new File([text], `run ${i}.jsonl`)));
          return data;
        }""",
        [recorded(name) for name in (*PAIR, SPOILT)],
    )
    page.dispatch_event("#explore-run", "dragover", {"dataTransfer": data})
    expect(page.locator(".bvf-drop")).to_have_text("Drop saved runs to open them")
    page.dispatch_event("#explore-run", "drop", {"dataTransfer": data})
    expect(page.locator(".bvf-drop")).to_have_count(0)
    three = [trace(name) for name in (*PAIR, SPOILT)]
    until_shows(page, *three)
    assert page.evaluate("BlockViz.tabNow()") == "compare"
    file = saved(page, "compare", tmp_path)
    assert Trace.load_all(file) == three
    save_all(three[:2], tmp_path / "two.jsonl.gz")
    page.get_by_test_id("chooser-compare").set_input_files(tmp_path / "two.jsonl.gz")
    until_shows(page, *three[:2])
    expect(page.locator("#compare-files")).to_contain_text("Masked beside uniform")


def test_what_is_no_run_is_refused_with_the_reason_and_what_plays_stays(
    visit: Visit, site: str, tmp_path: Path
) -> None:
    page = visit(site)
    until_shows(page, trace(FIRST))
    whole = recorded(FIRST).encode()
    for name, content, says in (
        ("picture.png", b"\x89PNG\r\n\x1a\n\xff", "not text"),
        ("newer.jsonl", whole.replace(b'"blockviz":2', b'"blockviz":99', 1), "newer than format"),
        ("cut.jsonl.gz", gzip.compress(whole)[:-500], "ends early"),
        ("bomb.jsonl.gz", gzip.compress(b"\n" * 30_000_000), "cannot be used|more than"),
        ("huge.jsonl", b" " * 20_100_000, "at most 20 MB"),
    ):
        (tmp_path / name).write_bytes(content)
        page.get_by_test_id("chooser-explore").set_input_files(tmp_path / name)
        expect(news(page)).to_contain_text(re.compile(says))
        expect(news(page)).to_contain_text(name)
        assert runs(page) == [trace(FIRST).header.run]


def test_nothing_in_an_opened_run_is_run(visit: Visit, site: str, tmp_path: Path) -> None:
    page = visit(site)
    until_shows(page, trace(FIRST))
    hostile = fake_run("masked", run="</script><img src=x onerror=window.hit=1>")
    hostile.save(tmp_path / "run.jsonl.gz")
    page.get_by_test_id("chooser-explore").set_input_files(tmp_path / "run.jsonl.gz")
    until_shows(page, hostile)
    page.wait_for_timeout(300)
    assert page.evaluate("window.hit") is None


def test_a_quick_second_press_goes_one_example_further(visit: Visit, site: str) -> None:
    page = visit(site)
    until_shows(page, trace(FIRST))
    page.evaluate(
        "() => { for (let i = 0; i < 3; i++) document.querySelector('[data-testid=next-explore]').click(); }"
    )
    (name,) = gallery()[3].runs
    until_shows(page, trace(name))
    expect(page.get_by_test_id("seed")).to_have_value(str(trace(name).header.settings.seed))
    expect(page.locator("#explore-files")).to_contain_text("example 4 of")
    page.wait_for_timeout(500)
    assert runs(page) == [trace(name).header.run], "an answer to an earlier press came late and won"


def test_the_page_and_python_give_a_file_one_name(chromium: Browser) -> None:
    page = chromium.new_page()
    for script in ("dom.js", "files.js"):
        page.add_script_tag(path=ASSETS / script)
    toy = fake_run().header
    for preset, name in product(PRESETS, ("math-masked", "--Masked & more " * 9, "模型")):
        made = replace(toy, model=replace(toy.model, name=name), settings=from_preset(preset, seed=7))
        header = {"model": {"name": name}, "settings": made.settings.in_file()}
        assert page.evaluate("(header) => BlockViz.files.nameOf(header)", header) == slug(made)
    page.close()


def exporting(page: Page, kind: str) -> None:
    page.get_by_test_id("export-explore").click()
    page.get_by_test_id(f"kind-{kind}").check()


def test_an_exported_page_is_the_one_that_python_writes(visit: Visit, site: str, tmp_path: Path) -> None:
    page = visit(site)
    until_shows(page, trace(FIRST))
    exporting(page, "html")
    page.get_by_text("with its charts").click()
    with page.expect_download() as download:
        page.get_by_test_id("export-go").click()
    download.value.save_as(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == exported([trace(FIRST)], views=False)
    expect(page.get_by_test_id("export-status")).to_contain_text("was downloaded")


def test_a_film_comes_with_its_progress_and_can_be_cancelled(visit: Visit, site: str, tmp_path: Path) -> None:
    long = fake_run("masked", length=512, steps=8, run="long")
    long.save(tmp_path / "long.jsonl.gz")
    page = visit(site)
    page.get_by_test_id("chooser-explore").set_input_files(tmp_path / "long.jsonl.gz")
    until_shows(page, long)
    exporting(page, "gif")
    page.get_by_test_id("export-go").click()
    expect(page.get_by_test_id("export-status")).to_contain_text("frame", timeout=PATIENCE_MS)
    page.get_by_test_id("export-cancel").click()
    expect(page.get_by_test_id("export-status")).to_have_text("Cancelled; nothing was saved.")
    page.keyboard.press("Escape")
    page.get_by_test_id("next-explore").click()
    until_shows(page, trace(FIRST))
    page.get_by_test_id("export-explore").click()
    with page.expect_download() as download:
        page.get_by_test_id("export-go").click()
    assert download.value.suggested_filename == "math-masked-arpc-seed-40.gif"
    download.value.save_as(tmp_path / "film.gif")
    from PIL import Image

    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames == len(trace(FIRST).passes)


def test_a_picture_is_of_the_pass_on_screen(visit: Visit, site: str, tmp_path: Path) -> None:
    from blockviz.export.picture import picture

    page = visit(site)
    until_shows(page, trace(FIRST))
    page.evaluate("BlockViz.visibleBus().seek(26)")
    exporting(page, "picture")
    with page.expect_download() as download:
        page.get_by_test_id("export-go").click()
    download.value.save_as(tmp_path / "canvas.png")
    from PIL import Image, ImageChops

    with Image.open(tmp_path / "canvas.png") as shown:
        assert ImageChops.difference(shown.convert("RGB"), picture(trace(FIRST), 26)).getbbox() is None


@pytest.fixture(scope="module")
def without_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    empty = tmp_path_factory.mktemp("no models")
    with serve(empty, tmp_path_factory.mktemp("log") / "app.log") as address:
        yield address


def test_every_example_plays_without_any_model(visit: Visit, without_models: str) -> None:
    page = visit(without_models)
    expect(page.get_by_test_id("generate")).to_be_disabled()
    until_shows(page, trace(FIRST))
    for entry in gallery():
        page.get_by_test_id(f"examples-{page.evaluate('BlockViz.tabNow()')}").click()
        page.get_by_test_id(f"example-{entry.name}").locator("visible=true").click()
        until_shows(page, *(trace(name) for name in entry.runs))
        assert page.evaluate("BlockViz.tabNow()") == ("explore" if len(entry.runs) == 1 else "compare")
        bar = page.locator(f"#{page.evaluate('BlockViz.tabNow()')}-files")
        expect(bar).to_contain_text(entry.title)
        expect(bar).to_contain_text(entry.sentence)


def test_a_run_in_progress_is_not_written_over(visit: Visit, site: str) -> None:
    page = visit(site)
    page.get_by_test_id("model").select_option("slow")
    page.get_by_test_id("setting-steps").fill("256")
    page.get_by_test_id("generate").click()
    page.wait_for_function("BlockViz.state().live")
    page.evaluate("BlockViz.formFollows('explore')")  # as an example's answer that comes late would
    assert page.evaluate("BlockViz.formBusy('explore')")
    expect(page.get_by_test_id("setting-steps")).to_have_value("256")
    page.get_by_test_id("next-explore").click()
    expect(news(page)).to_contain_text("A run is being written")
    page.get_by_test_id("stop").click()
    expect(page.get_by_test_id("generate")).to_be_enabled(timeout=PATIENCE_MS)
    expect(page.locator("#explore-files")).to_contain_text("A run made here.")
    page.get_by_test_id("next-explore").click()
    until_shows(page, trace(gallery()[0].runs[0]))
