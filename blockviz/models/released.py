"""Checkpoints in the format in which BlockGen releases them: a network's weights and shape, and nothing else.

What that format does not say (process, tokenizer, block sizes) is told by whoever opens it, or follows from the
vocabulary and the path as the released repository (`jdeschena/blockgen`, arXiv 2606.02241) lays them out:
`single_block_size/16/owt/absorb`, `multi_block_size/16/tinygsm/0.05_0.95/uniform`. What cannot be told is asked for in
one sentence, never guessed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from blockviz.diffusion.processes import Process
from blockviz.models import hub
from blockviz.models.block_dit import NetworkConfig
from blockviz.models.checkpoint import (
    CHECKPOINTS,
    DeviceName,
    Model,
    ModelInfo,
    find,
    load,
    read_tokens,
)
from blockviz.models.fields import CheckpointError, Fields, read_json
from blockviz.models.tokens import Tokens
from blockviz.models.weights import network_config, vocabulary_of

TOKENIZERS: dict[int, str] = {
    50257: "openai-community/gpt2",
    49152: "HuggingFaceTB/SmolLM-135M",
}
"""Tokenizer of the released checkpoints by its number of ids; the networks know one id more (MASK, or PAD)."""

_PROCESSES: dict[str, Process] = {
    "absorb": "masked",
    "absorbing": "masked",
    "masked": "masked",
    "uniform": "uniform",
}
_WEIGHTS = re.compile(r"(0?\.\d+|\d+)_(0?\.\d+|\d+)")


@dataclass(frozen=True)
class Told:
    """What is said about a release beside its files; None where nothing is said and the path has to tell.

    `tokenizer` is a name at the Hugging Face Hub or the path of a tokenizer.json; `block_weights` are the mixture's
    and sum to 1.
    """

    process: Process | None = None
    tokenizer: str | None = None
    block_sizes: tuple[int, ...] | None = None
    block_weights: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Release:
    """A release that can be loaded: its folder here, and what its files do not say."""

    name: str
    folder: Path
    info: ModelInfo
    config: NetworkConfig
    tokens: Tokens

    def load(self, device: DeviceName | str = "auto") -> Model:
        """The model, its log-probabilities in float32 on any device; raises CheckpointError as `checkpoint.load`."""
        model = load(self.folder, device, info=self.info, tokens=self.tokens)
        return replace(model, name=self.name)


def open_model(
    spec: str,
    device: DeviceName | str = "auto",
    *,
    folder: Path | str = CHECKPOINTS,
    told: Told | None = None,
) -> Model:
    """Load a model by its name in `folder`, its own folder, or `hf:OWNER/REPO/SUBFOLDER`.

    `told` speaks only of a release; a checkpoint with its own blockviz.json says everything itself, and being told
    otherwise is an error. Raises CheckpointError in one sentence.
    """
    if spec.startswith(hub.PREFIX):
        return release(spec, told or Told()).load(device)
    path = find(spec, folder)
    if os.path.exists(path / "blockviz.json"):
        if told is not None and told != Told():
            raise CheckpointError(
                f"{path.name} says its process, tokenizer and block sizes itself, in blockviz.json"
            )
        return load(path, device)
    return release(str(path), told or Told()).load(device)


def release(spec: str, told: Told) -> Release:
    """The release that a local folder or `hf:OWNER/REPO/SUBFOLDER` holds, fetched if need be; no weights are read.

    Raises CheckpointError in one sentence: for what is missing or broken, and for what has to be told.
    """
    if spec.startswith(hub.PREFIX):
        place = hub.parse(spec)
        name, parts = place.name, place.subfolder.split("/")
        path = hub.fetch(place, "config.json", "model.safetensors")
    else:
        path = find(spec)
        name, parts = path.name, list(path.parts)
    kind = Fields("config.json", read_json(path / "config.json")).text("type", "block-dit")
    if kind != "block-dit":
        raise CheckpointError(
            f"{name} is of type {kind[:40]!r}; only block-dit, the backbone of BlockGen, can be run"
        )
    known = vocabulary_of(path / "model.safetensors")
    config = network_config(path, known)
    process = told.process or _process(parts)
    if process is None:
        raise CheckpointError(
            f"the files of {name} do not tell its noise: say it with --process masked or --process uniform"
        )
    tokens = _tokens(path, name, known, told.tokenizer)
    sizes, weights = _mixture(name, parts, config, told)
    return Release(name, path, _info(name, process, config, tokens, sizes, weights), config, tokens)


def _process(parts: Sequence[str]) -> Process | None:
    """The process by the last part of the path that names one: `.../0.05_0.95/absorb`, `my-uniform-run`."""
    for part in reversed(parts):
        named = {_PROCESSES[word] for word in re.split(r"[-_.]", part.lower()) if word in _PROCESSES}
        if len(named) == 1:
            return named.pop()
    return None


def _tokens(path: Path, name: str, known: int, tokenizer: str | None) -> Tokens:
    """The tokenizer told, the folder's own, or that of the released checkpoints with this vocabulary."""
    file = path / "tokenizer.json"
    if tokenizer is not None and os.path.isfile(tokenizer):
        file = Path(tokenizer)
    elif tokenizer is not None or not os.path.isfile(file):
        named = tokenizer or TOKENIZERS.get(known) or TOKENIZERS.get(known - 1)
        if named is None:
            raise CheckpointError(
                f"{name} has {known} tokens and no tokenizer.json: name its tokenizer with --tokenizer, by its name at "
                "the Hugging Face Hub or the path of a tokenizer.json"
            )
        file = hub.fetch(hub.parse(hub.PREFIX + named), "tokenizer.json") / "tokenizer.json"
    tokens = read_tokens(file, known)
    if known - tokens.vocab_size > 1:
        raise CheckpointError(
            f"{name} has {known} tokens, the tokenizer {tokenizer or file.parent.name} has {tokens.vocab_size}: name "
            "the right one with --tokenizer"
        )
    return tokens


def _mixture(
    name: str, parts: Sequence[str], config: NetworkConfig, told: Told
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Block sizes and their weights: as told, or by the path's `single_block_size/16` or `multi_block_size/16/...`."""
    sizes, weights = told.block_sizes, told.block_weights
    if sizes is None:
        sizes, named = _mixture_of_path(parts)
        weights = named if weights is None else weights
    if sizes is None:
        raise CheckpointError(
            f"the files of {name} do not tell the block sizes it was trained with: say them with --block-sizes, for "
            "example --block-sizes " + ("1,16" if config.x0_causal else "16")
        )
    if weights is None:
        if len(sizes) > 1:
            raise CheckpointError(
                f"the files of {name} do not tell the weights of its block sizes: say them with --block-weights, one "
                "for each, with the sum 1"
            )
        weights = (1.0,)
    return sizes, weights


def _mixture_of_path(
    parts: Sequence[str],
) -> tuple[tuple[int, ...] | None, tuple[float, ...] | None]:
    for kind, size, *rest in (parts[i:] for i in range(len(parts) - 1)):
        if not re.fullmatch(r"[1-9]\d{0,4}", size):
            continue
        largest = int(size)
        if kind == "single_block_size":
            return (largest,), (1.0,)
        if kind == "multi_block_size":
            named = next((match for part in rest if (match := _WEIGHTS.fullmatch(part))), None)
            if named is not None:
                return (1, largest), (float(named[1]), float(named[2]))
            if "uniform" in rest[:-1]:  # before the process: equal weights for the powers of two
                powers = tuple(2**i for i in range(largest.bit_length()))
                return powers, (1 / len(powers),) * len(powers)
    return None, None


def _info(
    name: str,
    process: Process,
    config: NetworkConfig,
    tokens: Tokens,
    sizes: tuple[int, ...],
    weights: tuple[float, ...],
) -> ModelInfo:
    """The id beyond the tokenizer's is MASK where noise is masked (released models pad with it too), else PAD."""
    known, extra = config.vocab_size, config.vocab_size - tokens.vocab_size
    mask_id = _named_mask(tokens) if process == "masked" else None
    if process == "masked" and mask_id is None:
        if not extra:
            raise CheckpointError(
                f"{name} is masked, but its {known} tokens are all the tokenizer's and none is named a mask: name the "
                "right tokenizer with --tokenizer, or say --process uniform"
            )
        mask_id = known - 1
    return ModelInfo(
        process=process,
        vocab_size=known,
        mask_id=mask_id,
        end_id=tokens.end_id,
        pad_id=known - 1 if extra else tokens.pad_id,
        length=config.length,
        block_sizes=sizes,
        block_weights=weights,
    )


def _named_mask(tokens: Tokens) -> int | None:
    return next(
        (tokens.specials[name] for name in ("<mask>", "[MASK]", "<|mask|>") if name in tokens.specials), None
    )
