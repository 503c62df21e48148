"""Tiny models of stories with random weights and one tokenizer, a judge among them, and a file of made-up stories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import torch

from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.models.checkpoint import Model, ModelInfo, load, save
from blockviz.models.tokens import Tokens
from blockviz.training import byte_tokenizer
from tests.training.made_up_stories import stories

LENGTH = 48


@cache
def tokens_of(entries: int) -> Tokens:
    return Tokens(byte_tokenizer.build(stories(60), entries))


def history(*recipes: str) -> dict[str, Any]:
    """What a checkpoint says of runs of these recipes, oldest first."""
    runs = [
        {
            "recipe": name,
            "process": "masked" if name == "stories-masked" else "uniform",
            "batch": 192,
            "block_sizes": [1, 16],
            "stages": [{"steps": 300, "block_weights": [0.25, 0.75]}],
            "steps": 300,
            "seconds": 120,
            "device": "cuda",
        }
        for name in recipes
    ]
    return {"recipe": recipes[-1], "steps": 10, "seconds": 60, "parameters": 1234, "runs": runs}


def story_model(
    folder: Path,
    name: str,
    process: Literal["masked", "uniform"],
    *,
    seed: int = 0,
    sizes: Sequence[int] = (1, 16),
    recipes: Sequence[str] | None = None,
    length: int = LENGTH,
    entries: int = 300,
    x0_causal: bool = True,
) -> Model:
    """A model saved at `folder`/`name`, whose texts are all over the vocabulary and end now and then."""
    tokens = tokens_of(entries)
    size = tokens.vocab_size + (process == "masked")
    net = BlockDiT(NetworkConfig(16, 1, 2, length, size, x0_causal=x0_causal))
    generator = torch.Generator().manual_seed(seed)
    net.initialise(generator)
    with torch.no_grad():
        for parameter in net.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4)
        net.output_layer.linear.bias[tokens.end_id] = 3.5
    info = ModelInfo(
        process=process,
        vocab_size=size,
        mask_id=size - 1 if process == "masked" else None,
        end_id=tokens.end_id,
        pad_id=None,
        length=length,
        block_sizes=tuple(sizes),
        block_weights=(1 / len(sizes),) * len(sizes),
        task="stories",
        training=history(*(recipes or (name,))),
    )
    return load(save(folder / name, net, info, tokens), "cpu")


def story_file(folder: Path, count: int = 700) -> Path:
    """Stories of which about one in fifty is held out."""
    path = folder / "stories.txt"
    path.write_text("\n<|endoftext|>\n".join(stories(count)))
    return path
