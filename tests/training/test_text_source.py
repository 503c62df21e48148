from __future__ import annotations

import builtins
import gzip
import sys
import types
import zlib
from pathlib import Path
from typing import Any

import pytest

from blockviz.training.runfiles import RunError
from blockviz.training.text_source import TEST_SHARE, TextSource, split_of
from tests.training.made_up_stories import stories

TEXT = "\nOne.\nStill one.\n<|endoftext|>\n\n  \n<|endoftext|>\nTwo.\n <|endoftext|> \nThree."


def test_lines_of_their_own_part_the_stories_of_a_file(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_text(TEXT)
    packed.write_bytes(gzip.compress(TEXT.encode()))
    expected = ["One.\nStill one.", "Two.", "Three."]
    assert TextSource(plain).read() == TextSource(packed).read() == expected
    assert TextSource(plain, most=2).read() == expected[:2]


@pytest.mark.parametrize(
    ("name", "content"), [("no.txt", None), ("bad.txt", b"\xff\xfe\xff"), ("bad.gz", b"not packed")]
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes | None) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RunError, match=rf"{name} cannot be read"):
        TextSource(path).read()


def test_a_damaged_gzip_is_named_wherever_it_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "stories.gz"
    packed = gzip.compress("\n<|endoftext|>\n".join(stories(200)).encode())
    raised = set()
    for place in range(10, len(packed), len(packed) // 40):
        path.write_bytes(
            packed[:place] + bytes(255 - byte for byte in packed[place : place + 8]) + packed[place + 8 :]
        )
        with pytest.raises(RunError, match=r"stories\.gz cannot be read") as caught:
            TextSource(path).read()
        raised.add(type(caught.value.__cause__))
    assert zlib.error in raised


def test_no_text_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_text("\n<|endoftext|>\n")
    with pytest.raises(RunError, match="there is no text in"):
        TextSource(path).read()
    with pytest.raises(RunError, match="name a file with --text or a data set with --dataset"):
        TextSource().read()


def fake_datasets(rows: Any) -> types.ModuleType:
    module = types.ModuleType("datasets")
    module.load_dataset = rows  # type: ignore[attr-defined]
    return module


def test_a_data_set_is_read_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def rows(name: str, *, split: str, streaming: bool) -> list[dict[str, str]]:
        asked.append((name, split, streaming))
        return [{"text": "One."}, {"text": " "}, {"text": "Two."}]

    monkeypatch.setitem(sys.modules, "datasets", fake_datasets(rows))
    assert TextSource(dataset="owner/stories").read() == ["One.", "Two."]
    assert asked == [("owner/stories", "train", True)]
    with pytest.raises(RunError, match="has no column story"):
        TextSource(dataset="owner/stories", column="story").read()


def test_what_keeps_a_data_set_from_being_read_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: Any, **__: Any) -> None:
        raise ConnectionError("no network")

    monkeypatch.setitem(sys.modules, "datasets", fake_datasets(unreachable))
    with pytest.raises(RunError, match="owner/stories cannot be read: no network"):
        TextSource(dataset="owner/stories").read()
    monkeypatch.delitem(sys.modules, "datasets")
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "datasets":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RunError, match="needs the package datasets"):
        TextSource(dataset="owner/stories").read()


def test_one_text_in_fifty_is_held_out_whatever_its_spacing() -> None:
    texts = stories(4000)
    held_out = sum(split_of(text) == "test" for text in texts)
    # 80 expected, standard deviation 9.
    assert 4000 / TEST_SHARE - 40 < held_out < 4000 / TEST_SHARE + 40
    assert all(split_of(text) == split_of(f"  {text.upper()}\n") for text in texts[:200])
