"""Makes word problems of one to five steps with their worked solutions, and bare arithmetic for practice.

Every number anywhere is an integer from 0 to 99. A problem's text fixes its equations: they follow the order of
the story, the running value stands first, and groups are multiplied in the order in which the text names them.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from blockviz.training import wording
from blockviz.training.stories import LARGEST, RELATIVES, THINGS, Infeasible, factors, tell

Split = Literal["train", "test"]

CANVAS = 128  # tokens: prompt, solution and the end token of every problem fit
TEST_SHARE = 50  # one structure in so many belongs to the test split
STEP_SHARES = (0.15, 0.30, 0.30, 0.15, 0.10)

_SLOT = re.compile(r"\{\w+\}")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Problem:
    """One word problem: `prompt` (text), `solution` (equations and `#### answer`), `answer`, `steps` (equations)."""

    prompt: str
    solution: str
    answer: int
    steps: int


def _words() -> tuple[str, ...]:
    texts = [
        line
        for table in (
            wording.OWNER,
            wording.EXTRA_FOOD,
            wording.MONEY,
            wording.PLACE,
            wording.PEOPLE,
            wording.WEEK,
            wording.AGES,
        )
        for lines in table.values()
        for line in lines
    ]
    words = set(_SLOT.sub(" ", " ".join(texts)).split())
    for pairs in (THINGS, wording.BEINGS, wording.CONTAINERS):
        words.update(pairs, pairs.values())
    for names in (wording.GIRLS, wording.BOYS, wording.PLACES, wording.COLOURS, wording.DAYS):
        words.update(names)
    words.update(RELATIVES[True], RELATIVES[False], " ".join(wording.WEEK_VERBS).split())
    words.update(
        ["he", "she", "his", "her", "him", "dollar", "dollars", "+", "-", "*", "/", "=", ";", "####"]
    )
    return tuple(sorted(words))


WORDS = _words()
"""Every word and sign the generator can write, sorted; digits are not among them."""


def _slots() -> dict[str, str]:
    kinds = {
        "N": (*wording.GIRLS, *wording.BOYS),
        "S": ("he", "she"),
        "O": ("his", "her", "him"),
        "R": (*RELATIVES[True], *RELATIVES[False]),
        "T": (*THINGS, *wording.BEINGS),
        "t": (*THINGS.values(), *wording.BEINGS.values()),
        "C": tuple(wording.CONTAINERS),
        "c": tuple(wording.CONTAINERS.values()),
        "W": tuple(wording.PLACES),
        "H": tuple(wording.COLOURS),
        "D": tuple(wording.DAYS),
    }
    return {word: f"<{slot}>" for slot, words in kinds.items() for word in words}


_SLOT_OF = _slots()


def structure(prompt: str) -> str:
    """The prompt with people, things, containers, places, colours and days as slots: its wording and its numbers."""
    return " ".join([_SLOT_OF.get(word, word) for word in prompt.split()])


def split_of(prompt: str) -> Split:
    """The split a prompt belongs to, from a hash of its `structure`: no structure is in both splits."""
    digest = hashlib.blake2b(structure(prompt).encode(), digest_size=8).digest()
    return "test" if int.from_bytes(digest, "big") % TEST_SHARE == 0 else "train"


def count_tokens(text: str) -> int:
    """Tokens of a text of the generator: one per word or sign, one per digit."""
    return text.count(" ") + 1 + sum(len(number) - 1 for number in _DIGITS.findall(text))


def _draw(rng: random.Random, steps: int) -> Problem:
    while True:
        try:
            story = tell(rng, steps)
        except Infeasible:
            continue
        prompt = " ".join(story.sentences)
        solution = " ".join([*story.equations, f"#### {story.value}"])
        if len(story.equations) == steps and count_tokens(prompt) + count_tokens(solution) + 1 <= CANVAS:
            return Problem(prompt, solution, story.value, steps)


def _draw_steps(rng: random.Random) -> int:
    return rng.choices((1, 2, 3, 4, 5), STEP_SHARES)[0]


def problem_at(split: Split, seed: int, index: int) -> Problem:
    """Problem `index` of the stream (split, seed): it depends on nothing else."""
    rng = random.Random(f"{seed}:{index}")
    steps = _draw_steps(rng)
    while split_of((problem := _draw(rng, steps)).prompt) != split:
        pass
    return problem


def problems(split: Split, seed: int, start: int = 0) -> Iterator[Problem]:
    """The endless stream of problems of a split, from problem `start` on; the same for the same arguments, always."""
    if split not in ("train", "test"):
        raise ValueError(f"split is {split!r}; it must be train or test")
    index = start
    while True:
        yield problem_at(split, seed, index)
        index += 1


def _practice_equation(rng: random.Random, left: int | None) -> tuple[int, str, int, int] | None:
    """One equation that starts with `left` (drawn when None); None where the operation drawn does not fit."""
    sign = rng.choices("+-*/", (28, 28, 24, 20))[0]
    if sign == "*":
        if left is None:
            a, b = factors(rng, LARGEST)
            a, b = (a, b) if rng.random() < 0.5 else (b, a)
        elif 2 <= left <= LARGEST // 2:
            a, b = left, rng.randint(2, min(9, LARGEST // left))
        else:
            return None
        return a, sign, b, a * b
    if sign == "/":
        if left is None:
            b = rng.randint(2, 9)
            a = b * rng.randint(2, LARGEST // b)
        else:
            fits = [d for d in range(2, 10) if left % d == 0 and left >= d]
            if not fits:
                return None
            a, b = left, rng.choice(fits)
        return a, sign, b, a // b
    if sign == "+":
        a = rng.randint(0, LARGEST) if left is None else left
        b = rng.randint(0, LARGEST - a)
        easy = a % 10 + b % 10 < 10
        result = a + b
    else:
        a = rng.randint(0, LARGEST) if left is None else left
        b = rng.randint(0, a)
        easy = b % 10 <= a % 10
        result = a - b
    if easy and rng.random() < 0.4:  # so that carries and borrows are more than half of all
        return None
    return a, sign, b, result


def practice(rng: random.Random, tokens: int) -> str:
    """Bare equations, `12 + 30 = 42 ;` one after another, as many whole ones as fit into `tokens` tokens.

    Half of them go on from the result before, as a solution does; sums that carry and differences that borrow are
    favoured.
    """
    written: list[str] = []
    used = 0
    left: int | None = None
    while True:
        drawn = None
        while drawn is None:
            drawn = _practice_equation(rng, left if rng.random() < 0.5 else None)
        a, sign, b, result = drawn
        text = f"{a} {sign} {b} = {result} ;"
        used += count_tokens(text)
        if used > tokens:
            return " ".join(written)
        written.append(text)
        left = result
