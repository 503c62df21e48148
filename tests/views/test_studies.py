"""The charts and tables of measurements: what they say is what was measured."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import pytest

from blockviz.sampling.settings import from_preset
from blockviz.views import cost, seams


def one(name: str, ms: float, calls: int = 10, tokens: int = 100, **more: Any) -> dict[str, Any]:
    settings = from_preset("arpc" if name == "asked" else "ancestral").to_dict()
    return {
        "name": name,
        "settings": settings,
        "tokens": tokens,
        "calls": calls,
        "verify": 0,
        "queries": 20_000,
        "pairs": 3_000_000,
        "milliseconds": ms,
        **more,
    }


def report(*costs: dict[str, Any]) -> dict[str, Any]:
    return {"model": "toy", "device": "cpu", "rounds": 3, "costs": list(costs)}


THREE = report(one("asked", 50.0, verify=4), one("canvas", 400.0), one("ar", 200.0, calls=100))
GRID = report(one("ar", 200.0), one("16/16", 240.0), one("16/1", 20.0), one("16/8", 130.0), one("4/8", 900.0))
SEAMS = {
    "model": "toy",
    "block_size": 4,
    "width": 1,
    "curves": [
        {
            "name": name,
            "runs": 9,
            "offsets": [0.5, None, 1.5, 2.0],
            "offset_errors": [0.1, None, None, 0.2],
            "boundary": 1.25,
            "interior": 1.0,
            "gap": 0.25,
            "gap_error": 0.1,
            "nll": 1.1,
            "nll_error": 0.05,
            "entropy": 2.0,
            "nfe_per_token": 0.5,
        }
        for name in ("none", "steps", "overlap", "renoise", "ar")
    ],
}


def test_the_table_is_what_was_measured() -> None:
    asked, canvas, ar = cost.rows(THREE)
    assert asked == [
        "this sampler: AR-informed corrector (ARPC)",
        *("100", "10 (4 verify)", "10.00", "20,000", "3,000,000", "50.0", "0.50", "0.25"),
    ]
    assert canvas[-1] == "2.00"
    assert ar[-1] == "1.00"
    text = cost.markdown(THREE)
    assert all(column in text for column in cost.COLUMNS)
    assert "medians of 3 rounds" in text


def test_guidance_follows_from_the_measurements() -> None:
    """At 8 of 16 steps still faster, at 16 slower; blocks of 4 with 8 steps are never faster."""
    small, large = cost.guidance(GRID)
    assert large == (
        "Blocks of 16: 8 steps (2 tokens per pass) take 0.65 times AR's time, still less than AR; "
        "16 steps (1 token per pass) take 1.20 times AR's time, more than AR."
    )
    assert small == "Blocks of 4: 8 steps (0.5 tokens per pass) take 4.50 times AR's time, more than AR."
    assert small in cost.markdown(GRID)
    assert cost.by_block(GRID)[16] == [(1, 0.1), (8, 0.65), (16, 1.2)]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("view", "data"), [(cost, THREE), (cost, GRID), (seams, SEAMS)])
def test_charts_are_plotly_figures_with_titles_axes_and_words(
    view: Any, data: dict[str, Any], theme: Any
) -> None:
    figure = view.figure(data, theme)
    go.Figure(figure)
    assert view.TITLE in figure["layout"]["title"]["text"]
    assert "toy" in figure["layout"]["title"]["text"]
    assert figure["layout"]["yaxis"]["title"]["text"]
    assert figure["layout"]["showlegend"]
    names = [trace["name"] for trace in figure["data"]]
    assert len(set(names)) == len(names)
    assert all(trace["hovertemplate"] for trace in figure["data"])


def test_places_without_a_token_are_left_out() -> None:
    first = seams.figure(SEAMS)["data"][0]
    assert (first["x"], first["y"]) == ([1, 3, 4], [0.5, 1.5, 2.0])
    assert first["error_y"]["array"] == [0.1, 0.0, 0.2]
    assert "+0.250 ± 0.100" in seams.markdown(SEAMS)
