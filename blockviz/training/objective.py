"""The training objective: one denoiser over a mixture of block sizes (BlockGen, arXiv 2606.02241; MATHS.md).

Noise is drawn per row and block; at block size 1 it is pure noise, which makes that member of the mixture an exact
autoregressive model. The loss is the cross-entropy of the clean token: at the masked positions, or, for uniform
noise, at every position to generate. A uniform network sees the noisy token it has to explain, but the process'
formulas expect a prediction that does not count it: the loss weighs it in by Bayes' rule (`Uniform.weigh_in`), so
that the network itself learns the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from blockviz.diffusion.processes import Masked, Uniform
from blockviz.diffusion.schedules import Schedule, alpha
from blockviz.models.attention import two_stream_mask
from blockviz.models.block_dit import BlockDiT
from blockviz.training.batches import Streams

# End tokens after the end are learned at once and would otherwise be most of a whole-canvas row.
TAIL_WEIGHT = 0.1
# At t = 0 nothing is noise, and the evidence of a token for itself is infinite.
EARLIEST_TIME = 1e-4


@dataclass(frozen=True)
class Noised:
    """A group of rows after corruption: `xt` int64 `[N, T]`; `alpha`, the share of clean tokens, and `weight` of the

    loss, both float32 `[N, T]`.
    """

    xt: Tensor
    alpha: Tensor
    weight: Tensor


def block_times(streams: Streams, generator: torch.Generator) -> Tensor:
    """Diffusion time of every noisy position, float32 `[N, T]`: uniform per block, stratified over rows, 1 at B = 1."""
    rows = streams.noisy.shape[0]
    index = streams.noisy_positions // streams.block_size
    index = (index - index[:, :1]).clamp(max=streams.noisy.shape[1] - 1)
    shape = (rows, streams.noisy.shape[1])
    strata = torch.rand(shape, generator=generator).argsort(dim=0)
    times = ((strata + torch.rand(shape, generator=generator)) / rows).clamp(min=EARLIEST_TIME)
    times = times.to(index.device).gather(1, index)
    return torch.where(streams.block_size == 1, torch.ones_like(times), times)


def corrupt(
    streams: Streams, process: Masked | Uniform, schedule: Schedule, times: Tensor, generator: torch.Generator
) -> Noised:
    """Noise the positions to generate at `times`; prompts stay clean, and t = 1 at block size 1 is pure noise."""
    device = streams.noisy.device
    keep = torch.where(streams.block_size == 1, torch.zeros_like(times), alpha(schedule, times))
    noise = torch.rand(times.shape, generator=generator).to(device) >= keep
    noise &= streams.target
    if isinstance(process, Masked):
        replacement = torch.full_like(streams.noisy, process.mask_id)
        weight = noise.float()
    else:
        replacement = torch.randint(process.vocab_size, times.shape, generator=generator).to(device)
        weight = streams.target.float()
    weight = torch.where(streams.tail, weight * TAIL_WEIGHT, weight)
    return Noised(torch.where(noise, replacement, streams.noisy), keep, weight)


def predict(net: BlockDiT, streams: Streams, xt: Tensor) -> Tensor:
    """Float32 logits `[N, T, V]` of the noisy stream `xt` given the clean one."""
    block_size = streams.block_size[:, :, None]
    mask = two_stream_mask(streams.clean_positions, streams.noisy_positions, block_size, net.config.x0_causal)
    return net(
        torch.cat([streams.clean, xt], dim=1),
        torch.cat([streams.clean_positions, streams.noisy_positions], dim=1),
        mask,
        first_output=streams.clean.shape[1],
    ).float()


def cross_entropy(logits: Tensor, streams: Streams, noised: Noised, process: Masked | Uniform) -> Tensor:
    """Cross-entropy in nats of the clean token at every noisy position, float32 `[N, T]`; MASK is never predicted."""
    if isinstance(process, Masked):
        logits = logits.index_fill(-1, torch.tensor([process.mask_id], device=logits.device), -torch.inf)
    else:
        logits = process.weigh_in(logits, noised.xt, noised.alpha)
    flat = F.cross_entropy(logits.flatten(0, 1), streams.noisy.flatten(), reduction="none")
    return flat.view(streams.noisy.shape)
