"""The chapters of Learn in their order."""

from __future__ import annotations

from blockviz.ui.learn.chapter import Chapter
from blockviz.ui.learn.chapters import (
    arpc,
    chance,
    dial,
    frozen,
    mask,
    noise,
    reveal,
    seams,
    start,
    steps,
    stories,
)

CHAPTERS: tuple[Chapter, ...] = tuple(
    module.CHAPTER
    for module in (start, reveal, frozen, mask, noise, steps, chance, arpc, dial, seams, stories)
)
