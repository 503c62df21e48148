from __future__ import annotations

import pytest
import torch

from blockviz.diffusion.processes import Masked, Uniform
from blockviz.models.attention import training_mask
from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.training.batches import Example, Streams, assemble
from blockviz.training.objective import (
    TAIL_WEIGHT,
    Noised,
    block_times,
    bound,
    corrupt,
    cross_entropy,
    predict,
    weighted_loss,
)

VOCAB, CANVAS, END = 12, 32, 0
EXAMPLES = [Example((*range(1, 9), *range(1, 6), END), 5), Example((*range(1, 11), END), 8)]
PROCESSES = [Masked(VOCAB, VOCAB - 1), Uniform(VOCAB)]


def streams_at(size: int, rows: int = 2, tail: bool = False) -> Streams:
    return assemble((EXAMPLES * rows)[:rows], [size] * rows, [tail] * rows, CANVAS, END)


def net() -> BlockDiT:
    model = BlockDiT(NetworkConfig(16, 2, 2, CANVAS, VOCAB))
    generator = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3, generator=generator)
    return model.eval()


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32])
def test_the_streams_predict_what_the_whole_canvas_twice_predicts(size: int) -> None:
    """Leaving out the noisy stream of prompts and what nobody reads changes no prediction."""
    model, streams = net(), streams_at(size)
    xt = torch.randint(VOCAB, streams.noisy.shape, generator=torch.Generator().manual_seed(2))
    logits = predict(model, streams, xt)
    positions = torch.arange(CANVAS)
    for row, example in enumerate(EXAMPLES):
        real = streams.noisy_positions[row] < CANVAS
        where = streams.noisy_positions[row][real]
        x0 = torch.full((1, CANVAS), END)
        x0[0, : len(example.tokens)] = torch.tensor(example.tokens)
        noisy = x0.clone()
        noisy[0, where] = xt[row][real]
        whole = model(
            torch.cat([x0, noisy], dim=1),
            torch.cat([positions, positions]),
            training_mask(CANVAS, size, True),
            first_output=CANVAS,
        )
        torch.testing.assert_close(logits[row][real], whole[0, where], atol=1e-5, rtol=0)


@pytest.mark.parametrize("process", PROCESSES)
def test_prompts_stay_clean_and_only_noise_counts(process: Masked | Uniform) -> None:
    streams = streams_at(16, rows=64, tail=True)
    generator = torch.Generator().manual_seed(0)
    noised = corrupt(streams, process, "log-linear", block_times(streams, generator), generator)
    prompt = ~streams.target
    assert torch.equal(noised.xt[prompt], streams.noisy[prompt])
    assert (noised.weight[prompt] == 0).all()
    assert (noised.weight[streams.tail] <= TAIL_WEIGHT).all()
    if isinstance(process, Masked):
        counted = noised.weight > 0
        assert torch.equal(counted, noised.xt == process.mask_id)
    else:
        assert torch.equal(noised.weight > 0, streams.target)


@pytest.mark.parametrize("process", PROCESSES)
def test_block_size_1_is_pure_noise(process: Masked | Uniform) -> None:
    streams = streams_at(1, rows=1000)
    generator = torch.Generator().manual_seed(0)
    times = block_times(streams, generator)
    assert (times == 1).all()
    xt = corrupt(streams, process, "log-linear", times, generator).xt[streams.target]
    if isinstance(process, Masked):
        assert (xt == process.mask_id).all()
    else:
        share = torch.bincount(xt, minlength=VOCAB) / xt.numel()
        # 4,000 draws or more: the standard error of a share of 1/12 is below 0.005.
        assert xt.numel() >= 4000
        assert (share - 1 / VOCAB).abs().max() < 0.02


def test_times_are_shared_inside_a_block_and_spread_over_rows() -> None:
    streams = streams_at(4, rows=200)
    times = block_times(streams, torch.Generator().manual_seed(0))
    real = streams.noisy_positions < CANVAS
    for row in range(4):
        blocks = streams.noisy_positions[row][real[row]] // 4
        for block in blocks.unique():
            assert times[row][real[row]][blocks == block].unique().numel() == 1
    first = times[:, 0].sort().values
    # One draw in each of the 200 strata of [0, 1).
    assert ((first * 200).floor() == torch.arange(200)).float().mean() > 0.99


def test_the_mask_token_is_never_predicted() -> None:
    streams = streams_at(16)
    process = PROCESSES[0]
    ones = torch.ones(streams.noisy.shape)
    noised = Noised(streams.noisy, ones, ones, ones)
    logits = torch.zeros(*streams.noisy.shape, VOCAB)
    logits[..., VOCAB - 1] = 50.0
    loss = cross_entropy(logits, streams, noised, process)
    torch.testing.assert_close(loss, torch.full_like(loss, torch.log(torch.tensor(VOCAB - 1.0)).item()))


def test_a_uniform_network_learns_the_prediction_without_the_token_itself() -> None:
    """The best logits under the loss are log p(x0 | the rest): weighed in, they are the exact posterior of x0."""
    process = Uniform(4)
    prior = torch.tensor([0.6, 0.25, 0.1, 0.05])
    keep, rows = 0.4, 40_000
    generator = torch.Generator().manual_seed(0)
    x0 = torch.multinomial(prior, rows, replacement=True, generator=generator)
    replace = torch.rand(rows, generator=generator) >= keep
    xt = torch.where(replace, torch.randint(4, (rows,), generator=generator), x0)
    logits = torch.zeros(4, requires_grad=True)
    optimizer = torch.optim.LBFGS([logits], max_iter=50)

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        weighed = process.weigh_in(logits.expand(rows, 4), xt, torch.full((rows,), keep))
        value = torch.nn.functional.cross_entropy(weighed, x0)
        value.backward()
        return value

    optimizer.step(loss)
    # The standard error of these shares over 40,000 rows is below 0.005.
    assert (logits.detach().softmax(-1) - prior).abs().max() < 0.02


@pytest.mark.parametrize("process", PROCESSES)
def test_the_loss_is_chosen_row_by_row(process: Masked | Uniform) -> None:
    streams = streams_at(16, rows=4)
    generator = torch.Generator().manual_seed(0)
    elbo = torch.tensor([[True], [False], [True], [False]])
    noised = corrupt(streams, process, "log-linear", block_times(streams, generator), generator, elbo)
    logits = torch.randn(*streams.noisy.shape, VOCAB, generator=generator)
    loss = weighted_loss(logits.clone(), streams, noised, process, "log-linear", elbo)
    by_bound = bound(logits.clone(), streams, noised, process, "log-linear") * noised.weight
    by_entropy = cross_entropy(logits.clone(), streams, noised, process) * noised.weight
    torch.testing.assert_close(loss[0::2], by_bound[0::2])
    torch.testing.assert_close(loss[1::2], by_entropy[1::2])
    # The bound counts every position to generate, so that its mean is per token.
    assert torch.equal(noised.weight[0::2] > 0, streams.target[0::2])


@pytest.mark.parametrize("size", [1, 4, 32])
@pytest.mark.parametrize("process", PROCESSES)
def test_the_bound_has_finite_gradients(process: Masked | Uniform, size: int) -> None:
    streams = streams_at(size, rows=6)
    generator = torch.Generator().manual_seed(0)
    elbo = torch.tensor([[True], [False]] * 3)
    noised = corrupt(streams, process, "log-linear", block_times(streams, generator), generator, elbo)
    logits = torch.randn(*streams.noisy.shape, VOCAB, generator=generator).mul(20).requires_grad_()
    weighted_loss(logits, streams, noised, process, "log-linear", elbo).sum().backward()
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("process", PROCESSES)
def test_at_block_size_1_both_losses_are_the_exact_likelihood(process: Masked | Uniform) -> None:
    streams = streams_at(1, rows=4)
    generator = torch.Generator().manual_seed(0)
    elbo = torch.ones(4, 1, dtype=torch.bool)
    noised = corrupt(streams, process, "log-linear", block_times(streams, generator), generator, elbo)
    logits = torch.randn(*streams.noisy.shape, VOCAB, generator=generator)
    losses = [
        weighted_loss(logits.clone(), streams, noised, process, "log-linear", rows) for rows in (elbo, ~elbo)
    ]
    torch.testing.assert_close(losses[0], losses[1], atol=1e-4, rtol=1e-4)
