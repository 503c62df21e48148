"""A form whose server falls silent, with the browser's clock in the test's hand: the waiting always ends in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from blockviz.ui.stepping_words import WORDS
from blockviz.ui.wording import COST, SILENCE, sharing, waiting
from blockviz.views.bundle import ASSETS
from tests.browser.fake_runs import fake_run, text
from tests.browser.test_player import address, browser
from tests.ui.test_controls import spec

__all__ = ["address", "browser"]  # fixtures of the player's tests
pytestmark = pytest.mark.browser

LOADED = """([spec, lines]) => {
  const root = document.createElement("div");
  document.body.append(root);
  single();
  window.sent = [];
  window.form = BlockViz.forms.explore(root, { ...spec, alive: "alive" }, (name) => sent.push(name));
  window.answer = (state, message) => form.answer(JSON.stringify({ state, message, errors: [] }));
  window.lines = lines;
}"""


class Server:
    """Whether the server answers when it is asked."""

    answers = True


@pytest.fixture
def form(browser: Browser, address: str) -> Iterator[tuple[Page, Server]]:
    """A running form beside a player that has four passes, on a page whose time stands still."""
    server = Server()

    def reply(route: Route) -> None:
        route.fulfill(status=200, body="") if server.answers else route.abort()

    page = browser.new_page(reduced_motion="reduce")
    page.set_default_timeout(240_000)
    page.route("**/alive", reply)
    page.goto(address)
    for name in ("fields.js", "silence.js", "forms.js"):
        page.add_script_tag(path=ASSETS / name)
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    lines: list[str] = text(fake_run(seed=4)).splitlines(keepends=True)
    page.evaluate(LOADED, [spec(), lines])
    page.get_by_test_id("generate").click()
    page.evaluate("() => { answer('running', ''); p.feed(lines.slice(0, 5).join('')); }")
    yield page, server
    page.close()


def state(page: Page) -> dict[str, Any]:
    return page.evaluate("BlockViz.state()")


def pass_time(page: Page, milliseconds: int) -> None:
    page.clock.run_for(milliseconds)


def test_a_slow_run_is_asked_for_and_not_given_up(form: tuple[Page, Server]) -> None:
    page, _ = form
    status = page.get_by_test_id("status")
    expect(status).to_have_text("")
    for seconds in (12, 24, 36):
        pass_time(page, 12_100)
        expect(status).to_contain_text(f"No news from the run for {seconds} s; the server answers")
    page.evaluate("answer('running', '')")
    expect(status).to_have_text("")
    expect(page.get_by_test_id("generate")).to_be_disabled()
    assert state(page)["live"]


def test_a_server_that_is_gone_ends_the_waiting(form: tuple[Page, Server]) -> None:
    page, server = form
    server.answers = False
    status = page.get_by_test_id("status")
    pass_time(page, 12_100)
    expect(status).to_contain_text("the server does not answer; trying again")
    pass_time(page, 2_100)
    expect(status).to_contain_text("The run did not finish: the server gave no answer.")
    expect(page.get_by_test_id("generate")).to_be_enabled()
    expect(page.get_by_test_id("stop")).to_be_disabled()
    pass_time(page, 1_300)
    pass_time(page, 100)
    assert (state(page)["broke"], state(page)["live"], state(page)["passes"]) == (True, False, 4)
    expect(page.get_by_test_id("facts")).to_contain_text("broke off at pass 3")
    page.get_by_test_id("generate").click()
    assert page.evaluate("sent") == ["generate", "generate"]


def test_a_server_that_was_away_for_a_moment_is_forgiven(form: tuple[Page, Server]) -> None:
    page, server = form
    server.answers = False
    pass_time(page, 12_100)
    expect(page.get_by_test_id("status")).to_contain_text("does not answer")
    server.answers = True
    pass_time(page, 2_100)
    expect(page.get_by_test_id("status")).to_contain_text("the server answers")
    server.answers = False
    pass_time(page, 12_100)
    expect(page.get_by_test_id("status")).to_contain_text("trying again")
    assert state(page)["live"]


def test_a_run_that_says_nothing_for_minutes_is_given_up(form: tuple[Page, Server]) -> None:
    page, _ = form
    for _ in range(16):
        pass_time(page, 12_100)
        page.evaluate("0")
    expect(page.get_by_test_id("status")).to_contain_text("The run did not finish")


def test_the_end_of_a_run_is_no_break(form: tuple[Page, Server]) -> None:
    page, _ = form
    page.evaluate("answer('done', 'Done: 25 passes')")
    pass_time(page, 300)
    page.evaluate("p.feed(lines.join(''))")  # the last passes come after the form's answer
    pass_time(page, 2_000)
    assert (state(page)["broke"], state(page)["ended"]) == (False, True)
    expect(page.get_by_test_id("status")).to_have_text("Done: 25 passes")


def test_who_else_runs_is_told(form: tuple[Page, Server]) -> None:
    page, _ = form
    for words in (waiting(2), sharing(1), sharing(3)):
        page.evaluate("(words) => answer('waiting', words)", words)
        expect(page.get_by_test_id("status")).to_have_text(words)
    assert sharing(0) == ""


def bare(browser: Browser, address: str, server: Server, scripts: tuple[str, ...]) -> Page:
    """A page with the player's scripts and these, whose time stands still."""
    page = browser.new_page(reduced_motion="reduce")
    page.set_default_timeout(240_000)
    page.route("**/alive", lambda route: route.fulfill(body="") if server.answers else route.abort())
    page.goto(address)
    page.evaluate("() => { window.sent = []; BlockViz.parts = {}; single(); }")
    for name in ("silence.js", *scripts):
        page.add_script_tag(path=ASSETS / name)
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    return page


def test_a_measurement_ends_when_the_server_is_gone(browser: Browser, address: str) -> None:
    server = Server()
    page = bare(browser, address, server, ("views.js", "cost.js"))
    page.evaluate(
        """(options) => {
          BlockViz.formNow = () => ({});
          const root = document.createElement("div");
          document.body.append(root);
          new BlockViz.Cost(root, options, (name) => sent.push(name));
        }""",
        {"words": COST, "models": 1, "alive": "alive", "silence": SILENCE},
    )
    page.get_by_test_id("cost-rivals").click()
    status = page.get_by_test_id("cost-status")
    pass_time(page, 12_100)
    expect(status).to_contain_text("the server answers")
    server.answers = False
    pass_time(page, 12_100)
    expect(status).to_contain_text("trying again")
    pass_time(page, 2_100)
    expect(status).to_have_text(COST["lost"])
    expect(page.get_by_test_id("cost-rivals")).to_be_enabled()
    page.get_by_test_id("cost-rivals").click()
    assert page.evaluate("sent") == ["cost", "cost"]
    page.close()


def test_stepping_ends_when_the_server_is_gone_or_stop_is_pressed(browser: Browser, address: str) -> None:
    server = Server()
    names = ("plan", "marks", "settings", "panel")
    page = bare(browser, address, server, (*(f"stepping_{name}.js" for name in names), "stepping.js"))
    page.evaluate(
        """([options, text]) => {
          BlockViz.files = { read: () => new Promise((done) => (window.deliver = () => done({ token: "t" }))) };
          const root = document.createElement("div");
          document.body.append(root);
          BlockViz.parts.stepping(root, options, (name) => sent.push(name));
          p.feed(text);
          p.show(5);
        }""",
        [
            {
                "words": WORDS,
                "reading": {},
                "changeable": [],
                "labels": {},
                "alive": "alive",
                "silence": SILENCE,
            },
            text(fake_run(seed=4)),
        ],
    )
    pass_time(page, 200)
    page.get_by_test_id("step-open").click()
    status = page.get_by_test_id("step-status")
    resume = page.get_by_test_id("step-resume")
    resume.click()
    page.get_by_test_id("step-stop").click()
    expect(status).to_have_text(WORDS["unsent"])
    page.evaluate("deliver()")
    expect(resume).to_be_enabled()
    assert page.evaluate("sent") == [], "a run that was stopped while it was sent does not go on"

    resume.click()
    page.evaluate("deliver()")
    expect(status).to_have_text(WORDS["running"])
    assert page.evaluate("sent") == ["fork"]
    server.answers = False
    pass_time(page, 12_100)
    expect(status).to_contain_text("trying again")
    pass_time(page, 2_100)
    expect(status).to_have_text(WORDS["lost"])
    expect(resume).to_be_enabled()
    page.close()
