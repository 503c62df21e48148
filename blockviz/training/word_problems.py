"""Makes word problems of one to five steps with their worked solutions, and bare arithmetic for practice.

Every number anywhere is an integer from 0 to 99. A problem's text fixes its equations: they follow the order of
the story, the running value stands first, and groups are multiplied in the order in which the text names them.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from blockviz.training import wording

Split = Literal["train", "test"]

LARGEST = 99
CANVAS = 128  # tokens: prompt, solution and the end token of every problem fit
TEST_SHARE = 50  # one structure in so many belongs to the test split
STEP_SHARES = (0.15, 0.30, 0.30, 0.15, 0.10)

_SLOT = re.compile(r"\{\w+\}")
_DIGITS = re.compile(r"\d+")
_RELATIVES = {True: ("uncle", "grandpa"), False: ("aunt", "grandma")}
_THINGS = {**wording.FOOD, **wording.OBJECTS}
_PLURALS = tuple(_THINGS)
_CONTAINERS = tuple(wording.CONTAINERS)
_BEINGS = tuple(wording.BEINGS)
_FOOD = {kind: lines + wording.EXTRA_FOOD.get(kind, ()) for kind, lines in wording.OWNER.items()}
_COMPARED = (wording.PEOPLE, wording.PEOPLE, wording.WEEK, wording.AGES)

# kind of event -> (equations it takes, weight)
_EVENTS: dict[str, tuple[int, int]] = {
    "gain": (1, 26),
    "loss": (1, 26),
    "double": (1, 8),
    "times": (1, 8),
    "halve": (1, 14),
    "share": (1, 12),
    "groups_gain": (2, 16),
    "groups_loss": (2, 16),
}
_ENDS: dict[str, int] = {"end_share": 12, "end_times": 8, "end_goal": 8, "end_together": 10, "end_more": 8}


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
    for pairs in (_THINGS, wording.BEINGS, wording.CONTAINERS):
        words.update(pairs, pairs.values())
    for names in (wording.GIRLS, wording.BOYS, wording.PLACES, wording.COLOURS, wording.DAYS):
        words.update(names)
    words.update(_RELATIVES[True], _RELATIVES[False], " ".join(wording.WEEK_VERBS).split())
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
        "R": (*_RELATIVES[True], *_RELATIVES[False]),
        "T": (*_THINGS, *wording.BEINGS),
        "t": (*_THINGS.values(), *wording.BEINGS.values()),
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


class _Infeasible(Exception):
    """The numbers drawn so far leave no way on; the caller draws again."""


class _Story:
    """A problem in the making: its sentences, its equations and the running value."""

    def __init__(
        self, rng: random.Random, table: Mapping[str, tuple[str, ...]], fills: dict[str, Any]
    ) -> None:
        self.rng = rng
        self.table = table
        self.fills = fills
        self.sentences: list[str] = []
        self.equations: list[str] = []
        self.value = 0

    def say(self, kind: str) -> str:
        """Adds a sentence of this kind with the present fills; returns the template that was used."""
        rng, fills = self.rng, self.fills
        template = rng.choice(self.table[kind])
        fills["q"] = fills.get("p") if self.sentences and rng.random() < 0.7 else fills.get("n")
        if "place" not in fills:
            fills["w"] = rng.choice(wording.PLACES)
        if "{c" in template:
            fills["c"] = rng.choice(_CONTAINERS)
            fills["cs"] = wording.CONTAINERS[fills["c"]]
        if "{u}" in template:
            fills["u"] = self.other_things()
        self.sentences.append(template.format_map(fills))
        return template

    def other_things(self) -> str:
        while (things := self.rng.choice(_PLURALS)) == self.fills["t"]:
            pass
        return things

    def amount(self, number: int, slot: str = "a") -> None:
        things = self.fills["s"] if number == 1 else self.fills["t"]
        self.fills[slot] = f"{number} {things}"
        if slot == "a":
            self.fills["m"] = f"{number} more {things}"

    def equation(self, left: int, sign: str, right: int) -> int:
        result = {
            "+": left + right,
            "-": left - right,
            "*": left * right,
            "/": left // right if right else 0,
        }[sign]
        if not 0 <= result <= LARGEST:
            raise _Infeasible
        self.equations.append(f"{left} {sign} {right} = {result} ;")
        self.value = result
        return result

    def groups(self, kind: str, most: int) -> int:
        """Says k groups of e things and multiplies them; the product is at most `most`."""
        k, e = _factors(self.rng, most)
        self.fills["k"] = k
        self.amount(e, "e")
        template = self.say(kind)
        if "{k}" in template and template.index("{k}") < template.index("{e}"):
            return self.equation(k, "*", e)
        return self.equation(e, "*", k)


def _factors(rng: random.Random, most: int) -> tuple[int, int]:
    if most < 4:
        raise _Infeasible
    small = rng.randint(2, min(9, most // 2))
    high = most // small
    large = rng.randint(2, min(high, 12) if rng.random() < 0.75 else high)
    return (small, large) if rng.random() < 0.7 or large > 9 else (large, small)


def _divisor(rng: random.Random, value: int, least: int) -> int:
    fits = [d for d in range(least, 10) if value % d == 0 and value >= 2 * d]
    if not fits:
        raise _Infeasible
    return rng.choice(fits)


def _event(story: _Story, kind: str, least: int) -> None:
    rng, value, fills = story.rng, story.value, story.fills
    if kind == "gain":
        if value + least > LARGEST:
            raise _Infeasible
        number = rng.randint(least, LARGEST - value)
        story.amount(number)
        story.say(kind)
        story.equation(value, "+", number)
    elif kind == "loss":
        if value < least:
            raise _Infeasible
        number = rng.randint(least, value)
        story.amount(number)
        story.say(kind)
        story.equation(value, "-", number)
    elif kind == "groups_gain":
        story.equation(value, "+", story.groups(kind, LARGEST - value))
    elif kind == "groups_loss":
        story.equation(value, "-", story.groups(kind, value))
    elif kind == "double":
        if not 2 <= value <= LARGEST // 2:
            raise _Infeasible
        story.say(kind)
        story.equation(value, "*", 2)
    elif kind == "times":
        if not 2 <= value <= LARGEST // 3:
            raise _Infeasible
        fills["d"] = rng.randint(3, min(9, LARGEST // value))
        story.say(kind)
        story.equation(value, "*", fills["d"])
    elif kind == "halve":
        if value < 2 or value % 2:
            raise _Infeasible
        story.say(kind)
        story.equation(value, "/", 2)
    else:
        fills["d"] = _divisor(rng, value, 3)
        story.say(kind)
        story.equation(value, "/", fills["d"])


def _end(story: _Story, kind: str) -> None:
    rng, value, fills = story.rng, story.value, story.fills
    if value < 2:
        raise _Infeasible
    if kind == "end_share":
        fills["d"] = _divisor(rng, value, 2)
        story.say(kind)
        story.equation(value, "/", fills["d"])
    elif kind == "end_times":
        if value > LARGEST // 2:
            raise _Infeasible
        fills["d"] = rng.randint(2, min(9, LARGEST // value))
        story.say(kind)
        story.equation(value, "*", fills["d"])
    elif kind == "end_goal":
        if value > LARGEST - 2:
            raise _Infeasible
        fills["y"] = rng.randint(value + 1, LARGEST)
        story.say(kind)
        story.equation(fills["y"], "-", value)
    elif kind == "end_together":
        if value > LARGEST - 2:
            raise _Infeasible
        fills["y"] = rng.randint(2, LARGEST - value)
        story.say(kind)
        story.equation(value, "+", fills["y"])
    else:
        if value < 4:
            raise _Infeasible
        fills["y"] = rng.randint(2, value - 1)
        story.say(kind)
        story.equation(value, "-", fills["y"])


def _start(story: _Story, kind: str) -> None:
    rng, fills = story.rng, story.fills
    if kind == "start_groups":
        story.groups(kind, LARGEST)
        return
    if kind == "start_sum":
        fills["x"] = rng.randint(2, 60)
        fills["y"] = rng.randint(2, LARGEST - fills["x"])
        fills["h"], fills["i"] = rng.sample(wording.COLOURS, 2)
        story.amount(fills["x"])
        story.amount(fills["y"], "a2")
        story.say(kind)
        story.equation(fills["x"], "+", fills["y"])
        return
    story.value = rng.randint(2, LARGEST if rng.random() < 0.4 else 48)
    story.amount(story.value)
    story.say(kind)


def _cast(rng: random.Random) -> dict[str, Any]:
    """One person with pronouns, and two others of the other sex, so that a pronoun always means the first."""
    girl = rng.random() < 0.5
    own, others = (wording.GIRLS, wording.BOYS) if girl else (wording.BOYS, wording.GIRLS)
    f, g = rng.sample(others, 2)
    p, o, b = ("she", "her", "her") if girl else ("he", "his", "him")
    return {"n": rng.choice(own), "f": f, "g": g, "p": p, "o": o, "b": b, "rel": rng.choice(_RELATIVES[girl])}


def _chain(rng: random.Random, steps: int) -> _Story:
    """A story about one running number: a start, events, and a question that may need one more step."""
    fills = _cast(rng)
    theme = rng.random()
    if theme < 0.6:
        fills["t"] = rng.choice(_PLURALS)
        fills["s"] = _THINGS[fills["t"]]
        table = _FOOD if fills["t"] in wording.FOOD else wording.OWNER
    elif theme < 0.8:
        fills["t"], fills["s"], table = "dollars", "dollar", wording.MONEY
    else:
        fills["t"] = rng.choice(_BEINGS)
        fills["s"], table = wording.BEINGS[fills["t"]], wording.PLACE
        fills["w"], fills["w2"] = rng.sample(wording.PLACES, 2)
        fills["place"] = True
    story = _Story(rng, table, fills)
    left = steps
    start = "start"
    if rng.random() < 0.4:
        start = "start_groups" if rng.random() < 0.65 else "start_sum"
        left -= 1
    _start(story, start)
    end = "now"
    if left and rng.random() < 0.45:
        kinds = [kind for kind in _ENDS if kind in table]
        end = rng.choices(kinds, [_ENDS[kind] for kind in kinds])[0]
        left -= 1
    least = 2 if table is wording.PLACE else 1  # "1 people leave" is no sentence
    last = ""
    while left:
        kinds = [kind for kind, (takes, _) in _EVENTS.items() if takes <= left and kind != last]
        last = rng.choices(kinds, [_EVENTS[kind][1] for kind in kinds])[0]
        _event(story, last, least)
        left -= _EVENTS[last][0]
    _distract(story, len(story.sentences))
    story.say("now") if end == "now" else _end(story, end)
    return story


def _distract(story: _Story, count: int) -> None:
    """Sometimes puts a sentence whose number does not matter after one of the first `count` sentences."""
    rng = story.rng
    if rng.random() < 0.3:
        story.fills["y"] = rng.randint(2, LARGEST)
        story.say("distractor")
        story.sentences.insert(rng.randint(1, count), story.sentences.pop())


def _relate(story: _Story, kind: str, value: int) -> int:
    rng, fills = story.rng, story.fills
    if kind == "more":
        if value > LARGEST - 2:
            raise _Infeasible
        fills["x"] = rng.randint(2, min(LARGEST - value, 60))
        story.say(kind)
        return story.equation(value, "+", fills["x"])
    if kind == "fewer":
        if value < 4:
            raise _Infeasible
        fills["x"] = rng.randint(2, value - 1)
        story.say(kind)
        return story.equation(value, "-", fills["x"])
    if value < 2 or (kind == "halve" and value % 2):
        raise _Infeasible
    if kind == "times":
        if value > LARGEST // 3:
            raise _Infeasible
        fills["d"] = rng.randint(3, min(9, LARGEST // value))
    story.say(kind)
    return story.equation(value, "/" if kind == "halve" else "*", fills["d"] if kind == "times" else 2)


def _comparison(rng: random.Random, steps: int) -> _Story:
    """A story that compares people, days or ages, each with an earlier one, and asks for one, two or all of them."""
    plans = [("now", steps), ("pair", steps - 1)]
    if steps in (2, 4):
        plans += [("all", steps // 2)] * 2
    end, relations = rng.choice([(kind, n) for kind, n in plans if 1 <= n <= 4])
    table = rng.choice(_COMPARED)
    fills = _cast(rng)
    fills["t"] = rng.choice(_PLURALS)
    fills["s"] = _THINGS[fills["t"]]
    if table is wording.WEEK:
        who = wording.DAYS[: relations + 1]
        fills["v"] = rng.choice(wording.WEEK_VERBS)
    else:
        who = rng.sample(wording.GIRLS + wording.BOYS, relations + 1)
        fills["n"] = fills["p"] = who[0]
    story = _Story(rng, table, fills)
    fills["r"] = who[0]
    fills["x"] = rng.randint(2, LARGEST if rng.random() < 0.3 else 40)
    values = [fills["x"]]
    story.amount(values[0])
    story.say("first")
    for i in range(relations):
        other = rng.randrange(len(values)) if end == "all" and rng.random() < 0.4 else i
        fills["r"], fills["l"] = who[other], who[i + 1]
        kind = rng.choices(("more", "fewer", "double", "times", "halve"), (30, 30, 14, 10, 16))[0]
        values.append(_relate(story, kind, values[other]))
    _distract(story, len(story.sentences))
    if end == "all":
        story.say("all")
        total = values[0]
        for value in values[1:]:
            total = story.equation(total, "+", value)
    elif end == "pair":
        a = rng.randrange(relations)
        first, last = values[a], values[-1]
        if rng.random() < 0.6 or first == last:
            fills["r"], fills["l"] = who[a], who[-1]
            story.say("together")
            story.equation(first, "+", last)
        else:
            fills["r"], fills["l"] = (who[a], who[-1]) if first > last else (who[-1], who[a])
            story.say("difference")
            story.equation(max(first, last), "-", min(first, last))
    else:
        story.say("now")
    return story


def _draw(rng: random.Random, steps: int) -> Problem:
    while True:
        try:
            story = _comparison(rng, steps) if rng.random() < 0.25 else _chain(rng, steps)
        except _Infeasible:
            continue
        prompt = " ".join(story.sentences)
        solution = " ".join([*story.equations, f"#### {story.value}"])
        if len(story.equations) == steps and count_tokens(prompt) + count_tokens(solution) + 1 <= CANVAS:
            return Problem(prompt, solution, story.value, steps)


def _own_random(rng: random.Random | np.random.Generator) -> random.Random:
    return random.Random(int(rng.integers(2**62))) if isinstance(rng, np.random.Generator) else rng


def _draw_steps(rng: random.Random) -> int:
    return rng.choices((1, 2, 3, 4, 5), STEP_SHARES)[0]


def make_problem(rng: random.Random | np.random.Generator, steps: int | None = None) -> Problem:
    """Draws one problem, of either split; `steps` from 1 to 5 (drawn by STEP_SHARES when None), else ValueError."""
    rng = _own_random(rng)
    if steps is not None and steps not in range(1, 6):
        raise ValueError(f"steps is {steps}; it must be from 1 to 5")
    return _draw(rng, steps if steps is not None else _draw_steps(rng))


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
            a, b = _factors(rng, LARGEST)
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


def practice(rng: random.Random | np.random.Generator, tokens: int) -> str:
    """Bare equations, `12 + 30 = 42 ;` one after another, as many whole ones as fit into `tokens` tokens.

    Half of them go on from the result before, as a solution does; sums that carry and differences that borrow are
    favoured.
    """
    rng = _own_random(rng)
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
