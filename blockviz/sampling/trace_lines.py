"""The lines of a trace: newline-delimited JSON, the same on the wire to the page and on disk. Knows no torch.

Line 0 is the header, then one line per pass (token changes against the pass before, state and reason digits,
fixed-point integers, attention codes in base64), then the end. `LineReader` (trace_reader.py) is the exact inverse of
`LineWriter`.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from blockviz.sampling.edits import Fork
from blockviz.sampling.fixed_point import PROBABILITY_SCALE, SCORE_SCALE, TOP_SCALE
from blockviz.sampling.passes import (
    TOP,
    Check,
    End,
    Floats,
    Header,
    Pass,
)

MASK_PIECE = "▒"

Event = Header | Pass | End
Piece = Callable[[int], str]
Raw = Callable[[int], bytes | None]
"""The bytes of a token's text: none (b"") for a special token, None where they are not known."""

FLOATS = {"conf": "confidence", "ent": "entropy", "ar": "ar_logprob", "score": "score"}
"""Key of a pass line -> field of `Pass`, for the numbers known per window position."""
SCALES = {"conf": PROBABILITY_SCALE, "ent": SCORE_SCALE, "ar": SCORE_SCALE, "score": SCORE_SCALE}


class LineWriter:
    """Turns the events of one run into lines, each ending in a newline.

    `piece` maps token ids to display pieces, `raw` to the bytes of their text; without it the lines hold no bytes.
    """

    def __init__(self, piece: Piece, raw: Raw | None = None) -> None:
        self._piece = piece
        self._raw = raw
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
        found: list[np.ndarray] = []
        mask_id: int | None = None
        for event in events:
            if isinstance(event, Header):
                mask_id = event.model.mask_id
                found.append(np.array(event.tokens, np.int32))
            elif isinstance(event, Pass):
                found += (event.tokens, event.top_ids.ravel(), event.verify_tokens)
        used = set(np.unique(np.concatenate(found)).tolist() if found else ())
        used.discard(-1)
        return {token: MASK_PIECE if token == mask_id else self._piece(token) for token in sorted(used)}

    def bytes_of(self, tokens: Iterable[int]) -> dict[int, bytes]:
        """The bytes of these token ids, where they are known."""
        found = {token: self._raw(token) for token in tokens} if self._raw else {}
        return {token: raw for token, raw in found.items() if raw is not None}

    def _header(self, header: Header) -> dict[str, Any]:
        self._mask_id = header.model.mask_id
        body = {
            "blockviz": header.format,
            "run": header.run,
            "model": asdict(header.model),
            "settings": header.settings.in_file(),
            "prompt": header.prompt,
            "prompt_length": header.prompt_length,
            "length": header.length,
            "block_size": header.block_size,
            "tokens": list(header.tokens),
            "device": header.device,
            "versions": header.versions,
            "created": header.created,
        }
        if header.fork is not None:
            body["fork"] = fork_body(header.fork)
        if header.origin:
            body["origin"] = header.origin
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
        for key, name in FLOATS.items():
            steps = _steps(getattr(p, name), SCALES[key])
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
        if p.attention is not None:
            body["attn"] = b64encode(p.attention.tobytes()).decode("ascii")
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
            known = self.bytes_of(sorted(new))
            if known:
                body["bytes"] = {str(token): raw.hex() for token, raw in known.items()}
        return body


def fork_body(fork: Fork) -> dict[str, Any]:
    """The entry `fork` of a header."""
    return {
        "parent": fork.parent,
        "hash": fork.parent_hash,
        "origin": fork.origin.in_file(),
        "edits": [edit.to_dict() for edit in fork.edits],
        "rebuilt": fork.rebuilt,
    }


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
