from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blockviz.diffusion.draws import GeneratorDraws
from blockviz.diffusion.prediction import log_probs
from blockviz.diffusion.processes import Masked, Uniform, draw_category, process
from blockviz.diffusion.schedules import alpha_pairs
from tests import golden
from tests.scripted import ScriptedDraws

V = 12
MASKED, UNIFORM = Masked(V, V - 1), Uniform(V)
BOTH = pytest.mark.parametrize("noise", [MASKED, UNIFORM], ids=["masked", "uniform"])


def some_probs(
    seed: int, *shape: int, noise: Masked | Uniform = UNIFORM, sharpness: float = 1.5
) -> torch.Tensor:
    """Float64 predictions [*shape, V]; nothing on MASK for the masked process."""
    logits = sharpness * torch.randn(
        *shape, noise.vocab_size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    return log_probs(logits, 1.0, [noise.mask_id] if isinstance(noise, Masked) else []).exp()


# --- posteriors


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_posteriors_equal_the_reference(dtype):
    reference = golden.tensors("posteriors")
    name = "f32" if dtype == torch.float32 else "f64"
    for i, (alpha_s, alpha_t) in enumerate(reference["alpha_pairs_s_t"].tolist()):
        masked = MASKED.posterior(
            reference["xt_absorb"], reference["x0_probs_nomask"].to(dtype), alpha_t, alpha_s
        )
        uniform = UNIFORM.posterior(
            reference["xt_uniform"], reference["x0_probs"].to(dtype), alpha_t, alpha_s
        )
        assert masked.dtype == uniform.dtype == dtype
        torch.testing.assert_close(masked, reference[f"absorb_p{i}_{name}"], rtol=0, atol=1e-6)
        torch.testing.assert_close(uniform, reference[f"uniform_p{i}_{name}"], rtol=0, atol=1e-6)


def test_posteriors_take_another_alpha_for_each_row():
    reference = golden.tensors("posteriors")
    alphas = reference["rowalpha_t"], reference["rowalpha_s"]
    masked = MASKED.posterior(reference["xt_absorb"], reference["x0_probs_nomask"], *alphas)
    uniform = UNIFORM.posterior(reference["xt_uniform"], reference["x0_probs"], *alphas)
    torch.testing.assert_close(masked, reference["absorb_rowalpha"], rtol=0, atol=1e-6)
    torch.testing.assert_close(uniform, reference["uniform_rowalpha"], rtol=0, atol=1e-6)


ALPHAS = (
    st.tuples(st.floats(1e-3, 0.999), st.floats(1e-3, 1.0)).map(sorted).filter(lambda pair: pair[0] < pair[1])
)


@given(alphas=ALPHAS, seed=st.integers(0, 1000), sharpness=st.floats(0, 30))
def test_posteriors_are_distributions(alphas, seed, sharpness):
    for noise in (MASKED, UNIFORM):
        probs = some_probs(seed, 20, noise=noise, sharpness=sharpness)
        xt = torch.randint(V, (20,), generator=torch.Generator().manual_seed(seed))
        posterior = noise.posterior(xt, probs, *alphas)
        assert posterior.min() >= -1e-12
        torch.testing.assert_close(posterior.sum(-1), torch.ones(20, dtype=torch.float64), rtol=0, atol=1e-9)


@given(alphas=ALPHAS, seed=st.integers(0, 1000), token=st.integers(0, V - 2))
def test_an_unmasked_token_stays_for_certain(alphas, seed, token):
    posterior = MASKED.posterior(torch.tensor([token]), some_probs(seed, 1, noise=MASKED), *alphas)
    assert torch.equal(posterior[0], torch.nn.functional.one_hot(torch.tensor(token), V).double())


@given(alpha_t=st.floats(1e-3, 0.999), seed=st.integers(0, 1000), token=st.integers(0, V - 1))
def test_at_alpha_s_one_the_posterior_is_bayes_rule_for_the_clean_token(alpha_t, seed, token):
    """q(x0 | xt) is proportional to p(x0) q(xt | x0); a masked token says nothing, so that is p itself."""
    probs, xt = some_probs(seed, 1), torch.tensor([token])
    likelihood = torch.full((V,), (1 - alpha_t) / V, dtype=torch.float64)
    likelihood[token] += alpha_t
    bayes = probs[0] * likelihood / (probs[0] * likelihood).sum()
    torch.testing.assert_close(UNIFORM.posterior(xt, probs, alpha_t, 1.0)[0], bayes, rtol=1e-9, atol=1e-12)
    probs = some_probs(seed, 1, noise=MASKED)
    torch.testing.assert_close(MASKED.posterior(torch.tensor([V - 1]), probs, alpha_t, 1.0), probs)


@given(alpha_t=st.floats(1e-3, 0.999), seed=st.integers(0, 1000))
def test_weighing_in_the_noisy_token_is_the_posterior_of_the_clean_one(alpha_t, seed):
    probs = some_probs(seed, V)
    xt = torch.arange(V)
    weighed = UNIFORM.weigh_in(probs.log(), xt, alpha_t)
    torch.testing.assert_close(weighed.exp(), UNIFORM.posterior(xt, probs, alpha_t, 1.0))


def test_two_posterior_steps_of_a_certain_prediction_make_one():
    """Chapman-Kolmogorov: t -> s -> r through the clean token's own posteriors equals t -> r."""
    x0 = torch.nn.functional.one_hot(torch.tensor([4]), V).double()
    tokens = torch.arange(V)
    for noise in (MASKED, UNIFORM):
        certain = x0.expand(V, V)
        late, early = noise.posterior(tokens, certain, 0.2, 0.5), noise.posterior(tokens, certain, 0.5, 0.8)
        torch.testing.assert_close(late @ early, noise.posterior(tokens, certain, 0.2, 0.8))


# --- steps


@BOTH
@pytest.mark.parametrize("alphas", [(0.001, 0.25), (0.25, 0.5), (0.5, 0.9), (0.9, 1.0), (0.001, 1.0)])
@pytest.mark.parametrize("temperature", [1.0, 0.0])
def test_two_draw_steps_follow_the_exact_posterior(noise, alphas, temperature):
    """Frequencies over 40,000 draws within 5 standard errors (and 1e-12 where the probability is 0 or 1)."""
    count = 40_000
    xt = torch.tensor([0, 3, V - 1])
    probs = some_probs(1, 3, noise=noise)
    effective = probs
    if temperature == 0:
        effective = torch.nn.functional.one_hot(probs.argmax(-1), V).double()
    expected = noise.posterior(xt, effective, *alphas)
    step = noise.step(
        xt.expand(count, 3), probs.log().expand(count, 3, V), *alphas, GeneratorDraws(7), temperature
    )
    frequency = torch.nn.functional.one_hot(step.tokens, V).double().mean(0)
    error = (expected * (1 - expected) / count).clamp(min=0).sqrt()
    assert ((frequency - expected).abs() <= 5 * error + 1e-12).all()


def test_a_step_says_where_each_token_came_from():
    xt = torch.tensor([[V - 1, 2, V - 1, V - 1]])
    prediction = some_probs(0, 1, 4, noise=MASKED).log()
    step = MASKED.step(xt, prediction, 0.2, 0.6, GeneratorDraws(1))
    assert not step.noised.any()
    assert torch.equal(step.predicted, (xt == V - 1) & (step.tokens != V - 1))

    xt = torch.full((1, 3000), 2)
    prediction = some_probs(0, 1, 1).log().expand(1, 3000, V)
    step = UNIFORM.step(xt, prediction, 0.1, 0.4, GeneratorDraws(1))
    assert step.predicted.any()
    assert step.noised.any()
    assert not (step.predicted & step.noised).any()
    assert (step.tokens[~step.predicted & ~step.noised] == 2).all()
    assert not UNIFORM.step(xt, prediction, 0.1, 1.0, GeneratorDraws(1)).noised.any()


def test_the_draws_of_a_masked_step_in_order():
    xt = torch.tensor([2, 2, 0])
    prediction = torch.tensor([[0.5, 0.5, 0.0]]).log().expand(3, 3)
    categories = torch.tensor([[0.1, 0.9, 0.99], [0.9, 0.1, 0.99], [0.1, 0.9, 0.99]])
    draws = ScriptedDraws(categories, [0.49, 0.51, 0.0])
    step = Masked(3, 2).step(xt, prediction, 0.0, 0.5, draws)
    assert step.tokens.tolist() == [1, 2, 0]
    assert step.predicted.tolist() == [True, False, False]
    assert draws.finished

    last = ScriptedDraws(categories)
    assert Masked(3, 2).step(xt, prediction, 0.5, 1.0, last).tokens.tolist() == [1, 0, 0]
    assert last.finished


def test_the_draws_of_a_uniform_step_in_order():
    """The component intervals lie noise, keep, prediction; in the last step only the noise tokens are not drawn."""
    noise, xt = Uniform(4), torch.tensor([3, 3, 3])
    prediction = torch.tensor([[0.5, 0.5, 0.0, 0.0]]).log().expand(3, 4)
    categories = torch.tensor([[0.1, 0.9, 0.99, 0.99]]).expand(3, 4)
    # alpha 0.2 -> 0.5, p(xt) = 0: noise 0.6 * 0.5 / 0.8 = 0.375, keep 0.2 / 0.8 = 0.25, prediction 0.3 / 0.8 = 0.375
    draws = ScriptedDraws(categories, [0.374, 0.376, 0.626], torch.tensor([2, 2, 2]))
    step = noise.step(xt, prediction, 0.2, 0.5, draws)
    assert step.tokens.tolist() == [2, 3, 1]
    assert step.noised.tolist() == [True, False, False]
    assert step.predicted.tolist() == [False, False, True]
    assert draws.finished

    last = ScriptedDraws(categories, [0.0, 0.5, 0.999])
    assert noise.step(xt, prediction, 0.2, 1.0, last).tokens.tolist() == [1, 1, 1]
    assert last.finished


@BOTH
def test_a_greedy_step_draws_no_categories_and_ends_on_the_argmax(noise):
    probs = some_probs(3, 2, 5, noise=noise)
    xt = noise.prior((2, 5), GeneratorDraws(0))
    script = [] if isinstance(noise, Masked) else [torch.rand(2, 5)]
    draws = ScriptedDraws(*script)
    assert torch.equal(noise.step(xt, probs.log(), 0.5, 1.0, draws, temperature=0).tokens, probs.argmax(-1))
    assert draws.finished


@pytest.mark.parametrize("kind", ["absorb", "uniform"])
def test_ancestral_steps_reproduce_the_traced_runs(kind):
    """Every pass of a whole reference run, token for token, from nothing but its seed and its log-probabilities."""
    name = f"trace_ancestral_{kind}_N4"
    trace, about = golden.tensors(name), golden.report("trace_report")[f"{name}.safetensors"]
    noise = Masked(40, 39) if kind == "absorb" else Uniform(39)
    draws = GeneratorDraws(about["seed"])
    canvas = noise.prior((about["batch"], 64), draws)
    pairs = alpha_pairs("log-linear", about["steps"])
    assert len(about["order"]) == 16
    for passed in about["order"]:
        block, step = int(passed[1:2]), int(passed[-2:])
        window = slice(16 * block, 16 * block + 16)
        assert torch.equal(canvas, trace[f"{passed}_xt_in"])
        assert pairs[step] == pytest.approx(
            [trace[f"{passed}_alpha_{which}"][0].item() for which in "ts"], abs=1e-6
        )
        result = noise.step(canvas[:, window], trace[f"{passed}_log_probs"], *pairs[step], draws)
        canvas[:, window] = result.tokens
        assert torch.equal(canvas, trace[f"{passed}_xt_out"])
    assert torch.equal(canvas, trace["final_xt"])


def unmasked_in_a_large_vocabulary(vocab_size: int, rows: int, chunk: int) -> int:
    """How many of `rows` masked tokens a step with unmask probability 0.001 reveals."""
    noise, draws = Masked(vocab_size, vocab_size - 1), GeneratorDraws(0)
    logits = torch.randn(vocab_size, generator=torch.Generator().manual_seed(0))
    prediction = log_probs(logits, 1.0, [noise.mask_id])
    revealed = 0
    for _ in range(rows // chunk):
        xt = torch.full((chunk,), noise.mask_id)
        step = noise.step(xt, prediction.expand(chunk, vocab_size), 0.0, 0.001, draws)
        revealed += int((step.tokens != noise.mask_id).sum())
    return revealed


def test_a_small_unmask_probability_is_met():
    assert 8 <= unmasked_in_a_large_vocabulary(257, 30_000, 10_000) <= 52  # 30 expected, 4 standard errors


@pytest.mark.slow
def test_a_small_unmask_probability_is_met_with_a_large_vocabulary():
    """Trap 1 as measured: 30 expected of 30,000 at V = 50,257; one float32 draw over V + MASK gave 3."""
    assert 8 <= unmasked_in_a_large_vocabulary(50_257, 30_000, 500) <= 52


def test_categories_with_tiny_probability_are_drawn_as_often_as_they_should():
    """Trap 1: 512 tokens of 1e-7 each beside a sure one, reached only by a uniform number very close to 1."""
    probs = torch.full((513,), 1e-7, dtype=torch.float64)
    probs[0] = 1 - 512e-7
    u = torch.full((3, 513), 0.5, dtype=torch.float64)
    u[1, 7] = 1 - 1e-7  # -log u = 1e-7: just too late, 1e-7 / 1e-7 = 1 against 1 / 0.69
    u[2, 7] = 1 - 2.0**-24  # the largest float32 below one, about 6e-8: early enough
    assert draw_category(probs, u).tolist() == [0, 0, 7]
    assert draw_category(probs.float(), u).tolist() == [0, 0, 7]


def test_impossible_categories_are_never_drawn():
    probs = torch.tensor([0.0, 1e-12, 0.0], dtype=torch.float64).expand(5000, 3)
    assert (draw_category(probs, GeneratorDraws(0).uniform(5000, 3)) == 1).all()
    extremes = torch.tensor([[1 - 2**-53, 0.0, 1 - 2**-53]], dtype=torch.float64)
    assert draw_category(probs[:1], extremes).tolist() == [1]


# --- prior, corruption, making


def test_priors():
    assert (MASKED.prior((2, 30), ScriptedDraws()) == V - 1).all()
    prior = UNIFORM.prior((2, 300), GeneratorDraws(0))
    assert set(prior.flatten().tolist()) == set(range(V))


@BOTH
def test_corruption_leaves_the_clean_token_as_often_as_alpha_says(noise):
    count = 40_000
    x0 = torch.full((2, count), 4)
    alpha_t = torch.tensor([[0.25], [0.9]])
    xt = noise.corrupt(x0, alpha_t, GeneratorDraws(2))
    rest = 1 - alpha_t.squeeze().double()
    expected = torch.zeros(2, V, dtype=torch.float64)
    if isinstance(noise, Masked):
        expected[:, noise.mask_id] = rest
    else:
        expected += rest[:, None] / V
    expected[:, 4] += 1 - rest
    frequency = torch.nn.functional.one_hot(xt, V).double().mean(1)
    error = (expected * (1 - expected) / count).sqrt()
    assert ((frequency - expected).abs() <= 5 * error).all()


@BOTH
def test_corruption_at_the_ends(noise):
    x0 = torch.arange(V - 1).repeat(50)
    assert torch.equal(noise.corrupt(x0, 1.0, GeneratorDraws(0)), x0)
    gone = noise.corrupt(x0, 0.0, GeneratorDraws(0))
    assert (gone == V - 1).all() if isinstance(noise, Masked) else (gone == x0).float().mean() < 0.2


def test_processes_by_name():
    assert process("masked", 5, 4) == Masked(5, 4)
    assert process("uniform", 5) == Uniform(5)
    with pytest.raises(ValueError, match="masked, uniform, not 'gaussian'"):
        process("gaussian", 5)
    for mask_id in (None, 5, -1):
        with pytest.raises(ValueError, match="mask id"):
            process("masked", 5, mask_id)


# --- NLL bounds


@pytest.mark.parametrize(("model", "noise"), [("a", Masked(40, 39)), ("b", Uniform(39))])
def test_bounds_equal_the_reference(model, noise):
    nll = golden.tensors("nll")
    alphas = nll[f"{model}_alpha_t"], nll[f"{model}_dalpha_t"]
    tokens = nll[f"{model}_x0"], nll[f"{model}_xt"]
    prediction = nll[f"{model}_log_x_theta"]
    exact = nll[f"{model}_nll_per_token_elbo_f64"]
    double = noise.nll(prediction.double(), *tokens, *(alpha.double() for alpha in alphas))
    torch.testing.assert_close(double, exact, rtol=2e-5, atol=1e-9)
    single = noise.nll(prediction, *tokens, *alphas)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), exact, rtol=2e-5, atol=1e-9)
    # The reference's own float32 carries up to 6e-5 of cancellation.
    torch.testing.assert_close(single, nll[f"{model}_nll_per_token_elbo"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("noise", [Masked(5, 4), Uniform(5)], ids=["masked", "uniform"])
def test_the_bound_is_the_entropy_when_the_prediction_is_the_best_possible(noise):
    """Summed over every x0 and xt and integrated over t, the bound is tight for p(x0), what is known WITHOUT xt.

    It falls short only by what noise at t = 1 still tells: alpha(1) = 1e-3 of the entropy when masked, less if uniform.
    The uniform bound is far from tight for the posterior of x0 given xt: the formulas weigh xt in themselves.
    """
    p = torch.tensor([0.55, 0.2, 0.15, 0.1, 0.0], dtype=torch.float64)
    if isinstance(noise, Uniform):
        p = torch.tensor([0.5, 0.2, 0.15, 0.1, 0.05], dtype=torch.float64)
    entropy = -(p[p > 0] * p[p > 0].log()).sum().item()
    times, weights = gauss_legendre(200)
    alpha_t = (1e-3 + (1 - 1e-3) * (1 - times)).unsqueeze(-1)
    grid = torch.cartesian_prod(torch.arange(5), torch.arange(5))
    x0, xt = grid[:, 0].expand(200, 25), grid[:, 1].expand(200, 25)
    rest = torch.zeros(5, dtype=torch.float64)
    rest[4 if isinstance(noise, Masked) else slice(None)] = 1 if isinstance(noise, Masked) else 1 / 5
    mass = p[x0] * (alpha_t * (x0 == xt) + (1 - alpha_t) * rest[xt])

    def mean_bound(prediction: torch.Tensor) -> float:
        bound = noise.nll(prediction, x0, xt, alpha_t, torch.full_like(alpha_t, -(1 - 1e-3)))
        return (torch.where(mass > 0, mass * bound, 0.0).sum(-1) * weights).sum().item()

    best = p.log().expand(200, 25, 5)
    missing = 1e-3 if isinstance(noise, Masked) else 0
    assert mean_bound(best) == pytest.approx(entropy * (1 - missing), rel=2e-4)
    if isinstance(noise, Uniform):
        posterior = noise.weigh_in(best, xt, alpha_t)
        assert mean_bound(posterior) > 1.3 * entropy


def gauss_legendre(points: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Nodes and weights on [0, 1], squeezed towards t = 0 where the uniform bound is steep: t = s^3."""
    k = torch.arange(1, points, dtype=torch.float64)
    beta = k / (4 * k**2 - 1).sqrt()
    nodes, vectors = torch.linalg.eigh(torch.diag(beta, 1) + torch.diag(beta, -1))
    s, weights = (nodes + 1) / 2, vectors[0] ** 2
    return s**3, weights * 3 * s**2


@BOTH
def test_a_certain_and_right_prediction_costs_nothing(noise):
    x0 = torch.arange(V - 1).unsqueeze(0)
    xt = torch.where(torch.arange(V - 1) % 2 == 0, V - 1, x0)
    certain = torch.nn.functional.one_hot(x0, V).float().log()
    torch.testing.assert_close(
        noise.nll(certain, x0, xt, 0.4, -0.999), torch.zeros(1, V - 1), atol=1e-6, rtol=0
    )


@given(alpha_t=st.floats(1e-3, 0.999), seed=st.integers(0, 1000), sharpness=st.floats(0, 8))
def test_bounds_are_never_negative_in_float32(alpha_t, seed, sharpness):
    tokens = torch.randint(V - 1, (2, 1, 50), generator=torch.Generator().manual_seed(seed))
    for noise in (MASKED, UNIFORM):
        prediction = some_probs(seed, 1, 50, noise=noise, sharpness=sharpness).log().float()
        assert noise.nll(prediction, *tokens, alpha_t, -0.999).min() >= -1e-6


@BOTH
def test_bounds_are_differentiable_even_with_impossible_tokens(noise):
    logits = torch.randn(
        2, 4, V, dtype=torch.float64, requires_grad=True, generator=torch.Generator().manual_seed(0)
    )
    x0 = torch.tensor([[0, 1, 2, 3], [4, 5, 6, 7]])
    xt = torch.tensor([[0, V - 1, 5, 3], [V - 1, 5, V - 1, 1]])
    alpha_t = torch.tensor([[0.3], [0.7]], dtype=torch.float64)

    def loss(raw: torch.Tensor) -> torch.Tensor:
        return noise.nll(log_probs(raw, 1.0, [V - 1]), x0, xt, alpha_t, -0.999).sum()

    assert torch.autograd.gradcheck(loss, (logits,))
    loss(logits).backward()
    assert torch.isfinite(logits.grad).all()
