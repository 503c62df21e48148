from __future__ import annotations

from dataclasses import replace

import pytest

from blockviz.models.tokens import Tokens
from blockviz.training import byte_tokenizer
from blockviz.training.recipes import RECIPES
from blockviz.training.text_corpus import BEGINNING_SHARE, GAP_SHARE, PROMPT_SHARE, TextCorpus
from blockviz.training.text_source import split_of
from tests.training.made_up_stories import stories

TEXTS = stories(400)
TOKENS = Tokens(byte_tokenizer.build(TEXTS, 320))
RECIPE = replace(RECIPES["stories-base"], canvas=64, batch=16)


def corpus(**changes: object) -> TextCorpus:
    return TextCorpus(replace(RECIPE, **changes), TOKENS, TEXTS)


def windows(count: int, **changes: object) -> list[tuple[int, ...]]:
    made = corpus(**changes)
    return [example.tokens for step in range(count) for example in made.batch(step)]


def test_an_example_depends_on_seed_and_index_alone() -> None:
    whole = corpus()
    steps = [whole.batch(step) for step in range(60)]
    assert corpus().batch(47) == steps[47]
    assert whole.batch(3) == steps[3]
    assert corpus(seed=5).batch(3) != steps[3]


def test_every_epoch_shows_every_text_once_and_cuts_it_anew() -> None:
    made = corpus(batch=1)
    count = made.size[0]
    assert count == sum(split_of(text) == "train" for text in TEXTS)
    beginnings = {tuple(TOKENS.encode(text))[:64] for text in TEXTS}
    epochs = [[made.batch(epoch * count + i)[0] for i in range(count)] for epoch in range(2)]
    assert epochs[0] != epochs[1]
    for epoch in epochs:
        whole = [e for e in epoch if e.tokens[:64] in beginnings or e.tokens[:-1] in beginnings]
        assert len(whole) / count > BEGINNING_SHARE - 0.08


def test_windows_are_pieces_of_a_text_from_a_sentence_on() -> None:
    ends = 0
    for window in windows(20):
        assert 1 < len(window) <= 64
        text = TOKENS.decode(window)
        source = next(whole for whole in TEXTS if text in whole)
        assert split_of(source) == "train"
        before = source[: source.index(text)].rstrip(" ")
        assert not before or before[-1] in '.!?"\n'
        if window[-1] == TOKENS.end_id:
            assert source.endswith(text)
        else:
            assert len(window) == 64
        ends += window[-1] == TOKENS.end_id
    assert ends > 10


def test_some_rows_keep_a_prompt_or_spans() -> None:
    made = corpus()
    rows = [example for step in range(60) for example in made.batch(step)]
    prompts = sum(row.prompt_length > 0 for row in rows) / len(rows)
    gaps = sum(bool(row.kept) for row in rows) / len(rows)
    assert abs(prompts - PROMPT_SHARE) < 0.05
    assert abs(gaps - GAP_SHARE) < 0.05
    assert all(row.prompt_length < len(row.tokens) for row in rows)
    assert all(0 <= first < last for row in rows for first, last in row.kept)


def test_validation_holds_beginnings_of_held_out_texts() -> None:
    made = corpus()
    rows = made.validation(5)
    assert rows == corpus(seed=9).validation(5)
    held_out = [text for text in TEXTS if split_of(text) == "test"]
    assert len(made.validation(1000)) == len(held_out)
    for row in rows:
        assert any(text.startswith(TOKENS.decode(row.tokens)) for text in held_out)
        assert row.prompt_length == 0


def test_the_fingerprint_tells_texts_apart() -> None:
    assert corpus().fingerprint == corpus(seed=3).fingerprint
    assert corpus().fingerprint != TextCorpus(RECIPE, TOKENS, TEXTS[1:]).fingerprint


def test_a_tokenizer_without_an_end_is_refused() -> None:
    bare = Tokens(TOKENS.tokenizer)
    bare.end_id = None
    with pytest.raises(ValueError, match="no end token"):
        TextCorpus(RECIPE, bare, TEXTS)
