"""Record the runs that the page shows before anything is clicked: real traces of the bundled checkpoints, unedited.

Run it from the repository: python assets/examples/make.py. Same checkpoints, device and versions: same runs.
Of the seeds tried it takes the one whose run shows most of what a corrector is for: a draft that was wrong on the way,
a right answer at the end, and in between many tokens thrown back that the left-to-right reading found unlikely.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1]))

import torch  # noqa: E402

from blockviz import load, sample  # noqa: E402
from blockviz.evaluation.tasks import EXAMPLE_PROMPTS, checker_for, known_answer  # noqa: E402
from blockviz.models.checkpoint import Model  # noqa: E402
from blockviz.sampling.trace import Trace  # noqa: E402

SEEDS = range(64)
PRESET = "arpc"
# The prompt's number in EXAMPLE_PROMPTS, and which model writes which file; the files of a set share prompt and seed.
SETS: tuple[tuple[int, dict[str, str]], ...] = (
    (2, {"explore": "math-masked"}),
    (3, {"compare-a": "math-masked", "compare-b": "math-uniform"}),
)


def record(model: Model, prompt: str, seed: int) -> Trace:
    """One run at the page's own settings, with the checker's verdicts."""
    checker = checker_for(model, known_answer(prompt))
    return sample(model, prompt, preset=PRESET, checker=checker, seed=seed)


def right(trace: Trace) -> bool:
    """Whether everything that the checker judged at the end is right."""
    verdicts = [check.verdict for check in trace.passes[-1].checks]
    return bool(verdicts) and set(verdicts) == {"right"}


def caught(trace: Trace) -> bool:
    """Whether a statement was wrong on the way."""
    return any(check.verdict == "wrong" for entry in trace.passes for check in entry.checks)


def doubted(trace: Trace) -> int:
    """Tokens thrown back that AR gave less than 1 / e, in all passes together."""
    return sum(int((entry.score >= 1.0).sum()) for entry in trace.passes if entry.phase == "renoise")


def choose(models: dict[str, Model], prompt: str) -> dict[str, Trace]:
    """The runs of the seed that shows most; raises SystemExit when no seed ends right and was wrong on the way."""
    best: tuple[int, dict[str, Trace]] | None = None
    for seed in SEEDS:
        traces = {file: record(model, prompt, seed) for file, model in models.items()}
        if not (all(map(right, traces.values())) and any(map(caught, traces.values()))):
            continue
        shown = min(map(doubted, traces.values()))
        if best is None or shown > best[0]:
            best = shown, traces
    if best is None:
        raise SystemExit(f"no seed below {SEEDS.stop} shows a caught error and a right answer on: {prompt}")
    return best[1]


def main() -> None:
    """Write every run beside this file and print what it came to."""
    # As the page does for small models, so that the milliseconds in these traces are like its own.
    torch.set_num_threads(1)
    for number, files in SETS:
        models = {file: load(name, device="cpu") for file, name in files.items()}
        for file, trace in choose(models, EXAMPLE_PROMPTS[number].prompt).items():
            path = FOLDER / f"{file}.jsonl.gz"
            trace.save(path)
            size = path.stat().st_size / 1000
            print(f"{path.name}: seed {trace.header.settings.seed}, {trace.end.passes} passes, {size:.0f} kB")
            print(f"  {trace.end.text}")


if __name__ == "__main__":
    main()
