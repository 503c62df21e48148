"""Stories made up by rule, for tests of everything that learns from running text."""

from __future__ import annotations

import random

NAMES = ("Mia", "Tom", "Ben", "Lily", "Max")
THINGS = ("ball", "cake", "tree", "boat", "hat")
PLACES = ("park", "house", "garden", "shop")


def stories(count: int, seed: int = 0) -> list[str]:
    """`count` different little stories of two to twelve sentences."""
    rng = random.Random(seed)
    texts = []
    for number in range(count):
        name, thing = rng.choice(NAMES), rng.choice(THINGS)
        lines = [f"Once upon a time, {name} had {number} {thing}s."]
        for _ in range(rng.randint(1, 11)):
            lines.append(
                rng.choice(
                    (
                        f"{name} went to the {rng.choice(PLACES)}.",
                        f'"Look at my {thing}!" said {name}.',
                        f"The {thing} was in the {rng.choice(PLACES)}.\n{name} was happy.",
                    )
                )
            )
        texts.append(" ".join(lines))
    return texts
