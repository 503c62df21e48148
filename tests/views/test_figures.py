"""The figures: real Plotly figures with titles, words on hover, and maps that stay small however long the run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from blockviz.sampling.trace import STATE_CODE, STATES, Trace
from blockviz.views import attention, confidence, fill, renoising, timeline
from blockviz.views.layout import MAX_COLUMNS, MAX_ROWS, boundaries, thin, tick_step
from blockviz.views.palette import PALETTES, THEMES
from blockviz.views.templates import SCRIPTS, STYLES, VIEWS, templates
from tests.views.runs import guided, large, left_to_right, with_attention

RUNS = {
    "guided": guided(length=40, block_size=16),
    "uniform": guided(process="uniform", length=40, block_size=16),
    "whole canvas": guided(length=32, block_size=32, prompt_length=5),
    "small blocks": guided(length=24, block_size=4),
    "left to right": left_to_right(),
    "wide": large(5, 80),
    "looked at": with_attention(guided(length=40, block_size=16)),
}


def text_of(figure: dict[str, Any]) -> str:
    return json.dumps(figure)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
@pytest.mark.parametrize("name", RUNS)
def test_every_pass_gives_a_valid_figure(view: ModuleType, name: str) -> None:
    trace = RUNS[name]
    last = len(trace.passes) - 1
    for k, theme in ((0, "light"), (min(3, last), "dark"), (last, "light")):
        figure = view.figure(trace, k, theme)
        go.Figure(figure)  # raises for anything that Plotly does not know
        json.dumps(figure, allow_nan=False)
        assert view.TITLE in figure["layout"]["title"]["text"]


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_axes_name_what_they_count(view: ModuleType) -> None:
    trace = RUNS["guided"]
    k = next(k for k, entry in enumerate(trace.passes) if entry.phase == "renoise")
    layout = view.figure(trace, k)["layout"]
    assert layout["xaxis"]["title"]["text"]
    assert layout["yaxis"]["title"]["text"]


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_a_pass_that_does_not_exist_is_refused(view: ModuleType) -> None:
    with pytest.raises(IndexError):
        view.figure(RUNS["guided"], 10_000)


def test_the_fill_map_holds_every_state() -> None:
    trace = RUNS["guided"]
    figure = fill.figure(trace, 3)
    assert np.array_equal(np.array(figure["data"][0]["z"]), trace.states)
    scale = dict(zip(STATES, figure["data"][0]["colorscale"][::2], strict=True))
    assert {name: color for name, (_, color) in scale.items()} == dict(
        zip(STATES, PALETTES["light"].states, strict=True)
    )
    row = figure["layout"]["shapes"][-1]
    assert (row["y0"], row["y1"]) == (2.5, 3.5)


def test_hover_speaks_in_words_and_tokens_are_never_markup() -> None:
    trace = left_to_right()
    assert fill.cell_words(trace, 1, 2) == (
        "position 3 · block 3<br>pass 1 · denoise, step 1<br><b>&lt;b&gt;&amp;</b>: new in this pass"
    )
    assert fill.cell_words(trace, 0, 0) == "position 1 · block 1<br>pass 0 · start<br><b>one</b>: prompt"
    hostile = guided(length=40)
    assert any("<img" in piece for piece in hostile.pieces.values()), "the run must hold a hostile token"
    for view in (fill, confidence, attention, renoising, timeline):
        for k in range(0, len(hostile.passes), 3):
            assert "<img" not in text_of(view.figure(hostile, k))
            assert "</script" not in text_of(view.figure(hostile, k))


def test_confidence_is_carried_forward_and_the_prompt_has_none() -> None:
    trace = left_to_right(length=6, prompt=2)
    values, seen = confidence.carried(trace)
    assert np.isnan(values[:, :2]).all()
    assert np.isnan(values[0]).all()
    assert values[1, 2:].tolist()[0] == pytest.approx(0.2)
    assert np.isnan(values[1, 3:]).all()
    assert values[-1, 2:].tolist() == pytest.approx([0.2, 0.3, 0.4, 0.5])
    assert seen[-1].tolist() == [-1, -1, 1, 2, 3, 4]
    words = confidence.cell_words(trace, 4, 3, 0.3, 2)
    assert "probability 0.300" in words
    assert "predicted in pass 2" in words
    assert "no prediction yet" in confidence.cell_words(trace, 0, 5, np.nan, -1)


def test_confidence_shows_the_noise_as_noise() -> None:
    trace = RUNS["wide"]
    assert "best candidate" in confidence.cell_words(trace, 1, 3, 0.5, 1)


def test_thinning_keeps_rare_events_and_bounds_the_map() -> None:
    trace = large(900, 1100)
    figure = fill.figure(trace, 5)
    z = np.array(figure["data"][0]["z"])
    assert z.shape[0] <= MAX_ROWS
    assert z.shape[1] <= MAX_COLUMNS
    renoised = STATE_CODE["renoised"]
    assert (z == renoised).any(axis=1).all(), "one re-noised position among many still shows"
    for k in (0, 450, 899):
        row, column = k // figure["data"][0]["dy"], (k % 1100) // figure["data"][0]["dx"]
        assert k == 0 or z[row, column] == renoised


def test_thinned_probabilities_are_means_of_what_is_known() -> None:
    values = np.array([[0.2, 0.4, np.nan, np.nan], [np.nan, 0.6, np.nan, 1.0]], np.float32)
    thinned = confidence.thin_values(values, 1, 2)
    assert thinned.tolist() == [pytest.approx([0.4, 1.0])]
    assert thin(10, 4).tolist() == [0, 3, 6, 9]
    assert thin(4, 10).tolist() == [0, 1, 2, 3]


def test_block_boundaries_are_one_shape_or_none() -> None:
    header = RUNS["guided"].header
    lines = boundaries(PALETTES["light"], header)
    assert lines is not None
    assert lines["path"] == "M16.5,0L16.5,1 M32.5,0L32.5,1"
    shifted = boundaries(PALETTES["light"], replace(header, origin=7))
    assert shifted is not None
    assert shifted["path"] == "M7.5,0L7.5,1 M23.5,0L23.5,1 M39.5,0L39.5,1"
    one = replace(header, block_size=1)
    assert boundaries(PALETTES["light"], one) is None, "a line at every position would hide the map"
    assert boundaries(PALETTES["light"], replace(header, length=16)) is None


@pytest.mark.parametrize(("length", "step"), [(1, 1), (8, 2), (64, 16), (80, 32), (128, 32), (1024, 256)])
def test_ticks_are_few_and_round(length: int, step: int) -> None:
    assert tick_step(length) == step


def test_the_quiet_chart_says_why_it_is_empty() -> None:
    assert "it has no corrector" in text_of(renoising.figure(RUNS["left to right"], 2))
    trace = RUNS["guided"]
    assert "No block is open yet" in text_of(renoising.figure(trace, 0))
    opening = next(k for k, entry in enumerate(trace.passes) if entry.phase == "propose")
    assert f"block {trace.passes[opening].block + 1} yet" in text_of(renoising.figure(trace, opening))


def test_the_cut_names_k_and_the_axis_its_unit() -> None:
    trace: Trace = RUNS["guided"]
    k = next(k for k, entry in enumerate(trace.passes) if entry.phase == "renoise")
    figure = renoising.figure(trace, k)
    cut = next(entry for entry in figure["data"] if entry["type"] == "scatter")
    assert f"cut: k = {trace.passes[k].k}" in cut["text"]
    assert figure["layout"]["yaxis"]["title"]["text"] == "AR −log p (nats)"
    spared, chosen = figure["data"][:2]
    assert sum(value is not None for value in chosen["y"]) == trace.passes[k].k
    assert not any(a is not None and b is not None for a, b in zip(spared["y"], chosen["y"], strict=True))
    assert chosen["marker"]["pattern"]["shape"], "not told by colour alone"


def test_the_mask_says_how_much_is_cached() -> None:
    trace = RUNS["small blocks"]
    k = max(k for k, entry in enumerate(trace.passes) if entry.phase == "verify")
    title = attention.figure(trace, k)["layout"]["title"]["text"]
    assert f"{trace.passes[k].cached} cached" in title
    assert f"Last forward (pass {k})" in attention.figure(trace, k + 1)["layout"]["title"]["text"]


def test_templates_are_plain_json_without_data() -> None:
    made = templates()
    assert list(made) == ["fill", "confidence", "renoising", "attention", "timeline"]
    text = json.dumps(made, allow_nan=False)
    assert "bdata" not in text
    assert len(text) < 60_000
    for view in made.values():
        assert view["title"]
        assert view["help"].endswith(".")
        assert view["light"] != view["dark"]
        for theme in THEMES:
            go.Figure({key: view[theme][key] for key in ("data", "layout")})
            assert view[theme]["layout"]["xaxis"]["title"] is not None


def test_the_scripts_exist() -> None:
    assets = Path(__file__).resolve().parents[2] / "assets"
    assert all((assets / name).is_file() for name in (*SCRIPTS, *STYLES))
