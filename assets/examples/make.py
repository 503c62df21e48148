"""Record the runs that the page shows before anything is clicked: real traces of the bundled checkpoints, unedited.

Run it from the repository: python assets/examples/make.py. Same checkpoints, device and versions: same runs.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1]))

from blockviz import load, sample  # noqa: E402
from blockviz.evaluation.tasks import EXAMPLE_PROMPTS, checker_for, known_answer  # noqa: E402

# file: (model, example prompt, settings). Compare shares prompt, seed and settings: only the noise differs.
RUNS: dict[str, tuple[str, int, dict[str, object]]] = {
    "explore": ("math-masked", 0, {"preset": "arpc", "seed": 0}),
    "compare-a": ("math-masked", 1, {"preset": "arpc", "seed": 0}),
    "compare-b": ("math-uniform", 1, {"preset": "arpc", "seed": 0}),
}


def main() -> None:
    """Write every run of RUNS beside this file and print what it came to."""
    for file, (name, number, settings) in RUNS.items():
        model = load(name, device="cpu")
        prompt = EXAMPLE_PROMPTS[number].prompt
        checker = checker_for(model, known_answer(prompt))
        trace = sample(model, prompt, checker=checker, **settings)
        path = FOLDER / f"{file}.jsonl.gz"
        trace.save(path)
        print(
            f"{path.name}: {path.stat().st_size / 1000:.0f} kB, {trace.end.passes} passes: {trace.end.text}"
        )


if __name__ == "__main__":
    main()
