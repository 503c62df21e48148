from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from blockviz.export.colors import colors, gif_palette, rgb
from blockviz.export.frames import frame
from blockviz.export.picture import Painter, picture
from blockviz.export.sheet import MARGIN, MOST_LINES, TOP, WIDTH, sheet
from blockviz.views.palette import PALETTES, THEMES, Theme
from tests.browser.fake_runs import fake_run

SHAPES = [(64, 16), (64, 1), (60, 4), (96, 8), (50, 7), (128, 32), (100, 24), (1024, 16), (300, 300)]


def shaped(length: int, block_size: int) -> Any:
    return fake_run("uniform", length=length, block_size=block_size, steps=1, prompt_length=3)


@pytest.mark.parametrize(("length", "block_size"), SHAPES)
def test_cells_lie_beside_each_other_inside_the_picture(length: int, block_size: int) -> None:
    plan = sheet(shaped(length, block_size))
    corners = [plan.cell_at(position, 0) for position in range(length)]
    shown = [corner for corner in corners if corner is not None]
    assert len(set(shown)) == len(shown)
    assert len(shown) == length or plan.lines > MOST_LINES
    for (x, y), position in zip(shown, itertools.count()):
        assert x >= MARGIN
        assert x + plan.cell <= WIDTH - MARGIN
        assert y >= TOP
        assert y + plan.height <= plan.bottom
        box = plan.block_at(position // block_size, 0)
        assert box is not None
        assert box[0] < x < x + plan.cell < box[2]
        assert box[1] < y < y + plan.height < box[3]
    rows = {y for _, y in shown}
    for y in rows:
        across = sorted(x for x, row in shown if row == y)
        assert all(right - left > plan.cell for left, right in itertools.pairwise(across))
    assert plan.cell >= 24


def test_a_long_canvas_is_followed() -> None:
    trace = fake_run("uniform", length=2048, block_size=16, steps=1, prompt_length=3)
    plan = sheet(trace)
    assert plan.lines > plan.shown == MOST_LINES
    firsts = [plan.first_line(entry) for entry in trace.passes]
    assert firsts == sorted(firsts)
    for entry, first in zip(trace.passes[1:], firsts[1:], strict=True):
        assert plan.cell_at(entry.start, first) is not None
        assert plan.cell_at(entry.stop - 1, first) is not None
        start, stop = plan.positions_shown(first)
        assert start <= entry.start < entry.stop <= stop


@pytest.mark.parametrize("theme", THEMES)
def test_pictures_use_the_pages_colours(theme: Theme) -> None:
    found, palette = colors(theme), PALETTES[theme]
    for name, color in (
        ("accent", palette.accent),
        ("renoise", palette.renoise),
        ("card", palette.card),
        ("ink", palette.ink),
        ("muted", palette.muted),
        ("line", palette.line),
        ("prompt", palette.prompt),
        ("prompt-bg", palette.prompt_bg),
        ("checked", palette.checked),
    ):
        assert found[name] == rgb(color), name
    table = np.array(gif_palette(theme)).reshape(256, 3)
    for name, color in found.items():
        assert (table == color).all(axis=1).any(), name


def test_nothing_moves_between_frames() -> None:
    trace = fake_run("masked", seed=2)
    painter = Painter(trace)
    images = [np.asarray(painter.paint(number)) for number in range(len(trace.passes))]
    width, height = painter.size
    assert width == WIDTH
    assert height % 2 == 0
    assert {image.shape for image in images} == {(height, width, 3)}
    foot = painter.sheet.bottom + 60
    for image in images:
        assert (image[:56] == images[0][:56]).all(), "the title stands still"
        assert (image[-40:] == images[0][-40:]).all(), "the footer stands still"
    assert foot < height


def test_each_state_is_painted_in_its_colour() -> None:
    trace = fake_run("masked", seed=1)
    painter = Painter(trace)
    seen = set()
    ground = {"revealed": "accent", "prompt": "prompt-bg", "renoised": "renoise-bg", "kept": "card"}
    for number in range(len(trace.passes)):
        image = painter.paint(number)
        for cell in frame(trace, number).cells:
            corner = painter.sheet.cell_at(cell.position, 0)
            if corner is None or cell.state not in ground or cell.check:
                continue
            seen.add(cell.state)
            # Under the text, inside the border.
            place = corner[0] + painter.sheet.cell // 2, corner[1] + painter.sheet.height - 4
            assert image.getpixel(place) == painter.colors[ground[cell.state]], (number, cell)
    assert seen == set(ground)


def test_one_picture_of_one_pass() -> None:
    trace = fake_run("uniform")
    assert picture(trace, 3, "dark").getpixel((2, 2)) == rgb(PALETTES["dark"].card)
    with pytest.raises(IndexError):
        picture(trace, len(trace.passes))
