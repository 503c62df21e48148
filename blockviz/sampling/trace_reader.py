"""Reading the lines of a trace: checks everything, executes nothing, refuses the unknown with one sentence.

Formats: 1 says nothing of the model's attention and cache (`ModelFacts` has the values that then held) and knows no
recorded attention; 2 does. Files of either may lack the bytes of tokens; only forks have an entry `fork`. What was read
from an older format is written in the newest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import numpy as np

from blockviz.sampling.fixed_point import SCORE_LIMIT, TOP_SCALE, unscaled
from blockviz.sampling.json_checks import (
    check_keys,
    load_object,
    number,
    refuse,
    text_of,
    two_numbers,
    whole,
    wholes,
    word_of,
)
from blockviz.sampling.passes import (
    FORMAT,
    MAX_ATTENTION_RUN,
    MAX_CELLS,
    MAX_PASSES,
    PHASES,
    REASONS,
    STATES,
    TOP,
    Check,
    End,
    Finished,
    Header,
    Pass,
    TraceError,
)
from blockviz.sampling.settings import MAX_LENGTH, SettingsError, parse
from blockviz.sampling.trace_lines import FLOATS, Event
from blockviz.sampling.trace_values import (
    MAX_ID,
    attention_codes,
    checks_of,
    digits,
    fixed_point,
    fork_of,
    model_of,
)

MAX_PIECE = 512
OLDEST_FORMAT = 1
MAX_RAW = 4 * MAX_PIECE
"""Bytes of one token's text."""
_HEX = re.compile(r"(?:[0-9a-f]{2})*")

_HEADER_KEYS = frozenset(
    (
        *(
            "blockviz",
            "run",
            "model",
            "settings",
            "prompt",
            "prompt_length",
            "length",
            "block_size",
            "tokens",
        ),
        *("device", "versions", "created", "fork", "pieces", "bytes", "origin"),
    )
)
_OPTIONAL_HEADER_KEYS = frozenset(("fork", "pieces", "bytes", "origin"))
_OPTIONAL_KEYS = frozenset((*FLOATS, "top", "noise", "attn", "checks", "pieces", "bytes"))
_PASS_KEYS = _OPTIONAL_KEYS | frozenset(
    (
        *("i", "phase", "block", "step", "alpha", "temp", "nfe", "cached", "clean", "ms", "win", "k", "cut"),
        *("set", "state", "why"),
    )
)


class LineReader:
    """Turns the lines of one run back into events; `read` raises `TraceError` with the line's number and the reason."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.end: End | None = None
        self.pieces: dict[int, str] = {}
        self.raw: dict[int, bytes] = {}
        self._lines = 0
        self._tokens: np.ndarray | None = None
        self._checks: tuple[Check, ...] = ()
        self._nfe = (0, 0)
        self._passes = 0
        self._format = FORMAT
        self._attention = 0
        self._edits: frozenset[int] = frozenset()

    def read(self, line: str) -> Event:
        """The event of the next line."""
        try:
            return self._event(line)
        except TraceError as error:
            raise TraceError(f"Line {self._lines + 1} of the trace cannot be used: {error}") from None
        except SettingsError as error:
            raise TraceError(
                f"Line {self._lines + 1} of the trace has settings of another kind: {error}"
            ) from None
        finally:
            self._lines += 1

    def _event(self, line: str) -> Event:
        body = load_object(line)
        if self.header is None:
            self.header = self._header(body)
            return self.header
        if self.end is not None:
            raise TraceError("the run has already ended, and no more may follow it here.")
        if "end" in body:
            self.end = self._end(body)
            return self.end
        return self._pass(body, self.header)

    def _header(self, body: dict[str, Any]) -> Header:
        if "blockviz" not in body:
            raise TraceError("it is not the header of a BlockViz trace.")
        version = whole(body, "blockviz", 0, MAX_ID)
        if version > FORMAT:
            raise TraceError(
                f"it has format {version}, newer than format {FORMAT}, the newest this BlockViz reads."
            )
        if version < OLDEST_FORMAT:
            raise TraceError(
                f"it has the unknown format {version}; this BlockViz reads formats {OLDEST_FORMAT} to {FORMAT}."
            )
        self._format = version
        check_keys(body, _HEADER_KEYS, _HEADER_KEYS - _OPTIONAL_HEADER_KEYS)
        length = whole(body, "length", 1, MAX_LENGTH)
        self._learn(body)
        tokens = wholes(body, "tokens", None, 0, MAX_ID)
        if len(tokens) > length:
            refuse("tokens", f"at most {length} ids, as the canvas has")
        if whole(body, "prompt_length", 0, length) != len(tokens):
            refuse("prompt_length", f"{len(tokens)}, the number of prompt tokens")
        settings = body["settings"]
        if not isinstance(settings, dict):
            refuse("settings", "an object")
        versions = body["versions"]
        if not isinstance(versions, dict) or not all(isinstance(v, str) for v in versions.values()):
            refuse("versions", "an object of texts")
        self._known(tokens)
        parsed = parse(settings)
        fork = fork_of(body["fork"], length, parsed) if "fork" in body else None
        self._edits = frozenset() if fork is None else frozenset(edit.at + 1 for edit in fork.edits)
        block_size = whole(body, "block_size", 1, MAX_LENGTH)
        return Header(
            run=text_of(body, "run"),
            model=model_of(body["model"], version),
            settings=parsed,
            prompt=text_of(body, "prompt"),
            length=length,
            block_size=block_size,
            origin=whole(body, "origin", 0, min(block_size, length) - 1) if "origin" in body else 0,
            tokens=tuple(tokens),
            device=text_of(body, "device"),
            versions=versions,
            created=text_of(body, "created"),
            fork=fork,
        )

    def _pass(self, body: dict[str, Any], header: Header) -> Pass:
        known = _PASS_KEYS if self._format > 1 else _PASS_KEYS - {"attn"}
        check_keys(body, known, _PASS_KEYS - _OPTIONAL_KEYS)
        length = header.length
        if whole(body, "i", 0, MAX_PASSES - 1) != self._passes:
            refuse("i", f"{self._passes}, the number of this pass")
        if (self._passes + 1) * length > MAX_CELLS:
            raise TraceError(f"the trace is larger than {MAX_CELLS} cells (passes x positions).")
        start, stop = wholes(body, "win", 2, 0, length)
        if start > stop:
            refuse("win", "a start that is not behind its stop")
        width = stop - start
        self._learn(body)
        tokens = self._changed(wholes(body, "set", None, 0, MAX_ID), length)
        nfe = (wholes(body, "nfe", 2, 0, MAX_ID)[0], body["nfe"][1])
        if nfe[0] < self._nfe[0] or nfe[1] < self._nfe[1]:
            refuse("nfe", "counts that never fall")
        top_ids, top_probs = self._top(body, width)
        noise = wholes(body, "noise", width, -1, MAX_ID) if "noise" in body else [-1] * width
        self._known(noise)
        checks = checks_of(body, length) if "checks" in body else self._checks
        alpha_t, alpha_s = two_numbers(body, "alpha", 0.0, 1.0)
        phase = word_of(body, "phase", PHASES)
        if (phase == "edit") != (self._passes in self._edits):
            refuse("phase", "edit exactly where the header says that the run was edited")
        entry = Pass(
            phase=phase,
            block=whole(body, "block", 0, MAX_LENGTH),
            step=whole(body, "step", 0, MAX_ID),
            alpha_t=alpha_t,
            alpha_s=alpha_s,
            temperature=number(body["temp"], "temp", 0.0, 1e6),
            nfe_denoise=nfe[0],
            nfe_verify=nfe[1],
            cached=whole(body, "cached", 0, MAX_ID),
            clean=whole(body, "clean", 0, MAX_ID),
            ms=number(body["ms"], "ms", 0.0, 1e9),
            start=start,
            stop=stop,
            k=whole(body, "k", 0, width),
            cut=None if body["cut"] is None else number(body["cut"], "cut", -SCORE_LIMIT, SCORE_LIMIT),
            tokens=tokens,
            states=digits(body, "state", length, len(STATES)),
            reasons=digits(body, "why", width, len(REASONS)),
            confidence=fixed_point(body, "conf", width),
            entropy=fixed_point(body, "ent", width),
            ar_logprob=fixed_point(body, "ar", width),
            score=fixed_point(body, "score", width),
            top_ids=top_ids,
            top_probs=top_probs,
            verify_tokens=np.array(noise, np.int32),
            checks=checks,
            attention=self._weights(body, header, width, stop),
        )
        self._tokens, self._checks, self._nfe = entry.tokens, checks, nfe
        self._passes += 1
        return entry

    def _changed(self, flat: list[int], length: int) -> np.ndarray:
        if len(flat) % 2:
            refuse("set", "pairs of position and token id")
        pairs = np.array(flat, dtype=np.int64).reshape(-1, 2)
        if pairs.size and pairs[:, 0].max() >= length:
            refuse("set", f"positions below {length}")
        if self._tokens is None and sorted(flat[::2]) != list(range(length)):
            refuse("set", "every position once in the first pass")
        self._known(flat[1::2])
        tokens = np.zeros(length, np.int32) if self._tokens is None else self._tokens.copy()
        tokens[pairs[:, 0]] = pairs[:, 1]
        return tokens

    def _top(self, body: dict[str, Any], width: int) -> tuple[np.ndarray, np.ndarray]:
        ids = np.full((width, TOP), -1, np.int32)
        steps = np.zeros((width, TOP), np.float64)
        rows = body.get("top", [[]] * width)
        if not isinstance(rows, list) or len(rows) != width:
            refuse("top", f"{width} lists")
        for index, row in enumerate(rows):
            flat = wholes({"top": row}, "top", None, 0, MAX_ID)
            if len(flat) % 2 or len(flat) > 2 * TOP or any(step > TOP_SCALE for step in flat[1::2]):
                refuse("top", f"up to {TOP} pairs of id and probability in thousandths")
            self._known(flat[::2])
            ids[index, : len(flat) // 2] = flat[::2]
            steps[index, : len(flat) // 2] = flat[1::2]
        return ids, unscaled(steps, TOP_SCALE)

    def _weights(self, body: dict[str, Any], header: Header, width: int, stop: int) -> np.ndarray | None:
        if "attn" not in body:
            return None
        recorded = {"none": 0, "mean": 1, "heads": header.model.heads}[header.settings.record_attention]
        whole = header.settings.sees_canvas and body["phase"] != "verify"
        codes = attention_codes(body, recorded, width, header.length if whole else stop)
        self._attention += codes.size
        if self._attention > MAX_ATTENTION_RUN:
            raise TraceError(f"the attention weights are larger than {MAX_ATTENTION_RUN} bytes.")
        return codes

    def _end(self, body: dict[str, Any]) -> End:
        check_keys(body, frozenset({"end"}), frozenset({"end"}))
        inner = body["end"]
        names = frozenset({"seconds", "stopped", "finished", "text", "passes"})
        if not isinstance(inner, dict):
            refuse("end", "an object")
        check_keys(inner, names, names)
        if self._passes == 0:
            raise TraceError("the run ends before its first pass.")
        if self._edits and max(self._edits) >= self._passes:
            raise TraceError("the run ends before it was edited, as its header says it was.")
        if not isinstance(inner["stopped"], bool):
            refuse("stopped", "true or false")
        if whole(inner, "passes", 0, MAX_PASSES) != self._passes:
            refuse("passes", f"{self._passes}, the number of pass lines")
        return End(
            seconds=number(inner["seconds"], "seconds", 0.0, 1e9),
            stopped=inner["stopped"],
            finished=word_of(inner, "finished", get_args(Finished)),
            text=text_of(inner, "text"),
            passes=inner["passes"],
        )

    def _learn(self, body: dict[str, Any]) -> None:
        for token, piece in _by_token(body, "pieces"):
            if not isinstance(piece, str) or not 0 < len(piece) <= MAX_PIECE:
                refuse("pieces", f"texts of 1 to {MAX_PIECE} characters")
            self.pieces[token] = piece
        for token, text in _by_token(body, "bytes"):
            if not isinstance(text, str) or len(text) > 2 * MAX_RAW or not _HEX.fullmatch(text):
                refuse("bytes", f"up to {MAX_RAW} bytes in hexadecimal digits")
            self.raw[token] = bytes.fromhex(text)

    def _known(self, ids: Sequence[int]) -> None:
        for token in ids:
            if token >= 0 and token not in self.pieces:
                raise TraceError(f"token {token} is used, but its piece was never given.")


def _by_token(body: dict[str, Any], name: str) -> Iterator[tuple[int, object]]:
    """What an entry, if it is there, says of each token id."""
    table = body.get(name, {})
    if not isinstance(table, dict):
        refuse(name, "an object")
    for key, value in table.items():
        if not (key.isascii() and key.isdigit() and len(key) <= 10 and int(key) <= MAX_ID):
            refuse(name, "token ids as keys")
        yield int(key), value
