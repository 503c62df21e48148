"""Settings: one source, bounds everywhere, errors that name field, value and what is allowed."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockviz.sampling import settings as module
from blockviz.sampling.settings import (
    AR_SCORES,
    FIELDS,
    PRESETS,
    SamplerSettings,
    SettingsError,
    applies,
    coerce,
    from_preset,
    from_text,
    parse,
    preset_of,
    validate,
)


def valid_values(name: str) -> st.SearchStrategy[Any]:
    field = FIELDS[name]
    if field.kind == "choice":
        return st.sampled_from([choice.value for choice in field.choices])
    if field.kind == "bool":
        return st.booleans()
    if field.kind == "int":
        whole = st.integers(int(field.minimum or 0), int(field.maximum or 0))
        return whole | st.none() if field.optional else whole
    return st.just(0.0) | st.floats(0.01, field.maximum)


def valid_settings() -> st.SearchStrategy[SamplerSettings]:
    def build(values: dict[str, Any]) -> SamplerSettings:
        if values["predictor"] != "ancestral":
            values["corrector"] = "none"
        return SamplerSettings(**values)

    return st.fixed_dictionaries({name: valid_values(name) for name in FIELDS}).map(build)


def outcome(name: str, value: object) -> tuple[object, SettingsError | None]:
    try:
        return coerce(name, value), None
    except SettingsError as error:
        return None, error


def test_fields_and_dataclass_agree() -> None:
    declared = {field.name: field.default for field in fields(SamplerSettings)}
    assert declared == {name: field.default for name, field in FIELDS.items()}
    assert list(declared) == list(FIELDS)
    for name, literal in (
        ("predictor", module.Predictor),
        ("corrector", module.Corrector),
        ("schedule", module.ScheduleChoice),
        ("record_attention", module.Recording),
        ("context", module.Context),
        ("order", module.Order),
        ("reveal", module.Reveal),
        ("counting", module.Counting),
        ("seams", module.Seams),
    ):
        assert tuple(choice.value for choice in FIELDS[name].choices) == get_args(literal)


def test_every_field_and_choice_has_one_line_of_help() -> None:
    entries = [*FIELDS.values(), *PRESETS.values(), *(c for f in FIELDS.values() for c in f.choices)]
    for entry in entries:
        assert entry.label.strip()
        assert entry.help.strip().endswith(".")
        assert "\n" not in entry.help


def test_help_says_what_masked_noise_does_to_the_scores() -> None:
    words = {choice.value: choice.help for choice in FIELDS["corrector"].choices}
    for score in ("kld", "reverse_kld", "tvd"):
        assert "re-masks every already revealed token first" in words[score]
    assert "never re-masks a revealed token" in words["entropy"]


@settings(max_examples=60, deadline=None)
@given(valid_settings())
def test_settings_survive_json_exactly(settings: SamplerSettings) -> None:
    assert parse(json.loads(json.dumps(settings.to_dict()))) == settings


@settings(max_examples=60, deadline=None)
@given(valid_settings())
def test_text_form_of_every_value_reads_back(settings: SamplerSettings) -> None:
    for name in FIELDS:
        value = getattr(settings, name)
        text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        assert from_text(name, text) == value


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(list(FIELDS)), st.one_of(st.integers(), st.floats(), st.booleans(), st.text(), st.none())
)
def test_any_value_is_accepted_in_its_own_type_or_refused_in_words(name: str, value: object) -> None:
    field = FIELDS[name]
    result, refusal = outcome(name, value)
    if refusal is None:
        expected = {"int": int, "float": float, "bool": bool, "choice": str}[field.kind]
        assert result == value
        assert type(result) is expected or (result is None and field.optional)
    else:
        assert (refusal.field, refusal.allowed) == (name, field.allowed)
        assert str(refusal).startswith(f"{name} cannot be ")
        assert field.allowed in str(refusal)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("steps", 257),
        ("steps", 8.5),
        ("steps", True),
        ("steps", "8"),
        ("steps", None),
        ("steps", math.nan),
        ("steps", math.inf),
        ("steps", [8]),
        ("block_size", 0),
        pytest.param("block_size", -(10**5000), id="huge"),
        ("temperature", -0.1),
        ("temperature", 2.01),
        ("temperature", 1e-9),
        ("temperature", math.nan),
        ("temperature", -math.inf),
        ("temperature", False),
        pytest.param("temperature", Fraction(10**400), id="fraction"),
        ("seed", -1),
        ("seed", 2**31),
        ("length", 0),
        ("use_cache", 1),
        ("use_cache", "true"),
        ("corrector", "ARPC"),
        ("corrector", None),
        ("schedule", b"model"),
    ],
)
def test_refused_values(name: str, value: object) -> None:
    with pytest.raises(SettingsError) as caught:
        SamplerSettings(**{name: value})  # type: ignore[arg-type]
    assert caught.value.field == name
    assert len(str(caught.value)) < 300
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("steps", 8.0, 8),
        ("steps", np.int64(8), 8),
        ("steps", np.float32(8), 8),
        ("temperature", 1, 1.0),
        ("temperature", 0, 0.0),
        ("temperature", np.float64(0.5), 0.5),
        ("use_cache", np.bool_(False), False),
        ("length", None, None),
        ("length", 64.0, 64),
    ],
)
def test_values_take_the_type_of_their_field(name: str, value: object, expected: object) -> None:
    result = getattr(SamplerSettings(**{name: value}), name)  # type: ignore[arg-type]
    assert result == expected
    assert type(result) is type(expected)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        SamplerSettings().steps = 3  # type: ignore[misc]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"^stepz cannot be 3: allowed is a setting named predictor, "):
        parse({"stepz": 3})
    with pytest.raises(SettingsError, match=r"^tau "):
        from_text("tau", "1")


@pytest.mark.parametrize("text", ["", "eight", "8.5", "nan", "inf", "1e999", "9" * 5000, "0x10"])
def test_refused_texts(text: str) -> None:
    with pytest.raises(SettingsError, match=r"^steps cannot be "):
        from_text("steps", text)


def test_booleans_as_text() -> None:
    assert from_text("fill_canvas", "Yes") is True
    assert from_text("fill_canvas", "0") is False
    with pytest.raises(SettingsError, match="true or false"):
        from_text("fill_canvas", "maybe")


def test_presets_are_samplers_by_name() -> None:
    assert list(PRESETS)[:5] == ["ar", "ancestral", "arpc", "eipc", "random"]
    assert list(PRESETS)[5:] == ["confident", "threshold", "blockwise", "canvas", "overlap", "seams"]
    for name in PRESETS:
        assert preset_of(from_preset(name)) == name
    assert from_preset("arpc").corrector == "ar_nll"
    assert from_preset("eipc").corrector == "entropy"
    assert from_preset("ar").predictor == "autoregressive"
    assert from_preset("arpc", steps=4, seed=9) == SamplerSettings(corrector="ar_nll", steps=4, seed=9)


def test_an_override_wins_over_its_preset() -> None:
    settings = from_preset("arpc", corrector="tvd")
    assert settings.corrector == "tvd"
    assert preset_of(settings) is None
    for nothing in (None, "", " "):
        with pytest.raises(SettingsError, match=r"^steps cannot be empty: allowed is a whole number from 1"):
            parse({"steps": nothing})
    with pytest.raises(SettingsError, match=r"^steps cannot be something that is no number: allowed is"):
        parse({"steps": float("nan")})
    with pytest.raises(SettingsError, match=r"^preset cannot be 'best': allowed is one of ar, ancestral"):
        from_preset("best")


def test_left_to_right_has_nothing_to_correct() -> None:
    with pytest.raises(SettingsError, match="no proposal to correct"):
        SamplerSettings(predictor="autoregressive", corrector="ar_nll")


@pytest.mark.parametrize("predictor", ["confident", "threshold"])
def test_what_is_revealed_stays(predictor: str) -> None:
    with pytest.raises(
        SettingsError, match=r"^corrector cannot be 'random': allowed is none with .* no proposal"
    ):
        SamplerSettings(predictor=predictor, corrector="random")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("preset", "field", "why"),
    [
        ("confident", "predictor", "cannot see which positions are still to be revealed"),
        ("threshold", "predictor", "cannot see which positions are still to be revealed"),
        ("blockwise", "predictor", "cannot see which positions are still to be revealed"),
        ("canvas", "predictor", "cannot see which positions are still to be revealed"),
    ],
)
def test_uniform_noise_refuses_what_it_cannot_do_and_says_why(preset: str, field: str, why: str) -> None:
    validate(from_preset(preset), length=64, x0_causal=True, process="masked")
    with pytest.raises(SettingsError, match=why) as error:
        validate(from_preset(preset), length=64, x0_causal=True, process="uniform")
    assert error.value.field == field


def test_uniform_noise_can_be_written_in_blocks_at_once_and_across_seams() -> None:
    for name in ("ar", "ancestral", "arpc", "eipc", "random", "overlap", "seams"):
        validate(from_preset(name), length=64, x0_causal=True, process="uniform")
    validate(SamplerSettings(context="canvas"), length=64, x0_causal=True, process="uniform")
    with pytest.raises(
        SettingsError, match=r"^context cannot be 'bidirectional'.*random tokens that read like text"
    ):
        validate(SamplerSettings(context="bidirectional"), length=64, x0_causal=True, process="uniform")


def test_seams_fit_their_blocks() -> None:
    with pytest.raises(SettingsError, match=r"^overlap cannot be 4: allowed is less than the block size, 4"):
        validate(from_preset("overlap", block_size=4), length=64, x0_causal=True, process="masked")
    with pytest.raises(SettingsError, match=r"^seam_width cannot be 5: allowed is at most the block size, 4"):
        validate(
            from_preset("seams", block_size=4, seam_width=5), length=64, x0_causal=True, process="masked"
        )
    for name in ("overlap", "seams"):
        with pytest.raises(SettingsError, match=r"^seams cannot be .*x0_causal is false"):
            validate(from_preset(name), length=64, x0_causal=False, process="masked")
        settings = from_preset(name, context="bidirectional")
        validate(settings, length=64, x0_causal=False, process="masked")


def test_only_fields_that_change_the_run_apply() -> None:
    def shown(settings: SamplerSettings) -> set[str]:
        return {name for name in FIELDS if applies(name, settings)}

    always = {
        *("predictor", "temperature", "length", "fill_canvas", "forbid_end", "use_cache", "seed"),
        "record_attention",
    }
    blocks = {"context", "corrector", "block_size", "steps", "schedule", "ar_prefix", "seams"}
    counted = {"steps", "order", "reveal", "counting"}
    assert shown(from_preset("ar")) == always
    assert shown(from_preset("ancestral")) == always | blocks
    assert shown(from_preset("arpc")) == always | blocks | {"warmup", "every"}
    assert shown(from_preset("ar", record_attention="mean")) == always | {"attention_layer"}
    revealed = (always | blocks) - {"corrector", "schedule"}
    assert shown(from_preset("confident")) == revealed | counted
    assert shown(from_preset("threshold")) == (revealed | {"threshold"}) - {"steps"}
    uncached = {"use_cache", "ar_prefix"}
    assert shown(from_preset("blockwise")) == (revealed | counted) - uncached
    assert shown(from_preset("canvas")) == (revealed | counted) - uncached - {"block_size", "seams"}
    assert shown(from_preset("overlap")) == always | blocks | {"overlap"}
    assert shown(from_preset("seams")) == always | blocks | {"seam_width", "seam_steps"}
    with pytest.raises(SettingsError):
        applies("tau", SamplerSettings())


def test_the_cache_heeds_its_setting_exactly_where_that_has_a_meaning() -> None:
    names = ("predictor", "context")
    for predictor, context in product(*([choice.value for choice in FIELDS[name].choices] for name in names)):
        on, off = (
            SamplerSettings(predictor=predictor, context=context, use_cache=cached)
            for cached in (True, False)
        )
        assert applies("use_cache", on) == applies("use_cache", off)
        if applies("use_cache", on):
            assert (on.caches, off.caches) == (True, False)
        else:
            assert on.caches == off.caches == (predictor == "autoregressive")


@pytest.mark.parametrize("score", sorted(AR_SCORES))
def test_ar_scores_need_a_causal_clean_stream(score: str) -> None:
    settings = from_preset("ancestral", corrector=score)
    validate(settings, length=64, x0_causal=True, process="masked")
    with pytest.raises(SettingsError, match=r"x0_causal is false.*would not agree with its KV cache"):
        validate(settings, length=64, x0_causal=False, process="masked")


def test_what_a_block_causal_model_can_still_do() -> None:
    for name in ("ar", "ancestral", "eipc", "random"):
        validate(from_preset(name), length=64, x0_causal=False, process="uniform")
    with pytest.raises(SettingsError, match=r"^ar_prefix cannot be 4: allowed is 0, because"):
        validate(from_preset("eipc", ar_prefix=4), length=64, x0_causal=False, process="masked")


def test_canvas_and_blocks_fit_the_model() -> None:
    with pytest.raises(SettingsError, match=r"^block_size cannot be 128: allowed is at most 64"):
        validate(SamplerSettings(block_size=128), length=64, x0_causal=True, process="masked")
    with pytest.raises(SettingsError, match=r"^length cannot be 65: allowed is at most 64"):
        validate(SamplerSettings(length=65), length=64, x0_causal=True, process="masked")
    with pytest.raises(SettingsError, match=r"^block_size cannot be 16: allowed is at most 8"):
        validate(SamplerSettings(length=8), length=64, x0_causal=True, process="masked")
    with pytest.raises(SettingsError, match=r"^ar_prefix cannot be 65"):
        validate(SamplerSettings(ar_prefix=65), length=64, x0_causal=True, process="masked")
    with pytest.raises(SettingsError, match=r"^process cannot be 'gaussian'"):
        validate(SamplerSettings(), length=64, x0_causal=True, process="gaussian")
    validate(SamplerSettings(block_size=64, length=64), length=64, x0_causal=True, process="masked")
    validate(from_preset("ar", block_size=4096), length=64, x0_causal=True, process="masked")


def test_an_object_that_cannot_be_shown_is_still_refused_in_words() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError

    with pytest.raises(SettingsError, match=r"^steps cannot be a Hostile"):
        SamplerSettings(steps=Hostile())  # type: ignore[arg-type]
