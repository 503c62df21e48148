"""The training loop.

One process or several (`torchrun`): every process takes its share of each step's rows and the gradients are summed,
so the number of processes does not change what is learned. Everything random depends on the recipe's seed and the
step alone, which makes a resumed run the same as an uninterrupted one.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from tqdm import tqdm

from blockviz.diffusion.processes import Masked, Uniform
from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.models.checkpoint import ModelInfo, save
from blockviz.models.decoder import network
from blockviz.training.batches import Example
from blockviz.training.corpus import Corpus, open_corpus
from blockviz.training.curriculum import LEVELS, count_levels
from blockviz.training.objective import predict, weighted_loss
from blockviz.training.optimiser import Optimiser
from blockviz.training.preparation import block_sizes, prepare
from blockviz.training.recipes import Recipe
from blockviz.training.run_plots import plot_losses, plot_noise
from blockviz.training.runfiles import (
    LOSSES,
    NOISE,
    VALIDATION,
    Log,
    RunError,
    load_state,
    save_state,
)
from blockviz.training.starting import Start, fit_state, fit_vocabulary, start_of
from blockviz.training.text_source import TextSource
from blockviz.training.validation import Validation, validate


@dataclass(frozen=True)
class Place:
    """Where a process stands: its rank among `world` processes and its device."""

    rank: int
    world: int
    device: torch.device


@dataclass(frozen=True)
class StepResult:
    """Figures of one optimiser step over all processes: mean loss in nats, per block size, and tokens seen.

    `levels` counts the positions with a loss by their noise level, block size 1 apart (`curriculum.count_levels`).
    """

    loss: float
    by_block_size: dict[int, float]
    tokens: int
    gradient_norm: float
    levels: list[int]


class Trainer:
    """A training run in one process: network, optimiser, corpus, and the step counter."""

    def __init__(
        self,
        recipe: Recipe,
        place: Place,
        autocast: bool = True,
        start: Start | None = None,
        corpus: Corpus | None = None,
    ) -> None:
        self.recipe = recipe
        self.place = place
        self.autocast = autocast
        self.corpus = corpus if corpus is not None else open_corpus(recipe)
        self.tokens = self.corpus.tokens
        shape = start.shape if start is not None else None
        size = self.tokens.vocab_size if shape is None else shape.vocab_size
        self.process: Masked | Uniform = (
            Masked(size + 1, size) if recipe.process == "masked" else Uniform(size)
        )
        if shape is None:
            shape = NetworkConfig(
                hidden_size=recipe.hidden_size,
                n_blocks=recipe.n_blocks,
                n_heads=recipe.n_heads,
                length=recipe.canvas,
                vocab_size=size,
            )
        self.net = network(replace(shape, vocab_size=self.process.vocab_size))
        self.net.initialise(torch.Generator().manual_seed(recipe.seed))
        if start is not None:
            self.net.load_state_dict(fit_vocabulary(start.weights, self.process.vocab_size), strict=False)
        self.net.to(place.device).train()
        self.optimiser = Optimiser(self.net, recipe)
        if start is not None and start.state is not None:
            self.optimiser.restore(fit_state(start.state, self.process.vocab_size))
        self.step = 0
        self.seconds = 0.0

    @property
    def end_id(self) -> int:
        """The end token, with which rows are filled up."""
        assert self.tokens.end_id is not None
        return self.tokens.end_id

    def train_step(self) -> StepResult:
        """Run one optimiser step; all processes call it together."""
        recipe, place = self.recipe, self.place
        examples = self.corpus.batch(self.step)
        sizes = block_sizes(recipe, self.step, len(examples))
        mine = range(place.rank, len(examples), place.world)
        prepared = prepare(
            recipe,
            self.process,
            self.step,
            place.rank,
            [examples[i] for i in mine],
            [sizes[i] for i in mine],
            self.end_id,
            place.device,
        )
        weight = self._sum(torch.stack([group.noised.weight.sum() for group in prepared]).sum())
        levels = torch.zeros(LEVELS, dtype=torch.float64)
        # On the CPU, since not every device has float64.
        sums = torch.zeros(2, len(recipe.block_sizes), dtype=torch.float64)
        tokens = 0
        for group in prepared:
            streams, noised = group.streams, group.noised
            with self._precision():
                logits = predict(self.net, streams, noised.xt)
            loss = weighted_loss(logits, streams, noised, self.process, recipe.schedule, group.elbo)
            (loss.sum() / weight).backward()
            row_sizes = streams.block_size.flatten().tolist()
            columns = torch.tensor([recipe.block_sizes.index(size) for size in row_sizes])
            sums[0].index_add_(0, columns, loss.detach().sum(dim=1).cpu().double())
            sums[1].index_add_(0, columns, noised.weight.sum(dim=1).cpu().double())
            tokens += streams.clean.numel() + streams.noisy.numel()
            levels += count_levels(noised.alpha, streams.target & (streams.block_size > 1))
        self._reduce_gradients()
        sums, levels = self._sum_of_figures(sums), self._sum_of_figures(levels)
        norm = self.optimiser.step(self.step)
        self.step += 1
        by_size = {
            size: (sums[0, i] / sums[1, i]).item()
            for i, size in enumerate(recipe.block_sizes)
            if sums[1, i] > 0
        }
        return StepResult(
            (sums[0].sum() / sums[1].sum()).item(),
            by_size,
            tokens * place.world,
            norm,
            [int(count) for count in levels],
        )

    def validate(self, examples: list[Example]) -> Validation:
        """Validate the averaged weights."""
        with self.averaged():
            return validate(self.net, self.process, self.recipe, examples, self.end_id)

    @contextlib.contextmanager
    def averaged(self) -> Iterator[BlockDiT]:
        """The network with its averaged weights and in evaluation mode, for as long as the context lasts."""
        live = {name: p.detach().clone() for name, p in self.net.named_parameters()}
        self.net.load_state_dict(self.optimiser.average, strict=False)
        self.net.eval()
        try:
            yield self.net
        finally:
            self.net.load_state_dict(live, strict=False)
            self.net.train()

    def export(self, folder: Path, figures: dict[str, Any]) -> Path:
        """Write the averaged weights as a checkpoint folder with the figures of the run."""
        recipe = self.recipe
        info = ModelInfo(
            process=recipe.process,
            vocab_size=self.process.vocab_size,
            mask_id=self.process.mask_id if isinstance(self.process, Masked) else None,
            end_id=self.end_id,
            pad_id=None,
            length=recipe.canvas,
            block_sizes=recipe.block_sizes,
            block_weights=recipe.stages[-1].block_weights,
            schedule=recipe.schedule,
            task=None if recipe.from_decoder else recipe.corpus,
            training={
                "recipe": recipe.name,
                "steps": self.step,
                "sequences": self.step * recipe.batch,
                "seconds": round(self.seconds),
                "parameters": sum(p.numel() for p in self.net.parameters()),
                **figures,
            },
        )
        with self.averaged() as net:
            return save(folder, net, info, self.tokens)

    def _precision(self) -> torch.autocast:
        return torch.autocast(self.place.device.type, torch.bfloat16, enabled=self.autocast)

    def _sum(self, value: torch.Tensor) -> torch.Tensor:
        if self.place.world > 1:
            dist.all_reduce(value)
        return value

    def _sum_of_figures(self, value: torch.Tensor) -> torch.Tensor:
        """The sum over all processes of float64 figures that are on the CPU; NCCL adds on the device alone."""
        if self.place.world == 1:
            return value
        return self._sum(value.to(self.place.device)).cpu()

    def _reduce_gradients(self) -> None:
        if self.place.world == 1:
            return
        # A process whose few rows had no loss in some layer still takes part in the sum.
        gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in self.net.parameters()]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        for parameter, part in zip(
            self.net.parameters(), flat.split([p.numel() for p in gradients]), strict=True
        ):
            parameter.grad = part.view_as(parameter)


def train(
    recipe: Recipe,
    run: Path,
    place: Place,
    *,
    source: TextSource | None = None,
    decoder: Path | None = None,
    resume: bool = False,
    until: int | None = None,
    validate_every: int = 500,
    save_every: int = 250,
    save_seconds: float = 600,
    asked_to_stop: Callable[[], bool] = bool,
    validation_rows: int | None = None,
    autocast: bool = True,
) -> Trainer:
    """Run a recipe to its end (or to step `until`) with its files in `run`; returns the trainer.

    The state is saved every `save_every` steps, `save_seconds` after the last time at the latest, and before the run is
    left early because `asked_to_stop` (one process only) says so. What it starts from is `start_of`'s matter. Raises
    RunError when a run that is to be resumed or started from is not there, was made with another recipe, or has not
    ended.
    """
    start = start_of(recipe, run, decoder) if recipe.from_decoder or not resume else None
    corpus = open_corpus(recipe, run, source, start.tokens if start is not None else None)
    trainer = Trainer(recipe, place, autocast, start, corpus)
    if resume:
        tensors, progress = load_state(run, recipe)
        if progress.get("text", "") != corpus.fingerprint:
            raise RunError(f"the run in {run} was made with another text")
        trainer.optimiser.restore(tensors)
        trainer.step, trainer.seconds = progress["step"], progress["seconds"]
    run.mkdir(parents=True, exist_ok=True)
    lead = place.rank == 0
    losses = Log(run / LOSSES, trainer.step) if lead else None
    bounds = Log(run / VALIDATION, trainer.step) if lead else None
    noise = Log(run / NOISE, trainer.step) if lead else None
    held_out = corpus.validation(recipe.validation_rows if validation_rows is None else validation_rows)
    stop = min(recipe.steps, until if until is not None else recipe.steps)
    bar = tqdm(total=recipe.steps, initial=trainer.step, disable=not lead, desc=recipe.name, mininterval=5)
    # On a CPU what counts is the time spent computing, not that in which others had the machine.
    clock = time.process_time if place.device.type == "cpu" else time.monotonic
    started = clock() - trainer.seconds
    saved, leaving = time.monotonic(), False
    while trainer.step < stop and not leaving:
        result = trainer.train_step()
        trainer.seconds = clock() - started
        done, leaving = trainer.step == stop, place.world == 1 and asked_to_stop()
        if losses is not None and bounds is not None and noise is not None:
            noise.add({"step": trainer.step} | {f"level {i}": n for i, n in enumerate(result.levels)})
            losses.add(_loss_row(trainer, result))
            bar.update()
            bar.set_postfix(loss=f"{result.loss:.3f}", refresh=False)
            if trainer.step % validate_every == 0 or done:
                bounds.add(_validation_row(trainer.step, trainer.validate(held_out)))
            late = time.monotonic() - saved > save_seconds
            if trainer.step % save_every == 0 or done or leaving or late:
                saved = time.monotonic()
                progress = {
                    "step": trainer.step,
                    "seconds": trainer.seconds,
                    "device": place.device.type,
                    "text": corpus.fingerprint,
                }
                save_state(run, trainer.optimiser.state(), recipe, progress)
    bar.close()
    if lead and trainer.step:
        plot_losses(run)
        plot_noise(run)
    return trainer


def _loss_row(trainer: Trainer, result: StepResult) -> dict[str, float | int | None]:
    stage, offset = trainer.recipe.stage_at(trainer.step - 1)
    row: dict[str, float | int | None] = {
        "step": trainer.step,
        "seconds": round(trainer.seconds, 2),
        "tokens": result.tokens,
        "rate": stage.rate_factor(offset),
        "gradient_norm": result.gradient_norm,
        "loss": result.loss,
    }
    for size in trainer.recipe.block_sizes:
        row[f"loss B={size}"] = result.by_block_size.get(size)
    return row


def _validation_row(step: int, validation: Validation) -> dict[str, float | int | None]:
    row: dict[str, float | int | None] = {"step": step}
    row |= {f"nll B={size}": value for size, value in validation.nll.items()}
    return row | {
        "log-sum-exp bound": validation.log_sum_exp,
        "jensen bound": validation.jensen,
        "ar_exact": validation.ar_exact,
    }
