"""The reference numbers of tests/data (see its README): tensors, JSON reports and three small checkpoints."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load

DATA = Path(__file__).resolve().parent / "data"

CHECKPOINTS = {
    "a": DATA / "ckpt_a_absorb_causal_adaln",
    "b": DATA / "ckpt_b_uniform_causal_adaln",
    "c": DATA / "ckpt_c_absorb_blockcausal_noadaln",
}
"""Model letter to checkpoint folder: a masked, b uniform, c masked with a block-causal clean stream."""


@cache
def _bytes(name: str) -> bytes:
    return lzma.decompress((DATA / f"{name}.safetensors.xz").read_bytes())


def tensors(name: str) -> dict[str, torch.Tensor]:
    """The tensors of `{name}.safetensors`, e.g. `tensors("forward_a")`; fresh copies on every call."""
    return load(_bytes(name))


def report(name: str) -> Any:
    """The content of `{name}.json`, e.g. `report("k_schedules")`."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
