"""Predictors: from noisy tokens and a prediction of them to less noisy ones (MATHS.md, "Samplers of the sources").

A predictor is a function of one window; a further one is a function here, an entry in `PREDICTORS`, a plan in
`plans.py` and a choice in `settings.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from blockviz.diffusion.draws import Draws
from blockviz.diffusion.processes import Masked, Step, Uniform, draw_category
from blockviz.sampling.plans import StepPlan

Predict = Callable[[Masked | Uniform, Tensor, Tensor, StepPlan, Draws, float], Step]


def ancestral(
    process: Masked | Uniform, xt: Tensor, log_probs: Tensor, step: StepPlan, draws: Draws, temperature: float
) -> Step:
    """Draw from the exact posterior between the two noise levels of `step`.

    `xt` int64 `[N, W]`, `log_probs` `[N, W, V]` (temperature applied). At alpha_s = 1 this is a clean proposal.
    """
    return process.step(xt, log_probs, step.alpha_t, step.alpha_s, draws, temperature)


def autoregressive(
    process: Masked | Uniform, xt: Tensor, log_probs: Tensor, step: StepPlan, draws: Draws, temperature: float
) -> Step:
    """Draw every position from its prediction, whatever noise it holds: exact AR where the window is one token.

    `xt` int64 `[N, W]`, `log_probs` `[N, W, V]` (temperature applied; 0 takes the argmax).
    """
    if temperature == 0:
        token = log_probs.argmax(dim=-1)
    else:
        token = draw_category(log_probs.double().exp(), draws.uniform(*log_probs.shape))
    written = torch.ones_like(xt, dtype=torch.bool)
    return Step(token, written, ~written)


PREDICTORS: dict[str, Predict] = {"ancestral": ancestral, "autoregressive": autoregressive}
"""Predictor of every name that a plan may give a segment."""
