"""The tasks whose results can be checked, and example prompts for them. Knows no torch."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from blockviz.evaluation.arithmetic import checks
from blockviz.sampling.passes import Check

if TYPE_CHECKING:
    from blockviz.models.checkpoint import Model

Task = Literal["math", "stories"]
"""What the bundled models write: word problems with their solution, or little stories."""

Checker = Callable[[list[int], int], tuple[Check, ...]]

_WORD = re.compile(r"\d+|[^\W\d]+|\S")


@dataclass(frozen=True)
class Example:
    """A word problem of the test split for the page, with a short label and its answer."""

    label: str
    prompt: str
    answer: int


EXAMPLE_PROMPTS: tuple[Example, ...] = (
    Example(
        "Doubling",
        "ivan has 2 hats in each of 7 baskets . then the number of hats doubles . the way to the farm takes 66 minutes"
        " . how many hats does he have in the end ?",
        28,
    ),
    Example(
        "Earning and paying",
        "lucy earns 10 dollars at the park and 63 dollars at school . she pays 42 dollars for the balls . in the end"
        " she has how much money ?",
        31,
    ),
    Example(
        "Sharing",
        "oscar fills 6 boxes with 16 cakes each . he sells 8 baskets with 3 cakes each . he packs the cakes equally"
        " into 6 trays . how many cakes are in each tray ?",
        12,
    ),
    Example(
        "Two people",
        "nora starts with 43 dollars . she gets 8 dollars for each of 4 tickets . oscar owns 11 dollars . how much"
        " money do nora and oscar have in all ?",
        86,
    ),
    Example(
        "With a distractor",
        "ivan sells 6 flowers for 10 dollars each . then he loses half of the money . he also has 90 balls . then he"
        " gets 8 more dollars from anna . how much money does ivan have now ?",
        38,
    ),
    Example(
        "Five steps",
        "at first ruby has 42 beads . ruby buys 2 jars with 7 beads each . she leaves 14 beads at the market . then"
        " she gets 26 more beads from jack . she lays the beads in 4 equal rows . how many beads are in each row ?",
        17,
    ),
    Example(
        "Ages",
        "the age of lucy is 10 years . compared to lucy , max is twice as old . compared to max , finn is 21 years"
        " older . how many years old are lucy and finn together ?",
        51,
    ),
    Example(
        "Days of a week",
        "at the shop ida gets 31 buttons on monday . compared to monday , she gets 3 times as many buttons on tuesday"
        " . she gets 56 fewer buttons on wednesday than on tuesday . on monday and wednesday it is how many buttons"
        " together ?",
        68,
    ),
)


@dataclass(frozen=True)
class PagePrompt:
    """A prompt that the page offers for the models of a task, with a short label and the sampler that shows best what
    it is about ("" for any)."""

    task: Task
    label: str
    prompt: str
    preset: str = ""


# The right answer is 28: who sees both sides bends the steps to the answer that is given, AR cannot.
BACKWARDS = PagePrompt("math", "Backwards", EXAMPLE_PROMPTS[0].prompt + " [[15]] #### 30", "canvas")

STORY_PROMPTS: tuple[PagePrompt, ...] = (
    PagePrompt("stories", "Once upon a time", "Once upon a time"),
    PagePrompt("stories", "A lost ball", "Lily lost her red ball in the park. She was very sad."),
    PagePrompt(
        "stories",
        "A gap",
        "Tom wanted to ride his new bike. [[24]] Then Tom and his mom went home and ate cake.",
        "canvas",
    ),
    # The sentences' first letters spell LILY.
    PagePrompt("stories", "Acrostic", "Lily [[10]]. In the park [[10]]. Lucy [[10]]. Yes [[10]].", "canvas"),
)

SHOWN_PROBLEMS = 5
PAGE_PROMPTS: tuple[PagePrompt, ...] = (
    *(PagePrompt("math", example.label, example.prompt) for example in EXAMPLE_PROMPTS[:SHOWN_PROBLEMS]),
    BACKWARDS,
    *STORY_PROMPTS,
)


def _plain(prompt: str) -> str:
    return " ".join(_WORD.findall(prompt.lower()))


_ANSWERS = {_plain(example.prompt): example.answer for example in EXAMPLE_PROMPTS}


def known_answer(prompt: str) -> int | None:
    """The answer of a prompt that is one of EXAMPLE_PROMPTS, in whatever case and spacing, else None."""
    return _ANSWERS.get(_plain(prompt))


def checker_for(model: Model, answer: int | None = None) -> Checker | None:
    """The checker for the passes of a model's runs, or None for a model without a task.

    It takes the canvas's token ids and the prompt's length. Every equation is judged by itself. The final number is
    compared with `answer` where that is known (`known_answer`); for a prompt someone typed it is not known, and the
    final number can only be judged by whether the last equation leads to it, not by whether it answers the question.
    """
    if model.info.task != "math":
        return None
    tokens = model.tokens
    return lambda token_ids, prompt_length: checks(token_ids, prompt_length, tokens, answer)
