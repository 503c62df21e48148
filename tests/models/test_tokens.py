from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from blockviz.models.tokens import Tokens, UnknownText
from blockviz.training.math_tokenizer import build

MATH = Tokens(build())


@pytest.fixture(scope="module")
def byte_level() -> Tokens:
    """A GPT-2 style tokenizer, trained here on a few words."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(["hello there world"] * 20, trainer)
    tokenizer.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    return Tokens(tokenizer)


class TestEncode:
    def test_problem(self) -> None:
        assert MATH.decode(MATH.encode("Mia has twelve apples.")) == "mia has 12 apples ."

    def test_empty(self) -> None:
        assert MATH.encode("") == []
        assert MATH.decode([]) == ""

    def test_unknown_words_are_named_with_near_ones(self) -> None:
        with pytest.raises(UnknownText, match=r'"aples".*nearest: .*apples') as caught:
            MATH.encode("Mia has aples and dragons and aples")
        assert [word for word, _ in caught.value.words] == ["aples", "dragons"]
        assert "apples" in caught.value.words[0][1]
        assert len(caught.value.words[0][1]) <= 3

    @pytest.mark.parametrize("text", ["3.5", "mia's", "\U0001f600", "@", "\u00bd", "<script>"])
    def test_what_is_no_word_is_refused_whole(self, text: str) -> None:
        with pytest.raises(UnknownText) as caught:
            MATH.encode(f"mia has {text}")
        assert caught.value.words

    @pytest.mark.parametrize("text", ["<eos>", "mia <EOS> has", "apples<eos>"])
    def test_special_tokens_are_refused(self, text: str) -> None:
        with pytest.raises(UnknownText, match="<eos>"):
            MATH.encode(text)

    def test_long_list_is_cut(self) -> None:
        with pytest.raises(UnknownText, match="and 3 more") as caught:
            MATH.encode("qa qb qc qd qe qf qg qh")
        assert len(caught.value.words) == 8

    @given(st.text(max_size=60))
    def test_any_text_is_read_or_refused(self, text: str) -> None:
        try:
            ids = MATH.encode(text)
        except UnknownText:
            return
        assert MATH.end_id not in ids
        assert MATH.encode(MATH.decode(ids)) == ids


class TestPieces:
    def test_every_word_is_its_own_piece(self) -> None:
        assert [MATH.piece(i) for i in MATH.encode("mia has 12 apples .")] == [
            "mia",
            "has",
            "1",
            "2",
            "apples",
            ".",
        ]

    def test_special_and_outside(self) -> None:
        assert MATH.end_id is not None
        assert MATH.piece(MATH.end_id) == "<eos>"
        assert MATH.piece(MATH.vocab_size) == "\u27e8?\u27e9"
        assert MATH.piece(-1) == "\u27e8?\u27e9"
        assert all(MATH.piece(i).strip() for i in range(MATH.vocab_size))

    def test_byte_level(self, byte_level: Tokens) -> None:
        assert not byte_level.word_level
        text = "hello\n\tthere \u2026"
        pieces = [byte_level.piece(i) for i in byte_level.encode(text)]
        shown = "".join(pieces)
        assert shown == "hello\u23ce\u21e5there\u2423\u27e8E2\u27e9\u27e880\u27e9\u27e8A6\u27e9"
        assert all(byte_level.piece(i).strip() for i in range(byte_level.vocab_size))
        assert byte_level.piece(byte_level.end_id or 0) == "<|endoftext|>"

    def test_raw_bytes_are_those_of_the_text(self, byte_level: Tokens) -> None:
        assert MATH.raw(MATH.encode("apples")[0]) == b"apples"
        assert MATH.raw(MATH.end_id or 0) == b""
        assert MATH.raw(MATH.vocab_size) == b""
        assert MATH.raw(-1) == b""
        for text in ("hello\n\tthere \u2026", "h\u00e9llo \U0001f600"):
            ids = byte_level.encode(text)
            assert b"".join(byte_level.raw(i) for i in ids) == text.encode()
        assert byte_level.raw(byte_level.end_id or 0) == b""

    def test_byte_level_refuses_specials_and_nothing_else(self, byte_level: Tokens) -> None:
        assert byte_level.decode(byte_level.encode("h\u00e9llo \U0001f600")) == "h\u00e9llo \U0001f600"
        with pytest.raises(UnknownText, match="endoftext"):
            byte_level.encode("hello <|endoftext|>")


class TestDecode:
    def test_holes_keep_digits_apart(self) -> None:
        three, four = MATH.encode("34")
        assert MATH.decode([three, four]) == "34"
        assert MATH.decode([three, MATH.vocab_size, four]) == "3 \u27e8?\u27e9 4"

    def test_end_token_is_left_out(self) -> None:
        assert MATH.end_id is not None
        assert MATH.decode([*MATH.encode("#### 7"), MATH.end_id]) == "#### 7"

    def test_a_character_split_over_tokens_is_whole(self, byte_level: Tokens) -> None:
        ids = byte_level.encode("\u2026")
        assert len(ids) == 3
        assert byte_level.decode(ids) == "\u2026"


def test_file_round_trip(tmp_path: Path) -> None:
    MATH.save(tmp_path / "tokenizer.json")
    again = Tokens.from_file(tmp_path / "tokenizer.json")
    assert again.names == MATH.names
    assert again.encode("Mia has forty-two apples.") == MATH.encode("mia has 42 apples .")
    assert (again.end_id, again.pad_id) == (MATH.end_id, None)


@pytest.fixture(scope="module")
def byte_fallback() -> Tokens:
    """A LLaMA style tokenizer: a mark for the space, tokens for the bytes of what is in no token."""
    names = ["<unk>", "<s>", "</s>", "<0xE2>", "<0x82>", "<0xAC>", "<0x0A>", "\u2581", "\u2581a", "a"]
    tokenizer = Tokenizer(
        models.BPE({name: i for i, name in enumerate(names)}, [], unk_token="<unk>", byte_fallback=True)
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in names[:3]])
    return Tokens(tokenizer)


class TestSentencePiece:
    def test_bytes_and_spaces_are_shown_as_everywhere(self, byte_fallback: Tokens) -> None:
        shown = [byte_fallback.piece(i) for i in range(byte_fallback.vocab_size)]
        assert shown[:3] == ["<unk>", "<s>", "</s>"]
        assert shown[3:] == [
            "\u27e8E2\u27e9",
            "\u27e882\u27e9",
            "\u27e8AC\u27e9",
            "\u23ce",
            "\u2423",
            "\u2423a",
            "a",
        ]
        assert byte_fallback.decode([3, 4, 5]) == "\u20ac"

    def test_metaspace(self) -> None:
        tokenizer = Tokenizer(models.WordLevel({"\u2581a": 0, "<unk>": 1}, unk_token="<unk>"))
        tokenizer.decoder = decoders.Metaspace()
        assert Tokens(tokenizer).piece(0) == "\u2423a"


class TestMessages:
    def test_what_is_typed_cannot_hide_or_turn_the_message_around(self) -> None:
        with pytest.raises(UnknownText) as caught:
            MATH.encode("mia has \u202egnp.exe <img/src=x> \u05e9\u05dc\u05d5\u05dd ${x}")
        message = str(caught.value)
        assert "\u202e" not in message
        assert "\u27e8202E\u27e9" in message
        assert "\u2068\u05e9\u05dc\u05d5\u05dd\u2069" in message

    def test_a_very_long_word_is_cut(self) -> None:
        with pytest.raises(UnknownText) as caught:
            MATH.encode("q" * 4000)
        assert len(str(caught.value)) < 120
