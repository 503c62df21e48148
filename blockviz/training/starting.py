"""What a run begins with: fresh weights, those another run ended with, or a published causal decoder.

A network that was trained left to right alone, our own or a published one, becomes a denoiser by being trained as one:
its trunk, tokenizer and, for our own, the optimiser's state are taken over (the paper's AR overlay, arXiv 2606.02241).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from blockviz.models.block_dit import NetworkConfig
from blockviz.models.checkpoint import read_tokens
from blockviz.models.decoder_files import read_decoder
from blockviz.models.tokens import Tokens
from blockviz.training.recipes import RECIPES, Recipe
from blockviz.training.runfiles import RunError, finished_state, read_record

EMBEDDING = "vocab_embed.embedding"
HEAD = ("output_layer.linear.weight", "output_layer.linear.bias")


@dataclass(frozen=True)
class Start:
    """`weights` by name; `state`, a whole `Optimiser.state()`, where the optimiser goes on too; `shape` and `tokens` of

    a network that is not one of our own.
    """

    weights: dict[str, Tensor]
    state: dict[str, Tensor] | None = None
    shape: NetworkConfig | None = None
    tokens: Tokens | None = None


def start_of(recipe: Recipe, run: Path, decoder: Path | None) -> Start | None:
    """What the run of a recipe in the folder `run` begins with, None for fresh weights.

    The run that a recipe starts from lies beside `run`, in a folder of its recipe's name; `decoder` is the folder of a
    published decoder. Raises RunError where what is needed is not there or not named, CheckpointError for a decoder
    that cannot be read.
    """
    if recipe.from_decoder != (decoder is not None):
        raise RunError(
            f"the recipe {recipe.name} starts from a causal decoder: name its folder with --decoder"
            if recipe.from_decoder
            else f"the recipe {recipe.name} does not start from a published decoder, --decoder is for others"
        )
    if decoder is not None:
        shape, weights = read_decoder(decoder)
        tokens = read_tokens(decoder / "tokenizer.json", shape.vocab_size)
        if tokens.end_id is None:
            raise RunError(f"the tokenizer in {decoder} has no end token, which every text needs")
        if shape.rotary_base is not None:
            shape = replace(shape, length=recipe.canvas)
        elif shape.length < recipe.canvas:
            raise RunError(
                f"the decoder has {shape.length} positions, the canvas of {recipe.name} {recipe.canvas}"
            )
        return Start(weights, shape=shape, tokens=tokens)
    if recipe.starts_from is None:
        return None
    state = finished_state(run.parent / recipe.starts_from, RECIPES[recipe.starts_from])
    weights = _part(state, "average")
    return Start(weights, state if recipe.keeps_optimiser else None)


def history(run: Path, recipe: Recipe) -> list[dict[str, Any]]:
    """What was really run, for the model card: the run in `run` behind those it started from, oldest first."""
    stored, progress = read_record(run)
    before = recipe.starts_from
    return [
        *(history(run.parent / before, RECIPES[before]) if before is not None else []),
        {
            "recipe": stored["name"],
            "process": stored["process"],
            "batch": stored["batch"],
            "block_sizes": stored["block_sizes"],
            "stages": [
                {"steps": stage["steps"], "block_weights": stage["block_weights"]}
                for stage in stored["stages"]
            ],
            "steps": progress["step"],
            "seconds": round(progress["seconds"]),
            "device": progress.get("device", "cpu"),
        },
    ]


def fit_vocabulary(weights: dict[str, Tensor], vocab_size: int) -> dict[str, Tensor]:
    """Weights of a network without MASK for one with a MASK as last token, or unchanged where the sizes agree.

    To the old network a token of pure noise looked like any token, so the mean of all embeddings stands for it.
    """
    embedding = weights[EMBEDDING]
    if len(embedding) == vocab_size:
        return weights
    fitted = dict(weights)
    fitted[EMBEDDING] = torch.cat([embedding, embedding.mean(dim=0, keepdim=True)])
    for name in HEAD:
        if name in weights:
            fitted[name] = _with_zeros(weights[name])
    return fitted


def fit_state(state: dict[str, Tensor], vocab_size: int) -> dict[str, Tensor]:
    """A whole `Optimiser.state()` likewise; the MASK row has no past, so its moments are zero."""
    fitted = {
        f"{part}/{name}": tensor
        for part in ("weights", "average")
        for name, tensor in fit_vocabulary(_part(state, part), vocab_size).items()
    }
    rows = len(state[f"weights/{EMBEDDING}"])
    for name, tensor in state.items():
        if name in fitted:
            continue
        grows = rows != vocab_size and tensor.dim() and name.endswith((EMBEDDING, *HEAD))
        fitted[name] = _with_zeros(tensor) if grows else tensor
    return fitted


def _part(state: dict[str, Tensor], part: str) -> dict[str, Tensor]:
    prefix = part + "/"
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def _with_zeros(rows: Tensor) -> Tensor:
    return torch.cat([rows, torch.zeros_like(rows[:1])])
