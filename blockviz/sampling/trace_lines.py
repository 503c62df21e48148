"""The lines of a trace: newline-delimited JSON, the same on the wire to the page and on disk. Knows no torch.

Line 0 is the header, then one line per pass (token changes against the pass before, state and reason digits, fixed-point
integers), then the end. `LineWriter` and `LineReader` are exact inverses; the reader checks everything it is given, executes
nothing, and refuses what it does not know with one sentence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any, NoReturn, TypeVar, get_args

import numpy as np

from blockviz.sampling.passes import (
    FORMAT,
    PHASES,
    PROBABILITY_SCALE,
    REASONS,
    SCORE_LIMIT,
    SCORE_SCALE,
    STATES,
    TOP,
    TOP_SCALE,
    VERDICTS,
    Check,
    End,
    Finished,
    Floats,
    Header,
    ModelFacts,
    Pass,
    TraceError,
    unscaled,
)
from blockviz.sampling.settings import MAX_LENGTH, SettingsError, parse

MAX_PASSES = 100_000
MAX_CELLS = 32 * 2**20
"""Passes x positions of one trace: 160 MB in memory."""
MAX_TEXT = 200_000
MAX_PIECE = 512
MAX_ID = 2**31 - 1
MASK_PIECE = "▒"

Event = Header | Pass | End
Word = TypeVar("Word", bound=str)
Piece = Callable[[int], str]

_HEADER_KEYS = frozenset(
    "blockviz run model settings prompt prompt_length length block_size tokens device versions created pieces".split()
)
_PASS_KEYS = frozenset(
    "i phase block step alpha temp nfe cached clean ms win k cut set state why conf ent ar score top noise checks pieces".split()
)
_FLOATS = {  # key of the line: (field of Pass, scale, lowest and highest step)
    "conf": ("confidence", PROBABILITY_SCALE, 0, int(PROBABILITY_SCALE)),
    "ent": ("entropy", SCORE_SCALE, -int(SCORE_LIMIT * SCORE_SCALE), int(SCORE_LIMIT * SCORE_SCALE)),
    "ar": ("ar_logprob", SCORE_SCALE, -int(SCORE_LIMIT * SCORE_SCALE), 0),
    "score": ("score", SCORE_SCALE, -int(SCORE_LIMIT * SCORE_SCALE), int(SCORE_LIMIT * SCORE_SCALE)),
}


class LineWriter:
    """Turns the events of one run into lines, each ending in a newline; `piece` gives the display piece of a token id."""

    def __init__(self, piece: Piece) -> None:
        self._piece = piece
        self._mask_id: int | None = None
        self._sent: set[int] = set()
        self._tokens: np.ndarray | None = None
        self._checks: tuple[Check, ...] = ()
        self._passes = 0

    def line(self, event: Event) -> str:
        """The line of the next event of the run."""
        if isinstance(event, Pass):
            body = self._pass(event)
        elif isinstance(event, Header):
            body = self._header(event)
        else:
            body = {"end": asdict(event)}
        return _dump(body) + "\n"

    def pieces(self, events: Iterable[Event]) -> dict[int, str]:
        """The display pieces of every token id in these events."""
        used: set[int] = set()
        mask_id: int | None = None
        for event in events:
            if isinstance(event, Header):
                mask_id = event.model.mask_id
                used.update(event.tokens)
            elif isinstance(event, Pass):
                for ids in (event.tokens, event.top_ids, event.verify_tokens):
                    used.update(ids.ravel().tolist())
        used.discard(-1)
        return {token: MASK_PIECE if token == mask_id else self._piece(token) for token in sorted(used)}

    def _header(self, header: Header) -> dict[str, Any]:
        self._mask_id = header.model.mask_id
        body = {
            "blockviz": header.format,
            "run": header.run,
            "model": asdict(header.model),
            "settings": header.settings.to_dict(),
            "prompt": header.prompt,
            "prompt_length": header.prompt_length,
            "length": header.length,
            "block_size": header.block_size,
            "tokens": list(header.tokens),
            "device": header.device,
            "versions": header.versions,
            "created": header.created,
        }
        return self._with_pieces(body, header.tokens)

    def _pass(self, p: Pass) -> dict[str, Any]:
        if self._tokens is None:
            changed = np.arange(p.tokens.shape[0])
        else:
            changed = np.flatnonzero(p.tokens != self._tokens)
        ids = p.tokens[changed]
        body: dict[str, Any] = {
            "i": self._passes,
            "phase": p.phase,
            "block": p.block,
            "step": p.step,
            "alpha": [p.alpha_t, p.alpha_s],
            "temp": p.temperature,
            "nfe": [p.nfe_denoise, p.nfe_verify],
            "cached": p.cached,
            "clean": p.clean,
            "ms": p.ms,
            "win": [p.start, p.stop],
            "k": p.k,
            "cut": p.cut,
            "set": np.column_stack((changed, ids)).ravel().tolist(),
            "state": (p.states + 48).tobytes().decode("ascii"),
            "why": (p.reasons + 48).tobytes().decode("ascii"),
        }
        for key, (name, scale, _, _) in _FLOATS.items():
            steps = _steps(getattr(p, name), scale)
            if steps is not None:
                body[key] = steps
        used = ids.tolist()
        counts = (p.top_ids >= 0).sum(axis=1).tolist()
        if any(counts):
            pairs = np.stack((p.top_ids, np.rint(p.top_probs * TOP_SCALE).astype(np.int32)), axis=2)
            rows = pairs.reshape(len(counts), 2 * TOP).tolist()
            body["top"] = [row[: 2 * count] for row, count in zip(rows, counts, strict=True)]
            used += p.top_ids.ravel().tolist()
        noise = p.verify_tokens.tolist()
        if any(token >= 0 for token in noise):
            body["noise"] = noise
            used += noise
        if p.checks != self._checks:
            body["checks"] = [[check.start, check.stop, check.verdict, check.text] for check in p.checks]
        self._tokens, self._checks = p.tokens, p.checks
        self._passes += 1
        return self._with_pieces(body, used)

    def _with_pieces(self, body: dict[str, Any], used: Sequence[int]) -> dict[str, Any]:
        new = set(used) - self._sent
        new.discard(-1)
        if new:
            self._sent |= new
            body["pieces"] = {
                str(token): MASK_PIECE if token == self._mask_id else self._piece(token)
                for token in sorted(new)
            }
        return body


def _steps(values: Floats, scale: float) -> list[int | None] | None:
    """Fixed-point integers with None for NaN; None when nothing is known."""
    steps = np.rint(values * np.float32(scale))
    missing = np.isnan(steps)
    if not missing.any():
        return steps.astype(np.int32).tolist() if steps.size else None
    if missing.all():
        return None
    return [None if step != step else int(step) for step in steps.tolist()]


def _dump(body: object) -> str:
    # ASCII escapes keep every line free of line separators and lone surrogates, whatever a token or prompt contains.
    return json.dumps(body, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


class LineReader:
    """Turns the lines of one run back into events; `read` raises `TraceError` with the line's number and the reason."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.end: End | None = None
        self.pieces: dict[int, str] = {}
        self._lines = 0
        self._tokens: np.ndarray | None = None
        self._checks: tuple[Check, ...] = ()
        self._nfe = (0, 0)
        self._passes = 0

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
        body = _load(line)
        if self.header is None:
            self.header = self._header(body)
            return self.header
        if self.end is not None:
            raise TraceError("the run has already ended.")
        if "end" in body:
            self.end = self._end(body)
            return self.end
        return self._pass(body, self.header)

    def _header(self, body: dict[str, Any]) -> Header:
        if "blockviz" not in body:
            raise TraceError("it is not the header of a BlockViz trace.")
        version = _int(body, "blockviz", 0, MAX_ID)
        if version > FORMAT:
            raise TraceError(
                f"it has format {version}, newer than format {FORMAT}, the newest this BlockViz reads."
            )
        if version < FORMAT:
            raise TraceError(f"it has the unknown format {version}; this BlockViz reads format {FORMAT}.")
        _keys(body, _HEADER_KEYS, _HEADER_KEYS - {"pieces"})
        length = _int(body, "length", 1, MAX_LENGTH)
        self._learn(body)
        tokens = _ints(body, "tokens", None, 0, MAX_ID)
        if len(tokens) > length:
            _refuse("tokens", f"at most {length} ids, as the canvas has")
        if _int(body, "prompt_length", 0, length) != len(tokens):
            _refuse("prompt_length", f"{len(tokens)}, the number of prompt tokens")
        settings = body["settings"]
        if not isinstance(settings, dict):
            _refuse("settings", "an object")
        versions = body["versions"]
        if not isinstance(versions, dict) or not all(isinstance(v, str) for v in versions.values()):
            _refuse("versions", "an object of texts")
        self._known(tokens)
        return Header(
            run=_text(body, "run"),
            model=_model(body["model"]),
            settings=parse(settings),
            prompt=_text(body, "prompt"),
            length=length,
            block_size=_int(body, "block_size", 1, MAX_LENGTH),
            tokens=tuple(tokens),
            device=_text(body, "device"),
            versions=versions,
            created=_text(body, "created"),
        )

    def _pass(self, body: dict[str, Any], header: Header) -> Pass:
        optional = {*_FLOATS, "top", "noise", "checks", "pieces"}
        _keys(body, _PASS_KEYS, _PASS_KEYS - optional)
        length = header.length
        if _int(body, "i", 0, MAX_PASSES - 1) != self._passes:
            _refuse("i", f"{self._passes}, the number of this pass")
        if (self._passes + 1) * length > MAX_CELLS:
            raise TraceError(f"the trace is larger than {MAX_CELLS} cells (passes x positions).")
        start, stop = _ints(body, "win", 2, 0, length)
        if start > stop:
            _refuse("win", "a start that is not behind its stop")
        width = stop - start
        self._learn(body)
        tokens = self._changed(_ints(body, "set", None, 0, MAX_ID), length)
        nfe = (_ints(body, "nfe", 2, 0, MAX_ID)[0], body["nfe"][1])
        if nfe[0] < self._nfe[0] or nfe[1] < self._nfe[1]:
            _refuse("nfe", "counts that never fall")
        top_ids, top_probs = self._top(body, width)
        noise = _ints(body, "noise", width, -1, MAX_ID) if "noise" in body else [-1] * width
        self._known(noise)
        checks = _checks(body, length) if "checks" in body else self._checks
        alpha_t, alpha_s = _numbers(body, "alpha", 0.0, 1.0)
        entry = Pass(
            phase=_word(body, "phase", PHASES),
            block=_int(body, "block", 0, MAX_LENGTH),
            step=_int(body, "step", 0, MAX_ID),
            alpha_t=alpha_t,
            alpha_s=alpha_s,
            temperature=_float(body["temp"], "temp", 0.0, 1e6),
            nfe_denoise=nfe[0],
            nfe_verify=nfe[1],
            cached=_int(body, "cached", 0, MAX_ID),
            clean=_int(body, "clean", 0, MAX_ID),
            ms=_float(body["ms"], "ms", 0.0, 1e9),
            start=start,
            stop=stop,
            k=_int(body, "k", 0, width),
            cut=None if body["cut"] is None else _float(body["cut"], "cut", -SCORE_LIMIT, SCORE_LIMIT),
            tokens=tokens,
            states=_digits(body, "state", length, len(STATES)),
            reasons=_digits(body, "why", width, len(REASONS)),
            confidence=_fixed_point(body, "conf", width),
            entropy=_fixed_point(body, "ent", width),
            ar_logprob=_fixed_point(body, "ar", width),
            score=_fixed_point(body, "score", width),
            top_ids=top_ids,
            top_probs=top_probs,
            verify_tokens=np.array(noise, np.int32),
            checks=checks,
        )
        self._tokens, self._checks, self._nfe = entry.tokens, checks, nfe
        self._passes += 1
        return entry

    def _changed(self, flat: list[int], length: int) -> np.ndarray:
        if len(flat) % 2:
            _refuse("set", "pairs of position and token id")
        pairs = np.array(flat, dtype=np.int64).reshape(-1, 2)
        if pairs.size and pairs[:, 0].max() >= length:
            _refuse("set", f"positions below {length}")
        if self._tokens is None and sorted(flat[::2]) != list(range(length)):
            _refuse("set", "every position once in the first pass")
        self._known(flat[1::2])
        tokens = np.zeros(length, np.int32) if self._tokens is None else self._tokens.copy()
        tokens[pairs[:, 0]] = pairs[:, 1]
        return tokens

    def _top(self, body: dict[str, Any], width: int) -> tuple[np.ndarray, np.ndarray]:
        ids = np.full((width, TOP), -1, np.int32)
        steps = np.zeros((width, TOP), np.float64)
        rows = body.get("top", [[]] * width)
        if not isinstance(rows, list) or len(rows) != width:
            _refuse("top", f"{width} lists")
        for index, row in enumerate(rows):
            flat = _ints({"top": row}, "top", None, 0, MAX_ID)
            if len(flat) % 2 or len(flat) > 2 * TOP or any(step > TOP_SCALE for step in flat[1::2]):
                _refuse("top", f"up to {TOP} pairs of id and probability in thousandths")
            self._known(flat[::2])
            ids[index, : len(flat) // 2] = flat[::2]
            steps[index, : len(flat) // 2] = flat[1::2]
        return ids, unscaled(steps, TOP_SCALE)

    def _end(self, body: dict[str, Any]) -> End:
        _keys(body, frozenset({"end"}), frozenset({"end"}))
        inner = body["end"]
        names = frozenset({"seconds", "stopped", "finished", "text", "passes"})
        if not isinstance(inner, dict):
            _refuse("end", "an object")
        _keys(inner, names, names)
        if self._passes == 0:
            raise TraceError("the run ends before its first pass.")
        if not isinstance(inner["stopped"], bool):
            _refuse("stopped", "true or false")
        if _int(inner, "passes", 0, MAX_PASSES) != self._passes:
            _refuse("passes", f"{self._passes}, the number of pass lines")
        return End(
            seconds=_float(inner["seconds"], "seconds", 0.0, 1e9),
            stopped=inner["stopped"],
            finished=_word(inner, "finished", get_args(Finished)),
            text=_text(inner, "text"),
            passes=inner["passes"],
        )

    def _learn(self, body: dict[str, Any]) -> None:
        pieces = body.get("pieces", {})
        if not isinstance(pieces, dict):
            _refuse("pieces", "an object")
        for key, piece in pieces.items():
            if not (key.isascii() and key.isdigit() and len(key) <= 10 and int(key) <= MAX_ID):
                _refuse("pieces", "token ids as keys")
            if not isinstance(piece, str) or not 0 < len(piece) <= MAX_PIECE:
                _refuse("pieces", f"texts of 1 to {MAX_PIECE} characters")
            self.pieces[int(key)] = piece

    def _known(self, ids: Sequence[int]) -> None:
        for token in ids:
            if token >= 0 and token not in self.pieces:
                raise TraceError(f"token {token} is used, but its piece was never given.")


def _load(line: str) -> dict[str, Any]:
    try:
        body = json.loads(line, parse_constant=_constant)
    except (ValueError, RecursionError):  # an integer of thousands of digits is a ValueError too
        raise TraceError("it is not JSON.") from None
    if not isinstance(body, dict):
        raise TraceError("it is not a JSON object.")
    return body


def _constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are not JSON


def _refuse(name: str, expected: str) -> NoReturn:
    raise TraceError(f'"{name}" must be {expected}.')


def _keys(body: dict[str, Any], known: frozenset[str], needed: frozenset[str] | set[str]) -> None:
    for name in body:
        if name not in known:
            raise TraceError(f'it has the unknown entry "{name[:40]}".')
    for name in sorted(needed):
        if name not in body:
            raise TraceError(f'"{name}" is missing.')


def _int(body: dict[str, Any], name: str, low: int, high: int) -> int:
    value = body[name]
    if type(value) is not int or not low <= value <= high:
        _refuse(name, f"a whole number from {low} to {high}")
    return value


def _float(value: object, name: str, low: float, high: float) -> float:
    if type(value) not in (int, float) or not low <= value <= high:  # type: ignore[operator]
        _refuse(name, f"a number from {low:g} to {high:g}")
    return float(value)  # type: ignore[arg-type]


def _numbers(body: dict[str, Any], name: str, low: float, high: float) -> tuple[float, float]:
    pair = body[name]
    if not isinstance(pair, list) or len(pair) != 2:
        _refuse(name, "two numbers")
    return _float(pair[0], name, low, high), _float(pair[1], name, low, high)


def _ints(body: dict[str, Any], name: str, count: int | None, low: int, high: int) -> list[int]:
    values = body[name]
    if not isinstance(values, list) or (count is not None and len(values) != count):
        _refuse(name, "a list" if count is None else f"a list of {count}")
    if values and (set(map(type, values)) != {int} or min(values) < low or max(values) > high):
        _refuse(name, f"whole numbers from {low} to {high}")
    return values


def _fixed_point(body: dict[str, Any], name: str, width: int) -> Floats:
    _, scale, low, high = _FLOATS[name]
    if name not in body:
        return np.full(width, np.nan, np.float32)
    values = body[name]
    if not isinstance(values, list):
        _refuse(name, "a list")
    known = [value for value in values if value is not None]
    if len(known) == len(values):
        steps = np.array(_ints(body, name, width, low, high), np.float64)
    else:
        _ints({name: known}, name, None, low, high)
        if len(values) != width:
            _refuse(name, f"a list of {width}")
        steps = np.array([np.nan if value is None else value for value in values], np.float64)
    return unscaled(steps, scale)


def _digits(body: dict[str, Any], name: str, count: int, codes: int) -> np.ndarray:
    text = body[name]
    if not isinstance(text, str) or len(text) != count or not text.isascii():
        _refuse(name, f"{count} digits")
    values = (
        np.frombuffer(text.encode("ascii"), np.uint8) - 48
    )  # anything below "0" wraps round to a large code
    if values.size and values.max() >= codes:
        _refuse(name, f"digits from 0 to {codes - 1}")
    return values


def _text(body: dict[str, Any], name: str) -> str:
    value = body[name]
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        _refuse(name, f"text of at most {MAX_TEXT} characters")
    return value


def _word(body: dict[str, Any], name: str, words: tuple[Word, ...]) -> Word:
    value = body[name]
    for word in words:
        if value == word:
            return word
    _refuse(name, "one of " + ", ".join(words))


def _checks(body: dict[str, Any], length: int) -> tuple[Check, ...]:
    rows = body["checks"]
    if not isinstance(rows, list) or len(rows) > length:
        _refuse("checks", f"a list of at most {length}")
    checks = []
    for row in rows:
        if not isinstance(row, list) or len(row) != 4:
            _refuse("checks", "lists of start, stop, verdict and text")
        entry = dict(zip(("start", "stop", "verdict", "text"), row, strict=True))
        start = _int(entry, "start", 0, length)
        stop = _int(entry, "stop", start, length)
        checks.append(Check(start, stop, _word(entry, "verdict", VERDICTS), _text(entry, "text")))
    return tuple(checks)


def _model(body: object) -> ModelFacts:
    names = frozenset(ModelFacts.__dataclass_fields__)
    if not isinstance(body, dict):
        _refuse("model", "an object")
    _keys(body, names, names)

    def optional(name: str) -> int | None:
        return None if body[name] is None else _int(body, name, 0, MAX_ID)

    return ModelFacts(
        name=_text(body, "name"),
        hash=_text(body, "hash"),
        process=_word(body, "process", ("masked", "uniform")),
        mask_id=optional("mask_id"),
        end_id=optional("end_id"),
        task=None if body["task"] is None else _text(body, "task"),
        parameters=_int(body, "parameters", 0, 2**63),
        layers=_int(body, "layers", 0, MAX_ID),
        heads=_int(body, "heads", 0, MAX_ID),
        head_dim=_int(body, "head_dim", 0, MAX_ID),
    )
