"""Playback in a real browser: by pass, by network calls, by the run's own milliseconds; jumps, loop, marks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from blockviz.sampling.trace import Trace
from blockviz.views.alignment import AXES, Axis, beside, leading, times
from tests.browser.fake_runs import fake_run
from tests.browser.test_player import address, browser, feed, page, show, state  # noqa: F401 (fixtures)

pytestmark = pytest.mark.browser

# Frames at chosen times instead of the screen's, so that playback can be counted exactly.
CLOCK = """() => {
  window.now = 1000; window.queue = [];
  window.requestAnimationFrame = (call) => window.queue.push(call);
  window.tick = (ms) => { window.now += ms; const calls = window.queue; window.queue = [];
                          for (const call of calls) call(window.now); return BlockViz.state().pass; };
}"""


def timed(trace: Trace, ms: float) -> Trace:
    """The run with `ms` milliseconds for every network call and none for the other passes."""
    calls = ("propose", "verify", "denoise")
    return replace(trace, passes=tuple(replace(p, ms=ms if p.phase in calls else 0.0) for p in trace.passes))


@pytest.fixture
def paced(page: Page) -> tuple[Page, Trace]:  # noqa: F811
    """A run at its first pass, under a clock that the test winds."""
    trace = timed(fake_run(seed=21), 40.0)
    feed(page, trace)
    show(page, 0)
    page.evaluate(CLOCK)
    page.evaluate("BlockViz.visibleBus()._asked = 0")
    return page, trace


def play(page: Page) -> None:  # noqa: F811
    page.keyboard.press("Space")
    page.evaluate("tick(0)")


def test_by_pass_every_pass_takes_equally_long(paced: tuple[Page, Trace]) -> None:
    page, _ = paced  # noqa: F811
    play(page)
    assert [page.evaluate("tick(90)") for _ in range(6)] == [0, 1, 1, 2, 2, 3]
    page.select_option("[data-testid=speed]", "0.25")
    seen = [page.evaluate("tick(100)") for _ in range(14)]
    assert seen[-1] - 3 == 2, "a quarter of six passes a second for 1.4 seconds"


def test_by_nfe_calls_take_time_and_other_passes_are_still_drawn(paced: tuple[Page, Trace]) -> None:
    page, trace = paced  # noqa: F811
    page.select_option("[data-testid=pace]", "nfe")
    assert state(page)["pace"] == "nfe"
    page.evaluate(
        "() => { const draw = p.canvas.draw.bind(p.canvas); window.seen = [];"
        " p.canvas.draw = (k) => { window.seen.push([k, window.now]); draw(k); }; }"
    )
    play(page)
    for _ in range(200):
        page.evaluate("tick(16)")
    drawn = page.evaluate("seen")
    passes = [k for k, _ in drawn]
    assert passes == list(range(passes[0], passes[-1] + 1)), "every pass is drawn, in order"
    assert passes[-1] > 12
    at = dict(drawn)
    nfe = [p.nfe_denoise + p.nfe_verify for p in trace.passes]
    for k in passes[2:-1]:
        wait = at[k] - at[k - 1]
        if nfe[k] == nfe[k - 1]:
            assert wait <= 16, f"pass {k} makes no call and takes one frame"
    calls = [at[k] for k in passes if k and nfe[k] > nfe[k - 1]]
    gaps = [b - a for a, b in pairwise(calls)]
    assert sum(gaps) / len(gaps) == pytest.approx(1000 / 6, rel=0.06)


def test_by_milliseconds_the_run_takes_its_own_time(paced: tuple[Page, Trace]) -> None:
    page, trace = paced  # noqa: F811
    page.select_option("[data-testid=pace]", "ms")
    total = sum(p.ms for p in trace.passes)
    for speed in (1.0, 4.0):
        page.select_option("[data-testid=speed]", f"{speed:g}")
        page.keyboard.press("Home")
        play(page)
        frames = page.evaluate(
            "() => { let n = 0; while (BlockViz.state().playing && n < 2000) { tick(4); n += 1; } return n; }"
        )
        assert state(page)["pass"] == len(trace.passes) - 1
        assert frames * 4 == pytest.approx(total / speed, rel=0.12)


def test_a_run_without_times_is_played_by_pass(page: Page) -> None:  # noqa: F811
    feed(page, timed(fake_run(seed=22), 0.0))
    show(page, 0)
    page.evaluate(CLOCK)
    page.evaluate("BlockViz.visibleBus()._asked = 0")
    page.select_option("[data-testid=pace]", "ms")
    play(page)
    assert [page.evaluate("tick(200)") for _ in range(3)] == [1, 2, 3]


def test_a_loop_begins_again_and_the_key_list_names_every_key(paced: tuple[Page, Trace]) -> None:
    page, trace = paced  # noqa: F811
    last = len(trace.passes) - 1
    page.get_by_test_id("loop").click()
    page.evaluate("document.activeElement.blur()")  # space would press the button again
    page.evaluate("tick(0)")
    assert page.get_by_test_id("loop").get_attribute("aria-pressed") == "true"
    page.evaluate("(k) => p.show(k)", last - 1)
    play(page)
    seen = [page.evaluate("tick(200)") for _ in range(12)]
    assert last in seen
    assert seen[-1] < last - 1, "after a rest on the last pass it begins again"
    assert seen.count(last) >= 5, "the result stays for a moment"
    page.keyboard.press("l")
    assert state(page)["loop"] is False
    page.keyboard.press("t")
    assert state(page)["pace"] == "nfe"
    page.keyboard.press("?")
    named = " ".join(page.locator("dialog.bv-keys kbd").all_inner_texts())
    for key in ("Space", "Home", "PgDn", "n", "c", "t", "l", "p", "?", "v", "s", "Esc"):
        assert key in named.split() or key in named, key


def changes(trace: Trace, pos: int | None = None) -> list[int]:
    """Passes that put or draw a token anew, anywhere or at one position."""
    found = []
    for k in range(1, len(trace.passes)):
        here, before = trace.passes[k], trace.passes[k - 1]
        moved = here.tokens != before.tokens
        if here.phase not in ("verify", "commit"):
            moved[here.start : here.stop] |= [reason in (2, 3, 4) for reason in here.reasons]
        if moved.any() if pos is None else moved[pos]:
            found.append(k)
    return found


def test_jumps_reach_every_change_and_back(page: Page) -> None:  # noqa: F811
    trace = fake_run(seed=23)
    feed(page, trace)
    show(page, 0)
    wanted = changes(trace)
    assert len(wanted) < len(trace.passes) - 1
    for k in wanted:
        page.keyboard.press("c")
        assert state(page)["pass"] == k
    page.keyboard.press("c")
    assert state(page)["pass"] == wanted[-1], "where nothing follows, stay"
    for k in reversed(wanted[:-1]):
        page.get_by_test_id("change-back").click()
        assert state(page)["pass"] == k
    renoise = [k for k, entry in enumerate(trace.passes) if entry.phase == "renoise"]
    show(page, 0)
    page.get_by_test_id("renoise-forward").click()
    page.get_by_test_id("renoise-forward").click()
    page.get_by_test_id("renoise-back").click()
    assert state(page)["pass"] == renoise[0]
    page.get_by_test_id("block-forward").click()
    assert trace.passes[state(page)["pass"]].block == trace.passes[renoise[0]].block + 1
    page.get_by_test_id("block-back").click()
    assert state(page)["pass"] == 1


def test_with_a_token_in_focus_the_jump_is_to_its_own_changes(page: Page) -> None:  # noqa: F811
    trace = fake_run(seed=24)
    feed(page, trace)
    show(page, 0)
    pos = 37
    page.focus(f"[data-testid=canvas] [data-pos='{pos}']")
    for k in changes(trace, pos):
        page.keyboard.press("c")
        assert state(page)["pass"] == k
    page.keyboard.press("C")
    assert state(page)["pass"] == changes(trace, pos)[-2]


def marks(page: Page, name: str) -> list[float]:  # noqa: F811
    return page.evaluate(
        "(name) => [...document.querySelectorAll('.bv-transport .' + name)]"
        ".filter((mark) => mark.getClientRects().length).map((mark) => parseFloat(mark.style.left))",
        name,
    )


def test_ticks_and_marks_stand_where_the_thumb_will_be(page: Page) -> None:  # noqa: F811
    trace = fake_run(seed=25)
    feed(page, trace)
    page.evaluate("frame()")
    last = len(trace.passes) - 1
    begins = [k for k in range(1, last + 1) if k == 1 or trace.passes[k].block != trace.passes[k - 1].block]
    assert marks(page, "bv-tick") == pytest.approx([100 * k / last for k in begins], abs=1e-3)
    renoise = [k for k, entry in enumerate(trace.passes) if entry.phase == "renoise"]
    assert marks(page, "bv-dot") == pytest.approx([100 * k / last for k in renoise], abs=1e-3)


def test_in_compare_the_shorter_run_keeps_the_time_of_the_longer(page: Page) -> None:  # noqa: F811
    page.evaluate("single()")
    page.evaluate("pair()")
    slow, quick = timed(fake_run(seed=26), 10.0), timed(fake_run("uniform", seed=27, steps=2), 30.0)
    feed(page, slow, "a")
    feed(page, quick, "b")

    def shown() -> list[int]:
        return [player["pass"] for player in state(page)["players"]]

    assert len(slow.passes) > len(quick.passes)
    page.keyboard.press("Home")
    page.select_option("[data-testid=pace]", "nfe")
    calls = [[p.nfe_denoise + p.nfe_verify for p in run.passes] for run in (slow, quick)]
    for _ in range(12):
        page.keyboard.press("ArrowRight")
        a, b = shown()
        assert calls[1][b] <= calls[0][a]
        assert b + 1 == len(quick.passes) or calls[1][b + 1] > calls[0][a], (
            "the last pass that is over by then"
        )
    page.select_option("[data-testid=pace]", "ms")
    times: list[list[float]] = []
    for run in (slow, quick):
        total, ends = 0.0, []
        for entry in run.passes:
            total += entry.ms
            ends.append(total)
        times.append(ends)
    lead = int(times[1][-1] > times[0][-1])
    page.keyboard.press("End")
    assert shown() == [len(slow.passes) - 1, len(quick.passes) - 1]
    page.keyboard.press("Home")
    for _ in range(9):
        page.keyboard.press("ArrowRight")
        here = shown()
        other = 1 - lead
        now = times[lead][here[lead]]
        assert times[other][here[other]] <= now + 1e-9
        following = times[other][here[other] + 1 :]
        assert not following or following[0] > now - 1e-9


def test_every_control_says_what_it_does(page: Page) -> None:  # noqa: F811
    feed(page, fake_run(seed=28))
    missing: list[Any] = page.evaluate(
        """() => [...document.querySelectorAll(".bv-transport button, .bv-transport select")]
          .filter((node) => node.getClientRects().length
            && !(node.title && (node.getAttribute("aria-label") || node.textContent)))
          .map((node) => node.outerHTML)"""
    )
    assert missing == []


def test_reduced_motion_still_plays_when_asked(browser: Browser, address: str) -> None:  # noqa: F811
    calm = browser.new_page(reduced_motion="reduce")
    calm.goto(address)
    feed(calm, fake_run(seed=29))
    assert state(calm)["playing"] is False
    calm.keyboard.press("Space")
    assert state(calm)["playing"] is True
    calm.close()


@pytest.mark.parametrize("axis", AXES)
def test_runs_are_aligned_as_in_python(page: Page, axis: Axis) -> None:  # noqa: F811
    page.evaluate("single()")
    page.evaluate("pair()")
    pairs = [
        (fake_run(seed=31), fake_run("uniform", seed=32, steps=2)),
        (fake_run(seed=33, block_size=4, steps=2), fake_run(seed=34, block_size=32, steps=4)),
        (fake_run(seed=35, length=48), fake_run(seed=36, length=64)),
    ]
    for one, other in pairs:
        runs = [
            replace(trace, passes=tuple(replace(p, ms=0.75) for p in trace.passes)) for trace in (one, other)
        ]
        for name, trace in zip("ab", runs, strict=True):
            feed(page, trace, name)
        page.evaluate("(axis) => BlockViz.bus('compare').setAlignment(axis)", axis)
        own = [times(trace, axis) for trace in runs]
        lead = own[leading(own)]
        shown = page.evaluate(
            """() => { const bus = BlockViz.bus("compare");
                 return Array.from({ length: bus.last + 1 }, (_, k) => { bus.seek(k);
                   return bus.players.map((player) => [Math.min(bus.target(player), player.run.last),
                                                       bus.target(player) > player.run.last]); }); }"""
        )
        assert shown == [[list(beside(lead, k, line)) for line in own] for k in range(len(lead))]
    page.keyboard.press("End")
    page.evaluate("frame()")
    tags = [page.locator(f"[data-testid=facts-{name}] .bv-tag").inner_text() for name in "ab"]
    held = [beside(lead, len(lead) - 1, line)[1] for line in own]
    assert [bool(tag) for tag in tags] == held
    assert all(tag == f"ended at pass {len(line) - 1}" for tag, line in zip(tags, own, strict=True) if tag)


def test_the_alignment_is_chosen_where_there_are_several_runs(page: Page) -> None:  # noqa: F811
    page.evaluate("single()")
    feed(page, fake_run(seed=37))
    assert page.locator(".bv-align:visible").count() == 0
    page.evaluate("pair()")
    for name, steps in (("a", 3), ("b", 2)):
        feed(page, fake_run(seed=38, steps=steps), name)
    box = page.locator(".bv-align:visible")
    assert box.input_value() == "pass"
    page.select_option("[data-testid=pace]", "nfe")
    page.evaluate("frame()")
    assert box.input_value() == "nfe", "until one is chosen, runs are aligned by what the pace counts"
    box.select_option("share")
    page.keyboard.press("End")
    page.evaluate("frame()")
    page.select_option("[data-testid=pace]", "pass")
    assert state(page)["alignment"] == "share"
    page.evaluate("frame()")
    assert page.locator(".bv-tag:visible").all_inner_texts() in ([], ["", ""])
