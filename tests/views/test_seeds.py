from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from blockviz.views.seeds import CHARTS, SPREAD, figure, offset, template, templates

VALUES = [[0.5, 0.7, 0.6], [0.4, 0.4, 0.9]]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("chart", [name for name in CHARTS if name != "right"])
def test_every_run_has_a_row_of_dots_and_its_mean(chart: Any, theme: Any) -> None:
    drawn = figure(VALUES, chart, theme, seeds=[7, 8, 9])
    *dots, means = drawn["data"]
    assert [line["x"] for line in dots] == VALUES
    assert means["x"] == [pytest.approx(0.6), pytest.approx(1.7 / 3)]
    for row, line in enumerate(dots):
        assert all(abs(y - row) <= SPREAD / 2 + 1e-9 for y in line["y"])
        assert "seed 8" in line["text"][1]
    assert len({line["marker"]["symbol"] for line in template(chart, theme)["data"][:-1]}) == 4
    assert drawn["layout"]["yaxis"]["ticktext"] == ["A", "B"]


def test_rights_are_bars_with_their_intervals() -> None:
    drawn = figure([[1, 1, 0, 1], [0, 0, 0, 1]], "right", intervals=[(0.3, 0.95), (0.05, 0.7)])
    (bars,) = drawn["data"]
    assert bars["x"] == [75.0, 25.0]
    assert bars["error_x"]["array"] == [pytest.approx(20), pytest.approx(45)]
    assert bars["error_x"]["arrayminus"] == [pytest.approx(45), pytest.approx(20)]
    assert len(set(bars["marker"]["color"])) == 2


def test_dots_of_neighbouring_seeds_lie_apart() -> None:
    places = [offset(i) for i in range(50)]
    assert max(map(abs, places)) <= SPREAD / 2
    assert all(abs(a - b) > SPREAD / 4 for a, b in pairwise(places))


def test_templates_are_plain_and_titled() -> None:
    for chart, content in templates().items():
        assert content["title"]
        assert content["help"].endswith(".")
        assert content["light"]["layout"]["xaxis"]["title"]["text"], chart
    with pytest.raises(ValueError, match="1 to 4 runs"):
        figure([])
