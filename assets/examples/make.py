"""Record the example runs of the gallery: real traces of the bundled checkpoints, unedited, with how they were chosen.

Run it from the repository: `python assets/examples/make.py`, or with the names of entries to record only those;
`--words` rewrites titles and sentences alone. What there is to record stands in `entries.py`. Same checkpoints, device
and versions: same runs. Of the seeds tried it takes the one that the entry's rule asks for, and writes into
`gallery.json` how many were tried and how many fit, so that nobody takes a chosen run for a usual one.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parents[1]), str(FOLDER)]

import numpy as np  # noqa: E402
import torch  # noqa: E402
from entries import ENTRIES, Entry, Run  # noqa: E402

from blockviz import load, sample  # noqa: E402
from blockviz.evaluation.tasks import EXAMPLE_PROMPTS, checker_for, known_answer  # noqa: E402
from blockviz.models.checkpoint import Model  # noqa: E402
from blockviz.sampling.trace import Trace  # noqa: E402

GALLERY = FOLDER / "gallery.json"
PICTURE = (24, 64)
"""Rows (passes) and columns (positions) of the small picture of a run."""


def record(model: Model, run: Run, seed: int) -> Trace:
    """One run as the page would make it, with the checker's verdicts."""
    prompt = EXAMPLE_PROMPTS[run.prompt].prompt
    checker = checker_for(model, known_answer(prompt))
    return sample(model, prompt, preset=run.preset, checker=checker, seed=seed, **run.settings)


def choose(entry: Entry, models: dict[str, Model]) -> tuple[tuple[Trace, ...], int]:
    """The runs of the seed that shows most, and how many seeds fit; raises SystemExit when none does."""
    assert entry.score is not None
    best: tuple[float, tuple[Trace, ...]] | None = None
    fitting = 0
    for seed in range(entry.seeds):
        traces = tuple(record(models[run.model], run, seed) for run in entry.runs)
        score = entry.score(traces)
        if score is None:
            continue
        fitting += 1
        if best is None or score > best[0]:
            best = score, traces
    if best is None:
        raise SystemExit(f"{entry.name}: none of {entry.seeds} seeds fits: {entry.rule}")
    return best[1], fitting


def written(entry: Entry, models: dict[str, Model]) -> dict[str, Any]:
    """Record an entry's runs as files; returns what `gallery.json` says of how they were chosen."""
    if not entry.runs:
        return {}
    traces, fitting = choose(entry, models)
    for run, trace in zip(entry.runs, traces, strict=True):
        path = FOLDER / f"{run.name}.jsonl.gz"
        trace.save(path)
        size = path.stat().st_size / 1000
        seed = trace.header.settings.seed
        print(
            f"{path.name}: seed {seed}, {fitting} of {entry.seeds} fit, {trace.end.passes} passes, {size:.0f} kB"
        )
        print(f"  {trace.end.text}", flush=True)
    return {"seeds_tried": entry.seeds, "seeds_fitting": fitting, "rule": entry.rule}


def picture(name: str) -> list[str]:
    """A recorded run at a glance: a row of state digits for each of some of its passes, evenly thinned."""
    states = Trace.load(FOLDER / f"{name}.jsonl.gz").states
    rows, columns = (
        np.linspace(0, size - 1, count).round().astype(int)
        for size, count in zip(states.shape, PICTURE, strict=True)
    )
    return ["".join(map(str, row)) for row in states[np.ix_(rows, columns)].tolist()]


def main() -> None:
    """Record the entries asked for (all without names) and write `gallery.json`."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [entry.name for entry in ENTRIES]
    parser.add_argument("names", nargs="*", choices=[[], *names], metavar="NAME", help=", ".join(names))
    parser.add_argument("--words", action="store_true", help="record nothing, rewrite titles and sentences")
    options = parser.parse_args()
    # As the page does for small models, so that the milliseconds in these traces are like its own.
    torch.set_num_threads(1)
    before = {}
    if GALLERY.exists():
        before = {
            entry["name"]: entry["chosen"] for entry in json.loads(GALLERY.read_text("utf-8"))["entries"]
        }
    models: dict[str, Model] = {}
    listed = []
    for entry in ENTRIES:
        chosen = before.get(entry.name, {})
        if not options.words and entry.name in (options.names or names):
            models |= {
                run.model: load(run.model, device="cpu") for run in entry.runs if run.model not in models
            }
            chosen = written(entry, models)
        runs = list(entry.shown) or [run.name for run in entry.runs]
        listed.append(
            {
                "name": entry.name,
                "title": entry.title,
                "sentence": entry.sentence,
                "runs": runs,
                "chosen": chosen,
            }
        )
    pictures = {name: picture(name) for entry in listed for name in entry["runs"]}
    text = json.dumps({"entries": listed, "pictures": pictures}, indent=1, ensure_ascii=False)
    GALLERY.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
