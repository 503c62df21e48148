"""Published decoders are read as the library they are published for computes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from blockviz.models.decoder import Decoder
from blockviz.models.decoder_files import read_decoder
from blockviz.models.fields import CheckpointError

VOCAB = 50
SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": VOCAB,
    "max_position_embeddings": 64,
}
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": VOCAB, "n_positions": 64}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", SMALL),
    "llama with biases, tied": (
        "LlamaConfig",
        {**SMALL, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True, "head_dim": 16},
    ),
    "qwen2": ("Qwen2Config", {**SMALL, "rope_theta": 1e6}),
    "qwen3": ("Qwen3Config", {**SMALL, "head_dim": 16}),
    "gpt2": ("GPT2Config", GPT2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_a_causal_reading_is_that_of_the_published_model(name: str, tmp_path: Path) -> None:
    import transformers

    kind, shape = FAMILIES[name]
    torch.manual_seed(0)
    ids = {"bos_token_id": 1, "eos_token_id": 2}
    theirs = transformers.AutoModelForCausalLM.from_config(getattr(transformers, kind)(**shape, **ids))
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    theirs.eval().save_pretrained(tmp_path)
    config, state = read_decoder(tmp_path)
    ours = Decoder(config).eval()
    ours.load_state_dict(state, strict=False)
    tokens = torch.randint(VOCAB, (2, 20))
    causal = torch.ones(20, 20, dtype=torch.bool).tril()
    with torch.no_grad():
        torch.testing.assert_close(
            ours(tokens, torch.arange(20), causal), theirs(tokens).logits, atol=2e-5, rtol=1e-4
        )


def published(folder: Path, **changes: Any) -> Path:
    """A folder as GPT-2 is published: no prefix, the buffers of its masks among the weights."""
    config = {"model_type": "gpt2", **GPT2, **changes}
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {
        "wte.weight": torch.randn(VOCAB, 32),
        "wpe.weight": torch.randn(64, 32),
        "ln_f.weight": torch.ones(32),
        "ln_f.bias": torch.zeros(32),
    }
    for layer in range(2):
        shapes = {
            "ln_1.weight": (32,),
            "ln_1.bias": (32,),
            "attn.bias": (1, 1, 64, 64),
            "attn.masked_bias": (),
            "attn.c_attn.weight": (32, 96),
            "attn.c_attn.bias": (96,),
            "attn.c_proj.weight": (32, 32),
            "attn.c_proj.bias": (32,),
            "ln_2.weight": (32,),
            "ln_2.bias": (32,),
            "mlp.c_fc.weight": (32, 128),
            "mlp.c_fc.bias": (128,),
            "mlp.c_proj.weight": (128, 32),
            "mlp.c_proj.bias": (32,),
        }
        tensors |= {f"h.{layer}.{part}": torch.randn(shape) for part, shape in shapes.items()}
    save_file(tensors, folder / "model.safetensors")
    return folder


def test_a_folder_is_read_without_any_library(tmp_path: Path) -> None:
    config, state = read_decoder(published(tmp_path))
    assert (config.n_blocks, config.n_heads, config.length, config.vocab_size) == (2, 4, 64, VOCAB)
    assert config.tied
    tensors = load_file(tmp_path / "model.safetensors")
    assert torch.equal(state["blocks.1.attn_qkv.weight"], tensors["h.1.attn.c_attn.weight"].T)
    assert torch.equal(state["position_embed.weight"], tensors["wpe.weight"])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_type": "bert"}, "model_type 'bert', it must be 'llama' or 'qwen2' or 'qwen3' or 'gpt2'"),
        ({"activation_function": "relu"}, "activation_function"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
        ({"n_head": 0}, "n_head 0"),
        ({"n_layer": 3}, "the weights lack blocks.2"),
        ({"n_layer": 1}, "the weights hold 'blocks.1"),
        ({"vocab_size": 49}, "vocab_embed.embedding has shape"),
        ({"n_positions": "64"}, "n_positions '64'"),
        ({"model_type": "llama", **SMALL, "rope_scaling": {"rope_type": "yarn"}}, "'yarn' rotary scaling"),
        (
            {"model_type": "llama", **SMALL, "rope_parameters": {"rope_type": "llama3"}},
            "'llama3' rotary scaling",
        ),
        ({"model_type": "qwen2", **SMALL, "use_sliding_window": True}, "sliding windows"),
        ({"model_type": "llama", **SMALL, "hidden_act": "gelu"}, "hidden_act 'gelu'"),
        ({"model_type": "llama", **SMALL, "num_key_value_heads": 3}, "cannot share 3"),
    ],
)
def test_what_is_not_computed_here_is_refused(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=reason):
        read_decoder(published(tmp_path, **changes))


def test_broken_and_missing_files_are_named(tmp_path: Path) -> None:
    folder = published(tmp_path)
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(CheckpointError, match="not a readable safetensors file"):
        read_decoder(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"has no model\.safetensors"):
        read_decoder(folder)
    (folder / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"has no config\.json"):
        read_decoder(folder)
