from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from blockviz.models.checkpoint import load
from blockviz.models.decoder import Decoder, DecoderConfig
from blockviz.models.tokens import Tokens
from blockviz.sampling.run import sample
from blockviz.training import byte_tokenizer
from blockviz.training.command import main
from blockviz.training.loop import Place, Trainer, train
from blockviz.training.recipes import RECIPES, Recipe
from blockviz.training.runfiles import STATE, RunError
from blockviz.training.starting import EMBEDDING, fit_state, fit_vocabulary, history, start_of
from blockviz.training.text_source import TextSource
from tests.training.made_up_stories import stories

CPU = Place(0, 1, torch.device("cpu"))
SMALL = {"hidden_size": 16, "n_blocks": 1, "n_heads": 2, "batch": 4, "vocabulary": 300, "canvas": 64}
SIZES = (1, 2, 4, 8, 16, 32, 64)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "stories.txt"
    path.write_text("\n<|endoftext|>\n".join(stories(200)))
    return path


def small(name: str, steps: int = 3) -> Recipe:
    recipe = RECIPES[name]
    stage = replace(recipe.stages[-1], steps=steps, warmup_steps=0)
    sizes = (1,) if recipe.block_sizes == (1,) else SIZES
    return replace(recipe, stages=(stage,), block_sizes=sizes, **SMALL)


def run(recipe: Recipe, folder: Path, text: Path, **options: object) -> Trainer:
    return train(recipe, folder, CPU, source=TextSource(text), validation_rows=2, save_every=1, **options)


def published(folder: Path) -> Path:
    """A random decoder of the Llama family with its tokenizer, as such models are published."""
    folder.mkdir()
    tokens = Tokens(byte_tokenizer.build(stories(100), 300))
    tokens.save(folder / "tokenizer.json")
    config = {
        "model_type": "llama",
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 24,
        "vocab_size": 304,  # more than the tokenizer knows, as is usual
        "max_position_embeddings": 512,
        "tie_word_embeddings": True,
    }
    (folder / "config.json").write_text(json.dumps(config))
    generator = torch.Generator().manual_seed(0)
    tensors = {"model.embed_tokens.weight": torch.randn(304, 16, generator=generator)}
    tensors["model.norm.weight"] = torch.ones(16)
    for layer in range(2):
        for part, shape in {
            "input_layernorm": (16,),
            "self_attn.q_proj": (16, 16),
            "self_attn.k_proj": (8, 16),
            "self_attn.v_proj": (8, 16),
            "self_attn.o_proj": (16, 16),
            "post_attention_layernorm": (16,),
            "mlp.gate_proj": (24, 16),
            "mlp.up_proj": (24, 16),
            "mlp.down_proj": (16, 24),
        }.items():
            tensors[f"model.layers.{layer}.{part}.weight"] = torch.randn(shape, generator=generator) * 0.2
    save_file(tensors, folder / "model.safetensors")
    return folder


def test_an_ar_model_is_overlaid_with_trunk_tokenizer_and_optimiser(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RECIPES, "stories-ar", small("stories-ar"))
    run(small("stories-ar"), tmp_path / "stories-ar", text)
    ended = load_file(tmp_path / "stories-ar" / STATE)
    overlay = run(small("stories-overlay"), tmp_path / "overlay", text, until=0)
    started = overlay.optimiser.state()
    assert ended.keys() == started.keys()
    for name, tensor in ended.items():
        assert torch.equal(started[name], tensor), name
    assert any(name.startswith("muon/momentum_buffer") and tensor.any() for name, tensor in started.items())
    assert overlay.tokens.names == Tokens.from_file(tmp_path / "stories-ar" / "tokenizer.json").names
    afresh = replace(small("stories-overlay"), keeps_optimiser=False)
    weights = run(afresh, tmp_path / "afresh", text, until=0).optimiser.state()
    assert not any(name.startswith("muon/") for name in weights)
    assert torch.equal(weights[f"weights/{EMBEDDING}"], ended[f"average/{EMBEDDING}"])


def test_a_mask_joins_the_state_without_a_past(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RECIPES, "stories-ar", small("stories-ar"))
    run(small("stories-ar"), tmp_path / "stories-ar", text)
    ended = load_file(tmp_path / "stories-ar" / STATE)
    rows = len(ended[f"weights/{EMBEDDING}"])
    assert fit_state(ended, rows).keys() == ended.keys()
    masked = replace(small("stories-overlay"), process="masked")
    trainer = run(masked, tmp_path / "masked", text, until=0)
    started = trainer.optimiser.state()
    for name, tensor in ended.items():
        if tensor.shape == started[name].shape:
            assert torch.equal(started[name], tensor), name
        else:
            assert torch.equal(started[name][:-1], tensor), name
            if name.startswith("adamw/"):
                assert not started[name][-1].any(), name
    assert torch.allclose(started[f"weights/{EMBEDDING}"][-1], ended[f"weights/{EMBEDDING}"].mean(0))
    trainer.train_step()


@pytest.mark.slow
@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_a_published_decoder_is_overlaid_trained_and_sampled_from(
    process: str, tmp_path: Path, text: Path
) -> None:
    recipe, decoder = small(f"overlay-{process}", 4), published(tmp_path / "decoder")
    trainer = run(recipe, tmp_path / "run", text, decoder=decoder, until=0)
    assert isinstance(trainer.net, Decoder)
    original = load_file(decoder / "model.safetensors")
    state = trainer.net.state_dict()
    assert torch.equal(state[EMBEDDING][:304], original["model.embed_tokens.weight"])
    qkv = [original[f"model.layers.1.self_attn.{part}_proj.weight"] for part in "qkv"]
    assert torch.equal(state["blocks.1.attn_qkv.weight"], torch.cat(qkv))
    run(recipe, tmp_path / "run", text, decoder=decoder, until=2)
    resumed = run(recipe, tmp_path / "run", text, decoder=decoder, resume=True)
    whole = run(recipe, tmp_path / "whole", text, decoder=decoder)
    for name, tensor in whole.optimiser.state().items():
        assert torch.equal(tensor, resumed.optimiser.state()[name]), name
    model = load(resumed.export(tmp_path / "out", {}), "cpu")
    assert isinstance(model.config, DecoderConfig)
    assert model.info.task is None
    assert model.info.vocab_size == (305 if process == "masked" else 304)
    assert model.tokens.names == Tokens.from_file(decoder / "tokenizer.json").names
    assert len(sample(model, "Once upon", block_size=16, steps=2, corrector="ar_nll").passes) > 2


def test_the_right_recipe_is_asked_for_the_right_start(tmp_path: Path) -> None:
    decoder = published(tmp_path / "decoder")
    with pytest.raises(RunError, match="name its folder with --decoder"):
        start_of(RECIPES["overlay-masked"], tmp_path, None)
    with pytest.raises(RunError, match="stories-base does not start from a published decoder"):
        start_of(RECIPES["stories-base"], tmp_path, decoder)
    with pytest.raises(RunError, match="no run to resume"):
        start_of(RECIPES["stories-overlay"], tmp_path / "run", None)
    assert start_of(RECIPES["stories-base"], tmp_path, None) is None


def test_the_command_says_what_a_decoder_lacks(
    tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decoder = published(tmp_path / "decoder")
    arguments = [
        "overlay-masked",
        "--text",
        str(text),
        "--run",
        str(tmp_path / "run"),
        "--decoder",
        str(decoder),
    ]
    (decoder / "config.json").write_text('{"model_type": "bert"}')
    assert main(arguments) == 2
    assert "model_type 'bert'" in capsys.readouterr().err
    assert main(arguments[:-2]) == 2
    assert "name its folder with --decoder" in capsys.readouterr().err


def test_the_base_may_have_been_longer_but_not_another_network(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RECIPES, "stories-ar", small("stories-ar", 9))
    run(replace(small("stories-ar", 2), batch=3), tmp_path / "stories-ar", text)
    trainer = run(small("stories-overlay"), tmp_path / "overlay", text)
    runs = history(tmp_path / "overlay", trainer.recipe)
    assert [(part["recipe"], part["batch"], part["steps"]) for part in runs] == [
        ("stories-ar", 3, 2),
        ("stories-overlay", 4, 3),
    ]
    assert runs[1]["stages"][0]["block_weights"] == list(trainer.recipe.stages[0].block_weights)
    monkeypatch.setitem(RECIPES, "stories-ar", replace(small("stories-ar"), n_heads=4))
    with pytest.raises(RunError, match="made with n_heads = 2, not 4"):
        start_of(trainer.recipe, tmp_path / "overlay", None)


def test_without_a_mask_the_vocabulary_stays() -> None:
    weights = {EMBEDDING: torch.randn(5, 2)}
    assert fit_vocabulary(weights, 5) is weights
    assert set(fit_vocabulary(weights, 6)) == {EMBEDDING}  # a tied head has no rows of its own
