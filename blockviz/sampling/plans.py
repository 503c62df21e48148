"""Block plans: which windows of the canvas a run writes, in which order, and in which steps.

A plan is a function from settings, what may be written, and a noise schedule to segments. `run.py` walks through the
segments and asks nothing else, so that another sampler is another plan (MATHS.md, "Samplers of the sources").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from blockviz.diffusion.schedules import Schedule, alpha, alpha_pairs
from blockviz.sampling.settings import AR_SCORES, SamplerSettings


@dataclass(frozen=True)
class StepPlan:
    """One step of a segment: the noise levels around it, and whether a corrector re-noises its proposal."""

    alpha_t: float
    alpha_s: float
    guided: bool = False


@dataclass(frozen=True)
class Segment:
    """One window `start..stop`, written in `steps` by the named predictor.

    `block` is the row of the canvas that the passes belong to; `block_size` shapes the attention between clean
    tokens where that is not token-causal; `free` bool `[N, stop - start]` marks, row by row, what may be written.
    Everything before `start` is clean, and so is what stands before `keep` afterwards, in the rows marked in `rows`
    bool `[N]` or those of `free` (where `keep` is `start`, another segment finishes the window). Positions in `renoise`
    bool `[N, stop - start]` turn back to noise before the first step. `whole`: the network reads the canvas as one
    noisy stream, whatever the window is. `corrected`: a corrector acts in it where the settings have one.
    """

    start: int
    stop: int
    block: int
    block_size: int
    predictor: str
    steps: tuple[StepPlan, ...]
    free: Tensor
    keep: int
    renoise: Tensor | None = None
    rows: Tensor | None = None
    whole: bool = False
    corrected: bool = True


@dataclass(frozen=True)
class Rows:
    """How the canvas is laid out in blocks: `size` positions each, but for a first one of `origin` (0: none)."""

    size: int
    origin: int = 0

    def block_of(self, position: int) -> int:
        """The block that a position is in, counted from 0."""
        return (position - self.origin) // self.size + (self.origin > 0)


Plan = Callable[[SamplerSettings, Tensor, Schedule], list[Segment]]
"""From settings, `free` bool `[N, L]` (what is not given) and the noise schedule to the segments of a run."""


def is_guided(step: int, steps: int, warmup: int, every: int) -> bool:
    """Whether a corrector acts at `step` of `steps`: from the warm-up on, every n-th, never the last (MATHS.md, 4)."""
    return warmup <= step < steps - 1 and (step - warmup) % every == 0


def rows_of(settings: SamplerSettings, first: int, length: int) -> Rows:
    """The blocks of a canvas of `length` positions whose first position to write is `first`.

    Over a bidirectional canvas they begin there, else at position 0. Overlapping blocks advance by what they keep.
    """
    if settings.predictor == "autoregressive":
        return Rows(1)
    if settings.context == "canvas":
        return Rows(length)
    size = settings.block_size - (settings.overlap if settings.seams == "overlap" else 0)
    return Rows(size, first % size if settings.context == "bidirectional" else 0)


def free_after(prompts: list[int], length: int) -> Tensor:
    """What may be written behind prompts of these lengths on a canvas of `length` positions: bool `[N, length]`."""
    return torch.arange(length) >= torch.tensor(prompts).unsqueeze(1)


def blocks(settings: SamplerSettings, free: Tensor, schedule: Schedule) -> list[Segment]:
    """AR for the `ar_prefix` positions after the prompt, then block after block to the end of the canvas.

    Blocks are absolute (position // block_size), so a prompt or prefix may end inside one, which then continues with
    those positions fixed; over a bidirectional canvas they begin where the prompt ends, which must then be the same
    place in every row (ValueError). The last block is short where the block size does not divide the canvas.
    """
    length = free.shape[1]
    begins = first_free(free)
    bidirectional = settings.context == "bidirectional"
    if bidirectional and len(set(begins.tolist())) > 1:
        raise ValueError("on a bidirectional canvas the prompts of a batch must end at one position")
    rows = rows_of(settings, int(begins.min()), length)
    segments = []
    if settings.ar_prefix and settings.context == "causal":
        begins = (begins + settings.ar_prefix).clamp_max(length)
        prefix = free & (torch.arange(length) < begins.unsqueeze(1))
        segments, free = _tokens(prefix, schedule, rows), free & ~prefix
    size = length if settings.context == "canvas" else settings.block_size
    steps = _steps(settings, schedule, settings.steps, min(size, length))
    starts = begins if bidirectional else begins // rows.size * rows.size  # of the first window of each row
    start = int(starts.min())
    before = start  # where the window before this one stops, if there was one
    while before < length:
        stop = min(start + size, length)
        window = free[:, start:stop] & (starts <= start).unsqueeze(1)
        if bool(window.any()):
            block = rows.block_of(start)
            again = window & (torch.arange(start, stop) < before) & (starts < start).unsqueeze(1)
            keep = stop if stop == length else start + rows.size
            main = Segment(
                *(start, stop, block, settings.block_size, settings.predictor, steps, window, keep),
                renoise=again if bool(again.any()) else None,
                whole=bidirectional,
            )
            segments += _mended(settings, schedule, main, free)
        before, start = stop, start + rows.size
        if stop == length:
            break
    return segments


def _mended(settings: SamplerSettings, schedule: Schedule, main: Segment, free: Tensor) -> list[Segment]:
    """The segment, and where boundaries are written again, a further one over the boundary at its start.

    That one reaches from `seam_width` positions before the boundary to the end of the block, so that both sides see
    each other. Rows that have written nothing before the boundary have no seam.
    """
    width, boundary = settings.seam_width, main.start
    if settings.seams != "renoise" or settings.context == "canvas":
        return [main]
    start = max(boundary - width, 0)
    seam = free[:, start : main.stop] & (torch.arange(start, main.stop) < boundary + width)
    seam &= free[:, start:boundary].any(dim=1, keepdim=True)
    if not bool(seam.any()):
        return [main]
    steps = _steps(settings, schedule, settings.seam_steps, main.stop - start, corrected=False)
    rows = main.free.any(dim=1) | seam.any(dim=1)
    again = replace(main, start=start, steps=steps, free=seam, renoise=seam, rows=rows, corrected=False)
    return [replace(main, keep=boundary), again]


def _steps(
    settings: SamplerSettings, schedule: Schedule, count: int, width: int, corrected: bool = True
) -> tuple[StepPlan, ...]:
    """The steps of a window of `width` positions; a threshold needs one per position at most.

    Reveal counts are worked out when it is known how many positions are free (`predictors.py`); the levels of those
    steps are what the run finds.
    """
    if settings.predictor != "ancestral":
        return (StepPlan(0.0, 1.0),) * (width if settings.predictor == "threshold" else count)
    corrected = corrected and settings.corrector != "none"
    return tuple(
        StepPlan(alpha_t, alpha_s, corrected and is_guided(i, count, settings.warmup, settings.every))
        for i, (alpha_t, alpha_s) in enumerate(alpha_pairs(schedule, count))
    )


def most_passes(settings: SamplerSettings, segments: Sequence[Segment]) -> int:
    """How many passes a run of one sequence is recorded in at most: all of them, where no end token ends it early."""
    guided = 3 if settings.corrector in AR_SCORES else 2  # proposed, read, re-noised
    count = 1  # the start
    for segment in segments:
        steps = sum(guided if step.guided else 1 for step in segment.steps)
        if segment.predictor in ("confident", "threshold"):
            steps = min(steps, int(segment.free.sum()))  # a step that reveals nothing is left out
        opened = segment.renoise is not None
        committed = segment.keep > segment.start and segment.stop - segment.start > 1
        count += opened + steps + committed
    return count


def tokens(settings: SamplerSettings, free: Tensor, schedule: Schedule) -> list[Segment]:
    """One token after the other to the end of the canvas, one step each: the block plan of AR."""
    return _tokens(free, schedule, Rows(1))


def first_free(free: Tensor) -> Tensor:
    """The first position of each row that may be written; the length where there is none. int64 `[N]`."""
    return torch.where(free.any(dim=1), free.int().argmax(dim=1), free.shape[1])


def _tokens(free: Tensor, schedule: Schedule, rows: Rows) -> list[Segment]:
    alpha_t = float(alpha(schedule, torch.tensor(1.0, dtype=torch.float64)))
    step = (StepPlan(alpha_t, 1.0),)
    return [
        Segment(
            position,
            position + 1,
            rows.block_of(position),
            1,
            "autoregressive",
            step,
            free[:, position : position + 1],
            position + 1,
        )
        for position in free.any(dim=0).nonzero().flatten().tolist()
    ]


PLANS: dict[str, Plan] = {
    "ancestral": blocks,
    "confident": blocks,
    "threshold": blocks,
    "autoregressive": tokens,
}
"""The block plan of every choice of the setting `predictor`."""
