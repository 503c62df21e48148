"""Tells one story with its numbers and equations: a chain of events, or comparisons. Wording is in `wording`."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from blockviz.training import wording

LARGEST = 99  # every number in a text, an equation or an answer is from 0 to this

RELATIVES = {True: ("uncle", "grandpa"), False: ("aunt", "grandma")}
THINGS = {**wording.FOOD, **wording.OBJECTS}
_PLURALS = tuple(THINGS)
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


class Infeasible(Exception):
    """The numbers drawn so far leave no way on; the caller draws again."""


class Story:
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
        """Add a sentence of this kind with the present fills; returns the template that was used."""
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
        """Things that are not the ones the story is about."""
        while (things := self.rng.choice(_PLURALS)) == self.fills["t"]:
            pass
        return things

    def amount(self, number: int, slot: str = "a") -> None:
        """Fill a slot with a number of the things, in the singular for 1."""
        things = self.fills["s"] if number == 1 else self.fills["t"]
        self.fills[slot] = f"{number} {things}"
        if slot == "a":
            self.fills["m"] = f"{number} more {things}"

    def equation(self, left: int, sign: str, right: int) -> int:
        """Add an equation and make its result the running value; Infeasible unless that is 0 to LARGEST."""
        result = {
            "+": left + right,
            "-": left - right,
            "*": left * right,
            "/": left // right if right else 0,
        }[sign]
        if not 0 <= result <= LARGEST:
            raise Infeasible
        self.equations.append(f"{left} {sign} {right} = {result} ;")
        self.value = result
        return result

    def groups(self, kind: str, most: int) -> int:
        """Say k groups of e things and multiply them; the product is at most `most`."""
        k, e = factors(self.rng, most)
        self.fills["k"] = k
        self.amount(e, "e")
        template = self.say(kind)
        if "{k}" in template and template.index("{k}") < template.index("{e}"):
            return self.equation(k, "*", e)
        return self.equation(e, "*", k)


def factors(rng: random.Random, most: int) -> tuple[int, int]:
    """Two factors of which one is 2 to 9, with a product of at most `most`; Infeasible below 4."""
    if most < 4:
        raise Infeasible
    small = rng.randint(2, min(9, most // 2))
    high = most // small
    large = rng.randint(2, min(high, 12) if rng.random() < 0.75 else high)
    return (small, large) if rng.random() < 0.7 or large > 9 else (large, small)


def _divisor(rng: random.Random, value: int, least: int) -> int:
    fits = [d for d in range(least, 10) if value % d == 0 and value >= 2 * d]
    if not fits:
        raise Infeasible
    return rng.choice(fits)


def _event(story: Story, kind: str, least: int) -> None:
    rng, value, fills = story.rng, story.value, story.fills
    if kind == "gain":
        if value + least > LARGEST:
            raise Infeasible
        number = rng.randint(least, LARGEST - value)
        story.amount(number)
        story.say(kind)
        story.equation(value, "+", number)
    elif kind == "loss":
        if value < least:
            raise Infeasible
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
            raise Infeasible
        story.say(kind)
        story.equation(value, "*", 2)
    elif kind == "times":
        if not 2 <= value <= LARGEST // 3:
            raise Infeasible
        fills["d"] = rng.randint(3, min(9, LARGEST // value))
        story.say(kind)
        story.equation(value, "*", fills["d"])
    elif kind == "halve":
        if value < 2 or value % 2:
            raise Infeasible
        story.say(kind)
        story.equation(value, "/", 2)
    else:
        fills["d"] = _divisor(rng, value, 3)
        story.say(kind)
        story.equation(value, "/", fills["d"])


def _end(story: Story, kind: str) -> None:
    rng, value, fills = story.rng, story.value, story.fills
    if value < 2:
        raise Infeasible
    if kind == "end_share":
        fills["d"] = _divisor(rng, value, 2)
        story.say(kind)
        story.equation(value, "/", fills["d"])
    elif kind == "end_times":
        if value > LARGEST // 2:
            raise Infeasible
        fills["d"] = rng.randint(2, min(9, LARGEST // value))
        story.say(kind)
        story.equation(value, "*", fills["d"])
    elif kind == "end_goal":
        if value > LARGEST - 2:
            raise Infeasible
        fills["y"] = rng.randint(value + 1, LARGEST)
        story.say(kind)
        story.equation(fills["y"], "-", value)
    elif kind == "end_together":
        if value > LARGEST - 2:
            raise Infeasible
        fills["y"] = rng.randint(2, LARGEST - value)
        story.say(kind)
        story.equation(value, "+", fills["y"])
    else:
        if value < 4:
            raise Infeasible
        fills["y"] = rng.randint(2, value - 1)
        story.say(kind)
        story.equation(value, "-", fills["y"])


def _start(story: Story, kind: str) -> None:
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
    return {"n": rng.choice(own), "f": f, "g": g, "p": p, "o": o, "b": b, "rel": rng.choice(RELATIVES[girl])}


def _chain(rng: random.Random, steps: int) -> Story:
    """A story about one running number: a start, events, and a question that may need one more step."""
    fills = _cast(rng)
    theme = rng.random()
    if theme < 0.6:
        fills["t"] = rng.choice(_PLURALS)
        fills["s"] = THINGS[fills["t"]]
        table = _FOOD if fills["t"] in wording.FOOD else wording.OWNER
    elif theme < 0.8:
        fills["t"], fills["s"], table = "dollars", "dollar", wording.MONEY
    else:
        fills["t"] = rng.choice(_BEINGS)
        fills["s"], table = wording.BEINGS[fills["t"]], wording.PLACE
        fills["w"], fills["w2"] = rng.sample(wording.PLACES, 2)
        fills["place"] = True
    story = Story(rng, table, fills)
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


def _distract(story: Story, count: int) -> None:
    """Sometimes puts a sentence whose number does not matter after one of the first `count` sentences."""
    rng = story.rng
    if rng.random() < 0.3:
        story.fills["y"] = rng.randint(2, LARGEST)
        story.say("distractor")
        story.sentences.insert(rng.randint(1, count), story.sentences.pop())


def _relate(story: Story, kind: str, value: int) -> int:
    rng, fills = story.rng, story.fills
    if kind == "more":
        if value > LARGEST - 2:
            raise Infeasible
        fills["x"] = rng.randint(2, min(LARGEST - value, 60))
        story.say(kind)
        return story.equation(value, "+", fills["x"])
    if kind == "fewer":
        if value < 4:
            raise Infeasible
        fills["x"] = rng.randint(2, value - 1)
        story.say(kind)
        return story.equation(value, "-", fills["x"])
    if value < 2 or (kind == "halve" and value % 2):
        raise Infeasible
    if kind == "times":
        if value > LARGEST // 3:
            raise Infeasible
        fills["d"] = rng.randint(3, min(9, LARGEST // value))
    story.say(kind)
    return story.equation(value, "/" if kind == "halve" else "*", fills["d"] if kind == "times" else 2)


def _comparison(rng: random.Random, steps: int) -> Story:
    """A story that compares people, days or ages, each with an earlier one, and asks for one, two or all of them."""
    plans = [("now", steps), ("pair", steps - 1)]
    if steps in (2, 4):
        plans += [("all", steps // 2)] * 2
    end, relations = rng.choice([(kind, n) for kind, n in plans if 1 <= n <= 4])
    table = rng.choice(_COMPARED)
    fills = _cast(rng)
    fills["t"] = rng.choice(_PLURALS)
    fills["s"] = THINGS[fills["t"]]
    if table is wording.WEEK:
        who = wording.DAYS[: relations + 1]
        fills["v"] = rng.choice(wording.WEEK_VERBS)
    else:
        who = rng.sample(wording.GIRLS + wording.BOYS, relations + 1)
        fills["n"] = fills["p"] = who[0]
    story = Story(rng, table, fills)
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


def tell(rng: random.Random, steps: int) -> Story:
    """A story whose solution takes `steps` equations, or Infeasible when the numbers drawn leave no way on."""
    return _comparison(rng, steps) if rng.random() < 0.25 else _chain(rng, steps)
