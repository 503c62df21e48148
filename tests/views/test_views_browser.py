"""The browser side of the views, in a real Chromium: masks and words as in Python, cheap steps, no foreign markup."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import plotly
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from blockviz.sampling.trace import Trace
from blockviz.views import attention, confidence, fill, renoising, ribbon, timeline, weights
from blockviz.views.decisions import decision
from blockviz.views.layout import MAX_ROWS, escape
from blockviz.views.masks import Geometry, axes, axes_of, geometry, picture, reason, source_pass
from blockviz.views.templates import SCRIPTS, STYLES, VIEWS, templates
from tests.views.runs import guided, large, left_to_right, sampled, with_attention, with_settings
from tests.views.test_fork_views import made

pytestmark = pytest.mark.browser

ASSETS = Path(__file__).resolve().parents[2] / "assets"
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
]

PAGE = """
window.mountAll = (templates, suffix) => {
  const views = {};
  for (const name of Object.keys(templates)) {
    const box = document.createElement("section");
    box.className = "bv-view";
    box.dataset.testid = "view-" + name + (suffix || "");
    box.style.width = "260px";
    document.body.append(box);
    views[name] = BlockViz.views[name].mount(box, templates[name]);
  }
  return views;
};
window.open_ = (text) => { const run = new BlockViz.Run(); run.feed(text); return run; };
window.show = (views, run, k, scales) => {
  for (const name of Object.keys(views)) { views[name].load(run, scales); views[name].draw(run, k); }
};
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """One tab for all tests, and what its console said."""
    one = browser.new_page(viewport={"width": 700, "height": 1500})
    one.set_default_timeout(120_000)
    said: list[str] = []
    one.on("pageerror", lambda problem: said.append(str(problem)))
    one.on("console", lambda line: said.append(line.text))
    for name in ("theme.css", *STYLES):
        one.add_style_tag(path=ASSETS / name)
    one.add_script_tag(path=PLOTLY)
    for name in ("dom.js", "pieces.js", "trace.js", "haste.js", *SCRIPTS):
        one.add_script_tag(path=ASSETS / name)
    one.add_script_tag(content=PAGE)
    one.evaluate("(templates) => { window.templates = templates; }", templates())
    yield one, said
    one.close()


@pytest.fixture
def page(tab: tuple[Page, list[str]]) -> Iterator[Page]:
    """The tab with fresh views; the console must stay empty."""
    one, said = tab
    said.clear()
    one.evaluate(
        """() => { document.body.classList.remove('dark'); BlockViz.views.attention.choose({ show: "seen", head: -1 });
                   window.views = mountAll(templates); }"""
    )
    yield one
    one.evaluate(
        """() => { for (const name in views) views[name].destroy();
                   for (const box of document.querySelectorAll(".bv-view")) box.remove(); }"""
    )
    assert said == []


def load(page: Page, trace: Trace, k: int) -> None:
    page.evaluate(
        "([text, k]) => { window.run = open_(text); show(views, run, k); }", ["".join(trace.to_lines()), k]
    )


def draw(page: Page, k: int) -> None:
    page.evaluate("(k) => { for (const name in views) views[name].draw(run, k); }", k)


GROW = "(text) => { run.feed(text); for (const name in views) views[name].load(run); }"


def phase(trace: Trace, name: str, number: int = 0) -> int:
    return [k for k, entry in enumerate(trace.passes) if entry.phase == name][number]


GEOMETRIES = [
    Geometry(0, 16, 16, 32, 16),
    Geometry(32, 0, 32, 48, 16),
    Geometry(32, 16, 48, 64, 16),
    Geometry(16, 0, 16, 32, 16, verify=True),
    Geometry(0, 16, 16, 32, 16, verify=True, recomputed=True),
    Geometry(0, 0, 0, 64, 64),
    Geometry(9, 1, 10, 11, 1),
    Geometry(16, 16, 32, 48, 16, x0_causal=False),
    Geometry(48, 8, 56, 64, 16),
    Geometry(512, 16, 528, 544, 16),
]


@pytest.mark.parametrize("whole", [True, False])
def test_the_masks_are_those_of_python(page: Page, whole: bool) -> None:
    for shape in GEOMETRIES:
        length = 1024 if shape.stop > 64 else 64
        frame = axes(length, shape.block_size, whole or shape.verify)
        given = asdict(shape) | {
            "window": shape.window,
            "blockSize": shape.block_size,
            "x0Causal": shape.x0_causal,
        }
        cells = page.evaluate(
            """([shape, length, whole]) => {
                 const { axes, picture } = BlockViz.views.attention;
                 return picture(shape, axes(length, shape.blockSize, whole, templates.attention));
               }""",
            [given, length, whole or shape.verify],
        )
        assert np.array_equal(np.array(cells), picture(shape, frame)), shape


RUNS = {
    "guided": guided(length=56, block_size=16),
    "uniform": guided(process="uniform", length=40, block_size=16),
    "left to right": left_to_right(),
    "whole canvas": guided(length=32, block_size=32, prompt_length=5),
    "no cache": with_settings(guided(length=32, block_size=8, prompt_length=9), use_cache=False),
    "wide": large(5, 80),
    "both sides": sampled("blockwise", record_attention="mean"),
    "both sides, corrected": sampled("arpc", context="bidirectional"),
    "canvas": sampled("canvas"),
    "overlap": sampled("overlap", overlap=2, corrector="ar_nll"),
    "seams": sampled("seams", seam_width=3),
    "fork": made(),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_is_drawn_is_what_python_draws(page: Page, name: str) -> None:
    trace = RUNS[name]
    load(page, trace, 0)
    states = page.evaluate("views.fill.plot.data[0].z.map((row) => Array.from(row))")
    assert np.array_equal(np.array(states), trace.states)
    shown = page.evaluate(
        "views.confidence.plot.data[0].z.map((row) => Array.from(row, (v) => (v === v ? v : -1)))"
    )
    expected = np.nan_to_num(confidence.carried(trace)[0], nan=-1.0)
    assert np.allclose(np.array(shown), expected, atol=1e-4)
    frame = axes_of(trace)
    for k in sorted({1, 2, 3, 4, 5, len(trace.passes) - 1} & set(range(len(trace.passes)))):
        draw(page, k)
        source = source_pass(trace, k)
        if source is not None:
            mask = page.evaluate("views.attention.plot.data[0].z")
            assert np.array_equal(np.array(mask), picture(geometry(trace, source), frame)), k
        _same_bars(page, trace, k)
    _same_timeline(page, trace)


def _same_timeline(page: Page, trace: Trace) -> None:
    for along in timeline.ALONGS:
        page.evaluate("(along) => BlockViz.views.timeline.choose(along)", along)
        figure = timeline.figure(trace, len(trace.passes) - 1, along=along)
        drawn = page.evaluate(
            "views.timeline.plot.data.map(({ base, x, y }) => [base, x, y].map((list) => Array.from(list)))"
        )
        for mine, theirs in zip(drawn, figure["data"], strict=True):
            for seen, key in zip(mine, ("base", "x", "y"), strict=True):
                assert seen == pytest.approx(theirs[key]), (along, key)
        axis = page.evaluate("views.timeline.plot.layout.xaxis")
        assert axis["range"] == pytest.approx(figure["layout"]["xaxis"]["range"])
        assert axis["title"]["text"] == figure["layout"]["xaxis"]["title"]["text"]
    page.evaluate("BlockViz.views.timeline.choose('pass')")
    for k in range(0, len(trace.passes), 4):
        assert page.evaluate("(k) => views.timeline.tell(k)", k) == timeline.words(trace, k)
        draw(page, k)
        said = page.locator('[data-testid="view-timeline"] .bv-view-help').inner_text()
        assert said == timeline.block_words(trace, k)


def _same_bars(page: Page, trace: Trace, k: int) -> None:
    quiet = page.evaluate("views.renoising.quietNode.textContent")
    wanted = decision(trace, k)
    if wanted is None:
        assert quiet == renoising.quiet_words(trace, k)
        return
    assert quiet == ""
    figure = renoising.figure(trace, k)
    for index in (0, 1):
        drawn = page.evaluate(f"Array.from(views.renoising.plot.data[{index}].y)")[: len(wanted.scores)]
        expected = figure["data"][index]["y"]
        assert [value is None for value in drawn] == [value is None for value in expected]
        assert [v for v in drawn if v is not None] == pytest.approx(
            [v for v in expected if v is not None], abs=1e-3
        )
    said = page.locator('[data-testid="view-renoising"] .bv-view-help').inner_text()
    assert escape(said) in figure["layout"]["title"]["text"]


def test_the_reasons_are_those_of_python(page: Page) -> None:
    for shape in (*GEOMETRIES[:8], Geometry(4, 4, 8, 12, 4, x0_causal=False)):
        # Around every edge of the two streams; the rest is as its neighbours.
        edges = {0, shape.cached, shape.start, shape.stop}
        places = [(False, at + by) for at in edges for by in (-1, 0, 1, 2) if at + by >= 0]
        places += [(True, at) for at in {0, 1, shape.window - 1, shape.window}]
        given = asdict(shape) | {
            "window": shape.window,
            "blockSize": shape.block_size,
            "x0Causal": shape.x0_causal,
        }
        named = page.evaluate(
            """([shape, places]) => places.map((query) => places.map((key) =>
                 BlockViz.views.attention.reason(shape, ...query, ...key)))""",
            [given, places],
        )
        assert named == [[reason(shape, *query, *key) for key in places] for query in places], shape


def attend(page: Page, **choice: Any) -> None:
    page.evaluate("(choice) => BlockViz.views.attention.choose(choice)", choice)


@pytest.mark.parametrize("kept", ["heads", "mean"])
def test_what_was_looked_at_is_what_python_draws(page: Page, kept: str) -> None:
    trace = with_attention(guided(length=56, block_size=16), kept)
    load(page, trace, 1)
    attend(page, show="looked")
    for head in (None, 2) if kept == "heads" else (None,):
        attend(page, head=-1 if head is None else head)
        for k in (1, 2, 3, 4, len(trace.passes) - 1):
            draw(page, k)
            source = source_pass(trace, k)
            assert source is not None
            values = weights.codes(trace, source, head)
            assert values is not None
            drawn = page.evaluate("views.attention.plot.data[0].z")
            shown = np.array([[np.nan if v is None else v for v in row] for row in drawn], float)
            np.testing.assert_allclose(shown, values, atol=1e-3)
            figure = attention.figure(trace, k, show="looked", head=head)
            said = page.locator('[data-testid="view-attention"] .bv-view-help').inner_text()
            assert said in figure["layout"]["title"]["text"]
            for place, key in [(0, 0), (3, 20), (5, trace.passes[source].start + 5), (9, 40), (0, 30)]:
                words = page.evaluate("([x, y]) => views.attention.describe(x, y)", [key + 1.3, place + 0.8])
                known = place < len(values) and key < values.shape[1] and not np.isnan(values[place, key])
                expected = (
                    attention.weight_words(trace, source, place, key, float(values[place, key]))
                    if known
                    else ""
                )
                assert words == expected
            assert page.evaluate("views.attention.plot.layout.yaxis.range") == [16.5, 0.5]
    assert page.locator(".bv-view-heads").is_visible() == (kept == "heads")


def test_a_long_map_of_weights_is_thinned_as_in_python(page: Page) -> None:
    trace = with_attention(guided(length=1024, block_size=512, prompt_length=5, steps=1), heads=2)
    load(page, trace, 1)
    attend(page, show="looked", head=1)
    values = weights.codes(trace, 1, 1)
    assert values is not None
    shown, high, wide = weights.thinned(values)
    heat = page.evaluate("(({ z, dx, dy, x0, y0 }) => ({ z, dx, dy, x0, y0 }))(views.attention.plot.data[0])")
    assert (heat["dx"], heat["dy"]) == (wide, high)
    np.testing.assert_array_equal(np.array(heat["z"]), shown)
    exact = attention.weight_words(trace, 1, 401, 333, float(values[401, 333]))
    assert page.evaluate("views.attention.describe(334, 402)") == exact


def test_without_recorded_attention_it_says_how_to_record_it(page: Page) -> None:
    load(page, RUNS["guided"], 3)
    page.get_by_role("button", name="was looked at").click()
    quiet = page.evaluate("views.attention.quietNode.textContent")
    assert quiet == weights.WORDS["how"]
    assert "Record attention" in quiet
    assert page.locator(".bv-view-heads").is_hidden()
    page.get_by_role("button", name="may be seen").click()
    assert page.evaluate("views.attention.quietNode.textContent") == ""
    frame = axes(56, 16, True)
    assert np.array_equal(
        np.array(page.evaluate("views.attention.plot.data[0].z")), picture(geometry(RUNS["guided"], 2), frame)
    )


def test_the_choice_holds_for_every_attention_view(page: Page) -> None:
    trace = with_attention(guided(length=56, block_size=16))
    load(page, trace, 1)
    page.evaluate("() => { window.other = mountAll(templates, '-b'); show(other, run, 2); }")
    page.locator('[data-testid="view-attention"]').get_by_role("button", name="was looked at").click()
    page.locator('[data-testid="view-attention"] .bv-view-heads').select_option("1")
    said = page.locator('[data-testid="view-attention-b"] .bv-view-help').inner_text()
    assert "head 2 of 3" in said
    assert page.locator('[data-testid="view-attention-b"] .bv-view-heads').input_value() == "1"
    legend = page.locator('[data-testid="view-attention-b"] .bv-view-legend').inner_text()
    assert "of a query's attention" in legend
    page.evaluate("() => { for (const name in other) other[name].destroy(); }")


@pytest.mark.parametrize("name", ["guided", "left to right", "no cache", "whole canvas"])
def test_the_ribbon_says_what_python_says(page: Page, name: str) -> None:
    trace = RUNS[name]
    load(page, trace, 0)
    seen = page.evaluate(
        """() => { BlockViz.templates = templates;
             const ribbon = new BlockViz.Ribbon(), { facts, parts } = BlockViz.Ribbon;
             document.body.append(ribbon.node);
             ribbon.load(run);
             const all = run.passes.map((pass, k) => {
               ribbon.draw(run, k);
               const spans = Object.fromEntries(Object.entries(ribbon.spans).map(([name, span]) =>
                 [name, [parseFloat(span.style.left), parseFloat(span.style.width)]]));
               const texts = Object.fromEntries(Object.entries(ribbon.places).map(([name, place]) =>
                 [name, place.text.textContent]));
               return [Object.values(facts(run, k)), texts, spans];
             });
             ribbon.node.remove(); ribbon.destroy();
             return all; }"""
    )
    for k, (facts, texts, spans) in enumerate(seen):
        now = ribbon.facts(trace, k)
        assert facts == list(asdict(now).values())
        assert texts == ribbon.parts(now)
        share = 100 / trace.header.length
        assert spans["cached"] == pytest.approx([0, share * now.cached], abs=1e-3)
        assert spans["carried"] == pytest.approx([share * now.cached, share * now.carried], abs=1e-3)
        window = [share * now.start, share * (now.stop - now.start) if now.queries else 0]
        assert spans["noise" if now.verify else "active"] == pytest.approx(window, abs=1e-3)


def test_hover_says_the_same_words_as_python(page: Page) -> None:
    trace = RUNS["guided"]
    k = phase(trace, "renoise", 1)
    load(page, trace, k)
    values, seen = confidence.carried(trace)
    for position in (0, trace.passes[k].start + 1, trace.passes[k].stop - 1, 55):
        words = page.evaluate("([x, y]) => views.fill.describe(x, y)", [position + 1.2, k + 0.3])
        assert words == fill.cell_words(trace, k, position)
        words = page.evaluate("([x, y]) => views.confidence.describe(x, y)", [position + 1.2, k + 0.3])
        assert words == confidence.cell_words(trace, k, position, values[k, position], seen[k, position])
    shown = decision(trace, k)
    assert shown is not None
    for i in np.flatnonzero(~np.isnan(shown.scores)):
        assert page.evaluate("(x) => views.renoising.describe(x)", int(i) + 1) == renoising.bar_words(
            trace, shown, int(i)
        )
    source = source_pass(trace, k)
    assert source is not None
    frame, shape = axes(56, 16, True), geometry(trace, source)
    places = frame.places()
    for row, column in [
        (0, 0),
        (20, 3),
        (shape.start, 3),
        (shape.start + 2, shape.start),
        (60, 20),
        (70, 70),
        (3, 50),
    ]:
        expected = attention.cell_words(shape, frame, int(places[row]), int(places[column]))
        assert (
            page.evaluate("([x, y]) => views.attention.describe(x, y)", [column + 0.5, row + 0.5]) == expected
        )


def test_hovering_shows_a_plotly_label_and_no_markup(page: Page) -> None:
    trace = RUNS["guided"]
    load(page, trace, phase(trace, "renoise"))
    hostile = next(token for token, piece in trace.pieces.items() if piece.startswith("<img"))
    k, position = np.argwhere(trace.tokens == hostile)[-1].tolist()
    point = page.evaluate(
        """([position, k]) => {
             const box = views.fill.plot.getBoundingClientRect(), { xaxis, yaxis } = views.fill.plot._fullLayout;
             return [box.left + xaxis._offset + xaxis.l2p(position + 1), box.top + yaxis._offset + yaxis.l2p(k)];
           }""",
        [position, k],
    )
    label = page.locator('[data-testid="view-fill"] .hovertext', has_text="<img src=x onerror")
    page.mouse.move(point[0] - 5, point[1])
    for attempt in range(40):
        # Plotly drops pointer moves that follow each other too fast, so the pointer keeps trembling on its cell.
        page.mouse.move(point[0] + 0.2 * (attempt % 2), point[1])
        page.wait_for_timeout(100)
        if label.count():
            break
    assert label.count() == 1
    assert page.evaluate("window.hit === undefined && document.querySelectorAll('img').length === 0")


def test_a_step_moves_the_cursor_and_redraws_no_map(page: Page) -> None:
    trace = RUNS["guided"]
    load(page, trace, 1)
    page.evaluate(
        """() => { window.redrawn = 0;
             for (const name of ["fill", "confidence"])
               views[name].plot.on("plotly_afterplot", () => { window.redrawn += 1; }); }"""
    )
    tops = []
    for k in range(1, len(trace.passes)):
        draw(page, k)
        tops.append(page.evaluate("views.fill.cursor.getBoundingClientRect().top"))
    assert page.evaluate("window.redrawn") == 0
    assert tops == sorted(tops)
    assert len(set(tops)) == len(tops)
    page.evaluate("BlockViz.Plotly.relayout(views.fill.plot, {'yaxis.range': [5.5, 0.5]})")
    draw(page, 3)
    middle = page.evaluate(
        """() => { const box = views.fill.cursor.getBoundingClientRect(), plot = views.fill.plot;
                   const { yaxis } = plot._fullLayout;
                   const middle = (box.top + box.bottom) / 2 - plot.getBoundingClientRect().top;
                   return middle - yaxis._offset - yaxis._length / 2; }"""
    )
    assert abs(middle) < 2, "the cursor follows a zoom"
    draw(page, len(trace.passes) - 1)
    assert page.evaluate("getComputedStyle(views.fill.cursor).visibility") == "hidden"


PLACE = """(name) => {
  const { plot } = views[name];
  plot.scrollIntoView();
  const box = plot.getBoundingClientRect(), { xaxis, yaxis } = plot._fullLayout;
  return [box.left + xaxis._offset, box.top + yaxis._offset, xaxis._length, yaxis._length];
}"""


def looks(page: Page, name: str) -> np.ndarray:
    """The pixels of a view's plot area, RGB [height, width, 3]."""
    x, y, width, height = page.evaluate(PLACE, name)
    clip = {"x": x + 1, "y": y + 1, "width": width - 2, "height": height - 2}
    with Image.open(io.BytesIO(page.screenshot(clip=clip))) as picture:
        return np.asarray(picture.convert("RGB"), float)


def test_what_is_shown_at_once_is_what_plotly_draws_at_rest(page: Page) -> None:
    trace = RUNS["guided"]
    load(page, trace, 1)
    plots = """() => { window.plotted = { renoising: 0, attention: 0 }; for (const name in plotted)
                 views[name].plot.on("plotly_afterplot", () => { window.plotted[name] += 1; }); }"""
    page.wait_for_timeout(500)  # what was loaded comes to rest first, which is Plotly's turn
    page.evaluate(plots)
    k = phase(trace, "renoise", 1)
    for name in ("renoising", "attention"):
        page.evaluate("(name) => { views[name].settle = () => {}; }", name)
        page.evaluate(
            "([name, ks]) => { for (const k of ks) views[name].draw(run, k); }", [name, [*range(2, k), k]]
        )
        assert page.evaluate("(name) => plotted[name]", name) == 0, "no step calls Plotly"
        at_once = looks(page, name)
        page.evaluate("(name) => { delete views[name].settle; views[name].settle(true); }", name)
        page.wait_for_timeout(300)  # the browser decodes Plotly's picture
        at_rest = looks(page, name)
        assert page.evaluate("(name) => plotted[name]", name) >= 1
        difference = np.abs(at_once - at_rest).max(axis=2)
        assert (difference > 24).mean() < 0.01, name
        page.evaluate("([name, k]) => views[name].draw(run, k)", [name, k - 2])
        other = looks(page, name)
        assert (np.abs(other - at_rest).max(axis=2) > 24).mean() > 0.02, (
            name,
            "another pass looks different",
        )


def test_plotly_follows_when_a_view_rests_or_is_pointed_at(page: Page) -> None:
    trace = RUNS["guided"]
    load(page, trace, 1)
    page.wait_for_timeout(400)
    drawn = "Array.from(views.renoising.plot.calcdata[1], (bar) => bar.s).filter((s) => s > 0).length"
    k = phase(trace, "renoise", 1)
    draw(page, k)
    page.wait_for_function(f"{drawn} === {trace.passes[k].k}")
    page.wait_for_function("!views.attention.sheet.on")
    k = phase(trace, "renoise", 0)
    page.evaluate("(k) => { views.renoising.draw(run, k); views.renoising.settle(); }", k)
    assert page.evaluate(drawn) == trace.passes[k].k
    page.evaluate(
        """(k) => { views.attention.draw(run, k - 2);
             views.attention.plot.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true })); }""",
        k,
    )
    assert not page.evaluate("views.attention.sheet.on"), "what is dragged is Plotly's own picture"


def test_heights_never_change(page: Page) -> None:
    trace = RUNS["guided"]
    load(page, trace, 0)
    heights = set()
    for k in range(len(trace.passes)):
        draw(page, k)
        heights.add(
            page.evaluate(
                "Array.from(document.querySelectorAll('.bv-view'), (box) => box.offsetHeight).join()"
            )
        )
    assert len(heights) == 1


def test_tokens_stand_under_their_bars(page: Page) -> None:
    trace = RUNS["guided"]
    k = phase(trace, "renoise", 1)
    load(page, trace, k)
    shown = decision(trace, k)
    assert shown is not None
    cells = page.locator('[data-testid="view-renoising"] .bv-view-row').nth(0).locator(".bv-view-token")
    assert cells.all_text_contents() == [trace.pieces[int(token)] for token in shown.tokens]
    gaps = page.evaluate(
        """() => { const { plot, cells } = views.renoising, { xaxis } = plot._fullLayout;
                   const left = plot.getBoundingClientRect().left + xaxis._offset;
                   return cells[0].map((cell, i) => { const place = cell.getBoundingClientRect();
                     return Math.abs((place.left + place.right) / 2 - left - xaxis.l2p(i + 1)); }); }"""
    )
    assert max(gaps) < 1.5
    alternatives = (
        page.locator('[data-testid="view-renoising"] .bv-view-row').nth(1).locator(".bv-view-token")
    )
    texts = alternatives.all_text_contents()
    assert [bool(text) for text in texts] == [bool(pick) for pick in shown.chosen]


def test_a_growing_run_is_redrawn_and_keeps_its_scale(page: Page) -> None:
    trace = RUNS["guided"]
    lines = list(trace.to_lines())
    page.evaluate("(text) => { window.run = open_(text); show(views, run, 2); }", "".join(lines[:6]))
    first = page.evaluate("views.fill.plot.layout.yaxis.range")
    page.wait_for_timeout(300)
    page.evaluate(GROW, "".join(lines[:12]))
    page.wait_for_function("views.fill.plot.data[0].z.length === 11")
    assert page.evaluate("views.fill.plot.layout.yaxis.range") == first
    page.evaluate(GROW, "".join(lines))
    assert page.evaluate("views.fill.plot.layout.yaxis.range") == [len(trace.passes) - 0.5, -0.5]
    assert page.evaluate("views.confidence.plot.data[0].z.length") == len(trace.passes)


def test_a_run_that_begins_with_no_probability_grows(page: Page) -> None:
    trace = RUNS["guided"]
    lines = list(trace.to_lines())
    page.evaluate("(text) => { window.run = open_(text); show(views, run, 0); }", "".join(lines[:2]))
    page.wait_for_timeout(200)
    page.evaluate(GROW, "".join(lines[:6]))
    page.wait_for_function("views.confidence.plot.data[0].z.length === 5")
    assert page.evaluate("views.confidence.plot.querySelectorAll('.heatmaplayer image').length") == 1


def test_compared_runs_share_their_axes(page: Page) -> None:
    texts = ["".join(RUNS[name].to_lines()) for name in ("guided", "uniform")]
    ranges = page.evaluate(
        """(texts) => {
             const runs = texts.map(open_), scales = BlockViz.views.scales(runs), other = mountAll(templates, "-b");
             show(views, runs[0], 3, scales);
             show(other, runs[1], 3, scales);
             return [views, other].map((all) => [all.fill.plot.layout.xaxis.range, all.fill.plot.layout.yaxis.range,
                                                 all.confidence.plot.layout.yaxis.range,
                                                 all.renoising.plot.layout.yaxis.range,
                                                 all.timeline.plot.layout.xaxis.range]);
           }""",
        texts,
    )
    assert ranges[0] == ranges[1]
    assert ranges[0][0] == [0.5, 56.5]


def test_dark_keeps_the_run_and_the_plots(page: Page) -> None:
    trace = RUNS["guided"]
    k = phase(trace, "renoise")
    load(page, trace, k)
    before = page.evaluate("views.fill.plot.layout.paper_bgcolor")
    page.evaluate(
        """() => { window.kept = views.fill.plot; document.body.classList.add('dark');
                   for (const n in views) views[n].theme(true); }"""
    )
    colors = [page.evaluate(f"views.{name}.plot.layout.paper_bgcolor") for name in VIEWS]
    assert colors == ["#1c1f25"] * len(VIEWS)
    assert before == "#ffffff"
    assert page.evaluate("views.fill.plot === kept && kept.isConnected")
    assert (
        page.evaluate("views.renoising.plot.data[1].y.filter((v) => v !== null).length") == trace.passes[k].k
    )


def test_a_click_on_a_map_asks_for_its_pass(page: Page) -> None:
    trace = RUNS["guided"]
    load(page, trace, 1)
    page.evaluate(
        "() => { window.asked = []; document.body.addEventListener('bv:pass', (e) => asked.push(e.detail)); }"
    )
    page.evaluate("views.fill.plot.emit('plotly_click', { points: [{ x: 21, y: 7 }] })")
    assert page.evaluate("asked") == [{"pass": 7, "position": 20}]


def test_the_timeline_has_a_cursor_and_a_click_goes_to_a_pass(page: Page) -> None:
    trace = RUNS["guided"]
    load(page, trace, 1)
    page.evaluate(
        "() => { window.went = []; document.body.addEventListener('bv:pass', (e) => went.push(e.detail.pass)); }"
    )
    for along in timeline.ALONGS:
        page.locator(f'[data-testid="view-timeline"] button[data-along="{along}"]').click()
        lefts = []
        for k in range(len(trace.passes)):
            draw(page, k)
            lefts.append(page.evaluate("views.timeline.cursor.getBoundingClientRect().left"))
        assert lefts == sorted(lefts), along
        edges = timeline.edges(trace, along)
        for k in (phase(trace, "propose"), phase(trace, "renoise", 2), phase(trace, "commit")):
            middle = float(edges[k].mean())
            hit = page.evaluate("([x, y]) => views.timeline.at(x, y)", [middle, trace.passes[k].block + 1])
            # Passes of no length lie at one place; the nearest of them is found.
            assert edges[hit].tolist() == edges[k].tolist() or edges[hit][1] - edges[hit][0] == 0, (
                along,
                k,
                hit,
            )
        assert page.evaluate("views.timeline.at(2, 1)") == -1, "no pass in a block of the prompt"
    k = phase(trace, "verify")
    page.evaluate("BlockViz.views.timeline.choose('pass')")
    page.evaluate(
        """([x, y]) => { const { plot } = views.timeline, { xaxis, yaxis } = plot._fullLayout;
             const box = plot.getBoundingClientRect();
             const event = { clientX: box.left + xaxis._offset + xaxis.l2p(x),
                             clientY: box.top + yaxis._offset + yaxis.l2p(y) };
             plot.emit("plotly_click", { points: [{}], event }); }""",
        [k, trace.passes[k].block + 1],
    )
    assert page.evaluate("went") == [k]
    pressed = page.locator('[data-testid="view-timeline"] button[aria-pressed="true"]')
    assert pressed.all_inner_texts() == ["pass"]


def test_views_follow_the_width_of_their_card(page: Page) -> None:
    load(page, RUNS["guided"], 3)
    page.evaluate(
        "() => { for (const box of document.querySelectorAll('.bv-view')) box.style.width = '400px'; }"
    )
    page.wait_for_function(
        "Object.values(views).every((view) => Math.abs(view.plot._fullLayout.width - view.plot.clientWidth) < 1)"
    )
    assert page.evaluate("views.fill.plot._fullLayout.width") > 350


def test_an_image_holds_title_cursor_and_tokens(page: Page) -> None:
    trace = RUNS["guided"]
    load(page, trace, phase(trace, "renoise"))
    made: list[dict[str, Any]] = page.evaluate(
        """() => { const made = []; const keep = BlockViz.Plotly;
             BlockViz.Plotly = Object.create(keep);
             BlockViz.Plotly.downloadImage = (figure, options) => made.push({ layout: figure.layout, options });
             for (const name in views) for (const format of ["png", "svg"]) views[name].download(format);
             BlockViz.Plotly = keep; return made; }"""
    )
    assert all(
        view.TITLE in image["layout"]["title"]["text"]
        for view, image in zip(VIEWS.values(), made[::2], strict=True)
    )
    for image in made:
        assert f"seed {trace.header.settings.seed} " in image["layout"]["title"]["text"]
        assert trace.header.model.name in image["layout"]["title"]["text"]
    assert [image["options"]["format"] for image in made] == ["png", "svg"] * len(VIEWS)
    made = made[::2]
    assert made[0]["layout"]["shapes"][-1]["type"] == "rect"
    assert "cut: k" in made[2]["layout"]["annotations"][0]["text"]
    assert made[0]["options"]["filename"].startswith("blockviz-fill-map-pass-")


def test_a_view_can_be_made_taller_and_larger(page: Page) -> None:
    trace = RUNS["guided"]
    k = phase(trace, "renoise", 1)
    load(page, trace, k)
    before = page.evaluate("Object.values(views).map((view) => view.plot._fullLayout.height)")
    page.evaluate(
        """() => { for (const name in views) views[name].fit(420);
                   for (const box of document.querySelectorAll('.bv-view')) {
                     box.style.transform = 'scale(2)'; box.style.transformOrigin = '0 0'; } }"""
    )
    after = page.evaluate("Object.values(views).map((view) => view.plot._fullLayout.height)")
    assert [b - a for a, b in zip(before, after, strict=True)] == [108] * len(VIEWS)
    words = page.evaluate(
        """([position, k]) => { const { plot } = views.fill, { xaxis, yaxis } = plot._fullLayout;
             const box = plot.getBoundingClientRect();
             const [x, y] = views.fill.under({ clientX: box.left + 2 * (xaxis._offset + xaxis.l2p(position + 1)),
                                               clientY: box.top + 2 * (yaxis._offset + yaxis.l2p(k)) });
             return views.fill.describe(x, y); }""",
        [30, k],
    )
    assert words == fill.cell_words(trace, k, 30), "pointing is exact at any scale"
    page.evaluate("() => { for (const name in views) views[name].fit(0); }")
    assert page.evaluate("Object.values(views).map((view) => view.plot._fullLayout.height)") == before


def test_a_long_run_is_thinned_but_exact_on_hover(page: Page) -> None:
    trace = large(800, 1100)
    load(page, trace, 401)
    drawn = {
        name: page.evaluate("(name) => views[name].plot.data[0].z.map((row) => [...row])", name)
        for name in ("fill", "confidence")
    }
    assert len(drawn["fill"]) <= MAX_ROWS
    assert drawn["fill"] == fill.figure(trace, 401)["data"][0]["z"]
    expected = np.array(confidence.figure(trace, 401)["data"][0]["z"], float)
    np.testing.assert_allclose(np.array(drawn["confidence"], float), expected, atol=1e-4)
    words = page.evaluate("views.fill.describe(402, 401)")
    assert words == fill.cell_words(trace, 401, 401)
    assert "re-noised" in words
    page.evaluate("BlockViz.views.timeline.choose('nfe')")
    assert page.evaluate("views.timeline.plot.data.reduce((sum, { y }) => sum + y.length, 0)") <= 1200
    page.evaluate("BlockViz.views.timeline.choose('pass')")


def test_a_growing_long_run_is_thinned_as_a_whole_one(page: Page) -> None:
    lines = "".join(large(620, 300).to_lines()).splitlines(keepends=True)
    same = """(text) => {
      run.feed(text);
      return ["fill", "confidence"].map((name) => {
        const view = views[name];
        view.load(run);
        view._load(false);
        const [dx, dy] = view.cellSize();
        const grown = JSON.stringify(view.cells(dx, dy).z.map((row) => [...row]));
        view._thinned = "";
        return [dy, grown === JSON.stringify(view.cells(dx, dy).z.map((row) => [...row]))];
      });
    }"""
    page.evaluate("(text) => { window.run = open_(text); show(views, run, 2); }", "".join(lines[:301]))
    thinned = [page.evaluate(same, "".join(lines[:count])) for count in (400, 441, 560, 622)]
    assert [[dy for dy, _ in views] for views in thinned] == [[2, 2], [2, 2], [3, 3], [3, 3]]
    assert all(equal for views in thinned for _, equal in views)
