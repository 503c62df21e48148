"""A byte-level vocabulary made by hand, with every kind of token that could break a page, and a trained one."""

from __future__ import annotations

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from blockviz.models.tokens import Tokens

END = "<|endoftext|>"
PLAIN: tuple[bytes, ...] = tuple(
    text.encode()
    for text in ("Hello", " world", " ", "\n", "\t", "\n\n", "    ", "\r\n", "x", "\u00a0", "\u3000")
)
BYTES: tuple[bytes, ...] = (b"\xe2", b"\x82", b"\xac", b" a\xe2\x82", b"\xac b", b"\xff", b"\xed\xa0\x80")
"""A euro sign in three tokens, then one in two tokens that hold other letters too, then bytes that are no text."""
MARKS: tuple[bytes, ...] = tuple(
    text.encode() for text in ("e\u0301", "e", "\u0301", "Z" + "\u0353\u0302\u0321\u0306" * 12, "\u20dd")
)
TURNED: tuple[bytes, ...] = tuple(
    text.encode()
    for text in ("שלום", " שלום!", "مرحبا", "(مرحبا)", "abc שלום 123", "שלום" * 9, "\u202egnp.exe", "\u2066")
)
EMOJI: tuple[bytes, ...] = tuple(
    text.encode()
    for text in ("😀", "👨\u200d👩\u200d👧", "👨", "\u200d", "👩", "🇫🇷", "🇫", "🇷", "👋🏽", "❤\ufe0f", "🏽")
)
UNSEEN: tuple[bytes, ...] = tuple(
    text.encode()
    for text in (
        "\x00",
        "\x1b[31m",
        "\x07",
        "\u200b",
        "\u200c",
        "\ufeff",
        "\u00ad",
        "\u3164",
        "\u2800",
        "\u2028",
    )
)
LONG: tuple[bytes, ...] = tuple(
    text.encode()
    for text in (
        "-" * 64,
        "=" * 200,
        "supercalifragilistic" * 5,
        "ÃÂ" * 16,
        "字" * 20,
        "กี่ที่" * 4,
        "हिन्दी",
        "\u200b" * 90,
    )
)
MARKUP: tuple[bytes, ...] = tuple(
    text.encode()
    for text in (
        "<img src=x onerror=window.hit=1>",
        "${window.hit=1}",
        "{{window.hit=1}}",
        "</script><script>window.hit=1</script>",
        "<b>",
        "<br>",
        "&lt;",
        "&#36;",
        "%{meta}",
        "$x^2$",
        "`",
        "\"'",
        "\\",
        "__proto__",
        "⟨E2⟩",
        "▒",
    )
)
TEXTS = PLAIN + BYTES + MARKS + TURNED + EMOJI + UNSEEN + LONG + MARKUP
"""The bytes of the tokens with ids 0, 1, ..."""


def _alphabet() -> dict[int, str]:
    """Byte -> its character in the byte-level alphabet (GPT-2's: printable bytes as they are, others from 256 on)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + i) for i, byte in enumerate(rest)}


def hand_made() -> Tokens:
    """Tokens 0 to len(TEXTS) - 1 are TEXTS, the next is the end token, then come the single bytes not among them."""
    alphabet = _alphabet()
    names = ["".join(alphabet[byte] for byte in raw) for raw in TEXTS]
    vocabulary = {name: i for i, name in enumerate([*names, END])}
    assert len(vocabulary) == len(TEXTS) + 1, "every text once"
    for character in alphabet.values():
        vocabulary.setdefault(character, len(vocabulary))
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(END, special=True)])
    return Tokens(tokenizer)


def trained() -> Tokens:
    """A byte-level BPE trained on a few lines, whose merges leave halves of characters in tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=275,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[END],
        show_progress=False,
    )
    tokenizer.train_from_iterator(["it cost “€ 5” – or ‘€ 6’ … – she said"] * 20, trainer)
    return Tokens(tokenizer)
