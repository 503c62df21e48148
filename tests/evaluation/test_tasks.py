from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from blockviz.evaluation.tasks import EXAMPLE_PROMPTS, checker_for, known_answer
from blockviz.models.tokens import Tokens
from blockviz.sampling.passes import STATE_CODE
from blockviz.sampling.run import sample
from blockviz.sampling.settings import SamplerSettings
from blockviz.training.math_tokenizer import build
from blockviz.training.word_problems import split_of
from tests.sampling.small_models import tiny_model

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
        2 * 7 * 2,
        10 + 63 - 42,
        (6 * 16 - 8 * 3) // 6,
        43 + 8 * 4 + 11,
        6 * 10 // 2 + 8,
        (42 + 2 * 7 - 14 + 26) // 4,
        10 + (10 * 2 + 21),
        31 + (31 * 3 - 56),
    ]


def test_known_answers_do_not_depend_on_case_and_spacing() -> None:
    example = EXAMPLE_PROMPTS[0]
    typed = re.sub(r" ([.?])", r"\1", example.prompt).capitalize()
    assert typed != example.prompt
    assert known_answer(typed) == example.answer
    assert known_answer(typed.replace("66", "65")) is None


def test_checker_judges_the_math_task_only() -> None:
    assert checker_for(model(None)) is None  # type: ignore[arg-type]
    ids = TOKENS.encode("1 + 1 = 2 ; #### 2")
    plain, informed = checker_for(model("math")), checker_for(model("math"), answer=3)  # type: ignore[arg-type]
    assert plain is not None
    assert informed is not None
    assert [check.verdict for check in plain(ids, 0)] == ["right", "right"]
    assert [check.verdict for check in informed(ids, 0)] == ["right", "wrong"]


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_noise_is_never_judged_in_a_run(process: str) -> None:
    """Uniform noise is made of real words, but no verdict may rest on positions that are still noise."""
    tiny = tiny_model(process, words=TOKENS.vocab_size, end_id=TOKENS.end_id, length=48)
    math = replace(tiny, tokens=TOKENS, info=replace(tiny.info, task="math"))
    settings = SamplerSettings(block_size=16, steps=4, seed=3, fill_canvas=True)
    trace = sample(math, "mia has 12 apples .", settings, checker=checker_for(math))
    assert trace.passes[0].checks == ()
    noise = [STATE_CODE[state] for state in ("unopened", "noise", "renoised")]
    for recorded in trace.passes:
        for check in recorded.checks:
            span = recorded.states[check.start : check.stop]
            assert check.verdict == "unfinished" or not np.isin(span, noise).any()
    # random weights write no equations, so what is settled is wrong or unfinished, and some of it is judged
    assert trace.passes[-1].checks
