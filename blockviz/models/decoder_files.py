"""Reading published causal decoders (folders with config.json and safetensors) into `decoder.Decoder`'s form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from blockviz.models.decoder import Decoder, DecoderConfig
from blockviz.models.fields import CheckpointError, Fields, read_json, shown
from blockviz.models.weights import LONGEST_CANVAS, MOST_LAYERS, WIDEST

FAMILIES = ("llama", "qwen2", "qwen3", "gpt2")
MOST_TOKENS = 10_000_000
MOST_POSITIONS = 10_000_000

# Names in the published files behind "model.layers.N." or "transformer.h.N.", and ours behind "blocks.N.".
_LLAMA_PARTS = {
    "input_layernorm": "norm1",
    "self_attn.o_proj": "attn_out",
    "self_attn.q_norm": "query_norm",
    "self_attn.k_norm": "key_norm",
    "post_attention_layernorm": "norm2",
    "mlp.gate_proj": "mlp.gate",
    "mlp.up_proj": "mlp.up",
    "mlp.down_proj": "mlp.down",
}
_GPT2_PARTS = {
    "ln_1": "norm1",
    "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_out",
    "ln_2": "norm2",
    "mlp.c_fc": "mlp.up",
    "mlp.c_proj": "mlp.down",
}
HEAD = "output_layer.linear.weight"
_LLAMA_ENDS = {
    "model.embed_tokens.weight": "vocab_embed.embedding",
    "model.norm.weight": "output_layer.norm_final.weight",
    "lm_head.weight": HEAD,
}
_GPT2_ENDS = {
    "wte.weight": "vocab_embed.embedding",
    "wpe.weight": "position_embed.weight",
    "ln_f.weight": "output_layer.norm_final.weight",
    "ln_f.bias": "output_layer.norm_final.bias",
    "lm_head.weight": HEAD,
}


def read_decoder(folder: Path) -> tuple[DecoderConfig, dict[str, Tensor]]:
    """Shape and weights (float32) of a published decoder; its tokenizer.json is a matter of its own.

    `length` is the number of positions it was made for, `LONGEST_CANVAS` at most. Raises CheckpointError in one
    sentence for another architecture or a variant that is not computed here, and for files that do not fit each other.
    """
    given = {name: value for name, value in read_json(folder / "config.json").items() if value is not None}
    content = Fields("config.json", given)
    family = content.choice("model_type", FAMILIES)
    config = _gpt2_config(content) if family == "gpt2" else _llama_config(content, family)
    published = _tensors(folder)
    state = _gpt2_state(published) if family == "gpt2" else _llama_state(published, config)
    if config.tied:
        state.pop(HEAD, None)
    _check(state, config)
    return config, {name: tensor.float() for name, tensor in state.items()}


def _llama_config(content: Fields, family: str) -> DecoderConfig:
    rope = Fields("rope_parameters in config.json", content.mapping("rope_parameters", {}))
    scaling = content.mapping("rope_scaling", {})
    kind = rope.text("rope_type", scaling.get("rope_type", scaling.get("type", "default")))
    if kind != "default":
        raise CheckpointError(
            f"config.json asks for {shown(kind)} rotary scaling, only plain rotation is computed"
        )
    content.choice("hidden_act", ("silu",), "silu")
    if content.flag("use_sliding_window", False):
        raise CheckpointError("config.json asks for sliding windows, which are not computed here")
    width, heads = content.whole("hidden_size", 2, WIDEST), content.whole("num_attention_heads", 1, WIDEST)
    bias = content.flag("attention_bias", False)
    base = content.number("rope_theta", 1, 1e12, 10000.0)
    return _config(
        hidden_size=width,
        n_blocks=content.whole("num_hidden_layers", 1, MOST_LAYERS),
        n_heads=heads,
        length=min(content.whole("max_position_embeddings", 1, MOST_POSITIONS), LONGEST_CANVAS),
        vocab_size=content.whole("vocab_size", 2, MOST_TOKENS),
        shared_heads=content.whole("num_key_value_heads", 1, WIDEST, heads),
        head_width=content.whole("head_dim", 1, WIDEST, width // heads),
        mlp_width=content.whole("intermediate_size", 1, 16 * WIDEST),
        norm_eps=content.number("rms_norm_eps", 0, 1, 1e-6),
        rotary_base=rope.number("rope_theta", 1, 1e12, base),
        qkv_bias=bias or family == "qwen2",
        out_bias=bias,
        mlp_bias=content.flag("mlp_bias", False),
        head_norms=family == "qwen3",
        tied=content.flag("tie_word_embeddings", False),
    )


def _gpt2_config(content: Fields) -> DecoderConfig:
    content.choice("activation_function", ("gelu_new", "gelu_pytorch_tanh"), "gelu_new")
    for name, usual in (("scale_attn_weights", True), ("scale_attn_by_inverse_layer_idx", False)):
        if content.flag(name, usual) != usual:
            raise CheckpointError(f"config.json has an unusual {name}, which is not computed here")
    width, heads = content.whole("n_embd", 2, WIDEST), content.whole("n_head", 1, WIDEST)
    return _config(
        hidden_size=width,
        n_blocks=content.whole("n_layer", 1, MOST_LAYERS),
        n_heads=heads,
        length=content.whole("n_positions", 1, LONGEST_CANVAS),
        vocab_size=content.whole("vocab_size", 2, MOST_TOKENS),
        shared_heads=heads,
        head_width=width // heads,
        mlp_width=content.whole("n_inner", 1, 16 * WIDEST, 4 * width),
        norm="layer",
        norm_eps=content.number("layer_norm_epsilon", 0, 1, 1e-5),
        rotary_base=None,
        gated=False,
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        tied=content.flag("tie_word_embeddings", True),
    )


def _config(**shape: Any) -> DecoderConfig:
    try:
        return DecoderConfig(**shape)
    except ValueError as error:
        raise CheckpointError(f"config.json does not fit together: {error}") from error


def _tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors of the folder's model*.safetensors, however many files they are in."""
    tensors: dict[str, Tensor] = {}
    for path in sorted(folder.glob("model*.safetensors")):
        try:
            tensors |= load_file(path)
        except Exception as error:  # safetensors and the file system each raise their own
            raise CheckpointError(f"{path.name} is not a readable safetensors file: {error}") from error
    if not tensors:
        raise CheckpointError(f"{folder.name} has no model.safetensors")
    return tensors


def _llama_state(published: dict[str, Tensor], config: DecoderConfig) -> dict[str, Tensor]:
    state: dict[str, Tensor] = {}
    for name, tensor in published.items():
        layer = re.fullmatch(r"model\.layers\.(\d+)\.(.+)\.(weight|bias)", name)
        if layer is None:
            state[_LLAMA_ENDS.get(name, name)] = tensor
        elif layer[2] in _LLAMA_PARTS:
            state[f"blocks.{layer[1]}.{_LLAMA_PARTS[layer[2]]}.{layer[3]}"] = tensor
        elif layer[2] == "self_attn.q_proj":
            parts = [published.get(name.replace("q_proj", part)) for part in ("q_proj", "k_proj", "v_proj")]
            if any(part is None for part in parts):
                raise CheckpointError(f"the weights have {shown(name)} without keys or values beside it")
            state[f"blocks.{layer[1]}.attn_qkv.{layer[3]}"] = torch.cat(
                [part for part in parts if part is not None]
            )
        elif layer[2] not in ("self_attn.k_proj", "self_attn.v_proj", "self_attn.rotary_emb.inv_freq"):
            state[name] = tensor
    return {name: tensor for name, tensor in state.items() if not name.endswith("rotary_emb.inv_freq")}


def _gpt2_state(published: dict[str, Tensor]) -> dict[str, Tensor]:
    state: dict[str, Tensor] = {}
    for full, tensor in published.items():
        name = full.removeprefix("transformer.")
        layer = re.fullmatch(r"h\.(\d+)\.(.+)\.(weight|bias)", name)
        if layer is None:
            state[_GPT2_ENDS.get(name, name)] = tensor
        elif layer[2] in _GPT2_PARTS:
            # GPT-2 stores its matrices the other way round.
            turned = tensor.T.contiguous() if tensor.dim() == 2 else tensor
            state[f"blocks.{layer[1]}.{_GPT2_PARTS[layer[2]]}.{layer[3]}"] = turned
        elif layer[2] != "attn" and (layer[2], layer[3]) != ("attn.masked", "bias"):
            state[name] = tensor
    return {
        name: tensor for name, tensor in state.items() if not re.fullmatch(r"h\.\d+\.attn\.\w*bias", name)
    }


def _check(state: dict[str, Tensor], config: DecoderConfig) -> None:
    with torch.device("meta"):
        expected = {name: tensor.shape for name, tensor in Decoder(config).state_dict().items()}
    expected.pop("rotary_emb.inv_freq")
    for name in sorted(set(expected) | set(state)):
        if name not in state:
            raise CheckpointError(f"the weights lack {name}")
        if name not in expected:
            raise CheckpointError(f"the weights hold {shown(name)}, which this decoder does not have")
        if state[name].shape != expected[name]:
            found, wanted = list(state[name].shape), list(expected[name])
            raise CheckpointError(f"{name} has shape {found}, config.json makes it {wanted}")
        if not torch.isfinite(state[name]).all():
            raise CheckpointError(f"{name} holds values that are not finite numbers")
