"""Released checkpoints: what the path tells, what has to be told, and that a folder of that format writes text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from blockviz.models import hub
from blockviz.models.block_dit import NetworkConfig
from blockviz.models.fields import CheckpointError
from blockviz.models.released import Told, open_model, release
from blockviz.sampling.run import sample
from blockviz.sampling.settings import SettingsError
from tests.models.hub_server import hub as hub_on_this_machine
from tests.models.hub_server import use_hub
from tests.models.releases import GPT2_SIZE, byte_level_tokenizer, write_release

SMALL = NetworkConfig(
    hidden_size=16, n_blocks=2, n_heads=2, length=48, vocab_size=301, cond_dim=8, x0_causal=True
)
TOKENIZER = byte_level_tokenizer(300)
MULTI = "blockgen/multi_block_size/16/tinygsm/0.05_0.95"


@pytest.mark.parametrize(
    ("path", "process", "sizes", "weights"),
    [
        (f"{MULTI}/absorb", "masked", (1, 16), (0.05, 0.95)),
        (f"{MULTI}/uniform", "uniform", (1, 16), (0.05, 0.95)),
        ("multi_block_size/32/tinygsm/0.01_0.99/uniform", "uniform", (1, 32), (0.01, 0.99)),
        ("multi_block_size/16/owt/uniform/absorb", "masked", (1, 2, 4, 8, 16), (0.2,) * 5),
        ("multi_block_size/16/owt/uniform/uniform", "uniform", (1, 2, 4, 8, 16), (0.2,) * 5),
        ("single_block_size/16/owt/absorb", "masked", (16,), (1.0,)),
        ("single_block_size/32/tinygsm/uniform", "uniform", (32,), (1.0,)),
    ],
)
def test_the_layout_of_the_released_repository_tells_everything(
    path: str, process: str, sizes: tuple[int, ...], weights: tuple[float, ...], tmp_path: Path
) -> None:
    folder = write_release(tmp_path / path, SMALL, tokenizer=TOKENIZER)
    info = release(str(folder), Told()).info
    assert (info.process, info.block_sizes, info.block_weights) == (process, sizes, pytest.approx(weights))
    assert (info.vocab_size, info.length, info.end_id) == (301, 48, 299)
    # MASK is PAD in masked releases; a uniform one has PAD as a token of its noise, which is never written
    assert (info.mask_id, info.pad_id) == ((300, 300) if process == "masked" else (None, 300))


def test_a_release_writes_and_never_writes_mask_or_pad(tmp_path: Path) -> None:
    for process in ("absorb", "uniform"):
        folder = write_release(tmp_path / MULTI / process, SMALL, tokenizer=TOKENIZER)
        model = open_model(str(folder), "cpu")
        trace = sample(model, "ab", preset="arpc", steps=3, fill_canvas=True)
        written = trace.passes[-1].tokens
        assert written.max() < 300
        assert trace.header.model.name == process
        assert model.net.output_layer.linear.weight.dtype == torch.float32


def test_a_release_stored_in_half_precision_computes_in_float32(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = write_release(tmp_path / MULTI / "absorb", SMALL, tokenizer=TOKENIZER)
    state = {k: v.half() for k, v in load_file(folder / "model.safetensors").items()}
    save_file(state, folder / "model.safetensors")
    model = open_model(str(folder), "cpu")
    assert {parameter.dtype for parameter in model.net.parameters()} == {torch.float32}


@pytest.mark.parametrize("corrector", ["ar_nll", "kld"])
def test_a_block_causal_release_refuses_ar_scores_with_the_reason(tmp_path: Path, corrector: str) -> None:
    config = replace(SMALL, x0_causal=False)
    folder = write_release(tmp_path / "single_block_size/16/owt/absorb", config, tokenizer=TOKENIZER)
    model = open_model(str(folder), "cpu")
    with pytest.raises(SettingsError, match="x0_causal is false"):
        sample(model, "ab", corrector=corrector, steps=2)
    assert sample(model, "ab", steps=2, length=16).end.text is not None


def test_what_cannot_be_told_is_asked_for(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "mine", SMALL, tokenizer=TOKENIZER)
    with pytest.raises(CheckpointError, match="--process masked or --process uniform"):
        release(str(folder), Told())
    with pytest.raises(CheckpointError, match="--block-sizes 1,16"):
        release(str(folder), Told(process="masked"))
    with pytest.raises(CheckpointError, match="--block-weights"):
        release(str(folder), Told(process="masked", block_sizes=(1, 8)))
    told = Told(process="masked", block_sizes=(1, 8), block_weights=(0.5, 0.5))
    assert release(str(folder), told).info.block_sizes == (1, 8)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match=r"301 tokens and no tokenizer\.json.*--tokenizer"):
        release(str(folder), told)
    other = tmp_path / "other.json"
    byte_level_tokenizer(290).save(str(other))
    with pytest.raises(CheckpointError, match=r"has 301 tokens, the tokenizer .* has 290"):
        release(str(folder), replace(told, tokenizer=str(other)))


def test_what_is_told_wins_over_the_path(tmp_path: Path) -> None:
    folder = write_release(tmp_path / MULTI / "absorb", SMALL, tokenizer=TOKENIZER)
    told = Told(process="uniform", block_sizes=(4,), block_weights=(1.0,))
    info = release(str(folder), told).info
    assert (info.process, info.block_sizes) == ("uniform", (4,))


def test_weights_that_are_told_win_where_the_path_names_the_sizes(tmp_path: Path) -> None:
    folder = write_release(tmp_path / MULTI / "absorb", SMALL, tokenizer=TOKENIZER)
    info = release(str(folder), Told(block_weights=(0.3, 0.7))).info
    assert (info.block_sizes, info.block_weights) == ((1, 16), (0.3, 0.7))
    with pytest.raises(CheckpointError, match="one weight per block size"):
        release(str(folder), Told(block_weights=(0.3, 0.3, 0.4)))


def test_another_backbone_is_refused(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "baselines/owt/mdlm", SMALL, tokenizer=TOKENIZER, kind="dit")
    with pytest.raises(CheckpointError, match=r"of type 'dit'; only block-dit"):
        release(str(folder), Told())


def test_a_checkpoint_of_ours_is_not_told_what_it_says_itself() -> None:
    with pytest.raises(CheckpointError, match=r"math-masked says its process.*itself"):
        open_model("math-masked", "cpu", told=Told(process="uniform"))


def test_weights_and_tokenizer_come_from_the_hub_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(SMALL, vocab_size=GPT2_SIZE + 1)
    served = tmp_path / "served"
    write_release(served / "owner" / "repo" / MULTI / "absorb", config)
    gpt2 = served / "openai-community" / "gpt2"
    gpt2.mkdir(parents=True)
    byte_level_tokenizer(GPT2_SIZE).save(str(gpt2 / "tokenizer.json"))
    with hub_on_this_machine(served) as (address, sent):
        use_hub(monkeypatch, address, tmp_path / "cache")
        model = open_model(f"hf:owner/repo/{MULTI}/absorb", "cpu")
    assert sorted(file.rsplit("/")[-1] for file in sent) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert model.name == "16-tinygsm-0.05_0.95-absorb"
    assert model.info.mask_id == model.info.pad_id == GPT2_SIZE
    assert sample(model, "hello", steps=2, length=20).header.model.name == model.name
    assert hub.PREFIX not in model.name
