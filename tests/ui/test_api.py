from __future__ import annotations

import base64
import gzip
import io
import json
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from PIL import Image

from blockviz import load, sample
from blockviz.evaluation.tasks import EXAMPLE_PROMPTS, PAGE_PROMPTS, checker_for, known_answer
from blockviz.export.board import Board
from blockviz.export.standalone import page as exported
from blockviz.sampling.edits import Edit
from blockviz.sampling.forks import fork
from blockviz.sampling.settings import FIELDS
from blockviz.sampling.trace import Trace
from blockviz.ui.examples import FIRST, recorded
from blockviz.ui.page import build, launch_options
from tests.evaluation.math_models import write_checkpoint

PROMPT = EXAMPLE_PROMPTS[0].prompt
RUN_ONLY = frozenset({"ms"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models")
    for process in ("masked", "uniform"):
        write_checkpoint(path / f"math-{process}", process)
    return path


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    page = build(folder, "cpu", PAGE_PROMPTS)
    page.demo.launch(server_port=port, prevent_thread_lock=True, **launch_options(page))
    yield Client(f"http://127.0.0.1:{port}/", verbose=False, analytics_enabled=False)
    page.demo.close()


def trace(text: str) -> Trace:
    return Trace.from_lines(text.splitlines())


def same(one: Trace, other: Trace) -> bool:
    return len(one.passes) == len(other.passes) and all(
        a.same(b, RUN_ONLY) for a, b in zip(one.passes, other.passes, strict=True)
    )


def test_the_endpoints_are_named_and_typed(client: Client) -> None:
    known = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    assert set(known) == {"/models", "/generate", "/generate_stream", "/compare", "/fork", "/export"}
    given = {entry["parameter_name"]: entry for entry in known["/generate"]["parameters"]}
    assert list(given) == ["model", "prompt", "preset", *FIELDS]
    assert given["model"]["parameter_has_default"] is False
    assert all(given[name]["parameter_has_default"] for name in FIELDS)
    assert "arpc" in str(given["preset"]["type"])


def test_models_are_listed_without_paths(client: Client, folder: Path) -> None:
    listed = client.predict(api_name="/models")
    assert [entry["name"] for entry in listed] == ["math-masked", "math-uniform"]
    assert str(folder.parent) not in str(listed)


def test_a_generated_trace_is_the_one_that_python_samples(client: Client, folder: Path) -> None:
    text = client.predict(
        model="math-masked", prompt=PROMPT, preset="eipc", steps=3, seed=5, api_name="/generate"
    )
    model = load(str(folder / "math-masked"), device="cpu")
    checker = checker_for(model, known_answer(PROMPT))
    expected = sample(model, PROMPT, preset="eipc", steps=3, seed=5, checker=checker)
    assert same(trace(text), expected)


def test_a_stream_brings_the_same_lines_in_parts(client: Client) -> None:
    asked = {"model": "math-uniform", "prompt": PROMPT, "steps": 4, "seed": 1}
    parts = list(client.submit(**asked, api_name="/generate_stream"))
    assert len(parts) >= 1
    whole = trace("".join(parts))
    assert whole.end.passes == len(whole.passes)
    assert same(whole, trace(client.predict(**asked, api_name="/generate")))


def test_compare_shares_prompt_and_seed(client: Client) -> None:
    runs = [
        {"model": "math-masked", "steps": 2},
        {"model": "math-uniform", "preset": "random", "steps": 2},
        {"model": "math-uniform", "preset": "ar", "seed": 9},
    ]
    traces = [trace(text) for text in client.predict(prompt=PROMPT, runs=runs, seed=3, api_name="/compare")]
    assert [entry.header.model.name for entry in traces] == ["math-masked", "math-uniform", "math-uniform"]
    assert [entry.header.settings.seed for entry in traces] == [3, 3, 9]
    assert {entry.header.prompt for entry in traces} == {PROMPT}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"steps": 0}, "steps cannot be 0"),
        ({"steps": 1000}, "allowed is a whole number from 1 to 256"),
        ({"preset": "magic"}, "preset cannot be 'magic'"),
        ({"preset": ["arpc"]}, "preset cannot be"),
        ({"preset": {"arpc": 1}}, "preset cannot be"),
        ({"model": "../math-masked"}, "Choose one of the models"),
        ({"prompt": "Zorbulax has 3 apples."}, "zorbulax"),
        ({"prompt": "apple " * 1000}, "at most 4000"),
        ({"seed": "x"}, "seed cannot be"),
    ],
)
def test_bad_input_is_refused_in_words(client: Client, asked: dict[str, object], says: str) -> None:
    known = {"model": "math-masked", "prompt": PROMPT, **asked}
    with pytest.raises(AppError, match=r"(?i)" + says):
        client.predict(**known, api_name="/generate")


def test_compare_takes_two_to_four_runs(client: Client) -> None:
    one = {"model": "math-masked", "steps": 1}
    for runs in ([one], [one] * 5, [one, "math-uniform"], [one, {**one, "prompt": "other"}], "all"):
        with pytest.raises(AppError, match="run"):
            client.predict(prompt=PROMPT, runs=runs, api_name="/compare")


def test_a_run_is_stepped_into(client: Client, folder: Path) -> None:
    text = client.predict("math-masked", PROMPT, "ancestral", steps=2, seed=5, api_name="/generate")
    parent = trace(text)
    at = next(k for k, entry in enumerate(parent.passes) if entry.phase == "commit")
    position = parent.passes[at].stop - 1
    edit = {"at": at, "renoise": [position], "settings": {"seed": 9}}
    packed = base64.b64encode(gzip.compress(text.encode())).decode()
    model = load("math-masked", folder=folder)
    checker = checker_for(model, known_answer(PROMPT))
    known = fork(model, parent, Edit(at, renoise=(position,), settings={"seed": 9}), checker=checker)
    for given in (text, packed):
        assert trace(client.predict(given, edit, api_name="/fork")).same_content(known)
    for given, wrong, reason in (
        ("{}", edit, "trace"),
        ("%%%", edit, "in base64"),
        (text, {"at": at, "renoise": [0]}, "belongs to the prompt"),
    ):
        with pytest.raises(AppError, match=reason):
            client.predict(given, wrong, api_name="/fork")


def content(file: dict[str, str]) -> bytes:
    return base64.b64decode(file["data"]) if file["encoding"] == "base64" else file["data"].encode()


@pytest.mark.slow
def test_runs_are_exported_as_files(client: Client) -> None:
    asked = {"model": "math-masked", "prompt": PROMPT, "steps": 2}
    one = client.predict(**asked, api_name="/generate")
    other = client.predict(**{**asked, "model": "math-uniform"}, api_name="/generate")
    packed = base64.b64encode(gzip.compress(other.encode())).decode()
    (page,) = client.predict(runs=[one, packed], kind="html", views=False, api_name="/export")
    assert page["name"] == "math-masked-arpc-seed-0-math-uniform-arpc-seed-0.html"
    assert page["data"] == exported([trace(one), trace(other)], views=False)
    (film,) = client.predict(runs=[one, packed], kind="gif", frames=3, theme="dark", api_name="/export")
    assert (film["media"], content(film)[:6]) == ("image/gif", b"GIF89a")
    with Image.open(io.BytesIO(content(film))) as frames:
        assert frames.n_frames == 3
        assert frames.size[0] == Board([trace(one), trace(other)]).size[0]
    tables = client.predict(runs=[one], kind="csv", api_name="/export")
    assert [file["name"].rsplit("-", 1)[1] for file in tables] == ["passes.csv", "positions.csv"]
    assert content(tables[0]).decode().count("\n") == len(trace(one).passes) + 1
    (document,) = client.predict(runs=[one], kind="json", api_name="/export")
    assert json.loads(document["data"])["run"] == trace(one).header.run


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"kind": "exe"}, "kind cannot be 'exe'"),
        ({"runs": []}, "one to 4 runs"),
        ({"runs": "x"}, "one to 4 runs"),
        ({"runs": [1]}, "trace must be"),
        ({"runs": ["%%%"]}, "trace must be"),
        ({"runs": ['{"no": "trace"}']}, "not the header"),
        ({"theme": "pink"}, "theme cannot be"),
        ({"frames": 10**6}, "at most 400"),
        ({"frames": "many"}, "frames cannot be many"),
        ({"kind": "picture", "number": 10**6}, "pass cannot be"),
        ({"align": "moon"}, "align cannot be"),
    ],
)
def test_a_bad_export_is_refused_in_words(client: Client, asked: dict[str, object], says: str) -> None:
    known = {"runs": [recorded(FIRST)], "kind": "gif", **asked}
    with pytest.raises(AppError, match=says):
        client.predict(**known, api_name="/export")


def raw(client: Client, path: str, body: object) -> str:
    """What a call by raw HTTP answers: the text of its events."""
    address = f"{client.src}gradio_api/call/{path}"
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    event = json.loads(urllib.request.urlopen(request, timeout=60).read())["event_id"]
    return urllib.request.urlopen(f"{address}/{event}", timeout=120).read().decode()


def test_a_raw_call_with_too_few_values_is_answered_in_words(client: Client) -> None:
    answer = raw(client, "generate", {"data": ["math-masked", PROMPT]})
    assert "event: error" in answer
    assert f"/generate takes {len(FIELDS) + 3} values" in answer
    assert "call/v2/generate" in answer


def test_a_raw_call_may_name_its_values_and_leave_the_rest_out(client: Client) -> None:
    answer = raw(client, "v2/generate", {"model": "math-masked", "prompt": PROMPT, "steps": 1})
    assert "event: complete" in answer
    (text,) = json.loads(answer.split("event: complete\ndata: ", 1)[1].split("\n", 1)[0])
    assert trace(text).header.settings.steps == 1
