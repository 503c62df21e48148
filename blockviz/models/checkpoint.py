"""Load, save, validate and list checkpoints: local folders in the released format plus `blockviz.json`.

A folder holds `model.safetensors` and `config.json` as BlockGen releases them, `blockviz.json` (what that format
does not say: `ModelInfo`, hashes), `tokenizer.json` and the model card `README.md`. Weights are safetensors only.
"""

from __future__ import annotations

import hashlib
import json
import math
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from blockviz.diffusion.processes import Masked, Process, Uniform
from blockviz.diffusion.schedules import Schedule
from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.models.tokens import Tokens

FORMAT = 1
CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
# Released files may or may not hold the rotary frequencies. They follow from head_dim, and a 16-bit copy of them
# would move every position, so they are neither read nor written.
DERIVED_KEYS = {"rotary_emb.inv_freq"}

DeviceName = Literal["auto", "cuda", "mps", "cpu"]


class CheckpointError(ValueError):
    """A checkpoint cannot be used; the message is one sentence that says why."""


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
    task: Literal["math"] | None = None
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
    kind = name.split(":")[0]
    if not available.get(kind, False):
        present = ", ".join(kind for kind, present in available.items() if present)
        raise CheckpointError(f"device {name!r} is not available here, these are: {present}")
    return torch.device(name)


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
    manifest = _read_json(path / "blockviz.json") if info is None else {}
    info = info if info is not None else parse_info(manifest)
    _check_hashes(path, manifest)
    if tokens is None:
        tokens = _load_tokens(path)
    state = _load_tensors(path / "model.safetensors")
    config = _network_config(_read_json(path / "config.json"), state)
    if config.vocab_size != info.vocab_size:
        raise CheckpointError(
            f"the weights have {config.vocab_size} tokens, blockviz.json says {info.vocab_size}"
        )
    net = BlockDiT(config)
    _check_tensors(state, net)
    learned = {name: tensor.float() for name, tensor in state.items() if name not in DERIVED_KEYS}
    net.load_state_dict(learned, strict=False)
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
    config = {
        "name": folder.name,
        "type": "block-dit",
        "hidden_size": net.config.hidden_size,
        "cond_dim": net.config.cond_dim,
        "length": net.config.length,
        "n_blocks": net.config.n_blocks,
        "n_heads": net.config.n_heads,
        "dropout": net.config.dropout,
        "attn_backend": "sdpa",
        "x0_causal": net.config.x0_causal,
    }
    _write_json(folder / "config.json", config)
    hashes = {file: sha256(folder / file) for file in ("model.safetensors", "tokenizer.json")}
    _write_json(folder / "blockviz.json", {"format": FORMAT, **asdict(info), "sha256": hashes})
    return folder


def list_models(folder: Path | str = CHECKPOINTS) -> list[ModelCard]:
    """The checkpoints of a folder by name, without loading weights; a broken one carries its error."""
    folder = Path(folder)
    if not folder.is_dir():
        return []
    return [
        _card(path)
        for path in sorted(folder.iterdir())
        if path.is_dir() and (path / "model.safetensors").exists()
    ]


def find(name: str | Path, folder: Path | str = CHECKPOINTS) -> Path:
    """The folder of a checkpoint by name in `folder` or by its own path; raises CheckpointError naming the rest."""
    for path in (Path(folder) / str(name), Path(name)):
        if (path / "model.safetensors").is_file():
            return path.resolve()
    known = ", ".join(card.name for card in list_models(folder)) or "none"
    raise CheckpointError(f"there is no checkpoint {str(name)!r}; the ones in {folder} are: {known}")


def parse_info(manifest: Mapping[str, Any]) -> ModelInfo:
    """Read `ModelInfo` from the content of `blockviz.json`; raises CheckpointError on a wrong field or format."""
    if manifest.get("format") != FORMAT:
        raise CheckpointError(
            f"blockviz.json has format {manifest.get('format')!r}, this version reads {FORMAT}"
        )
    names = {item.name for item in fields(ModelInfo)}
    known = {key: value for key, value in manifest.items() if key in names}
    try:
        known["block_sizes"] = tuple(int(size) for size in known["block_sizes"])
        known["block_weights"] = tuple(float(weight) for weight in known["block_weights"])
        return ModelInfo(**known)
    except CheckpointError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"blockviz.json lacks or garbles a field: {error}") from error


def _card(path: Path) -> ModelCard:
    size = (path / "model.safetensors").stat().st_size
    try:
        info = parse_info(_read_json(path / "blockviz.json"))
        parameters = info.training.get("parameters")
    except CheckpointError as error:
        return ModelCard(path.name, str(path), bytes=size, error=str(error))
    return ModelCard(
        name=path.name,
        folder=str(path),
        process=info.process,
        task=info.task,
        parameters=parameters,
        length=info.length,
        block_sizes=info.block_sizes,
        bytes=size,
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{path.parent.name} has no {path.name}") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path.name} cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path.name} must hold one JSON object")
    return content


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _load_tokens(path: Path) -> Tokens:
    try:
        return Tokens.from_file(path / "tokenizer.json")
    except FileNotFoundError:
        raise CheckpointError(f"{path.name} has no tokenizer.json") from None
    except Exception as error:  # tokenizers raises bare Exception for any malformed file
        raise CheckpointError(f"tokenizer.json cannot be read: {error}") from error


def _load_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path.name} is not a readable safetensors file: {error}") from error


def _check_hashes(path: Path, manifest: Mapping[str, Any]) -> None:
    for file, expected in manifest.get("sha256", {}).items():
        if Path(file).name != file:
            raise CheckpointError(f"blockviz.json names a file outside its folder: {file!r}")
        if not (path / file).is_file():
            raise CheckpointError(f"{path.name} has no {file}")
        if sha256(path / file) != expected:
            raise CheckpointError(
                f"{file} is not the file blockviz.json was written for: its SHA-256 differs"
            )


def _network_config(content: Mapping[str, Any], state: Mapping[str, Tensor]) -> NetworkConfig:
    embedding = state.get("vocab_embed.embedding")
    if embedding is None or embedding.dim() != 2:
        raise CheckpointError("model.safetensors has no vocab_embed.embedding of two dimensions")
    adaptive = "sigma_map.mlp.0.weight" in state
    try:
        config = NetworkConfig(
            hidden_size=int(content["hidden_size"]),
            n_blocks=int(content["n_blocks"]),
            n_heads=int(content["n_heads"]),
            length=int(content["length"]),
            vocab_size=embedding.shape[0],
            cond_dim=int(content["cond_dim"]) if adaptive else 0,
            dropout=float(content.get("dropout", 0.0)),
            x0_causal=bool(content["x0_causal"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"config.json lacks or garbles a field: {error}") from error
    if config.hidden_size != embedding.shape[1]:
        raise CheckpointError(
            f"config.json says hidden_size {config.hidden_size}, the weights have {embedding.shape[1]}"
        )
    return config


def _check_tensors(state: Mapping[str, Tensor], net: BlockDiT) -> None:
    expected = {name: tuple(tensor.shape) for name, tensor in net.state_dict().items()}
    missing = sorted(set(expected) - set(state) - DERIVED_KEYS)
    if missing:
        raise CheckpointError(f"model.safetensors lacks {missing[0]} ({len(missing)} missing)")
    foreign = sorted(set(state) - set(expected))
    if foreign:
        raise CheckpointError(f"model.safetensors holds {foreign[0]}, which this network does not have")
    for name, tensor in state.items():
        if tuple(tensor.shape) != expected[name]:
            raise CheckpointError(f"{name} has shape {list(tensor.shape)}, expected {list(expected[name])}")
        if not tensor.is_floating_point() or not torch.isfinite(tensor).all():
            raise CheckpointError(f"{name} holds values that are not finite numbers")
