"""A stand-in for a device without float64, such as MPS: what is computed there has to reach the CPU first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class There(torch.Tensor):
    """A tensor on the CPU that is taken to be elsewhere until `.cpu()` is called, as is all that follows from it."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_function__(func, types, args, kwargs or {})
        if not isinstance(result, torch.Tensor):
            return result
        if func is torch.Tensor.cpu:
            return result.as_subclass(torch.Tensor)
        if result.dtype == torch.float64:
            raise TypeError("there is no float64 on this device")
        return result


def there(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The function with its result on such a device."""
    return lambda *args, **kwargs: function(*args, **kwargs).as_subclass(There)
