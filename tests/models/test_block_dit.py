from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file

from blockviz.models.attention import generation_mask, training_mask, two_stream_mask, verification_mask
from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.models.kv_cache import KVCache
from blockviz.models.layer import AttentionRequest
from tests.golden import CHECKPOINTS, tensors

TOLERANCE = 2e-5
BLOCK = 16
LENGTH = 64


def network(letter: str) -> BlockDiT:
    folder = CHECKPOINTS[letter]
    state = load_file(folder / "model.safetensors")
    content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    vocab_size, width = state["vocab_embed.embedding"].shape
    config = NetworkConfig(
        hidden_size=width,
        n_blocks=content["n_blocks"],
        n_heads=content["n_heads"],
        length=content["length"],
        vocab_size=vocab_size,
        cond_dim=content["cond_dim"] if "sigma_map.mlp.0.weight" in state else 0,
        x0_causal=content["x0_causal"],
    )
    net = BlockDiT(config)
    net.load_state_dict(state)
    return net.eval().requires_grad_(False)


NETWORKS = {letter: network(letter) for letter in "abc"}
GOLDEN = {letter: tensors(f"forward_{letter}") for letter in "abc"}
letters = pytest.mark.parametrize("letter", "abc")
causal_letters = pytest.mark.parametrize("letter", "ab")


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, atol=TOLERANCE, rtol=0)


def parallel(net: BlockDiT, x0: torch.Tensor, xt: torch.Tensor, block_size: int) -> torch.Tensor:
    length = x0.shape[1]
    positions = torch.arange(length)
    return net(
        torch.cat([x0, xt], dim=1),
        torch.cat([positions, positions]),
        training_mask(length, block_size, net.config.x0_causal),
        first_output=length,
    )


def filled(net: BlockDiT, x0: torch.Tensor, count: int) -> KVCache:
    """A cache of the first `count` clean tokens, committed in one call."""
    cache = KVCache(net.config, x0.shape[0], 2 * LENGTH)
    if count:
        mask = generation_mask(0, count, 0, BLOCK, net.config.x0_causal)
        net(x0[:, :count], torch.arange(count), mask, cache, commit=count)
    return cache


@letters
@pytest.mark.parametrize("block_size", [1, 4, 16, 64])
def test_both_streams_in_parallel(letter: str, block_size: int) -> None:
    golden = GOLDEN[letter]
    logits = parallel(NETWORKS[letter], golden["x0"], golden["xt"], block_size)
    close(logits, golden[f"train_bs{block_size}_logits"])


@letters
def test_ar_mode_in_parallel_on_pure_noise(letter: str) -> None:
    golden = GOLDEN[letter]
    logits = parallel(NETWORKS[letter], golden["x0"], golden["xt_prior"], 1)
    close(logits, golden["train_bs1_prior_logits"])


@causal_letters
def test_rotary_positions_of_a_shorter_canvas(letter: str) -> None:
    """Trap 11: positions are 0..L-1 whatever length the network was trained for."""
    golden = GOLDEN[letter]
    logits = parallel(NETWORKS[letter], golden["x0"][:, :32], golden["xt"][:, :32], BLOCK)
    close(logits, golden["train_short32_bs16_logits_rotary_len32"])
    wrong = golden["train_short32_bs16_logits_official_len64"]
    assert (logits - wrong).abs().max() > 0.1


@letters
def test_generation_commits_the_previous_block_in_the_first_pass(letter: str) -> None:
    net, golden = NETWORKS[letter], GOLDEN[letter]
    cache = KVCache(net.config, 2, 2 * LENGTH)
    for block in range(3):
        for step in range(2):
            clean = golden["x0"][:, cache.length : BLOCK * block]
            count = clean.shape[1]
            logits = net(
                torch.cat([clean, golden[f"gen_b{block}_s{step}_xt"]], dim=1),
                torch.arange(cache.length, BLOCK * (block + 1)),
                generation_mask(cache.length, count, BLOCK, BLOCK, net.config.x0_causal) if count else None,
                cache,
                commit=count,
                first_output=count,
            )
            close(logits, golden[f"gen_b{block}_s{step}_logits_cache"])
            close(logits, golden[f"gen_b{block}_s{step}_logits_nocache"])
            assert cache.length == BLOCK * block
    for layer in range(net.config.n_blocks):
        close(cache.keys[layer][:, :, :32], golden[f"cache_after_b2_layer{layer}_k"])
        close(cache.values[layer][:, :, :32], golden[f"cache_after_b2_layer{layer}_v"])


@causal_letters
def test_clean_tokens_inside_the_block_ride_in_the_noisy_stream(letter: str) -> None:
    net, golden = NETWORKS[letter], GOLDEN[letter]
    cache = filled(net, golden["x0"], 16)
    block = golden["gen_prefix20_xt"]
    assert torch.equal(block[:, :4], golden["x0"][:, 16:20])
    logits = net(block, torch.arange(16, 32), None, cache)
    close(logits, golden["gen_prefix20_logits"])


@causal_letters
def test_ar_decoding_token_by_token(letter: str) -> None:
    """Trap 10: one noise token over a filled cache needs no mask; the clean token before it is committed with it."""
    net, golden = NETWORKS[letter], GOLDEN[letter]
    cache = KVCache(net.config, 2, LENGTH)
    prior = golden["xt_prior"]
    for position in range(golden["ar_steps_logits_cache"].shape[1]):
        clean = golden["x0"][:, cache.length : position]
        count = clean.shape[1]
        logits = net(
            torch.cat([clean, prior[:, position : position + 1]], dim=1),
            torch.arange(cache.length, position + 1),
            generation_mask(cache.length, count, 1, 1, True) if count else None,
            cache,
            commit=count,
            first_output=count,
        )
        close(logits[:, 0], golden["ar_steps_logits_cache"][:, position])


@causal_letters
@pytest.mark.parametrize("context", [0, 16, 32])
def test_verification_is_one_pass_and_commits_nothing(letter: str, context: int) -> None:
    net, golden = NETWORKS[letter], GOLDEN[letter]
    cache = filled(net, golden["x0"], context)
    proposal = golden["x0"][:, context : context + BLOCK]
    positions = torch.arange(context, context + BLOCK)
    logits = net(
        torch.cat([proposal, golden[f"verify_ctx{context}_xt"]], dim=1),
        torch.cat([positions, positions]),
        verification_mask(context, BLOCK),
        cache,
        first_output=BLOCK,
    )
    close(logits, golden[f"verify_ctx{context}_logits_cache"])
    close(logits, golden[f"verify_ctx{context}_logits_nocache"])
    assert cache.length == context


def test_a_block_causal_clean_stream_cannot_be_verified_from_its_cache() -> None:
    """MATHS.md: why AR scores are refused for such models; cached and recomputed verification differ."""
    net, golden = NETWORKS["c"], GOLDEN["c"]
    cache = filled(net, golden["x0"], 16)
    positions = torch.arange(16, 32)
    tokens = torch.cat([golden["x0"][:, 16:32], golden["verify_ctx16_xt"]], dim=1)
    cached = net(tokens, positions.repeat(2), verification_mask(16, BLOCK), cache, first_output=BLOCK)
    clean = torch.arange(32)
    recomputed = net(
        torch.cat([golden["x0"][:, :32], golden["verify_ctx16_xt"]], dim=1),
        torch.cat([clean, positions]),
        two_stream_mask(clean, positions, 1, False),
        first_output=32,
    )
    assert (cached - recomputed).abs().max() > 1


@letters
def test_rows_do_not_depend_on_their_batch_mates(letter: str) -> None:
    """Trap 12, at the network: a row alone and beside another gives the same logits."""
    net, golden = NETWORKS[letter], GOLDEN[letter]
    both = parallel(net, golden["x0"], golden["xt"], BLOCK)
    alone = parallel(net, golden["x0"][:1], golden["xt"][:1], BLOCK)
    close(alone, both[:1])


def test_the_cache_is_written_in_place_and_bounded() -> None:
    net = NETWORKS["a"]
    cache = KVCache(net.config, 1, 8)
    storage = cache.keys.data_ptr()
    net(torch.zeros(1, 8, dtype=torch.int64), torch.arange(8), None, cache, commit=4)
    assert cache.keys.data_ptr() == storage
    assert cache.length == 4
    assert cache.bytes == 2 * 3 * 4 * 64 * 4
    with pytest.raises(ValueError, match="8 tokens, 9 are needed"):
        net(torch.zeros(1, 5, dtype=torch.int64), torch.arange(5), None, cache)
    with pytest.raises(ValueError, match="truncate"):
        cache.truncate(5)


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValueError, match="30 does not split into 4 heads"):
        NetworkConfig(hidden_size=30, n_blocks=1, n_heads=4, length=8, vocab_size=5)


def test_initial_weights_are_repeatable_and_predict_nothing() -> None:
    config = NetworkConfig(hidden_size=16, n_blocks=1, n_heads=2, length=8, vocab_size=5)
    nets = [BlockDiT(config), BlockDiT(config)]
    for net in nets:
        net.initialise(torch.Generator().manual_seed(3))
    for name, parameter in nets[0].named_parameters():
        assert torch.equal(parameter, dict(nets[1].named_parameters())[name])
    logits = nets[0](torch.zeros(1, 4, dtype=torch.int64), torch.arange(4))
    assert torch.equal(logits, torch.zeros_like(logits))


@pytest.mark.parametrize("layer", [0, 2])
def test_a_layer_tells_its_attention_without_changing_the_logits(layer: int) -> None:
    net, golden = NETWORKS["a"], GOLDEN["a"]
    tokens = torch.cat([golden["x0"][:, :32], golden["xt"][:, 32:48]], dim=1)
    mask = generation_mask(16, 16, 16, BLOCK, True)
    caches = [filled(net, golden["x0"], 16) for _ in range(2)]
    request = AttentionRequest(layer, 20)
    arguments = (tokens[:, 16:], torch.arange(16, 48), mask)
    plain = net(*arguments, caches[0], commit=16, first_output=16)
    asked = net(*arguments, caches[1], commit=16, first_output=16, attention=request)
    assert torch.equal(plain, asked)
    assert torch.equal(caches[0].keys, caches[1].keys)
    weights = request.weights
    assert weights is not None
    # The last layer computes the 16 tokens with output only.
    last = layer == net.config.n_blocks - 1
    assert weights.shape == (tokens.shape[0], net.config.n_heads, 16 if last else 20, 48)
    close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    assert (weights[..., -16:, :] > 0).all()
    if not last:
        assert (weights[..., :4, 32:] == 0).all(), "clean tokens read nothing of the noisy block"


@letters
def test_what_is_fixed_is_made_once_for_any_places(letter: str) -> None:
    net, tokens = NETWORKS[letter], torch.tensor([[1, 2, 3, 4]])
    fixed = net.fixed(torch.arange(20))
    assert torch.equal(net(tokens, fixed.at(slice(5, 9))), net(tokens, torch.arange(5, 9)))
    twice = net(tokens, fixed.at(slice(5, 7), slice(5, 7)))
    assert torch.equal(twice, net(tokens, torch.tensor([5, 6, 5, 6])))
