"""Measure everything, print a table, write bench/results.json and the README's table: `python -m bench`."""

from __future__ import annotations

import argparse
import sys

from tqdm import tqdm

from bench import browser, models, network, readme, sampling
from bench.results import Result, write


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark, or parts of it, and print the table; 1 when a target is missed and `--strict` is given."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("part", nargs="*", choices=[[], *PARTS, "readme"], help="parts to run (default: all)")
    parser.add_argument(
        "--quick", action="store_true", help="few rounds: shows that it works, not how fast it is"
    )
    parser.add_argument(
        "--keep", action="store_true", help="put the parts that were run into the results of the others"
    )
    parser.add_argument("--strict", action="store_true", help="exit code 1 when a target is missed")
    options = parser.parse_args(arguments)
    if options.part == ["readme"]:
        readme.update()
        return 0
    parts = options.part or list(PARTS)
    results: list[Result] = []
    for part in tqdm([part for part in parts if part in PARTS], desc="benchmark", unit="part", leave=False):
        results += PARTS[part](options.quick)
    for result in results:
        value = f"{result.value:.3g} {result.unit}"
        verdict = "met" if result.met else "MISSED"
        sys.stdout.write(f"{result.name:<52} {value:<32} {result.target:<32} {verdict}\n    {result.how}\n")
    if not options.quick and (options.keep or not options.part):
        write(results, keep=options.keep)
        readme.update()
    return int(options.strict and not all(result.met for result in results))


def network_part(quick: bool) -> list[Result]:
    """One pass over the bare matrix products of its shapes, for the bundled model and at 170 M parameters."""
    large = models.random_model(models.LARGE, "170 M, random weights")
    return [
        *network.measure(models.bundled(), "bundled model", 2.0, 64, 5 if quick else 100),
        *network.measure(large, "170 M parameters", 1.2, 512, 1 if quick else 9),
    ]


def sampling_part(quick: bool) -> list[Result]:
    """Cache, recording and batches."""
    small = models.bundled()
    large = models.random_model(models.LARGE, "170 M, random weights")
    rounds = 1 if quick else 5
    return [
        sampling.cache(models.with_length(small, 256), "bundled model", 2 if quick else 8, rounds),
        sampling.cache(large, "170 M parameters", 1 if quick else 2, 1 if quick else 2),
        sampling.recording(small, "bundled model", 15.0, 128, 2 if quick else 8, 2 * rounds),
        sampling.recording(large, "170 M parameters", 3.0, 64 if quick else 128, 2, 1 if quick else 3),
        sampling.batch(small, "arpc", 8 if quick else 128, 1 if quick else 3),
        sampling.batch(small, "ar", 8 if quick else 128, 1 if quick else 3),
    ]


def browser_part(quick: bool) -> list[Result]:
    """The page in Chromium."""
    return browser.measure(moves=10 if quick else 100, clicks=2 if quick else 9, runs=3 if quick else 100)


PARTS = {"network": network_part, "sampling": sampling_part, "browser": browser_part}

if __name__ == "__main__":
    sys.exit(main())
