"""How varied a text is, by its tokens alone: what stands beside a likelihood, which repetition flatters."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence


def entropy(tokens: Sequence[int]) -> float:
    """Shannon entropy in nats of how often each token occurs in a text; 0 for an empty one."""
    counts = Counter(tokens).values()
    return -sum(count / len(tokens) * math.log(count / len(tokens)) for count in counts) + 0.0


def distinct(tokens: Sequence[int], n: int) -> tuple[int, int]:
    """How many different n-grams of tokens a text has, and how many n-grams there are."""
    grams = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    return len(set(grams)), len(grams)
