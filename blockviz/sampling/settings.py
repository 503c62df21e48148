"""Everything that determines a run: the one source of fields, bounds, defaults, help texts and presets.

The page, the command line, the HTTP API, trace files and the documentation all read this module, so that a new score
or sampler is added here once (a `Choice` in `setting_fields.py`) and in `predictors.py` or `correctors.py` once (a
function). It knows no torch.

A later sampler fits without touching the loop: whole-canvas and blockwise confident reveal, threshold and infilling are
further choices of `predictor` with their own fields (as `every` belongs to the correctors), overlap is a further field
of the block plan; `_APPLIES` says when a field is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from blockviz.sampling.setting_fields import (
    FIELDS,
    MAX_LENGTH,
    MAX_STEPS,
    Choice,
    Field,
    SettingsError,
    coerce,
    from_text,
)

__all__ = [
    "AR_SCORES",
    "FIELDS",
    "MAX_LENGTH",
    "MAX_STEPS",
    "PRESETS",
    "Choice",
    "Corrector",
    "Field",
    "Predictor",
    "Preset",
    "Recording",
    "SamplerSettings",
    "ScheduleChoice",
    "SettingsError",
    "applies",
    "coerce",
    "from_preset",
    "from_text",
    "parse",
    "preset_of",
    "validate",
]

Predictor = Literal["ancestral", "autoregressive"]
Corrector = Literal[
    "none",
    "ar_nll",
    "ar_gap",
    "ar_entropy",
    "kld",
    "reverse_kld",
    "tvd",
    "entropy",
    "confidence",
    "margin",
    "random",
]
ScheduleChoice = Literal["model", "log-linear", "cosine"]
Recording = Literal["none", "mean", "heads"]


AR_SCORES: frozenset[str] = frozenset({"ar_nll", "ar_gap", "ar_entropy", "kld", "reverse_kld", "tvd"})
"""Corrector scores that need the autoregressive reading of the proposal: one verification call per guided step."""


@dataclass(frozen=True)
class Preset:
    """A named sampler: the settings it fixes; every other setting stays free."""

    name: str
    label: str
    help: str
    fixed: dict[str, Any]


@dataclass(frozen=True)
class SamplerSettings:
    """Everything that, with the model and the prompt, determines a run and what is recorded of it.

    Meaning and bounds of each field stand in `FIELDS`; a value outside them raises `SettingsError` here, so that
    settings which exist are within bounds. A whole number that arrives as a float (a slider's 8.0) becomes an int.
    """

    predictor: Predictor = "ancestral"
    corrector: Corrector = "none"
    block_size: int = 16
    steps: int = 8
    temperature: float = 1.0
    warmup: int = 0
    every: int = 1
    ar_prefix: int = 0
    schedule: ScheduleChoice = "model"
    length: int | None = None
    fill_canvas: bool = False
    use_cache: bool = True
    seed: int = 0
    record_attention: Recording = "none"
    attention_layer: int = 0

    def __post_init__(self) -> None:
        for name in FIELDS:
            object.__setattr__(self, name, coerce(name, getattr(self, name)))
        if self.predictor == "autoregressive" and self.corrector != "none":
            raise SettingsError(
                "corrector",
                self.corrector,
                "none with the autoregressive predictor, which has no proposal to correct",
            )

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain JSON values, every field present."""
        return asdict(self)


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "ar",
            "Left to right (AR)",
            "One token at a time, as usual language models write; the model's own standard of comparison.",
            {"predictor": "autoregressive", "corrector": "none"},
        ),
        Preset(
            "ancestral",
            "Ancestral",
            "Plain block diffusion: every step reveals some tokens, none is questioned afterwards.",
            {"predictor": "ancestral", "corrector": "none"},
        ),
        Preset(
            "arpc",
            "AR-informed corrector (ARPC)",
            "Proposes a whole block, reads it left to right, and re-noises the tokens that surprise that reading.",
            {"predictor": "ancestral", "corrector": "ar_nll"},
        ),
        Preset(
            "eipc",
            "Diffusion-entropy corrector (EIPC)",
            "Re-noises where the diffusion prediction is least certain; "
            "on masked noise that means unmasking in order of certainty.",
            {"predictor": "ancestral", "corrector": "entropy"},
        ),
        Preset(
            "random",
            "Random corrector",
            "Re-noises positions drawn at random: the baseline that shows what a score adds.",
            {"predictor": "ancestral", "corrector": "random"},
        ),
    )
}


def parse(mapping: Mapping[str, object]) -> SamplerSettings:
    """Settings from names and values as they come from the API or a file; missing names take their defaults.

    Raises `SettingsError` for an unknown name or a value that its field does not allow.
    """
    for name, value in mapping.items():
        if name not in FIELDS:
            raise SettingsError(str(name), value, "a setting named " + ", ".join(FIELDS))
    return SamplerSettings(**dict(mapping))  # type: ignore[arg-type]  # __post_init__ checks every value


def from_preset(name: str, **overrides: Any) -> SamplerSettings:
    """Settings of the named preset; `overrides` win over what the preset fixes. Raises `SettingsError`."""
    if not isinstance(name, str) or name not in PRESETS:
        raise SettingsError("preset", name, "one of " + ", ".join(PRESETS))
    return parse({**PRESETS[name].fixed, **overrides})


def preset_of(settings: SamplerSettings) -> str | None:
    """The name of the preset that these settings follow, or None when they follow none."""
    for preset in PRESETS.values():
        if all(getattr(settings, name) == value for name, value in preset.fixed.items()):
            return preset.name
    return None


def _in_blocks(settings: SamplerSettings) -> bool:
    return settings.predictor != "autoregressive"


def _corrected(settings: SamplerSettings) -> bool:
    return settings.corrector != "none"


def _records_attention(settings: SamplerSettings) -> bool:
    return settings.record_attention != "none"


_APPLIES: dict[str, Callable[[SamplerSettings], bool]] = {
    "corrector": _in_blocks,
    "block_size": _in_blocks,
    "steps": _in_blocks,
    "schedule": _in_blocks,
    "ar_prefix": _in_blocks,
    "warmup": _corrected,
    "every": _corrected,
    "attention_layer": _records_attention,
}


def applies(field_name: str, settings: SamplerSettings) -> bool:
    """Whether a field changes the run under these settings; the page shows only those that do."""
    if field_name not in FIELDS:
        raise SettingsError(field_name, None, "a setting named " + ", ".join(FIELDS))
    return field_name not in _APPLIES or _APPLIES[field_name](settings)


def validate(settings: SamplerSettings, length: int, x0_causal: bool, process: str) -> None:
    """Raise `SettingsError` unless a model of this trained `length` (positions) and attention can run `settings`."""
    if process not in ("masked", "uniform"):
        raise SettingsError("process", process, "masked or uniform noise")
    if settings.length is not None and settings.length > length:
        raise SettingsError(
            "length", settings.length, f"at most {length}, the length this model was trained for"
        )
    canvas = length if settings.length is None else settings.length
    if applies("block_size", settings) and settings.block_size > canvas:
        raise SettingsError("block_size", settings.block_size, f"at most {canvas}, the length of the canvas")
    if settings.ar_prefix > canvas:
        raise SettingsError("ar_prefix", settings.ar_prefix, f"at most {canvas}, the length of the canvas")
    if x0_causal:
        return
    why = (
        "this model's clean stream sees whole blocks at once (x0_causal is false), so that reading a block "
        "left to right would not agree with its KV cache"
    )
    if settings.corrector in AR_SCORES:
        free = ", ".join(name for name in get_args(Corrector) if name not in AR_SCORES)
        raise SettingsError("corrector", settings.corrector, f"{free}, because {why}")
    if settings.ar_prefix > 0 and applies("ar_prefix", settings):
        raise SettingsError("ar_prefix", settings.ar_prefix, f"0, because {why}")
