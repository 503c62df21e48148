"""Tiny models with random weights and the word problems' tokenizer, for the commands that need a task."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import torch

from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.models.checkpoint import Model, ModelInfo, save
from blockviz.models.tokens import Tokens
from blockviz.training import math_tokenizer


def _parts(process: str) -> tuple[BlockDiT, ModelInfo, Tokens]:
    tokens = Tokens(math_tokenizer.build())
    vocab_size = tokens.vocab_size + (process == "masked")
    torch.manual_seed(3)
    net = BlockDiT(NetworkConfig(hidden_size=16, n_blocks=1, n_heads=2, length=128, vocab_size=vocab_size))
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in net.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.5)
    info = ModelInfo(
        process="masked" if process == "masked" else "uniform",
        vocab_size=vocab_size,
        mask_id=vocab_size - 1 if process == "masked" else None,
        end_id=tokens.end_id,
        pad_id=None,
        length=128,
        block_sizes=(1, 16),
        block_weights=(0.5, 0.5),
        task="math",
    )
    return net.requires_grad_(False).eval(), info, tokens


@cache
def math_model(process: str) -> Model:
    net, info, tokens = _parts(process)
    return Model("tiny-math", net, net.config, info, tokens, "0" * 16, torch.device("cpu"))


def write_checkpoint(folder: Path, process: str) -> Path:
    return save(folder, *_parts(process))
