from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from blockviz.evaluation.tasks import EXAMPLE_PROMPTS, checker_for, known_answer
from blockviz.models.tokens import Tokens
from blockviz.training.math_tokenizer import build
from blockviz.training.word_problems import split_of

TOKENS = Tokens(build())


def model(task: str | None) -> SimpleNamespace:
    return SimpleNamespace(info=SimpleNamespace(task=task), tokens=TOKENS)


@pytest.mark.parametrize("example", EXAMPLE_PROMPTS, ids=lambda example: example.label)
def test_examples_are_test_problems_the_model_can_read(example) -> None:
    assert split_of(example.prompt) == "test"
    assert TOKENS.decode(TOKENS.encode(example.prompt)) == example.prompt


def test_example_labels_and_answers() -> None:
    assert 6 <= len(EXAMPLE_PROMPTS) <= 8
    assert len({example.label for example in EXAMPLE_PROMPTS}) == len(EXAMPLE_PROMPTS)
    # worked by hand
    assert [example.answer for example in EXAMPLE_PROMPTS] == [
        (6 * 16 - 8 * 3) // 6,
        43 + 8 * 4 + 11,
        6 * 10 // 2 + 8,
        (42 + 2 * 7 - 14 + 26) // 4,
        10 + (10 * 2 + 21),
        31 + (31 * 3 - 56),
        21 + 10 - 9 + 30,
        95 - 41,
    ]


def test_known_answers_do_not_depend_on_case_and_spacing() -> None:
    example = EXAMPLE_PROMPTS[0]
    typed = re.sub(r" ([.?])", r"\1", example.prompt).capitalize()
    assert typed != example.prompt
    assert known_answer(typed) == example.answer
    assert known_answer(typed.replace("16", "15")) is None


def test_checker_judges_the_math_task_only() -> None:
    assert checker_for(model(None)) is None  # type: ignore[arg-type]
    ids = TOKENS.encode("1 + 1 = 2 ; #### 2")
    plain, informed = checker_for(model("math")), checker_for(model("math"), answer=3)  # type: ignore[arg-type]
    assert plain is not None
    assert informed is not None
    assert [check.verdict for check in plain(ids, 0)] == ["right", "right"]
    assert [check.verdict for check in informed(ids, 0)] == ["right", "wrong"]
