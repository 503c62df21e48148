"""A run as it stood after one of its passes, without asking the network again for what is known."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import torch
from torch import Tensor

from blockviz.diffusion.draws import GeneratorDraws
from blockviz.sampling.denoiser import Call, Denoiser
from blockviz.sampling.job import Event, Job
from blockviz.sampling.recorder import Recorder


class Rewinder(Denoiser):
    """A denoiser that, until it is `live`, asks the network only for what the KV cache needs.

    It counts calls as they were counted when they were made; `rebuilt` counts those made again.
    """

    live = False
    rebuilt = 0

    def denoise(
        self, canvas: Tensor, start: int, stop: int, block_size: int, active: Tensor, whole: bool = False
    ) -> tuple[Tensor, Call]:
        """As `Denoiser.denoise`; even log-probabilities where no answer is needed."""
        if self.live or (self.cache is not None and self.cache.length < start):
            self.rebuilt += not self.live
            return super().denoise(canvas, start, stop, block_size, active, whole)
        self.nfe_denoise += 1
        return self._nothing(canvas, stop - start), Call(0 if whole else start, 0)

    def verify(
        self, canvas: Tensor, proposal: Tensor, noise: Tensor, start: int, active: Tensor
    ) -> tuple[Tensor, Call]:
        """As `Denoiser.verify`; even log-probabilities where no answer is needed."""
        if self.live:
            return super().verify(canvas, proposal, noise, start, active)
        self.nfe_verify += 1
        return self._nothing(canvas, proposal.shape[1]), Call(start, 0)

    def forget_from(self, position: int) -> None:
        """The clean tokens from `position` on have changed: the next call computes their keys and values again."""
        if self.cache is not None and self.cache.length > position:
            self.cache.truncate(position)

    def _nothing(self, canvas: Tensor, width: int) -> Tensor:
        vocabulary = self.net.config.vocab_size
        return torch.zeros(canvas.shape[0], width, vocabulary, device=self.device)


class SeedDraws:
    """The draws of a run, whose seed may change on the way."""

    def __init__(self, seed: int, device: torch.device) -> None:
        self.device = device
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Draw from here on as a run of that seed does from its beginning."""
        source = GeneratorDraws(seed, self.device)
        self.uniform, self.integers = source.uniform, source.integers


@dataclass
class Point:
    """A run as it stood after one of its passes, ready to go on: `event` was the last one, None at the beginning."""

    job: Job
    denoiser: Rewinder
    draws: SeedDraws
    events: Generator[Event, None, None]
    recorder: Recorder
    event: Event | None = None
    recording: bool = False
