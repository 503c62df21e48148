from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.models.checkpoint import (
    CheckpointError,
    ModelInfo,
    find,
    list_models,
    load,
    parse_info,
    pick_device,
    save,
)
from blockviz.models.tokens import Tokens
from blockviz.training import math_tokenizer
from tests.golden import CHECKPOINTS

TOKENS = Tokens(math_tokenizer.build())
INFO = ModelInfo(
    process="masked",
    vocab_size=TOKENS.vocab_size + 1,
    mask_id=TOKENS.vocab_size,
    end_id=TOKENS.end_id,
    pad_id=None,
    length=64,
    block_sizes=(1, 16),
    block_weights=(0.5, 0.5),
    task="math",
    training={"parameters": 12},
)
GOLDEN_INFO = ModelInfo("masked", 40, 39, None, None, 64, (16,), (1.0,))


def small_net() -> BlockDiT:
    net = BlockDiT(NetworkConfig(16, 1, 2, 64, INFO.vocab_size))
    net.initialise(torch.Generator().manual_seed(0))
    return net


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save(tmp_path / "tiny", small_net(), INFO, TOKENS)


def change_json(path: Path, **changes: object) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, **changes}), encoding="utf-8")


def change_tensors(folder: Path, changes: dict[str, torch.Tensor | None]) -> None:
    state = {**load_file(folder / "model.safetensors"), **changes}
    save_file({k: v for k, v in state.items() if v is not None}, folder / "model.safetensors")
    change_json(folder / "blockviz.json", sha256={})


def test_what_is_saved_is_loaded(folder: Path) -> None:
    model = load(folder, "cpu")
    assert model.name == "tiny"
    assert model.info == INFO
    assert model.tokens.encode("12 + 30 =") == TOKENS.encode("12 + 30 =")
    expected = small_net().half().float()
    for name, parameter in model.net.named_parameters():
        assert torch.equal(parameter, dict(expected.named_parameters())[name])
    assert not model.net.training
    assert model.net.rotary_emb.inv_freq.dtype == torch.float32


@pytest.mark.parametrize("letter", "abc")
@pytest.mark.parametrize("keep_frequencies", [True, False])
def test_released_folders_load_with_and_without_rotary_frequencies(
    letter: str, keep_frequencies: bool, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(CHECKPOINTS[letter], tmp_path / letter))
    state = load_file(folder / "model.safetensors")
    if not keep_frequencies:
        del state["rotary_emb.inv_freq"]
    save_file(state, folder / "model.safetensors")
    info = (
        replace(GOLDEN_INFO, vocab_size=39, process="uniform", mask_id=None) if letter == "b" else GOLDEN_INFO
    )
    model = load(folder, "cpu", info=info, tokens=TOKENS)
    assert model.config.cond_dim == (0 if letter == "c" else 32)
    assert model.config.x0_causal == (letter != "c")
    torch.testing.assert_close(model.net.rotary_emb.inv_freq, 10000.0 ** -(torch.arange(0, 16, 2) / 16))


def test_a_released_folder_alone_says_what_is_missing() -> None:
    with pytest.raises(CheckpointError, match=r"has no blockviz\.json"):
        load(CHECKPOINTS["a"], "cpu")


def test_a_name_is_looked_up_in_its_folder_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find("tiny", folder.parent) == folder
    assert find(folder, "elsewhere") == folder
    with pytest.raises(CheckpointError, match=r"no checkpoint 'huge'.*are: tiny"):
        load("huge", "cpu", folder=folder.parent)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output_layer.linear.bias": None}, "lacks output_layer.linear.bias"),
        ({"blocks.9.norm1.weight": torch.ones(16)}, r"holds blocks\.9\.norm1\.weight"),
        ({"blocks.0.norm1.weight": torch.ones(17)}, r"has shape \[17\], expected \[16\]"),
        ({"blocks.0.norm1.weight": torch.full((16,), torch.nan)}, "not finite"),
        ({"blocks.0.norm1.weight": torch.full((16,), torch.inf)}, "not finite"),
        ({"vocab_embed.embedding": torch.ones(7, 16)}, "7 tokens, blockviz.json says"),
        ({"vocab_embed.embedding": torch.ones(INFO.vocab_size, 8)}, "hidden_size 16, the weights have 8"),
        ({"vocab_embed.embedding": None}, "no vocab_embed.embedding"),
    ],
)
def test_wrong_tensors_are_refused_by_name(
    folder: Path, changes: dict[str, torch.Tensor | None], message: str
) -> None:
    change_tensors(folder, changes)
    with pytest.raises(CheckpointError, match=message):
        load(folder, "cpu")


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json"])
def test_changed_files_are_refused_by_their_hash(folder: Path, file: str) -> None:
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(CheckpointError, match=f"{file}.*SHA-256 differs"):
        load(folder, "cpu")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2}, "format 2, this version reads 1"),
        ({"process": "gaussian"}, "'gaussian', it must be 'masked' or 'uniform'"),
        ({"mask_id": None}, "needs mask_id"),
        ({"end_id": 10_000}, "end_id is 10000"),
        ({"block_weights": [0.5, 0.6]}, "sum to 1"),
        ({"block_sizes": [1, 65]}, "between 1 and 64"),
        ({"block_sizes": 16}, "lacks or garbles"),
        ({"sha256": {"../tiny/config.json": "0"}}, "outside its folder"),
        ({"sha256": {"other.json": "0"}}, "has no other.json"),
    ],
)
def test_wrong_manifests_are_refused(folder: Path, changes: dict[str, object], message: str) -> None:
    change_json(folder / "blockviz.json", **changes)
    with pytest.raises(CheckpointError, match=message):
        load(folder, "cpu")


@pytest.mark.parametrize("name", ["config.json", "blockviz.json", "tokenizer.json", "model.safetensors"])
def test_garbage_is_refused_in_one_sentence(folder: Path, name: str) -> None:
    (folder / name).write_text("{garbage", encoding="utf-8")
    if name != "blockviz.json":
        change_json(folder / "blockviz.json", sha256={})
    with pytest.raises(CheckpointError, match=name) as caught:
        load(folder, "cpu")
    assert "\n" not in str(caught.value)


def test_the_list_carries_good_and_broken_folders(folder: Path) -> None:
    broken = Path(shutil.copytree(folder, folder.parent / "broken"))
    (broken / "blockviz.json").unlink()
    (folder.parent / "not-a-model").mkdir()
    cards = {card.name: card for card in list_models(folder.parent)}
    assert set(cards) == {"tiny", "broken"}
    assert cards["tiny"].process == "masked"
    assert cards["tiny"].parameters == 12
    assert cards["broken"].error == "broken has no blockviz.json"
    assert list_models(folder / "nowhere") == []


def test_weights_that_overflow_16_bits_are_not_written(tmp_path: Path) -> None:
    net = small_net()
    with torch.no_grad():
        net.blocks[0].mlp[0].bias[0] = 1e6
    with pytest.raises(CheckpointError, match=r"not finite in torch\.float16"):
        save(tmp_path / "loud", net, INFO, TOKENS)


def test_an_absent_device_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(CheckpointError, match="'cuda' is not available"):
        pick_device("cuda")
    assert pick_device("cpu") == torch.device("cpu")
    with pytest.raises(CheckpointError, match="'abacus' is not available"):
        pick_device("abacus")


def test_parse_info_needs_a_format() -> None:
    with pytest.raises(CheckpointError, match="format None"):
        parse_info({})
