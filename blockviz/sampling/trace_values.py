"""The entries of a trace's lines, read and checked one by one; every refusal is a `TraceError` of one sentence."""

from __future__ import annotations

import binascii
from base64 import b64decode
from itertools import pairwise
from typing import Any

import numpy as np

from blockviz.sampling.edits import Edit, EditError, Fork
from blockviz.sampling.fixed_point import PROBABILITY_SCALE, SCORE_LIMIT, SCORE_SCALE, unscaled
from blockviz.sampling.json_checks import check_keys, refuse, text_of, whole, wholes, word_of
from blockviz.sampling.passes import (
    MAX_ATTENTION_CALL,
    VERDICTS,
    Check,
    Floats,
    ModelFacts,
    TraceError,
)
from blockviz.sampling.settings import SamplerSettings, parse
from blockviz.sampling.trace_lines import SCALES

MAX_ID = 2**31 - 1
_SCORE_STEPS = int(SCORE_LIMIT * SCORE_SCALE)
_RANGES = {
    "conf": (0, int(PROBABILITY_SCALE)),
    "ent": (-_SCORE_STEPS, _SCORE_STEPS),
    "ar": (-_SCORE_STEPS, 0),
    "score": (-_SCORE_STEPS, _SCORE_STEPS),
}
_NEW_MODEL_KEYS = frozenset({"x0_causal", "kv_bytes"})
"""What format 2 added to the model; to a pass it added `attn`."""
_EDIT_KEYS = frozenset({"at", "renoise", "force", "freeze", "release", "settings"})
MAX_EDITS = 1000


def fixed_point(body: dict[str, Any], name: str, width: int) -> Floats:
    """The numbers of window positions that the entry holds in fixed point, float32 [width]; NaN where unknown."""
    low, high = _RANGES[name]
    if name not in body:
        return np.full(width, np.nan, np.float32)
    values = body[name]
    if not isinstance(values, list):
        refuse(name, "a list")
    known = [value for value in values if value is not None]
    if len(known) == len(values):
        steps = np.array(wholes(body, name, width, low, high), np.float64)
    else:
        wholes({name: known}, name, None, low, high)
        if len(values) != width:
            refuse(name, f"a list of {width}")
        steps = np.array([np.nan if value is None else value for value in values], np.float64)
    return unscaled(steps, SCALES[name])


def digits(body: dict[str, Any], name: str, count: int, codes: int) -> np.ndarray:
    """The entry, a text of `count` digits below `codes`, as uint8 [count]."""
    text = body[name]
    if not isinstance(text, str) or len(text) != count or not text.isascii():
        refuse(name, f"{count} digits")
    values = (
        np.frombuffer(text.encode("ascii"), np.uint8) - 48
    )  # anything below "0" wraps round to a large code
    if values.size and values.max() >= codes:
        refuse(name, f"digits from 0 to {codes - 1}")
    return values


def attention_codes(body: dict[str, Any], heads: int, width: int, keys: int) -> np.ndarray:
    """The attention codes of a pass, uint8 [heads, width, keys]; `heads` 0 means that there must be none."""
    size, text = heads * width * keys, body["attn"]
    if heads == 0:
        refuse("attn", "left out, as the settings record no attention")
    if size > MAX_ATTENTION_CALL:
        raise TraceError(f"the attention weights of one pass are larger than {MAX_ATTENTION_CALL} bytes.")
    try:
        codes = b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        codes = None
    if codes is None or len(codes) != size:
        refuse("attn", f"{size} bytes in base64")
    return np.frombuffer(codes, np.uint8).reshape(heads, width, keys)


def checks_of(body: dict[str, Any], length: int) -> tuple[Check, ...]:
    """The verdicts of a pass on a canvas of `length` positions."""
    rows = body["checks"]
    if not isinstance(rows, list) or len(rows) > length:
        refuse("checks", f"a list of at most {length}")
    checks = []
    for row in rows:
        if not isinstance(row, list) or len(row) != 4:
            refuse("checks", "lists of start, stop, verdict and text")
        entry = dict(zip(("start", "stop", "verdict", "text"), row, strict=True))
        start = whole(entry, "start", 0, length)
        stop = whole(entry, "stop", start, length)
        checks.append(Check(start, stop, word_of(entry, "verdict", VERDICTS), text_of(entry, "text")))
    return tuple(checks)


def model_of(body: object, version: int) -> ModelFacts:
    """The model that a header of format `version` describes."""
    names = frozenset(ModelFacts.__dataclass_fields__)
    if version < 2:
        names -= _NEW_MODEL_KEYS
    if not isinstance(body, dict):
        refuse("model", "an object")
    check_keys(body, names, names)
    newer: dict[str, Any] = {}
    if version >= 2:
        if not isinstance(body["x0_causal"], bool):
            refuse("x0_causal", "true or false")
        newer = {"x0_causal": body["x0_causal"], "kv_bytes": whole(body, "kv_bytes", 1, 8)}

    def optional(name: str) -> int | None:
        return None if body[name] is None else whole(body, name, 0, MAX_ID)

    return ModelFacts(
        name=text_of(body, "name"),
        hash=text_of(body, "hash"),
        process=word_of(body, "process", ("masked", "uniform")),
        mask_id=optional("mask_id"),
        end_id=optional("end_id"),
        task=None if body["task"] is None else text_of(body, "task"),
        parameters=whole(body, "parameters", 0, 2**63),
        layers=whole(body, "layers", 0, MAX_ID),
        heads=whole(body, "heads", 0, MAX_ID),
        head_dim=whole(body, "head_dim", 0, MAX_ID),
        **newer,
    )


def fork_of(body: object, length: int, settings: SamplerSettings) -> Fork:
    """The fork that a header on a canvas of `length` positions describes, whose edits end in its `settings`."""
    names = frozenset({"parent", "hash", "origin", "edits", "rebuilt"})
    if not isinstance(body, dict):
        refuse("fork", "an object")
    check_keys(body, names, names)
    origin, rows = body["origin"], body["edits"]
    if not isinstance(origin, dict):
        refuse("origin", "an object")
    if not isinstance(rows, list) or not 0 < len(rows) <= MAX_EDITS:
        refuse("edits", f"a list of 1 to {MAX_EDITS}")
    edits = [edit_of(row, length) for row in rows]
    if any(second.at <= first.at for first, second in pairwise(edits)):
        refuse("edits", "in the order of their passes")
    fork = Fork(
        parent=text_of(body, "parent"),
        parent_hash=text_of(body, "hash"),
        origin=parse(origin),
        edits=tuple(edits),
        rebuilt=whole(body, "rebuilt", 0, MAX_ID),
    )
    if fork.settings() != settings:
        refuse("edits", "changes that end in the run's settings")
    return fork


def edit_of(body: object, length: int) -> Edit:
    """The edit that an object describes, on a canvas of `length` positions."""
    if not isinstance(body, dict):
        raise TraceError("an edit must be an object.")
    check_keys(body, _EDIT_KEYS, frozenset({"at"}))

    def positions(name: str) -> tuple[int, ...]:
        return tuple(wholes(body, name, None, 0, length - 1)) if name in body else ()

    pairs = body.get("force", [])
    if not isinstance(pairs, list):
        refuse("force", "a list")
    for pair in pairs:
        if wholes({"force": pair}, "force", 2, 0, MAX_ID)[0] >= length:
            refuse("force", f"pairs of a position below {length} and a token id")
    settings = body.get("settings", {})
    if not isinstance(settings, dict):
        refuse("settings", "an object")
    try:
        return Edit(
            at=whole(body, "at", 0, MAX_ID),
            renoise=positions("renoise"),
            force=tuple((pair[0], pair[1]) for pair in pairs),
            freeze=positions("freeze"),
            release=positions("release"),
            settings=settings,
        )
    except EditError as error:
        raise TraceError(str(error)) from None
