"""Models of two tasks on one page: the switch between word problems and stories, in Explore and in Compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page, expect

from blockviz.diffusion.processes import Process
from blockviz.evaluation.tasks import PAGE_PROMPTS, STORY_PROMPTS, Task
from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.models.checkpoint import save
from blockviz.models.tokens import Tokens
from blockviz.training import byte_tokenizer
from blockviz.ui.examples import gallery, header_of, recorded, settings_of_tasks
from tests.browser.conftest import Visit, serve
from tests.evaluation.math_models import math_model, write_checkpoint
from tests.training.made_up_stories import stories

pytestmark = pytest.mark.browser
STORIES = [entry for entry in gallery() if entry.task == "stories"]


@pytest.fixture(scope="module")
def two_tasks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("models")
    for process in ("masked", "uniform"):
        write_checkpoint(folder / f"math-{process}", process)
        _save_story_model(folder / f"stories-{process}", process)
    with serve(folder, tmp_path_factory.mktemp("log") / "app.log") as address:
        yield address


def _save_story_model(folder: Path, process: Process) -> None:
    tokens = Tokens(byte_tokenizer.build(stories(50), 380))
    size = tokens.vocab_size + (process == "masked")
    net = BlockDiT(NetworkConfig(hidden_size=16, n_blocks=1, n_heads=2, length=128, vocab_size=size))
    net.initialise(torch.Generator().manual_seed(0))
    info = replace(
        math_model(process).info,
        vocab_size=size,
        mask_id=tokens.vocab_size if process == "masked" else None,
        end_id=tokens.end_id,
        task="stories",
    )
    save(folder, net, info, tokens)


def offered(page: Page) -> list[str]:
    return page.locator(".bvc-try:visible").first.locator("button:visible").all_inner_texts()


def test_stories_bring_their_models_prompts_and_examples(visit: Visit, two_tasks: str) -> None:
    page = visit(two_tasks)
    expect(page.get_by_test_id("task-math").locator("visible=true")).to_be_checked()
    math = offered(page)
    page.get_by_test_id("task-stories").locator("visible=true").check(force=True)
    expect(page.get_by_test_id("model")).to_have_value("stories-masked")
    assert offered(page) == [one.label.lower() for one in STORY_PROMPTS]
    first = next(entry for entry in STORIES if len(entry.runs) == 1)
    header = header_of(recorded(first.runs[0]))
    assert header is not None
    page.wait_for_function("(run) => BlockViz.state().run === run", arg=header.run)
    expect(page.get_by_test_id("prompt")).to_have_value(header.prompt)

    page.get_by_test_id("prompt").fill("One cold day")
    page.get_by_test_id("setting-steps").fill("1")
    page.get_by_test_id("generate").click()
    page.wait_for_function("(run) => BlockViz.state().run !== run && BlockViz.state().ended", arg=header.run)
    made = page.evaluate("BlockViz.state().run")
    page.get_by_test_id("task-math").locator("visible=true").check(force=True)
    expect(page.get_by_test_id("model")).to_have_value("math-masked")
    expect(page.get_by_test_id("prompt")).to_have_value("One cold day")
    expect(page.get_by_test_id("setting-steps")).to_have_value("1")
    assert offered(page) == math
    assert page.evaluate("BlockViz.state().run") == made, "a run that somebody made stays on screen"


def has_the_settings_of(page: Page, task: Task) -> None:
    settings = settings_of_tasks()[task]
    expect(page.get_by_test_id("setting-steps")).to_have_value(str(settings.steps))
    expect(page.get_by_test_id("setting-block_size")).to_have_value(str(settings.block_size))
    expect(page.get_by_test_id("setting-temperature")).to_have_value(f"{settings.temperature:g}")


def test_choosing_a_model_of_the_other_task_turns_the_switch(visit: Visit, two_tasks: str) -> None:
    page = visit(two_tasks)
    has_the_settings_of(page, "math")
    page.get_by_test_id("model").select_option("stories-uniform")
    expect(page.get_by_test_id("task-stories").locator("visible=true")).to_be_checked()
    expect(page.get_by_test_id("prompt")).to_have_value(STORY_PROMPTS[0].prompt)
    has_the_settings_of(page, "stories")


def test_what_somebody_chose_stays_where_the_task_is_turned(visit: Visit, two_tasks: str) -> None:
    page = visit(two_tasks)
    shown = page.evaluate("BlockViz.state().run")
    page.get_by_test_id("prompt").fill("One cold day")
    page.get_by_test_id("setting-steps").fill("3")
    page.get_by_test_id("setting-temperature").fill("0.4")
    page.get_by_test_id("task-stories").locator("visible=true").check(force=True)
    expect(page.get_by_test_id("model")).to_have_value("stories-masked")
    page.wait_for_timeout(1000)
    expect(page.get_by_test_id("prompt")).to_have_value("One cold day")
    expect(page.get_by_test_id("setting-steps")).to_have_value("3")
    expect(page.get_by_test_id("setting-temperature")).to_have_value("0.4")
    assert page.evaluate("BlockViz.state().run") == shown

    page.get_by_role("tab", name="Compare").click()
    page.get_by_test_id("vary").select_option("steps")
    page.get_by_test_id("setting-steps-b").fill("5")
    page.get_by_test_id("task-stories").locator("visible=true").check(force=True)
    page.wait_for_timeout(1000)
    expect(page.get_by_test_id("model-a")).to_have_value("stories-masked")
    expect(page.get_by_test_id("setting-steps-b")).to_have_value("5")


def test_a_model_of_the_other_task_turns_the_form_that_took_over_an_example(
    visit: Visit, two_tasks: str
) -> None:
    page = visit(two_tasks)
    first = next(entry for entry in STORIES if len(entry.runs) == 1)
    page.get_by_test_id("examples-explore").click()
    page.get_by_test_id(f"example-{first.name}").locator("visible=true").click()
    expect(page.get_by_test_id("task-stories").locator("visible=true")).to_be_checked()
    has_the_settings_of(page, "stories")
    page.get_by_test_id("model").select_option("math-masked")
    expect(page.get_by_test_id("task-math").locator("visible=true")).to_be_checked()
    has_the_settings_of(page, "math")


def test_a_model_of_the_other_task_turns_prompt_and_temperature_of_compare(
    visit: Visit, two_tasks: str
) -> None:
    page = visit(two_tasks)
    page.get_by_role("tab", name="Compare").click()
    usual = settings_of_tasks()
    temperature = page.get_by_test_id("setting-temperature")
    page.get_by_test_id("model-a").select_option("stories-masked")
    expect(page.get_by_test_id("task-stories").locator("visible=true")).to_be_checked()
    expect(page.get_by_test_id("prompt")).to_have_value(STORY_PROMPTS[0].prompt)
    expect(temperature).to_have_value(f"{usual['stories'].temperature:g}")
    page.get_by_test_id("model-a").select_option("math-masked")
    expect(page.get_by_test_id("prompt")).to_have_value(PAGE_PROMPTS[0].prompt)
    expect(temperature).to_have_value(f"{usual['math'].temperature:g}")
    # What somebody chose stays, in a row of the table as well.
    page.get_by_test_id("vary").select_option("temperature")
    page.get_by_test_id("setting-temperature-b").fill("0.3")
    page.get_by_test_id("model-a").select_option("stories-uniform")
    expect(page.get_by_test_id("setting-temperature-a")).to_have_value(f"{usual['stories'].temperature:g}")
    expect(page.get_by_test_id("setting-temperature-b")).to_have_value("0.3")


def test_an_example_of_the_same_task_stays_where_another_model_is_chosen(
    visit: Visit, two_tasks: str
) -> None:
    page = visit(two_tasks)
    second = PAGE_PROMPTS[1]
    page.locator(".bvc-try:visible button", has_text=second.label.lower()).first.click()
    page.get_by_test_id("model").select_option("math-uniform")
    expect(page.get_by_test_id("prompt")).to_have_value(second.prompt)


def test_compare_turns_all_its_runs_and_the_reader(visit: Visit, two_tasks: str) -> None:
    page = visit(two_tasks)
    page.get_by_role("tab", name="Compare").click()
    page.get_by_test_id("task-stories").locator("visible=true").check(force=True)
    expect(page.get_by_test_id("model-a")).to_have_value("stories-masked")
    expect(page.get_by_test_id("model-b")).to_have_value("stories-uniform")
    page.get_by_test_id("ready-noise-2").click()
    page.wait_for_function("!BlockViz.formBusy('compare')")
    page.wait_for_function(
        "BlockViz.bus('compare').loaded.every((player) => player.run.header.model.task === 'stories' && player.run.end)"
    )
    expect(page.get_by_test_id("scorer")).to_have_value("stories-masked")
    drawn = settings_of_tasks()["stories"].temperature
    temperatures = "BlockViz.bus('compare').loaded.map((player) => player.run.header.settings.temperature)"
    assert page.evaluate(temperatures) == [drawn, drawn]
    assert page.locator('[data-testid="summary"] [data-row="entropy"]').count() == 1
    assert page.locator('[data-testid="summary"] [data-row="equations"]').count() == 0, "nothing is checked"
