"""The page's colours for pictures: read from its own style, so that a picture cannot differ from the page."""

from __future__ import annotations

import re

from blockviz.views.bundle import style
from blockviz.views.palette import Theme

RGB = tuple[int, int, int]

_BLOCK = re.compile(r"^body(?P<dark>\.dark)? \{(?P<body>[^}]*)\}", re.MULTILINE)
_COLOR = re.compile(r"--bv-(?P<name>[a-z-]+): (?P<color>#[0-9a-f]{6});")
# On the light accent ground the accent itself would be too pale for text.
_ACCENT_TEXT: dict[Theme, str] = {"light": "#005f96", "dark": "#56b4e9"}


def colors(theme: Theme) -> dict[str, RGB]:
    """The variables `--bv-NAME` of the page's style that are plain colours, by NAME, and the mixtures of them."""
    found: dict[str, RGB] = {}
    for block in _BLOCK.finditer(style().decode()):
        if block["dark"] and theme != "dark":
            continue
        found |= {match["name"]: rgb(match["color"]) for match in _COLOR.finditer(block["body"])}
    return found | {
        "accent-text": rgb(_ACCENT_TEXT[theme]),
        "commit-bg": mixed(found["checked"], found["card"], 0.07),
        "commit-chip": mixed(found["checked"], found["card"], 0.13),
        "renoise-line": mixed(found["renoise"], found["renoise-bg"], 0.45),
        "tick": mixed(found["muted"], found["card"], 0.65),
    }


def rgb(color: str) -> RGB:
    """A colour like #0072b2 as red, green and blue from 0 to 255."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def mixed(over: RGB, under: RGB, share: float) -> RGB:
    """`share` of one colour over the rest of another."""
    red, green, blue = (round(a * share + b * (1 - share)) for a, b in zip(over, under, strict=True))
    return red, green, blue


def gif_palette(theme: Theme) -> list[int]:
    """256 colours (768 numbers) for the frames of a theme: each of `colors`, and steps from every ink to its ground.

    A fixed palette keeps the page's colours exact and every frame alike; text edges take the steps between.
    """
    c = colors(theme)
    grounds = {
        "card": (
            *("ink", "muted", "prompt", "unopened", "faint", "noise-ink", "line"),
            *("accent", "accent-text", "renoise", "checked", "wrong"),
        ),
        "prompt-bg": ("prompt", "ink"),
        "accent": ("accent-ink",),
        "accent-bg": ("ink", "accent", "muted", "noise-ink", "unopened"),
        "renoise-bg": ("renoise-ink", "renoise"),
        "renoise-ink": ("badge-ink",),
        "hatch-bg": ("noise-ink",),
        "hatch": ("noise-ink",),
        "commit-bg": ("ink", "checked"),
        "commit-chip": ("checked",),
        "verify-bg": ("verify",),
        "edit-bg": ("edit",),
    }
    pairs = [(c[ink], c[ground]) for ground, inks in grounds.items() for ink in inks]
    exact = list(dict.fromkeys(c.values()))
    steps = (256 - len(exact)) // len(pairs)
    between = [mixed(ink, ground, (step + 1) / (steps + 1)) for ink, ground in pairs for step in range(steps)]
    entries = list(dict.fromkeys([*exact, *between]))[:256]
    entries += [entries[0]] * (256 - len(entries))
    return [channel for entry in entries for channel in entry]
