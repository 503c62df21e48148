"""BlockViz: watch a blockwise discrete-diffusion language model write.

`load`, `open_model` (released checkpoints too) and `sample` are the names most users need. They are looked up on first
use, so that reading a trace (`blockviz.sampling.trace`) does not import torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blockviz.models.checkpoint import load
    from blockviz.models.released import open_model
    from blockviz.sampling.run import sample

__version__ = "0.1.0"
__all__ = ["__version__", "load", "open_model", "sample"]

_HOME = {
    "load": "blockviz.models.checkpoint",
    "open_model": "blockviz.models.released",
    "sample": "blockviz.sampling.run",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
