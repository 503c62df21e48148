from __future__ import annotations

import pytest
import torch

from blockviz.diffusion.draws import GeneratorDraws
from blockviz.diffusion.prediction import carry_over, log_probs
from blockviz.diffusion.processes import Masked
from tests import golden

MASK = 39


@pytest.mark.parametrize("temperature", [0.5, 0.1])
@pytest.mark.parametrize("model", ["a", "b"])
def test_temperature_removal_and_carry_over_equal_the_reference(model, temperature):
    reference = golden.tensors(f"forward_{model}")
    expected = reference[f"gen_b1_s1_logprobs_nocache_temp{temperature}"]
    logits = reference["gen_b1_s1_logits_nocache"]
    if model == "b":
        torch.testing.assert_close(log_probs(logits, temperature), expected, rtol=0, atol=1e-4)
        return
    actual = carry_over(log_probs(logits, temperature, [MASK]), reference["gen_b1_s1_xt"], MASK)
    possible = expected > -1e5  # the reference writes -1e6 for impossible
    assert torch.equal(possible, torch.isfinite(actual))
    torch.testing.assert_close(actual[possible], expected[possible], rtol=0, atol=1e-4)


def test_bfloat16_logits_are_cast_before_the_softmax():
    """Trap 2: the same logits, so the same log-probabilities, whatever precision the network ran in."""
    logits = (4 * torch.randn(64, 1000, generator=torch.Generator().manual_seed(0))).bfloat16()
    result = log_probs(logits)
    assert result.dtype == torch.float32
    torch.testing.assert_close(result, torch.log_softmax(logits.double(), -1).float(), rtol=0, atol=2e-6)
    torch.testing.assert_close(result.exp().sum(-1), torch.ones(64), rtol=0, atol=2e-6)
    careless = torch.log_softmax(logits, -1).float()
    assert (careless - result).abs().max() > 0.01, (
        "the trap this guards against is gone: the test shows nothing"
    )


def test_temperature_divides_raw_logits():
    """Trap 3: p is proportional to exp(logit / temperature) among the tokens that remain."""
    logits = torch.tensor([[1.0, 3.0, 2.0, 100.0]], dtype=torch.float64)
    weights = torch.tensor([1.0, 3.0, 2.0], dtype=torch.float64).div(0.25).exp()
    expected = torch.cat([weights / weights.sum(), torch.zeros(1, dtype=torch.float64)])
    torch.testing.assert_close(log_probs(logits, 0.25, [3]).exp()[0], expected)


def test_temperature_zero_keeps_finite_numbers_and_negative_is_refused():
    logits = torch.tensor([[1.0, 3.0, 2.0]])
    assert torch.equal(log_probs(logits, 0), log_probs(logits, 1))
    with pytest.raises(ValueError, match="temperature"):
        log_probs(logits, -0.5)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_forbidden_tokens_are_never_drawn_and_the_rest_still_sums_to_one(temperature):
    """Trap 4: removed before the draw, however likely the network thinks them."""
    logits = torch.zeros(500, 6)
    logits[:, [2, 5]] = 50.0
    prediction = log_probs(logits, temperature, [2, 5, 5])
    torch.testing.assert_close(prediction.exp().sum(-1), torch.ones(500))
    assert torch.isinf(prediction[:, [2, 5]]).all()
    step = Masked(6, 5).step(
        torch.full((500,), 5), prediction, 0.1, 1.0, GeneratorDraws(0), temperature=temperature
    )
    assert set(step.tokens.tolist()) <= {0, 1, 3, 4}
    assert step.predicted.all()


def test_forbidding_everything_is_refused():
    with pytest.raises(ValueError, match="every token"):
        log_probs(torch.zeros(1, 2), 1.0, [0, 1])


def test_carry_over_is_certain_of_unmasked_tokens_and_leaves_masked_ones():
    prediction = log_probs(torch.randn(2, 3, 5), 1.0, [4])
    xt = torch.tensor([[4, 1, 0], [3, 4, 4]])
    carried = carry_over(prediction, xt, 4)
    masked = xt == 4
    assert torch.equal(carried[masked], prediction[masked])
    assert torch.equal(carried[~masked].exp(), torch.nn.functional.one_hot(xt[~masked], 5).float())


def test_log_probs_are_differentiable_with_forbidden_tokens():
    logits = torch.randn(3, 5, requires_grad=True)
    log_probs(logits, 0.8, [4])[:, 0].sum().backward()
    assert torch.isfinite(logits.grad).all()
    assert (logits.grad[:, 4] == 0).all()
