"""The real page on which a made-up run comes at a steady pace.

`python -m tests.browser.paced_app RATE PLACES FLAGS...`: RATE passes a second; PLACES runs go at once, others wait.
"""

from __future__ import annotations

import sys
from functools import partial

from bench.paced import serve
from blockviz.ui import runner, sessions
from tests.browser.fake_runs import fake_run

BLOCKS, STEPS = 8, 90  # some 2,000 passes: no test waits for the end, however busy the machine is


def main(rate: str, places: str, *flags: str) -> int:
    """Serve until ended; the exit code is that of app.py."""
    trace = fake_run("uniform", length=16 * BLOCKS + 20, steps=STEPS, seed=1)
    runner.Places = partial(sessions.Places, int(places))  # type: ignore[assignment,misc]
    return serve(trace.header, trace.passes, float(rate), list(flags))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
