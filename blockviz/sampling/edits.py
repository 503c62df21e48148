"""What a person changes in a run between two passes, and what makes a run a fork. Knows no torch.

An edit comes after a pass: it re-noises positions, forces tokens, freezes positions or releases them, and changes
settings. The run that goes on from there is a fork; its trace holds the passes of its parent up to that one, then a
pass of phase `edit`, then its own. `forks.py` says what each edit means for the sampler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from blockviz.sampling.settings import SamplerSettings, SettingsError, coerce

CHANGEABLE = (
    *(
        "temperature",
        "corrector",
        "warmup",
        "every",
        "steps",
        "schedule",
        "order",
        "reveal",
        "counting",
        "threshold",
    ),
    *("fill_canvas", "seed"),
)
"""Settings that may change within a run. All others last: its rows, its windows and its records follow from them."""


class EditError(ValueError):
    """An edit that cannot be made, or a run that cannot go on; the message is one sentence with the reason."""


@dataclass(frozen=True)
class Edit:
    """What is changed after pass `at`; positions count from 0 and are kept in order, each once.

    `force` pairs positions with token ids (a mapping is taken as well); `settings` are those that change, by name, the
    seed included. Raises `EditError` where it contradicts itself, `SettingsError` for a value no field allows.
    """

    at: int
    renoise: tuple[int, ...] = ()
    force: tuple[tuple[int, int], ...] = ()
    freeze: tuple[int, ...] = ()
    release: tuple[int, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name in ("renoise", "freeze", "release"):
            put(self, name, tuple(sorted({int(position) for position in getattr(self, name)})))
        put(self, "force", tuple(sorted((int(p), int(token)) for p, token in dict(self.force).items())))
        put(self, "settings", {name: _value(name, value) for name, value in self.settings.items()})
        if self.at < 0 or any(position < 0 for position in self.positions):
            raise EditError("Passes and positions are never negative.")
        forced = {position for position, _ in self.force}
        for first, second, words in (
            (set(self.renoise), forced, "re-noised and forced to a token"),
            (set(self.renoise), set(self.freeze), "re-noised and frozen"),
            (set(self.release), set(self.freeze), "frozen and released"),
        ):
            if first & second:
                raise EditError(f"{named(first & second)} cannot be {words} at once.")

    @property
    def positions(self) -> tuple[int, ...]:
        """Every position that the edit names, in order."""
        forced = {position for position, _ in self.force}
        return tuple(sorted({*self.renoise, *self.freeze, *self.release, *forced}))

    @property
    def empty(self) -> bool:
        """Whether nothing is changed: the run then goes on as it would have."""
        return not self.positions and not self.settings

    def settings_after(self, before: SamplerSettings) -> SamplerSettings:
        """The settings in force after this edit. Raises `SettingsError` for one that lasts for the whole run.

        Before the first pass of the network (pass 0) all may change but the length of the canvas.
        """
        for name, value in self.settings.items():
            free = name != "length" if self.at == 0 else name in CHANGEABLE
            if not free and value != getattr(before, name):
                when = "" if name == "length" else " from pass 1 on"
                raise SettingsError(name, value, f"{getattr(before, name)}, because a run keeps it{when}")
        return replace(before, **self.settings)

    def to_dict(self) -> dict[str, Any]:
        """The edit as plain JSON data; what is not changed is left out."""
        body: dict[str, Any] = {"at": self.at}
        for name in ("renoise", "freeze", "release"):
            if getattr(self, name):
                body[name] = list(getattr(self, name))
        if self.force:
            body["force"] = [list(pair) for pair in self.force]
        if self.settings:
            body["settings"] = dict(self.settings)
        return body


@dataclass(frozen=True)
class Fork:
    """Where a run forks off: the run id and content hash of its parent, and every edit that led to it.

    `edits` are its own, which is the last, and those its parent was made with, in the order of their passes; `origin`
    are the settings before the first of them. `rebuilt` counts network calls made to have the state of the parent again
    (its KV cache, and the prediction of a step that was stepped into); no pass counts them.
    """

    parent: str
    parent_hash: str
    origin: SamplerSettings
    edits: tuple[Edit, ...]
    rebuilt: int

    @property
    def at(self) -> int:
        """The last pass that is the parent's; the next one is the edit."""
        return self.edits[-1].at

    def settings(self, count: int | None = None) -> SamplerSettings:
        """The settings in force after the first `count` edits, or after all."""
        settings = self.origin
        for edit in self.edits[:count]:
            settings = edit.settings_after(settings)
        return settings

    def before(self, at: int) -> tuple[Edit, ...]:
        """The edits that a pass `at` of this run already comes after."""
        return tuple(edit for edit in self.edits if edit.at < at)


def named(positions: set[int] | tuple[int, ...]) -> str:
    """Positions as people count them, from 1: "Position 3" or "Positions 3, 4 and 9"."""
    numbers = [str(position + 1) for position in sorted(positions)]
    if len(numbers) == 1:
        return f"Position {numbers[0]}"
    shown = numbers if len(numbers) <= 8 else [*numbers[:7], f"{len(numbers) - 7} more"]
    return f"Positions {', '.join(shown[:-1])} and {shown[-1]}"


def _value(name: str, value: object) -> Any:
    try:
        return coerce(name, value)
    except KeyError:
        raise SettingsError(str(name), value, "the name of a setting") from None
