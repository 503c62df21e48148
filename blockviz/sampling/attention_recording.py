"""Recording what the active block attends to: which layer and heads, how much that takes, and the codes of the weights.

The window's queries are recorded over canvas positions 0 .. stop-1, one layout for every phase. While denoising these
are the keys of the call: the clean context (cached or not), then the window. In a verification noise token i reads the
context, the proposal before i and itself: what it gives itself stands at its own position.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from blockviz.models.block_dit import NetworkConfig
from blockviz.models.layer import AttentionRequest
from blockviz.sampling.passes import ATTENTION_STEPS, MAX_ATTENTION_CALL, MAX_ATTENTION_RUN
from blockviz.sampling.plans import PLANS, free_after
from blockviz.sampling.settings import AR_SCORES, SamplerSettings, SettingsError


@dataclass(frozen=True)
class AttentionRecording:
    """What to record: `layer` counts from 0; `each_head` keeps every head, else their average."""

    layer: int
    each_head: bool

    def request(self, queries: int) -> AttentionRequest:
        """What to ask the network for, in a call whose last `queries` tokens are those of the window."""
        return AttentionRequest(self.layer, queries)

    def of_denoising(self, request: AttentionRequest) -> Tensor:
        """Codes uint8 `[heads, W, stop]` of a call over [context | window] of one sequence."""
        return self._codes(_weights(request))

    def of_verification(self, request: AttentionRequest) -> Tensor:
        """Codes uint8 `[heads, W, stop]` of a call over [context | proposal | noise tokens] of one sequence."""
        weights, count = _weights(request), request.queries
        # Noise token i may read neither the proposal at i nor another noise token, so nothing is lost by adding.
        canvas = weights[..., :-count].clone()
        itself = weights[..., -count:].diagonal(dim1=-2, dim2=-1)
        canvas[..., -count:].diagonal(dim1=-2, dim2=-1).add_(itself)
        return self._codes(canvas)

    def _codes(self, weights: Tensor) -> Tensor:
        kept = weights if self.each_head else weights.mean(dim=0, keepdim=True)
        return (kept.sqrt() * ATTENTION_STEPS).round().to(torch.uint8).cpu()


def _weights(request: AttentionRequest) -> Tensor:
    if request.weights is None:
        raise ValueError("the network did not answer the request for attention weights")
    return request.weights[0]


def recording_of(
    settings: SamplerSettings, config: NetworkConfig, prompt_length: int, length: int
) -> AttentionRecording | None:
    """What these settings record of a network's run on a canvas of `length` positions; None where nothing.

    Raises SettingsError for a layer that the network does not have, and for weights that a trace cannot hold.
    """
    kept = settings.record_attention
    if kept == "none":
        return None
    if settings.attention_layer > config.n_blocks:
        raise SettingsError(
            "attention_layer",
            settings.attention_layer,
            f"at most {config.n_blocks}, the layers of this model",
        )
    run, call = recorded_bytes(settings, config.n_heads, prompt_length, length)
    if run > MAX_ATTENTION_RUN or call > MAX_ATTENTION_CALL:
        raise SettingsError(
            "record_attention",
            kept,
            f"what takes at most {_megabytes(MAX_ATTENTION_RUN)} a run and {_megabytes(MAX_ATTENTION_CALL)} a network "
            f"call (this would take up to {_megabytes(run)} and {_megabytes(call)}): the average of the heads, a "
            "shorter canvas, smaller blocks or fewer steps",
        )
    return AttentionRecording((settings.attention_layer or config.n_blocks) - 1, kept == "heads")


def recorded_bytes(settings: SamplerSettings, heads: int, prompt_length: int, length: int) -> tuple[int, int]:
    """Bytes of attention codes that a run may record at most: of the whole run, and of its largest network call.

    One byte per query of the window, key up to its end and recorded head, in every call, to the end of the canvas.
    """
    kept = {"none": 0, "mean": 1, "heads": heads}[settings.record_attention]
    run = call = 0
    for segment in PLANS[settings.predictor](settings, free_after([prompt_length], length), "log-linear"):
        one = kept * (segment.stop - segment.start) * (length if segment.whole else segment.stop)
        verifying = settings.corrector in AR_SCORES
        run += one * sum(2 if step.guided and verifying else 1 for step in segment.steps)
        call = max(call, one)
    return run, call


def _megabytes(count: int) -> str:
    return f"{count / 2**20:.1f} MiB"
