"""Comparisons that one click sets up and runs, made of the models that are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from blockviz.sampling.settings import PRESETS
from blockviz.ui.compare_words import COMPARE
from blockviz.ui.shelf import Offer


@dataclass(frozen=True)
class Ready:
    """A comparison: `runs` say for each run from the left its noise process ("" for any model) and its settings."""

    name: str
    label: str
    help: str
    runs: tuple[tuple[str, dict[str, Any]], ...]


def _preset(name: str, **more: Any) -> dict[str, Any]:
    return {**PRESETS[name].fixed, **more}


READY: tuple[Ready, ...] = (
    Ready(
        "noise-2",
        "masked | uniform, 2 steps",
        "Plain block diffusion with few steps: a masked token stays as it was first drawn, a uniform one may change.",
        (("masked", _preset("ancestral", steps=2)), ("uniform", _preset("ancestral", steps=2))),
    ),
    Ready(
        "noise-16",
        "masked | uniform, 16 steps",
        "The same with as many steps as a block has tokens: what more steps do for each kind of noise.",
        (("masked", _preset("ancestral", steps=16)), ("uniform", _preset("ancestral", steps=16))),
    ),
    Ready(
        "noise-2-16",
        "masked | uniform, 2 and 16",
        "Masked and uniform noise at 2 and at 16 steps: four runs.",
        tuple(
            (process, _preset("ancestral", steps=steps))
            for steps in (2, 16)
            for process in ("masked", "uniform")
        ),
    ),
    Ready(
        "corrector",
        "ancestral | ARPC",
        "What reading each proposal left to right, and re-noising what surprises, changes.",
        (("", _preset("ancestral")), ("", _preset("arpc"))),
    ),
    Ready(
        "informed",
        "ARPC | random corrector",
        "The same number of tokens is re-noised: by the AR score, or drawn at random.",
        (("", _preset("arpc")), ("", _preset("random"))),
    ),
    Ready(
        "blocks",
        "block size 4 | 32",
        "Small blocks see more finished text, large ones write more at once. As many steps a token: 4 and 32 a block.",
        (
            ("", _preset("ancestral", block_size=4, steps=4)),
            ("", _preset("ancestral", block_size=32, steps=32)),
        ),
    ),
    Ready(
        "cache",
        "cache on | off",
        "The same tokens in a different time: without the KV cache every call reads the whole text again.",
        (("", _preset("arpc", use_cache=True)), ("", _preset("arpc", use_cache=False))),
    ),
)


def ready_made(models: Sequence[Offer]) -> list[dict[str, Any]]:
    """`READY` for the page: name, label, help and the runs with model and settings; `runs` is empty, and the help says
    why, where a model is missing."""
    return [_filled(ready, models) for ready in READY]


def _filled(ready: Ready, models: Sequence[Offer]) -> dict[str, Any]:
    runs: list[dict[str, Any]] = []
    text = ready.help
    for process, settings in ready.runs:
        fitting = [offer.name for offer in models if process in ("", offer.process)]
        if not fitting:
            text = COMPARE["missing"].format(process=process or "any")
            runs = []
            break
        runs.append({"model": fitting[0], "settings": settings})
    return {"name": ready.name, "label": ready.label, "help": text, "runs": runs}
