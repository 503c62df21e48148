"""What a sampler costs: network calls, queries and keys, and wall time, against the whole canvas at once and AR.

Everything is counted where the network is called and timed in one process, the samplers taking turns, so that the
ratios say something about the samplers rather than about the machine. No formula is used.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from torch import Tensor

from blockviz.diffusion.draws import GeneratorDraws
from blockviz.models.block_dit import KVCache
from blockviz.models.checkpoint import Model
from blockviz.sampling.denoiser import Denoiser, work_device
from blockviz.sampling.prompts import read_prompt
from blockviz.sampling.run import passes, prepare
from blockviz.sampling.settings import MAX_STEPS, SamplerSettings, SettingsError, applies, validate

ROUNDS = 5
GRID_STEPS = (1, 2, 4, 8, 16, 32)
GRID_BLOCKS = (4, 8, 16, 32)


@dataclass(frozen=True)
class Cost:
    """One run to the end of the canvas: `tokens` written, `calls` of the network (`verify` of them verifications).

    `queries` are the tokens that the network computed, `pairs` the queries times the keys that stood before each of
    their calls (cached ones included), which is the work of attention. `milliseconds` is the median over rounds.
    """

    name: str
    settings: dict[str, Any]
    tokens: int
    calls: int
    verify: int
    queries: int
    pairs: int
    milliseconds: float

    @property
    def per_token(self) -> float:
        """Milliseconds per token written."""
        return self.milliseconds / self.tokens


class _Counting(Denoiser):
    """A denoiser that counts what it gives to the network."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.queries = self.pairs = 0
        net = self.net

        def counted(
            tokens: Tensor,
            positions: Tensor,
            mask: Any = None,
            cache: KVCache | None = None,
            *rest: Any,
            **named: Any,
        ) -> Tensor:
            keys = tokens.shape[1] + (0 if cache is None else cache.length)
            self.queries += tokens.shape[1]
            self.pairs += tokens.shape[1] * keys
            out: Tensor = net(tokens, positions, mask, cache, *rest, **named)
            return out

        self.net = counted  # type: ignore[assignment]  # called as the network is


def rivals(settings: SamplerSettings, free: int) -> dict[str, SamplerSettings]:
    """The sampler asked for, the same over the whole canvas at once, and AR; all to the end of the canvas.

    The canvas at once reveals as many tokens in a pass as the blocks do on average, for `free` tokens to write.
    """
    asked = replace(settings, fill_canvas=True)
    found = {"asked": asked}
    if settings.predictor != "autoregressive":
        if settings.context != "canvas":
            steps = settings.steps
            if applies("steps", settings):
                steps = min(MAX_STEPS, max(1, round(free * settings.steps / settings.block_size)))
            found["canvas"] = replace(asked, context="canvas", seams="none", steps=steps, ar_prefix=0)
        found["ar"] = replace(asked, predictor="autoregressive", corrector="none")
    return found


def measure(
    model: Model,
    settings: SamplerSettings,
    prompt: str,
    *,
    rounds: int = ROUNDS,
    progress: Callable[[float], None] | None = None,
) -> list[Cost]:
    """The costs of `rivals(settings)`, timed over `rounds` rounds in which they take turns.

    Raises as `sample` for bad input.
    """
    return costs(model, rivals_of(model, settings, prompt), prompt, rounds=rounds, progress=progress)


def rivals_of(model: Model, settings: SamplerSettings, prompt: str) -> dict[str, SamplerSettings]:
    """The `rivals` for this prompt on the model's canvas."""
    given = read_prompt(prompt, model.tokens, settings.length or model.info.length, model.info.end_id)
    return rivals(settings, given.length - sum(token is not None for token in given.tokens))


def grid(
    model: Model,
    settings: SamplerSettings,
    prompt: str,
    *,
    blocks: Sequence[int] = GRID_BLOCKS,
    steps: Sequence[int] = GRID_STEPS,
    rounds: int = 3,
    progress: Callable[[float], None] | None = None,
) -> list[Cost]:
    """Costs of AR and of every block size with every number of steps, under otherwise equal settings.

    Raises SettingsError for a sampler whose steps are not set, else as `sample`.
    """
    cells = cells_of(settings, settings.length or model.info.length, blocks, steps)
    return costs(model, cells, prompt, rounds=rounds, progress=progress)


def cells_of(
    settings: SamplerSettings,
    length: int,
    blocks: Sequence[int] = GRID_BLOCKS,
    steps: Sequence[int] = GRID_STEPS,
) -> dict[str, SamplerSettings]:
    """The samplers of `grid` on a canvas of `length` positions, named "ar" and "block size/steps"; raises as that."""
    if not applies("steps", settings) or not applies("block_size", settings):
        raise SettingsError(
            "predictor", settings.predictor, "a sampler with a block size and steps per block"
        )
    asked = replace(settings, fill_canvas=True)
    cells = {"ar": replace(asked, predictor="autoregressive", corrector="none")}
    for size in (*(size for size in blocks if size < length), length):
        for count in steps:
            cell = replace(
                asked, block_size=size, steps=count, seams=asked.seams if size < length else "none"
            )
            cells[f"{size}/{count}"] = cell
    return cells


def costs(
    model: Model,
    samplers: dict[str, SamplerSettings],
    prompt: str,
    *,
    rounds: int,
    progress: Callable[[float], None] | None = None,
) -> list[Cost]:
    """One `Cost` per sampler by name; every round runs each of them once, after one round that is not timed."""
    meter = Meter(model, samplers, prompt, rounds)
    for _ in meter.runs():
        if progress is not None:
            progress(1)
    return meter.costs()


class Meter:
    """The measurement of `costs`, one run at a time, so that others can have the device in between."""

    def __init__(self, model: Model, samplers: dict[str, SamplerSettings], prompt: str, rounds: int) -> None:
        """Raises as `sample` for bad input, before anything runs."""
        length = next(iter(samplers.values())).length or model.info.length
        for settings in samplers.values():
            validate(settings, model.info.length, model.config.x0_causal, model.info.process)
        self.model, self.samplers, self.rounds = model, samplers, rounds
        self.given = read_prompt(prompt, model.tokens, length, model.info.end_id)
        self.times: dict[str, list[float]] = {name: [] for name in samplers}
        self.counted: dict[str, _Counting] = {}

    @property
    def total(self) -> int:
        """Runs to be made."""
        return len(self.samplers) * (self.rounds + 1)

    def runs(self) -> Iterator[int]:
        """Make the runs and tell after each how many are done."""
        done = 0
        for turn in range(self.rounds + 1):
            for name, settings in self.samplers.items():
                seconds, self.counted[name] = self._run(settings)
                if turn:  # the first round warms up
                    self.times[name].append(seconds)
                done += 1
                yield done

    def _run(self, settings: SamplerSettings) -> tuple[float, _Counting]:
        draws = GeneratorDraws(settings.seed, work_device(self.model))
        given = self.given
        began = time.perf_counter()
        job = prepare(
            self.model, settings, [given.tokens], lambda active: draws, length=given.length, kind=_Counting
        )
        for _ in passes(job):
            pass
        job.canvas.cpu()  # waits for the device
        assert isinstance(job.denoiser, _Counting)
        return time.perf_counter() - began, job.denoiser

    def costs(self) -> list[Cost]:
        """What was counted and timed, once all runs are made."""
        free = self.given.length - sum(token is not None for token in self.given.tokens)
        return [
            Cost(
                name=name,
                settings=settings.to_dict(),
                tokens=free,
                calls=self.counted[name].nfe_denoise + self.counted[name].nfe_verify,
                verify=self.counted[name].nfe_verify,
                queries=self.counted[name].queries,
                pairs=self.counted[name].pairs,
                milliseconds=round(1000 * statistics.median(self.times[name]), 3),
            )
            for name, settings in self.samplers.items()
        ]


def report(model: Model, prompt: str, measured: Sequence[Cost], rounds: int) -> dict[str, Any]:
    """The measurement as plain JSON data, with what it was made of."""
    return {
        "model": model.name,
        "hash": model.content_hash,
        "process": model.info.process,
        "parameters": model.parameters,
        "device": str(model.device),
        "length": model.info.length,
        "prompt": prompt,
        "rounds": rounds,
        "costs": [asdict(cost) for cost in measured],
    }
