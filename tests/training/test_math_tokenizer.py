from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from blockviz.training.math_tokenizer import END, build, vocabulary
from blockviz.training.word_problems import WORDS, count_tokens, problem_at

TOKENIZER = build()


def tokens(text: str) -> list[str]:
    return TOKENIZER.encode(text).tokens


def test_vocabulary_is_the_words_of_the_problems() -> None:
    assert set(vocabulary()) == {END, *"0123456789", *WORDS}
    assert TOKENIZER.get_vocab_size() == len(vocabulary())
    assert sorted(vocabulary().values()) == list(range(len(vocabulary())))
    assert build().to_str() == TOKENIZER.to_str()


def test_problems_round_trip_with_the_counted_tokens() -> None:
    read_back = Tokenizer.from_str(TOKENIZER.to_str())
    for i in range(300):
        problem = problem_at("train", 2, i)
        for text in (problem.prompt, problem.solution):
            ids = read_back.encode(text).ids
            assert len(ids) == count_tokens(text)
            assert read_back.decode(ids) == text


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("Mia HAS apples.", "mia has apples ."),
        ("mia has apples,and pens?", "mia has apples , and pens ?"),
        ("34", "3 4"),
        ("twelve", "1 2"),
        ("Twenty-five", "2 5"),
        ("twenty five", "2 5"),
        ("twenty\u2011five", "2 5"),
        ("seventy", "7 0"),
        ("seventeen", "1 7"),
        ("zero", "0"),
        ("ninety-nine apples", "9 9 apples"),
        ("twenty apples", "2 0 apples"),
        ("1,234", "1 2 3 4"),
        ("12,apples", "1 2 , apples"),
        ("3 \u00d7 4", "3 * 4"),
        ("3x4", "3 * 4"),
        ("8 \u00f7 2", "8 / 2"),
        ("9 \u2212 5", "9 - 5"),
        ("9 \u2013 5", "9 - 5"),
        ("\uff11\uff12", "1 2"),
        ("12+30=42;####42", "1 2 + 3 0 = 4 2 ; #### 4 2"),
    ],
)
def test_what_a_person_types_is_put_right(typed: str, read: str) -> None:
    assert tokens(typed) == read.split()


def test_number_words_inside_words_stay() -> None:
    pieces = [piece for piece, _ in _pieces("often someone weighs stone")]
    assert pieces == ["often", "someone", "weighs", "stone"]


def test_fractions_and_possessives_stay_whole() -> None:
    assert [piece for piece, _ in _pieces("12.5 mia\u2019s")] == ["12.5", "mia's"]


def _pieces(text: str) -> list[tuple[str, tuple[int, int]]]:
    return TOKENIZER.pre_tokenizer.pre_tokenize_str(TOKENIZER.normalizer.normalize_str(text))


@given(st.integers(0, 99))
def test_spelled_numbers_mean_themselves(number: int) -> None:
    units = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    teens = [
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ]
    tens = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    if number < 20:
        spelled = (units + teens)[number]
    else:
        spelled = tens[number // 10 - 2] + (f"-{units[number % 10]}" if number % 10 else "")
    assert tokens(f"mia has {spelled} apples") == ["mia", "has", *str(number), "apples"]


@given(st.lists(st.sampled_from(sorted(vocabulary())), max_size=30))
def test_decoding_joins_digits_and_keeps_words_apart(words: list[str]) -> None:
    text = TOKENIZER.decode([vocabulary()[word] for word in words], skip_special_tokens=False)
    expected = ""
    for before, word in zip([None, *words], words, strict=False):
        joined = before is None or (before.isdigit() and word.isdigit())
        expected += word if joined else f" {word}"
    assert text == expected


def test_unknown_words_raise() -> None:
    with pytest.raises(Exception, match="UNK"):
        TOKENIZER.encode("mia has dragons")
