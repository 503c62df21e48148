"""The training command: `python -m blockviz train RECIPE`, alone or under `torchrun`."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch
import torch.distributed as dist

from blockviz.base.command_line import (
    Parser,
    any_path,
    device,
    folder,
    folder_to_make,
    in_options,
    number,
    sentence,
    whole,
)
from blockviz.models.checkpoint import CheckpointError, pick_device
from blockviz.training.loop import Place, train
from blockviz.training.recipes import RECIPES
from blockviz.training.runfiles import RunError
from blockviz.training.starting import history
from blockviz.training.text_source import TextSource

OUT = Path("runs/checkpoints")
"""Not the folder of the bundled models, whose names the recipes share."""
MAX_STEPS = 10_000_000
MAX_BATCH = 4096
MAX_SEED = 2**31 - 1
MAX_THREADS = 1024
MAX_TEXTS = 100_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments: `python -m blockviz train RECIPE ...`."""
    parser.add_argument("recipe", choices=sorted(RECIPES), help="what to train")
    parser.add_argument(
        "--out",
        type=folder_to_make,
        default=OUT,
        help="folder for the finished checkpoint, in one of the recipe's name (default: %(default)s)",
    )
    parser.add_argument("--run", type=folder_to_make, help="folder of the run's files (default runs/RECIPE)")
    parser.add_argument(
        "--steps", type=whole(1, MAX_STEPS), help="a trial: this many steps of the last stage's mixture"
    )
    parser.add_argument(
        "--share",
        type=number(1e-4, 100),
        help="every stage takes this share of its steps, as a larger --batch asks for",
    )
    parser.add_argument(
        "--batch", type=whole(1, MAX_BATCH), help="sequences per optimiser step instead of the recipe's"
    )
    parser.add_argument("--seed", type=whole(0, MAX_SEED), help="seed instead of the recipe's")
    parser.add_argument(
        "--text", type=any_path, help="a file of stories, between them lines <|endoftext|>; .gz is read too"
    )
    parser.add_argument("--dataset", help="a data set by name instead, such as roneneldan/TinyStories")
    parser.add_argument("--column", default="text", help="the data set's column with the texts")
    parser.add_argument(
        "--texts", type=whole(1, MAX_TEXTS), default=TextSource.most, help="texts to read at most"
    )
    parser.add_argument(
        "--decoder", type=folder, help="folder of a published causal decoder to start from (overlay-*)"
    )
    parser.add_argument("--device", type=device, default="auto", help="auto, cuda, cuda:N, mps or cpu")
    parser.add_argument("--threads", type=whole(1, MAX_THREADS), help="CPU threads of this process")
    parser.add_argument("--resume", action="store_true", help="go on where the run in its folder stopped")
    parser.add_argument(
        "--until", type=whole(0, MAX_STEPS), help="stop after this step; --resume goes on from there"
    )
    parser.add_argument(
        "--export-only", action="store_true", help="write the run's present weights as a checkpoint and stop"
    )


def run_command(arguments: argparse.Namespace) -> Path | None:
    """Train as the arguments say and write the checkpoint; returns its folder on the leading process."""
    changes = {name: value for name in ("batch", "seed") if (value := getattr(arguments, name)) is not None}
    recipe = replace(RECIPES[arguments.recipe], **changes)
    if arguments.share is not None:
        recipe = recipe.scaled(arguments.share)
    if arguments.steps is not None:
        recipe = recipe.with_steps(arguments.steps)
    run = arguments.run if arguments.run is not None else Path("runs") / recipe.name
    if arguments.threads is not None:
        torch.set_num_threads(arguments.threads)
    with processes(arguments.device) as place, termination() as asked_to_stop:
        trainer = train(
            recipe,
            run,
            place,
            source=TextSource(arguments.text, arguments.dataset, arguments.column, arguments.texts),
            decoder=arguments.decoder,
            resume=arguments.resume or arguments.export_only,
            until=0 if arguments.export_only else arguments.until,
            asked_to_stop=asked_to_stop,
        )
        if place.rank == 0 and (arguments.export_only or trainer.step >= recipe.steps):
            return trainer.export(arguments.out / recipe.name, {"runs": history(run, recipe)})
    return None


@contextlib.contextmanager
def termination() -> Iterator[Callable[[], bool]]:
    """Whether this process was asked to end (SIGTERM): while the context lasts that does not end it by itself."""
    if threading.current_thread() is not threading.main_thread():
        yield bool
        return
    asked = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: asked.set())
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def processes(device: str) -> Iterator[Place]:
    """This process' place: alone, or one of those `torchrun` started, which then form a group until the end."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    chosen = pick_device(device)
    if world == 1:
        yield Place(0, 1, chosen)
        return
    if chosen.type == "cuda":
        chosen = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(chosen)
    dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield Place(rank, world, chosen)
    finally:
        dist.destroy_process_group()


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `python -m blockviz.training.command`, which `torchrun` can start; exit code 2 on bad input."""
    parser = Parser(prog="blockviz train", description=__doc__)
    add_arguments(parser)
    options = parser.parse_args(arguments)
    try:
        folder = run_command(options)
    except (RunError, CheckpointError, OSError) as error:
        sys.stderr.write(sentence(in_options(str(error), options)))
        return 2
    if folder is not None:
        print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
