"""Opening and exporting through the routes of the page, with the guard in front of them."""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import json
import re
import threading
import time
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image, ImageChops
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from blockviz.export.board import Board
from blockviz.sampling.trace import Trace
from blockviz.ui import files
from blockviz.ui.examples import FIRST, packed, recorded
from blockviz.ui.serving import Guard
from tests.browser.fake_runs import fake_run

HANDOFF = files.Handoff()
HEADERS = {"content-type": files.MEDIA}
ONE = packed(FIRST)
TWO = packed("two-people-masked") + packed("two-people-uniform")


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    app = Starlette(routes=files.routes(HANDOFF), middleware=[Middleware(Guard)])
    with TestClient(app) as client:
        yield client


def opened(client: TestClient, content: bytes) -> dict[str, Any]:
    answer = client.post(files.OPEN, content=content, headers=HEADERS)
    assert answer.status_code == 200
    return answer.json()


def exported(client: TestClient, content: bytes, **asked: str) -> list[dict[str, Any]]:
    answer = client.post(files.EXPORT, params=asked, content=content, headers=HEADERS)
    assert answer.status_code == 200
    return [json.loads(line) for line in answer.text.splitlines()]


def content_of(entry: dict[str, Any]) -> bytes:
    return base64.b64decode(entry["data"])


@pytest.mark.parametrize("content", [ONE, gzip.decompress(ONE)], ids=["packed", "plain"])
def test_a_saved_run_opens_as_it_is(client: TestClient, content: bytes) -> None:
    answer = opened(client, content)
    assert answer["runs"] == 1
    assert HANDOFF.take(answer["token"]) == [recorded(FIRST)]
    assert HANDOFF.take(answer["token"]) == []


def test_a_file_of_several_runs_opens_in_order(client: TestClient) -> None:
    answer = opened(client, TWO)
    assert answer["runs"] == 2
    assert HANDOFF.take(answer["token"]) == [recorded("two-people-masked"), recorded("two-people-uniform")]


def test_few_opened_runs_wait_and_none_for_long() -> None:
    handoff = files.Handoff(most=2, seconds=0.2)
    names = [handoff.put([str(number)]) for number in range(3)]
    assert len(handoff) == 2
    assert [handoff.take(name) for name in names[:2]] == [[], ["1"]]
    for wrong in (None, 3, ["x"], {"a": 1}, "", "x"):
        assert handoff.take(wrong) == []
    time.sleep(0.25)
    assert handoff.take(names[2]) == []
    assert len(handoff) == 0


def bomb() -> bytes:
    return gzip.compress(b"\n" * (files.LARGEST_FILE + 1000))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "not text"),
        (b"hello", "Line 1"),
        (b'{"some": "json"}\n', "not the header of a BlockViz trace"),
        (b'{"blockviz": 99}\n', "newer than format"),
        (ONE[:-100], "ends early"),
        (ONE[:200] + b"\0\0\0" + ONE[203:], "damaged"),
        (gzip.decompress(ONE)[:-300], "cut short|cannot be used"),
        (gzip.compress(b"x" * (5 * 2**20)), "line of more than"),
        (TWO + TWO + ONE, "already ended"),
    ],
)
def test_what_is_no_run_is_refused_with_the_reason(client: TestClient, content: bytes, says: str) -> None:
    (error,) = opened(client, content).values()
    assert re.search(says, error), error
    assert error.endswith(".")


@pytest.mark.slow
def test_a_bomb_is_stopped_while_it_unpacks(client: TestClient) -> None:
    content = bomb()
    assert len(content) < 100_000
    begun = time.monotonic()
    assert "error" in opened(client, content)
    lines = gzip.compress(gzip.decompress(ONE) + b" " * (files.LARGEST_FILE * 10))
    assert "error" in opened(client, lines)
    assert time.monotonic() - begun < 30


def test_only_the_pages_own_requests_of_a_stated_size_are_taken(client: TestClient) -> None:
    for path in (files.OPEN, files.EXPORT):
        for media in ("text/plain", "multipart/form-data", "application/json"):
            assert client.post(path, content=ONE, headers={"content-type": media}).status_code == 415
        too_large = b"x" * (files.LARGEST_FILE + 1)
        assert client.post(path, content=too_large, headers=HEADERS).status_code == 413
        assert client.get(path).status_code == 405


@pytest.mark.parametrize(
    ("kind", "begins"),
    [
        ("html", b"<!doctype html>"),
        ("gif", b"GIF89a"),
        ("json", b"{"),
        ("picture", b"\x89PNG"),
        ("parquet", b"PK"),
    ],
)
def test_each_kind_is_made(client: TestClient, kind: str, begins: bytes) -> None:
    run = fake_run("masked", length=32, block_size=8, steps=2, prompt_length=6)
    lines = exported(client, "".join(run.to_lines()).encode(), kind=kind, views="0", theme="dark")
    file = lines[-1]
    assert content_of(file).startswith(begins)
    assert file["name"].startswith("toy-masked-arpc-seed-0")
    assert file["media"]
    if kind == "gif":
        counts = [line["progress"] for line in lines[:-1]]
        assert counts == list(range(len(run.passes) + 1))
        assert all(line["of"] == len(run.passes) for line in lines[:-1])


@pytest.mark.slow
def test_runs_side_by_side_make_one_film_as_the_page_aligns_them(client: TestClient) -> None:
    runs = [
        fake_run(process, length=32, block_size=8, steps=2, prompt_length=6)
        for process in ("masked", "uniform")
    ]
    text = "".join(line for run in runs for line in run.to_lines()).encode()
    film, picture = (exported(client, text, kind=kind, align="share")[-1] for kind in ("gif", "picture"))
    with (
        Image.open(io.BytesIO(content_of(film))) as frames,
        Image.open(io.BytesIO(content_of(picture))) as canvas,
    ):
        assert frames.size[0] == canvas.size[0] == 1280
        last = len(runs[0].passes) - 1
        board = Board(runs, numbers=[last], axis="share")
        assert ImageChops.difference(canvas.convert("RGB"), board.paint(last)).getbbox() is None
    assert picture["name"] == "blockviz-2-runs-canvas.png"


def test_tables_come_as_one_archive(client: TestClient) -> None:
    file = exported(client, TWO, kind="csv")[-1]
    assert file["media"] == "application/zip"
    names = zipfile.ZipFile(io.BytesIO(content_of(file))).namelist()
    assert sorted(name.rsplit("-", 1)[1] for name in names) == [
        "passes.csv",
        "passes.csv",
        "positions.csv",
        "positions.csv",
    ]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"kind": "exe"}, "kind cannot be 'exe'"),
        ({}, "kind cannot be ''"),
        ({"kind": "gif", "theme": "pink"}, "theme cannot be 'pink'"),
        ({"kind": "gif", "frames": "100000"}, "at most 400"),
        ({"kind": "gif", "frames": "x"}, "frames cannot be 'x'"),
        ({"kind": "gif", "rate": "nan"}, "rate cannot be"),
        ({"kind": "picture", "pass": "9999"}, "pass cannot be 9999"),
        ({"kind": "gif", "out": "/etc"}, "no option out"),
        ({"kind": "gif", "align": "moon"}, "align cannot be 'moon'"),
    ],
)
def test_bad_options_are_refused_in_words(client: TestClient, asked: dict[str, str], says: str) -> None:
    (line,) = exported(client, ONE, **asked)
    assert says in line["error"]


def test_an_export_of_no_run_says_why(client: TestClient) -> None:
    (line,) = exported(client, b"no run", kind="html")
    assert "Line 1" in line["error"]


def test_nothing_stays_on_the_server(
    client: TestClient, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    exported(client, ONE, kind="json")
    assert list(tmp_path.iterdir()) == []


def test_an_export_stops_when_nobody_listens() -> None:
    told = threading.Event()
    ended: list[BaseException] = []

    def work(tell: files.Progress) -> None:
        try:
            for number in range(100_000):
                tell({"progress": number})
                told.set()
                time.sleep(0.002)
        except BaseException as error:
            ended.append(error)
            raise

    async def listen_and_leave() -> None:
        news = files._news(files.Places(1), work)
        assert json.loads(await anext(news)) == {"progress": 0}
        await news.aclose()

    asyncio.run(listen_and_leave())
    deadline = time.monotonic() + 10
    while not ended and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [type(error).__name__ for error in ended] == ["_Cancelled"]


def test_exports_beyond_the_places_wait_and_say_so() -> None:
    places = files.Places(1)
    gate = threading.Event()

    async def both() -> list[dict[str, Any]]:
        first = files._news(places, lambda tell: (tell({"progress": 0}), gate.wait(10)))  # type: ignore[arg-type,func-returns-value]
        await anext(first)
        second = files._news(places, lambda tell: tell({"name": "x"}))
        lines = [json.loads(await anext(second))]
        gate.set()
        lines += [json.loads(line) async for line in second]
        await first.aclose()
        return lines

    assert asyncio.run(both()) == [{"waiting": 1}, {"name": "x"}]


def test_an_export_that_breaks_ends_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    async def listen() -> list[Any]:
        return [json.loads(line) async for line in files._news(files.Places(1), lambda tell: 1 / 0)]  # type: ignore[arg-type,return-value]

    assert "broke off" in asyncio.run(listen())[0]["error"]
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_names_of_files_are_made_of_plain_characters() -> None:
    from dataclasses import replace

    from blockviz.export.parcel import slug

    header = fake_run("masked").header
    for name in ("../../etc/passwd", "a" * 5000, "", "<script>", "模型"):
        made = slug(replace(header, model=replace(header.model, name=name)))
        assert re.fullmatch(r"[a-z0-9-]{1,80}", made), made


@pytest.mark.parametrize(
    ("preset", "named"),
    [
        ("ar", "ar"),
        ("ancestral", "ancestral"),
        ("arpc", "arpc"),
        ("confident", "confident"),
        ("threshold", "threshold"),
        ("blockwise", "confident-both-sides"),
        ("canvas", "confident-whole-canvas"),
    ],
)
def test_a_file_is_named_after_its_sampler(preset: str, named: str) -> None:
    from dataclasses import replace

    from blockviz.export.parcel import slug
    from blockviz.sampling.settings import from_preset

    header = replace(fake_run("masked").header, settings=from_preset(preset, seed=40))
    assert slug(header) == f"toy-masked-{named}-seed-40"


def test_the_saved_text_of_the_page_is_the_file_that_python_saves(tmp_path: Any) -> None:
    run = Trace.from_lines(recorded(FIRST).splitlines())
    run.save(tmp_path / "run.jsonl.gz")
    assert gzip.decompress((tmp_path / "run.jsonl.gz").read_bytes()).decode() == recorded(FIRST)
