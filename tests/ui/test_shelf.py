from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from blockviz.models.fields import LARGEST_JSON
from blockviz.ui.controls import Choices, explore_spec
from blockviz.ui.shelf import Offer, Shelf


def checkpoint(folder: Path, name: str, manifest: object = None) -> None:
    (folder / name).mkdir()
    (folder / name / "model.safetensors").write_bytes(b"")
    if manifest is not None:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        (folder / name / "blockviz.json").write_text(text)


def test_the_bundled_pair_comes_first_and_foreign_folders_do_not_come(tmp_path: Path) -> None:
    for name in ("zeta", "math-uniform", "alpha", "math-masked"):
        checkpoint(tmp_path, name)
    (tmp_path / "no-weights").mkdir()
    (tmp_path / "file.txt").write_text("x")
    names = [offer.name for offer in Shelf(tmp_path).offers()]
    assert names == ["math-masked", "math-uniform", "alpha", "zeta"]


def test_an_offer_tells_what_the_folder_tells(tmp_path: Path) -> None:
    checkpoint(
        tmp_path, "m", {"process": "uniform", "length": 96, "task": "math", "training": {"parameters": 5}}
    )
    (offer,) = Shelf(tmp_path).offers()
    assert (offer.process, offer.length, offer.task, offer.parameters) == ("uniform", 96, "math", 5)


def test_a_model_for_block_size_1_alone_only_reads(tmp_path: Path) -> None:
    checkpoint(tmp_path, "reader", {"task": "stories", "block_sizes": [1]})
    checkpoint(tmp_path, "writer", {"task": "stories", "block_sizes": [1, 2]})
    offers = {offer.name: offer for offer in Shelf(tmp_path).offers()}
    assert (offers["reader"].reads_only, offers["writer"].reads_only) == (True, False)
    assert {offer.task for offer in offers.values()} == {"stories"}


def test_an_offer_tells_the_shape_of_its_network(tmp_path: Path) -> None:
    checkpoint(tmp_path, "m")
    (offer,) = Shelf(tmp_path).offers()
    assert (offer.layers, offer.heads) == (None, None)
    for text, shape in (
        ('{"n_blocks": 6, "n_heads": 4}', (6, 4)),
        ('{"n_heads": "4"}', (None, None)),
        ("[", (None, None)),
    ):
        (tmp_path / "m" / "config.json").write_text(text)
        (offer,) = Shelf(tmp_path).offers()
        assert (offer.layers, offer.heads) == shape


@pytest.mark.parametrize(
    "manifest",
    [None, "", "[1]", "{", '{"process": 3, "length": "x", "training": []}', "x" * (LARGEST_JSON + 1)],
)
def test_a_broken_folder_is_offered_without_facts(tmp_path: Path, manifest: str | None) -> None:
    checkpoint(tmp_path, "m", manifest)
    (offer,) = Shelf(tmp_path).offers()
    assert (offer.name, offer.process, offer.length, offer.parameters) == ("m", None, None, None)


@pytest.mark.parametrize(
    "value", [10**400, -1, 0, True, 3.5, float("inf"), float("nan"), "7", None, [], {}, "\ud800"]
)
def test_the_forms_start_whatever_a_folder_tells(tmp_path: Path, value: object) -> None:
    checkpoint(
        tmp_path,
        "m",
        {"process": value, "length": value, "task": value, "training": {"parameters": value}},
    )
    (tmp_path / "m" / "config.json").write_text(json.dumps({"n_blocks": value, "n_heads": value}))
    offers = Shelf(tmp_path).offers()
    assert offers == [Offer("m", None, None, None, None)]
    assert explore_spec(Choices(offers, (), "x"), None).encode()


def test_deep_nesting_pipes_and_names_that_are_no_text_are_survived(tmp_path: Path) -> None:
    checkpoint(tmp_path, "deep", "[" * 100_000)
    checkpoint(tmp_path, "pipe")
    os.mkfifo(tmp_path / "pipe" / "config.json")
    checkpoint(tmp_path, "\udcff")
    assert [offer.name for offer in Shelf(tmp_path).offers()] == ["deep", "pipe"]


def test_a_missing_folder_offers_nothing(tmp_path: Path) -> None:
    assert Shelf(tmp_path / "nowhere").offers() == []
    (tmp_path / "file").write_text("x")
    assert Shelf(tmp_path / "file").offers() == []


@pytest.mark.parametrize("name", ["../m", "/etc/passwd", "", ".", "m/../m", "M"])
def test_only_offered_names_are_opened(tmp_path: Path, name: str) -> None:
    checkpoint(tmp_path, "m")
    with pytest.raises(KeyError):
        Shelf(tmp_path).load(name)
