"""Where random numbers come from: a run's own generators, never the global one."""

from __future__ import annotations

from collections.abc import Sequence
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


class RowDraws:
    """One generator per sequence of a batch, so that a sequence draws the same whoever its batch mates are (trap 12).

    The first dimension of every shape is the batch and must equal the number of seeds (ValueError). Row `i` receives
    exactly what `GeneratorDraws(seeds[i])` gives for a batch of one.
    """

    def __init__(self, seeds: Sequence[int], device: torch.device | str = "cpu") -> None:
        self._device = torch.device(device)
        self._rows = [GeneratorDraws(seed, device) for seed in seeds]

    @property
    def device(self) -> torch.device:
        """Where the numbers are."""
        return self._device

    def uniform(self, *shape: int) -> torch.Tensor:
        """float64 in [0, 1), row by row."""
        self._check(shape)
        return torch.cat([row.uniform(1, *shape[1:]) for row in self._rows])

    def integers(self, high: int, *shape: int) -> torch.Tensor:
        """int64 in 0..high - 1, row by row."""
        self._check(shape)
        return torch.cat([row.integers(high, 1, *shape[1:]) for row in self._rows])

    def _check(self, shape: tuple[int, ...]) -> None:
        if not shape or shape[0] != len(self._rows):
            raise ValueError(f"expected a batch of {len(self._rows)} rows, not shape {shape}")
