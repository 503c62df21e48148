"""Draws whose numbers a test writes down."""

from __future__ import annotations

from collections.abc import Sequence

import torch


class ScriptedDraws:
    """Hands out the given tensors in order, checking kind and shape; `finished` tells whether all were asked for."""

    def __init__(self, *script: torch.Tensor | Sequence[float]) -> None:
        self._script = [torch.as_tensor(item) for item in script]

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    @property
    def finished(self) -> bool:
        return not self._script

    def uniform(self, *shape: int) -> torch.Tensor:
        return self._next(shape, integers=False).double()

    def integers(self, high: int, *shape: int) -> torch.Tensor:
        drawn = self._next(shape, integers=True)
        assert bool((drawn < high).all())
        return drawn

    def _next(self, shape: tuple[int, ...], integers: bool) -> torch.Tensor:
        assert self._script, "a draw that the script does not foresee"
        item = self._script.pop(0)
        assert item.is_floating_point() is not integers, "another kind of draw than the script foresees"
        assert tuple(item.shape) == shape
        return item
