"""BlockViz: watch a blockwise discrete-diffusion language model write.

`load` gives a model, `sample` and `stream` run it, `Trace` is what a run leaves behind. Each is imported when it is
first asked for, so that reading a trace needs no PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blockviz.models.checkpoint import list_models, load
    from blockviz.sampling.run import sample, sample_batch, stream
    from blockviz.sampling.settings import SamplerSettings
    from blockviz.sampling.trace import Trace

__all__ = ["SamplerSettings", "Trace", "list_models", "load", "sample", "sample_batch", "stream"]

_HOMES = {
    "SamplerSettings": "blockviz.sampling.settings",
    "Trace": "blockviz.sampling.trace",
    "list_models": "blockviz.models.checkpoint",
    "load": "blockviz.models.checkpoint",
    "sample": "blockviz.sampling.run",
    "sample_batch": "blockviz.sampling.run",
    "stream": "blockviz.sampling.run",
}


def __getattr__(name: str) -> Any:
    """The public name from the module that defines it (PEP 562); raises AttributeError for any other name."""
    if name not in _HOMES:
        raise AttributeError(f"module 'blockviz' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
