"""Load, save, validate and list checkpoints: local folders in the released format plus `blockviz.json`.

A folder holds `model.safetensors` and `config.json` as BlockGen releases them, `blockviz.json` (what that format
does not say: `ModelInfo`, hashes), `tokenizer.json` and the model card `README.md`. Weights are safetensors only.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import save_file

from blockviz.diffusion.processes import Masked, Process, Uniform
from blockviz.diffusion.schedules import SCHEDULES, Schedule
from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.models.decoder import network
from blockviz.models.fields import CheckpointError, Fields, read_json, shown
from blockviz.models.tokens import Tokens
from blockviz.models.weights import (
    DERIVED_KEYS,
    LONGEST_CANVAS,
    config_fields,
    load_tensors,
    network_config,
)

FORMAT = 1
CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
MOST_TOKENS = 10_000_000
MOST_PARAMETERS = 10**12

DeviceName = Literal["auto", "cuda", "mps", "cpu"]


@dataclass(frozen=True)
class ModelInfo:
    """What `blockviz.json` says of a model beyond the released format.

    `block_weights` are the mixture weights of `block_sizes` in training and sum to 1; `length` is the trained
    canvas in tokens; `training` holds figures of the training run for the model card.
    """

    process: Process
    vocab_size: int
    mask_id: int | None
    end_id: int | None
    pad_id: int | None
    length: int
    block_sizes: tuple[int, ...]
    block_weights: tuple[float, ...]
    schedule: Schedule = "log-linear"
    task: Literal["math", "stories"] | None = None
    training: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.process not in typing.get_args(Process):
            raise CheckpointError(f"process is {self.process!r}, it must be 'masked' or 'uniform'")
        if self.process == "masked" and self.mask_id is None:
            raise CheckpointError("a masked model needs mask_id, it is missing")
        for name in ("mask_id", "end_id", "pad_id"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < self.vocab_size:
                raise CheckpointError(f"{name} is {value}, the vocabulary has ids 0 to {self.vocab_size - 1}")
        if len(self.block_sizes) != len(self.block_weights) or not math.isclose(
            sum(self.block_weights), 1.0, abs_tol=1e-6
        ):
            raise CheckpointError("block_weights must give one weight per block size and sum to 1")
        if any(not 1 <= size <= self.length for size in self.block_sizes):
            raise CheckpointError(
                f"block sizes {list(self.block_sizes)} must lie between 1 and {self.length}"
            )


@dataclass(frozen=True)
class Model:
    """A loaded model: network in evaluation mode on its device, with all that a sampler needs to know of it."""

    name: str
    net: BlockDiT
    config: NetworkConfig
    info: ModelInfo
    tokens: Tokens
    content_hash: str
    device: torch.device

    @property
    def process(self) -> Masked | Uniform:
        """The noise process the network was trained on."""
        if self.info.process == "masked":
            assert self.info.mask_id is not None
            return Masked(self.info.vocab_size, self.info.mask_id)
        return Uniform(self.info.vocab_size)

    @property
    def parameters(self) -> int:
        """Number of trained parameters."""
        return sum(parameter.numel() for parameter in self.net.parameters())


@dataclass(frozen=True)
class ModelCard:
    """One line of the list of models; `error` says in one sentence why a folder cannot be used."""

    name: str
    folder: str
    process: Process | None = None
    task: str | None = None
    parameters: int | None = None
    length: int | None = None
    block_sizes: tuple[int, ...] = ()
    bytes: int | None = None
    error: str | None = None


def pick_device(name: DeviceName | str = "auto") -> torch.device:
    """The torch device for a name; "auto" takes cuda, then mps, then cpu. Raises CheckpointError when absent."""
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        return torch.device(next(kind for kind, present in available.items() if present))
    try:
        device = torch.device(name)
        present = available.get(device.type, False) and (
            device.type != "cuda" or (device.index or 0) < torch.cuda.device_count()
        )
    except RuntimeError:  # no device name at all
        present = False
    if not present:
        there = ", ".join(kind for kind, present in available.items() if present)
        raise CheckpointError(f"device {name!r} is not available here, these are: {there}")
    return device


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load(
    name: str | Path,
    device: DeviceName | str = "auto",
    *,
    folder: Path | str = CHECKPOINTS,
    info: ModelInfo | None = None,
    tokens: Tokens | None = None,
) -> Model:
    """Load a checkpoint by its name in `folder`, or from a path to its own folder.

    `info` and `tokens` stand in for `blockviz.json` and `tokenizer.json` where a released folder has none.
    Raises CheckpointError, in one sentence, when the folder, a file, a shape, a value or a hash is not right.
    """
    path = find(name, folder)
    manifest = read_json(path / "blockviz.json") if info is None else {}
    info = info if info is not None else parse_info(manifest)
    _check_hashes(path, manifest)
    if tokens is None:
        tokens = _load_tokens(path, info.vocab_size)
    config = network_config(path, info.vocab_size)
    state = load_tensors(path / "model.safetensors", config)
    net = network(config)
    net.load_state_dict({k: v for k, v in state.items() if k not in DERIVED_KEYS}, strict=False)
    where = pick_device(device)
    net.requires_grad_(False).eval().to(where)
    return Model(
        name=path.name,
        net=net,
        config=config,
        info=info,
        tokens=tokens,
        content_hash=sha256(path / "model.safetensors")[:16],
        device=where,
    )


def save(
    folder: Path | str,
    net: BlockDiT,
    info: ModelInfo,
    tokens: Tokens,
    *,
    dtype: torch.dtype = torch.float16,
) -> Path:
    """Write a checkpoint folder (all but its model card) and return it; floating tensors are stored as `dtype`."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        name: tensor.detach().cpu().to(dtype).contiguous()
        for name, tensor in net.state_dict().items()
        if name not in DERIVED_KEYS
    }
    for name, tensor in state.items():
        if not torch.isfinite(tensor).all():
            raise CheckpointError(f"{name} is not finite in {dtype}, so the checkpoint was not written")
    save_file(state, folder / "model.safetensors")
    tokens.save(folder / "tokenizer.json")
    _write_json(folder / "config.json", {"name": folder.name, **config_fields(net.config)})
    hashes = {file: sha256(folder / file) for file in ("model.safetensors", "tokenizer.json")}
    _write_json(folder / "blockviz.json", {"format": FORMAT, **asdict(info), "sha256": hashes})
    return folder


def list_models(folder: Path | str = CHECKPOINTS) -> list[ModelCard]:
    """The checkpoints of a folder by name, without loading weights; a broken one carries its error.

    Empty where there is no such folder; raises CheckpointError for a folder that cannot be listed.
    """
    folder = Path(folder)
    if not os.path.isdir(folder):
        return []
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise CheckpointError(f"the folder {folder} cannot be read: {error.strerror}") from error
    return [_card(path) for path in paths if os.path.exists(path / "model.safetensors")]


def find(name: str | Path, folder: Path | str = CHECKPOINTS) -> Path:
    """The folder of a checkpoint by name in `folder` or by its own path; raises CheckpointError naming the rest."""
    for path in (Path(folder) / str(name), Path(name)):
        if os.path.isfile(path / "model.safetensors"):
            return path.resolve()
    known = ", ".join(card.name for card in list_models(folder)) or "none"
    raise CheckpointError(f"there is no checkpoint {str(name)!r}; the ones in {folder} are: {known}")


def parse_info(manifest: Mapping[str, Any]) -> ModelInfo:
    """Read `ModelInfo` from the content of `blockviz.json`; raises CheckpointError on a wrong field or format."""
    version = manifest.get("format")
    if type(version) is not int or version != FORMAT:
        raise CheckpointError(f"blockviz.json has format {shown(version)}, this version reads {FORMAT}")
    content = Fields("blockviz.json", manifest)
    training = content.mapping("training", {})
    figures = Fields("training in blockviz.json", training)
    figures.whole("parameters", 0, MOST_PARAMETERS, None)
    figures.text("recipe", None)
    return ModelInfo(
        process=content.choice("process", typing.get_args(Process)),
        vocab_size=content.whole("vocab_size", 2, MOST_TOKENS),
        mask_id=content.whole_or_null("mask_id", 0, MOST_TOKENS),
        end_id=content.whole_or_null("end_id", 0, MOST_TOKENS),
        pad_id=content.whole_or_null("pad_id", 0, MOST_TOKENS),
        length=content.whole("length", 1, LONGEST_CANVAS),
        block_sizes=content.wholes("block_sizes", 1, LONGEST_CANVAS),
        block_weights=content.numbers("block_weights", 0, 1),
        schedule=content.choice("schedule", SCHEDULES, "log-linear"),
        task=content.choice("task", ("math", "stories", None), None),
        training=training,
    )


def _card(path: Path) -> ModelCard:
    size = None
    try:
        size = (path / "model.safetensors").stat().st_size
        info = parse_info(read_json(path / "blockviz.json"))
        network_config(path, info.vocab_size)
    except (CheckpointError, OSError) as error:
        return ModelCard(path.name, str(path), bytes=size, error=str(error))
    return ModelCard(
        name=path.name,
        folder=str(path),
        process=info.process,
        task=info.task,
        parameters=info.training.get("parameters"),
        length=info.length,
        block_sizes=info.block_sizes,
        bytes=size,
    )


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _load_tokens(path: Path, vocab_size: int) -> Tokens:
    if not os.path.isfile(path / "tokenizer.json"):
        raise CheckpointError(f"{path.name} has no tokenizer.json")
    return read_tokens(path / "tokenizer.json", vocab_size)


def read_tokens(file: Path, vocab_size: int) -> Tokens:
    """The tokenizer of a tokenizer.json; raises CheckpointError where it is broken or knows more ids than the model."""
    try:
        tokens = Tokens.from_file(file)
        last = max(tokens.tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
    except Exception as error:  # tokenizers raises bare Exception for any malformed file
        raise CheckpointError(f"tokenizer.json cannot be read: {error}") from error
    if last >= vocab_size:
        raise CheckpointError(f"tokenizer.json has the id {last}, the model has ids 0 to {vocab_size - 1}")
    return tokens


def _check_hashes(path: Path, manifest: Mapping[str, Any]) -> None:
    hashes = Fields("blockviz.json", manifest).mapping("sha256", {})
    expected = Fields("sha256 in blockviz.json", hashes)
    for file in hashes:
        if not re.fullmatch(r"[\w.-]{1,100}", file, re.ASCII):
            raise CheckpointError(f"blockviz.json names a file outside its folder: {shown(file)}")
        if not os.path.isfile(path / file):
            raise CheckpointError(f"{path.name} has no {file}")
        try:
            found = sha256(path / file)
        except OSError as error:
            raise CheckpointError(f"{file} cannot be read: {error.strerror}") from error
        if found != expected.text(file):
            raise CheckpointError(
                f"{file} is not the file blockviz.json was written for: its SHA-256 differs"
            )
    if "sha256" in manifest and "model.safetensors" not in hashes:
        raise CheckpointError(
            "sha256 in blockviz.json lacks model.safetensors; without any hash, leave it out"
        )
