"""Text to token ids and back, and the short visible piece by which a token is shown."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from blockviz.models.pieces import isolated, visible

_END_NAMES = ("<eos>", "</s>", "<|endoftext|>", "<|eos|>", "<|end|>", "[EOS]")
_PAD_NAMES = ("<pad>", "[PAD]", "<|pad|>", "<|padding|>")
_BYTE_TOKEN = re.compile("<0x([0-9A-F]{2})>")
# A byte that is no text, as a shell or a browser may hand it on.
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_WORD = 60  # characters of an unknown word that a message repeats
_HOLE = "\u27e8?\u27e9"


class UnknownText(ValueError):
    """A text has words the model does not know; `words` pairs each with the nearest words it does know."""

    def __init__(self, words: list[tuple[str, tuple[str, ...]]]) -> None:
        self.words = words
        named = [
            f'"{_quoted(word)}"' + (f" (nearest: {', '.join(map(_quoted, near))})" if near else "")
            for word, near in words
        ]
        more = f" and {len(named) - 5} more" if len(named) > 5 else ""
        super().__init__(f"The model does not know {', '.join(named[:5])}{more}.")


def _quoted(word: str) -> str:
    shown = visible(word)
    return isolated(shown if len(shown) <= _LONGEST_WORD else shown[: _LONGEST_WORD - 1] + "\u2026")


def _byte_of_character() -> dict[str, int]:
    """GPT-2's reversible table: printable bytes stand for themselves, the others for characters from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    table.update({chr(256 + i): byte for i, byte in enumerate(others)})
    return table


class Tokens:
    """A tokenizer as the rest of the program uses it; `specials` are its special tokens, never made from typed text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.vocab_size = tokenizer.get_vocab_size()
        parts = json.loads(tokenizer.to_str())
        self.word_level = parts["model"].get("type") == "WordLevel"
        kinds = [parts["decoder"], *((parts["decoder"] or {}).get("decoders") or [])]
        decoders = {kind.get("type"): kind for kind in kinds if kind}
        self._byte_level = "ByteLevel" in decoders
        self._byte_fallback = "ByteFallback" in decoders
        self._space = _mark_of_space(decoders)
        self.specials: dict[str, int] = {
            token.content: i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special
        }
        self.end_id = next((self.specials[name] for name in _END_NAMES if name in self.specials), None)
        self.pad_id = next((self.specials[name] for name in _PAD_NAMES if name in self.specials), None)

    @classmethod
    def from_file(cls, path: str | Path) -> Tokens:
        """Read a tokenizer.json; the errors of `tokenizers` (bare Exception) pass through."""
        return cls(Tokenizer.from_str(Path(path).read_text(encoding="utf-8")))

    def save(self, path: str | Path) -> None:
        """Write tokenizer.json."""
        Path(path).write_text(self.tokenizer.to_str(pretty=True) + "\n", encoding="utf-8")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tokenizer's own name of every id; "" for an id it does not use."""
        return tuple(self.tokenizer.id_to_token(i) or "" for i in range(self.vocab_size))

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        return self.tokenizer.get_vocab(with_added_tokens=True)

    @cached_property
    def _words(self) -> list[str]:
        return sorted(word for word in self._vocabulary if word not in self.specials)

    @cached_property
    def carries_spaces(self) -> bool:
        """Whether there are tokens of a space and what follows it, as byte-pair vocabularies of running text have."""
        found = map(self.raw, range(self.vocab_size))
        return any(len(token) > 1 and token.startswith(b" ") and not token.isspace() for token in found)

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, normalised by the tokenizer; UnknownText names words and special tokens it refuses."""
        unknown = self._unknown(text)
        if unknown:
            raise UnknownText([(word, self._nearest(word)) for word in unknown])
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def _unknown(self, text: str) -> list[str]:
        if _LONE_SURROGATE.search(text):  # no tokenizer takes such a text at all
            return list(dict.fromkeys(word for word in text.split() if _LONE_SURROGATE.search(word)))
        lowered = text.lower()
        found = [name for name in self.specials if name.lower() in lowered]
        if self.word_level:
            normal = self.tokenizer.normalizer.normalize_str(text) if self.tokenizer.normalizer else text
            splitter = self.tokenizer.pre_tokenizer
            pieces = [piece for piece, _ in splitter.pre_tokenize_str(normal)] if splitter else normal.split()
            known = self._vocabulary
            found += [piece for piece in pieces if piece not in known or piece in self.specials]
        return list(dict.fromkeys(found))

    def _nearest(self, word: str) -> tuple[str, ...]:
        if not self.word_level or not re.search(r"[^\W\d_]", word) or word in self.specials:
            return ()
        return tuple(difflib.get_close_matches(word[:40], self._words, n=3, cutoff=0.5))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids as a whole, without special tokens; an id outside the tokenizer (MASK) reads as "⟨?⟩"."""
        runs: list[list[int] | None] = []
        for i in ids:
            if not 0 <= i < self.vocab_size:
                runs.append(None)
            elif runs and runs[-1] is not None:
                runs[-1].append(int(i))
            else:
                runs.append([int(i)])
        texts = [
            _HOLE if run is None else self.tokenizer.decode(run, skip_special_tokens=True) for run in runs
        ]
        return (" " if self.word_level else "").join(text for text in texts if text)

    def piece(self, token_id: int) -> str:
        """How one token is shown: its text with ␣ ⏎ ⇥ for white space and ⟨E2⟩ for bytes that are no text alone.

        Never empty, never longer than `LONGEST_PIECE`, with nothing invisible in it (`blockviz.models.pieces`).
        """
        name = self.tokenizer.id_to_token(int(token_id)) if 0 <= token_id < self.vocab_size else None
        if name is None:
            return _HOLE
        if name in self.specials:
            return visible(name)
        return visible(self._text(name))

    def _text(self, name: str) -> str:
        """The text that a token's name stands for; bytes that are no text alone become surrogates (PEP 383)."""
        if self._byte_level:
            return _bytes_as_text(name)
        byte = _BYTE_TOKEN.fullmatch(name) if self._byte_fallback else None
        if byte:
            return bytes([int(byte[1], 16)]).decode("utf-8", errors="surrogateescape")
        return name.replace(self._space, " ") if self._space else name

    def raw(self, token_id: int) -> bytes:
        """The bytes of one token's text (UTF-8 unless the tokenizer works on bytes); none for special ids and MASK."""
        name = self.tokenizer.id_to_token(int(token_id)) if 0 <= token_id < self.vocab_size else None
        if name is None or name in self.specials:
            return b""
        return self._text(name).encode("utf-8", errors="surrogateescape")


_BYTES = _byte_of_character()


def _bytes_as_text(name: str) -> str:
    if any(character not in _BYTES for character in name):
        return name  # an added token, stored as plain text
    return bytes(_BYTES[character] for character in name).decode("utf-8", errors="surrogateescape")


def _mark_of_space(decoders: Mapping[str, dict[str, Any]]) -> str:
    """The character by which a SentencePiece tokenizer writes a space; "" where there is none."""
    if "Metaspace" in decoders:
        return str(decoders["Metaspace"].get("replacement", ""))
    replace = decoders.get("Replace", {})
    return str(replace.get("pattern", {}).get("String", "")) if replace.get("content") == " " else ""
