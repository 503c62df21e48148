"""The Learn tab: its part of the page, and the routes that hand out chapters and their runs when they are opened."""

from __future__ import annotations

import json

import gradio as gr
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from blockviz.sampling.trace import TraceError
from blockviz.ui.examples import packed
from blockviz.ui.learn.book import contents, page, run_names
from blockviz.ui.learn.chapters import CHAPTERS
from blockviz.ui.learn.glossary import table
from blockviz.ui.player_component import part
from blockviz.ui.serving import Asset
from blockviz.ui.wording import LEARN, NO_CHAPTER, NO_CHAPTER_RUN


def build(files: dict[str, Asset]) -> None:
    """Put the tab into the current Blocks; no chapter and no run is read before it is opened."""
    runs = {name: files[asset_name(name)].address for name in lesson_runs() if asset_name(name) in files}
    with gr.Column(elem_id="learn"):
        part(
            "learn",
            files,
            elem_id="learn-part",
            chapters=contents(),
            runs=runs,
            words=LEARN,
            address="blockviz/learn/",
            plotly=files["plotly.js"].address,
        )


def glossary_script() -> bytes:
    """The glossary for assets/glossary.js."""
    text = json.dumps(table(), ensure_ascii=False).replace("<", "\\u003c")
    return f"window.BlockViz.terms = {text};\n".encode()


def lesson_runs() -> list[str]:
    """Every recorded run that a chapter shows, by name."""
    return list(dict.fromkeys(name for chapter in CHAPTERS for name in run_names(chapter)))


def asset_name(run: str) -> str:
    """The name under which a recorded run is served."""
    return f"{run}.jsonl"


def run_assets() -> list[Asset]:
    """The recorded runs of all chapters as they lie on disk, compressed; those that are missing are left out."""
    return [
        Asset(asset_name(name), content, "application/x-ndjson; charset=utf-8", "gzip")
        for name in lesson_runs()
        if (content := packed(name))
    ]


def routes() -> list[Route]:
    """One route for the chapters: a name that is not in the list is not found."""
    known = {chapter.name for chapter in CHAPTERS}

    # Not async: reading the runs of a chapter takes a moment, in which other answers should not wait.
    def serve(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in known:
            return PlainTextResponse(NO_CHAPTER, status_code=404)
        try:
            content = page(name)
        except TraceError:
            return PlainTextResponse(NO_CHAPTER_RUN, status_code=404)
        headers = {"cache-control": "no-cache"}
        return Response(content, media_type="application/json; charset=utf-8", headers=headers)

    return [Route("/blockviz/learn/{name}", serve, methods=["GET", "HEAD"])]
