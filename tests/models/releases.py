"""Folders in the released BlockGen format with random weights, and tokenizers of the released size."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from blockviz.models.block_dit import BlockDiT, NetworkConfig

GPT2_SIZE = 50_257


def byte_level_tokenizer(size: int) -> Tokenizer:
    """A byte-level BPE with `size` ids, the last of them the end token: bytes, then pairs of bytes."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pairs = [(a, b) for a in letters for b in letters][: size - 257]
    vocabulary = {word: i for i, word in enumerate([*letters, *(a + b for a, b in pairs)])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    assert tokenizer.get_vocab_size() == size
    return tokenizer


def write_release(
    folder: Path, config: NetworkConfig, *, tokenizer: Tokenizer | None = None, kind: str = "block-dit"
) -> Path:
    """Write model.safetensors and config.json as a release has them, with random weights of this shape."""
    folder.mkdir(parents=True, exist_ok=True)
    net = BlockDiT(config)
    net.initialise(torch.Generator().manual_seed(0))
    save_file({k: v.contiguous() for k, v in net.state_dict().items()}, folder / "model.safetensors")
    content = {
        "name": "small",
        "type": kind,
        "hidden_size": config.hidden_size,
        "cond_dim": config.cond_dim,
        "length": config.length,
        "n_blocks": config.n_blocks,
        "n_heads": config.n_heads,
        "dropout": 0.1,
        "attn_backend": "sdpa",
        "x0_causal": config.x0_causal,
    }
    (folder / "config.json").write_text(json.dumps(content))
    if tokenizer is not None:
        tokenizer.save(str(folder / "tokenizer.json"))
    return folder
