"""Reading what stepping in asks for, and beginning the fork. Knows no Gradio, and no torch until a fork begins."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from blockviz.sampling.edits import Edit, EditError
from blockviz.sampling.passes import End, Header, Pass
from blockviz.sampling.settings import SettingsError
from blockviz.sampling.trace import Trace, TraceError
from blockviz.sampling.trace_values import edit_of
from blockviz.ui.controls import MAX_PROMPT, FormError
from blockviz.ui.stepping_words import API_EDIT, NO_MODEL

if TYPE_CHECKING:
    from blockviz.models.checkpoint import Model
    from blockviz.sampling.recorder import Checker


@dataclass(frozen=True)
class ForkRequest:
    """A fork as asked for: `parent` with its lines, the edit, and texts that are still to become forced tokens."""

    parent: Trace
    lines: str
    edit: Edit
    typed: tuple[tuple[int, str], ...] = ()

    @property
    def model(self) -> str:
        """The name of the parent's model."""
        return self.parent.header.model.name

    @property
    def prompt(self) -> str:
        """The parent's prompt."""
        return self.parent.header.prompt

    @property
    def unknown_model(self) -> str:
        """What is said where that model is not offered."""
        return NO_MODEL.format(name=self.model[:80])

    def begin(
        self, model: Model, checker: Checker | None, should_stop: Callable[[], bool]
    ) -> Generator[Header | Pass | End, None, None]:
        """The events of the fork; raises `FormError`, `SettingsError` or `UnknownText` before the first of them."""
        from blockviz.sampling.fork_command import typed
        from blockviz.sampling.forks import resume

        force = dict(self.edit.force)
        try:
            for position, text in self.typed:
                force |= typed(model.tokens, position, text)
            edit = replace(self.edit, force=tuple(force.items()))
            return resume(model, self.parent, edit, checker=checker, should_stop=should_stop)
        except EditError as error:
            raise FormError("edit", str(error)) from None


def read_fork(lines: str, body: object) -> ForkRequest:
    """The fork of the run in `lines` that `body` describes; raises `FormError` for field "edit".

    `body` is an edit as a trace file has it, but that `force` may pair a position with a text as well.
    """
    if not isinstance(body, Mapping):
        raise FormError("edit", API_EDIT)
    plain, texts = dict(body), list[tuple[int, str]]()
    pairs = plain.pop("force", [])
    try:
        parent = Trace.from_lines(lines.splitlines())
        length = parent.header.length
        plain["force"] = [pair for pair in _pairs(pairs) if not isinstance(pair[1], str)]
        edit = edit_of(plain, length)
        for position, text in (pair for pair in _pairs(pairs) if isinstance(pair[1], str)):
            if type(position) is not int or not 0 <= position < length or not text or len(text) > MAX_PROMPT:
                raise FormError("edit", API_EDIT)
            texts.append((position, text))
    except (TraceError, SettingsError) as error:
        raise FormError("edit", str(error)) from None
    return ForkRequest(parent, lines, edit, tuple(texts))


def _pairs(value: Any) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        raise FormError("edit", API_EDIT)
    return value
