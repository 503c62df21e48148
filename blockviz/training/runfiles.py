"""The files of a training run: resumable state (safetensors), CSVs of losses and of noise levels."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from blockviz.training.recipes import Recipe, Stage

STATE = "state.safetensors"
LOSSES = "losses.csv"
VALIDATION = "validation.csv"
NOISE = "noise.csv"


class RunError(ValueError):
    """A training run cannot be started or resumed; the message is one sentence that says why."""


def save_state(folder: Path, tensors: dict[str, Tensor], recipe: Recipe, progress: dict[str, Any]) -> None:
    """Write the state of a run in one step: a killed process leaves the old file or the new one."""
    partial = folder / (STATE + ".partial")
    metadata = {"recipe": json.dumps(asdict(recipe)), "progress": json.dumps(progress)}
    save_file({name: tensor.cpu() for name, tensor in tensors.items()}, partial, metadata=metadata)
    partial.replace(folder / STATE)


def load_state(folder: Path, recipe: Recipe) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the state of a run of this very recipe; raises RunError when there is none or the recipe differs."""
    stored, progress = read_record(folder)
    _check_recipe(folder, stored, recipe, progress["step"])
    return load_file(folder / STATE), progress


def read_record(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The recipe a run was made with and how far it is; raises RunError when there is no run."""
    path = folder / STATE
    if not path.exists():
        raise RunError(f"there is no run to resume in {folder}")
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    return json.loads(metadata["recipe"]), json.loads(metadata["progress"])


def _check_recipe(folder: Path, stored: dict[str, Any], recipe: Recipe, step: int) -> None:
    """Raise RunError unless all that has been run is as the recipe has it.

    What a later version added counts as its default; stages not begun may have changed since, and the present one may
    have become longer or shorter where its rate does not depend on its length.
    """
    wanted = json.loads(json.dumps(asdict(recipe)))
    defaults = json.loads(json.dumps(asdict(Recipe(recipe.name, recipe.process, ()))))
    stages = [asdict(Stage(**stage)) for stage in stored["stages"]]
    begun = 0
    while begun < len(stages) and step > 0:
        step -= stages[begun]["steps"]
        begun += 1
    made, now = (json.loads(json.dumps(part[:begun])) for part in (stages, wanted["stages"]))
    if made and now and step < 0 and made[-1]["rate_steps"] and now[-1]["steps"] >= made[-1]["steps"] + step:
        made[-1]["steps"] = now[-1]["steps"]
    stored, wanted = stored | {"stages": made}, wanted | {"stages": now}
    for key in sorted(wanted):
        found = stored.get(key, defaults[key])
        if found != wanted[key]:
            raise RunError(f"the run in {folder} was made with {key} = {found!r}, not {wanted[key]!r}")


def finished_state(folder: Path, recipe: Recipe) -> dict[str, Tensor]:
    """The state that a run ended with whose network and text are those of `recipe`, however long or large its steps.

    Raises RunError when there is no run, one of another network, or one that has not ended.
    """
    stored, progress = read_record(folder)
    for key in ("name", "corpus", "canvas", "hidden_size", "n_blocks", "n_heads"):
        if stored[key] != getattr(recipe, key):
            raise RunError(
                f"the run in {folder} was made with {key} = {stored[key]!r}, not {getattr(recipe, key)!r}"
            )
    steps = sum(stage["steps"] for stage in stored["stages"])
    if progress["step"] < steps:
        raise RunError(f"the run in {folder} stands at step {progress['step']} of {steps}")
    return load_file(folder / STATE)


class Log:
    """Appends rows to a CSV; on resuming after `step`, rows of later steps are dropped first."""

    def __init__(self, path: Path, step: int) -> None:
        self.path = path
        if step == 0:
            path.unlink(missing_ok=True)
        elif path.exists():
            rows = pd.read_csv(path)
            rows[rows["step"] <= step].to_csv(path, index=False)

    def add(self, row: Mapping[str, float | int | None]) -> None:
        """Append one row; the first one names the columns."""
        fresh = not self.path.exists()
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(row))
            if fresh:
                writer.writeheader()
            writer.writerow(row)
