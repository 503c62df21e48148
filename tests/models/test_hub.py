"""Files of the Hugging Face Hub, from a hub on this machine: fetched once, then without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from blockviz.models.fields import CheckpointError
from blockviz.models.hub import fetch, parse
from tests.models.hub_server import hub, use_hub


@pytest.fixture
def sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    folder = tmp_path / "served" / "owner" / "repo" / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(bytes(1000))
    with hub(tmp_path / "served") as (address, files):
        use_hub(monkeypatch, address, tmp_path / "cache")
        yield files


def test_a_folder_is_fetched_once_and_then_needs_no_network(
    sent: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = parse("hf:owner/repo/a/b")
    first = fetch(place, "config.json", "model.safetensors")
    assert (first / "model.safetensors").read_bytes() == bytes(1000)
    assert sent == ["a/b/config.json", "a/b/model.safetensors"]
    use_hub(monkeypatch, "http://127.0.0.1:9", tmp_path / "cache")  # nothing answers there
    assert fetch(place, "config.json", "model.safetensors") == first
    assert len(sent) == 2


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("hf:owner/repo/a", "owner/repo/a at the Hugging Face Hub has no config.json"),
        ("hf:owner/other/a", "no repository owner/other"),
        ("hf:owner/repo/a/b@v9", "has no revision v9"),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(sent: list[str], spec: str, reason: str) -> None:
    with pytest.raises(CheckpointError, match=reason):
        fetch(parse(spec), "config.json")


def test_without_a_network_what_is_missing_is_said(sent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(
        CheckpointError, match="not in the cache here and the Hugging Face Hub cannot be reached"
    ):
        fetch(parse("hf:owner/repo/a/b"), "config.json")


@pytest.mark.parametrize(
    "spec",
    [
        "owner/repo",
        "hf:",
        "hf:owner",
        "hf:owner/",
        "hf:/repo",
        "hf:owner/repo/../../x",
        "hf:owner/repo/.",
        "hf:owner/..",
        "hf:owner/repo//x",
        "hf:owner/repo/x@",
        "hf:owner/repo/x@..",
        "hf:owner/repo\n",
        "hf:https://example.org/x",
        "hf:owner/repo/a?b",
    ],
)
def test_only_names_of_the_hub_are_read(spec: str) -> None:
    with pytest.raises(CheckpointError, match="names no checkpoint of the Hub"):
        parse(spec)


def test_a_spec_has_parts() -> None:
    place = parse("hf:jdeschena/blockgen/blockgen/multi_block_size/16/tinygsm/0.05_0.95/absorb@main")
    assert place.repository == "jdeschena/blockgen"
    assert place.subfolder.endswith("16/tinygsm/0.05_0.95/absorb")
    assert place.revision == "main"
    assert place.name == "16-tinygsm-0.05_0.95-absorb"
    assert parse("hf:openai-community/gpt2").name == "gpt2"
