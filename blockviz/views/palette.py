"""The colours of every view and export: one meaning, one colour, in a light and a dark variant (Okabe-Ito).

The state colours keep their order of luminance (noise, drafts, re-noised, new, committed), so that the fill map
can be read in greyscale too; `STATE_LABELS` are the words that legends and hover texts put beside the colour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from blockviz.sampling.trace import STATES

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = get_args(Theme)

SEQUENTIAL = "Cividis"
"""Plotly's name of the scale for probabilities; AR scores never use it."""


@dataclass(frozen=True)
class Palette:
    """Colours (hex) and font stacks (CSS) of one theme; `states`, `kinds` and `phases` in the order of codes.

    `weights` is the scale of attention weights, from nothing to all of it.
    """

    page: str
    card: str
    ink: str
    muted: str
    line: str
    accent: str
    renoise: str
    prompt: str
    prompt_bg: str
    checked: str
    quiet: str
    hover: str
    hover_ink: str
    boundary: str
    states: tuple[str, ...]
    kinds: tuple[str, ...]
    phases: tuple[str, ...]
    weights: tuple[str, ...]
    font: str = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'
    mono: str = 'ui-monospace, Menlo, Consolas, "Noto Sans Mono", "DejaVu Sans Mono", monospace'

    def state(self, name: str) -> str:
        """The colour of a token state by its word; raises ValueError for a word that is no state."""
        return self.states[STATES.index(name)]  # type: ignore[arg-type]


PALETTES: dict[Theme, Palette] = {
    "light": Palette(
        page="#f7f7f5",
        card="#ffffff",
        ink="#1d2129",
        muted="#5f6673",
        line="#e3e4e8",
        accent="#0072b2",
        renoise="#d55e00",
        prompt="#4a5568",
        prompt_bg="#eceff4",
        checked="#00795a",
        quiet="#c5c8cf",
        hover="#1d2129",
        hover_ink="#ffffff",
        boundary="#ffffff",
        states=(
            "#e3e8f0",  # prompt
            "#f7f7f5",  # unopened
            "#d0d3d9",  # noise
            "#56a9de",  # proposed
            "#0072b2",  # revealed
            "#a3c7e0",  # kept
            "#d55e00",  # renoised
            "#4a5568",  # committed
            "#8f96a3",  # after_end
        ),
        kinds=("#ffffff", "#dcdee3", "#cbe2f2", "#4a5568", "#0072b2", "#00795a", "#d55e00"),
        phases=("#8f96a3", "#0072b2", "#3f8fc6", "#9a3f78", "#d55e00", "#00795a", "#8a6a00"),
        weights=("#f1e4ec", "#c77aa6", "#521442"),
    ),
    "dark": Palette(
        page="#14161a",
        card="#1c1f25",
        ink="#e8eaee",
        muted="#9aa2b1",
        line="#2c3038",
        accent="#56b4e9",
        renoise="#f0883e",
        prompt="#aeb8c8",
        prompt_bg="#262b34",
        checked="#3fc59b",
        quiet="#4b515d",
        hover="#e8eaee",
        hover_ink="#14161a",
        boundary="#14161a",
        states=(
            "#2b313b",  # prompt
            "#14161a",  # unopened
            "#434955",  # noise
            "#3a86b8",  # proposed
            "#56b4e9",  # revealed
            "#36566d",  # kept
            "#f0883e",  # renoised
            "#aeb8c8",  # committed
            "#6a7381",  # after_end
        ),
        kinds=("#1c1f25", "#343943", "#23455b", "#aeb8c8", "#56b4e9", "#3fc59b", "#f0883e"),
        phases=("#6a7381", "#56b4e9", "#3a86b8", "#e39cc7", "#f0883e", "#3fc59b", "#e2c044"),
        weights=("#2d222b", "#b0648f", "#fde9f4"),
    ),
}

STATE_LABELS: dict[str, str] = {
    "prompt": "prompt",
    "unopened": "not opened",
    "noise": "noise",
    "proposed": "proposed",
    "revealed": "new this pass",
    "kept": "draft kept",
    "renoised": "re-noised",
    "committed": "committed",
    "after_end": "after the end",
}
