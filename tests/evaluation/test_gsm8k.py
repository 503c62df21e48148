"""Problems in GSM8K's format: read strictly, answered by a function, judged without executing it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from blockviz.evaluation import gsm8k
from blockviz.evaluation.accuracy import EvaluationError
from blockviz.evaluation.gsm8k import Question, evaluate_programs, is_right, read_questions
from blockviz.models.block_dit import NetworkConfig
from blockviz.models.released import open_model
from blockviz.sampling.settings import SamplerSettings
from tests.models.releases import byte_level_tokenizer, write_release

ROWS = [
    {"question": "How many?", "answer": "6 * 7 = <<6*7=42>>42\n#### 42"},
    {"question": "How much?", "answer": "#### 1,234.5"},
    {"prompt": "What is left?", "response_ground_truth": -3},
]


@pytest.mark.parametrize("lines", [True, False])
def test_both_layouts_are_read(lines: bool, tmp_path: Path) -> None:
    file = tmp_path / "test.json"
    file.write_text("\n".join(map(json.dumps, ROWS)) if lines else json.dumps(ROWS))
    assert [q.answer for q in read_questions(file)] == [42, 1234.5, -3]
    assert read_questions(file, 1) == [Question("How many?", 42)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no problems|neither JSON"),
        ("[]", "holds no problems"),
        ("[1]", "Problem 1 .* has no question"),
        ('[{"question": "a", "answer": "none"}]', "Problem 1"),
        ('{"question": "a", "answer": "1"}\n{"question": 2, "answer": "1"}', "Problem 2"),
        ("{", "neither JSON"),
        ("[" * 100_000, "neither JSON"),
    ],
)
def test_a_wrong_file_is_one_sentence(text: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "test.json"
    file.write_text(text)
    with pytest.raises(EvaluationError, match=reason) as told:
        read_questions(file)
    assert "\n" not in str(told.value)


def test_rounding_does_not_make_an_answer_wrong() -> None:
    assert is_right("def f():\n    return 0.1 * 3", 0.3)
    assert is_right("def f():\n    return 42.0", 42)
    assert not is_right("def f():\n    return 41.9", 42)


def test_answers_are_counted_with_their_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = NetworkConfig(hidden_size=16, n_blocks=1, n_heads=2, length=64, vocab_size=301, x0_causal=True)
    folder = write_release(
        tmp_path / "multi_block_size/16/tinygsm/0.1_0.9/absorb", config, tokenizer=byte_level_tokenizer(300)
    )
    model = open_model(str(folder), "cpu")
    answers = iter(["def f():\n    return 42", "def f():\n    return 7", "no idea", "def f():\n    return x"])
    real = gsm8k.sample_batch
    monkeypatch.setattr(
        gsm8k,
        "sample_batch",
        lambda *a, **k: (r := real(*a, **k)) and replace(r, texts=[next(answers) for _ in r.texts]),
    )
    questions = [Question(f"q{i}", 42) for i in range(4)] + [Question("long " * 50, 42)]
    result = evaluate_programs(model, SamplerSettings(steps=1, block_size=16), questions, batch_size=3)
    assert (result.right, result.problems, result.left_out) == (1, 4, 1)
    assert result.no_answer == {"there is no function": 1, "it reads a name that has no value": 1}
    assert result.nfe_per_problem > 0
    with pytest.raises(EvaluationError, match="None of the questions fits"):
        evaluate_programs(model, SamplerSettings(steps=1), [Question("long " * 50, 42)])
