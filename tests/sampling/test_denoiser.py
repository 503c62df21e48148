from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from blockviz.models.checkpoint import Model
from blockviz.sampling.denoiser import Call, Denoiser, forbidden_ids
from tests.golden import tensors
from tests.sampling.small_models import golden_model, tiny_model

BOTH = torch.ones(2, dtype=torch.bool)


def denoiser(model: Model, *, use_cache: bool = True, temperature: float = 1.0) -> Denoiser:
    return Denoiser(model, 2, model.info.length, 64, temperature, use_cache)


def canvas_of(saved: dict[str, torch.Tensor], window: torch.Tensor, start: int) -> torch.Tensor:
    canvas = saved["x0"].clone()
    canvas[:, start : start + window.shape[1]] = window
    return canvas


def assert_same(found: torch.Tensor, saved: torch.Tensor, where: torch.Tensor) -> None:
    """Log-probabilities agree where the reference did not carry a token over; removed tokens have none."""
    expected = saved.masked_fill(saved < -1e5, -torch.inf)
    torch.testing.assert_close(found[where], expected[where], atol=1e-4, rtol=0)


@pytest.mark.parametrize("letter", ["a", "b", "c"])
@pytest.mark.parametrize("use_cache", [True, False])
def test_block_predictions_of_the_reference(letter: str, use_cache: bool) -> None:
    """Three blocks, two passes each: the first commits the block before, the second reads the cache."""
    saved = tensors(f"forward_{letter}")
    network = denoiser(golden_model(letter), use_cache=use_cache)
    for block in range(3):
        for step in range(2):
            start, xt = 16 * block, saved[f"gen_b{block}_s{step}_xt"]
            canvas = canvas_of(saved, xt, start)
            found, call = network.denoise(canvas, start, start + 16, 16, BOTH)
            where = xt == 39 if letter != "b" else torch.ones_like(xt, dtype=torch.bool)
            suffix = "cache" if use_cache else "nocache"
            assert_same(found, saved[f"gen_b{block}_s{step}_logprobs_{suffix}"], where)
            if use_cache:
                first = step == 0 and block > 0
                assert call == Call(start - 16 if first else start, 16 if first else 0)
            else:
                assert call == Call(0, start)
    assert (network.nfe_denoise, network.nfe_verify) == (6, 0)


@pytest.mark.parametrize("temperature", [0.5, 0.1])
def test_temperature_divides_raw_logits_before_mask_is_removed(temperature: float) -> None:
    """Trap 3."""
    saved = tensors("forward_a")
    xt = saved["gen_b1_s1_xt"]
    network = denoiser(golden_model("a"), temperature=temperature)
    found, _ = network.denoise(canvas_of(saved, xt, 16), 16, 32, 16, BOTH)
    assert_same(found, saved[f"gen_b1_s1_logprobs_nocache_temp{temperature}"], xt == 39)


def test_temperature_holds_for_the_verifier_too() -> None:
    """Trap 3, second half."""
    saved = tensors("forward_b")
    arguments = (saved["x0"], saved["x0"][:, 16:32], saved["verify_ctx16_xt"], 16, BOTH)
    plain, _ = denoiser(golden_model("b")).verify(*arguments)
    sharp, _ = denoiser(golden_model("b"), temperature=0.5).verify(*arguments)
    torch.testing.assert_close(sharp, torch.log_softmax(plain * 2, dim=-1), atol=1e-5, rtol=0)


def test_temperature_zero_predicts_as_temperature_one() -> None:
    saved = tensors("forward_a")
    canvas = canvas_of(saved, saved["gen_b0_s0_xt"], 0)
    greedy, _ = denoiser(golden_model("a"), temperature=0).denoise(canvas, 0, 16, 16, BOTH)
    plain, _ = denoiser(golden_model("a")).denoise(canvas, 0, 16, 16, BOTH)
    assert torch.equal(greedy, plain)


@pytest.mark.parametrize("letter", ["a", "b"])
@pytest.mark.parametrize("context", [0, 16, 32])
@pytest.mark.parametrize("use_cache", [True, False])
def test_verifications_of_the_reference(letter: str, context: int, use_cache: bool) -> None:
    saved = tensors(f"forward_{letter}")
    network = denoiser(golden_model(letter), use_cache=use_cache)
    if use_cache and context:
        network.denoise(saved["x0"], context, context + 16, 16, BOTH)
        committed = network.cache.length if network.cache else 0
        assert committed == context
    proposal = saved["x0"][:, context : context + 16]
    found, call = network.verify(saved["x0"], proposal, saved[f"verify_ctx{context}_xt"], context, BOTH)
    suffix = "cache" if use_cache else "nocache"
    everywhere = torch.ones_like(proposal, dtype=torch.bool)
    assert_same(found, saved[f"verify_ctx{context}_logprobs_{suffix}"], everywhere)
    assert call == (Call(context, 0) if use_cache else Call(0, context))
    assert network.nfe_verify == 1
    if network.cache is not None:
        assert network.cache.length == context  # nothing of the proposal is committed


def test_a_prompt_that_ends_inside_the_block() -> None:
    """Trap 8: 16 tokens cached, 4 clean ones inside the block; and the AR reading of the 12 others."""
    saved = tensors("forward_a")
    xt = saved["gen_prefix20_xt"]
    network = denoiser(golden_model("a"))
    found, _ = network.denoise(canvas_of(saved, xt, 16), 16, 32, 16, BOTH)
    assert_same(found, saved["gen_prefix20_logprobs"], xt == 39)
    read, _ = network.verify(saved["x0"], saved["x0"][:, 16:32], torch.full((2, 16), 39), 16, BOTH)
    everywhere = torch.ones(2, 12, dtype=torch.bool)
    assert_same(read[:, 4:], saved["verify_ctx20_gen12_logprobs_nocache"], everywhere)


def test_one_query_over_a_filled_cache_sees_all_of_it() -> None:
    """Trap 10: a single query behind a cache, against the same reading without one."""
    saved = tensors("forward_a")
    found = {}
    for use_cache in (True, False):
        network = denoiser(golden_model("a"), use_cache=use_cache)
        network.denoise(saved["x0"], 20, 21, 1, BOTH)
        found[use_cache], call = network.denoise(saved["x0"], 20, 21, 1, BOTH)
        assert call == (Call(20, 0) if use_cache else Call(0, 20))
    torch.testing.assert_close(found[True], found[False], atol=1e-5, rtol=0)


def test_the_cache_is_never_reallocated_and_forgets_what_lies_ahead() -> None:
    network = denoiser(golden_model("a"))
    assert network.cache is not None
    place = network.cache.keys.data_ptr()
    x0 = tensors("forward_a")["x0"]
    ahead, _ = network.denoise(x0, 32, 48, 16, BOTH)
    network.denoise(x0, 16, 32, 16, BOTH)
    assert network.cache.length == 16
    again, call = network.denoise(x0, 32, 48, 16, BOTH)
    assert call == Call(16, 16)
    assert network.cache.keys.data_ptr() == place
    torch.testing.assert_close(again, ahead, atol=1e-5, rtol=0)


def test_calls_are_counted_for_the_rows_that_took_part() -> None:
    network = denoiser(golden_model("a"))
    x0 = tensors("forward_a")["x0"]
    network.denoise(x0, 0, 16, 16, torch.tensor([True, False]))
    network.verify(x0, x0[:, :16], x0[:, :16], 0, torch.tensor([False, True]))
    network.denoise(x0, 0, 16, 16, BOTH)
    assert network.rows_denoise.tolist() == [2, 1]
    assert network.rows_verify.tolist() == [0, 1]
    assert (network.nfe_denoise, network.nfe_verify) == (2, 1)


def test_mask_and_pad_have_no_probability_the_end_token_has() -> None:
    """Trap 4: removed before any draw, in both kinds of call."""
    model = tiny_model("masked", end_id=3, pad_id=5)
    assert forbidden_ids(model) == [5, 12]
    network = denoiser(model)
    canvas = torch.full((2, 22), 12)
    predicted, _ = network.denoise(canvas, 0, 4, 4, BOTH)
    read, _ = network.verify(canvas, torch.ones(2, 4, dtype=torch.int64), canvas[:, :4], 0, BOTH)
    for logs in (predicted, read):
        assert torch.isneginf(logs[..., [5, 12]]).all()
        assert torch.isfinite(logs[..., 3]).all()
        torch.testing.assert_close(logs.exp().sum(-1), torch.ones(2, 4))
    same = tiny_model("uniform", end_id=5, pad_id=5)
    assert forbidden_ids(same) == []


def test_log_probabilities_are_float32_whatever_the_weights_are() -> None:
    """Trap 2: 16-bit logits are cast before the log-softmax."""
    model = tiny_model("uniform")
    half = replace(model, net=type(model.net)(model.config).to(torch.bfloat16))
    half.net.load_state_dict(model.net.state_dict())
    network = Denoiser(half, 2, 22, 22, 1.0, True)
    found, _ = network.denoise(torch.zeros(2, 22, dtype=torch.int64), 0, 8, 8, BOTH)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(2, 8), atol=1e-5, rtol=0)
