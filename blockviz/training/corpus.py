"""The training text as examples that depend only on the recipe's seed and their index, so that resuming is exact."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Protocol

from blockviz.models.tokens import Tokens
from blockviz.training import byte_tokenizer, math_tokenizer
from blockviz.training.batches import Example
from blockviz.training.recipes import Recipe
from blockviz.training.runfiles import RunError
from blockviz.training.text_corpus import TextCorpus
from blockviz.training.text_source import TextSource, split_of
from blockviz.training.word_problems import Problem, Split, practice, problems

# Optimiser steps whose examples are drawn together and sorted by length, so that little is spent on padding.
POOL_STEPS = 8
PRACTICE_TOKENS = (48, 112)
VALIDATION_SEED = 1_000_003
TOKENIZER = "tokenizer.json"


class Corpus(Protocol):
    """What the trainer asks of its text: see `MathCorpus` and `TextCorpus`."""

    tokens: Tokens

    @property
    def fingerprint(self) -> str:
        """What tells this text from another."""
        ...

    def batch(self, step: int) -> list[Example]:
        """The examples of one optimiser step, all processes together."""
        ...

    def validation(self, count: int) -> list[Example]:
        """At most `count` examples that training never shows, always the same."""
        ...


def open_corpus(
    recipe: Recipe,
    run: Path | None = None,
    source: TextSource | None = None,
    given: Tokens | None = None,
) -> Corpus:
    """The text a recipe learns from.

    Where no tokenizer is `given`, one learned from text lies in `run`, or in the folder beside it of the run that the
    recipe starts from; where it is in neither, it is learned now. `run` keeps it. Raises RunError without text.
    """
    if recipe.corpus == "math":
        return MathCorpus(recipe, Tokens(math_tokenizer.build()))
    texts = (source or TextSource()).read()
    places = [] if run is None else [run / TOKENIZER]
    if run is not None and recipe.starts_from is not None:
        places.append(run.parent / recipe.starts_from / TOKENIZER)
    found = next((place for place in places if place.exists()), None)
    if given is not None:
        tokens = given
    elif found is not None:
        tokens = Tokens.from_file(found)
    else:
        learned = [text for text in texts if split_of(text) == "train"]
        tokens = Tokens(byte_tokenizer.build(learned, recipe.vocabulary))
    if places and not places[0].exists():
        places[0].parent.mkdir(parents=True, exist_ok=True)
        tokens.save(places[0])
    corpus = TextCorpus(recipe, tokens, texts)
    if corpus.size[0] == 0:
        raise RunError("there are no texts to learn from beside those held out")
    return corpus


class MathCorpus:
    """Word problems with worked solutions, and practice rows of bare equations."""

    def __init__(self, recipe: Recipe, tokens: Tokens) -> None:
        self.recipe = recipe
        self.tokens = tokens
        if tokens.end_id is None:
            raise ValueError("the tokenizer has no end token, which every solution needs")
        self.end_id = tokens.end_id
        self._pool: tuple[int, list[list[Example]]] | None = None

    @property
    def fingerprint(self) -> str:
        """Empty: the recipe's seed determines the problems."""
        return ""

    def batch(self, step: int) -> list[Example]:
        """The examples of one optimiser step, all processes together, of similar length."""
        pool = step // POOL_STEPS
        if self._pool is None or self._pool[0] != pool:
            self._pool = (pool, self._draw_pool(pool))
        return self._pool[1][step % POOL_STEPS]

    def held_out(self, split: Split, seed: int, count: int) -> list[Example]:
        """The first `count` problems of another stream, without practice rows."""
        stream = problems(split, seed)
        return [self._problem(next(stream)) for _ in range(count)]

    def validation(self, count: int) -> list[Example]:
        """Problems of the training's kind from another stream."""
        return self.held_out("train", VALIDATION_SEED, count)

    def _draw_pool(self, pool: int) -> list[list[Example]]:
        size = self.recipe.batch
        first = pool * POOL_STEPS * size
        stream = problems("train", self.recipe.seed, first)
        stage, offset = self.recipe.stage_at(pool * POOL_STEPS)
        share = stage.practice_share(offset)
        examples = []
        for index in range(first, first + POOL_STEPS * size):
            problem = next(stream)
            rng = random.Random(f"{self.recipe.seed}/{index}/practice")
            examples.append(self._practice(rng) if rng.random() < share else self._problem(problem))
        examples.sort(key=lambda example: len(example.tokens))
        batches = [examples[start : start + size] for start in range(0, len(examples), size)]
        random.Random(f"{self.recipe.seed}/{pool}/order").shuffle(batches)
        return batches

    def _problem(self, problem: Problem) -> Example:
        prompt = self.tokens.encode(problem.prompt)
        solution = self.tokens.encode(problem.solution)
        return Example((*prompt, *solution, self.end_id), len(prompt))

    def _practice(self, rng: random.Random) -> Example:
        text = practice(rng, rng.randint(*PRACTICE_TOKENS))
        return Example((*self.tokens.encode(text), self.end_id), 0)
