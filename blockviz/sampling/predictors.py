"""Predictors: from noisy tokens and a prediction of them to less noisy ones (MATHS.md, "Samplers of the sources").

A predictor is a function of one window; a further one is a function here, an entry in `PREDICTORS`, a plan in
`plans.py` and a choice in `settings.py`. Those that reveal a number of positions have an entry in `COUNTS` as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from blockviz.diffusion.draws import Draws
from blockviz.diffusion.processes import Masked, Step, Uniform, draw_category
from blockviz.diffusion.schedules import reveal_target
from blockviz.sampling.correctors import worst
from blockviz.sampling.plans import StepPlan
from blockviz.sampling.settings import SamplerSettings


@dataclass(frozen=True)
class Window:
    """What a predictor may look at, in one step of one window.

    `xt` int64 `[N, W]`, where `noise` bool `[N, W]` marks what still holds noise; `log_probs` `[N, W, V]` (temperature
    applied); `counts` int64 `[N]` positions to reveal (0 for predictors without an entry in `COUNTS`).
    """

    process: Masked | Uniform
    settings: SamplerSettings
    level: StepPlan
    xt: Tensor
    log_probs: Tensor
    noise: Tensor
    counts: Tensor
    draws: Draws

    def drawn(self) -> Tensor:
        """A token for every position from its prediction, int64 `[N, W]`; at temperature 0 the likeliest."""
        if self.settings.temperature == 0:
            return self.log_probs.argmax(dim=-1)
        return draw_category(self.log_probs.double().exp(), self.draws.uniform(*self.log_probs.shape))


Predict = Callable[[Window], Step]


def ancestral(window: Window) -> Step:
    """Draw from the exact posterior between the two noise levels; at alpha_s = 1 this is a clean proposal."""
    level = window.level
    return window.process.step(
        window.xt, window.log_probs, level.alpha_t, level.alpha_s, window.draws, window.settings.temperature
    )


def autoregressive(window: Window) -> Step:
    """Draw every position from its prediction, whatever noise it holds: exact AR where the window is one token."""
    written = torch.ones_like(window.xt, dtype=torch.bool)
    return Step(window.drawn(), written, ~written)


def confident(window: Window) -> Step:
    """Draw a token for every masked position and reveal the `counts` best of them in the order of the settings."""
    token = window.drawn()
    chosen = worst(ORDERS[window.settings.order](window, token), window.noise, window.counts)
    return _revealed(window, token, chosen)


def threshold(window: Window) -> Step:
    """Reveal every masked position whose drawn token has a probability above the threshold, and at least one."""
    token = window.drawn()
    certain = confidence(window, token)
    chosen = worst(certain, window.noise, window.counts)
    return _revealed(window, token, chosen | ((certain > window.settings.threshold) & window.noise))


def _revealed(window: Window, token: Tensor, chosen: Tensor) -> Step:
    return Step(torch.where(chosen, token, window.xt), chosen, torch.zeros_like(chosen))


PREDICTORS: dict[str, Predict] = {
    "ancestral": ancestral,
    "confident": confident,
    "threshold": threshold,
    "autoregressive": autoregressive,
}
"""Predictor of every name that a plan may give a segment."""


# Which masked positions come first: float64 [N, W], higher is earlier; equal ones from left to right.


def confidence(window: Window, token: Tensor) -> Tensor:
    """Probability of the drawn token."""
    return window.log_probs.double().gather(-1, token.unsqueeze(-1)).squeeze(-1).exp()


def margin(window: Window, token: Tensor) -> Tensor:
    """Lead of the best candidate over the second."""
    best = window.log_probs.double().exp().topk(min(2, window.log_probs.shape[-1]), dim=-1).values
    return 2 * best[..., 0] - best.sum(dim=-1)


def entropy(window: Window, token: Tensor) -> Tensor:
    """Minus the entropy of the prediction."""
    logs = window.log_probs.double()
    return (logs.exp() * logs.clamp_min(-1e6)).sum(dim=-1)


def left_to_right(window: Window, token: Tensor) -> Tensor:
    """The same everywhere, so that the leftmost comes first."""
    return torch.zeros_like(window.xt, dtype=torch.float64)


def random(window: Window, token: Tensor) -> Tensor:
    """A uniform draw."""
    return window.draws.uniform(*window.xt.shape)


Order = Callable[[Window, Tensor], Tensor]
ORDERS: dict[str, Order] = {
    "confidence": confidence,
    "margin": margin,
    "entropy": entropy,
    "left_to_right": left_to_right,
    "random": random,
}
"""Order of every choice of the setting `order`."""


# How many positions to reveal in a step: int64 [N]; where that is 0 in every row, the step is skipped.


def counted(settings: SamplerSettings, step: int, steps: int, free: Tensor, noise: Tensor) -> Tensor:
    """What is missing to the cumulative target of step number `step` (from 0) of `steps`, for bool `[N, W]` masks."""
    totals, masked = free.sum(dim=1).tolist(), noise.sum(dim=1).tolist()
    targets = [reveal_target(step + 1, steps, total, settings.reveal, settings.counting) for total in totals]
    missing = [
        max(0, target - (total - left)) for target, total, left in zip(targets, totals, masked, strict=True)
    ]
    return torch.tensor(missing, device=noise.device)


def at_least_one(settings: SamplerSettings, step: int, steps: int, free: Tensor, noise: Tensor) -> Tensor:
    """One where anything is still masked."""
    return noise.any(dim=1).long()


Count = Callable[[SamplerSettings, int, int, Tensor, Tensor], Tensor]
COUNTS: dict[str, Count] = {"confident": counted, "threshold": at_least_one}
"""Number of positions that a step reveals, for the predictors that count them."""
