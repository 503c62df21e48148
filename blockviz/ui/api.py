"""The named endpoints for programs (gradio_client): the page's runs under the page's bounds; results are traces.

Parameters and their types come from `blockviz.sampling.settings`: a new setting is a parameter of the endpoints, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import wraps
from itertools import count
from typing import Any, Literal

import gradio as gr

from blockviz.sampling.settings import FIELDS, PRESETS, Field, SettingsError, from_preset
from blockviz.ui import api_files
from blockviz.ui.api_files import SentError, read_runs
from blockviz.ui.controls import DEFAULT_PRESET, MAX_PROMPT, FormError, Request
from blockviz.ui.forking import ForkRequest, read_fork
from blockviz.ui.live import LiveRun
from blockviz.ui.runner import Runner, Update
from blockviz.ui.stepping_words import API_FORK
from blockviz.ui.wording import API, COMPARE_COUNT, PROMPT_TOO_LONG

MOST_COMPARED = 4
EXPORTS_AT_ONCE = 2
SESSION = "api"
_TYPES: dict[str, Any] = {"int": int, "float": float, "bool": bool}


class Blocks(gr.Blocks):
    """Gradio's Blocks, but a call with too few values is answered in words (Gradio's own answer is null)."""

    def validate_inputs(self, block_fn: Any, inputs: list[Any]) -> None:
        """Raise gr.Error where fewer values came than the endpoint has parameters."""
        if len(inputs) < len(block_fn.inputs):
            name, count = block_fn.api_name, len(block_fn.inputs)
            raise _refusal(API["too_few"].format(name=name, count=count, given=len(inputs)))


def build(runner: Runner) -> None:
    """Add `/models`, `/generate`, `/generate_stream`, `/compare`, `/fork` and `/export` to the current Blocks."""
    places = count()

    def follow(requests: Mapping[str, Request | ForkRequest]) -> Iterator[Update]:
        for update in runner.updates(SESSION, f"{SESSION} {next(places)}", requests):
            if update.state == "error":
                raise _refusal(update.message or "; ".join(message for _, message in update.errors))
            yield update

    def models() -> list[dict]:
        return [asdict(offer) for offer in runner.shelf.offers()]

    def generate(*values: Any) -> str:
        return _last(follow({"": _asked(values)}))[0]

    def generate_stream(*values: Any) -> Iterator[str]:
        sent = 0
        for update in follow({"": _asked(values)}):
            for run in update.runs.values():
                if len(run.text) > sent:
                    yield run.text[sent:]
                    sent = len(run.text)

    def compare(prompt: str, runs: list[dict], seed: int = 0) -> list[str]:
        return _last(follow(_pair(prompt, runs, seed)))

    def fork(trace: str, edit: dict) -> str:
        return _last(follow({"": _forked(trace, edit)}))[0]

    @wraps(api_files.export)
    def export(*values: Any, **named: Any) -> list[dict]:
        try:
            return api_files.export(*values, **named)
        except SentError as error:
            raise _refusal(str(error)) from None

    options: dict[str, Any] = {"concurrency_limit": None}
    gr.api(models, api_name="models", api_description=API["models"], **options)
    for function, name, returned in (
        (generate, "generate", str),
        (generate_stream, "generate_stream", str),
    ):
        gr.api(_typed(function, returned), api_name=name, api_description=API[name], **options)
    gr.api(compare, api_name="compare", api_description=API["compare"], **options)
    gr.api(fork, api_name="fork", api_description=API_FORK, **options)
    # At most so many at once: a film keeps a core busy for seconds.
    gr.api(export, api_name="export", api_description=API["export"], concurrency_limit=EXPORTS_AT_ONCE)


def parameters() -> dict[str, tuple[Any, Any]]:
    """Type and default of every parameter of `/generate`; a setting left at None is the preset's or the usual one."""
    names: dict[str, tuple[Any, Any]] = {
        "model": (str, inspect.Parameter.empty),
        "prompt": (str, inspect.Parameter.empty),
        "preset": (Literal[tuple(PRESETS)], DEFAULT_PRESET),
    }
    return names | {name: (_type(field) | None, None) for name, field in FIELDS.items()}


def _type(field: Field) -> Any:
    if field.kind == "choice":
        return Literal[tuple(choice.value for choice in field.choices)]
    return _TYPES[field.kind]


def _typed(function: Callable[..., Any], returned: Any) -> Callable[..., Any]:
    """The function with the signature that its values stand for: Gradio reads types and defaults from it."""
    known = parameters()
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature(
        [
            inspect.Parameter(name, kind, default=default, annotation=t)
            for name, (t, default) in known.items()
        ],
        return_annotation=returned,
    )
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {name: t for name, (t, _) in known.items()}
    return function


def _asked(values: tuple[Any, ...]) -> Request:
    return _request(dict(zip(parameters(), values, strict=True)))


def _request(asked: Mapping[str, Any]) -> Request:
    """The run that these parameters ask for; raises gr.Error with the sentence that the page would show."""
    free = {name: value for name, value in asked.items() if name not in ("model", "prompt", "preset")}
    prompt = asked.get("prompt")
    try:
        if not isinstance(prompt, str):
            raise FormError("prompt", API["no_prompt"])
        if len(prompt) > MAX_PROMPT:
            raise FormError("prompt", PROMPT_TOO_LONG.format(length=len(prompt), limit=MAX_PROMPT))
        settings = from_preset(
            asked.get("preset", DEFAULT_PRESET),
            **{name: value for name, value in free.items() if value is not None},
        )
    except (FormError, SettingsError) as error:
        raise _refusal(str(error)) from None
    return Request(str(asked.get("model", "")), prompt, settings)


def _pair(prompt: str, runs: list[dict], seed: int) -> dict[str, Request]:
    if not isinstance(runs, list) or not 2 <= len(runs) <= MOST_COMPARED:
        raise _refusal(COMPARE_COUNT.format(most=MOST_COMPARED))
    if not all(isinstance(run, dict) and "prompt" not in run for run in runs):
        raise _refusal(API["no_run"])
    return {
        side: _request({"seed": seed, **run, "prompt": prompt})
        for side, run in zip("abcd", runs, strict=False)
    }


def _forked(trace: object, edit: object) -> ForkRequest:
    """The fork of a run given as its lines or as a file in base64."""
    try:
        runs = read_runs(trace)
        if len(runs) != 1:
            raise _refusal(API["no_trace"])
        return read_fork("".join(runs[0].to_lines()), edit)
    except (SentError, FormError, SettingsError) as error:
        raise _refusal(str(error)) from None


def _refusal(message: str) -> gr.Error:
    # What a caller got wrong belongs in the answer, not in the server's log.
    return gr.Error(message, print_exception=False)


def _last(updates: Iterator[Update]) -> list[str]:
    runs: Mapping[str, LiveRun] = {}
    for update in updates:
        runs = update.runs or runs
    return [run.text for run in runs.values()]
