"""Tokens as byte-level tokenizers have them, through the real display pieces, in a real browser.

Each is seen, none breaks the grid, none runs.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page

from blockviz.sampling.trace import Trace
from tests.browser.byte_tokens import BYTES, LONG, MARKS, PLAIN, TEXTS, TURNED, hand_made, trained
from tests.browser.fake_runs import fake_run
from tests.browser.test_player import DESK, PHONE, address, browser, feed, page, show, state

__all__ = ["address", "browser", "page"]  # fixtures of the player's tests
pytestmark = pytest.mark.browser

TOKENS = hand_made()
MARKS_AT = len(PLAIN) + len(BYTES)
EMOJI_AT = MARKS_AT + len(MARKS) + len(TURNED)
BOXES = """() => [...document.querySelectorAll(".bv-cell")].map((cell) => {
    const box = cell.getBoundingClientRect(), text = cell.querySelector(".bv-text").getBoundingClientRect();
    return { left: box.left, top: box.top, width: box.width, height: box.height, pos: Number(cell.dataset.pos),
             state: cell.dataset.state, words: cell.querySelector(".bv-text").textContent,
             over: Math.max(
               box.left - text.left, box.top - text.top, text.right - box.right, text.bottom - box.bottom) };
  })"""


def every_token(process: str = "uniform", **more: Any) -> Trace:
    """A run whose prompt is every token once, in order, and whose blocks are random ones of them."""
    return fake_run(
        process,
        length=112,
        prompt=range(len(TEXTS) + 1),
        vocabulary=len(TEXTS) + 1,
        shown=TOKENS.piece,
        seed=5,
        **more,
    )


def test_the_grid_holds_whatever_stands_in_it(page: Page) -> None:
    trace = every_token()
    for viewport in (DESK, PHONE):
        page.set_viewport_size(viewport)
        feed(page, trace)
        sizes = set()
        for k in range(len(trace.passes)):
            show(page, k)
            boxes = page.evaluate(BOXES)
            sizes |= {(round(box["width"], 1), round(box["height"], 1)) for box in boxes}
            assert max(box["over"] for box in boxes) < 1.0
            assert all(box["words"] for box in boxes)
            rows: dict[float, list[float]] = {}
            for box in boxes:
                rows.setdefault(box["top"], []).append(box["left"])
            assert all(row == sorted(row) for row in rows.values()), (
                "cells stand in the order of their positions"
            )
        assert len(sizes) == 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("window.hit") is None
    assert page.locator(".bv-player :is(img, script, br)").count() == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_token_leaves_ink_in_its_cell_and_none_outside(page: Page, dark: bool) -> None:
    page.set_viewport_size({"width": 1440, "height": 1200})
    page.evaluate("(dark) => document.body.classList.toggle('dark', dark)", dark)
    page.add_style_tag(content="* { transition: none !important } .bv-cell { background: none !important }")
    feed(page, every_token())
    show(page, 0)
    boxes = page.evaluate(BOXES)[: len(TEXTS) + 1]
    picture = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("L")).astype(int)
    for box in boxes:
        left, top = round(box["left"]), round(box["top"])
        right, bottom = left + round(box["width"]), top + round(box["height"])
        inside = picture[top + 2 : bottom - 2, left + 1 : right - 1]
        assert inside.max() - inside.min() > 60, f"position {box['pos']} shows nothing: {box['words']!r}"
        for name, edge in {
            "above": picture[top - 3 : top - 1, left:right],
            "below": picture[bottom + 1 : bottom + 3, left:right],
            "left": picture[top:bottom, left - 2 : left - 1],
            "right": picture[top:bottom, right + 1 : right + 2],
        }.items():
            assert edge.max() - edge.min() < 12, f"position {box['pos']} reaches out {name}: {box['words']!r}"


def test_the_card_names_the_character_that_tokens_make_together(page: Page) -> None:
    feed(page, every_token())
    show(page, 0)

    def together(position: int) -> str:
        page.hover(f"[data-testid=canvas] [data-pos='{position}']")
        row = page.locator(".bv-tip dt", has_text="together")
        return row.locator("+ dd").inner_text() if row.is_visible() else ""

    euro = len(PLAIN)
    for position in (euro, euro + 1, euro + 2):
        assert together(position) == f"positions {euro + 1} to {euro + 3}: \u2068€\u2069"
    for position in (euro + 3, euro + 4):
        assert together(position) == f"positions {euro + 4} to {euro + 5}: \u2068€\u2069"
    assert together(euro + 5) == "", "a byte that belongs to no character"
    assert together(MARKS_AT) == ""
    assert together(MARKS_AT + 1) == together(MARKS_AT + 2)
    assert together(MARKS_AT + 2) == f"positions {MARKS_AT + 2} to {MARKS_AT + 3}: \u2068e\u0301\u2069"
    family = EMOJI_AT + 2
    assert together(family + 1) == f"positions {family + 1} to {family + 3}: \u2068👨\u200d👩\u2069"
    flag = EMOJI_AT + 6
    assert together(flag) == f"positions {flag + 1} to {flag + 2}: \u2068🇫🇷\u2069"
    assert together(0) == ""


def test_a_trained_tokenizer_is_joined_to_the_text_it_read(page: Page) -> None:
    tokens = trained()
    written = "she said “€ 7” – ‘…’"
    ids = tokens.encode(written)
    pieces = [tokens.piece(i) for i in ids]
    assert any("⟨" in piece and not piece.startswith("⟨") for piece in pieces), (
        "a token holds half of a character"
    )
    feed(page, fake_run("masked", length=64, prompt=ids, vocabulary=tokens.vocab_size, shown=tokens.piece))
    joined = page.evaluate(
        "(count) => [...Array(count).keys()].map((pos) => BlockViz.pieces.joined(p.run, 0, pos))", len(ids)
    )
    for piece, part in zip(pieces, joined, strict=True):
        assert (part is not None) == ("⟨" in piece)
    found = {part["text"] for part in joined if part}
    assert found == {piece for piece in written if ord(piece) > 127 and piece not in "".join(pieces)}


def test_cards_stay_inside_and_say_the_whole_token(page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 1200})
    feed(page, every_token())
    show(page, 0)
    long = len(TEXTS) - len(TEXTS[TEXTS.index(LONG[0]) :])
    for position in [*range(long, long + len(LONG)), *range(MARKS_AT, EMOJI_AT + 4)]:
        page.hover(f"[data-testid=canvas] [data-pos='{position}']")
        layout = page.evaluate(
            """() => { const tip = document.querySelector(".bv-tip"), box = tip.getBoundingClientRect();
              const inside = [...tip.querySelectorAll("*")].filter((node) => node.getClientRects().length)
                .map((node) => node.getBoundingClientRect());
              return { over: Math.max(...inside.map((one) => one.right - box.right)), left: box.left,
                right: innerWidth - box.right, words: tip.querySelector(".bv-tip-token").textContent }; }"""
        )
        assert layout["over"] <= 0.5
        assert min(layout["left"], layout["right"]) >= 0
        assert layout["words"] == TOKENS.piece(position)


def test_a_trace_from_elsewhere_cannot_hide_or_reorder_anything(page: Page) -> None:
    lines = "".join(every_token().to_lines())
    raw = lines.replace('"Hello"', '"\\u202eHel\\u0000\\nlo\\ud800"')
    raw = raw.replace('"\\u2423world"', '"' + "y" * 3000 + '"')
    feed(page, raw)
    show(page, 0)
    boxes = page.evaluate(BOXES)
    assert boxes[0]["words"] == "⟨202E⟩Hel⟨00⟩⟨0A⟩lo⟨D800⟩"
    assert len(boxes[1]["words"]) <= 512
    assert state(page)["error"] is None


def test_the_picture_of_all_tokens(page: Page, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every state of every kind of token, in all the forms people look at; the pictures are kept for looking at."""
    folder = tmp_path_factory.mktemp("tokens")
    trace = every_token("masked")
    for name, size in (("desk", DESK), ("phone", PHONE)):
        page.set_viewport_size({**size, "height": 1300})
        for dark in (False, True):
            page.evaluate("(dark) => document.body.classList.toggle('dark', dark)", dark)
            feed(page, trace)
            for k in (0, 3, len(trace.passes) - 1):
                show(page, k)
                page.hover(f"[data-testid=canvas] [data-pos='{len(PLAIN) + k}']")
                path = folder / f"{name}-{'dark' if dark else 'light'}-{k}.png"
                page.screenshot(path=path)
                assert path.stat().st_size > 10_000
