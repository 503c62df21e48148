"""What a sampler costs: network calls, queries and keys, and wall time, against the whole canvas at once and AR.

Everything is counted where the network is called and timed in one process, the samplers taking turns, so that the
ratios say something about the samplers rather than about the machine. No formula is used.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from torch import Tensor

from blockviz.diffusion.draws import Draws, GeneratorDraws
from blockviz.models.block_dit import KVCache
from blockviz.models.checkpoint import Model
from blockviz.sampling.denoiser import Denoiser, work_device
from blockviz.sampling.prompts import read_prompt
from blockviz.sampling.run import DrawsFor, passes, prepare
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
    length = settings.length or model.info.length
    given = read_prompt(prompt, model.tokens, length, model.info.end_id)
    free = given.length - sum(token is not None for token in given.tokens)
    return costs(model, rivals(settings, free), prompt, rounds=rounds, progress=progress)


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
    if not applies("steps", settings) or not applies("block_size", settings):
        raise SettingsError(
            "predictor", settings.predictor, "a sampler with a block size and steps per block"
        )
    asked = replace(settings, fill_canvas=True)
    length = settings.length or model.info.length
    cells = {"ar": replace(asked, predictor="autoregressive", corrector="none")}
    for size in (*(size for size in blocks if size < length), length):
        for count in steps:
            cell = replace(
                asked, block_size=size, steps=count, seams=asked.seams if size < length else "none"
            )
            cells[f"{size}/{count}"] = cell
    return costs(model, cells, prompt, rounds=rounds, progress=progress)


def costs(
    model: Model,
    samplers: dict[str, SamplerSettings],
    prompt: str,
    *,
    rounds: int,
    progress: Callable[[float], None] | None = None,
) -> list[Cost]:
    """One `Cost` per sampler by name; every round runs each of them once, after one round that is not timed."""
    length = next(iter(samplers.values())).length or model.info.length
    given = read_prompt(prompt, model.tokens, length, model.info.end_id)
    for settings in samplers.values():
        validate(settings, model.info.length, model.config.x0_causal, model.info.process)
    times: dict[str, list[float]] = {name: [] for name in samplers}
    counted: dict[str, _Counting] = {}
    for turn in range(rounds + 1):
        for name, settings in samplers.items():
            draws = GeneratorDraws(settings.seed, work_device(model))
            began = time.perf_counter()
            job = prepare(
                model, settings, [given.tokens], _always(draws), length=given.length, kind=_Counting
            )
            for _ in passes(job):
                pass
            job.canvas.cpu()  # waits for the device
            if turn:
                times[name].append(time.perf_counter() - began)
            assert isinstance(job.denoiser, _Counting)
            counted[name] = job.denoiser
            if progress is not None:
                progress(1)
    free = given.length - sum(token is not None for token in given.tokens)
    return [
        Cost(
            name=name,
            settings=settings.to_dict(),
            tokens=free,
            calls=counted[name].nfe_denoise + counted[name].nfe_verify,
            verify=counted[name].nfe_verify,
            queries=counted[name].queries,
            pairs=counted[name].pairs,
            milliseconds=round(1000 * statistics.median(times[name]), 3),
        )
        for name, settings in samplers.items()
    ]


def _always(draws: Draws) -> DrawsFor:
    return lambda active: draws


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
