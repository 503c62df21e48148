"""Running text as training examples: windows of one canvas, most of them from a text's beginning.

Every epoch takes the texts in a new order and cuts them anew; an example depends on the recipe's seed and its index
alone, so that resuming is exact.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockviz.models.tokens import Tokens
from blockviz.training.batches import Example
from blockviz.training.recipes import Recipe
from blockviz.training.text_source import split_of

VALIDATION_SEED = 1_000_003

# Most canvases begin as a text does, so that a prompt like "Once upon a time" stands where the model knows it; the
# others begin with a sentence, and half of those end as the text ends.
BEGINNING_SHARE = 0.75
SHORTEST_WINDOW = 64
# Some rows keep their first words clean, some a few spans anywhere, as prompts and filled gaps do.
PROMPT_SHARE, LONGEST_PROMPT = 0.25, 24
GAP_SHARE, MOST_SPANS, LONGEST_SPAN = 0.2, 3, 24


class TextCorpus:
    """Texts as token ids, split into those to learn from and those held out."""

    def __init__(self, recipe: Recipe, tokens: Tokens, texts: Sequence[str]) -> None:
        if tokens.end_id is None:
            raise ValueError("the tokenizer has no end token, which every text needs")
        self.recipe = recipe
        self.tokens = tokens
        self.end_id = tokens.end_id
        self._learned = _Encoded(tokens, [text for text in texts if split_of(text) == "train"])
        self._held_out = _Encoded(tokens, [text for text in texts if split_of(text) == "test"])
        self._closing = _closing_ids(tokens)
        self._opening = _opening_ids(tokens)
        self._order: tuple[int, NDArray[np.int64]] | None = None

    @property
    def fingerprint(self) -> str:
        """A hash of all token ids: whether a run goes on with the text it began with."""
        digest = hashlib.sha256(self._learned.ids.tobytes() + self._held_out.ids.tobytes())
        return digest.hexdigest()[:16]

    @property
    def size(self) -> tuple[int, int]:
        """Number of texts to learn from, and of their tokens without the end tokens."""
        return len(self._learned), len(self._learned.ids)

    def batch(self, step: int) -> list[Example]:
        """The examples of one optimiser step, all processes together."""
        first = step * self.recipe.batch
        return [self._window(index) for index in range(first, first + self.recipe.batch)]

    def validation(self, count: int) -> list[Example]:
        """At most `count` windows, each the beginning of a held-out text."""
        order = np.random.default_rng(VALIDATION_SEED).permutation(len(self._held_out))[:count]
        return [Example(self._cut(self._held_out[int(index)], 0), 0) for index in order]

    def _window(self, index: int) -> Example:
        epoch, place = divmod(index, len(self._learned))
        if self._order is None or self._order[0] != epoch:
            seed = [self.recipe.seed, epoch]
            self._order = (epoch, np.random.default_rng(seed).permutation(len(self._learned)))
        text = self._learned[int(self._order[1][place])]
        rng = random.Random(f"{self.recipe.seed}/{index}/window")
        window = self._cut(text, self._start(text, rng))
        prompt = rng.randint(1, LONGEST_PROMPT) if rng.random() < PROMPT_SHARE else 0
        spans: list[tuple[int, int]] = []
        if rng.random() < GAP_SHARE:
            for _ in range(rng.randint(1, MOST_SPANS)):
                start = rng.randrange(len(window))
                spans.append((start, start + rng.randint(1, LONGEST_SPAN)))
        return Example(window, min(prompt, len(window) - 1), tuple(spans))

    def _start(self, text: NDArray[np.int32], rng: random.Random) -> int:
        if rng.random() < BEGINNING_SHARE:
            return 0
        opens = np.isin(text[1:], self._opening) & np.isin(text[:-1], self._closing)
        starts = [int(start) for start in np.flatnonzero(opens) + 1 if len(text) - start >= SHORTEST_WINDOW]
        ending = [start for start in starts if len(text) - start < self.recipe.canvas]
        if ending and rng.random() < 0.5:
            return ending[0]
        return rng.choice(starts) if starts else 0

    def _cut(self, text: NDArray[np.int32], start: int) -> tuple[int, ...]:
        window = text[start : start + self.recipe.canvas].tolist()
        return tuple(window) if len(window) == self.recipe.canvas else (*window, self.end_id)


class _Encoded:
    """Texts as one array of token ids, `[i]` being a view of the i-th."""

    def __init__(self, tokens: Tokens, texts: Sequence[str]) -> None:
        encoded = [
            np.array(item.ids, dtype=np.int32)
            for item in tokens.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        ]
        self.ids = np.concatenate(encoded) if encoded else np.zeros(0, dtype=np.int32)
        self.ends = np.cumsum([len(item) for item in encoded], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        return self.ids[self.ends[index - 1] if index else 0 : self.ends[index]]


def _closing_ids(tokens: Tokens) -> list[int]:
    """Tokens a sentence can end with."""
    return [i for i in range(tokens.vocab_size) if tokens.decode([i])[-1:] in tuple('.!?"\n')]


def _opening_ids(tokens: Tokens) -> list[int]:
    """Tokens a sentence can begin with inside a text: a capital behind a space or alone."""
    return [i for i in range(tokens.vocab_size) if tokens.decode([i]).lstrip(" ")[:1].isupper()]
