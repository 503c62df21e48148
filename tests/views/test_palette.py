"""Colours that a poor projector, a greyscale print and a colour-blind reader can use."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from blockviz.sampling.trace import PHASES, STATES
from blockviz.views.palette import PALETTES, STATE_LABELS, THEMES, Theme


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_text_has_enough_contrast(theme: Theme) -> None:
    palette = PALETTES[theme]
    for text in (palette.ink, palette.muted):
        assert contrast(text, palette.card) >= 4.5
        assert contrast(text, palette.page) >= 4.5
    assert contrast(palette.hover_ink, palette.hover) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_states_differ_in_luminance(theme: Theme) -> None:
    colors = PALETTES[theme].states
    assert len(colors) == len(STATES) == len(STATE_LABELS)
    by_light = sorted(colors, key=luminance)
    for darker, lighter in itertools.pairwise(by_light):
        assert contrast(darker, lighter) >= 1.09, (darker, lighter)


def test_a_state_is_found_by_its_word() -> None:
    assert PALETTES["light"].state("renoised") == PALETTES["light"].renoise
    assert PALETTES["dark"].state("revealed") == PALETTES["dark"].accent
    with pytest.raises(ValueError, match="tuple"):
        PALETTES["light"].state("asleep")


ASSETS = Path(__file__).resolve().parents[2] / "assets"
SHARED = ("page", "card", "ink", "muted", "line", "accent", "renoise", "prompt", "prompt-bg", "checked")
# Every pair of text and ground that the style sheets use.
TEXT = [
    ("ink", "page"), ("ink", "card"), ("ink", "field"), ("ink", "prompt-bg"), ("ink", "accent-bg"),
    ("muted", "page"), ("muted", "card"), ("muted", "field"), ("muted", "prompt-bg"),
    ("accent", "card"), ("accent-ink", "accent"), ("card", "ink"),
    ("prompt", "prompt-bg"), ("prompt", "card"), ("checked", "card"), ("wrong", "card"),
    ("renoise-ink", "card"), ("renoise-ink", "renoise-bg"), ("badge-ink", "renoise-ink"),
    ("verify", "verify-bg"), ("unopened", "card"), ("noise-ink", "hatch-bg"), ("noise-ink", "hatch"),
]  # fmt: skip
# What is no text but must be told from its ground: thumbs, frames, marks, the edges of fields.
SHAPES = [("accent", "card"), ("renoise", "card"), ("checked", "card"), ("wrong", "card"), ("field-line", "card"),
          ("field-line", "field"), ("ink", "page")]  # fmt: skip


def css(theme: Theme) -> dict[str, str]:
    """The colour variables of a theme as the style sheets set them, without their "--bv-"."""
    found: dict[str, str] = {}
    for block in ("body", "body.dark") if theme == "dark" else ("body",):
        for name in ("theme.css", "player.css"):
            text = (ASSETS / name).read_text()
            body = re.search(rf"^{re.escape(block)} {{(.*?)^}}", text, re.M | re.S)
            assert body is not None, (block, name)
            found |= dict(re.findall(r"--bv-([\w-]+): (#[0-9a-f]{6});", body.group(1)))
    return found


@pytest.mark.parametrize("theme", THEMES)
def test_the_style_sheets_have_the_palettes_colours(theme: Theme) -> None:
    colors, palette = css(theme), PALETTES[theme]
    for name in SHARED:
        assert colors[name] == getattr(palette, name.replace("-", "_")), name
    assert colors["verify"] == palette.phases[PHASES.index("verify")]


@pytest.mark.parametrize("theme", THEMES)
def test_every_pair_of_the_style_sheets_can_be_read(theme: Theme) -> None:
    colors = css(theme)
    poor = {(a, b): round(contrast(colors[a], colors[b]), 2) for a, b in TEXT}
    assert {pair: ratio for pair, ratio in poor.items() if ratio < 4.5} == {}
    poor = {(a, b): round(contrast(colors[a], colors[b]), 2) for a, b in SHAPES}
    assert {pair: ratio for pair, ratio in poor.items() if ratio < 3} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_phases_stand_out_from_the_ground_of_a_plot(theme: Theme) -> None:
    palette = PALETTES[theme]
    for phase, color in zip(PHASES, palette.phases, strict=True):
        assert phase == "start" or contrast(color, palette.page) >= 3, phase
    propose, denoise = (palette.phases[PHASES.index(name)] for name in ("propose", "denoise"))
    assert contrast(propose, denoise) >= 1.3
