"""Texts with gaps and constraints, and the runs that fill them: what is given never changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockviz.models.tokens import Tokens, UnknownText
from blockviz.sampling.batch import sample_batch
from blockviz.sampling.passes import STATE_CODE
from blockviz.sampling.prompts import Prompt, has_gaps, read_prompt
from blockviz.sampling.run import sample
from blockviz.sampling.settings import SamplerSettings, SettingsError
from blockviz.training import byte_tokenizer
from tests.sampling.small_models import stand_in_tokens, tiny_model

TOKENS = stand_in_tokens(12)
WRITTEN = [None] * 3


def read(text: str, length: int = 12, end_id: int | None = 9) -> list[int | None]:
    return list(read_prompt(text, TOKENS, length, end_id).tokens)


def test_a_plain_text_is_its_tokens() -> None:
    assert read("w1 w2") == [1, 2]
    assert read("") == []
    assert not has_gaps("w1 [ [3] ]")


def test_a_text_with_gaps_ends_with_its_last_word() -> None:
    assert read("w1 [[3]] w2") == [1, *WRITTEN, 2, *[9] * 7]
    assert read("[[3]]w2 [[3]]", length=7) == [*WRITTEN, 2, *WRITTEN]
    assert read_prompt("w1 [[3]] w2", TOKENS, 12, None) == Prompt((1, None, None, None, 2), 5)


def test_a_space_before_what_is_written_belongs_to_it() -> None:
    spoken = Tokens(byte_tokenizer.build(["a dog saw a cat and a big bird"] * 50, 300))

    def tokens(text: str) -> list[int | None]:
        return list(read_prompt(text, spoken, 64, None).tokens)

    dog, cat = spoken.encode("a dog"), spoken.encode(" cat")
    assert tokens("a dog [[2]] cat") == tokens("a dog[[2]] cat") == [*dog, None, None, *cat]
    assert tokens("a dog [[1]] [[1]] cat") == [*dog, None, None, *cat]
    assert tokens("a dog ") == tokens("a dog") == tokens("a dog [[]]") == dog
    assert tokens("a dog  ") == spoken.encode("a dog "), "one space, no more"
    assert tokens("a dog [[20=b]]")[: len(dog) + 1] == spoken.encode("a dog "), (
        "nothing is written right behind it"
    )


def test_an_open_end_goes_on() -> None:
    assert read("w1 [[3]] w2 [[]] ") == [1, *WRITTEN, 2]
    assert read("w1 [[]]") == [1]


def test_a_position_can_be_given() -> None:
    assert read("w1 [[4=w7 w8]]") == [1, None, None, 7, 8]
    assert read("w1 [[3]][[3=w5]] w2", length=6) == [1, None, 5, None, 2, 9]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("w1 [[30]] w2", r"takes 32 positions with its gaps: allowed is at most 12, the length"),
        ("w1 [[]] w2", r"at the end only"),
        ("w1 [[1=w2]]", r"Position 1 is fixed already"),
        ("w1 [[13=w2]]", r"Nothing can stand at position 13"),
        ("w1 [[12=w2 w3]]", r"Nothing can stand at position 12"),
        ("w1 [[0=w2]]", r"Nothing can stand at position 0"),
    ],
)
def test_marks_that_cannot_be_used(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as error:
        read(text)
    assert error.value.field == "prompt"


def test_unknown_words_are_named_wherever_they_stand() -> None:
    with pytest.raises(UnknownText, match="w99"):
        read("w1 [[3]] w99")
    with pytest.raises(SettingsError, match="position left to write"):
        sample(tiny_model("masked", end_id=9), "w1 [[0]] w2")


OPTIONS: dict[str, dict[str, Any]] = {
    "whole canvas": {"block_size": 22},
    "blocks": {"block_size": 4},
    "corrected": {"block_size": 22, "corrector": "ar_nll"},
    "ar": {"predictor": "autoregressive"},
    "prefix": {"block_size": 4, "ar_prefix": 2},
}


@pytest.mark.parametrize("process", ["masked", "uniform"])
@pytest.mark.parametrize("mode", OPTIONS)
def test_what_is_given_never_changes_and_the_rest_is_written(process: str, mode: str) -> None:
    model = tiny_model(process, end_id=9)
    trace = sample(model, "w1 [[3]] w2 w3 [[2]] w4", SamplerSettings(steps=3, **OPTIONS[mode]))
    wanted = read("w1 [[3]] w2 w3 [[2]] w4", 22)
    fixed = np.array([token is not None for token in wanted])
    assert (trace.states[:, fixed] == STATE_CODE["prompt"]).all()
    for entry in trace.passes:
        assert entry.tokens[fixed].tolist() == [token for token in wanted if token is not None]
    last = trace.passes[-1]
    done = {STATE_CODE["committed"], STATE_CODE["revealed"]}  # the last token that AR writes is not committed
    assert set(last.states[~fixed].tolist()) <= done
    assert trace.header.tokens == (1,)
    assert trace.header.prompt == "w1 [[3]] w2 w3 [[2]] w4"
    words = trace.end.text.split()
    assert words[-1] == "w4"
    assert words[3:5] == ["w2", "w3"]
    assert len(words) == 8


@settings(max_examples=25, deadline=None)
@given(st.lists(st.none() | st.integers(0, 8), min_size=1, max_size=10), st.sampled_from([4, 22]))
def test_any_choice_of_positions_can_be_given(tokens: list[int | None], block_size: int) -> None:
    marks = "".join(" [[1]] " if token is None else f" w{token} " for token in tokens) + "[[2]] w1"
    trace = sample(tiny_model("masked", end_id=9), marks, block_size=block_size, steps=2)
    now = trace.passes[-1].tokens.tolist()
    assert all(token in (None, there) for token, there in zip(tokens, now, strict=False))
    assert 12 not in now


def test_a_text_does_not_end_before_its_last_given_word() -> None:
    """The model likes the end token best; it may stand behind the given words only."""
    model = tiny_model("masked", end_id=9, favourite=9)
    trace = sample(model, "w1 [[4]] w2 [[]]", block_size=4, steps=2)
    last = trace.passes[-1].tokens
    assert 9 not in last[:6]
    assert 9 in last[6:8]
    assert trace.end.finished == "end_token"
    for entry in trace.passes[1:]:
        assert 9 not in entry.top_ids[: max(0, 6 - entry.start)]


def test_a_batch_fills_its_gaps_as_each_row_would_alone() -> None:
    model = tiny_model("masked", end_id=9)
    prompts = ["w1 [[3]] w2", "w1 w2 [[5]] w3 [[]]", "w4", "[[7=w3]]"]
    given = SamplerSettings(block_size=4, steps=3)
    batch = sample_batch(model, prompts, given, [1, 2, 3, 4])
    for row, (prompt, seed) in enumerate(zip(prompts, [1, 2, 3, 4], strict=True)):
        alone = sample(model, prompt, replace(given, seed=seed))
        assert batch.tokens[row].tolist() == alone.passes[-1].tokens.tolist()
        assert batch.texts[row] == alone.end.text
    with pytest.raises(ValueError, match="canvases of one length"):
        sample_batch(tiny_model("masked"), ["w1 [[3]] w2", "w1"], given, [1, 2])
