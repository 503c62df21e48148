"""Colours that a poor projector, a greyscale print and a colour-blind reader can use."""

from __future__ import annotations

import itertools

import pytest

from blockviz.sampling.trace import STATES
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
