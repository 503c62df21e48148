from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from blockviz.models.attention import training_mask
from blockviz.models.checkpoint import ModelInfo, load, save
from blockviz.models.decoder import Decoder, DecoderConfig, network
from blockviz.models.fields import CheckpointError
from blockviz.models.kv_cache import KVCache
from blockviz.models.layer import AttentionRequest
from blockviz.sampling.run import sample
from blockviz.sampling.settings import SamplerSettings
from tests.models.test_checkpoint import TOKENS

VOCAB, LENGTH = TOKENS.vocab_size + 1, 32
LLAMA = DecoderConfig(16, 2, 4, LENGTH, VOCAB, shared_heads=2, head_width=4, mlp_width=24)
QWEN3 = replace(LLAMA, head_width=8, head_norms=True, tied=True)
GPT2 = replace(
    LLAMA,
    shared_heads=4,
    norm="layer",
    rotary_base=None,
    gated=False,
    qkv_bias=True,
    out_bias=True,
    mlp_bias=True,
    tied=True,
)
SHAPES = {"llama": LLAMA, "qwen3": QWEN3, "gpt2": GPT2}


def decoder(config: DecoderConfig) -> Decoder:
    net = network(config)
    assert isinstance(net, Decoder)
    generator = torch.Generator().manual_seed(0)
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, std=0.3, generator=generator)
    return net.eval().requires_grad_(False)


@pytest.mark.parametrize("name", SHAPES)
def test_the_cached_path_is_the_recomputed_path(name: str) -> None:
    net, size = decoder(SHAPES[name]), 8
    x0 = torch.randint(VOCAB, (2, LENGTH), generator=torch.Generator().manual_seed(1))
    xt = torch.randint(VOCAB, (2, LENGTH), generator=torch.Generator().manual_seed(2))
    positions = torch.arange(LENGTH)
    whole = net(
        torch.cat([x0, xt], dim=1),
        torch.cat([positions, positions]),
        training_mask(LENGTH, size, True),
        first_output=LENGTH,
    )
    cache = KVCache(net.config, 2, LENGTH)
    for start in range(0, LENGTH, size):
        window = slice(start, start + size)
        logits = net(xt[:, window], positions[window], cache=cache)
        torch.testing.assert_close(logits, whole[:, window], atol=1e-4, rtol=1e-4)
        causal = torch.arange(start + size) <= positions[window, None]
        net(x0[:, window], positions[window], causal, cache, commit=size)
    assert cache.length == LENGTH


@pytest.mark.parametrize("name", SHAPES)
def test_asking_for_weights_changes_nothing(name: str) -> None:
    net = decoder(SHAPES[name])
    tokens, positions = torch.arange(6)[None], torch.arange(6)
    request = AttentionRequest(1, 3)
    asked = net(tokens, positions, attention=request)
    assert torch.equal(asked, net(tokens, positions))
    assert request.weights is not None
    assert request.weights.shape == (1, 4, 3, 6)
    torch.testing.assert_close(request.weights.sum(-1), torch.ones(1, 4, 3))


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_a_decoder_is_saved_loaded_and_sampled_from(name: str, process: str, tmp_path: Path) -> None:
    net = decoder(SHAPES[name])
    info = ModelInfo(
        process=process,  # type: ignore[arg-type]
        vocab_size=VOCAB,
        mask_id=VOCAB - 1 if process == "masked" else None,
        end_id=TOKENS.end_id,
        pad_id=None,
        length=LENGTH,
        block_sizes=(1, 8),
        block_weights=(0.5, 0.5),
    )
    save(tmp_path / "overlaid", net, info, TOKENS, dtype=torch.float32)
    model = load(tmp_path / "overlaid", "cpu")
    assert model.config == net.config
    for key, tensor in net.state_dict().items():
        assert torch.equal(tensor, model.net.state_dict()[key]), key
    settings = SamplerSettings(block_size=8, steps=4, corrector="ar_nll", temperature=0.5, seed=3)
    cached = sample(model, "", settings)
    plain = sample(model, "", replace(settings, use_cache=False))
    assert len(cached.passes) > 4
    assert cached.tokens.tolist() == plain.tokens.tolist()


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="4 heads cannot share 3"):
        replace(LLAMA, shared_heads=3)
    with pytest.raises(ValueError, match="even width"):
        replace(LLAMA, head_width=3)
    with pytest.raises(ValueError, match="x0_causal"):
        replace(LLAMA, x0_causal=False)


def test_a_decoder_without_its_fields_is_refused(tmp_path: Path) -> None:
    info = ModelInfo("uniform", VOCAB, None, TOKENS.end_id, None, LENGTH, (1,), (1.0,))
    folder = save(tmp_path / "m", decoder(LLAMA), info, TOKENS)
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text(text.replace('"head_width"', '"head_breadth"'))
    with pytest.raises(CheckpointError, match="lacks head_width"):
        load(folder, "cpu")
