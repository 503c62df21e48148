"""A model whose every prediction a test writes down: the tokens it wants at each position, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from torch import Tensor, nn

from blockviz.models.block_dit import NetworkConfig
from blockviz.models.checkpoint import Model, ModelInfo
from blockviz.models.tokens import Tokens

LETTERS = "abcdefghijklmnopqrstuvwxyz "


class Places(NamedTuple):
    """Stands for `block_dit.Fixed`: where the tokens of a call are."""

    positions: Tensor

    def at(self, *where: slice) -> Places:
        return Places(torch.cat([self.positions[one] for one in where]))


class ScriptedNet(nn.Module):
    """Wants `text` (one token per position) with probability `sure` at each; `seen` are the tokens of every call."""

    def __init__(self, text: Sequence[int], sure: Sequence[float], vocab_size: int) -> None:
        super().__init__()
        self.dtype_holder = nn.Parameter(torch.zeros(1), requires_grad=False)
        probs = torch.zeros(len(text), vocab_size, dtype=torch.float64)
        for place, (token, share) in enumerate(zip(text, sure, strict=True)):
            probs[place] = (1 - share) / (vocab_size - 2)  # MASK is removed before a draw
            probs[place, token] = share
        self.logits = probs.log().float()
        self.seen: list[list[int]] = []

    def fixed(self, positions: Tensor) -> Places:
        return Places(positions)

    def forward(
        self, tokens: Tensor, fixed: Places, mask: Any = None, cache: Any = None, commit: int = 0, **more: Any
    ) -> Tensor:
        positions = fixed.positions
        self.seen.append(tokens[0].tolist())
        assert positions.tolist() == list(range(int(positions[0]), int(positions[0]) + tokens.shape[1]))
        if cache is not None:
            cache.length += commit
        return self.logits[positions[more["first_output"] :]].expand(tokens.shape[0], -1, -1).clone()


def character_model(text: str, sure: Sequence[float]) -> Model:
    """A masked model of characters that wants to write `text`, with these probabilities at its positions."""
    tokenizer = Tokenizer(WordLevel({letter: i for i, letter in enumerate(LETTERS)}, unk_token="a"))
    tokenizer.pre_tokenizer = Split(Regex("."), "isolated")
    vocab_size = len(LETTERS) + 1
    net = ScriptedNet([LETTERS.index(letter) for letter in text], sure, vocab_size)
    config = NetworkConfig(hidden_size=4, n_blocks=1, n_heads=1, length=len(text), vocab_size=vocab_size)
    info = ModelInfo(
        process="masked",
        vocab_size=vocab_size,
        mask_id=vocab_size - 1,
        end_id=None,
        pad_id=None,
        length=len(text),
        block_sizes=(1,),
        block_weights=(1.0,),
    )
    return Model(
        name="scripted",
        net=net,  # type: ignore[arg-type]  # it answers as a BlockDiT does
        config=config,
        info=info,
        tokens=Tokens(tokenizer),
        content_hash="0" * 16,
        device=torch.device("cpu"),
    )


def seen(model: Model) -> list[str]:
    """What the network was given in every call, masks as dots."""
    net: Any = model.net
    return ["".join((LETTERS + ".")[token] for token in tokens) for tokens in net.seen]


def shown(tokens: Sequence[int]) -> str:
    """A canvas as text, masks as dots."""
    return "".join((LETTERS + ".")[token] for token in tokens)
