"""A run as tables (CSV, Parquet) and as one readable JSON document. Text columns hold the text as it is."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from blockviz import __version__
from blockviz.export.words import ExportError, about, title
from blockviz.sampling.trace import FORMAT, REASONS, STATES, Pass, Trace

MOST_ROWS = 4_000_000
"""Rows of a table of positions (passes x positions)."""
DECIMALS = {"confidence": 4, "entropy": 3, "ar_logprob": 3, "score": 3}


def passes_table(trace: Trace) -> pd.DataFrame:
    """One row per pass: run, pass, then the columns of `Trace.passes_frame`."""
    frame = trace.passes_frame().reset_index()
    frame.insert(0, "run", _escape(trace.header.run))
    return frame


def positions_table(trace: Trace) -> pd.DataFrame:
    """One row per pass and position: run, then the columns of `Trace.to_frame`; raises `ExportError` when too large."""
    rows = len(trace.passes) * trace.header.length
    if rows > MOST_ROWS:
        raise ExportError(
            f"The table of positions would have {rows} rows (passes times positions); it may have {MOST_ROWS}."
        )
    trace = _encodable(trace)
    frame = trace.to_frame()
    frame.insert(0, "run", trace.header.run)
    # Fixed point of the trace, not the nearest float32: 0.1234 instead of 0.12340000271797180.
    for name, decimals in {**DECIMALS, "best_probability": 3}.items():
        frame[name] = frame[name].astype(np.float64).round(decimals)
    return frame


def tables(trace: Trace) -> dict[str, pd.DataFrame]:
    """Both tables by what their rows are; raises `ExportError` when one would be too large."""
    return {"passes": passes_table(trace), "positions": positions_table(trace)}


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV: UTF-8, a header line, empty cells for what is not known."""
    frame.to_csv(path, index=False, lineterminator="\n")


def write_parquet(frame: pd.DataFrame, path: Path, trace: Trace) -> None:
    """Write a table as Parquet, with model, settings, seed and version in the file's metadata; raises `ExportError`."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ExportError("Parquet needs pyarrow: install requirements.txt, or write CSV.") from None
    table = pa.Table.from_pandas(frame, preserve_index=False)
    facts = {f"blockviz.{name}": value for name, value in about([trace]).items()}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **facts, "blockviz": __version__})
    pq.write_table(table, path)


def _encodable(trace: Trace) -> Trace:
    """The run with lone surrogates, which no UTF-8 file can hold, written as escapes."""
    pieces = {token: _escape(piece) for token, piece in trace.pieces.items()}
    return replace(trace, header=replace(trace.header, run=_escape(trace.header.run)), pieces=pieces)


def _escape(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def document(trace: Trace) -> dict[str, Any]:
    """The whole trace as plain values under readable names; unknown numbers are None."""
    header = trace.header
    return {
        "blockviz": {"version": __version__, "trace_format": FORMAT, "title": title(header)},
        "run": header.run,
        "created": header.created,
        "device": header.device,
        "versions": header.versions,
        "model": vars(header.model),
        "settings": header.settings.to_dict(),
        "seed": header.settings.seed,
        "prompt": header.prompt,
        "prompt_tokens": list(header.tokens),
        "length": header.length,
        "block_size": header.block_size,
        "pieces": {str(token): piece for token, piece in sorted(trace.pieces.items())},
        "bytes_hex": {str(token): content.hex() for token, content in sorted(trace.raw.items())},
        "passes": [_pass(trace, number) for number in range(len(trace.passes))],
        "end": vars(trace.end),
    }


def _pass(trace: Trace, number: int) -> dict[str, Any]:
    entry = trace.passes[number]
    return {
        "pass": number,
        "phase": entry.phase,
        "block": entry.block,
        "step": entry.step,
        "alpha": [entry.alpha_t, entry.alpha_s],
        "temperature": entry.temperature,
        "nfe": {"denoise": entry.nfe_denoise, "verify": entry.nfe_verify},
        "cached": entry.cached,
        "clean": entry.clean,
        "milliseconds": entry.ms,
        "renoised": entry.k,
        "cut": entry.cut,
        "tokens": entry.tokens.tolist(),
        "states": [STATES[code] for code in entry.states.tolist()],
        "window": {
            "start": entry.start,
            "stop": entry.stop,
            "reasons": [REASONS[code] for code in entry.reasons.tolist()],
            **{name: _numbers(getattr(entry, name), decimals) for name, decimals in DECIMALS.items()},
            "candidates": _candidates(entry),
            "verify_tokens": [None if token < 0 else token for token in entry.verify_tokens.tolist()],
            "attention": _attention(entry),
        },
        "checks": [vars(check) for check in entry.checks],
    }


def _numbers(values: np.ndarray, decimals: int) -> list[float | None]:
    return [None if value != value else round(value, decimals) for value in values.astype(float).tolist()]


def _candidates(entry: Pass) -> list[list[list[float]]]:
    """For each position of the window its candidates as pairs of token id and probability, the likeliest first."""
    return [
        [[token, round(p, 3)] for token, p in zip(ids, ps, strict=True) if token >= 0]
        for ids, ps in zip(entry.top_ids.tolist(), entry.top_probs.astype(float).tolist(), strict=True)
    ]


def _attention(entry: Pass) -> dict[str, Any] | None:
    if entry.attention is None:
        return None
    return {
        "shape": list(entry.attention.shape),
        "axes": ["head", "window position", "canvas position"],
        "weight": "(code / 255) squared",
        "codes_base64": b64encode(entry.attention.tobytes()).decode("ascii"),
    }


def json_text(trace: Trace) -> str:
    """The document as JSON: objects are indented, lists of values stay on one line."""
    return "".join(_lines(document(trace), "")) + "\n"


def _lines(value: object, indent: str) -> Iterator[str]:
    inner = indent + " "
    if isinstance(value, Mapping) and value:
        for index, (name, entry) in enumerate(value.items()):
            yield ("{\n" if index == 0 else ",\n") + inner + json.dumps(name) + ": "
            yield from _lines(entry, inner)
        yield "\n" + indent + "}"
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        for index, entry in enumerate(value):
            yield ("[\n" if index == 0 else ",\n") + inner
            yield from _lines(entry, inner)
        yield "\n" + indent + "]"
    else:
        yield _dump(value)


def _dump(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # Lone surrogates cannot be written in UTF-8; JSON has escapes for them.
    return text if text.isascii() else _escaped(text)


def _escaped(text: str) -> str:
    return "".join(
        f"\\u{ord(character):04x}" if 0xD800 <= ord(character) < 0xE000 else character for character in text
    )
