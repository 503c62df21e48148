from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockviz.models.tokens import Tokens
from blockviz.training import byte_tokenizer
from tests.training.made_up_stories import stories

TOKENS = Tokens(byte_tokenizer.build(stories(50), 380))


def test_it_has_the_end_the_bytes_and_what_the_text_repeats() -> None:
    assert TOKENS.vocab_size == 380
    assert TOKENS.end_id == 0
    assert len(TOKENS.encode("Once upon a time, Mia")) < 10
    with pytest.raises(ValueError, match="at least 257 entries"):
        byte_tokenizer.build([], 256)


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=40))
def test_any_text_comes_back(text: str) -> None:
    if byte_tokenizer.END not in text:
        assert TOKENS.decode(TOKENS.encode(text)) == text
