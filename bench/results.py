"""What was measured, its table, and the place of the table in the README."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results.json"
Bound = Literal["at most", "at least"]


@dataclass(frozen=True)
class Result:
    """One measured figure with its target (DESIGN: "Speed and size to reach") and how it was measured."""

    name: str
    value: float
    unit: str
    bound: Bound
    limit: float
    how: str

    @property
    def met(self) -> bool:
        """Whether the value keeps its bound."""
        return self.value <= self.limit if self.bound == "at most" else self.value >= self.limit

    @property
    def target(self) -> str:
        """The bound in words, with its unit."""
        return f"{self.bound} {self.limit:g} {self.unit}"


def machine() -> str:
    """The machine in words: processor, logical cores, memory, system, Python and PyTorch."""
    import torch

    processor = platform.processor() or platform.machine()
    memory = ""
    if Path("/proc/cpuinfo").exists():
        names = [
            line.split(":", 1)[1]
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ]
        processor = names[0].strip() if names else processor
        gibibytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        memory = f", {gibibytes:.0f} GiB"
    return (
        f"{processor}, {os.cpu_count()} logical cores{memory}, {platform.system()}, "
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {torch.get_num_threads()} threads"
    )


def write(results: list[Result], path: Path = RESULTS, keep: bool = False) -> None:
    """Write the results as a JSON list; each entry also names the machine and says whether its target is met.

    With `keep` the file's other entries stay in their places, and new names are added at the end.
    """
    here = machine()
    entries = [
        {
            "name": result.name,
            "value": float(f"{result.value:.4g}"),
            "unit": result.unit,
            "target": result.target,
            "met": result.met,
            "how": result.how,
            "machine": here,
        }
        for result in results
    ]
    if keep and path.exists():
        fresh = {entry["name"]: entry for entry in entries}
        old = json.loads(path.read_text(encoding="utf-8"))
        entries = [fresh.pop(entry["name"], entry) for entry in old] + list(fresh.values())
    path.write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
