"""Everything that determines a run: the one source of fields, bounds, defaults, help texts and presets.

The page, the command line, the HTTP API, trace files and the documentation all read this module, so that a new score
or sampler is added here once (a `Choice` in `setting_fields.py`) and in `predictors.py` or `correctors.py` once (a
function). It knows no torch.

`APPLIES` says under which settings a field has a meaning; where it has none its value is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from blockviz.sampling.setting_choices import Choice
from blockviz.sampling.setting_fields import (
    FIELDS,
    MAX_LENGTH,
    MAX_STEPS,
    Field,
    SettingsError,
    coerce,
    from_text,
)
from blockviz.sampling.setting_presets import PRESETS, Preset

__all__ = [
    "APPLIES",
    "AR_SCORES",
    "FIELDS",
    "MAX_LENGTH",
    "MAX_STEPS",
    "PRESETS",
    "Choice",
    "Context",
    "Corrector",
    "Counting",
    "Field",
    "Order",
    "Predictor",
    "Preset",
    "Recording",
    "Reveal",
    "SamplerSettings",
    "ScheduleChoice",
    "Seams",
    "SettingsError",
    "applies",
    "coerce",
    "from_preset",
    "from_text",
    "parse",
    "preset_of",
    "refused_on",
    "validate",
]

Predictor = Literal["ancestral", "confident", "threshold", "autoregressive"]
Context = Literal["causal", "bidirectional", "canvas"]
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
Order = Literal["confidence", "margin", "entropy", "left_to_right", "random"]
Reveal = Literal["linear", "cosine"]
Counting = Literal["ceil", "floor"]
Seams = Literal["none", "overlap", "renoise"]


AR_SCORES: frozenset[str] = frozenset({"ar_nll", "ar_gap", "ar_entropy", "kld", "reverse_kld", "tvd"})
"""Corrector scores that need the autoregressive reading of the proposal: one verification call per guided step."""


@dataclass(frozen=True)
class SamplerSettings:
    """Everything that, with the model and the prompt, determines a run and what is recorded of it.

    Meaning and bounds of each field stand in `FIELDS`; a value outside them raises `SettingsError` here, so that
    settings which exist are within bounds. A whole number that arrives as a float (a slider's 8.0) becomes an int.
    """

    predictor: Predictor = "ancestral"
    context: Context = "causal"
    corrector: Corrector = "none"
    block_size: int = 16
    steps: int = 8
    temperature: float = 1.0
    order: Order = "confidence"
    reveal: Reveal = "linear"
    counting: Counting = "ceil"
    threshold: float = 0.9
    warmup: int = 0
    every: int = 1
    seams: Seams = "none"
    overlap: int = 4
    seam_width: int = 2
    seam_steps: int = 2
    ar_prefix: int = 0
    schedule: ScheduleChoice = "model"
    length: int | None = None
    fill_canvas: bool = False
    forbid_end: bool = False
    use_cache: bool = True
    seed: int = 0
    record_attention: Recording = "none"
    attention_layer: int = 0

    def __post_init__(self) -> None:
        for name in FIELDS:
            object.__setattr__(self, name, coerce(name, getattr(self, name)))
        if self.predictor != "ancestral" and self.corrector != "none":
            has = {
                "autoregressive": "the autoregressive predictor, which has",
                "confident": "confident reveal, which draws",
                "threshold": "threshold reveal, which draws",
            }[self.predictor]
            raise SettingsError("corrector", self.corrector, f"none with {has} no proposal to correct")

    @property
    def caches(self) -> bool:
        """Whether keys and values of finished blocks are kept: only a past that does not change can be cached.

        `use_cache` decides where it has a meaning (`APPLIES`). Elsewhere what is written left to right has such a past.
        """
        return self.use_cache if self.context == "causal" else self.predictor == "autoregressive"

    @property
    def sees_canvas(self) -> bool:
        """Whether the network reads the whole canvas, while only a block of it may be written."""
        return self.predictor != "autoregressive" and self.context == "bidirectional"

    @property
    def widest(self) -> int | None:
        """Positions of the widest window that is written at once; None for the whole canvas."""
        if self.predictor == "autoregressive":
            return 1
        if self.context == "canvas":
            return None
        return self.block_size + (self.seam_width if self.seams == "renoise" else 0)

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain JSON values, every field present."""
        return asdict(self)

    def in_file(self) -> dict[str, Any]:
        """The settings as a trace holds them: without the later fields if all of these are at their defaults."""
        values = asdict(self)
        if any(values[name] != FIELDS[name].default for name in _LATER):
            return values
        return {name: value for name, value in values.items() if name not in _LATER}


_LATER = frozenset(
    (
        *(
            "context",
            "order",
            "reveal",
            "counting",
            "threshold",
            "seams",
            "overlap",
            "seam_width",
            "seam_steps",
        ),
        "forbid_end",
    )
)
"""Fields that came after format 2 of traces. A file leaves them out where none is used, so that the same run has the
same bytes, and the same hash, whichever version wrote it."""


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


def refused_on(preset: Preset, process: str) -> str:
    """Why a model of this noise process cannot run a preset, as one sentence; "" where it can."""
    try:
        validate(from_preset(preset.name), MAX_LENGTH, True, process)
    except SettingsError as error:
        return str(error)
    return ""


_DIFFUSION = ("ancestral", "confident", "threshold")
_IN_BLOCKS: dict[str, tuple[str, ...]] = {"predictor": _DIFFUSION, "context": ("causal", "bidirectional")}
_CORRECTED = tuple(name for name in get_args(Corrector) if name != "none")

APPLIES: dict[str, dict[str, tuple[str, ...]]] = {
    "context": {"predictor": _DIFFUSION},
    "corrector": {"predictor": ("ancestral",)},
    "block_size": _IN_BLOCKS,
    "steps": {"predictor": ("ancestral", "confident")},
    "order": {"predictor": ("confident",)},
    "reveal": {"predictor": ("confident",)},
    "counting": {"predictor": ("confident",)},
    "threshold": {"predictor": ("threshold",)},
    "warmup": {"predictor": ("ancestral",), "corrector": _CORRECTED},
    "every": {"predictor": ("ancestral",), "corrector": _CORRECTED},
    "seams": _IN_BLOCKS,
    "overlap": {**_IN_BLOCKS, "seams": ("overlap",)},
    "seam_width": {**_IN_BLOCKS, "seams": ("renoise",)},
    "seam_steps": {
        "predictor": ("ancestral", "confident"),
        "context": _IN_BLOCKS["context"],
        "seams": ("renoise",),
    },
    "ar_prefix": {"predictor": _DIFFUSION, "context": ("causal",)},
    "schedule": {"predictor": ("ancestral",)},
    "use_cache": {"predictor": get_args(Predictor), "context": ("causal",)},
    "attention_layer": {"record_attention": ("mean", "heads")},
}
"""Where a field has a meaning: the values that other settings must have. A field without an entry always has."""


def applies(field_name: str, settings: SamplerSettings) -> bool:
    """Whether a field changes the run under these settings; the page shows only those that do."""
    if field_name not in FIELDS:
        raise SettingsError(field_name, None, "a setting named " + ", ".join(FIELDS))
    return all(getattr(settings, name) in values for name, values in APPLIES.get(field_name, {}).items())


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
    if applies("ar_prefix", settings) and settings.ar_prefix > canvas:
        raise SettingsError("ar_prefix", settings.ar_prefix, f"at most {canvas}, the length of the canvas")
    _validate_seams(settings, x0_causal)
    if process == "uniform":
        _validate_uniform(settings)
    if x0_causal:
        return
    if settings.corrector in AR_SCORES:
        free = ", ".join(name for name in get_args(Corrector) if name not in AR_SCORES)
        raise SettingsError("corrector", settings.corrector, f"{free}, because {_BLOCK_CAUSAL}")
    if settings.ar_prefix > 0 and applies("ar_prefix", settings):
        raise SettingsError("ar_prefix", settings.ar_prefix, f"0, because {_BLOCK_CAUSAL}")


_BLOCK_CAUSAL = (
    "this model's clean stream sees whole blocks at once (x0_causal is false), so that reading a block "
    "left to right would not agree with its KV cache"
)


def _validate_seams(settings: SamplerSettings, x0_causal: bool) -> None:
    """Seams must leave something of a block; a block-causal clean stream has no context that ends inside one."""
    size = settings.block_size
    if applies("overlap", settings) and settings.overlap >= size:
        raise SettingsError("overlap", settings.overlap, f"less than the block size, {size}")
    if applies("seam_width", settings) and settings.seam_width > size:
        raise SettingsError("seam_width", settings.seam_width, f"at most the block size, {size}")
    if (
        settings.seams != "none"
        and applies("seams", settings)
        and settings.context == "causal"
        and not x0_causal
    ):
        raise SettingsError(
            "seams",
            settings.seams,
            "none, because this model's clean stream sees whole blocks at once (x0_causal is false), and what is "
            "written across a boundary begins inside one",
        )


def _validate_uniform(settings: SamplerSettings) -> None:
    """What asks which positions are still noise needs noise that can be told from text."""
    if settings.predictor in ("confident", "threshold"):
        raise SettingsError(
            "predictor",
            settings.predictor,
            "ancestral or autoregressive on uniform noise, whose tokens look like any others: the network cannot see "
            "which positions are still to be revealed",
        )
    if settings.context == "bidirectional" and applies("context", settings):
        raise SettingsError(
            "context",
            settings.context,
            "causal or canvas on uniform noise: the blocks still to come would be random tokens that read like text",
        )
