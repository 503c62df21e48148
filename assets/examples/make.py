"""Record the example runs of the gallery and of Learn: real traces of the bundled checkpoints, unedited.

Run it from the repository: `python assets/examples/make.py`, or with the names of entries to record only those;
`--words` rewrites titles and sentences alone. What there is to record stands in `entries.py` and `lessons.py`. Same
checkpoints, device and versions: same runs. Of the seeds tried it takes the one that the entry's rule asks for, and
writes into `gallery.json` and `lessons.json` how many were tried and how many fit, so that nobody takes a chosen run
for a usual one.
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
from entries import ENTRIES, Entry, Run, right  # noqa: E402
from lessons import LESSONS  # noqa: E402

from blockviz import load, sample  # noqa: E402
from blockviz.evaluation.tasks import EXAMPLE_PROMPTS, checker_for, known_answer  # noqa: E402
from blockviz.models.checkpoint import Model  # noqa: E402
from blockviz.sampling.trace import Trace  # noqa: E402

GALLERY, CHAPTERS = FOLDER / "gallery.json", FOLDER / "lessons.json"
PICTURE = (24, 64)
"""Rows (passes) and columns (positions) of the small picture of a run."""


def record(model: Model, run: Run, seed: int) -> Trace:
    """One run as the page would make it, with the checker's verdicts."""
    problem = run.prompt if isinstance(run.prompt, str) else EXAMPLE_PROMPTS[run.prompt].prompt
    checker = checker_for(model, known_answer(problem))
    prompt = f"{problem} {run.more}".rstrip()
    return sample(model, prompt, preset=run.preset, checker=checker, seed=seed, **run.settings)


def choose(entry: Entry, models: dict[str, Model]) -> tuple[tuple[Trace, ...], dict[str, Any]]:
    """The runs of the seed that shows most, and what is kept of the choice; raises SystemExit when no seed fits."""
    assert entry.score is not None
    best: tuple[float, tuple[Trace, ...]] | None = None
    fitting, ends_right = 0, dict.fromkeys((run.name for run in entry.runs), 0)
    for seed in range(entry.seeds):
        traces = tuple(record(models[run.model], run, seed) for run in entry.runs)
        for run, trace in zip(entry.runs, traces, strict=True):
            ends_right[run.name] += right(trace)
        score = entry.score(traces)
        if score is None:
            continue
        fitting += 1
        if best is None or score > best[0]:
            best = score, traces
    if best is None:
        raise SystemExit(f"{entry.name}: none of {entry.seeds} seeds fits: {entry.rule}")
    chosen = {"seeds_tried": entry.seeds, "seeds_fitting": fitting, "rule": entry.rule}
    if entry.task == "math":
        chosen["right"] = ends_right
    return best[1], chosen


def written(entry: Entry, models: dict[str, Model]) -> dict[str, Any]:
    """Record an entry's runs as files; returns what is kept of how they were chosen."""
    if not entry.runs:
        return {}
    traces, chosen = choose(entry, models)
    fitting = chosen["seeds_fitting"]
    for run, trace in zip(entry.runs, traces, strict=True):
        path = FOLDER / f"{run.name}.jsonl.gz"
        trace.save(path)
        size = path.stat().st_size / 1000
        seed = trace.header.settings.seed
        print(
            f"{path.name}: seed {seed}, {fitting} of {entry.seeds} fit, {trace.end.passes} passes, {size:.0f} kB"
        )
        print(f"  {trace.end.text}", flush=True)
    return chosen


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
    names = [entry.name for entry in (*ENTRIES, *LESSONS)]
    parser.add_argument("names", nargs="*", choices=[[], *names], metavar="NAME", help=", ".join(names))
    parser.add_argument("--words", action="store_true", help="record nothing, rewrite titles and sentences")
    options = parser.parse_args()
    # As the page does for small models, so that the milliseconds in these traces are like its own.
    torch.set_num_threads(1)
    models: dict[str, Model] = {}
    gallery, lessons = (
        [
            recorded(entry, [] if options.words else options.names or names, kept(path), models)
            for entry in entries
        ]
        for entries, path in ((ENTRIES, GALLERY), (LESSONS, CHAPTERS))
    )
    pictures = {name: picture(name) for entry in gallery for name in entry["runs"]}
    write(GALLERY, {"entries": gallery, "pictures": pictures})
    words = ("name", "runs", "chosen")  # the sentences of a lesson stand in its chapter
    write(CHAPTERS, {"entries": [{word: entry[word] for word in words} for entry in lessons]})


def kept(path: Path) -> dict[str, Any]:
    """How the entries of an earlier recording were chosen, by name; nothing before the first."""
    if not path.exists():
        return {}
    return {entry["name"]: entry["chosen"] for entry in json.loads(path.read_text("utf-8"))["entries"]}


def recorded(
    entry: Entry, names: list[str], before: dict[str, Any], models: dict[str, Model]
) -> dict[str, Any]:
    """What is written of an entry, which is recorded where its name is asked for."""
    chosen = before.get(entry.name, {})
    if entry.name in names:
        models |= {run.model: load(run.model, device="cpu") for run in entry.runs if run.model not in models}
        chosen = written(entry, models)
    runs = list(entry.shown) or [run.name for run in entry.runs]
    return {
        "name": entry.name,
        "task": entry.task,
        "title": entry.title,
        "sentence": entry.sentence,
        "runs": runs,
        "chosen": chosen,
    }


def write(path: Path, content: dict[str, Any]) -> None:
    """Write a list of entries as JSON."""
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
