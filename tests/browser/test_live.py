"""Live runs on the real page: a made-up run comes at a steady pace, so that what is seen does not depend on a model."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE_MS, ROOT, Visit, _wait_for
from tests.browser.test_page import idle, state

pytestmark = pytest.mark.browser
expect.set_options(timeout=PATIENCE_MS)

WATCH = """() => {
  const player = document.querySelector("#player .bv-root").__bvPlayer;
  const draw = player.canvas.draw.bind(player.canvas);
  window.seen = [];
  window.frames = 0;
  player.canvas.draw = (k) => { window.seen.push([player.run.id, k]); draw(k); };
  const count = () => { window.frames += 1; requestAnimationFrame(count); };
  requestAnimationFrame(count);
}"""


@contextmanager
def paced(
    models: Path, log: Path, rate: float, places: int = 6
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The page with a run of `rate` passes a second; gives its address and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.browser.paced_app", str(rate), str(places)]
    command += ["--port", str(port), "--models", str(models), "--device", "cpu"]
    with log.open("w") as output:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output, env=environment)
        try:
            _wait_for(f"http://127.0.0.1:{port}/", process, log)
            yield f"http://127.0.0.1:{port}/", process
        finally:
            process.kill()
            process.wait(60)


@pytest.fixture(scope="module")
def steady(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a page with two passes a second, which a busy machine can still draw, and two places."""
    with paced(models, tmp_path_factory.mktemp("paced") / "log", rate=2, places=2) as (address, _):
        yield address


def begin(page: Page, passes: int = 3) -> str:
    """Click Generate and wait until the new run moves; its name."""
    before = state(page)["run"]
    page.get_by_test_id("generate").click()
    page.wait_for_function(
        "([old, count]) => BlockViz.state().run !== old && BlockViz.state().passes > count",
        arg=[before, passes],
    )
    run: str = state(page)["run"]
    return run


def tag(page: Page) -> str:
    return page.locator("[data-testid=facts] .bv-tag").inner_text()


def test_no_pass_is_dropped_and_the_head_can_be_left_and_rejoined(visit: Visit, steady: str) -> None:
    page = visit(steady)
    page.evaluate(WATCH)
    run = begin(page)
    assert (state(page)["live"], state(page)["following"], tag(page)) == (True, True, "live")
    head = page.get_by_test_id("head")
    expect(head).to_have_text("live")

    page.locator("body").press("ArrowLeft")
    left = state(page)
    assert not left["following"]
    expect(head).to_have_text("to live")
    page.wait_for_function("(count) => BlockViz.state().passes > count + 3", arg=left["passes"])
    assert state(page)["pass"] == left["pass"], "what one looks at stays"

    head.click()
    expect(head).to_have_text("live")
    rejoined = state(page)["passes"]
    frames = page.evaluate("frames")
    page.wait_for_function("(count) => BlockViz.state().passes > count + 6", arg=rejoined)
    page.get_by_test_id("stop").click()
    page.wait_for_function("BlockViz.state().ended")
    page.wait_for_function("BlockViz.state().shown === BlockViz.state().passes - 1")
    idle(page)
    frames = page.evaluate("frames") - frames
    end = state(page)
    whole = page.evaluate("document.querySelector('#player .bv-root').__bvPlayer.run.end.passes")
    assert end["passes"] == whole, "every pass has come"
    seen = [k for name, k in page.evaluate("seen") if name == run and k >= rejoined]
    assert seen == sorted(seen)
    assert seen[-1] == whole - 1
    if frames > 3 * (whole - rejoined):  # a machine too busy to paint cannot show everything
        assert seen == list(range(seen[0], whole))
    assert not end["following"]


@pytest.fixture(scope="module")
def fast(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a page with two hundred passes a second, more than a screen can show."""
    with paced(models, tmp_path_factory.mktemp("fast") / "log", rate=200) as (address, _):
        yield address


FEEDS = """() => {
  const player = document.querySelector("#player .bv-root").__bvPlayer, feed = player.feed.bind(player);
  window.feeds = 0;
  player.feed = (text) => { window.feeds += 1; feed(text); };
}"""


def test_a_fast_run_is_followed_and_stops_at_once(visit: Visit, fast: str) -> None:
    page = visit(fast)
    page.evaluate(FEEDS)
    begin(page, passes=150)
    assert page.evaluate("feeds") < 75, "passes come in batches"
    for _ in range(5):
        here = state(page)
        assert here["passes"] - 1 - here["shown"] <= 150, "the screen keeps up with the run"
        page.wait_for_timeout(50)
    page.evaluate("() => { feeds = 0; document.querySelector('[data-testid=stop]').click(); }")
    page.wait_for_function("BlockViz.state().ended")
    assert page.evaluate("feeds") <= 20, "nothing has queued up before the end"
    page.wait_for_function("BlockViz.state().shown === BlockViz.state().passes - 1")
    whole = page.evaluate("document.querySelector('#player .bv-root').__bvPlayer.run.end.passes")
    assert state(page)["passes"] == whole, "every pass has come"
    page.wait_for_function(
        """() => { const player = document.querySelector("#player .bv-root").__bvPlayer;
             return player.cards.all.every((view) => !view.it || !view.seen || view.drawn === player.shown); }"""
    )


def test_stop_keeps_what_there_is_and_labels_it(visit: Visit, steady: str, tmp_path: Path) -> None:
    page = visit(steady)
    run = begin(page)
    page.get_by_test_id("stop").click()
    page.wait_for_function("BlockViz.state().ended")
    idle(page)
    last = state(page)["passes"] - 1
    assert state(page)["run"] == run
    expect(page.get_by_test_id("status")).to_contain_text(f"Stopped after {last} passes")
    expect(page.locator("[data-testid=facts] .bv-tag")).to_have_text(f"stopped at pass {last}")
    page.locator("body").press("Home")
    page.wait_for_function("BlockViz.state().shown === 0")
    assert tag(page) == f"stopped at pass {last}", "also where one looks at an earlier pass"
    page.screenshot(path=tmp_path / "stopped.png")


def test_a_stop_before_the_server_has_begun_is_not_lost(visit: Visit, steady: str) -> None:
    page = visit(steady)
    page.evaluate(
        "() => { const press = (id) => document.querySelector(`[data-testid=${id}]`).click();"
        " press('generate'); press('stop'); }"
    )
    expect(page.get_by_test_id("status")).to_contain_text("Stopped after")
    expect(page.get_by_test_id("generate")).to_be_enabled()


def test_others_are_named_while_runs_share_the_device_or_wait(
    visit: Visit, steady: str, tmp_path: Path
) -> None:
    first, second, third = visit(steady), visit(steady), visit(steady)
    begin(first)
    begin(second)
    for page in (first, second):
        expect(page.get_by_test_id("status")).to_have_text(
            "The device is shared: 1 other run takes turns with this one, pass by pass."
        )
    before = state(third)["run"]
    third.get_by_test_id("generate").click()
    expect(third.get_by_test_id("status")).to_have_text("Waiting for the device: 1 run is ahead of this one.")
    assert state(third)["run"] == before, "the last run stays while one waits"
    third.screenshot(path=tmp_path / "waiting.png")
    first.get_by_test_id("stop").click()
    third.wait_for_function("(old) => BlockViz.state().run !== old", arg=before)
    expect(third.get_by_test_id("status")).to_contain_text("1 other run takes turns")
    second.get_by_test_id("stop").click()
    idle(second)
    expect(third.get_by_test_id("status")).to_have_text("")
    third.get_by_test_id("stop").click()
    idle(third)


def test_a_lost_server_ends_the_waiting_in_words(chromium: Browser, models: Path, tmp_path: Path) -> None:
    with paced(models, tmp_path / "log", rate=4) as (address, process):
        context = chromium.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(address, timeout=PATIENCE_MS)
        page.get_by_test_id("generate").wait_for()
        begin(page)
        status = page.get_by_test_id("status")

        process.send_signal(
            signal.SIGSTOP
        )  # a server that hangs is asked, and the run goes on when it is back
        expect(status).to_contain_text("the server does not answer")
        page.screenshot(path=tmp_path / "hangs.png")
        expect(page.get_by_test_id("generate")).to_be_disabled()
        process.send_signal(signal.SIGCONT)
        page.wait_for_function("(count) => BlockViz.state().passes > count", arg=state(page)["passes"] + 3)
        expect(status).not_to_contain_text("does not answer")

        process.kill()
        idle(page)
        expect(status).to_contain_text("did not finish")
        expect(page.get_by_test_id("stop")).to_be_disabled()
        page.wait_for_function("BlockViz.state().broke")
        last = state(page)["passes"] - 1
        assert last >= 6
        expect(page.locator("[data-testid=facts] .bv-tag")).to_have_text(f"broke off at pass {last}")
        assert not state(page)["live"]
        page.screenshot(path=tmp_path / "lost.png")
        context.close()
