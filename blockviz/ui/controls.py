"""What the forms of the page offer, as plain data for assets/forms.js, and reading what they send back.

Labels, help, bounds and choices come from `blockviz.sampling.settings` alone: a new field, score or preset
appears on the page by being added there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from blockviz.evaluation.tasks import PagePrompt, Task
from blockviz.sampling.passes import End, Header, Pass
from blockviz.sampling.settings import (
    APPLIES,
    FIELDS,
    PRESETS,
    Field,
    Preset,
    SamplerSettings,
    SettingsError,
    from_preset,
    parse,
    refused_on,
)
from blockviz.ui.compare_words import COMPARE
from blockviz.ui.ready import ready_made
from blockviz.ui.shelf import Offer
from blockviz.ui.wording import (
    EXAMPLE_STATUS,
    FORM,
    NO_SUCH_FORM,
    PROMPT_TOO_LONG,
    TASKS,
    UNKNOWN_MODEL,
    no_models,
)

if TYPE_CHECKING:
    from blockviz.models.checkpoint import Model
    from blockviz.sampling.recorder import Checker

MAIN_FIELDS = ("block_size", "steps", "temperature")
"""Settings that stand in the open; the others wait behind one line."""
CHOSEN_ELSEWHERE = ("predictor", "seed")
"""The preset chooses the predictor; the seed has a place of its own."""
SLIDERS = ("block_size", "steps")
MAX_PROMPT = 4000
SIDES = "abcd"
"""The sides of Compare; the first two are always there."""
DEFAULT_PRESET = "arpc"
PROCESS_WORDS = {"masked": "masked noise", "uniform": "uniform noise"}


@dataclass(frozen=True)
class Choices:
    """What the forms can offer: models, example prompts, and the folder's name for when there are no models.

    `settings` are those of the example run that plays when a task is turned to.
    """

    models: Sequence[Offer]
    prompts: Sequence[PagePrompt]
    folder: str
    settings: Mapping[Task, SamplerSettings] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """One run as asked for: the model's name, the prompt and the settings, seed included."""

    model: str
    prompt: str
    settings: SamplerSettings
    unknown_model: str = UNKNOWN_MODEL

    def begin(
        self, model: Model, checker: Checker | None, should_stop: Callable[[], bool]
    ) -> Generator[Header | Pass | End, None, None]:
        """The events of the run; raises `SettingsError` or `UnknownText` before the first of them."""
        from blockviz.sampling.run import stream

        return stream(model, self.prompt, self.settings, checker=checker, should_stop=should_stop)


class FormError(ValueError):
    """Something in a form that cannot be used: `field` names where it was entered, the message is one sentence."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


def explore_spec(choices: Choices, example: Header | None) -> str:
    """The Explore form as JSON; it starts as the recorded `example` run was asked for, so that both agree."""
    side = _initial(choices, example, "masked")
    return json.dumps({**_spec(choices, example), "initial": side})


def compare_spec(choices: Choices, examples: tuple[Header | None, Header | None]) -> str:
    """The Compare form as JSON: as the recorded runs, else ARPC on a masked model beside ARPC on a uniform one."""
    sides = {
        name: _initial(choices, example, process)
        for name, example, process in zip("ab", examples, ("masked", "uniform"), strict=True)
    }
    spec = _spec(choices, examples[0])
    return json.dumps(
        {
            **spec,
            "sides": sides,
            "predictor": _field(FIELDS["predictor"]),
            "ready": ready_made(choices.models),
            "words": {**spec["words"], **COMPARE},
        }
    )


def read_explore(data: object) -> Request:
    """The run that the Explore form asks for; raises `FormError` or `SettingsError`."""
    form = _mapping(data)
    return _request(form, form)


def read_compare(data: object) -> dict[str, Request]:
    """The two to four runs that Compare asks for, by side; raises `FormError` with the side before the field's name."""
    form = _mapping(data)
    requests = {}
    for side in SIDES:
        if side in SIDES[2:] and side not in form:
            break
        try:
            requests[side] = _request(form, _mapping(form.get(side)))
        except SettingsError as error:
            raise on_side(side, error.field, str(error)) from None
        except FormError as error:
            raise on_side(side, error.field, str(error)) from None
    return requests


def on_side(side: str, field: str, message: str) -> FormError:
    """The error at its place in Compare: the prompt is shared, the rest belongs to a side."""
    return FormError(field if field == "prompt" else f"{side}.{field}", message)


def _request(form: Mapping[str, Any], config: Mapping[str, Any]) -> Request:
    prompt, model = form.get("prompt"), config.get("model")
    if not isinstance(model, str) or not model:
        raise FormError("model", UNKNOWN_MODEL)
    if not isinstance(prompt, str):
        raise FormError("prompt", NO_SUCH_FORM)
    if len(prompt) > MAX_PROMPT:
        raise FormError("prompt", PROMPT_TOO_LONG.format(length=len(prompt), limit=MAX_PROMPT))
    # A seed of a run's own, which only Compare has, stands among its settings.
    return Request(model, prompt, parse({"seed": form.get("seed"), **_mapping(config.get("settings"))}))


def _mapping(data: object) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise FormError("", NO_SUCH_FORM)
    return data


def _initial(choices: Choices, example: Header | None, process: str) -> dict[str, Any]:
    """Model and settings a form starts with: those of the example where its model is there, else ARPC on `process`."""
    settings = from_preset(DEFAULT_PRESET) if example is None else example.settings
    names = [offer.name for offer in choices.models]
    if example is not None and example.model.name in names:
        model = example.model.name
    else:
        fitting = [offer.name for offer in choices.models if offer.process == process]
        model = next(iter(fitting + names), "")
    return {"model": model, "settings": settings.to_dict()}


def _spec(choices: Choices, example: Header | None) -> dict[str, Any]:
    seed = FIELDS["seed"]
    return {
        "models": [_model(offer) for offer in choices.models],
        "presets": [_preset(preset) for preset in PRESETS.values()],
        "fields": [_field(field) for name, field in FIELDS.items() if name not in CHOSEN_ELSEWHERE],
        "predictors": [choice.value for choice in FIELDS["predictor"].choices],
        "applies": APPLIES,
        "tasks": _tasks(choices),
        "examples": [
            {"task": one.task, "label": one.label.lower(), "text": one.prompt, "preset": one.preset}
            for one in choices.prompts
        ],
        "prompt": example.prompt if example else choices.prompts[0].prompt if choices.prompts else "",
        "seed": {
            "label": seed.label,
            "help": seed.help,
            "value": example.settings.seed if example else seed.default,
            "maximum": seed.maximum,
        },
        "words": {
            **FORM,
            "no_models_help": no_models(choices.folder),
            "first": EXAMPLE_STATUS if example else "",
        },
    }


def _tasks(choices: Choices) -> list[dict[str, Any]]:
    """The tasks to choose from, with label, help and their example's settings: none where the models have no two."""
    there = [name for name in TASKS if any(offer.task == name for offer in choices.models)]
    settings: dict[str, dict[str, Any]] = {name: one.to_dict() for name, one in choices.settings.items()}
    return [{"name": name, **TASKS[name], "settings": settings.get(name)} for name in there if len(there) > 1]


def _model(offer: Offer) -> dict[str, Any]:
    facts = [PROCESS_WORDS.get(offer.process or "", "")]
    if offer.parameters:
        facts.append(f"{offer.parameters / 1e6:.1f} M")
    if offer.length:
        facts.append(f"{offer.length} tokens")
    return {
        "name": offer.name,
        "label": offer.name,
        "help": " · ".join(fact for fact in facts if fact),
        "process": offer.process,
        "task": offer.task,
        "length": offer.length,
        "layers": offer.layers,
        "heads": offer.heads,
    }


def _preset(preset: Preset) -> dict[str, Any]:
    """A preset with a short name for its segment: what stands in parentheses, or the first word of the label."""
    inner = re.search(r"\(([^)]+)\)", preset.label)
    short = inner.group(1) if inner else preset.label.split()[0]
    if "-" in short:
        short = preset.name.upper()
    return {
        "name": preset.name,
        "label": preset.label,
        "short": short,
        "help": preset.help,
        "fixed": preset.fixed,
        "refused": {process: words for process in PROCESS_WORDS if (words := refused_on(preset, process))},
    }


def _field(field: Field) -> dict[str, Any]:
    return {
        **asdict(field),
        "main": field.name in MAIN_FIELDS,
        "slider": field.name in SLIDERS,
    }
