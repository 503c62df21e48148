"""What a run consists of: a header, passes (one recorded state change each), and an end. Knows no torch and no file.

Numbers are rounded to fixed point (`fixed_point.py`) when a pass is made, so that what is in memory, in a file and on
the page is the same; alphas to 1e-6, milliseconds to 1e-3. Attention weights are kept in 8 bits, see
`attention_weights`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockviz.sampling.edits import Fork
from blockviz.sampling.fixed_point import (
    AR_LOGPROB,
    CONFIDENCE,
    ENTROPY,
    SCORE,
    SCORE_LIMIT,
    TOP_SCALE,
    frozen,
    on_steps,
    unscaled,
)
from blockviz.sampling.settings import SamplerSettings

FORMAT = 2
TOP = 5
"""Candidates recorded per position."""

State = Literal[
    "prompt", "unopened", "noise", "proposed", "revealed", "kept", "renoised", "committed", "after_end"
]
Reason = Literal["none", "prompt", "revealed", "resampled", "renoised", "kept", "forced"]
Phase = Literal["start", "denoise", "propose", "verify", "renoise", "commit", "edit"]
Verdict = Literal["right", "wrong", "unfinished"]
Finished = Literal["end_token", "canvas", "stopped"]

STATES: tuple[State, ...] = get_args(State)
REASONS: tuple[Reason, ...] = get_args(Reason)
PHASES: tuple[Phase, ...] = get_args(Phase)
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
STATE_CODE: dict[str, int] = {name: code for code, name in enumerate(STATES)}
REASON_CODE: dict[str, int] = {name: code for code, name in enumerate(REASONS)}

MAX_PASSES = 100_000
MAX_CELLS = 32 * 2**20
"""Passes x positions of one trace: 160 MB in memory."""
ATTENTION_STEPS = 255
MAX_ATTENTION_CALL = 2 * 2**20
"""Bytes of the attention weights of one network call, so that the line of a pass stays under `trace.MAX_LINE_BYTES`."""
MAX_ATTENTION_RUN = 16 * 2**20
"""Bytes of the attention weights of a whole run."""

Ints = NDArray[np.int32]
Codes = NDArray[np.uint8]
Floats = NDArray[np.float32]


class TraceError(ValueError):
    """A trace, or a part of one, that cannot be used; the message is one sentence with the reason."""


@dataclass(frozen=True)
class Check:
    """A verdict on canvas positions [start, stop): an equation that is right, wrong or unfinished, and its text."""

    start: int
    stop: int
    verdict: Verdict
    text: str


@dataclass(frozen=True)
class ModelFacts:
    """The model of a run, as its trace names it. `hash` is the content hash of its weights; `task` "math" or None.

    `x0_causal` says whether its clean tokens attend causally (else by blocks); `kv_bytes` are the bytes of one element
    of a cached key or value. Traces of format 1 do not say; there they are True and 4, as for every model of its time.
    """

    name: str
    hash: str
    process: Literal["masked", "uniform"]
    mask_id: int | None
    end_id: int | None
    task: str | None
    parameters: int
    layers: int
    heads: int
    head_dim: int
    x0_causal: bool = True
    kv_bytes: int = 4

    def cache_bytes(self, length: int) -> int:
        """Bytes of the keys and values of `length` cached tokens of one sequence, over all layers."""
        return 2 * self.layers * self.heads * self.head_dim * length * self.kv_bytes


@dataclass(frozen=True)
class Header:
    """What holds for a whole run: `tokens` are the prompt's ids, `created` is ISO 8601 in UTC, `run` random hex.

    The canvas is laid out in blocks of `block_size` positions, but for a first one of `origin` (0: there is none), and
    a last one that may be short. `tokens` end where the sampler begins to write; what is given behind that (a text with
    gaps) is in the state `prompt` from the first pass on.

    A run that somebody stepped into has a `fork`; `settings` are then those after its last edit.
    """

    run: str
    model: ModelFacts
    settings: SamplerSettings
    prompt: str
    length: int
    block_size: int
    tokens: tuple[int, ...]
    device: str
    versions: dict[str, str] = field(default_factory=dict)
    created: str = ""
    format: int = FORMAT
    fork: Fork | None = None
    origin: int = 0

    @property
    def prompt_length(self) -> int:
        """Prompt tokens, which stand at positions 0 .. prompt_length - 1."""
        return len(self.tokens)

    @property
    def blocks(self) -> int:
        """Blocks on the canvas, the first and the last of which may be short."""
        return -(-(self.length - self.origin) // self.block_size) + (self.origin > 0)

    def block_of(self, position: int) -> int:
        """The block that a position is in, counted from 0."""
        return (position - self.origin) // self.block_size + (self.origin > 0)

    def span_of(self, block: int) -> tuple[int, int]:
        """First position of a block and the one behind its last."""
        start = self.origin + (block - (self.origin > 0)) * self.block_size
        return max(start, 0), min(start + self.block_size, self.length)


@dataclass(frozen=True)
class End:
    """How a run ended: `seconds` of wall time, the generated `text` (without the prompt) and the number of passes."""

    seconds: float
    stopped: bool
    finished: Finished
    text: str
    passes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", round(float(self.seconds), 3))


@dataclass(frozen=True, eq=False)
class Pass:
    """One recorded state change. Its arrays are copied, rounded and made read-only: nothing aliases the canvas.

    An array that is read-only and nobody's view is taken as it is: it comes from another pass, or from `fixed_point`.

    `tokens` (int32) and `states` (uint8, index into STATES) cover the canvas [L] after the pass. The other arrays cover
    the active window [start, stop), W positions: `reasons` uint8 (index into REASONS); `confidence` (probability) and
    `entropy` (nats) of the latest prediction; `ar_logprob` in nats (NaN unless verified); `score` (NaN unless it
    decided); `top_ids` int32 [W, 5] (-1 where there is none) with `top_probs`; `verify_tokens` int32 (-1 unless drawn).
    `nfe_denoise` and `nfe_verify` count network calls of the run so far; `cached` is the cache length in tokens before
    this pass' call, `clean` the clean tokens which that call carried and committed; `k` positions were re-noised, of
    which `cut` is the lowest score. `attention` (read-only uint8 [heads, W, stop], or None where not recorded) are
    codes of the weights that the window gave to canvas positions 0 .. stop-1, or to all of them where the network reads
    the whole canvas (see `attention_weights`): its own positions at their places in the window; in a verify pass,
    before i the proposal, and at i the noise token itself.
    """

    phase: Phase
    block: int
    step: int
    alpha_t: float
    alpha_s: float
    temperature: float
    nfe_denoise: int
    nfe_verify: int
    cached: int
    clean: int
    ms: float
    start: int
    stop: int
    k: int
    cut: float | None
    tokens: Ints
    states: Codes
    reasons: Codes
    confidence: Floats
    entropy: Floats
    ar_logprob: Floats
    score: Floats
    top_ids: Ints
    top_probs: Floats
    verify_tokens: Ints
    checks: tuple[Check, ...] = ()
    attention: Codes | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "alpha_t", round(float(self.alpha_t), 6))
        put(self, "alpha_s", round(float(self.alpha_s), 6))
        put(self, "temperature", round(float(self.temperature), 6))
        put(self, "ms", round(float(self.ms), 3))
        if self.cut is not None:
            put(self, "cut", round(min(max(float(self.cut), -SCORE_LIMIT), SCORE_LIMIT), 3) + 0.0)
        for name, dtype in _WHOLE_FIELDS.items():
            values = getattr(self, name)
            if not _final(values, dtype):
                put(self, name, frozen(np.array(values, dtype=dtype)))
        for name, steps in _FLOAT_FIELDS.items():
            values = getattr(self, name)
            if not _final(values, _FLOAT):
                put(self, name, on_steps(values, steps))
        if not (_final(self.top_ids, _INT) and _final(self.top_probs, _FLOAT)):
            ids, probs = _candidates(self.top_ids, self.top_probs)
            put(self, "top_ids", ids)
            put(self, "top_probs", probs)
        if self.attention is not None and not _final(self.attention, _CODE):
            put(self, "attention", frozen(np.array(self.attention, dtype=_CODE)))
        self._check_shapes()

    def _check_shapes(self) -> None:
        width, length = self.stop - self.start, self.tokens.shape[0]
        if not 0 <= self.start <= self.stop <= length:
            raise TraceError(f"the window [{self.start}, {self.stop}) lies outside the canvas of {length}.")
        if self.states.shape != (length,):
            raise TraceError(f"states has shape {self.states.shape}, ({length},) expected.")
        for name in ("reasons", "verify_tokens", *_FLOAT_FIELDS):
            if getattr(self, name).shape != (width,):
                raise TraceError(f"{name} has shape {getattr(self, name).shape}, ({width},) expected.")
        if self.top_ids.shape != (width, TOP) or self.top_probs.shape != (width, TOP):
            raise TraceError(f"top candidates have shape {self.top_ids.shape}, ({width}, {TOP}) expected.")
        keys = (self.stop, length)  # the second where the network reads the whole canvas
        if self.attention is not None and self.attention.shape[1:] not in [(width, count) for count in keys]:
            raise TraceError(
                f"attention has shape {self.attention.shape}, (heads, {width}, {self.stop}) expected."
            )

    @classmethod
    def record(
        cls,
        phase: Phase,
        *,
        tokens: ArrayLike,
        states: ArrayLike,
        start: int,
        stop: int,
        block: int = 0,
        step: int = 0,
        alpha_t: float = 0.0,
        alpha_s: float = 0.0,
        temperature: float = 1.0,
        nfe_denoise: int = 0,
        nfe_verify: int = 0,
        cached: int = 0,
        clean: int = 0,
        ms: float = 0.0,
        k: int = 0,
        cut: float | None = None,
        reasons: ArrayLike | None = None,
        confidence: ArrayLike | None = None,
        entropy: ArrayLike | None = None,
        ar_logprob: ArrayLike | None = None,
        score: ArrayLike | None = None,
        top_ids: ArrayLike | None = None,
        top_probs: ArrayLike | None = None,
        verify_tokens: ArrayLike | None = None,
        checks: Iterable[Check] = (),
        attention: ArrayLike | None = None,
    ) -> Pass:
        """A pass from arrays, lists or CPU tensors; what is left out is "not known" (NaN, -1, reason none)."""
        width = stop - start
        unknown = np.full(width, np.nan, dtype=np.float32)
        return cls(
            phase=phase,
            block=block,
            step=step,
            alpha_t=alpha_t,
            alpha_s=alpha_s,
            temperature=temperature,
            nfe_denoise=nfe_denoise,
            nfe_verify=nfe_verify,
            cached=cached,
            clean=clean,
            ms=ms,
            start=start,
            stop=stop,
            k=k,
            cut=cut,
            tokens=np.asarray(tokens),
            states=np.asarray(states),
            reasons=np.zeros(width, np.uint8) if reasons is None else np.asarray(reasons),
            confidence=unknown if confidence is None else np.asarray(confidence),
            entropy=unknown if entropy is None else np.asarray(entropy),
            ar_logprob=unknown if ar_logprob is None else np.asarray(ar_logprob),
            score=unknown if score is None else np.asarray(score),
            top_ids=np.full((width, TOP), -1, np.int32) if top_ids is None else np.asarray(top_ids),
            top_probs=np.zeros((width, TOP), np.float32) if top_probs is None else np.asarray(top_probs),
            verify_tokens=np.full(width, -1, np.int32)
            if verify_tokens is None
            else np.asarray(verify_tokens),
            checks=tuple(checks),
            attention=None if attention is None else np.asarray(attention),
        )

    def same(self, other: Pass, ignore: frozenset[str] = frozenset()) -> bool:
        """Whether every field but those in `ignore` is equal, bit for bit (NaN equals NaN)."""
        for name in _PASS_FIELDS:
            mine, theirs = getattr(self, name), getattr(other, name)
            if name in ignore:
                continue
            if isinstance(mine, np.ndarray) != isinstance(theirs, np.ndarray):
                return False
            if isinstance(mine, np.ndarray):
                if mine.shape != theirs.shape or mine.tobytes() != theirs.tobytes():
                    return False
            elif mine != theirs:
                return False
        return True

    def __eq__(self, other: object) -> bool:
        return self.same(other) if isinstance(other, Pass) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equal by content, which is arrays


_INT, _CODE, _FLOAT = np.dtype(np.int32), np.dtype(np.uint8), np.dtype(np.float32)
_WHOLE_FIELDS: dict[str, np.dtype[Any]] = {
    "tokens": _INT,
    "states": _CODE,
    "reasons": _CODE,
    "verify_tokens": _INT,
}
_FLOAT_FIELDS = {"confidence": CONFIDENCE, "entropy": ENTROPY, "ar_logprob": AR_LOGPROB, "score": SCORE}
_PASS_FIELDS: tuple[str, ...] = tuple(entry.name for entry in fields(Pass))


def attention_weights(codes: Codes) -> Floats:
    """Weights of attention codes uint8: (code / 255) squared, float32.

    A code is round(255 sqrt(weight)), so that a weight is off by at most sqrt(weight) / 255 + 4e-6: steps are finest
    where weights are small, and one of a thousand equal keys is not rounded to nothing.
    """
    return (codes.astype(np.float32) / np.float32(ATTENTION_STEPS)) ** 2


def _final(values: Any, dtype: np.dtype[Any]) -> bool:
    """Whether this is an array that nobody can change any more, so that passes may share it."""
    return (
        isinstance(values, np.ndarray)
        and values.dtype == dtype
        and values.base is None
        and not values.flags.writeable
    )


def _candidates(ids: Any, probs: Any) -> tuple[Ints, Floats]:
    """Candidates in descending order, without those of id -1 or of a probability that rounds to 0."""
    order_ids = np.array(ids, dtype=np.int32)
    steps = np.array(probs, dtype=np.float64)
    steps *= TOP_SCALE
    np.rint(steps, out=steps)
    if order_ids.shape != steps.shape:
        raise TraceError(f"top_ids has shape {order_ids.shape}, but top_probs {steps.shape}.")
    there = (order_ids >= 0) & (steps > 0)
    if not there.all():
        order_ids[~there] = -1
        steps[~there] = 0.0
    np.minimum(steps, TOP_SCALE, out=steps)
    if steps.ndim == 2 and (steps[:, 1:] > steps[:, :-1]).any():
        order = np.argsort(-steps, axis=1, kind="stable")
        order_ids = np.take_along_axis(order_ids, order, axis=1)
        steps = np.take_along_axis(steps, order, axis=1)
    return frozen(order_ids), unscaled(steps, TOP_SCALE)
