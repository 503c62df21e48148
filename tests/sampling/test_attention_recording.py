"""Recorded attention is exact, costs no token, and is refused where a trace could not hold it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from blockviz.diffusion.draws import GeneratorDraws
from blockviz.models.checkpoint import Model
from blockviz.sampling import attention_recording
from blockviz.sampling.attention_recording import recorded_bytes, recording_of
from blockviz.sampling.passes import Pass, attention_weights
from blockviz.sampling.run import passes, prepare, sample
from blockviz.sampling.settings import SamplerSettings, SettingsError
from blockviz.sampling.trace import Trace
from tests.sampling.small_models import tiny_model, words

PROMPT = words(1, 2, 3, 1, 2, 4)
CALLS = ("denoise", "propose", "verify")


def run(model: Model, **options: Any) -> Trace:
    settings = {"block_size": 4, "steps": 3, "seed": 3, "record_attention": "heads", **options}
    return sample(model, PROMPT, SamplerSettings(**settings))


def reference(model: Model, tokens: Tensor, positions: Tensor, mask: Tensor, layer: int) -> Tensor:
    """Weights float64 `[heads, T, T]` of a layer, written down from the checkpoint's tensors and MATHS.md alone."""
    state = {name: tensor.double() for name, tensor in model.net.state_dict().items()}
    heads, depth = model.config.n_heads, model.config.head_dim
    frequencies = 10000.0 ** (-torch.arange(0, depth, 2).double() / depth)
    angles = positions.double()[:, None] * frequencies
    cos, sin = angles.cos(), angles.sin()

    def normal(x: Tensor, name: str) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * state[name]

    def turned(x: Tensor) -> Tensor:
        left, right = x[..., : depth // 2], x[..., depth // 2 :]
        return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)

    x = state["vocab_embed.embedding"][tokens]
    for index in range(layer + 1):
        name = f"blocks.{index}."
        qkv = normal(x, name + "norm1.weight") @ state[name + "attn_qkv.weight"].T
        q, k, v = (part.unflatten(-1, (heads, depth)).transpose(0, 1) for part in qkv.chunk(3, dim=-1))
        scores = turned(q) @ turned(k).transpose(-1, -2) / math.sqrt(depth)
        weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
        x = x + (weights @ v).transpose(0, 1).flatten(1) @ state[name + "attn_out.weight"].T
        h = normal(x, name + "norm2.weight") @ state[name + "mlp.0.weight"].T + state[name + "mlp.0.bias"]
        h = torch.nn.functional.gelu(h, approximate="tanh")
        x = x + h @ state[name + "mlp.2.weight"].T + state[name + "mlp.2.bias"]
    return weights


def expected(model: Model, trace: Trace, k: int, layer: int) -> np.ndarray:
    """What pass k should have recorded, `[heads, W, stop]`, from one forward without any cache."""
    before, entry = trace.passes[k - 1], trace.passes[k]
    start, stop = entry.start, entry.stop
    width, size = stop - start, trace.header.block_size
    context = torch.from_numpy(entry.tokens[:start].astype(np.int64))
    window = torch.from_numpy(before.tokens[start:stop].astype(np.int64))
    at = torch.arange(stop)
    if entry.phase != "verify":
        mask = torch.ones(stop, stop, dtype=torch.bool)
        clean = at[:start]
        mask[:start, :start] = (
            clean <= clean[:, None] if model.config.x0_causal else clean // size <= clean[:, None] // size
        )
        mask[:start, start:] = False
        return reference(model, torch.cat([context, window]), at, mask, layer)[:, start:].numpy()
    noise = torch.from_numpy(entry.verify_tokens.astype(np.int64))
    if model.info.mask_id is not None:
        noise = torch.full((width,), model.info.mask_id)
    positions = torch.cat([at, at[start:]])
    clean = torch.tensor([True] * stop + [False] * width)
    mask = clean[None, :] & (positions[None, :] <= positions[:, None])
    mask[stop:] &= positions[None, :] < positions[stop:, None]
    mask[stop:, stop:] = torch.eye(width, dtype=torch.bool)
    tokens = torch.cat([context, window, noise])
    weights = reference(model, tokens, positions, mask, layer)[:, stop:].numpy()
    out = weights[:, :, :stop].copy()
    for i in range(width):
        assert (weights[:, i, start + i : stop] == 0).all(), "it may not see its own place in the proposal"
        out[:, i, start + i] = weights[:, i, stop + i]
    return out


def assert_codes_are(codes: np.ndarray | None, weights: np.ndarray) -> None:
    """Equal within the step that the 8 bits have at each weight, and a little for float32."""
    assert codes is not None
    assert codes.shape == weights.shape
    error = np.abs(attention_weights(codes) - weights)
    assert (error <= np.sqrt(weights) / 255 + 2e-5).all()


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize(
    ("process", "causal", "corrector"),
    [
        ("masked", True, "ar_nll"),
        ("uniform", True, "ar_nll"),
        ("masked", False, "entropy"),
        ("uniform", False, "none"),
    ],
)
def test_every_call_records_the_softmax_of_its_layer(
    process: str, causal: bool, corrector: str, use_cache: bool
) -> None:
    model = tiny_model(process, x0_causal=causal)
    for layer in (1, 2):
        trace = run(model, corrector=corrector, use_cache=use_cache, attention_layer=layer)
        for k, entry in enumerate(trace.passes):
            if entry.phase not in CALLS:
                assert entry.attention is None
                continue
            assert_codes_are(entry.attention, expected(model, trace, k, layer - 1))


def test_left_to_right_and_its_prefix_are_recorded_too() -> None:
    model = tiny_model("masked")
    for options in ({"predictor": "autoregressive"}, {"ar_prefix": 3, "corrector": "ar_nll"}):
        trace = run(model, **options)
        widths = set()
        for k, entry in enumerate(trace.passes):
            if entry.attention is not None:
                widths.add(entry.stop - entry.start)
                assert_codes_are(entry.attention, expected(model, trace, k, 1))
        assert 1 in widths


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_rows_sum_to_one_and_verification_looks_back_only(process: str) -> None:
    trace = run(tiny_model(process), corrector="ar_nll")
    for entry in trace.passes:
        if entry.attention is None:
            continue
        weights = attention_weights(entry.attention).astype(np.float64)
        slack = (np.sqrt(weights) / 255 + 1e-4).sum(-1)
        assert (np.abs(weights.sum(-1) - 1) <= slack).all()
        if entry.phase == "verify":
            ahead = np.triu(np.ones((entry.stop - entry.start,) * 2, bool), 1)
            assert (entry.attention[:, :, entry.start :][:, ahead] == 0).all()


def test_the_cache_changes_no_weight() -> None:
    model = tiny_model("masked")
    fast, slow = (run(model, corrector="ar_nll", use_cache=on) for on in (True, False))
    assert len(fast.passes) == len(slow.passes)
    for mine, theirs in zip(fast.passes, slow.passes, strict=True):
        assert (mine.attention is None) == (theirs.attention is None)
        if mine.attention is not None and theirs.attention is not None:
            assert np.abs(mine.attention.astype(int) - theirs.attention).max() <= 1


def test_the_average_is_that_of_the_heads() -> None:
    model = tiny_model("uniform")
    each, mean = (run(model, corrector="ar_nll", record_attention=kept) for kept in ("heads", "mean"))
    for mine, theirs in zip(each.passes, mean.passes, strict=True):
        if mine.attention is None:
            continue
        assert theirs.attention is not None
        assert (len(mine.attention), len(theirs.attention)) == (2, 1)
        averaged = attention_weights(mine.attention).mean(axis=0)
        assert np.abs(averaged - attention_weights(theirs.attention)[0]).max() < 2 / 255


@pytest.mark.parametrize("process", ["masked", "uniform"])
@pytest.mark.parametrize("corrector", ["none", "ar_nll", "random"])
@pytest.mark.parametrize("layer", [1, 2])
def test_recording_changes_nothing_else(process: str, corrector: str, layer: int) -> None:
    model = tiny_model(process)
    plain = run(model, corrector=corrector, record_attention="none")
    kept = run(model, corrector=corrector, attention_layer=layer)
    ignored = frozenset({"ms", "attention"})
    assert all(a.same(b, ignored) for a, b in zip(plain.passes, kept.passes, strict=True))
    assert plain.end.text == kept.end.text
    assert plain.pieces == kept.pieces
    assert not any(entry.attention is not None for entry in plain.passes)
    assert not plain.passes[1].same(kept.passes[1], frozenset({"ms"}))


def test_a_recorded_run_survives_its_file(tmp_path: Any) -> None:
    trace = run(tiny_model("masked"), corrector="ar_nll")
    trace.save(tmp_path / "run.jsonl.gz")
    again = Trace.load(tmp_path / "run.jsonl.gz")
    assert again == trace
    codes = again.passes[1].attention
    assert codes is not None
    assert codes.any()


def test_layers_are_counted_from_one_and_zero_is_the_last() -> None:
    config = tiny_model("masked").config
    for asked, layer in ((0, 1), (1, 0), (2, 1)):
        settings = SamplerSettings(record_attention="mean", block_size=4, attention_layer=asked)
        plan = recording_of(settings, config, 0, 16)
        assert plan is not None
        assert (plan.layer, plan.each_head) == (layer, False)
    with pytest.raises(
        SettingsError, match=r"^attention_layer cannot be 3: allowed is at most 2, the layers"
    ):
        run(tiny_model("masked"), attention_layer=3)
    assert run(tiny_model("masked"), attention_layer=3, record_attention="none").passes[1].attention is None


@pytest.mark.parametrize("corrector", ["none", "ar_nll", "entropy"])
@pytest.mark.parametrize("prefix", [0, 3])
def test_the_memory_is_known_before_the_run(corrector: str, prefix: int) -> None:
    model = tiny_model("masked")
    for kept in ("mean", "heads"):
        options = {
            "corrector": corrector,
            "ar_prefix": prefix,
            "warmup": 1,
            "steps": 4,
            "record_attention": kept,
        }
        trace = run(model, **options)
        sizes = [entry.attention.size for entry in trace.passes if entry.attention is not None]
        asked = recorded_bytes(trace.header.settings, 2, 6, 22)
        assert asked == (sum(sizes), max(sizes)), "the run went to the end of the canvas"
    assert recorded_bytes(SamplerSettings(), 2, 6, 22) == (0, 0)


def test_what_a_trace_cannot_hold_is_refused_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model("masked")
    sizes = recorded_bytes(SamplerSettings(block_size=4, steps=3, record_attention="heads"), 2, 6, 22)
    for name, size in zip(("MAX_ATTENTION_RUN", "MAX_ATTENTION_CALL"), sizes, strict=True):
        with monkeypatch.context() as patch:
            patch.setattr(attention_recording, name, size - 1)
            with pytest.raises(SettingsError, match="would take up to") as caught:
                run(model)
            assert caught.value.field == "record_attention"
            run(model, record_attention="mean")
            run(model, record_attention="none")


def test_runs_that_are_not_recorded_ask_the_network_for_nothing() -> None:
    model = tiny_model("masked")
    settings = SamplerSettings(block_size=4, record_attention="heads")
    draws = GeneratorDraws(0)
    job = prepare(model, settings, [[1], [2]], lambda active: draws)
    assert job.denoiser.recording is None
    assert all(event.call.attention is None for event in passes(job))


def test_recorded_weights_are_read_only_copies() -> None:
    entry: Pass = run(tiny_model("masked")).passes[1]
    assert entry.attention is not None
    with pytest.raises(ValueError, match="read-only"):
        entry.attention[0, 0, 0] = 1
