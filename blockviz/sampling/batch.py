"""Many sequences at once, without recording: the same loop, one generator per sequence."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blockviz.diffusion.draws import GeneratorDraws
from blockviz.models.checkpoint import Model
from blockviz.sampling.denoiser import work_device
from blockviz.sampling.job import Job, keep_rows
from blockviz.sampling.prompts import Prompt, read_prompt
from blockviz.sampling.recorder import written_text
from blockviz.sampling.run import passes, prepare
from blockviz.sampling.settings import SamplerSettings

WORTH_DROPPING = 1 / 8
"""Share of the rows that must have ended before they are taken out: what the others have cached moves up then."""


@dataclass(frozen=True)
class BatchResult:
    """The finished canvases of N prompts.

    `tokens` int64 `[N, L]` whole canvases (noise beyond `lengths`); `prompt_lengths` and `lengths` int64 `[N]` where
    the generated tokens begin and end (with the end token's block, or the canvas); `texts` what was generated, without
    the end token; `nfe_denoise` and `nfe_verify` int64 `[N]` network calls in which a row took part, which is what
    `sample` would have spent on it; `forwards` calls of the whole batch; `seconds` wall time.
    """

    tokens: NDArray[np.int64]
    texts: list[str]
    prompt_lengths: NDArray[np.int64]
    lengths: NDArray[np.int64]
    nfe_denoise: NDArray[np.int64]
    nfe_verify: NDArray[np.int64]
    forwards: int
    seconds: float


class RowsDraws:
    """One generator per row; only rows marked active draw, the others get zeros.

    The first dimension of every shape is the batch. A row therefore receives, draw by draw, what it would alone.
    """

    def __init__(self, rows: Sequence[GeneratorDraws], active: Tensor) -> None:
        self.rows = rows
        self.device = rows[0].device
        self.active = [i for i, on in enumerate(active.tolist()) if on]

    def uniform(self, *shape: int) -> Tensor:
        """float64 in [0, 1), `shape`."""
        out = torch.zeros(shape, dtype=torch.float64, device=self.device)
        for i in self.active:
            out[i] = self.rows[i].uniform(*shape[1:])
        return out

    def integers(self, high: int, *shape: int) -> Tensor:
        """int64 in 0..high - 1, `shape`."""
        out = torch.zeros(shape, dtype=torch.int64, device=self.device)
        for i in self.active:
            out[i] = self.rows[i].integers(high, *shape[1:])
        return out


def sample_batch(
    model: Model,
    prompts: Sequence[str],
    settings: SamplerSettings,
    seeds: Sequence[int],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> BatchResult:
    """Run one sequence per prompt, each with its own seed (`settings.seed` is not used).

    Row i equals `sample(model, prompts[i], settings with seed seeds[i])` up to float noise, whoever its batch mates
    are. `progress` is called with (positions finished, positions) after every event. Raises ValueError unless there
    is one seed per prompt and at least one prompt; otherwise as `sample`.
    """
    if not prompts or len(prompts) != len(seeds):
        raise ValueError(f"{len(prompts)} prompts and {len(seeds)} seeds: one seed per prompt is needed")
    began = time.perf_counter()
    canvas = settings.length or model.info.length
    read = [read_prompt(prompt, model.tokens, canvas, model.info.end_id) for prompt in prompts]
    if len({prompt.length for prompt in read}) > 1:
        raise ValueError("the prompts of a batch must have canvases of one length")
    length = read[0].length
    result = _Unfinished(len(read), length)
    finished = 0
    for chosen in _together(read, settings):
        rows = [GeneratorDraws(seeds[i], work_device(model)) for i in chosen]
        job = prepare(
            model,
            settings,
            [read[i].tokens for i in chosen],
            _draws_for(rows),
            length=length,
        )
        group = _Group(result, np.array(chosen), rows)
        job.after_segment = group.drop_finished
        for _ in passes(job):
            if progress is not None:
                progress((finished * length + job.position * len(chosen)) // len(read), length)
        group.write(job, np.ones(len(group.places), bool))
        finished += len(chosen)
        result.forwards += job.denoiser.nfe_denoise + job.denoiser.nfe_verify
    if progress is not None:
        progress(length, length)
    starts = np.array([len(prompt.leading) for prompt in read])
    texts = [
        written_text(model, row.tolist(), int(start), int(stop))
        for row, start, stop in zip(result.tokens, starts, result.lengths, strict=True)
    ]
    return BatchResult(
        tokens=result.tokens,
        texts=texts,
        prompt_lengths=starts,
        lengths=result.lengths,
        nfe_denoise=result.nfe_denoise,
        nfe_verify=result.nfe_verify,
        forwards=result.forwards,
        seconds=time.perf_counter() - began,
    )


class _Unfinished:
    """The rows of a batch as far as they are written; fields as in `BatchResult`."""

    def __init__(self, rows: int, length: int) -> None:
        self.tokens = np.zeros((rows, length), np.int64)
        self.lengths, self.nfe_denoise, self.nfe_verify = np.zeros((3, rows), np.int64)
        self.forwards = 0


class _Group:
    """Rows that share their forwards: `places` says which of the batch they are, `draws` what they draw from."""

    def __init__(self, result: _Unfinished, places: NDArray[np.int64], draws: list[GeneratorDraws]) -> None:
        self.result = result
        self.places = places
        self.draws = draws

    def write(self, job: Job, rows: NDArray[np.bool_]) -> None:
        """Put down what these rows of the job have come to."""
        here = self.places[rows]
        self.result.tokens[here] = job.canvas.cpu().numpy()[rows]
        self.result.lengths[here] = job.lengths.cpu().numpy()[rows]
        self.result.nfe_denoise[here] = job.denoiser.rows_denoise.numpy()[rows]
        self.result.nfe_verify[here] = job.denoiser.rows_verify.numpy()[rows]

    def drop_finished(self, job: Job) -> None:
        """Take the rows with an end token out of the job once they are enough to be worth moving the others."""
        done = job.done.cpu().numpy()
        if done.sum() < WORTH_DROPPING * len(done) or not done.any():
            return
        self.write(job, done)
        left = np.flatnonzero(~done)
        self.places, self.draws = self.places[left], [self.draws[row] for row in left]
        keep_rows(job, torch.from_numpy(left).to(job.canvas.device), _draws_for(self.draws))


def _draws_for(rows: Sequence[GeneratorDraws]) -> Callable[[Tensor], RowsDraws]:
    return lambda active: RowsDraws(rows, active)


def _together(prompts: Sequence[Prompt], settings: SamplerSettings) -> list[list[int]]:
    """The rows that can share their forwards: all, or on a bidirectional canvas those whose prompts end together.

    There the blocks begin where the prompt ends, and rows would not have the same ones.
    """
    if not settings.sees_canvas:
        return [list(range(len(prompts)))]
    groups: dict[int, list[int]] = {}
    for index, prompt in enumerate(prompts):
        groups.setdefault(len(prompt.leading), []).append(index)
    return list(groups.values())
