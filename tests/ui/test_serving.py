from __future__ import annotations

import gzip
import re
from collections.abc import Iterator

import gradio as gr
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from blockviz.ui.files import Handoff
from blockviz.ui.serving import CLOSED, LARGEST_CALL, LARGEST_REQUEST, Guard, assets, routes
from blockviz.views.bundle import ASSETS, EXPORT_SCRIPTS, EXPORT_STYLES


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    files = assets()
    anything = Route("/{path:path}", lambda request: PlainTextResponse("open"), methods=["GET", "POST"])
    broken = Route("/broken", lambda request: [][1])
    app = Starlette(routes=[*routes(files, Handoff()), broken, anything], middleware=[Middleware(Guard)])
    with TestClient(app) as client:
        yield client


def test_each_asset_is_served_as_it_is_and_may_be_kept(client: TestClient) -> None:
    for file in assets().values():
        answer = client.get("/" + file.address)
        assert answer.status_code == 200
        assert answer.content == (gzip.decompress(file.content) if file.encoding else file.content)
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-type"].startswith(file.media.split(";")[0])
        assert client.get(f"/blockviz/{file.name}?v=old").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "name", ["theme.css", "../app.py", "%2e%2e%2fapp.py", "..%2f..%2fetc%2fpasswd", "blockviz.js%00", ""]
)
def test_other_names_are_not_served(client: TestClient, name: str) -> None:
    answer = client.get("/blockviz/" + name)
    assert answer.text in ("There is no such file.", "open")
    assert answer.status_code == 404 or answer.text == "open"


def test_the_routes_nobody_needs_are_closed(client: TestClient) -> None:
    for path in CLOSED:
        for method in ("get", "post"):
            assert getattr(client, method)(path + "x").status_code == 404, path
    assert client.get("/gradio_api/queue/data").text == "open"


def test_large_requests_and_those_without_a_length_are_refused(client: TestClient) -> None:
    assert client.post("/gradio_api/queue/join", content=b"x" * 1000).text == "open"
    assert client.post("/gradio_api/cancel", content=b"x" * (LARGEST_REQUEST + 1)).status_code == 413
    assert client.post("/gradio_api/queue/join", content=b"x" * (LARGEST_CALL + 1)).status_code == 413
    assert client.post("/gradio_api/queue/join", content=iter([b"x"])).status_code == 413


def test_every_answer_carries_the_headers(client: TestClient) -> None:
    for path in ("/", "/blockviz/blockviz.js", "/gradio_api/upload"):
        headers = client.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_a_request_that_breaks_the_server_is_answered_in_words_and_with_the_headers(
    client: TestClient,
) -> None:
    answer = client.get("/broken")
    assert (answer.status_code, answer.text) == (500, "The request could not be understood.")
    assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_the_closed_list_covers_what_gradio_has() -> None:
    from gradio.routes import App

    app = App.create_app(gr.Blocks())
    paths = {getattr(route, "path", "") for route in app.routes}
    risky = {
        path for path in paths if re.search(r"file|proxy|upload|stream|component|recording|vibe|deep", path)
    }
    harmless = {"/static/{path:path}", "/manifest.json"}
    left = {path for path in risky - harmless if not path.startswith(CLOSED)}
    assert left == set()


def test_every_script_and_style_of_ours_is_in_the_bundle() -> None:
    files = assets()
    for kind, bundle in (("*.js", files["blockviz.js"]), ("*.css", files["blockviz.css"])):
        for path in ASSETS.glob(kind):
            if path.name in (*EXPORT_SCRIPTS, *EXPORT_STYLES):
                continue  # only exported pages carry these
            assert path.read_bytes() in bundle.content, path.name


def test_nothing_is_fetched_from_elsewhere() -> None:
    for name in ("blockviz.js", "blockviz.css"):
        text = assets()[name].content.decode()
        found = set(re.findall(r"https?://[^\s\"')]+", text))
        assert found <= {"http://www.w3.org/2000/svg"}, name
