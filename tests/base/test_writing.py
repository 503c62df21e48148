"""Files written whole or not at all, and what must never be replaced by one."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from blockviz.base.writing import TargetError, complete, file_to_write
from tests.browser.fake_runs import fake_run


def test_a_file_is_replaced_only_when_the_new_one_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")

    def fail() -> None:
        with complete(target) as part:
            part.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_text() == "old"
    with complete(target) as part:
        part.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_and_its_file_is_written(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    for name, content in (("there", "old"), ("to come", None)):
        file, link = tmp_path / "far" / name, tmp_path / f"link to {name}"
        if content is not None:
            file.write_text(content)
        link.symlink_to(file)
        with complete(link) as part:
            part.write_text("new")
        assert link.is_symlink()
        assert not file.is_symlink()
        assert file.read_text() == "new"


def test_names_may_be_as_long_as_names_are(tmp_path: Path) -> None:
    with complete(tmp_path / ("a" * 255)) as part:
        part.write_text("x")
    assert len(next(tmp_path.iterdir()).name) == 255


def test_what_is_no_regular_file_is_refused_and_stays(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    before = sorted(tmp_path.iterdir())
    for name in ("pipe", "link", "socket"):
        with pytest.raises(TargetError, match=r"no regular file but a device, a pipe or a socket\.$"):
            fake_run("masked", length=16, steps=1, prompt_length=4).save(tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_paths_without_a_file_are_refused_with_the_reason(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    (tmp_path / "file").write_text("x")
    for path, reason in (
        ("", "empty"),
        (".", "folder"),
        ("/", "folder"),
        (tmp_path, "folder"),
        (f"{tmp_path}/new/", "folder"),
        (tmp_path / "none" / "file", "no folder"),
        (tmp_path / "file" / "file", "not a directory"),
        (tmp_path / ("a" * 256), "too long"),
        (f"{tmp_path}/a\0b", "NUL"),
        (loop, "symbolic links"),
    ):
        with pytest.raises(TargetError) as refusal:
            file_to_write(path)
        assert reason in refusal.value.reason, path
        assert str(refusal.value).startswith("The file ")


def test_a_folder_that_takes_no_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(TargetError, match="cannot be written to"):
        file_to_write(tmp_path / "file")
