"""A run as a moving picture: GIF with Pillow, MP4 (H.264) with the ffmpeg that the package imageio-ffmpeg brings.

One frame per pass, at most `limit` of them (`frames.chosen` says which, and the footer says so); the start and the
last frame are held. Both files are written as they are drawn, with `progress` wrapped around the passes. Two to four
runs stand side by side in one film (`board`), which has the frames of the run that leads on `axis`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path

from PIL import Image

from blockviz.export.board import Board, together
from blockviz.export.colors import gif_palette
from blockviz.export.frames import chosen
from blockviz.export.picture import Painter
from blockviz.export.words import ExportError, about
from blockviz.sampling.trace import Trace
from blockviz.views.alignment import Axis
from blockviz.views.palette import Theme

Progress = Callable[[Sequence[int]], Iterable[int]]

RATE = 6.0
"""Passes a second, as on the page at speed 1x."""
RATES = (0.1, 50.0)
LIMIT = 200
LIMITS = (2, 2000)
HOLD_FIRST = 1.0
HOLD_LAST = 3.0
"""Seconds."""
FILM_RATE = 24
"""Frames a second of an MP4, in which a pass stands for several; slower ones stutter in some players."""
QUALITY = 18
"""Constant rate factor of H.264: 0 is lossless, 51 the worst."""


def note(trace: Trace, numbers: Sequence[int]) -> str:
    """What the footer says of the choice of frames."""
    count = len(trace.passes)
    if len(numbers) == count:
        return ""
    return (
        f"{len(numbers)} of {count} passes are shown: the first, the last, then edits, then commits, "
        "then re-noisings, then the others, evenly"
    )


def _prepare(
    traces: Sequence[Trace], theme: Theme, limit: int, rate: float, axis: Axis
) -> tuple[Painter | Board, tuple[int, ...]]:
    if not LIMITS[0] <= limit <= LIMITS[1]:
        raise ExportError(f"The number of frames cannot be {limit}; it is from {LIMITS[0]} to {LIMITS[1]}.")
    if not (math.isfinite(rate) and RATES[0] <= rate <= RATES[1]):
        raise ExportError(
            f"The rate cannot be {rate:g}; it is from {RATES[0]:g} to {RATES[1]:g} passes a second."
        )
    if len(traces) == 1:
        numbers = chosen(traces[0], limit)
        return Painter(traces[0], theme, numbers, note(traces[0], numbers)), numbers
    lead = traces[together(traces, axis).lead]
    numbers = chosen(lead, limit)
    return Board(traces, theme, numbers, note(lead, numbers), axis), numbers


def _all(traces: Trace | Sequence[Trace]) -> tuple[Trace, ...]:
    return (traces,) if isinstance(traces, Trace) else tuple(traces)


def silent(numbers: Sequence[int]) -> Iterable[int]:
    """No progress bar."""
    return numbers


def write_gif(
    traces: Trace | Sequence[Trace],
    path: Path,
    *,
    theme: Theme = "light",
    limit: int = LIMIT,
    rate: float = RATE,
    axis: Axis = "pass",
    progress: Progress = silent,
) -> None:
    """Write a run, or two to four side by side, as an endless GIF; raises `ExportError`."""
    runs = _all(traces)
    painter, numbers = _prepare(runs, theme, limit, rate, axis)
    palette = Image.new("P", (1, 1))
    palette.putpalette(gif_palette(theme))
    # Pillow counts hundredths of a second, and browsers slow down what is faster than two of them.
    times = [max(20, round(100 / rate) * 10)] * len(numbers)
    times[0] = max(times[0], round(HOLD_FIRST * 1000))
    times[-1] = max(times[-1], round(HOLD_LAST * 1000))

    def images() -> Generator[Image.Image]:
        for number in progress(numbers):
            yield painter.paint(number).quantize(palette=palette, dither=Image.Dither.NONE)

    stream = images()
    first = next(stream)
    comment = "\n".join(about(runs).values()).replace(" · ", "; ")
    first.save(
        path,
        "GIF",
        save_all=True,
        append_images=stream,
        duration=times,
        loop=0,
        disposal=1,
        optimize=False,
        comment=comment.encode("ascii", "replace"),
    )


def write_mp4(
    traces: Trace | Sequence[Trace],
    path: Path,
    *,
    theme: Theme = "light",
    limit: int = LIMIT,
    rate: float = RATE,
    axis: Axis = "pass",
    progress: Progress = silent,
) -> None:
    """Write a run, or two to four side by side, as an MP4; raises `ExportError`, also where there is no ffmpeg."""
    runs = _all(traces)
    painter, numbers = _prepare(runs, theme, limit, rate, axis)
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise ExportError(
            "MP4 needs ffmpeg, which the package imageio-ffmpeg brings: install requirements.txt, or write a GIF."
        ) from None
    facts = about(runs)
    writer = imageio_ffmpeg.write_frames(
        str(path),
        painter.size,
        fps=FILM_RATE,
        codec="libx264",
        macro_block_size=2,
        quality=None,
        output_params=[
            *("-crf", str(QUALITY), "-preset", "medium", "-tune", "animation", "-movflags", "+faststart"),
            # Say which matrix turns colours into video, or players guess and the page's colours shift.
            *("-vf", "scale=out_color_matrix=bt709:out_range=tv", "-colorspace", "bt709"),
            *("-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"),
            *("-f", "mp4", "-metadata", f"title={facts['title']}"),
            *("-metadata", f"comment={facts['model']} | {facts['settings']}"),
        ],
    )
    try:
        writer.send(None)
        shown = 0
        for index, number in enumerate(progress(numbers)):
            frame = painter.paint(number).tobytes()
            # By the clock, not by a rounded count, so that the rate is right on average.
            until = round(FILM_RATE * (HOLD_FIRST + index / rate))
            until += round(FILM_RATE * HOLD_LAST) if index == len(numbers) - 1 else 0
            for _ in range(max(1, until - shown)):
                writer.send(frame)
            shown = max(until, shown + 1)
    except OSError as error:
        raise ExportError(f"ffmpeg could not write the film: {' '.join(str(error).split())[-300:]}") from None
    finally:
        writer.close()
