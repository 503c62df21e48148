"""Answers as Python functions: plain arithmetic is worked out, everything hostile is refused in bounded time."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockviz.evaluation.programs import LONGEST_PROGRAM, ProgramError, answer_of

HEAD = "def simple_math_problem() -> int:\n"


def function(*lines: str) -> str:
    """The text of a function with these lines as its body."""
    return HEAD + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["apples = 12", "apples += 30", "return apples"], 42),
        (['"""A docstring with #### 7."""', "a, b = 7, 3", "result = a // b + a % b", "return result"], 3),
        (["total = 0", "for i in range(1, 5):", "    total += i ** 2", "return total"], 30),
        (["x = 100", "while x > 10:", "    x = x / 2", "return round(x, 2)"], 6.25),
        (["days = [3, 4, 5]", "return sum(days) * len(days) + days[-1]"], 41),
        (["return max(2, 3) if 1 < 2 <= 2 and not 0 else min(1, 2)"], 3),
        (["n = 0", "while True:", "    n += 1", "    if n > 5:", "        break", "return n"], 6),
        (["n = 0", "for i in [1, 2, 3]:", "    if i == 2:", "        continue", "    n += i", "return n"], 4),
        (["return math.ceil(7 / 2) + math.sqrt(16)"], 8),
        (["price: float = 0.1", "return price * 3"], 0.1 * 3),
        (["return int(7.9) - abs(-2)"], 5),
        (["if 3 > 4:", "    return 1", "elif 2 > 1:", "    return 2", "return 3"], 2),
    ],
)
def test_plain_arithmetic_is_worked_out(lines: list[str], answer: float) -> None:
    assert answer_of(function(*lines)) == answer


def test_text_around_the_function_does_not_count_and_defaults_do() -> None:
    text = "Here it is.\n" + "def f(a, b=1):\n    return a\n"
    with pytest.raises(ProgramError, match="needs arguments"):
        answer_of(text)
    assert answer_of("so:\ndef f(a=2, b=3):\n    return a * b\nprint(7)\ndef g():\n    return 1") == 6


HOSTILE = {
    "imports": ["import os", "return os.system('true')"],
    "attribute": ["return (1).__class__"],
    "dunder": ["return __import__('os')"],
    "eval": ["return eval('1')"],
    "open": ["return open('/etc/passwd')"],
    "string": ["return 'a' * 10"],
    "format": ["return f'{1}'"],
    "lambda": ["return (lambda: 1)()"],
    "comprehension": ["return [i for i in range(3)]"],
    "walrus": ["return (a := 1)"],
    "class": ["class A: pass", "return 1"],
    "nested function": ["def g():", "    return 1", "return g()"],
    "global": ["global x", "return 1"],
    "try": ["try:", "    return 1", "except Exception:", "    return 2"],
    "with": ["with a: return 1"],
    "del": ["a = 1", "del a", "return 1"],
    "raise": ["raise ValueError"],
    "assert": ["assert 1", "return 1"],
    "keyword": ["return max(1, key=2)"],
    "star": ["return max(*[1, 2])"],
    "attribute of math": ["return math.factorial(5)"],
    "matrix": ["return 1 @ 2"],
    "shift": ["return 1 << 2"],
    "complex": ["return 1j"],
    "complex power": ["return (-8) ** 0.5"],
    "division by zero": ["return 1 / 0"],
    "modulo zero": ["return 1 % 0"],
    "infinite": ["return 1e999"],
    "nan": ["return 1e999 - 1e999"],
    "float overflow": ["return 1e200 * 1e200"],
    "power tower": ["return 9 ** 9 ** 9"],
    "large power": ["return 10 ** 100000"],
    "squaring": ["a = 10", "for i in range(100):", "    a = a * a", "return a"],
    "endless": ["while True:", "    pass", "return 1"],
    "nested loops": ["for i in range(1000):", "    for j in range(1000):", "        pass", "return 1"],
    "huge range": ["return sum(range(10 ** 12))"],
    "doubling list": ["a = [1]", "for i in range(60):", "    a = a + a", "return len(a)"],
    "list product": ["return len([0] * 10 ** 9)"],
    "deep parentheses": ["return " + "(" * 300 + "1" + ")" * 300],
    "deep minus": ["return " + "-" * 1500 + "1"],
    "deep lists": ["return " + "[" * 80 + "1" + "]" * 80],
    "itself in a list": ["a = [1]", "a[0] = a", "return 1"],
    "index": ["return [1, 2][5]"],
    "text index": ["return [1, 2][1.5]"],
    "nothing": ["pass"],
    "bare return": ["return"],
    "a list": ["return [1]"],
    "unknown name": ["return apples"],
    "unpacking": ["a, b = [1, 2, 3]", "return a"],
    "rounding": ["return round(1.5, 10 ** 6)"],
    "break outside": ["break"],
    "yield": ["yield 1"],
    "await": ["return await x"],
    "long": ["a = 1"] * 2000 + ["return a"],
    "null": ["return 1\0"],
    "digits": ["return " + "9" * 3000],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_answers_are_refused_in_bounded_time(name: str) -> None:
    began = time.process_time()
    with pytest.raises(ProgramError) as told:
        answer_of(function(*HOSTILE[name]))
    assert time.process_time() - began < 2
    assert len(str(told.value)) < 120


@pytest.mark.parametrize(
    "text", ["", "42", "def", "def f(:\n    return 1", "def f(): return 1\x00", "DEF F():"]
)
def test_no_function_is_a_sentence(text: str) -> None:
    with pytest.raises(ProgramError):
        answer_of(text)


def test_the_longest_program_counts_the_function_alone() -> None:
    assert answer_of("x" * LONGEST_PROGRAM + "\n" + function("return 1")) == 1


@given(st.text(alphabet="def simple_prob()-> int:\n\treturn+*/%123[],'\"=<#", max_size=400))
def test_any_text_gives_a_number_or_a_program_error(text: str) -> None:
    with contextlib.suppress(ProgramError):
        assert isinstance(answer_of(HEAD + "    return " + text), (int, float))
