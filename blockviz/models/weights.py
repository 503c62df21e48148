"""Reading a checkpoint's network: its config.json and tensors, each checked against the other before it is built."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.models.decoder import DecoderConfig, network
from blockviz.models.fields import CheckpointError, Fields, read_json, shown

# Released files may or may not hold the rotary frequencies. They follow from head_dim, and a 16-bit copy of them
# would move every position, so they are neither read nor written.
DERIVED_KEYS = {"rotary_emb.inv_freq"}

# Bounds far above any model that fits here, so that a garbled number is named before it is allocated.
LONGEST_CANVAS = 65_536
WIDEST = 65_536
MOST_LAYERS = 1000
STORED = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def network_config(path: Path, known_tokens: int) -> NetworkConfig:
    """The network that config.json and the shapes of the tensors in a folder describe; no tensor is read.

    `known_tokens` is the size of the vocabulary elsewhere. Raises CheckpointError where they differ or are not sane.
    """
    content = Fields("config.json", read_json(path / "config.json"))
    shapes = _shapes(path / "model.safetensors")
    embedding = shapes.get("vocab_embed.embedding", ())
    if len(embedding) != 2:
        raise CheckpointError("model.safetensors has no vocab_embed.embedding of two dimensions")
    vocab_size, width = embedding
    hidden_size = content.whole("hidden_size", 2, WIDEST)
    if hidden_size != width:
        raise CheckpointError(f"config.json says hidden_size {hidden_size}, the weights have {width}")
    if vocab_size != known_tokens:
        raise CheckpointError(f"the weights have {vocab_size} tokens, blockviz.json says {known_tokens}")
    n_blocks = content.whole("n_blocks", 1, MOST_LAYERS)
    layers = {match[1] for name in shapes if (match := re.match(r"blocks\.(\d+)\.", name))}
    if any(str(layer) not in layers for layer in range(n_blocks)):
        raise CheckpointError(f"config.json says n_blocks {n_blocks}, the weights have {len(layers)}")
    adaptive = "sigma_map.mlp.0.weight" in shapes
    cond_dim = content.whole("cond_dim", 1, WIDEST) if adaptive else content.whole("cond_dim", 0, WIDEST, 0)
    n_heads = content.whole("n_heads", 1, WIDEST)
    length = content.whole("length", 1, LONGEST_CANVAS)
    dropout = content.number("dropout", 0, 1, 0.0)
    x0_causal = content.flag("x0_causal")
    kind = content.choice("type", ("block-dit", "decoder"), "block-dit")
    for told in (
        "name",
        "attn_backend",
    ):  # nothing here depends on them, but a file of another kind shows in them
        content.text(told, "")
    more = _decoder_fields(content) if kind == "decoder" else {}
    try:
        return (DecoderConfig if kind == "decoder" else NetworkConfig)(
            hidden_size=hidden_size,
            n_blocks=n_blocks,
            n_heads=n_heads,
            length=length,
            vocab_size=vocab_size,
            cond_dim=cond_dim if adaptive else 0,
            dropout=dropout,
            x0_causal=x0_causal,
            **more,
        )
    except ValueError as error:
        raise CheckpointError(f"config.json does not fit together: {error}") from error


def config_fields(config: NetworkConfig) -> dict[str, Any]:
    """What config.json says of a network, in the released format; a decoder's own fields behind it."""
    content: dict[str, Any] = {
        "type": "decoder" if isinstance(config, DecoderConfig) else "block-dit",
        "hidden_size": config.hidden_size,
        "cond_dim": config.cond_dim,
        "length": config.length,
        "n_blocks": config.n_blocks,
        "n_heads": config.n_heads,
        "dropout": config.dropout,
        "attn_backend": "sdpa",
        "x0_causal": config.x0_causal,
    }
    own = {field.name for field in fields(DecoderConfig)} - {field.name for field in fields(NetworkConfig)}
    return content | {name: value for name, value in asdict(config).items() if name in own}


def _decoder_fields(content: Fields) -> dict[str, Any]:
    rotary = content.content.get("rotary_base") is not None
    flags = ("gated", "qkv_bias", "out_bias", "mlp_bias", "head_norms", "tied")
    return {
        "shared_heads": content.whole("shared_heads", 1, WIDEST),
        "head_width": content.whole("head_width", 2, WIDEST),
        "mlp_width": content.whole("mlp_width", 1, 16 * WIDEST),
        "norm": content.choice("norm", ("rms", "layer")),
        "norm_eps": content.number("norm_eps", 0, 1),
        "rotary_base": content.number("rotary_base", 1, 1e12) if rotary else None,
        **{flag: content.flag(flag) for flag in flags},
    }


def vocabulary_of(path: Path) -> int:
    """How many tokens the embedding in a weights file knows; no tensor is read. Raises CheckpointError."""
    embedding = _shapes(path).get("vocab_embed.embedding", ())
    if len(embedding) != 2:
        raise CheckpointError(f"{path.name} has no vocab_embed.embedding of two dimensions")
    return embedding[0]


def _shapes(path: Path) -> dict[str, tuple[int, ...]]:
    try:
        with safe_open(path, "pt") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except Exception as error:  # as in load_tensors
        raise _unreadable(path, error) from error


def _check_shapes(state: Mapping[str, Tensor], net: BlockDiT) -> None:
    expected = {name: tuple(tensor.shape) for name, tensor in net.state_dict().items()}
    missing = sorted(set(expected) - set(state) - DERIVED_KEYS)
    if missing:
        raise CheckpointError(f"model.safetensors lacks {missing[0]} ({len(missing)} missing)")
    foreign = sorted(set(state) - set(expected))
    if foreign:
        raise CheckpointError(
            f"model.safetensors holds {shown(foreign[0])}, which this network does not have"
        )
    for name, tensor in state.items():
        if tuple(tensor.shape) != expected[name]:
            raise CheckpointError(f"{name} has shape {list(tensor.shape)}, expected {list(expected[name])}")


def load_tensors(path: Path, config: NetworkConfig) -> dict[str, Tensor]:
    """The tensors of a file by name, as float32: those that `config` asks for, all finite; else CheckpointError."""
    try:
        state = load_file(path)
    except (
        Exception
    ) as error:  # safetensors, the file system and torch (for a type it lacks) each raise their own
        raise _unreadable(path, error) from error
    with torch.device("meta"):
        _check_shapes(state, network(config))
    for name, tensor in state.items():
        if tensor.dtype not in STORED:
            kinds = ", ".join(_type_name(dtype) for dtype in STORED)
            raise CheckpointError(
                f"{name} is stored as {_type_name(tensor.dtype)}, it must be one of {kinds}"
            )
        state[name] = tensor.float()
        if not torch.isfinite(state[name]).all():
            raise CheckpointError(f"{name} holds values that are not finite numbers")
    return state


def _unreadable(path: Path, error: Exception) -> CheckpointError:
    return CheckpointError(f"{path.name} is not a readable safetensors file: {error}")


def _type_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
