from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from blockviz.evaluation.tasks import PAGE_PROMPTS
from blockviz.sampling.settings import (
    FIELDS,
    PRESETS,
    SamplerSettings,
    SettingsError,
    applies,
    from_preset,
    preset_of,
)
from blockviz.ui.controls import (
    MAX_PROMPT,
    Choices,
    FormError,
    compare_spec,
    explore_spec,
    read_compare,
    read_explore,
)
from blockviz.ui.shelf import Offer
from blockviz.ui.wording import TASKS
from tests.sampling.traces import header, model_facts

MASKED = Offer("math-masked", "masked", 96, "math", 2_000_000)
UNIFORM = Offer("math-uniform", "uniform", 96, "math", 2_000_000)
CHOICES = Choices([MASKED, UNIFORM], PAGE_PROMPTS, "checkpoints")


def spec(choices: Choices = CHOICES) -> dict[str, Any]:
    return json.loads(explore_spec(choices, None))


def form(**changes: object) -> dict[str, object]:
    settings = {"predictor": "ancestral", "corrector": "ar_nll", "block_size": 16.0, "steps": 8}
    return {"model": "math-masked", "prompt": "hello", "seed": 7, "settings": settings, **changes}


def test_every_field_but_predictor_and_seed_is_in_the_form_with_its_own_words() -> None:
    fields = {field["name"]: field for field in spec()["fields"]}
    assert set(fields) == set(FIELDS) - {"predictor", "seed"}
    for name, field in fields.items():
        assert (field["label"], field["help"]) == (FIELDS[name].label, FIELDS[name].help)
        assert [choice["value"] for choice in field["choices"]] == [c.value for c in FIELDS[name].choices]


def test_every_preset_has_a_short_name_of_its_own() -> None:
    presets = spec()["presets"]
    assert [preset["name"] for preset in presets] == list(PRESETS)
    assert [preset["short"] for preset in presets] == [
        *("AR", "Ancestral", "ARPC", "EIPC", "Random"),
        *("Confident", "Threshold", "Blockwise", "Canvas", "Overlap", "Seams"),
    ]
    assert all(preset["help"] == PRESETS[preset["name"]].help for preset in presets)


def test_only_fields_that_apply_are_shown() -> None:
    """The form has the rule itself: the values that other settings must have."""
    offered = spec()
    names = {field["name"]: [choice["value"] for choice in field["choices"]] for field in offered["fields"]}
    names["predictor"] = offered["predictors"]
    assert offered["applies"]["every"]["corrector"] == [name for name in names["corrector"] if name != "none"]
    for field, conditions in offered["applies"].items():
        assert field in names
        for other, allowed in conditions.items():
            assert set(allowed) <= set(names[other])
    for settings in (
        from_preset("ar"),
        from_preset("arpc"),
        from_preset("blockwise", record_attention="mean"),
    ):
        for field in FIELDS:
            rule = offered["applies"].get(field, {})
            shown = all(getattr(settings, other) in allowed for other, allowed in rule.items())
            assert shown == applies(field, settings)


def test_presets_that_a_process_refuses_say_why() -> None:
    refused = {preset["name"]: preset["refused"] for preset in spec()["presets"]}
    assert {name for name, words in refused.items() if words} == {
        "confident",
        "threshold",
        "blockwise",
        "canvas",
    }
    assert "uniform noise" in refused["canvas"]["uniform"]
    assert "masked" not in refused["canvas"]


def test_the_form_starts_with_arpc_on_the_first_model_and_the_first_prompt() -> None:
    first = spec()
    assert first["initial"]["model"] == "math-masked"
    assert preset_of(SamplerSettings(**first["initial"]["settings"])) == "arpc"
    assert first["prompt"] == PAGE_PROMPTS[0].prompt
    assert first["examples"][0]["text"] == PAGE_PROMPTS[0].prompt
    assert first["seed"]["value"] == FIELDS["seed"].default


def test_the_form_starts_as_the_recorded_run_was_asked_for() -> None:
    asked = from_preset("eipc", steps=5, seed=9)
    facts = replace(model_facts("uniform"), name="math-uniform")
    example = header(model=facts, settings=asked, prompt="hello")
    first = json.loads(explore_spec(CHOICES, example))
    assert first["initial"]["model"] == "math-uniform"
    assert SamplerSettings(**first["initial"]["settings"]) == asked
    assert (first["prompt"], first["seed"]["value"]) == ("hello", 9)
    assert first["words"]["first"]
    gone = json.loads(explore_spec(CHOICES, header(settings=asked)))
    assert gone["initial"]["model"] == "math-masked", "an example's model that is not there is not offered"


def test_compare_starts_with_arpc_on_masked_beside_arpc_on_uniform() -> None:
    sides = json.loads(compare_spec(Choices([UNIFORM, MASKED], PAGE_PROMPTS, "x"), (None, None)))["sides"]
    assert (sides["a"]["model"], sides["b"]["model"]) == ("math-masked", "math-uniform")
    assert sides["a"]["settings"] == sides["b"]["settings"]


def test_with_models_of_two_tasks_there_is_a_choice_and_prompts_for_each() -> None:
    story = Offer("stories-masked", "masked", 128, "stories", 3_000_000)
    assert spec()["tasks"] == [], "one task is no choice"
    drawn = from_preset("arpc", steps=16, temperature=0.8)
    offered = spec(Choices([MASKED, story], PAGE_PROMPTS, "x", {"stories": drawn}))
    assert [task["settings"] for task in offered["tasks"]] == [None, drawn.to_dict()]
    assert [task["name"] for task in offered["tasks"]] == ["math", "stories"]
    assert all(task["label"] and task["help"] for task in offered["tasks"])
    assert [model["task"] for model in offered["models"]] == ["math", "stories"]
    by_task = {task: [one["text"] for one in offered["examples"] if one["task"] == task] for task in TASKS}
    assert by_task["stories"][0] == "Once upon a time"
    assert len(by_task["math"]) >= 5
    assert any("[[" in text for text in by_task["stories"])


def test_without_checkpoints_the_form_says_so_and_names_only_the_folder() -> None:
    empty = spec(Choices([], PAGE_PROMPTS, "checkpoints"))
    assert empty["models"] == []
    assert "no checkpoint in 'checkpoints'" in empty["words"]["no_models_help"]
    assert json.loads(compare_spec(Choices([], (), "x"), (None, None)))["sides"]["a"]["model"] == ""


def test_a_form_becomes_a_request() -> None:
    request = read_explore(form())
    assert (request.model, request.prompt) == ("math-masked", "hello")
    assert request.settings == SamplerSettings(corrector="ar_nll", block_size=16, steps=8, seed=7)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"steps": 0}, "steps"),
        ({"steps": 257}, "steps"),
        ({"steps": 2.5}, "steps"),
        ({"steps": None}, "steps"),
        ({"steps": "not a number"}, "steps"),
        ({"steps": True}, "steps"),
        ({"temperature": -1}, "temperature"),
        ({"temperature": "1"}, "temperature"),
        ({"corrector": "magic"}, "corrector"),
        ({"corrector": ["ar_nll"]}, "corrector"),
        ({"use_cache": 1}, "use_cache"),
        ({"__class__": "x"}, "__class__"),
    ],
)
def test_a_bad_setting_is_refused_at_its_field(settings: dict[str, object], field: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_explore(form(settings=settings))
    assert caught.value.field == field
    assert field in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"model": ""}, "model"),
        ({"model": None}, "model"),
        ({"model": ["math-masked"]}, "model"),
        ({"prompt": None}, "prompt"),
        ({"prompt": "x" * (MAX_PROMPT + 1)}, "prompt"),
        ({"settings": []}, ""),
    ],
)
def test_a_bad_form_is_refused_at_its_field(changes: dict[str, object], field: str) -> None:
    with pytest.raises(FormError) as caught:
        read_explore(form(**changes))
    assert caught.value.field == field


@pytest.mark.parametrize("data", [None, "", [], 3, {"prompt": {"a": 1}}])
def test_foreign_data_is_refused_in_words(data: object) -> None:
    with pytest.raises((FormError, SettingsError)):
        read_explore(data)


@pytest.mark.parametrize("seed", [-1, 2**31, 1.5, None, "7"])
def test_a_bad_seed_is_refused(seed: object) -> None:
    with pytest.raises(SettingsError) as caught:
        read_explore(form(seed=seed))
    assert caught.value.field == "seed"


def both(**b: object) -> dict[str, object]:
    good = {"model": "math-masked", "settings": {"steps": 4}}
    return {"prompt": "hello", "seed": 1, "a": good, "b": {**good, **b}}


def test_compare_shares_prompt_and_seed() -> None:
    requests = read_compare(both(model="math-uniform", settings={"steps": 2}))
    assert [requests[side].model for side in "ab"] == ["math-masked", "math-uniform"]
    assert [requests[side].settings.steps for side in "ab"] == [4, 2]
    assert {request.settings.seed for request in requests.values()} == {1}


def test_compare_takes_up_to_four_runs_and_seeds_of_their_own() -> None:
    third = {"model": "math-masked", "settings": {"steps": 3, "seed": 9}}
    requests = read_compare({**both(), "c": third, "d": third})
    assert list(requests) == ["a", "b", "c", "d"]
    assert [request.settings.seed for request in requests.values()] == [1, 1, 9, 9]
    assert list(read_compare({**both(), "d": third})) == ["a", "b"], (
        "sides stand beside each other without a gap"
    )
    with pytest.raises(FormError) as caught:
        read_compare({**both(), "c": {"model": "", "settings": {}}})
    assert caught.value.field == "c.model"


def test_every_comparison_of_one_click_can_be_run_on_the_models_there() -> None:
    made = json.loads(compare_spec(CHOICES, (None, None)))["ready"]
    assert len({one["name"] for one in made}) == len(made) >= 5
    for one in made:
        assert 2 <= len(one["runs"]) <= 4
        assert one["help"]
        form = {"prompt": "x", "seed": 1, **dict(zip("abcd", one["runs"], strict=False))}
        requests = list(read_compare(form).values())
        assert len({(request.model, request.settings) for request in requests}) == len(requests)
    assert [run["model"] for run in made[0]["runs"]] == ["math-masked", "math-uniform"]


def test_a_comparison_of_one_click_without_its_model_says_so() -> None:
    made = json.loads(compare_spec(Choices([MASKED], PAGE_PROMPTS, "x"), (None, None)))["ready"]
    assert made[0]["runs"] == []
    assert "uniform" in made[0]["help"]
    assert len(made[-1]["runs"]) == 2


def test_compare_says_on_which_side_an_error_is() -> None:
    with pytest.raises(FormError) as caught:
        read_compare(both(settings={"steps": 0}))
    assert caught.value.field == "b.steps"
    with pytest.raises(FormError) as caught:
        read_compare({**both(), "seed": -1})
    assert caught.value.field == "a.seed"
    with pytest.raises(FormError) as caught:
        read_compare({**both(), "prompt": None})
    assert caught.value.field == "prompt"
