from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blockviz.diffusion.bounds import (
    check_weights,
    cross_entropy,
    cross_fitted_bound,
    jensen_bound,
    log_sum_exp_bound,
    perplexity,
    stratified_block_size,
    token_nll,
)
from blockviz.diffusion.processes import Masked, Uniform
from tests import golden

PROCESSES = {"a": Masked(40, 39), "b": Uniform(39)}


def parse(weights: str) -> list[float]:
    return [float(weight) for weight in weights.split()]


def inputs(model: str) -> tuple:
    nll = golden.tensors("nll")
    names = ("log_x_theta", "x0", "xt", "alpha_t", "dalpha_t")
    return PROCESSES[model], *(nll[f"{model}_{name}"] for name in names)


@pytest.mark.parametrize("model", ["a", "b"])
@pytest.mark.parametrize("block_size", [1, 16])
@pytest.mark.parametrize("objective", ["elbo", "ce", "ce-noisy"])
def test_evaluation_ignores_the_objective_as_the_reference_does(model, block_size, objective):
    expected = golden.tensors("nll")[f"{model}_blockgen_{objective}_bs{block_size}_eval"]
    torch.testing.assert_close(token_nll(*inputs(model), block_size), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("model", ["a", "b"])
def test_training_losses_equal_the_reference(model):
    saved = golden.tensors("nll")
    for objective, loss in (
        ("elbo", token_nll(*inputs(model), 16)),
        ("ce", cross_entropy(*inputs(model)[1:3])),
    ):
        expected = saved[f"{model}_blockgen_{objective}_bs16_train"]
        torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-4)


def test_block_size_one_counts_every_token_even_where_noise_hit_the_clean_one():
    process, log_p, x0, _, alpha_t, dalpha_t = inputs("b")
    loss = token_nll(process, log_p, x0, x0, alpha_t, dalpha_t, 1)
    assert torch.equal(loss, cross_entropy(log_p, x0))


def test_block_sizes_may_differ_within_a_batch():
    sizes = torch.tensor([[1], [16], [1], [64]])
    mixed = token_nll(*inputs("b"), sizes)
    one, many = token_nll(*inputs("b"), 1), token_nll(*inputs("b"), 16)
    assert torch.equal(mixed, torch.stack([one[0], many[1], one[2], many[3]]))


def test_mixture_bounds_equal_the_reference_per_sequence():
    cases = golden.report("math_report")["bounds"]
    assert len(cases) == 4
    for name, case in cases.items():
        kind, weights = name.split(" | ")
        nll = torch.tensor(list(case["per_seq_nll_by_block_size"].values()), dtype=torch.float64).T
        bound = log_sum_exp_bound if kind.startswith("log-sum-exp") else jensen_bound
        result = bound(nll, parse(weights))
        assert result.shape == (3,)
        assert result.sum().item() == pytest.approx(case["per_sequence_bound_sum"], rel=1e-7)


def test_bounds_are_taken_per_sequence_and_not_over_the_batch():
    nll = torch.tensor([[10.0, 20.0], [20.0, 10.0]])
    both = log_sum_exp_bound(nll, [0.5, 0.5])
    torch.testing.assert_close(both, torch.full((2,), 10 + math.log(2)), atol=1e-4, rtol=0)


@given(st.lists(st.tuples(st.floats(0, 500), st.floats(0.01, 1)), min_size=1, max_size=6))
def test_log_sum_exp_lies_between_the_best_member_and_jensen(pairs):
    total = sum(weight for _, weight in pairs)
    weights = [weight / total for _, weight in pairs]
    nll = torch.tensor([[value for value, _ in pairs]], dtype=torch.float64)
    tight = log_sum_exp_bound(nll, weights).item()
    assert nll.min().item() - 1e-9 <= tight <= jensen_bound(nll, weights).item() + 1e-9


def test_a_member_without_weight_has_no_say():
    nll = torch.tensor([[7.0, torch.inf]])
    assert log_sum_exp_bound(nll, [1.0, 0.0]).item() == pytest.approx(7.0)
    assert jensen_bound(nll, [1.0, 0.0]).item() == pytest.approx(7.0)


def test_cross_fitting_exact_figures_gives_the_log_sum_exp():
    nll = torch.tensor([[10.0, 12.0, 11.0], [7.0, 7.0, 90.0]], dtype=torch.float64)
    weights = [0.5, 0.25, 0.25]
    fitted = cross_fitted_bound(nll.expand(3, 2, 3), weights)
    torch.testing.assert_close(fitted, log_sum_exp_bound(nll, weights).expand(3, 2))


def test_noise_flatters_the_log_sum_exp_and_not_the_cross_fitted_bound():
    true = torch.full((5000, 4), 50.0, dtype=torch.float64)
    noise = torch.randn(4, 5000, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    draws = true + 10 * noise
    draws[:, :, 0] = 50.0
    weights = [0.25] * 4
    exact = log_sum_exp_bound(true, weights).mean().item()
    assert exact == pytest.approx(50.0)
    assert log_sum_exp_bound(draws.mean(dim=0), weights).mean().item() < exact - 1
    fitted = cross_fitted_bound(draws, weights).mean().item()
    # Leaning on any member costs up to log 4. Most of q stays with the first one, about which there is no doubt.
    assert exact - 0.3 < fitted < exact + math.log(4)


def test_a_member_without_weight_has_no_say_in_cross_fitting():
    draws = torch.tensor([[[7.0, torch.inf]], [[9.0, torch.inf]]])
    assert cross_fitted_bound(draws, [1.0, 0.0]).flatten().tolist() == pytest.approx([7.0, 9.0])
    with pytest.raises(ValueError, match="at least two draws, not 1"):
        cross_fitted_bound(draws[:1], [1.0, 0.0])


@pytest.mark.parametrize(
    "weights", [[0.5, 0.4], [], [1.2, -0.2], [math.nan, 1.0], [0.5, 0.5 + 1e-5], [math.inf]]
)
def test_bad_weights_are_refused_and_never_rescaled(weights):
    """Trap 14."""
    with pytest.raises(ValueError, match="block weight"):
        check_weights(weights)
    with pytest.raises(ValueError, match="block weight"):
        log_sum_exp_bound(torch.zeros(1, len(weights)), weights)
    with pytest.raises(ValueError, match="block weight"):
        stratified_block_size([1] * len(weights), weights, 0.1, [0])


def test_weights_that_only_rounding_keeps_from_one_are_fine():
    check_weights([0.1] * 10)
    check_weights([1 / 3, 1 / 3, 1 / 3 + 5e-7])


def test_bounds_need_one_weight_per_member():
    with pytest.raises(ValueError, match="3 NLLs per sequence but 2"):
        jensen_bound(torch.zeros(4, 3), [0.5, 0.5])


def test_perplexity():
    assert perplexity(3 * math.log(20), 3) == pytest.approx(20)
    assert perplexity(1e6, 1) == math.inf
    with pytest.raises(ValueError, match="at least one token"):
        perplexity(1.0, 0)


def test_stratified_choice_equals_the_reference():
    cases = golden.report("u_stratified")
    assert len(cases) == 200
    for case in cases:
        weights, world, accumulation = parse(case["weights"]), case["world"], case["accum"]
        chosen = [
            stratified_block_size(
                [2**i for i in range(len(weights))],
                weights,
                case["u"],
                range(world * accumulation),
                world=world,
                rank=rank,
                accumulation=accumulation,
                index=index,
            )
            for index in range(accumulation)
            for rank in range(world)
        ]
        assert chosen == case["block_sizes_in_order_accum_major"], case


@given(u=st.floats(0, 1, exclude_max=True), order=st.permutations(range(20)))
def test_every_optimiser_step_holds_each_size_in_its_share(u, order):
    """Trap 14: 20 passes at 5% mean exactly one pass at block size 1 in every step, whatever u and the order."""
    chosen = Counter(
        stratified_block_size(
            [1, 4, 16], [0.05, 0.0, 0.95], u, order, world=4, rank=r, accumulation=5, index=i
        )
        for r in range(4)
        for i in range(5)
    )
    assert chosen == {1: 1, 16: 19}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"permutation": [0, 0]}, "permutation"),
        ({"permutation": [0]}, "permutation"),
        ({"u": 1.0}, "u must be"),
        ({"rank": 2}, "rank 2 of 2"),
        ({"index": 1}, "out of range"),
        ({"block_sizes": [1]}, "1 block sizes but 2"),
    ],
)
def test_a_choice_that_cannot_be_right_is_refused(changes, message):
    good = {"block_sizes": [1, 2], "weights": [0.5, 0.5], "u": 0.5, "permutation": [1, 0], "world": 2}
    assert stratified_block_size(**good) == 1
    with pytest.raises(ValueError, match=message):
        stratified_block_size(**{**good, **changes})
