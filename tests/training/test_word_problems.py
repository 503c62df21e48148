from __future__ import annotations

import hashlib
import itertools
import random
import re
from collections import Counter

import pytest

from blockviz.evaluation.arithmetic import check
from blockviz.training import word_problems, wording
from blockviz.training.word_problems import (
    CANVAS,
    STEP_SHARES,
    WORDS,
    count_tokens,
    practice,
    problem_at,
    problems,
    split_of,
    structure,
)

SAMPLE = [problem_at("train", 1, i) for i in range(4000)]
EQUATION = re.compile(r"(\d+) ([-+*/]) (\d+) = (\d+) ;")


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def test_data_are_frozen() -> None:
    """The bundled models were trained on exactly these; a change here is a change of the task."""
    digest = hashlib.sha256()
    for split in ("train", "test"):
        for i in range(60):
            problem = problem_at(split, 7, i)
            digest.update(f"{problem.prompt}|{problem.solution}\n".encode())
    digest.update(practice(random.Random(3), 500).encode())
    digest.update(" ".join(WORDS).encode())
    assert digest.hexdigest() == "ed14ba1925343835e56901c107906d27117f73824790d163b40fd221dcebc3ed"


def test_solutions_are_sound() -> None:
    for problem in SAMPLE:
        verdict = check(problem.solution, problem.answer)
        assert verdict.sound, problem
        assert verdict.correct, problem
        assert len(verdict.steps) == problem.steps == len(EQUATION.findall(problem.solution))


def test_every_number_is_small() -> None:
    for problem in SAMPLE:
        assert all(0 <= number <= 99 for number in numbers(problem.prompt) + numbers(problem.solution))


def test_products_have_a_small_factor_and_divisions_a_small_divisor() -> None:
    for problem in SAMPLE:
        for left, sign, right, _ in EQUATION.findall(problem.solution):
            if sign == "*":
                assert 2 <= min(int(left), int(right)) <= 9
            if sign == "/":
                assert 2 <= int(right) <= 9


def test_operands_come_from_the_text_or_from_earlier_results() -> None:
    for problem in SAMPLE:
        known = set(numbers(problem.prompt))
        if re.search(r"\b(half|twice|double|doubles)\b", problem.prompt):
            known.add(2)
        for left, _, right, result in EQUATION.findall(problem.solution):
            assert {int(left), int(right)} <= known, problem
            known.add(int(result))


@pytest.mark.parametrize(
    ("prompt", "solution"),
    [
        (
            "ben owns 30 plums . there are 11 pencils on the table . ben eats 16 plums . maya takes half of the plums"
            " . lily has 3 plums . how many more plums does ben have than lily ?",
            "30 - 16 = 14 ; 14 / 2 = 7 ; 7 - 3 = 4 ; #### 4",
        ),
        (
            "luis has 36 nuts . he also has 95 oranges . he gives half of the nuts to mia . a week later luis has"
            " double the number of nuts . mia brings him 9 packs with 2 nuts each . what is the"
            " number of nuts luis has now ?",
            "36 / 2 = 18 ; 18 * 2 = 36 ; 9 * 2 = 18 ; 36 + 18 = 54 ; #### 54",
        ),
        (
            "at first leo has 25 dollars . leo gives 5 dollars to each of 3 friends . how many dollars does he have"
            " now ?",
            "5 * 3 = 15 ; 25 - 15 = 10 ; #### 10",
        ),
        (
            "on monday kai collects 28 books . on tuesday it is 3 times as many books as on monday . on tuesday it is"
            " how many more books than on monday ?",
            "28 * 3 = 84 ; 84 - 28 = 56 ; #### 56",
        ),
    ],
)
def test_equations_follow_the_story(prompt: str, solution: str) -> None:
    """Problems 0 to 60 of this stream, read by a person: the running value first, groups as the text names them."""
    drawn = {problem.prompt: problem.solution for problem in (problem_at("train", 0, i) for i in range(60))}
    assert drawn[prompt] == solution


def test_a_text_has_one_solution() -> None:
    """Also when people are only told apart by who comes first: the text alone decides the equations."""
    rng = random.Random(8)
    names = {*wording.GIRLS, *wording.BOYS}
    solutions: dict[str, str] = {}
    for _ in range(12_000):
        problem = word_problems._draw(rng, 1)
        order: dict[str, str] = {}
        words = [order.setdefault(w, f"<{len(order)}>") if w in names else w for w in problem.prompt.split()]
        text = structure(" ".join(words))
        assert solutions.setdefault(text, problem.solution) == problem.solution
    assert len(solutions) < 12_000, "nothing was compared"


def test_fits_the_canvas_and_counts_tokens() -> None:
    assert max(count_tokens(p.prompt) + count_tokens(p.solution) + 1 for p in SAMPLE) <= CANVAS
    assert count_tokens("mia has 12 apples .") == 6


def test_text_is_made_of_the_known_words() -> None:
    known = set(WORDS)
    used = {word for p in SAMPLE for word in f"{p.prompt} {p.solution}".split() if not word.isdigit()}
    assert used <= known
    assert 250 <= len(known) + 11 <= 350
    assert known - used == set(), "a word that is never used is never learned"


def test_steps_are_shared_out_as_stated() -> None:
    counts = Counter(problem.steps for problem in SAMPLE)
    for steps, share in enumerate(STEP_SHARES, start=1):
        assert counts[steps] / len(SAMPLE) == pytest.approx(share, abs=0.025)


def test_every_operation_is_common() -> None:
    signs = Counter(sign for p in SAMPLE for _, sign, _, _ in EQUATION.findall(p.solution))
    total = sum(signs.values())
    assert set(signs) == set("+-*/")
    assert min(signs.values()) / total > 0.1


def test_every_kind_of_sentence_has_four_wordings() -> None:
    for table in (wording.OWNER, wording.MONEY, wording.PLACE, wording.PEOPLE, wording.WEEK, wording.AGES):
        for kind, lines in table.items():
            assert len(set(lines)) >= (2 if kind == "first" else 4), kind


def test_no_wording_puts_two_numbers_side_by_side() -> None:
    assert not [p for p in SAMPLE if re.search(r"\d+ \d+", p.prompt)]


def test_splits_share_no_structure() -> None:
    train = {structure(problem.prompt) for problem in SAMPLE}
    test = {structure(problem.prompt) for problem in itertools.islice(problems("test", 1), 150)}
    assert not train & test
    assert all(split_of(problem.prompt) == "train" for problem in SAMPLE)
    assert all(split_of(p.prompt) == "test" for p in itertools.islice(problems("test", 2), 30))


def test_split_looks_through_names_and_things() -> None:
    one = "mia has 12 apples . she finds 30 more apples . how many apples does mia have now ?"
    other = "leo has 12 pens . he finds 30 more pens . how many pens does leo have now ?"
    assert structure(one) == structure(other)
    assert split_of(one) == split_of(other)
    assert structure(one) != structure(one.replace("30", "31"))


def test_split_is_one_in_fifty() -> None:
    rng = random.Random(5)
    drawn = (word_problems._draw(rng, 1 + index % 5) for index in range(5000))
    share = sum(split_of(problem.prompt) == "test" for problem in drawn) / 5000
    assert share == pytest.approx(0.02, abs=0.008)


@pytest.mark.parametrize("split", ["train", "test"])
def test_streams_resume_exactly(split: str) -> None:
    whole = list(itertools.islice(problems(split, 9), 12))  # type: ignore[arg-type]
    assert list(itertools.islice(problems(split, 9, start=7), 5)) == whole[7:]  # type: ignore[arg-type]
    assert list(itertools.islice(problems(split, 10), 12)) != whole  # type: ignore[arg-type]


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="validation"):
        next(problems("validation", 0))  # type: ignore[arg-type]


def test_pronouns_always_mean_the_first_person() -> None:
    girls, boys = set(wording.GIRLS), set(wording.BOYS)
    for problem in SAMPLE:
        words = problem.prompt.split()
        if "she" in words or "he" in words:
            first = next(word for word in words if word in girls | boys)
            own, others = (girls, boys) if first in girls else (boys, girls)
            assert (first in girls) == ("she" in words), problem
            assert {word for word in words if word in own} == {first}, problem
            assert not {"he", "his", "him"} & set(words) or others is girls, problem


class TestPractice:
    def test_fills_the_budget_with_right_equations(self) -> None:
        rng = random.Random(2)
        for budget in (9, 40, 128):
            for _ in range(100):
                text = practice(rng, budget)
                if text:
                    assert budget - 9 <= count_tokens(text) <= budget
                    verdict = check(text)
                    assert {step.verdict for step in verdict.steps} == {"right"}
                    assert all(0 <= number <= 99 for number in numbers(text))

    def test_hard_cases_are_more_than_half(self) -> None:
        rng = random.Random(4)
        sums = EQUATION.findall(" ".join(practice(rng, 128) for _ in range(400)))
        adds = [(int(a), int(b)) for a, sign, b, _ in sums if sign == "+"]
        subs = [(int(a), int(b)) for a, sign, b, _ in sums if sign == "-"]
        assert sum(a % 10 + b % 10 >= 10 for a, b in adds) / len(adds) > 0.4
        assert sum(a % 10 < b % 10 for a, b in subs) / len(subs) > 0.4

    def test_covers_the_equations_that_problems_use(self) -> None:
        """Every product and quotient of the problems occurs, and nearly all of their sums and differences."""
        rng = random.Random(6)
        practised = set(EQUATION.findall(" ".join(practice(rng, 128) for _ in range(5000))))
        needed = [eq for p in SAMPLE for eq in EQUATION.findall(p.solution)]
        products = [eq for eq in needed if eq[1] in "*/"]
        assert sum(eq in practised for eq in products) / len(products) > 0.98
        assert sum(eq in practised for eq in needed) / len(needed) > 0.93
