"""The optimiser: Muon on the matrices of the trunk, AdamW on the rest, a cosine rate, and an average of the weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from blockviz.training.recipes import Recipe


class Optimiser:
    """Muon and AdamW stepped as one, with a common learning-rate factor and an exponential moving average."""

    def __init__(self, net: nn.Module, recipe: Recipe) -> None:
        trunk = {name: p for name, p in net.named_parameters() if p.dim() == 2 and name.startswith("blocks.")}
        rest = {name: p for name, p in net.named_parameters() if name not in trunk}
        self.recipe = recipe
        self.parts: dict[str, tuple[torch.optim.Optimizer, dict[str, nn.Parameter], float]] = {
            "muon": (
                torch.optim.Muon(trunk.values(), lr=recipe.muon_rate, weight_decay=recipe.muon_decay),
                trunk,
                recipe.muon_rate,
            ),
            "adamw": (
                torch.optim.AdamW(rest.values(), lr=recipe.adamw_rate, betas=(0.9, 0.98), weight_decay=0.0),
                rest,
                recipe.adamw_rate,
            ),
        }
        self.average = {name: p.detach().clone() for name, p in net.named_parameters()}
        self.net = net

    def step(self, step: int) -> float:
        """Clip the gradients, update weights and average, clear the gradients; returns the norm before clipping."""
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), self.recipe.gradient_clip)
        stage, offset = self.recipe.stage_at(step)
        factor = stage.rate_factor(offset)
        for optimizer, _, peak in self.parts.values():
            for group in optimizer.param_groups:
                group["lr"] = peak * factor
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        # A young average would be mostly the initial weights: its memory grows with the run up to ema_decay.
        decay = min(self.recipe.ema_decay, (step + 1) / (step + 10))
        with torch.no_grad():
            for name, parameter in self.net.named_parameters():
                self.average[name].lerp_(parameter.detach(), 1 - decay)
        return float(norm)

    def state(self) -> dict[str, Tensor]:
        """Everything a resumed run needs, as named tensors: weights, average and both optimisers' moments."""
        tensors = {f"weights/{name}": p.detach() for name, p in self.net.named_parameters()}
        tensors |= {f"average/{name}": value for name, value in self.average.items()}
        for part, (optimizer, parameters, _) in self.parts.items():
            for name, parameter in parameters.items():
                for key, value in optimizer.state.get(parameter, {}).items():
                    tensors[f"{part}/{key}/{name}"] = torch.as_tensor(value)
        return {name: value.contiguous() for name, value in tensors.items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take over a `state()`; raises KeyError when it belongs to another network."""
        with torch.no_grad():
            for name, parameter in self.net.named_parameters():
                parameter.copy_(tensors[f"weights/{name}"])
                self.average[name].copy_(tensors[f"average/{name}"])
        for part, (optimizer, parameters, _) in self.parts.items():
            for name, parameter in parameters.items():
                prefix, suffix = f"{part}/", f"/{name}"
                optimizer.state[parameter] = {
                    key[len(prefix) : -len(suffix)]: value.to(parameter.device)
                    if value.dim()
                    else value.clone()
                    for key, value in tensors.items()
                    if key.startswith(prefix) and key.endswith(suffix)
                }
