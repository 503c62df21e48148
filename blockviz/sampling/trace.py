"""The trace of a run: settings plus all passes, as columns, as pandas frames, and as a file. Knows no torch.

Files are the lines of `trace_lines` (the same the page streams), gzip-compressed when the name ends in `.gz`. They
round-trip exactly; a broken, foreign, newer, cut-short or huge file is refused with one sentence (`TraceError`). A file
may hold several runs, one after another: `cat a.jsonl.gz b.jsonl.gz > both.jsonl.gz` makes one.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blockviz.base.writing import complete
from blockviz.sampling.edits import Edit, EditError, Fork
from blockviz.sampling.passes import (
    ATTENTION_STEPS,
    FORMAT,
    MAX_CELLS,
    MAX_PASSES,
    PHASES,
    REASON_CODE,
    REASONS,
    STATE_CODE,
    STATES,
    TOP,
    Check,
    End,
    Header,
    ModelFacts,
    Pass,
    TraceError,
    attention_weights,
)
from blockviz.sampling.trace_lines import Event, LineWriter, Piece, Raw
from blockviz.sampling.trace_reader import LineReader

__all__ = [
    "ATTENTION_STEPS",
    "FORMAT",
    "PHASES",
    "REASONS",
    "REASON_CODE",
    "STATES",
    "STATE_CODE",
    "TOP",
    "Check",
    "Edit",
    "EditError",
    "End",
    "Event",
    "Fork",
    "Header",
    "LineReader",
    "LineWriter",
    "ModelFacts",
    "Pass",
    "Piece",
    "Raw",
    "Trace",
    "TraceError",
    "attention_weights",
    "save_all",
]

MAX_BYTES = 256 * 2**20
"""Bytes of a trace's lines (decompressed) and of its file."""
MAX_LINE_BYTES = 4 * 2**20
MOST_RUNS = 4
"""Runs of one file, as many as the page shows side by side."""


@dataclass(frozen=True)
class Trace:
    """A whole run. P passes, L positions; `pieces` maps every token id that occurs to its display piece, `raw` to the
    bytes of its text (none for a special token; files from before bytes were kept have no entries).

    Column properties are numpy arrays, one row per pass: [P], or [P, L] where the value belongs to a position. Values
    known only in the active window stand at their canvas positions, with NaN (floats), -1 (tokens) or 0 (reasons)
    elsewhere.
    """

    header: Header
    passes: tuple[Pass, ...]
    end: End
    pieces: dict[int, str]
    raw: dict[int, bytes] = field(default_factory=dict)

    @classmethod
    def collect(cls, events: Iterable[Event], piece: Piece, raw: Raw | None = None) -> Trace:
        """The trace of a whole stream of events; `piece` maps a token id to its display piece, `raw` to its bytes.

        Raises `TraceError`.
        """
        writer = LineWriter(piece, raw)
        header, passes, end = None, [], None
        for event in events:
            if isinstance(event, Pass):
                passes.append(event)
            elif isinstance(event, Header):
                header = event
            else:
                end = event
        if header is None or end is None:
            raise TraceError("The run was cut short: it has no header or no end.")
        pieces = writer.pieces([header, *passes])
        return cls(header, tuple(passes), end, pieces, writer.bytes_of(pieces))

    # Columns, one value per pass.

    def column(self, name: str) -> NDArray[Any]:
        """One scalar field of every pass as an array [P] (`cut` is NaN where nothing was re-noised)."""
        values = [getattr(entry, name) for entry in self.passes]
        if name == "cut":
            return np.array([np.nan if value is None else value for value in values], np.float64)
        return np.array(values)

    @cached_property
    def tokens(self) -> NDArray[np.int32]:
        """Token ids after each pass [P, L]."""
        return self._canvas("tokens", np.int32)

    @cached_property
    def tokens_before(self) -> NDArray[np.int32]:
        """Token ids before each pass [P, L]; before the first pass, those after it."""
        return np.concatenate((self.tokens[:1], self.tokens[:-1]))

    @cached_property
    def states(self) -> NDArray[np.uint8]:
        """State codes after each pass [P, L], indices into STATES."""
        return self._canvas("states", np.uint8)

    @cached_property
    def reasons(self) -> NDArray[np.uint8]:
        """Why each position is as it is after the pass [P, L], indices into REASONS; 0 (none) outside the window."""
        return self._scatter("reasons", 0, np.uint8)

    @cached_property
    def confidence(self) -> NDArray[np.float32]:
        """Probability the latest prediction gives the token in place [P, L]; NaN outside the window."""
        return self._scatter("confidence", np.nan, np.float32)

    @cached_property
    def entropy(self) -> NDArray[np.float32]:
        """Entropy of the latest prediction in nats [P, L]; NaN outside the window."""
        return self._scatter("entropy", np.nan, np.float32)

    @cached_property
    def ar_logprob(self) -> NDArray[np.float32]:
        """Autoregressive log-probability of the proposal in nats [P, L]; NaN where it was not verified."""
        return self._scatter("ar_logprob", np.nan, np.float32)

    @cached_property
    def score(self) -> NDArray[np.float32]:
        """The score that decided what was re-noised [P, L]; NaN where none did."""
        return self._scatter("score", np.nan, np.float32)

    @cached_property
    def verify_tokens(self) -> NDArray[np.int32]:
        """Noise tokens the verification was drawn with [P, L]; -1 where there were none."""
        return self._scatter("verify_tokens", -1, np.int32)

    def _canvas(self, name: str, dtype: type) -> NDArray[Any]:
        out: NDArray[Any] = np.empty((len(self.passes), self.header.length), dtype)
        for row, entry in zip(out, self.passes, strict=True):
            row[:] = getattr(entry, name)
        out.flags.writeable = False
        return out

    def _scatter(self, name: str, missing: float, dtype: type) -> NDArray[Any]:
        out: NDArray[Any] = np.full((len(self.passes), self.header.length), missing, dtype)
        for row, entry in zip(out, self.passes, strict=True):
            row[entry.start : entry.stop] = getattr(entry, name)
        out.flags.writeable = False
        return out

    def edit_at(self, k: int) -> Edit | None:
        """The edit that pass `k` is; None for every other pass."""
        fork = self.header.fork
        return None if fork is None else next((edit for edit in fork.edits if edit.at + 1 == k), None)

    # Frames.

    def passes_frame(self) -> pd.DataFrame:
        """One row per pass with its scalar facts, indexed by pass."""
        names = "phase block step alpha_t alpha_s temperature nfe_denoise nfe_verify cached clean ms start stop k cut"
        frame = pd.DataFrame({name: self.column(name) for name in names.split()})
        return frame.rename_axis("pass")

    def to_frame(self) -> pd.DataFrame:
        """One row per pass and position (P x L rows).

        Columns: the facts of the pass, then token before and after, piece, state, reason, confidence, entropy,
        ar_logprob, score and the likeliest candidate of that position.
        """
        passes, length = len(self.passes), self.header.length
        facts = self.passes_frame().reset_index()
        frame = facts.loc[facts.index.repeat(length)].reset_index(drop=True)
        pieces = pd.Series(self.pieces, dtype=object)
        best, best_probability = self._best()
        return frame.assign(
            position=np.tile(np.arange(length), passes),
            position_block=np.tile([self.header.block_of(position) for position in range(length)], passes),
            token_before=self.tokens_before.ravel(),
            token=self.tokens.ravel(),
            # Plain objects: with pyarrow at hand pandas would make strings that cannot hold a lone surrogate.
            piece=pd.Series(pieces.reindex(self.tokens.ravel()).to_numpy(), dtype=object),
            state=pd.Categorical.from_codes(self.states.ravel(), list(STATES)),
            reason=pd.Categorical.from_codes(self.reasons.ravel(), list(REASONS)),
            confidence=self.confidence.ravel(),
            entropy=self.entropy.ravel(),
            ar_logprob=self.ar_logprob.ravel(),
            score=self.score.ravel(),
            best=best.ravel(),
            best_probability=best_probability.ravel(),
        )

    def _best(self) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        ids = np.full((len(self.passes), self.header.length), -1, np.int32)
        probabilities = np.full(ids.shape, np.nan, np.float32)
        for index, entry in enumerate(self.passes):
            window = slice(entry.start, entry.stop)
            ids[index, window] = entry.top_ids[:, 0]
            probabilities[index, window] = np.where(entry.top_ids[:, 0] >= 0, entry.top_probs[:, 0], np.nan)
        return ids, probabilities

    def content_hash(self) -> str:
        """SHA-256 of the run, in hexadecimal digits, equal for runs that are `same_content`."""
        plain = replace(
            self,
            header=replace(self.header, run="", created=""),
            passes=tuple(replace(entry, ms=0.0) for entry in self.passes),
            end=replace(self.end, seconds=0.0),
        )
        digest = hashlib.sha256()
        for line in plain.to_lines():
            digest.update(line.encode("ascii"))
        return digest.hexdigest()

    def same_content(self, other: Trace) -> bool:
        """Whether both are the same run in everything but run id, creation time, wall time and milliseconds."""
        mine = replace(self.header, run="", created="")
        theirs = replace(other.header, run="", created="")
        return (
            mine == theirs
            and replace(self.end, seconds=0.0) == replace(other.end, seconds=0.0)
            and self.pieces == other.pieces
            and self.raw == other.raw
            and len(self.passes) == len(other.passes)
            and all(
                a.same(b, ignore=frozenset({"ms"})) for a, b in zip(self.passes, other.passes, strict=True)
            )
        )

    # Lines and files.

    def events(self) -> Iterator[Event]:
        """Header, passes and end in order, as `stream` yields them."""
        yield self.header
        yield from self.passes
        yield self.end

    def to_lines(self) -> Iterator[str]:
        """The trace as lines, each ending in a newline."""
        writer = LineWriter(self.pieces.__getitem__, self.raw.get)
        for event in self.events():
            yield writer.line(event)

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> Trace:
        """The trace of lines, with or without their newlines; raises `TraceError` with the reason."""
        traces = list(_traces(lines, most=1))
        return traces[0]

    @classmethod
    def all_from_lines(cls, lines: Iterable[str]) -> list[Trace]:
        """The traces of up to MOST_RUNS runs whose lines follow each other; raises `TraceError` with the reason."""
        return list(_traces(lines, MOST_RUNS))

    def save(self, path: str | Path) -> None:
        """Write the trace to `path`, gzip-compressed if the name ends in .gz; replaces a file only when complete.

        Raises `TargetError` (an OSError) where no regular file can stand.
        """
        save_all([self], path)

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """The trace in the file `path`, compressed or not; raises `TraceError` with the reason, or `OSError`."""
        with open(path, "rb") as raw:
            return cls.from_lines(_lines_of(raw, MAX_BYTES))

    @classmethod
    def load_all(cls, path: str | Path) -> list[Trace]:
        """The runs in the file `path`, one to MOST_RUNS; raises `TraceError` with the reason, or `OSError`."""
        with open(path, "rb") as raw:
            return cls.read_all(raw, MAX_BYTES)

    @classmethod
    def read_all(cls, raw: IO[bytes], most_bytes: int = MAX_BYTES) -> list[Trace]:
        """The runs in an open binary file of at most `most_bytes`, unpacked or not; raises `TraceError`."""
        return cls.all_from_lines(_lines_of(raw, most_bytes))


def save_all(traces: Sequence[Trace], path: str | Path) -> None:
    """Write up to MOST_RUNS runs into one file, one after another, as `cat` would; otherwise as `Trace.save`."""
    if not 1 <= len(traces) <= MOST_RUNS:
        raise TraceError(f"A file holds 1 to {MOST_RUNS} runs, not {len(traces)}.")
    for trace in traces:
        passes, length = len(trace.passes), trace.header.length
        if passes > MAX_PASSES or passes * length > MAX_CELLS:
            raise TraceError(
                f"The run has {passes} passes on {length} positions; a trace file may have {MAX_PASSES} passes and "
                f"{MAX_CELLS} cells (passes x positions)."
            )
    target = Path(path)
    text = "".join(line for trace in traces for line in trace.to_lines()).encode("ascii")
    if len(text) > MAX_BYTES:
        raise TraceError(f"The trace has {len(text)} bytes; a trace file may have {MAX_BYTES}.")
    with complete(target) as part:
        part.write_bytes(gzip.compress(text, 6, mtime=0) if target.suffix == ".gz" else text)


def _traces(lines: Iterable[str], most: int) -> Iterator[Trace]:
    """The runs of lines that follow each other; what begins after the end of the last one allowed is refused."""
    reader, passes, count = LineReader(), list[Pass](), 1
    for line in lines:
        if reader.end is not None and count < most:
            yield Trace(reader.header, tuple(passes), reader.end, reader.pieces, reader.raw)  # type: ignore[arg-type]
            reader, passes, count = LineReader(), [], count + 1
        try:
            event = reader.read(line)
        except TraceError as error:
            if count == 1:
                raise
            raise TraceError(f"Run {count} of the file: {error}") from None
        if isinstance(event, Pass):
            passes.append(event)
    if reader.header is None:
        raise TraceError("The trace is empty.")
    if reader.end is None:
        raise TraceError(f"The trace is cut short: it has {len(passes)} passes and no end.")
    yield Trace(reader.header, tuple(passes), reader.end, reader.pieces, reader.raw)


def _lines_of(raw: IO[bytes], most_bytes: int) -> Iterator[str]:
    """The lines of an open file, unpacked where it is compressed; raises `TraceError` for one that is too large."""
    size = raw.seek(0, os.SEEK_END)
    if size > most_bytes:
        raise TraceError(f"The file has {size} bytes; a trace file may have {most_bytes}.")
    raw.seek(0)
    zipped = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    with gzip.open(raw) if zipped else nullcontext(raw) as file:
        yield from _bounded(file, most_bytes)


def _bounded(file: IO[bytes] | gzip.GzipFile, most_bytes: int) -> Iterator[str]:
    """The lines of a file, never holding more than one, with the total size bounded while reading."""
    total = 0
    try:
        while line := file.readline(MAX_LINE_BYTES + 1):
            total += len(line)
            if len(line) > MAX_LINE_BYTES:
                raise TraceError(f"The trace has a line of more than {MAX_LINE_BYTES} bytes.")
            if total > most_bytes:
                raise TraceError(f"The trace has more than {most_bytes} bytes.")
            yield line.decode("utf-8")
    except UnicodeDecodeError:
        raise TraceError("The file is not text, so it is no trace.") from None
    except EOFError:
        raise TraceError("The trace is cut short: its compressed data ends early.") from None
    except (gzip.BadGzipFile, zlib.error):
        raise TraceError("The file's compressed data is damaged.") from None
