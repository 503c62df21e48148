"""What the command line says of a finished run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from blockviz.base.command_line import printable
from blockviz.sampling.trace import Trace
from blockviz.sampling.trace_lines import fork_body


def tell(trace: Trace, out: Path | None, as_json: bool) -> None:
    """Write the trace to `out`, where there is one, and print what came of the run."""
    header, settings = trace.header, trace.header.settings
    if out is not None:
        trace.save(out)
    last = trace.passes[-1]
    if not as_json:
        print(printable(trace.end.text))
        for check in last.checks:
            print(printable(f"  {check.verdict}: {check.text}"))
        print(
            f"{last.nfe_denoise + last.nfe_verify} network calls ({last.nfe_denoise} denoise + {last.nfe_verify} "
            f"verify), {trace.end.passes} passes, {trace.end.seconds:.2f} s, seed {settings.seed}"
        )
        if header.fork is not None:
            again = header.fork.rebuilt
            print(
                printable(f"a fork of run {header.fork.parent} from pass {header.fork.at}, which took ")
                + f"{again} further network call{'' if again == 1 else 's'} to have again"
            )
        return
    report = {
        "text": trace.end.text,
        "nfe_denoise": last.nfe_denoise,
        "nfe_verify": last.nfe_verify,
        "passes": trace.end.passes,
        "seconds": trace.end.seconds,
        "seed": settings.seed,
        "settings": settings.to_dict(),
        "model": header.model.name,
        "hash": header.model.hash,
        "device": header.device,
        "prompt": header.prompt,
        "finished": trace.end.finished,
        "checks": [asdict(check) for check in last.checks],
        "fork": None if header.fork is None else fork_body(header.fork),
        "out": None if out is None else str(out),
    }
    print(json.dumps(report))
