from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from blockviz.export import film
from blockviz.export.colors import rgb
from blockviz.export.frames import chosen
from blockviz.export.picture import Painter
from blockviz.export.words import ExportError
from blockviz.views.palette import PALETTES
from tests.browser.fake_runs import fake_run

TRACE = fake_run("masked", length=32, steps=2, prompt_length=10)


def test_a_gif_has_a_frame_per_pass_and_holds_the_last(tmp_path: Path) -> None:
    seen: list[int] = []

    def progress(numbers: Sequence[int]) -> Iterable[int]:
        for number in numbers:
            yield number
            seen.append(number)

    path = tmp_path / "run.gif"
    film.write_gif(TRACE, path, progress=progress)
    assert seen == list(range(len(TRACE.passes)))
    painter = Painter(TRACE)
    with Image.open(path) as gif:
        assert gif.n_frames == len(TRACE.passes)
        assert gif.size == painter.size
        assert gif.info["loop"] == 0
        assert b"toy-masked" in gif.info["comment"]
        times = []
        for number in range(gif.n_frames):
            gif.seek(number)
            times.append(gif.info["duration"])
            shown = np.asarray(gif.convert("RGB"), dtype=int)
            drawn = np.asarray(painter.paint(number), dtype=int)
            assert np.abs(shown - drawn).max() < 60, "only the edges of letters may differ a little"
            assert (np.abs(shown - drawn).max(axis=2) > 24).mean() < 0.001
    assert times == [1000, *[170] * (len(times) - 2), 3000]


def test_a_film_is_capped_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.gif"
    film.write_gif(TRACE, path, limit=4, theme="dark", rate=10)
    with Image.open(path) as gif:
        assert gif.n_frames == 4
        assert gif.convert("RGB").getpixel((2, 2)) == rgb(PALETTES["dark"].card)
    assert film.note(TRACE, (0, 1, 2, 3)).startswith(f"4 of {len(TRACE.passes)} passes")
    assert "the first, the last, then edits, then commits, then re-noisings" in film.note(TRACE, (0, 1, 2, 3))
    assert film.note(TRACE, range(len(TRACE.passes))) == ""


@pytest.mark.slow
def test_an_mp4_plays_as_long_as_it_should(tmp_path: Path) -> None:
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "run.mp4"
    film.write_mp4(TRACE, path, limit=5, rate=6)
    frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(path))
    expected = film.HOLD_FIRST + 4 / 6 + film.HOLD_LAST
    assert seconds == pytest.approx(expected, abs=0.1)
    assert frames == round(expected * film.FILM_RATE)
    reader = imageio_ffmpeg.read_frames(str(path), pix_fmt="rgb24")
    facts = next(reader)
    first = np.frombuffer(next(reader), np.uint8).reshape((*facts["size"][::-1], 3)).astype(int)
    reader.close()
    numbers = chosen(TRACE, 5)
    painter = Painter(TRACE, "light", numbers, film.note(TRACE, numbers))
    assert facts["size"] == painter.size
    assert np.abs(first - np.asarray(painter.paint(0))).mean() < 2


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"limit": 1}, "frames"),
        ({"limit": 9999}, "frames"),
        ({"rate": 0.0}, "rate"),
        ({"rate": float("nan")}, "rate"),
    ],
)
@pytest.mark.parametrize("write", [film.write_gif, film.write_mp4])
def test_bounds(write: object, options: dict[str, float], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=f"{reason} cannot be"):
        write(TRACE, tmp_path / "run", **options)  # type: ignore[operator]
    assert list(tmp_path.iterdir()) == []


def test_without_ffmpeg_mp4_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")

    def nothing() -> str:
        raise RuntimeError("no ffmpeg")

    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", nothing)
    with pytest.raises(ExportError, match="imageio-ffmpeg"):
        film.write_mp4(TRACE, tmp_path / "run.mp4")
