from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from blockviz.__main__ import main
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
from blockviz.models.tokens import Tokens, UnknownText
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


def forget_hashes(folder: Path) -> None:
    content = json.loads((folder / "blockviz.json").read_text(encoding="utf-8"))
    del content["sha256"]
    (folder / "blockviz.json").write_text(json.dumps(content), encoding="utf-8")


def change_tensors(folder: Path, changes: dict[str, torch.Tensor | None]) -> None:
    state = {**load_file(folder / "model.safetensors"), **changes}
    save_file({k: v for k, v in state.items() if v is not None}, folder / "model.safetensors")
    forget_hashes(folder)


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
        ({"blocks.9.norm1.weight": torch.ones(16)}, r"holds 'blocks\.9\.norm1\.weight'"),
        ({"blocks.0.norm1.weight": torch.ones(17)}, r"has shape \[17\], expected \[16\]"),
        ({"blocks.0.norm1.weight": torch.full((16,), torch.nan)}, "not finite"),
        ({"blocks.0.norm1.weight": torch.full((16,), torch.inf)}, "not finite"),
        ({"vocab_embed.embedding": torch.ones(7, 16)}, "7 tokens, blockviz.json says"),
        ({"vocab_embed.embedding": torch.ones(INFO.vocab_size, 8)}, "hidden_size 16, the weights have 8"),
        ({"vocab_embed.embedding": None}, "no vocab_embed.embedding"),
        ({"blocks.0.norm1.weight": torch.ones(16).to(torch.float8_e4m3fn)}, "stored as float8_e4m3fn"),
        ({"blocks.0.norm1.weight": torch.ones(16, dtype=torch.int64)}, "stored as int64"),
        ({"blocks.0.norm1.weight": torch.ones(16, dtype=torch.complex64)}, "stored as complex64"),
        ({"blocks.0.norm1.weight": torch.full((16,), 1e300, dtype=torch.float64)}, "not finite"),
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
        ({"block_sizes": 16}, "block_sizes 16, it must be a list of whole numbers"),
        ({"sha256": {"tokenizer.json": None}}, "tokenizer.json null, it must be a string"),
        ({"sha256": {"..": "0"}}, r"has no \.\."),
        ({"sha256": {"x" * 5000: "0"}}, "outside its folder"),
        ({"sha256": {"\ud800": "0"}}, "outside its folder"),
        ({"training": {"parameters": 10**400}}, "training in blockviz.json has parameters 1000"),
        ({"training": {"parameters": 1.5}}, "parameters 1.5, it must be a whole number"),
        ({"training": {"recipe": []}}, "recipe a list, it must be a string"),
        ({"sha256": {"../tiny/config.json": "0"}}, "outside its folder"),
        ({"sha256": {"other.json": "0"}}, "has no other.json"),
    ],
)
def test_wrong_manifests_are_refused(folder: Path, changes: dict[str, object], message: str) -> None:
    change_json(folder / "blockviz.json", **changes)
    with pytest.raises(CheckpointError, match=message):
        load(folder, "cpu")


HUGE = float("inf")  # what 1e400 in a file becomes
NOT_WHOLE = [None, True, 3.5, HUGE, float("nan"), -1, 10**400, "7", [], {}]


def but(values: list[object], *fine: object) -> list[object]:
    return [value for value in values if not any(value is one or value == one for one in fine)]


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("format", NOT_WHOLE),
        ("process", [None, True, 3, [], {}, "Masked", "\ud800"]),
        ("vocab_size", NOT_WHOLE),
        ("mask_id", NOT_WHOLE),
        ("end_id", but(NOT_WHOLE, None)),
        ("pad_id", but(NOT_WHOLE, None)),
        ("length", [*NOT_WHOLE, 0, 128.5, 1_000_000_000]),
        ("block_sizes", [*NOT_WHOLE, *([value] for value in NOT_WHOLE), [0, 16]]),
        ("block_weights", [*NOT_WHOLE, [0.5, None], [0.5, "0.5"], [True, 0], [HUGE, 0], [-1, 2], [1]]),
        ("schedule", [None, "foo", 1, []]),
        ("task", ["foo", [], {}, 1, True]),
        ("training", but([*NOT_WHOLE, "x"], {})),
        ("sha256", [*NOT_WHOLE, "x", {}]),
    ],
)
def test_every_field_of_the_manifest_is_of_its_kind(folder: Path, field: str, values: list[object]) -> None:
    content = json.loads((folder / "blockviz.json").read_text(encoding="utf-8"))
    for value in values:
        (folder / "blockviz.json").write_text(json.dumps({**content, field: value}), encoding="utf-8")
        with pytest.raises(CheckpointError) as caught:
            load(folder, "cpu")
        message = str(caught.value)
        assert field in message or "block size" in message
        assert message.isprintable()
        assert len(message) < 200
        (card,) = list_models(folder.parent)
        assert card.error or field == "sha256"  # the list reads no file that the hashes are of
    if field not in ("schedule", "task", "training", "sha256"):
        del content[field]
        with pytest.raises(CheckpointError, match=field):
            parse_info(content)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("hidden_size", [*NOT_WHOLE, 0, 15]),
        ("n_blocks", [*NOT_WHOLE, 0, 2, 999, 100_000]),
        ("n_heads", [*NOT_WHOLE, 0, 3, 16]),
        ("length", [*NOT_WHOLE, 0, 1_000_000_000]),
        ("cond_dim", [*NOT_WHOLE, -4]),
        ("dropout", [None, True, "0", [], -0.1, 5, HUGE, float("nan"), 10**400]),
        ("x0_causal", [None, "no", 0, 1, []]),
        ("type", [None, 1, "foo", []]),
        ("name", [None, 1, {}]),
        ("attn_backend", [None, True, []]),
    ],
)
def test_every_field_of_the_config_is_of_its_kind(folder: Path, field: str, values: list[object]) -> None:
    content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for value in values:
        (folder / "config.json").write_text(json.dumps({**content, field: value}), encoding="utf-8")
        with pytest.raises(CheckpointError, match=rf"config\.json .*({field}|into \d+ heads)"):
            load(folder, "cpu")
        (card,) = list_models(folder.parent)
        assert card.error
    if field not in ("cond_dim", "dropout", "type", "name", "attn_backend"):
        del content[field]
        (folder / "config.json").write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(CheckpointError, match=rf"config\.json lacks {field}"):
            load(folder, "cpu")


def test_a_stated_dropout_is_not_applied(folder: Path) -> None:
    change_json(folder / "config.json", dropout=1.0)
    net = load(folder, "cpu").net
    tokens, positions = torch.arange(8)[None], torch.arange(8)
    change_json(folder / "config.json", dropout=0.0)
    assert torch.equal(net(tokens, positions), load(folder, "cpu").net(tokens, positions))


def test_a_wide_network_is_refused_before_it_is_built(folder: Path) -> None:
    """Its one layer would take 50 GB, of a file of 256 kB."""
    change_tensors(folder, {"vocab_embed.embedding": torch.zeros(2, 65_536, dtype=torch.float16)})
    change_json(folder / "config.json", hidden_size=65_536)
    info = replace(INFO, process="uniform", vocab_size=2, mask_id=None)
    with pytest.raises(CheckpointError, match=r"has shape \[.*16.*\], expected \[.*65536.*\]"):
        load(folder, "cpu", info=info, tokens=TOKENS)


def test_a_tokenizer_beyond_the_vocabulary_is_refused(folder: Path) -> None:
    tokenizer = math_tokenizer.build()
    tokenizer.add_tokens(["one", "two", "three"])
    Tokens(tokenizer).save(folder / "tokenizer.json")
    forget_hashes(folder)
    with pytest.raises(CheckpointError, match=rf"tokenizer\.json has the id \d+, .* 0 to {INFO.mask_id}"):
        load(folder, "cpu")


@pytest.mark.parametrize("name", ["config.json", "blockviz.json", "tokenizer.json"])
@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"format": ' * 100_000,
        "[]",
        "null",
        "",
        "{" + " " * 1_000_000 + "}",
        '{"format": 1' + "0" * 5000 + "}",
        b"\xff\xfe{",
        None,
    ],
    ids=["nested", "nested objects", "list", "null", "empty", "long", "digits", "no text", "directory"],
)
def test_a_file_that_is_no_object_is_one_error_of_its_folder(
    folder: Path, name: str, text: str | bytes | None
) -> None:
    broken = Path(shutil.copytree(folder, folder.parent / "broken"))
    (broken / name).unlink()
    if text is None:
        (broken / name).mkdir()
    else:
        (broken / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    if name != "blockviz.json":
        forget_hashes(broken)
    with pytest.raises(CheckpointError, match=name) as caught:
        load(broken, "cpu")
    assert "\n" not in str(caught.value)
    first, second = list_models(folder.parent)
    assert bool(first.error) == (name != "tokenizer.json")
    assert second.error is None


def test_a_pipe_in_a_folder_keeps_nobody_waiting(folder: Path) -> None:
    for name in ("blockviz.json", "tokenizer.json"):
        (folder / name).rename(folder / "kept")
        os.mkfifo(folder / name)
        with pytest.raises(CheckpointError, match=f"has no {name}"):
            load(folder, "cpu")
        (folder / name).unlink()
        (folder / "kept").rename(folder / name)


@pytest.mark.parametrize("there", [True, False])
def test_the_command_names_a_folder_that_is_none(
    folder: Path, there: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / ("config.json" if there else "nonexist")
    assert main(["models", "--folder", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"There is no folder {path} of checkpoints.\n"


@pytest.mark.parametrize("text", ["\udcff", "mia has \udcff apples", "a\ud800b", "\udfff <eos>"])
def test_a_prompt_that_is_no_text_is_unknown(text: str) -> None:
    with pytest.raises(UnknownText) as caught:
        TOKENS.encode(text)
    assert len(caught.value.words) == 1
    str(caught.value).encode()


@pytest.mark.parametrize("name", ["config.json", "blockviz.json", "tokenizer.json", "model.safetensors"])
def test_garbage_is_refused_in_one_sentence(folder: Path, name: str) -> None:
    (folder / name).write_text("{garbage", encoding="utf-8")
    if name != "blockviz.json":
        forget_hashes(folder)
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
    for name in ("abacus", "cpu:x", "", "cuda:9", "meta"):
        with pytest.raises(CheckpointError, match=f"'{name}' is not available"):
            pick_device(name)


def test_parse_info_needs_a_format() -> None:
    with pytest.raises(CheckpointError, match="format null"):
        parse_info({})
