"""Where running text comes from: a file of stories, or a data set by name through the optional package `datasets`."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from blockviz.training.byte_tokenizer import END
from blockviz.training.runfiles import RunError

TEST_SHARE = 50  # one text in so many is held out, by a hash of its words

Split = Literal["train", "test"]


@dataclass(frozen=True)
class TextSource:
    """`file`, a text file (or .gz) whose stories stand apart by lines `<|endoftext|>`, or the data set `dataset`.

    A data set's texts are its column `column`; at most `most` texts are read.
    """

    file: Path | None = None
    dataset: str | None = None
    column: str = "text"
    most: int = 100_000

    def read(self) -> list[str]:
        """The texts without white space around them, none empty; raises RunError when there are none."""
        if self.file is not None:
            texts = _file_texts(self.file)
        elif self.dataset is not None:
            texts = _dataset_texts(self.dataset, self.column)
        else:
            raise RunError(
                "this recipe learns from text: name a file with --text or a data set with --dataset"
            )
        kept = list(itertools.islice((text.strip() for text in texts if text.strip()), self.most))
        if not kept:
            raise RunError(f"there is no text in {self.file or self.dataset}")
        return kept


def split_of(text: str) -> Split:
    """The split a text belongs to, whatever stands around it: one in `TEST_SHARE` is held out."""
    digest = hashlib.sha256(" ".join(text.lower().split()).encode()).digest()
    return "test" if int.from_bytes(digest[:8], "big") % TEST_SHARE == 0 else "train"


def _file_texts(path: Path) -> Iterator[str]:
    lines: list[str] = []
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8") as file
        ):
            for line in file:
                if line.strip() == END:
                    yield "".join(lines)
                    lines = []
                else:
                    lines.append(line)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise RunError(f"the text {path} cannot be read: {error}") from error
    yield "".join(lines)


def _dataset_texts(name: str, column: str) -> Iterator[str]:
    try:
        import datasets  # optional: only this function needs it
    except ImportError as error:
        raise RunError(
            f"the data set {name} needs the package datasets (pip install datasets), which is not installed"
        ) from error
    try:
        rows = cast("Iterable[dict[str, str]]", datasets.load_dataset(name, split="train", streaming=True))
        for row in rows:
            yield str(row[column])
    except KeyError as error:
        raise RunError(f"the data set {name} has no column {column}") from error
    except Exception as error:  # the hub, the network and the reader each raise their own
        raise RunError(f"the data set {name} cannot be read: {error}") from error
