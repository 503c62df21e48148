"""The fields of a sampler's settings: their words, bounds and defaults, and what each accepts. Knows no torch.

Only `settings.py` and its users read this module; import the names from there.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any, Literal

from blockviz.sampling import setting_choices as choices
from blockviz.sampling.setting_choices import Choice

Kind = Literal["int", "float", "bool", "choice"]

MAX_LENGTH = 4096
MAX_STEPS = 256
MAX_LAYERS = 256
LOWEST_POSITIVE_TEMPERATURE = 0.01


class SettingsError(ValueError):
    """A setting that cannot be used; the message is one sentence naming the field, the value and what is allowed.

    `told` stands for "field cannot be value" where other words read better.
    """

    def __init__(self, field: str, value: object, allowed: str, told: str | None = None) -> None:
        self.field = field
        self.value = value
        self.allowed = allowed
        super().__init__(f"{told or f'{field} cannot be {_shown(value)}'}: allowed is {allowed}.")


@dataclass(frozen=True)
class Field:
    """One setting as people see it: its words, its bounds (inclusive) and the step of its slider.

    `default` None means that the value may be left out (the model's own is used).
    """

    name: str
    label: str
    help: str
    kind: Kind
    default: Any
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    choices: tuple[Choice, ...] = ()

    @property
    def optional(self) -> bool:
        """Whether None is a value of this field."""
        return self.default is None

    @property
    def allowed(self) -> str:
        """What the field accepts, in words, as error messages and help texts say it."""
        if self.kind == "choice":
            return "one of " + ", ".join(choice.value for choice in self.choices)
        if self.kind == "bool":
            return "true or false"
        noun = "a whole number" if self.kind == "int" else "a number"
        words = f"{noun} from {self.minimum:g} to {_number(self.maximum)}"
        if self.name == "temperature":
            words = f"0, or {noun} from {LOWEST_POSITIVE_TEMPERATURE:g} to {_number(self.maximum)}"
        return words + (", or nothing for the model's own" if self.optional else "")


FIELDS: dict[str, Field] = {
    field.name: field
    for field in (
        Field(
            "predictor",
            "Predictor",
            "How noise becomes text.",
            "choice",
            "ancestral",
            choices=choices.PREDICTORS,
        ),
        Field(
            "context",
            "What a block sees",
            "Which tokens the network reads while it writes a block.",
            "choice",
            "causal",
            choices=choices.CONTEXTS,
        ),
        Field(
            "corrector",
            "Corrector",
            "Which tokens of a proposal are turned back into noise: those with the worst score.",
            "choice",
            "none",
            choices=choices.CORRECTORS,
        ),
        Field(
            "block_size",
            "Block size",
            "Tokens written together; 1 is left to right, the canvas length is one big block.",
            "int",
            16,
            1,
            MAX_LENGTH,
            1,
        ),
        Field(
            "steps",
            "Steps per block",
            "Denoising steps for each block; more steps are slower and usually better.",
            "int",
            8,
            1,
            MAX_STEPS,
            1,
        ),
        Field(
            "temperature",
            "Temperature",
            "How freely tokens are drawn: 1 as the model predicts, lower is more cautious, "
            "0 always takes the likeliest.",
            "float",
            1.0,
            0.0,
            2.0,
            0.05,
        ),
        Field(
            "order",
            "Reveal first",
            "Which masked positions are revealed before the others.",
            "choice",
            "confidence",
            choices=choices.ORDERS,
        ),
        Field(
            "reveal",
            "Reveal schedule",
            "How the number of revealed positions grows over the steps of a block.",
            "choice",
            "linear",
            choices=choices.REVEALS,
        ),
        Field(
            "counting",
            "Rounding",
            "How a step's share of the positions becomes a whole number; a step that reveals none is skipped.",
            "choice",
            "ceil",
            choices=choices.COUNTINGS,
        ),
        Field(
            "threshold",
            "Threshold",
            "Probability that a drawn token needs to be revealed at once.",
            "float",
            0.9,
            0.0,
            1.0,
            0.01,
        ),
        Field(
            "warmup",
            "Warm-up steps",
            "Steps at the start of each block that run without the corrector.",
            "int",
            0,
            0,
            MAX_STEPS,
            1,
        ),
        Field(
            "every",
            "Correct every",
            "Use the corrector at every n-th step after the warm-up (never at the last step).",
            "int",
            1,
            1,
            MAX_STEPS,
            1,
        ),
        Field(
            "seams",
            "Seams",
            "What happens where two blocks meet, so that they do not only fit themselves.",
            "choice",
            "none",
            choices=choices.SEAMS,
        ),
        Field(
            "overlap",
            "Overlap",
            "Tokens that two neighbouring blocks share; the window moves on by the block size less these.",
            "int",
            4,
            1,
            MAX_LENGTH,
            1,
        ),
        Field(
            "seam_width",
            "Seam width",
            "Tokens on each side of a boundary that are written again.",
            "int",
            2,
            1,
            MAX_LENGTH,
            1,
        ),
        Field(
            "seam_steps",
            "Seam steps",
            "Denoising steps for each boundary that is written again.",
            "int",
            2,
            1,
            MAX_STEPS,
            1,
        ),
        Field(
            "ar_prefix",
            "AR prefix",
            "Tokens written left to right before the first block.",
            "int",
            0,
            0,
            MAX_LENGTH,
            1,
        ),
        Field(
            "schedule",
            "Noise schedule",
            "How the share of clean tokens grows over the steps of a block.",
            "choice",
            "model",
            choices=choices.SCHEDULES,
        ),
        Field(
            "length",
            "Canvas length",
            "Positions on the canvas, prompt included; empty for the model's own length.",
            "int",
            None,
            1,
            MAX_LENGTH,
            1,
        ),
        Field(
            "fill_canvas",
            "Fill the canvas",
            "Keep writing to the last position instead of stopping with the block that contains the end token.",
            "bool",
            False,
        ),
        Field(
            "forbid_end",
            "Never end",
            "The end token is never written, so that the text goes on to the end of the canvas.",
            "bool",
            False,
        ),
        Field(
            "use_cache",
            "KV cache",
            "Keep the keys and values of finished blocks; off recomputes them in every pass: same text, slower.",
            "bool",
            True,
        ),
        Field(
            "seed",
            "Seed",
            "The same seed, settings and prompt give the same run.",
            "int",
            0,
            0,
            2**31 - 1,
            1,
        ),
        Field(
            "record_attention",
            "Record attention",
            "Keeps the attention weights of the active block in one layer, without changing a token: one byte per "
            "query and key in every network call, times the heads where each is kept.",
            "choice",
            "none",
            choices=choices.RECORDINGS,
        ),
        Field(
            "attention_layer",
            "Attention layer",
            "The layer whose attention is recorded, counted from 1; 0 is the last one.",
            "int",
            0,
            0,
            MAX_LAYERS,
            1,
        ),
    )
}


def coerce(name: str, value: object) -> Any:
    """The value of field `name` as its own type; raises `SettingsError` for another type or out of bounds."""
    field = FIELDS[name]
    if value is None and field.optional:
        return None
    if field.kind == "choice":
        if isinstance(value, str) and any(choice.value == value for choice in field.choices):
            return value
    elif field.kind == "bool":
        if isinstance(value, bool) or type(value).__name__ == "bool":  # numpy's bool is no subclass of bool
            return bool(value)
    elif type(value) is not bool and isinstance(value, numbers.Real):
        try:
            number = int(value) if isinstance(value, numbers.Integral) else float(value)
        except OverflowError:
            number = math.inf
        if _within(field, number):
            return int(number) if field.kind == "int" else float(number)
    raise SettingsError(name, value, field.allowed)


def from_text(name: str, text: str) -> Any:
    """The value of field `name` written as text (a command line flag, a link); raises `SettingsError`."""
    if name not in FIELDS:
        raise SettingsError(name, text, "one of " + ", ".join(FIELDS))
    field, word = FIELDS[name], text.strip()
    if field.optional and word.lower() in ("", "none", "null"):
        return None
    if field.kind == "choice":
        return coerce(name, word)
    if field.kind == "bool":
        words = {
            "true": True,
            "1": True,
            "yes": True,
            "on": True,
            "false": False,
            "0": False,
            "no": False,
            "off": False,
        }
        return coerce(name, words.get(word.lower(), text))
    try:
        return coerce(name, float(word) if len(word) <= 64 else word)
    except ValueError:
        raise SettingsError(name, text, field.allowed) from None


def _within(field: Field, number: float) -> bool:
    if isinstance(number, float) and (
        not math.isfinite(number) or (field.kind == "int" and number != int(number))
    ):
        return False
    if field.minimum is None or field.maximum is None or not field.minimum <= number <= field.maximum:
        return False
    # Logits divided by a vanishing temperature overflow; zero is a branch of its own (argmax).
    return field.name != "temperature" or number == 0 or number >= LOWEST_POSITIVE_TEMPERATURE


def _number(value: float | None) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shown(value: object) -> str:
    """The value as an error message shows it: short, whatever it is."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return "empty"
    if isinstance(value, float) and math.isnan(value):
        return "something that is no number"
    try:
        text = repr(value)
    except Exception:  # a foreign object's repr may fail in any way, and the message must still be made
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
