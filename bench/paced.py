"""The page with a sampler that replays a recorded run at a steady pace: what the page makes of a given rate."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from blockviz.sampling import run
from blockviz.sampling.passes import End, Header, Pass
from blockviz.sampling.trace_lines import Event


def replay(header: Header, passes: Sequence[Pass], rate: float) -> Callable[..., Iterator[Event]]:
    """A stand-in for `blockviz.sampling.run.stream` that gives these passes, `rate` a second, whatever is asked.

    Every run gets a name of its own; a run that is told to stop ends as a real one does.
    """
    serial = count(1)

    def stream(*_: object, should_stop: Callable[[], bool] = lambda: False, **__: object) -> Iterator[Event]:
        yield replace(header, run=f"{next(serial):08x}")
        begun = time.monotonic()
        for i, entry in enumerate(passes):
            time.sleep(max(0.0, begun + i / rate - time.monotonic()))
            if should_stop():
                yield End(time.monotonic() - begun, True, "stopped", "", i)
                return
            yield entry
        yield End(time.monotonic() - begun, False, "canvas", "", len(passes))

    return stream


def serve(header: Header, passes: Sequence[Pass], rate: float, flags: list[str]) -> int:
    """Start app.py with these flags and the replay in place of the sampler."""
    import app

    run.stream = replay(  # type: ignore[assignment]
        header, passes, rate
    )
    return app.main(flags)


def main(arguments: list[str] | None = None) -> int:
    """`python -m bench.paced --rate 20 --port 7940`: a run of the bundled model, again and again at this pace."""
    from bench.models import bundled, with_length
    from bench.sampling import PROMPT

    parser = argparse.ArgumentParser(prog="python -m bench.paced", description=__doc__)
    parser.add_argument("--rate", type=float, default=20.0, help="passes a second (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=6, help="steps of a block (default: %(default)s)")
    options, flags = parser.parse_known_args(arguments)
    model = with_length(bundled(), 128)
    trace = run.sample(
        model, PROMPT, preset="arpc", block_size=16, steps=options.steps, length=128, fill_canvas=True
    )
    return serve(trace.header, trace.passes, options.rate, flags)


if __name__ == "__main__":
    sys.exit(main())
