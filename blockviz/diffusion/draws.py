"""Where random numbers come from: a run's own generators, never the global one."""

from __future__ import annotations

from typing import Protocol

import torch


class Draws(Protocol):
    """A source of random numbers; tests script it, runs use `GeneratorDraws`."""

    @property
    def device(self) -> torch.device:
        """Where the numbers are."""
        ...

    def uniform(self, *shape: int) -> torch.Tensor:
        """float64 in [0, 1)."""
        ...

    def integers(self, high: int, *shape: int) -> torch.Tensor:
        """int64 in 0..high - 1."""
        ...


class GeneratorDraws:
    """Draws from one generator seeded with `seed`, on `device`: one seed and device give one stream, bit for bit."""

    def __init__(self, seed: int, device: torch.device | str = "cpu") -> None:
        self._device = torch.device(device)
        self._generator = torch.Generator(self._device).manual_seed(seed)

    @property
    def device(self) -> torch.device:
        """Where the numbers are."""
        return self._device

    def uniform(self, *shape: int) -> torch.Tensor:
        """float64 in [0, 1)."""
        return torch.rand(shape, dtype=torch.float64, generator=self._generator, device=self._device)

    def integers(self, high: int, *shape: int) -> torch.Tensor:
        """int64 in 0..high - 1."""
        return torch.randint(high, shape, generator=self._generator, device=self._device)
