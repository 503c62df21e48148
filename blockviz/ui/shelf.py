"""The models the page may offer: listed without torch, loaded on first use, the most recent few kept.

Only what was given at start-up is ever opened, by name: the checkpoints of one folder, and releases named on the
command line. A name from the page is looked up here, never joined to a path unseen.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from blockviz.evaluation.tasks import Task
from blockviz.models.fields import CheckpointError, read_json

if TYPE_CHECKING:
    from blockviz.models.checkpoint import Model
    from blockviz.models.released import Release

TASKS: tuple[str, ...] = get_args(Task)
KEPT = 4
SMALL = 20_000_000
"""Parameters below which one thread is as fast as many."""
LARGEST_FACT = 10**12
"""A number above it is no fact of a model."""
PREFERRED = ("math-masked", "math-uniform", "stories-masked", "stories-uniform")


@dataclass(frozen=True)
class Offer:
    """One model in the page's list. `length` is its canvas in tokens, `layers` and `heads` those of its network.

    Fields that its folder does not tell are None. One that `reads_only` was trained at block size 1 alone: it is no
    model for blocks, but can say how likely a text is.
    """

    name: str
    process: str | None
    length: int | None
    task: str | None
    parameters: int | None
    layers: int | None = None
    heads: int | None = None
    reads_only: bool = False


class Shelf:
    """Loads models of one folder, and `releases`, for one device; safe to use from several threads."""

    def __init__(self, folder: Path | str, device: str = "auto", releases: Sequence[Release] = ()) -> None:
        self.folder = Path(folder)
        self.releases = {release.name: release for release in releases}
        self.device = device
        self._loaded: OrderedDict[str, Model] = OrderedDict()
        self._lock = threading.Lock()
        self._loading = threading.Lock()

    def offers(self) -> list[Offer]:
        """The releases, then the checkpoints of the folder, the bundled ones first; whether each is sound shows when it
        is loaded.

        None of a folder that cannot be listed. A folder whose name is no text cannot be asked for and is left out, as
        is one with the name of a release.
        """
        released = [_release_offer(release) for release in self.releases.values()]
        try:
            folders = [path for path in self.folder.iterdir() if _is_offered(path)]
        except OSError:
            return released
        folders.sort(key=_place)
        return released + [_offer(path) for path in folders if path.name not in self.releases]

    def holds(self, name: str) -> bool:
        """Whether this model is loaded already."""
        with self._lock:
            return name in self._loaded

    def load(self, name: str) -> Model:
        """The model of that name; raises KeyError for a name that is not offered, CheckpointError for a broken folder.

        Imports torch on first use, so that the page is up before it.
        """
        if name not in {offer.name for offer in self.offers()}:
            raise KeyError(name)
        with self._loading:
            with self._lock:
                if name in self._loaded:
                    self._loaded.move_to_end(name)
                    return self._loaded[name]
            from blockviz.models.checkpoint import load

            if name in self.releases:
                model = self.releases[name].load(self.device)
            else:
                model = load(self.folder / name, self.device)
            _set_threads(model)
            with self._lock:
                self._loaded[name] = model
                while len(self._loaded) > KEPT:
                    self._loaded.popitem(last=False)
            return model


def _set_threads(model: Model) -> None:
    """One thread for a small model on the CPU: its products are too small to share, and on a busy machine the threads
    would wait for each other far longer than they work."""
    import torch

    if model.device.type == "cpu":
        torch.set_num_threads(1 if model.parameters < SMALL else os.cpu_count() or 1)


def _is_offered(path: Path) -> bool:
    spoken = not any("\ud800" <= character <= "\udfff" for character in path.name)
    return spoken and os.path.isfile(path / "model.safetensors")


def _object(path: Path) -> dict[str, Any]:
    """The JSON object in a small file; an empty one where there is none."""
    try:
        return read_json(path)
    except CheckpointError:
        return {}


def _count(content: dict[str, Any], name: str) -> int | None:
    """A whole number from 1 to LARGEST_FACT; None for all else that may stand there."""
    value = content.get(name)
    return value if type(value) is int and 1 <= value <= LARGEST_FACT else None


def _place(path: Path) -> tuple[int, str]:
    known = path.name in PREFERRED
    return PREFERRED.index(path.name) if known else len(PREFERRED), path.name


def _offer(path: Path) -> Offer:
    content, network = _object(path / "blockviz.json"), _object(path / "config.json")
    training, process, task = content.get("training"), content.get("process"), content.get("task")
    return Offer(
        name=path.name,
        process=process if process in ("masked", "uniform") else None,
        length=_count(content, "length"),
        task=task if task in TASKS else None,
        parameters=_count(training, "parameters") if isinstance(training, dict) else None,
        layers=_count(network, "n_blocks"),
        heads=_count(network, "n_heads"),
        reads_only=content.get("block_sizes") == [1],
    )


def _release_offer(release: Release) -> Offer:
    return Offer(
        name=release.name,
        process=release.info.process,
        length=release.info.length,
        task=None,
        parameters=None,
        layers=release.config.n_blocks,
        heads=release.config.n_heads,
    )
