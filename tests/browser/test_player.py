"""The player alone, in a real browser, against the trace that Python reads: no server of ours, no model, no Gradio."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from blockviz.sampling.trace import STATES, Trace
from tests.browser.fake_runs import fake_run, piece, text

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1440, "height": 900}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(ROOT))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/tests/browser/harness/player.html"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    one = browser.new_page(viewport=DESK)
    problems: list[str] = []
    one.on("pageerror", lambda problem: problems.append(str(problem)))
    one.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
    one.goto(address)
    yield one
    one.close()
    assert problems == []


def feed(page: Page, trace: Trace | str, player: str = "p") -> None:
    if player == "p" and not page.evaluate("Boolean(window.p)"):
        page.evaluate("single()")
    lines = trace if isinstance(trace, str) else text(trace)
    page.evaluate(f"(lines) => {player}.feed(lines)", lines)


def show(page: Page, k: int) -> None:
    page.evaluate("(k) => { p.show(k); return frame(); }", k)


def state(page: Page) -> dict[str, Any]:
    return page.evaluate("BlockViz.state()")


def expected(trace: Trace, k: int) -> list[list[Any]]:
    """What the cells must say after pass k, from the trace as Python reads it."""
    mask = trace.header.model.mask_id
    here = trace.passes[k]
    rows = []
    for pos in range(trace.header.length):
        token, name = int(here.tokens[pos]), STATES[here.states[pos]]
        shown = int(trace.passes[k - 1].tokens[pos]) if name == "renoised" else token
        glyph = "·" if name == "unopened" else "▒"
        badge = ""
        if name == "renoised":
            badge = f"{here.score[pos - here.start]:.1f}"
        elif here.phase == "verify" and here.start <= pos < here.stop:
            doubt = -float(here.ar_logprob[pos - here.start])
            badge = f"{doubt:.1f}" if doubt >= 0.05 else ""
        rows.append([pos, name, token, glyph if shown == mask else piece(shown), badge])
    return rows


def agree(seen: list[list[Any]], wanted: list[list[Any]]) -> None:
    """Equal, badges to a rounding of the last digit (Python and JavaScript round halves differently)."""
    assert [row[:4] for row in seen] == [row[:4] for row in wanted]
    for here, there in zip(seen, wanted, strict=True):
        assert bool(here[4]) == bool(there[4])
        if here[4]:
            assert abs(float(here[4]) - float(there[4])) < 0.11


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_decoder_reads_what_python_wrote(page: Page, process: str) -> None:
    trace = fake_run(process, seed=3)
    seen = page.evaluate(
        """(lines) => {
          const run = new BlockViz.Run();
          // Cut at odd places, as the network may: only whole lines count.
          for (let i = 0; i < lines.length; i += 997) run.feed(lines.slice(0, i));
          run.feed(lines);
          const list = (column) => [...column].map((x) => (Number.isNaN(x) ? null : x));
          return run.passes.map((pass, k) => ({
            tokens: [...run.tokens(k)], states: [...run.states(k)], confidence: list(run.confidence(k)),
            entropy: list(run.entropy(k)), ar: list(run.ar(k)), score: list(run.score(k)),
            phase: pass.phase, block: pass.block, nfe: pass.nfe,
            k: pass.k, cut: pass.cut, win: pass.win, best: pass.win[1] ? run.top(k, pass.win[0]) : [],
            changed: [...Array(run.length).keys()].map((pos) => run.changedAt(k, pos).pass),
          }));
        }""",
        text(trace),
    )
    assert len(seen) == len(trace.passes)
    changed = np.zeros(trace.header.length, dtype=int)
    for k, (mine, theirs) in enumerate(zip(seen, trace.passes, strict=True)):
        assert mine["tokens"] == theirs.tokens.tolist()
        assert mine["states"] == theirs.states.tolist()
        pairs = [
            ("confidence", "confidence"),
            ("entropy", "entropy"),
            ("ar", "ar_logprob"),
            ("score", "score"),
        ]
        for name, column in pairs:
            values = [np.nan if v is None else v for v in mine[name]]
            np.testing.assert_allclose(
                values, getattr(theirs, column), atol=1e-5, err_msg=f"{name} of pass {k}"
            )
        assert (mine["phase"], mine["block"], mine["k"]) == (theirs.phase, theirs.block, theirs.k)
        assert mine["nfe"] == [theirs.nfe_denoise, theirs.nfe_verify]
        assert mine["win"] == [theirs.start, theirs.stop]
        assert mine["cut"] == theirs.cut
        if mine["best"]:
            assert [c["id"] for c in mine["best"]] == [
                i for i, p in zip(theirs.top_ids[0], theirs.top_probs[0], strict=True) if p > 0
            ]
        if k:
            moved = theirs.tokens != trace.passes[k - 1].tokens
            moved[theirs.start : theirs.stop] |= np.isin(theirs.reasons, (2, 3, 4))
            changed[moved] = k
        assert mine["changed"] == changed.tolist()


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_cells_agree_with_the_trace_however_one_jumps(page: Page, process: str) -> None:
    trace = fake_run(process, seed=5)
    feed(page, trace)
    last = len(trace.passes) - 1
    order = [*range(last + 1), *np.random.default_rng(1).integers(0, last + 1, 25).tolist(), last, 0]
    for k in order:
        show(page, int(k))
        agree(page.evaluate("cells('canvas')"), expected(trace, int(k)))


def test_no_key_press_is_lost(page: Page) -> None:
    trace = fake_run(seed=1)
    feed(page, trace)
    show(page, 0)
    page.evaluate(
        """() => { for (let i = 0; i < 17; i++)
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true })); }"""
    )
    assert state(page)["pass"] == 17
    page.evaluate("frame()")
    agree(page.evaluate("cells('canvas')"), expected(trace, 17))


def test_keys_move_and_typing_does_not(page: Page) -> None:
    trace = fake_run(seed=2)
    feed(page, trace)
    show(page, 0)
    last = len(trace.passes) - 1
    firsts = [next(i for i, p in enumerate(trace.passes) if p.block == b and i) for b in (1, 2, 3)]
    renoise = [i for i, p in enumerate(trace.passes) if p.phase == "renoise"]
    for key, pass_ in [
        ("]", firsts[0]), ("PageDown", firsts[1]), ("[", firsts[0]), ("End", last), ("ArrowLeft", last - 1),
        ("Home", 0), ("n", renoise[0]), ("n", renoise[1]), ("N", renoise[0]), ("PageUp", firsts[0]),
    ]:  # fmt: skip
        page.keyboard.press(key)
        assert state(page)["pass"] == pass_, key
    page.keyboard.press("Space")
    assert state(page)["playing"] is True
    page.keyboard.press("Space")
    here = state(page)
    assert here["playing"] is False
    page.focus("#field")
    for key in ("ArrowRight", "End", "Space", "n", "?"):
        page.keyboard.press(key)
    page.focus("#button")
    page.keyboard.press("Space")
    assert state(page)["pass"] == here["pass"]
    assert state(page)["playing"] is False
    page.focus("[data-testid=scrubber]")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert state(page)["pass"] == 1
    page.keyboard.press("?")
    assert page.locator("dialog.bv-keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog.bv-keys").is_visible()


def test_nothing_moves_while_it_plays(page: Page) -> None:
    trace = fake_run("uniform", seed=4)
    feed(page, trace)
    boxes = """() => [...document.querySelectorAll(".bv-cell, .bv-fact, .bv-legend, .bv-track")].map((node) => {
        const box = node.getBoundingClientRect();
        return [box.left, box.top, box.width, box.height].map(Math.round).join(); })"""
    show(page, 0)
    start = page.evaluate(boxes)
    for k in range(len(trace.passes)):
        show(page, k)
        assert page.evaluate(boxes) == start, f"pass {k}"


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("block_size", [1, 2, 4, 6, 8, 16, 24, 32, 96])
def test_every_block_size_fits(page: Page, viewport: Any, block_size: int) -> None:
    page.set_viewport_size(viewport)
    trace = fake_run(length=96, block_size=block_size, steps=2, seed=block_size)
    feed(page, trace)
    show(page, len(trace.passes) // 2)
    agree(page.evaluate("cells('canvas')"), expected(trace, len(trace.passes) // 2))
    layout = page.evaluate(
        """() => { const grid = document.querySelector(".bv-grid"); const right = grid.getBoundingClientRect().right;
          const blocks = [...grid.querySelectorAll(".bv-block")];
          const cells = [...grid.querySelectorAll(".bv-cell")];
          return { over: Math.max(...blocks.map((b) => b.getBoundingClientRect().right - right)), blocks: blocks.length,
            page: document.documentElement.scrollWidth - innerWidth,
            small: Math.min(...cells.map((c) => c.getBoundingClientRect().width)) }; }"""
    )
    assert layout["blocks"] == -(-96 // block_size)
    assert layout["over"] <= 0.5
    assert layout["page"] <= 0
    assert layout["small"] >= 18


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_a_long_canvas_scrolls_inside_itself(page: Page, viewport: Any) -> None:
    page.set_viewport_size(viewport)
    trace = fake_run(length=1024, block_size=16, steps=1, prompt_length=900)
    feed(page, trace)
    for k in (0, len(trace.passes) - 1):
        show(page, k)
        below = page.evaluate(
            """() => document.documentElement.scrollHeight - scrollY
                       - document.querySelector(".bv-frame").getBoundingClientRect().bottom"""
        )
        assert below < viewport["height"], "nothing but the window's own height below the player"
    active = page.evaluate(
        """() => { const grid = document.querySelector(".bv-grid").getBoundingClientRect();
                   const block = document.querySelector(".bv-block[data-active]").getBoundingClientRect();
                   return block.top >= grid.top - 1 && block.bottom <= grid.bottom + 1; }"""
    )
    assert active, "the active block is scrolled into sight"


def test_tokens_are_text_and_never_markup(page: Page) -> None:
    trace = fake_run("uniform", seed=6)
    hostile = text(trace).replace('"words"', json.dumps("<img src=x onerror=window.hit=1>${window.hit=1}"))
    hostile = hostile.replace("1 - 1 = 0", "<b id=injected>")
    hostile = hostile.replace("toy-uniform", "<i id=injected>")
    feed(page, hostile)
    shown: set[str] = set()
    for k in range(len(trace.passes)):
        show(page, k)
        shown |= {row[3] for row in page.evaluate("cells('canvas')")}
        page.hover(f"[data-testid=canvas] [data-pos='{20 + k}']")
    assert {piece(8), piece(9), piece(10)} <= shown
    assert page.evaluate("window.hit") is None
    assert page.locator(".bv-player img, .bv-player script, #injected").count() == 0


def test_renoised_cells_show_what_was_thrown_back(page: Page) -> None:
    trace = fake_run(seed=7)
    feed(page, trace)
    k = next(i for i, p in enumerate(trace.passes) if p.phase == "renoise")
    show(page, k)
    cell = page.locator("[data-testid=canvas] [data-state=renoised]").first
    pos = int(cell.get_attribute("data-pos") or -1)
    assert cell.get_attribute("data-token") == str(trace.header.model.mask_id)
    assert cell.locator(".bv-text").inner_text() == piece(int(trace.passes[k - 1].tokens[pos]))
    facts = page.inner_text("[data-testid=facts]")
    p = trace.passes[k]
    for words in (
        f"pass {k} / {len(trace.passes) - 1}",
        f"block {p.block + 1} / 4",
        f"re-noise · step {p.step + 1}",
        "tokens / NFE",
    ):
        assert words in " ".join(facts.split())
    assert (
        f"NFE {p.nfe_denoise + p.nfe_verify} = {p.nfe_denoise} denoise + {p.nfe_verify} verify"
        in " ".join(facts.split())
    )


def test_hover_and_keyboard_tell_the_story_of_a_token(page: Page) -> None:
    trace = fake_run(seed=8)
    feed(page, trace)
    k = next(i for i, p in enumerate(trace.passes) if p.phase == "renoise")
    show(page, k)
    pos = trace.passes[k].start + int(
        np.argmax(trace.passes[k].states[trace.passes[k].start :] == STATES.index("renoised"))
    )
    page.hover(f"[data-testid=canvas] [data-pos='{pos}']")
    tip = " ".join(page.inner_text(".bv-tip").split())
    for words in (
        f"position {pos + 1} of 64",
        "re-noised in this pass",
        "nats",
        f"pass {k}, re-noise: turned back to noise",
        "cut",
    ):
        assert words in tip
    page.mouse.move(1, 1)
    assert not page.locator(".bv-tip").is_visible()
    page.focus("[data-testid=canvas] [data-pos='0']")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.pos") == "16"
    page.keyboard.press("ArrowRight")
    assert state(page)["pass"] == k + 1


def test_a_live_run_is_followed_until_one_looks_back(page: Page) -> None:
    lines = text(fake_run(seed=9)).splitlines(keepends=True)
    feed(page, "".join(lines[:6]))
    page.wait_for_function("BlockViz.state().shown === 4")
    assert state(page)["live"] is True
    feed(page, "".join(lines[:9]))
    page.wait_for_function("BlockViz.state().shown === 7")
    page.keyboard.press("ArrowLeft")
    feed(page, "".join(lines[:12]) + lines[12][:40])
    assert (state(page)["pass"], state(page)["passes"]) == (6, 11)
    page.click("[data-testid=head]")
    feed(page, "".join(lines))
    page.wait_for_function("(last) => BlockViz.state().shown === last", arg=len(lines) - 3)
    after = state(page)
    assert (after["following"], after["live"], after["ended"]) == (False, False, True)


def test_passes_that_come_together_are_seen_one_by_one(page: Page) -> None:
    lines = text(fake_run(seed=21)).splitlines(keepends=True)
    feed(page, "".join(lines[:4]))
    page.wait_for_function("BlockViz.state().shown === 2")
    page.evaluate(
        """() => { window.seen = []; const draw = p.canvas.draw.bind(p.canvas);
                   p.canvas.draw = (k) => { window.seen.push(k); draw(k); }; }"""
    )
    feed(page, "".join(lines[:8]))
    page.wait_for_function("BlockViz.state().shown === 6")
    assert page.evaluate("seen") == [3, 4, 5, 6]


def test_a_run_that_broke_off_says_so_until_it_goes_on(page: Page) -> None:
    lines = text(fake_run(seed=22)).splitlines(keepends=True)
    feed(page, "".join(lines[:6]))
    page.evaluate("frame()")
    top = page.evaluate("document.querySelector('.bv-grid').getBoundingClientRect().top")
    page.evaluate("() => { p.breakOff(); return frame(); }")
    assert page.evaluate("document.querySelector('.bv-grid').getBoundingClientRect().top") == top
    assert "broke off at pass 4" in page.inner_text("[data-testid=facts]")
    assert (state(page)["live"], state(page)["following"], state(page)["passes"]) == (False, False, 5)
    page.keyboard.press("ArrowLeft")
    page.evaluate("frame()")
    assert "broke off at pass 4" in page.inner_text("[data-testid=facts]")
    feed(page, "".join(lines))
    page.evaluate("() => { p.breakOff(); return frame(); }")
    assert "broke off" not in page.inner_text("[data-testid=facts]"), "a run that has ended cannot break off"


def test_before_any_run_the_player_says_so(page: Page) -> None:
    page.evaluate("single()")
    assert page.locator(".bv-empty").is_visible()
    assert not page.locator("[data-testid=facts]").is_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.keyboard.press("n")
    page.evaluate("frame()")
    assert (state(page)["pass"], state(page)["passes"], state(page)["playing"]) == (0, 0, False)
    feed(page, fake_run(seed=19))
    assert not page.locator(".bv-empty").is_visible()
    assert page.locator("[data-testid=facts]").is_visible()


def test_a_run_that_comes_in_bursts_is_shown_as_it_is(page: Page) -> None:
    trace = fake_run(seed=17)
    lines = text(trace).splitlines(keepends=True)
    page.evaluate("single()")
    page.evaluate(
        """() => { window.drawn = []; const draw = p.canvas.draw.bind(p.canvas);
             p.canvas.draw = (k) => { drawn.push(k); draw(k); }; }"""
    )
    at = 3
    for size in (1, 40, 2, 25, 1, 1, len(lines)):
        at = min(len(lines), at + size)
        page.evaluate("(lines) => p.feed(lines)", "".join(lines[:at]))
        page.wait_for_timeout(30)
    last = len(trace.passes) - 1
    page.wait_for_function("(k) => p.shown === k", arg=last)
    agree(page.evaluate("cells('canvas')"), expected(trace, last))
    drawn = page.evaluate("drawn")
    assert drawn == sorted(drawn), "no pass is drawn after a later one"


def test_a_run_of_another_name_replaces_the_old_one(page: Page) -> None:
    feed(page, fake_run(seed=10, run="aa"))
    feed(page, fake_run(seed=11, run="bb", length=32, block_size=8))
    assert state(page)["run"] == "bb"
    assert page.locator("[data-testid=canvas] .bv-cell").count() == 32
    feed(page, "")
    assert state(page)["run"] == "bb"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda lines: "not a run\n", "not JSON"),
        (lambda lines: '{"some":"thing"}\n', "not a BlockViz run"),
        (lambda lines: lines.replace('{"blockviz":2', '{"blockviz":99'), "format 99"),
        (lambda lines: lines.replace('{"i":3,', '{"i":4,'), "not pass 3"),
    ],
)
def test_a_broken_run_says_what_is_wrong(page: Page, damage: Any, words: str) -> None:
    feed(page, damage(text(fake_run(seed=12))))
    note = page.locator(".bv-player .bv-note")
    assert note.is_visible()
    assert words in note.inner_text()


def test_two_players_share_one_transport(page: Page) -> None:
    page.evaluate("single()")
    page.evaluate("pair()")
    long, short = fake_run(seed=13), fake_run("uniform", seed=14, steps=2)
    feed(page, long, "a")
    feed(page, short, "b")
    assert page.locator("[data-testid=scrubber]").count() == 1
    page.keyboard.press("End")
    page.evaluate("frame()")
    here = state(page)
    assert here["group"] == "compare"
    assert [p["pass"] for p in here["players"]] == [len(long.passes) - 1, len(short.passes) - 1]
    assert "ended" in page.inner_text("[data-testid=facts-b]")
    assert "ended" not in page.inner_text("[data-testid=facts-a]")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.evaluate("frame()")
    agree(page.evaluate("cells('canvas-a')"), expected(long, 1))
    agree(page.evaluate("cells('canvas-b')"), expected(short, 1))


def test_a_run_fed_to_a_hidden_player_is_there_when_it_is_shown(page: Page) -> None:
    page.evaluate("single()")
    page.evaluate("document.getElementById('one').hidden = true")
    trace = fake_run(seed=20)
    feed(page, trace)
    page.evaluate("frame()")
    page.evaluate("document.getElementById('one').hidden = false; frame().then(frame)")
    agree(page.evaluate("cells('canvas')"), expected(trace, state(page)["pass"]))
    width = "document.querySelector('[data-fact=nfe]').getBoundingClientRect().width"
    show(page, 0)
    narrow = page.evaluate(width)
    show(page, len(trace.passes) - 1)
    assert page.evaluate(width) == narrow


def test_a_stopped_run_says_so(page: Page) -> None:
    trace = fake_run(seed=15, stopped=True)
    feed(page, trace)
    for key in ("End", "Home"):
        page.keyboard.press(key)
        page.evaluate("frame()")
        assert f"stopped at pass {len(trace.passes) - 1}" in page.inner_text("[data-testid=facts]")


def test_playing_reaches_the_end_and_stops(page: Page) -> None:
    trace = fake_run(seed=16)
    feed(page, trace)
    page.select_option("[data-testid=speed]", "8")
    page.wait_for_function("!BlockViz.state().playing", timeout=20_000)
    assert state(page)["pass"] == len(trace.passes) - 1


def test_reduced_motion_shows_the_result_without_playing(browser: Browser, address: str) -> None:
    calm = browser.new_page(reduced_motion="reduce")
    calm.goto(address)
    feed(calm, fake_run(seed=17))
    here = state(calm)
    assert (here["playing"], here["pass"]) == (False, here["passes"] - 1)
    calm.close()


CONTRAST = """() => {
  const lum = ([r, g, b]) => [r, g, b].map((v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const worst = {};
  const words = ".bv-player .bv-text, .bv-fact, .bv-chip-phase, .bv-badge, .bv-status, .bv-legend li, .bv-checks li";
  for (const node of document.querySelectorAll(words)) {
    const text = node.textContent.trim();
    const cell = node.closest(".bv-cell, .bv-sample");
    if (!text || "·▒".includes(text) || !node.getClientRects().length) continue;
    let back = null;
    for (let up = node; up && !back; up = up.parentElement) {
      const colour = rgba(getComputedStyle(up).backgroundColor);
      if (colour[3] === 255) back = colour;
    }
    const [x, y] = [lum(back), lum(rgba(getComputedStyle(node).color))].sort((p, q) => q - p);
    const name = node.className + " " + (cell ? cell.dataset.state : "");
    worst[name] = Math.min(worst[name] ?? 99, (x + 0.05) / (y + 0.05));
  }
  return worst;
}"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_can_be_read_in_light_and_dark(page: Page, dark: bool) -> None:
    page.evaluate("(dark) => document.body.classList.toggle('dark', dark)", dark)
    page.add_style_tag(content="* { transition: none !important }")
    trace = fake_run("uniform", seed=18)
    feed(page, trace)
    for k in range(len(trace.passes)):
        show(page, k)
        for name, ratio in page.evaluate(CONTRAST).items():
            assert ratio >= 4.5, f"pass {k}: {name} has contrast {ratio:.2f}"
