"""The two noise processes: masked (absorbing) and uniform.

Each knows its prior, how it corrupts clean tokens, the exact posterior of one reverse step, a fast draw from that
posterior, and its NLL bound. Formulas: MATHS.md, "The two noise processes". Everywhere `alpha_t < alpha_s` are the
shares of clean tokens before and after a reverse step, given as a float or as a tensor that broadcasts against the
token shape (for instance [N, 1] against [N, T]).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch

from blockviz.diffusion.draws import Draws

Process = Literal["masked", "uniform"]

PROCESSES: tuple[Process, ...] = ("masked", "uniform")

Alpha: TypeAlias = float | torch.Tensor


@dataclass(frozen=True)
class Step:
    """What one reverse step did. All [...] like the tokens it was given.

    `tokens` int64 after the step; `predicted` bool, the position took its token from the prediction in this step;
    `noised` bool, the position drew fresh noise in this step (always False for the masked process).
    """

    tokens: torch.Tensor
    predicted: torch.Tensor
    noised: torch.Tensor


def draw_category(probs: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Index drawn from `probs` [..., V] (need not be normalised) with uniform numbers `u` float64 [..., V].

    An exponential race, in float64: float32 would lose the tail of small probabilities (trap 1). Returns int64 [...].
    Tokens with probability zero are never drawn.
    """
    return (probs.double() / (1e-10 - torch.log(u + 1e-10))).argmax(dim=-1)


@dataclass(frozen=True)
class Masked:
    """Absorbing noise: a token is either itself or MASK. `mask_id` is one of the `vocab_size` ids."""

    vocab_size: int
    mask_id: int

    def prior(self, shape: tuple[int, ...], draws: Draws) -> torch.Tensor:
        """Pure noise, int64 `shape`: all MASK. Takes no draw; `draws` only says which device."""
        return torch.full(shape, self.mask_id, dtype=torch.int64, device=draws.device)

    def corrupt(self, x0: torch.Tensor, alpha_t: Alpha, draws: Draws) -> torch.Tensor:
        """Noisy tokens at `alpha_t`, like `x0` int64 [...]: each is masked with probability 1 - alpha_t.

        Takes one uniform draw per token.
        """
        return torch.where(draws.uniform(*x0.shape) < 1 - alpha_t, self.mask_id, x0)

    def posterior(
        self, xt: torch.Tensor, probs: torch.Tensor, alpha_t: Alpha, alpha_s: Alpha
    ) -> torch.Tensor:
        """Exact q(x_s | x_t, x0 ~ probs): `xt` int64 [...], `probs` [..., V] with nothing on MASK; returns [..., V].

        A masked token is drawn from `probs` with probability (alpha_s - alpha_t) / (1 - alpha_t), else it stays.
        """
        alpha_t, alpha_s = _columns(alpha_t), _columns(alpha_s)
        reveal = (alpha_s - alpha_t) / (1 - alpha_t)
        from_mask = probs * reveal + self._one_hot(xt, probs) * (1 - reveal)
        return torch.where((xt == self.mask_id).unsqueeze(-1), from_mask, self._one_hot(xt, probs))

    def step(
        self,
        xt: torch.Tensor,
        log_probs: torch.Tensor,
        alpha_t: Alpha,
        alpha_s: Alpha,
        draws: Draws,
        temperature: float = 1.0,
    ) -> Step:
        """Draw x_s: which token and whether to reveal it are two separate draws (trap 1).

        `xt` int64 [...], `log_probs` [..., V] (temperature already applied; MASK forbidden). `temperature` only tells
        the greedy case: at 0 the token is the argmax. Draws, in order: uniform [..., V] for the token unless greedy,
        then uniform [...] for the reveal unless alpha_s is 1 (everything is revealed).
        """
        token = _draw_tokens(log_probs, draws, temperature)
        masked = xt == self.mask_id
        if _is_one(alpha_s):
            reveal = masked
        else:
            reveal = masked & (draws.uniform(*xt.shape) < (alpha_s - alpha_t) / (1 - alpha_t))
        return Step(torch.where(reveal, token, xt), reveal, torch.zeros_like(masked))

    def nll(
        self, log_probs: torch.Tensor, x0: torch.Tensor, xt: torch.Tensor, alpha_t: Alpha, dalpha_t: Alpha
    ) -> torch.Tensor:
        """Per-token NLL bound in nats, [N, T]: dalpha/(1 - alpha_t) * log p(x0) where `xt` is masked, else 0.

        `log_probs` [N, T, V], `x0` and `xt` int64 [N, T]; differentiable in `log_probs`, in their dtype.
        """
        weight = dalpha_t / (1 - alpha_t)
        log_p = log_probs.gather(-1, x0.unsqueeze(-1)).squeeze(-1)
        return torch.where(xt == self.mask_id, weight * log_p, torch.zeros_like(log_p))

    def _one_hot(self, tokens: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(like).scatter(-1, tokens.unsqueeze(-1), 1.0)


@dataclass(frozen=True)
class Uniform:
    """Uniform noise: a token is either itself or one of all `vocab_size` tokens, drawn at random."""

    vocab_size: int

    def prior(self, shape: tuple[int, ...], draws: Draws) -> torch.Tensor:
        """Pure noise, int64 `shape`: one integer draw per token."""
        return draws.integers(self.vocab_size, *shape)

    def corrupt(self, x0: torch.Tensor, alpha_t: Alpha, draws: Draws) -> torch.Tensor:
        """Noisy tokens at `alpha_t`, like `x0` int64 [...]: each is replaced by a random token w.p. 1 - alpha_t.

        Takes one uniform draw per token, then one integer draw per token.
        """
        replace = draws.uniform(*x0.shape) < 1 - alpha_t
        return torch.where(replace, draws.integers(self.vocab_size, *x0.shape), x0)

    def posterior(
        self, xt: torch.Tensor, probs: torch.Tensor, alpha_t: Alpha, alpha_s: Alpha
    ) -> torch.Tensor:
        """Exact q(x_s | x_t, x0 ~ probs): `xt` int64 [...], `probs` [..., V] summing to one; returns [..., V]."""
        noise, keep, predict = self._components(xt, probs, alpha_t, alpha_s)
        spread = predict.unsqueeze(-1) * probs + (noise / self.vocab_size).unsqueeze(-1)
        return spread.scatter_add(-1, xt.unsqueeze(-1), keep.unsqueeze(-1))

    def step(
        self,
        xt: torch.Tensor,
        log_probs: torch.Tensor,
        alpha_t: Alpha,
        alpha_s: Alpha,
        draws: Draws,
        temperature: float = 1.0,
    ) -> Step:
        """Draw x_s as a mixture of fresh noise, the token in place and the prediction; see `Masked.step`.

        Draws, in order: uniform [..., V] for the token unless greedy, uniform [...] for the component (noise first,
        then keep, then prediction), and integers [...] for the noise unless alpha_s is 1 (no noise is left). At
        temperature 0 the prediction is taken as certain of its argmax.
        """
        token = _draw_tokens(log_probs, draws, temperature)
        if temperature == 0:
            probs = torch.zeros_like(log_probs, dtype=torch.float64).scatter(-1, token.unsqueeze(-1), 1.0)
        else:
            probs = log_probs.double().exp()
        noise, keep, _ = self._components(xt, probs, alpha_t, alpha_s)
        u = draws.uniform(*xt.shape)
        if _is_one(alpha_s):
            noised = torch.zeros_like(xt, dtype=torch.bool)
            tokens = xt
        else:
            noised = u < noise
            tokens = torch.where(noised, draws.integers(self.vocab_size, *xt.shape), xt)
        predicted = ~noised & (u >= noise + keep)
        return Step(torch.where(predicted, token, tokens), predicted, noised)

    def nll(
        self, log_probs: torch.Tensor, x0: torch.Tensor, xt: torch.Tensor, alpha_t: Alpha, dalpha_t: Alpha
    ) -> torch.Tensor:
        """Per-token NLL bound in nats, [N, T]: the ELBO of uniform diffusion (UDLM, arXiv 2412.10193; Duo, 2506.10892).

        With a = V alpha_t x + (1 - alpha_t) for the clean token x, b the same for the prediction (both [V]) and
        r(j) = a(xt) b(j) / (a(j) b(xt)), it is `-dalpha/(V alpha_t) * sum_j a(j)/a(xt) * (r(j) - 1 - log r(j))`: no
        term is negative, so float32 loses nothing to cancellation. `log_probs` [N, T, V] must be normalised, `x0`
        and `xt` int64 [N, T]; differentiable in `log_probs`, in their dtype.
        """
        alpha_t = torch.as_tensor(alpha_t, dtype=log_probs.dtype, device=log_probs.device)
        # a and b relative to the noise floor 1 - alpha_t, where log a(j) is 0 for every j but x0.
        ratio = self.vocab_size * alpha_t / (1 - alpha_t)
        log_b = torch.log1p(ratio.unsqueeze(-1) * log_probs.exp())
        log_b_xt = log_b.gather(-1, xt.unsqueeze(-1))
        log_b_x0 = log_b.gather(-1, x0.unsqueeze(-1))
        log_a_x0 = torch.log1p(ratio).unsqueeze(-1)
        log_a_xt = torch.where((x0 == xt).unsqueeze(-1), log_a_x0, torch.zeros_like(log_a_x0))
        others = (
            _gap(log_b + (log_a_xt - log_b_xt)).scatter(-1, x0.unsqueeze(-1), 0.0).sum(dim=-1, keepdim=True)
        )
        at_x0 = log_a_x0.exp() * _gap(log_b_x0 - log_a_x0 + log_a_xt - log_b_xt)
        total = (others + at_x0) * torch.exp(-log_a_xt)
        return -dalpha_t / (self.vocab_size * alpha_t) * total.squeeze(-1)

    def weigh_in(self, log_probs: torch.Tensor, xt: torch.Tensor, alpha_t: Alpha) -> torch.Tensor:
        """Log-probabilities of the clean token given the noisy one: `log_probs` [..., V], `xt` int64 [...] -> [..., V].

        Every formula here takes a prediction that does not know `xt` itself (the bound is tight for that) and applies
        Bayes' rule to it. This is that rule: log p(x) + log q(xt | x), normalised; `posterior` at alpha_s = 1.
        """
        return torch.log_softmax(log_probs + self._evidence(log_probs, xt, alpha_t), dim=-1)

    def _evidence(self, log_probs: torch.Tensor, xt: torch.Tensor, alpha_t: Alpha) -> torch.Tensor:
        """log q(xt | x) up to a constant, [..., V]: zero but at x = xt."""
        alpha_t = torch.as_tensor(alpha_t, dtype=log_probs.dtype, device=log_probs.device)
        gain = torch.log1p(self.vocab_size * alpha_t / (1 - alpha_t)).expand(xt.shape)
        return torch.zeros_like(log_probs).scatter(-1, xt.unsqueeze(-1), gain.unsqueeze(-1))

    def _components(
        self, xt: torch.Tensor, probs: torch.Tensor, alpha_t: Alpha, alpha_s: Alpha
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Probabilities [...] with which a reverse step draws noise, keeps `xt`, or takes the prediction."""
        p_xt = probs.gather(-1, xt.unsqueeze(-1)).squeeze(-1)
        total = alpha_t * self.vocab_size * p_xt + (1 - alpha_t)
        from_s = alpha_t / alpha_s
        noise = (1 - from_s) * (1 - alpha_s) / total
        keep = (alpha_t * self.vocab_size * p_xt + from_s - alpha_t) / total
        return noise, keep, (alpha_s - alpha_t) / total


def process(kind: Process, vocab_size: int, mask_id: int | None = None) -> Masked | Uniform:
    """The process of that name. Raises ValueError for an unknown one, or masked without a `mask_id` in range."""
    if kind == "uniform":
        return Uniform(vocab_size)
    if kind != "masked":
        raise ValueError(f"process must be one of {', '.join(PROCESSES)}, not {kind!r}")
    if mask_id is None or not 0 <= mask_id < vocab_size:
        raise ValueError(f"a masked process needs a mask id in 0..{vocab_size - 1}, not {mask_id}")
    return Masked(vocab_size, mask_id)


def _draw_tokens(log_probs: torch.Tensor, draws: Draws, temperature: float) -> torch.Tensor:
    if temperature == 0:
        return log_probs.argmax(dim=-1)
    return draw_category(log_probs.double().exp(), draws.uniform(*log_probs.shape))


def _gap(log_r: torch.Tensor) -> torch.Tensor:
    """r - 1 - log r of a logarithm: never negative, zero only at r = 1."""
    return torch.expm1(log_r) - log_r


def _is_one(alpha: Alpha) -> bool:
    return bool((alpha == 1).all()) if isinstance(alpha, torch.Tensor) else alpha == 1


def _columns(alpha: Alpha) -> Alpha:
    return alpha.unsqueeze(-1) if isinstance(alpha, torch.Tensor) else alpha
