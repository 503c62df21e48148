from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from blockviz.export import film
from blockviz.export.board import LABELS, SPREADS, TOP, Board, together
from blockviz.export.files import Options, write
from blockviz.export.frames import frame
from blockviz.export.words import ExportError
from blockviz.sampling.trace import Trace
from blockviz.views.alignment import AXES, Axis
from tests.browser.fake_runs import fake_run

SHORT = fake_run("masked", length=32, steps=2, prompt_length=10)
LONG = fake_run("uniform", length=32, steps=5, prompt_length=10, seed=1)
GROUND = {"revealed": "accent", "prompt": "prompt-bg", "renoised": "renoise-bg", "kept": "card"}


def four() -> list[Trace]:
    return [
        SHORT,
        LONG,
        fake_run("masked", seed=3, steps=1),
        fake_run("uniform", seed=4, length=100, block_size=32),
    ]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_run_has_its_column_and_nothing_moves(count: int) -> None:
    runs = four()[:count]
    board = Board(runs)
    width, height = board.size
    assert (width, height % 2) == (1280 if count == 2 else 1920, 0)
    for index, panel in enumerate(board.panels):
        corners = [panel.sheet.cell_at(position, 0) for position in range(panel.sheet.length)]
        shown = [corner for corner in corners if corner is not None]
        assert len(set(shown)) == len(shown) == panel.sheet.length
        assert panel.sheet.columns <= SPREADS[count] * 1.25
        assert min(x for x, _ in shown) >= index * width // count + 20
        assert max(x for x, _ in shown) + panel.sheet.cell <= (index + 1) * width // count - 8
        assert min(y for _, y in shown) >= TOP
        assert panel.bottom < height
    images = [
        np.asarray(board.paint(number))
        for number in (0, len(board.lead.passes) // 2, len(board.lead.passes) - 1)
    ]
    for image in images:
        assert (image[:50] == images[0][:50]).all(), "the title stands still"
        assert (image[-60:] == images[0][-60:]).all(), "the footer stands still"


@pytest.mark.parametrize("axis", AXES)
def test_each_column_shows_the_frame_of_its_run_at_that_time(axis: Axis) -> None:
    runs = [SHORT, LONG]
    board = Board(runs, axis=axis)
    rows = together(runs, axis).rows
    seen = set()
    for number in range(len(board.lead.passes)):
        image = board.paint(number)
        for panel, (own, _) in zip(board.panels, rows[number], strict=True):
            for cell in frame(panel.trace, own).cells:
                corner = panel.sheet.cell_at(cell.position, 0)
                if corner is None or cell.state not in GROUND or cell.check:
                    continue
                seen.add(cell.state)
                place = corner[0] + panel.sheet.cell // 2, corner[1] + panel.sheet.height - 4
                assert image.getpixel(place) == board.stand.colors[GROUND[cell.state]], (number, cell)
    assert seen == set(GROUND)


def test_a_run_that_is_over_keeps_its_last_frame() -> None:
    beside = together([SHORT, LONG], "pass")
    assert beside.lead == 1
    last = len(SHORT.passes) - 1
    for number, row in enumerate(beside.rows):
        assert row == ((min(number, last), number > last), (number, False))
    board = Board([SHORT, LONG])
    ended, before = board.paint(last + 1), board.paint(last)
    left = (0, TOP, board.size[0] // 2 - 4, board.panels[0].bottom)
    assert (np.asarray(ended.crop(left)) == np.asarray(before.crop(left))).all()
    assert (np.asarray(ended) != np.asarray(before)).any()


@pytest.mark.slow
def test_a_film_of_several_runs_is_one_film(tmp_path: Path) -> None:
    (path,) = write(
        [SHORT, LONG], ["a", "b"], ["gif"], tmp_path, Options(beside=True, axis="nfe", theme="dark")
    )
    assert path.name == "a-b.gif"
    board = Board([SHORT, LONG], "dark", axis="nfe")
    with Image.open(path) as gif:
        assert gif.n_frames == len(board.lead.passes)
        assert gif.size == board.size
        assert b"toy-masked" in gif.info["comment"]
        assert b"toy-uniform" in gif.info["comment"]
        for number in (0, 3, gif.n_frames - 1):
            gif.seek(number)
            shown = np.asarray(gif.convert("RGB"), dtype=int)
            drawn = np.asarray(board.paint(number), dtype=int)
            assert (np.abs(shown - drawn).max(axis=2) > 24).mean() < 0.001
    separate = write([SHORT, LONG], ["a", "b"], ["gif"], tmp_path, Options(limit=2))
    assert [path.name for path in separate] == ["a.gif", "b.gif"]


@pytest.mark.slow
def test_an_mp4_of_several_runs(tmp_path: Path) -> None:
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    film.write_mp4(four(), tmp_path / "four.mp4", limit=3, axis="share")
    frames, _ = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "four.mp4"))
    assert frames == round((film.HOLD_FIRST + 2 / film.RATE + film.HOLD_LAST) * film.FILM_RATE)


def test_only_two_to_four_runs_stand_side_by_side() -> None:
    for count in (1, 5):
        with pytest.raises(ExportError, match="2 to 4 runs"):
            Board([SHORT] * count)
    assert len(LABELS) == 4
    Board([SHORT, SHORT]).paint(0)  # the same run twice
