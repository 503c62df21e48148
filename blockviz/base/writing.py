"""Files written whole or not at all. Knows no torch."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["TargetError", "complete", "file_to_write"]


class TargetError(OSError):
    """A path to which no file can be written; `reason` says why, the message is one sentence with the path."""

    def __init__(self, path: str | Path, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The file {path} cannot be written: {reason}.")


def file_to_write(path: str | Path) -> Path:
    """The regular or missing file that `path` names, links followed; raises `TargetError` for anything else.

    A device, a pipe or a socket must not be replaced by a file, which is what `complete` would do.
    """
    text = os.fspath(path)
    if not text:
        raise TargetError("''", "its name is empty")
    if "\0" in text:
        raise TargetError(repr(text), "its name holds a NUL character")
    try:
        target = Path(os.path.realpath(text))
        mode = os.stat(text).st_mode
    except FileNotFoundError:
        if text.endswith(os.sep):
            raise TargetError(path, "it is a folder's name") from None
        mode = None
    except OSError as error:
        raise TargetError(path, _reason(error)) from None
    if mode is not None and stat.S_ISDIR(mode):
        raise TargetError(path, "it is a folder")
    if mode is not None and not stat.S_ISREG(mode):
        raise TargetError(path, "it is no regular file but a device, a pipe or a socket")
    if not target.parent.is_dir():
        raise TargetError(path, f"there is no folder {Path(text).parent}")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise TargetError(path, f"the folder {Path(text).parent} cannot be written to")
    return target


@contextmanager
def complete(path: str | Path) -> Iterator[Path]:
    """A file beside the target of `path`, which takes its place when all of it is written; raises `TargetError`."""
    target = file_to_write(path)
    # A name of its own, not one made of the target's: that could be as long as a name may be.
    part = target.with_name(f".blockviz-{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        yield part
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _reason(error: OSError) -> str:
    words = error.strerror or type(error).__name__
    return words[:1].lower() + words[1:]
