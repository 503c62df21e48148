"""The tokenizer of running text: byte-level BPE, learned from the text itself, which takes any text there is."""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

END = "<|endoftext|>"
BYTES = 256


def build(texts: Iterable[str], entries: int) -> Tokenizer:
    """Learn a byte-level BPE of `entries` tokens, the end token (id 0) and the 256 bytes among them.

    Fewer where the texts hold no more pairs to join. Raises ValueError when there is no room for all bytes.
    """
    if entries < BYTES + 1:
        raise ValueError(f"a byte-level tokenizer needs at least {BYTES + 1} entries, not {entries}")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=entries,
        special_tokens=[AddedToken(END, special=True, normalized=False)],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
