"""Checks worked solutions, `12 + 30 = 42 ; ... #### 42`, with a small parser that takes whatever a model writes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from blockviz.sampling.passes import Check, Verdict

if TYPE_CHECKING:
    from blockviz.models.tokens import Tokens

FINAL = "####"
STOP = ";"

_NUMBER = r"(0|[1-9](?: \d){0,5})"
_EQUATION = re.compile(rf"{_NUMBER} ([-+*/]) {_NUMBER} = {_NUMBER}", re.ASCII)
_ANSWER = re.compile(_NUMBER, re.ASCII)
_WORD = re.compile(r"\d|####|[^\W\d]+|\S", re.ASCII)
_DIGITS_APART = re.compile(r"(?<=\d) (?=\d)")
_HOLE = "?"


@dataclass(frozen=True)
class Statement:
    """One equation or the final answer, over tokens [start, stop) of what was checked.

    `number` is the result it states, None where it states none; `text` adds to a wrong one what is wrong with it.
    """

    kind: Literal["equation", "answer"]
    start: int
    stop: int
    verdict: Verdict
    text: str
    number: int | None


@dataclass(frozen=True)
class Solution:
    """The judgement of a whole solution.

    `answer` is the number after `####` (None without one); `sound`: every equation is right and the answer is the
    result of the last one; `correct`: the answer is the expected one, None where none was given; `first_wrong` is the
    index of the first equation that is not right.
    """

    steps: tuple[Statement, ...]
    answer: int | None
    sound: bool
    correct: bool | None
    first_wrong: int | None


def check(text: str, answer: int | None = None) -> Solution:
    """Judge a solution given as text, up to its first `<eos>`; never raises, whatever the text is."""
    words: list[str | None] = list(_WORD.findall(text.split("<eos>", 1)[0]))
    statements = _statements(words, answer)
    steps = tuple(statement for statement in statements if statement.kind == "equation")
    last = next((statement for statement in statements if statement.kind == "answer"), None)
    stated = last.number if last else None
    wrong = next((i for i, step in enumerate(steps) if step.verdict != "right"), None)
    return Solution(
        steps=steps,
        answer=stated,
        sound=bool(steps) and wrong is None and stated is not None and stated == steps[-1].number,
        correct=None if answer is None else stated == answer,
        first_wrong=wrong,
    )


def checks(
    token_ids: Sequence[int], prompt_length: int, tokens: Tokens, answer: int | None = None
) -> tuple[Check, ...]:
    """Verdicts on the statements of a canvas (`token_ids`, ints, L long) after its prompt, with canvas positions.

    An id outside the tokenizer (MASK, or -1 for noise) is a hole, and a statement with a hole is unfinished. Nothing
    after the first end token counts. With no expected `answer` the final number is judged by the last equation alone.
    """
    names, count, end_id = tokens.names, tokens.vocab_size, tokens.end_id
    words: list[str | None] = []
    for i in token_ids[prompt_length:]:
        if i == end_id:
            break
        words.append(names[i] if 0 <= i < count else None)
    return tuple(
        Check(prompt_length + s.start, prompt_length + s.stop, s.verdict, s.text)
        for s in _statements(words, answer)
    )


def _statements(words: list[str | None], answer: int | None) -> list[Statement]:
    """Every statement of `words` (None is a hole): those closed by `;`, then what is left, or the final answer."""
    found: list[Statement] = []
    start = 0
    for i, word in enumerate(words):
        if word == STOP:
            if i > start:
                found.append(_equation(words, start, i, closed=True))
            start = i + 1
        elif word == FINAL:
            if i > start and any(words[start:i]):
                found.append(_equation(words, start, i, closed=False))
            found.append(_final(words, i, found, answer))
            return found
    if any(words[start:]):
        found.append(_equation(words, start, len(words), closed=False))
    return found


def _equation(words: list[str | None], start: int, stop: int, closed: bool) -> Statement:
    """The statement of words [start, stop); `closed` when a `;` stands at `stop`, which then belongs to it."""
    whole = None not in words[start:stop]
    while words[start] is None and start < stop - 1:
        start += 1
    if not closed:
        while words[stop - 1] is None:
            stop -= 1
    verdict, shown, number = _judge(_join(words[start:stop]), closed and whole)
    return Statement("equation", start, stop + closed, verdict, shown, number if whole else None)


@lru_cache(maxsize=4096)  # from one pass to the next nearly all statements stay as they are
def _judge(text: str, finished: bool) -> tuple[Verdict, str, int | None]:
    """Verdict, shown text and stated result of words joined by spaces."""
    shown = _DIGITS_APART.sub("", text)
    match = _EQUATION.fullmatch(text)
    if match is None:
        return ("wrong", f"{shown} (no equation)", None) if finished else ("unfinished", shown, None)
    left, sign, right, stated = (part.replace(" ", "") for part in match.groups())
    number = int(stated)
    if not finished:
        return "unfinished", shown, number
    true = _value(int(left), sign, int(right))
    if true == number:
        return "right", shown, number
    return "wrong", f"{shown} ({'it does not divide' if true is None else f'it is {true}'})", number


def _final(words: list[str | None], start: int, before: list[Statement], answer: int | None) -> Statement:
    """The final answer from `####` on: right when it is `answer`, or without one when the last equation leads to it."""
    stop = len(words)
    while words[stop - 1] is None:
        stop -= 1
    text = _join(words[start:stop])
    shown = _DIGITS_APART.sub("", text)
    if stop < len(words) or stop == start + 1 or None in words[start:stop]:
        return Statement("answer", start, stop, "unfinished", shown, None)
    match = _ANSWER.fullmatch(text, len(FINAL) + 1)
    if match is None:
        return Statement("answer", start, stop, "wrong", f"{shown} (no number)", None)
    number = int(match[1].replace(" ", ""))
    expected = answer if answer is not None or not before else before[-1].number
    if number == expected:
        return Statement("answer", start, stop, "right", shown, number)
    if expected is not None:
        return Statement("answer", start, stop, "wrong", f"{shown} (it is {expected})", number)
    if before and before[-1].verdict == "unfinished":
        return Statement("answer", start, stop, "unfinished", shown, number)
    return Statement("answer", start, stop, "wrong", f"{shown} (no equation gives it)", number)


def _join(words: list[str | None]) -> str:
    return " ".join([_HOLE if word is None else word for word in words])


def _value(left: int, sign: str, right: int) -> int | None:
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    if sign == "*":
        return left * right
    return left // right if right and left % right == 0 else None
