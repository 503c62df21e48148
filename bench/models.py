"""The models that the benchmark runs: the bundled ones, and random weights of a wanted shape."""

from __future__ import annotations

from dataclasses import replace

import torch

from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.models.checkpoint import CHECKPOINTS, Model, ModelInfo, load
from blockviz.models.tokens import Tokens
from blockviz.training import math_tokenizer
from blockviz.training.recipes import RECIPES

LARGE = NetworkConfig(
    hidden_size=768, n_blocks=12, n_heads=12, length=1024, vocab_size=50258, cond_dim=128, x0_causal=True
)
"""The shape of the released 170-million-parameter models; its weights are random here."""


def tokens() -> Tokens:
    """The tokenizer of the bundled models."""
    return Tokens(math_tokenizer.build())


def small_config(length: int) -> NetworkConfig:
    """The shape of the bundled masked model on a canvas of `length` positions."""
    recipe = RECIPES["math-masked"]
    return NetworkConfig(
        hidden_size=recipe.hidden_size,
        n_blocks=recipe.n_blocks,
        n_heads=recipe.n_heads,
        length=length,
        vocab_size=tokens().vocab_size + 1,
    )


def random_network(config: NetworkConfig) -> BlockDiT:
    """A network of this shape in evaluation mode, with random weights."""
    net = BlockDiT(config)
    net.initialise(torch.Generator().manual_seed(0))
    return net.requires_grad_(False).eval()


def random_model(config: NetworkConfig, name: str) -> Model:
    """A masked model of this shape with random weights; it never writes an end token of its own accord."""
    info = ModelInfo(
        process="masked",
        vocab_size=config.vocab_size,
        mask_id=config.vocab_size - 1,
        end_id=None,
        pad_id=None,
        length=config.length,
        block_sizes=(16,),
        block_weights=(1.0,),
    )
    return Model(name, random_network(config), config, info, tokens(), "random", torch.device("cpu"))


def bundled() -> Model:
    """The bundled masked model on the CPU.

    In a clone in which nothing is trained yet its weights are random: times do not depend on them, only texts do,
    and every run of the benchmark fills its canvas.
    """
    if (CHECKPOINTS / "math-masked" / "model.safetensors").exists():
        return load("math-masked", "cpu")
    return random_model(small_config(RECIPES["math-masked"].canvas), "math-masked, random weights")


def with_length(model: Model, length: int) -> Model:
    """The same weights with a canvas of another length allowed: rotary positions know no limit."""
    return replace(
        model, info=replace(model.info, length=length), config=replace(model.config, length=length)
    )
