"""Models for sampler tests: the reference checkpoints with a stand-in tokenizer, and tiny ones with random weights."""

from __future__ import annotations

from functools import cache

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.models.checkpoint import Model, ModelInfo, load
from blockviz.models.tokens import Tokens
from tests.golden import CHECKPOINTS


def words(*ids: int) -> str:
    """The text that the stand-in tokenizer reads as these ids."""
    return " ".join(f"w{i}" for i in ids)


def stand_in_tokens(size: int) -> Tokens:
    """A word-level tokenizer in which `w7` is token 7."""
    tokenizer = Tokenizer(WordLevel({f"w{i}": i for i in range(size)}, unk_token="w0"))
    tokenizer.pre_tokenizer = Whitespace()
    return Tokens(tokenizer)


@cache
def golden_model(letter: str, end_id: int | None = None) -> Model:
    """The reference checkpoint of that letter (a masked, b uniform, c masked and block-causal)."""
    uniform = letter == "b"
    info = ModelInfo(
        process="uniform" if uniform else "masked",
        vocab_size=39 if uniform else 40,
        mask_id=None if uniform else 39,
        end_id=end_id,
        pad_id=None,
        length=64,
        block_sizes=(1, 16),
        block_weights=(0.5, 0.5),
    )
    return load(CHECKPOINTS[letter], device="cpu", info=info, tokens=stand_in_tokens(39))


@cache
def tiny_model(
    process: str,
    *,
    length: int = 22,
    end_id: int | None = None,
    pad_id: int | None = None,
    x0_causal: bool = True,
    words: int = 12,
    favourite: int | None = None,
    seed: int = 5,
) -> Model:
    """Two layers of random weights on `words` words (MASK comes after them); `favourite` is a token it likes most."""
    masked = process == "masked"
    vocab_size = words + 1 if masked else words
    config = NetworkConfig(
        hidden_size=32,
        n_blocks=2,
        n_heads=2,
        length=length,
        vocab_size=vocab_size,
        x0_causal=x0_causal,
    )
    net = BlockDiT(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in net.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.35)
        net.output_layer.linear.bias.zero_()
        if favourite is not None:
            net.output_layer.linear.bias[favourite] = 12.0
    net.requires_grad_(False).eval()
    info = ModelInfo(
        process="masked" if masked else "uniform",
        vocab_size=vocab_size,
        mask_id=words if masked else None,
        end_id=end_id,
        pad_id=pad_id,
        length=length,
        block_sizes=(1, 4),
        block_weights=(0.5, 0.5),
    )
    return Model(
        name=f"tiny-{process}",
        net=net,
        config=config,
        info=info,
        tokens=stand_in_tokens(words),
        content_hash="0" * 16,
        device=torch.device("cpu"),
    )
