"""What all commands share: arguments checked while they are read, and complaints of one sentence. Knows no torch."""

from __future__ import annotations

import argparse
import math
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from blockviz.base.writing import TargetError, file_to_write

LONGEST_VALUE = 60
"""Characters of a value that a complaint repeats."""
MOST_SIZES = 20
"""Block sizes that one model may be trained with."""
_LONGEST_WORD = 240
_LONGEST_SENTENCE = 2000


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one sentence that names the option as it is typed."""

    def error(self, message: str) -> NoReturn:
        """End with exit code 2 and the sentence on stderr."""
        message = re.sub(r"^argument (\S+): cannot be ", r"\1 cannot be ", message)
        message = _shorter(message, LONGEST_VALUE + 10)  # with what stands around a value
        self.exit(2, sentence(f"{message} (see {self.prog} --help)"))


def whole(minimum: int, maximum: int) -> Callable[[str], int]:
    """The type of an argument that is a whole number within bounds (inclusive)."""

    def read(text: str) -> int:
        if re.fullmatch(r"[+-]?[0-9]{1,20}", text) and minimum <= int(text) <= maximum:
            return int(text)
        raise _refusal(text, f"a whole number from {minimum} to {maximum}")

    return read


def number(minimum: float, maximum: float) -> Callable[[str], float]:
    """The type of an argument that is a number within bounds (inclusive)."""

    def read(text: str) -> float:
        try:
            value = float(text) if text.isascii() else math.nan
        except ValueError:
            value = math.nan
        if minimum <= value <= maximum:
            return value
        raise _refusal(text, f"a number from {minimum:g} to {maximum:g}")

    return read


def any_path(text: str) -> Path:
    """The type of an argument that is a path, whatever is there."""
    if not text or "\0" in text:
        raise _refusal(text, "a path without NUL characters")
    return Path(text)


def name_or_path(text: str) -> str:
    """The type of an argument that is a checkpoint's name or folder."""
    any_path(text)
    return text


def device(text: str) -> str:
    """The type of an argument that names a device; whether it is there, `pick_device` knows."""
    if not re.fullmatch(r"auto|cpu|mps|cuda(:(0|[1-9][0-9]?))?", text):
        raise _refusal(text, "auto, cuda, cuda:N, mps or cpu")
    return text


def block_sizes(text: str) -> tuple[int, ...]:
    """The type of an argument that lists block sizes, `1,16`: rising whole numbers."""
    parts = text.split(",")
    if len(parts) <= MOST_SIZES and all(re.fullmatch(r"[1-9][0-9]{0,4}", part) for part in parts):
        sizes = tuple(map(int, parts))
        if list(sizes) == sorted(set(sizes)):
            return sizes
    raise _refusal(text, "rising whole numbers with commas between them, as in 1,16")


def block_weights(text: str) -> tuple[float, ...]:
    """The type of an argument that lists weights, `0.05,0.95`: numbers from 0 to 1 with the sum 1."""
    read = number(0, 1)
    try:
        weights = tuple(map(read, text.split(",")))
    except argparse.ArgumentTypeError:
        weights = ()
    if len(weights) <= MOST_SIZES and abs(sum(weights) - 1) <= 1e-6:
        return weights
    raise _refusal(text, "numbers from 0 to 1 with the sum 1 and commas between them, as in 0.05,0.95")


def add_release(parser: argparse.ArgumentParser) -> None:
    """The flags that say of a released checkpoint what its files do not."""
    group = parser.add_argument_group(
        "released checkpoints",
        "What the files of a checkpoint in BlockGen's released format do not say; needed only where its path does not "
        "say it either.",
    )
    group.add_argument("--process", choices=("masked", "uniform"), help="the noise it was trained to remove")
    group.add_argument(
        "--tokenizer",
        type=name_or_path,
        metavar="NAME",
        help="its tokenizer: a name at the Hugging Face Hub, or the path of a tokenizer.json",
    )
    group.add_argument(
        "--block-sizes",
        type=block_sizes,
        metavar="N,N",
        help="the block sizes it was trained with, as in 1,16",
    )
    group.add_argument(
        "--block-weights",
        type=block_weights,
        metavar="W,W",
        help="their weights in training, as in 0.05,0.95",
    )


def folder(text: str) -> Path:
    """The type of an argument that is an existing folder."""
    path = _inspected(text, "a folder that exists")
    if not path.is_dir():
        raise _refusal(text, "a folder that exists")
    return path


def folder_to_make(text: str) -> Path:
    """The type of an argument that is a folder, or could become one."""
    path = _inspected(text, "the path of a folder")
    nearest = next(place for place in (path, *path.parents, Path()) if place.exists())
    if not nearest.is_dir():
        raise _refusal(text, f"the path of a folder ({shown(str(nearest))} is none)")
    return path


def target(text: str) -> Path:
    """The type of an argument that is a file to write; links are followed, devices and pipes refused."""
    try:
        file_to_write(text)
    except TargetError as error:
        raise _refusal(
            text, f"a file in a folder that exists, new or to be replaced ({error.reason})"
        ) from None
    return Path(text)


def in_options(message: str, options: argparse.Namespace) -> str:
    """The message with the option it begins with as it is typed: `--batch-size`, not `batch_size`."""
    named = re.match(r"(\w+)(?= cannot be | '\S*' is not available )", message)
    if named and named[1] in vars(options):
        return "--" + named[1].replace("_", "-") + message[named.end() :]
    return message


def sentence(text: str) -> str:
    """A complaint as one printable line with a capital and a full stop; what is long in it is cut."""
    line = printable(_shorter(" ".join(text.split()), _LONGEST_WORD))
    if len(line) > _LONGEST_SENTENCE:
        line = line[:_LONGEST_SENTENCE] + "..."
    return (
        (line[:1].upper() + line[1:] if line else "Something is wrong")
        + ("" if line.endswith(".") else ".")
        + "\n"
    )


def printable(text: str) -> str:
    """The text with what a terminal would obey or no encoding holds (controls, lone surrogates) as escapes."""
    return "".join(
        letter.encode("unicode_escape").decode()
        if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cs")
        else letter
        for letter in text
    )


def shown(text: str) -> str:
    """A value as a complaint repeats it: quoted, and short."""
    quoted = repr(text)
    return quoted if len(quoted) <= LONGEST_VALUE else quoted[: LONGEST_VALUE - 3] + "..."


def _inspected(text: str, allowed: str) -> Path:
    """The path, once it is known that asking the system about it does not fail."""
    path = any_path(text)
    try:
        path.exists()
    except OSError as error:
        raise _refusal(text, f"{allowed} ({error.strerror})") from None
    return path


def _refusal(text: str, allowed: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"cannot be {shown(text)}: allowed is {allowed}")


def _shorter(text: str, longest: int) -> str:
    """The text with every word beyond `longest` characters cut."""
    return " ".join(word if len(word) <= longest else word[: longest - 3] + "..." for word in text.split(" "))
