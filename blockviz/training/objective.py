"""The training objective: one denoiser over a mixture of block sizes (BlockGen, arXiv 2606.02241; MATHS.md).

Noise is drawn per row and block; at block size 1 it is pure noise, which makes that member of the mixture an exact
autoregressive model. The loss is chosen per block size. "ce" is the cross-entropy of the clean token: at the masked
positions, or, for uniform noise, at every position to generate. A uniform network sees the noisy token it has to
explain, but the process' formulas expect a prediction that does not count it: the loss weighs it in by Bayes' rule
(`Uniform.weigh_in`), so that the network itself learns the rest. "elbo" is the process' bound (`bounds.token_nll`).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from blockviz.diffusion.bounds import token_nll
from blockviz.diffusion.processes import Masked, Uniform
from blockviz.diffusion.schedules import Schedule, alpha, dalpha
from blockviz.models.attention import two_stream_mask
from blockviz.models.block_dit import BlockDiT
from blockviz.training.batches import EARLIEST_TIME, Streams

# End tokens after the end are learned at once and would otherwise be most of a whole-canvas row.
TAIL_WEIGHT = 0.1


@dataclass(frozen=True)
class Noised:
    """A group of rows after corruption.

    `xt` int64 `[N, T]`; `times`, the diffusion times, `alpha`, the share of clean tokens, and `weight` of the loss, all
    float32 `[N, T]`.
    """

    xt: Tensor
    times: Tensor
    alpha: Tensor
    weight: Tensor


def block_times(streams: Streams, generator: torch.Generator, exponent: float | Tensor = 1.0) -> Tensor:
    """Diffusion time of every noisy position, float32 `[N, T]`, one per block, stratified over rows; 1 at B = 1.

    The times have density k t^(k - 1) with k = `exponent` (a number, or `[N, 1]` per row): even at 1.
    """
    rows = streams.noisy.shape[0]
    index = (streams.noisy_positions + streams.shift) // streams.block_size
    index = (index - index[:, :1]).clamp(max=streams.noisy.shape[1] - 1)
    shape = (rows, streams.noisy.shape[1])
    strata = torch.rand(shape, generator=generator).argsort(dim=0)
    times = ((strata + torch.rand(shape, generator=generator)) / rows).to(index.device)
    times = (times ** (1 / exponent)).clamp(min=EARLIEST_TIME).gather(1, index)
    return torch.where(streams.block_size == 1, torch.ones_like(times), times)


def corrupt(
    streams: Streams,
    process: Masked | Uniform,
    schedule: Schedule,
    times: Tensor,
    generator: torch.Generator,
    elbo: Tensor | None = None,
) -> Noised:
    """Noise the positions to generate at `times`; prompts stay clean, and t = 1 at block size 1 is pure noise.

    `elbo` bool `[N, 1]` marks the rows whose loss is the bound, which counts every position to generate.
    """
    device = streams.noisy.device
    keep = torch.where(streams.block_size == 1, torch.zeros_like(times), alpha(schedule, times))
    noise = torch.rand(times.shape, generator=generator).to(device) >= keep
    noise &= streams.target
    if isinstance(process, Masked):
        replacement = torch.full_like(streams.noisy, process.mask_id)
        counted = noise if elbo is None else torch.where(elbo, streams.target, noise)
    else:
        replacement = torch.randint(process.vocab_size, times.shape, generator=generator).to(device)
        counted = streams.target
    weight = torch.where(streams.tail, counted * TAIL_WEIGHT, counted.float())
    return Noised(torch.where(noise, replacement, streams.noisy), times, keep, weight)


def predict(net: BlockDiT, streams: Streams, xt: Tensor) -> Tensor:
    """Float32 logits `[N, T, V]` of the noisy stream `xt` given the clean one."""
    mask = two_stream_mask(
        streams.clean_positions + streams.shift,
        streams.noisy_positions + streams.shift,
        streams.block_size[:, :, None],
        net.config.x0_causal,
    )
    return net(
        torch.cat([streams.clean, xt], dim=1),
        torch.cat([streams.clean_positions, streams.noisy_positions], dim=1),
        mask,
        first_output=streams.clean.shape[1],
    ).float()


def cross_entropy(logits: Tensor, streams: Streams, noised: Noised, process: Masked | Uniform) -> Tensor:
    """Cross-entropy in nats of the clean token at every noisy position, float32 `[N, T]`; MASK is never predicted."""
    if isinstance(process, Masked):
        logits = _without_mask(logits, process)
    else:
        logits = process.weigh_in(logits, noised.xt, noised.alpha)
    flat = F.cross_entropy(logits.flatten(0, 1), streams.noisy.flatten(), reduction="none")
    return flat.view(streams.noisy.shape)


def bound(
    logits: Tensor, streams: Streams, noised: Noised, process: Masked | Uniform, schedule: Schedule
) -> Tensor:
    """NLL bound of the process in nats at every noisy position, float32 `[N, T]`: exact at B = 1, else the ELBO."""
    if isinstance(process, Masked):
        logits = _without_mask(logits, process)
    return token_nll(
        process,
        F.log_softmax(logits, dim=-1),
        streams.noisy,
        noised.xt,
        alpha(schedule, noised.times),
        dalpha(schedule, noised.times),
        streams.block_size,
    )


def weighted_loss(
    logits: Tensor,
    streams: Streams,
    noised: Noised,
    process: Masked | Uniform,
    schedule: Schedule,
    elbo: Tensor,
) -> Tensor:
    """What training lowers, times its weight, at every noisy position: float32 `[N, T]`; `elbo` bool `[N, 1]`."""
    if not bool(elbo.any()):
        return cross_entropy(logits, streams, noised, process) * noised.weight
    loss = torch.where(
        elbo,
        bound(logits, streams, noised, process, schedule),
        cross_entropy(logits, streams, noised, process),
    )
    return loss * noised.weight


def _without_mask(logits: Tensor, process: Masked) -> Tensor:
    return logits.index_fill(-1, torch.tensor([process.mask_id], device=logits.device), -torch.inf)
