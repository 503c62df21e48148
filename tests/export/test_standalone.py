"""What an exported page is made of, read as text; tests/browser/test_exported_page.py opens it."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from blockviz import __version__
from blockviz.export import standalone
from blockviz.export.standalone import page
from blockviz.export.words import ExportError
from blockviz.sampling.trace import Trace
from blockviz.views.bundle import PLAYER_SCRIPTS, bundle, plotly_script
from tests.browser.fake_runs import fake_run

LARGE = fake_run("masked", length=128, steps=6, prompt_length=30)
HOSTILE = "</script><script>window.hit=1</script><!--${window.hit=1}--><img src=x onerror=window.hit=1>"


def elements(text: str, kind: str) -> list[str]:
    """The contents of the script elements whose type is `kind` ("" for none), as a browser's parser ends them."""
    attribute = rf' type="{re.escape(kind)}"[^>]*' if kind else ""
    return re.findall(rf"<script{attribute}>(.*?)</script>", text, re.DOTALL | re.IGNORECASE)


def runs_of(text: str) -> list[Trace]:
    return [Trace.from_lines(lines.splitlines()) for lines in elements(text, "application/x-ndjson")]


def test_it_is_small_enough_to_send() -> None:
    assert len(LARGE.passes) >= 96
    assert len(page([LARGE], views=False).encode()) < 3_000_000
    assert len(page([LARGE], views=True).encode()) < 8_000_000
    assert len(page([LARGE] * 4, views=True).encode()) < 8_000_000


def test_the_runs_stand_in_it_unchanged() -> None:
    other = fake_run("uniform", seed=5)
    first, second = runs_of(page([LARGE, other], views=False))
    assert first.same_content(LARGE)
    assert second.same_content(other)


def test_hostile_text_stays_data() -> None:
    pieces = {token: HOSTILE[: 5 + token % 80] for token in LARGE.pieces}
    header = replace(
        LARGE.header, prompt=HOSTILE, model=replace(LARGE.header.model, name=HOSTILE), run=HOSTILE
    )
    trace = replace(LARGE, header=header, pieces=pieces, end=replace(LARGE.end, text=HOSTILE))
    clean, text = page([LARGE], views=False), page([trace], views=False)
    mask = trace.header.model.mask_id
    assert runs_of(text)[0].pieces == pieces | {mask: LARGE.pieces[mask]}
    for tag in ("<script", "</script", "<img", "<!--"):
        assert text.lower().count(tag) == clean.lower().count(tag), tag
    for kind in ("application/json", "application/x-ndjson"):
        for data in elements(text, kind):
            assert "<" not in data
    assert json.loads(elements(text, "application/json")[0])["runs"][0]["title"].startswith("</script>")


@pytest.mark.parametrize("views", [True, False])
def test_only_its_own_scripts_may_run(views: bool) -> None:
    text = page([LARGE], views=views)
    content = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert content is not None
    rules = dict(rule.strip().split(" ", 1) for rule in html.unescape(content[1]).split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    scripts = elements(text, "")
    assert len(scripts) == (3 if views else 1)
    hashes = {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts}
    assert set(rules["script-src"].split()) == {f"'sha256-{value}'" for value in hashes}
    assert not re.search(r"<[^>]* on[a-z]+=", re.sub(r"<(script|style).*?</\1>", "", text, flags=re.DOTALL))


def test_it_has_the_pages_own_player_and_plotly_once() -> None:
    text = page([LARGE, LARGE], views=True)
    assert bundle(PLAYER_SCRIPTS).decode() in text
    assert text.count(plotly_script().decode()[:200]) == 1
    assert "Plotly" not in "".join(elements(page([LARGE], views=False), "application/json"))


def test_it_links_to_nothing() -> None:
    text = page([LARGE], views=False)
    assert not re.search(
        r"""(?:src|href)\s*=\s*["'](?!data:)""", re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    )
    assert set(re.findall(r"https?://[^\s\"')]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert "@import" not in text
    assert "url(" not in text


def test_the_footer_names_model_settings_seed_and_version() -> None:
    header = LARGE.header
    config = json.loads(elements(page([LARGE], views=False), "application/json")[0])
    first, second = config["runs"][0]["footer"]
    for words in (
        header.model.name,
        header.model.hash[:15],
        f"seed {header.settings.seed}",
        f"BlockViz {__version__}",
    ):
        assert words in first
    for name, value in header.settings.to_dict().items():
        if name != "seed" and value is not None:
            assert name.replace("_", " ") in second


def test_it_is_the_same_each_time() -> None:
    assert page([LARGE], views=False) == page([LARGE], views=False)


def test_attention_weights_travel_only_with_the_views() -> None:
    entry = LARGE.passes[-1]
    codes = np.zeros((LARGE.header.model.heads, entry.stop - entry.start, entry.stop), np.uint8)
    header = replace(LARGE.header, settings=replace(LARGE.header.settings, record_attention="heads"))
    trace = replace(LARGE, header=header, passes=(*LARGE.passes[:-1], replace(entry, attention=codes)))
    assert runs_of(page([trace], views=True))[0].passes[-1].attention is not None
    assert runs_of(page([trace], views=False))[0].passes[-1].attention is None


def test_how_many_and_how_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for traces in ([], [LARGE] * 5):
        with pytest.raises(ExportError, match="1 to 4 runs"):
            page(traces)
    monkeypatch.setattr(standalone, "MOST_CHARACTERS", 1000)
    with pytest.raises(ExportError, match="may hold 1000"):
        page([LARGE])
