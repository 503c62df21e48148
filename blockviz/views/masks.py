"""The attention mask of a recorded pass, from what its trace says of the forward (MATHS.md, "The model").

The numpy twin of `blockviz/models/attention.py`. `codes` is the mask as the network had it; `picture` lays it out on
axes that hold still over a run: clean tokens by position, then the noisy stream of the active block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockviz.sampling.settings import AR_SCORES
from blockviz.sampling.trace import Trace

KINDS = ("blocked", "earlier", "cached", "carried", "active", "proposal", "noise")
"""What a cell is: nothing, a row of an earlier pass, or the kind of key a query of this pass reads."""
KIND: dict[str, int] = {name: code for code, name in enumerate(KINDS)}

MAX_CELLS = 192
"""Cells along an axis of the picture; longer ones are thinned for display."""
FEWEST_CELLS = 96
NARROWEST = 0.1
"""Share of an axis that the noisy stream gets at least, so that a block of one token can be seen."""


@dataclass(frozen=True)
class Geometry:
    """One forward: keys [cached | clean | window], and in a verification [cached | clean | proposal | noise tokens].

    Positions 0 .. cached-1 are read from the cache, `clean` further ones are carried (queries too), and the window
    [start, stop), start = cached + clean, is the noisy stream, or in a verification both streams. `recomputed` marks
    a run without a cache, which carries its whole context each time and commits nothing. `whole`: the canvas is one
    noisy stream, of which only a block may be written; the window is then all of it.
    """

    cached: int
    clean: int
    start: int
    stop: int
    block_size: int
    verify: bool = False
    x0_causal: bool = True
    recomputed: bool = False
    whole: bool = False

    @property
    def window(self) -> int:
        """Tokens of the active window."""
        return self.stop - self.start


def allowed(geometry: Geometry) -> NDArray[np.bool_]:
    """The mask of the forward, bool [queries, keys], True where a query may attend."""
    return codes(geometry) > 0


def codes(geometry: Geometry) -> NDArray[np.uint8]:
    """The kind of key each query reads, uint8 [queries, keys] (index into KINDS, 0 where it may not attend)."""
    clean_end = geometry.stop if geometry.verify else geometry.start
    keys = np.arange(clean_end + geometry.window)
    noisy, places = keys >= clean_end, np.where(keys < clean_end, keys, keys - clean_end)
    first = geometry.cached
    return rule(geometry, (noisy[first:], places[first:]), (noisy, places))


Stream = tuple[NDArray[np.bool_], NDArray[np.int64]]
"""Tokens of a forward: whether each is in the noisy stream; its position (clean) or place in the window (noisy)."""


def rule(geometry: Geometry, queries: Stream, keys: Stream) -> NDArray[np.uint8]:
    """What each query finds at each key: uint8 [queries, keys] of KINDS, 0 where there is nothing to read.

    The table of MATHS.md for one forward; a clean query before `cached` belongs to an earlier pass and gives `earlier`.
    """
    start, cached, window = geometry.start, geometry.cached, geometry.window
    noisy_query, query = queries[0][:, None], queries[1][:, None]
    noisy_key, key = keys[0][None, :], keys[1][None, :]
    if geometry.x0_causal:
        causal = key <= query
    else:
        causal = key // geometry.block_size <= query // geometry.block_size
    clean_key, clean_query = ~noisy_key, ~noisy_query
    context = clean_key & (key < start)
    kind_of_context = np.where(key < cached, KIND["cached"], KIND["carried"])
    out = np.zeros(np.broadcast_shapes(noisy_query.shape, noisy_key.shape), np.int64)

    def put(where: NDArray[np.bool_], kind: NDArray[np.int64] | int) -> None:
        out[...] = np.where(where, kind, out)

    put(clean_query & (query < cached) & context & (key < cached) & causal, KIND["earlier"])
    put(clean_query & (query >= cached) & (query < start) & context & causal, kind_of_context)
    put(noisy_query & (query < window) & context, kind_of_context)
    if geometry.verify:
        proposed = clean_key & (key >= start) & (key < geometry.stop)
        reading = clean_query & (query >= start) & (query < geometry.stop)
        put(reading & context, kind_of_context)
        put(reading & proposed & (key <= query), KIND["proposal"])
        put(noisy_query & (query < window) & proposed & (key - start < query), KIND["proposal"])
        put(noisy_query & (query < window) & noisy_key & (key == query), KIND["noise"])
    else:
        put(noisy_query & (query < window) & noisy_key & (key < window), KIND["active"])
    return out.astype(np.uint8)


def reason(geometry: Geometry, noisy_query: bool, query: int, noisy_key: bool, key: int) -> str:
    """Why the query reads the key, or does not, as a key of the attention view's words (`WORDS["why"]`).

    Places are as in `Stream`: positions in the clean stream, places in the window in the noisy one.
    """
    start, window = geometry.start, geometry.window
    clean_end = geometry.stop if geometry.verify else start
    if query >= (window if noisy_query else clean_end):
        return "no_query"
    if key >= (window if noisy_key else clean_end):
        return "no_key"
    streams = [(np.array([noisy]), np.array([at])) for noisy, at in ((noisy_query, query), (noisy_key, key))]
    kind = KINDS[int(rule(geometry, *streams)[0, 0])]
    if kind == "carried" and geometry.recomputed:
        return "recomputed"
    if kind == "active" and geometry.whole:
        return "whole"
    if kind == "proposal" and not noisy_query and key == query:
        return "in_proposal"
    if kind != "blocked":
        return kind
    if noisy_key:
        return "noise_of_another" if noisy_query else "noise_unread"
    if noisy_query:
        return "own_proposal" if key - start == query else "later_proposal"
    return "later" if geometry.x0_causal or key >= start else "later_block"


def source_pass(trace: Trace, k: int) -> int | None:
    """The newest pass up to `k` that made a network call; None before the first one."""
    for source in range(k, -1, -1):
        if trace.passes[source].phase in ("denoise", "propose", "verify"):
            return source
    return None


def geometry(trace: Trace, source: int) -> Geometry:
    """The geometry of the network call of pass `source`."""
    entry, settings = trace.passes[source], trace.header.settings
    verify = entry.phase == "verify"
    whole = settings.sees_canvas and not verify
    return Geometry(
        cached=entry.cached,
        clean=entry.clean,
        start=0 if whole else entry.start,
        stop=trace.header.length if whole else entry.stop,
        block_size=trace.header.block_size,
        verify=verify,
        x0_causal=trace.header.model.x0_causal,
        recomputed=not settings.caches,
        whole=whole,
    )


@dataclass(frozen=True)
class Axes:
    """The picture's axes, the same over a whole run: `clean` positions, then `noisy` places for the active window.

    `cells` is the number of display cells along an axis, of which the first `clean_cells` show the clean positions.
    """

    clean: int
    noisy: int
    cells: int
    clean_cells: int

    def places(self) -> NDArray[np.int64]:
        """The place (clean position, or clean + place in the window) at the middle of every cell; int64 [cells]."""
        first = (np.arange(self.clean_cells) + 0.5) * self.clean / max(self.clean_cells, 1)
        rest = self.cells - self.clean_cells
        second = (np.arange(rest) + 0.5) * self.noisy / rest + self.clean
        return np.concatenate([first, second]).astype(np.int64)


def axes(
    length: int, block_size: int, whole: bool, widest: int | None = None, sees_canvas: bool = False
) -> Axes:
    """The axes for runs of this geometry; without `whole` the clean stream ends before the last block.

    `widest` are the positions of the widest window where that is not a block; with `sees_canvas` the noisy stream is
    the canvas, and the clean one is there for a verifier only.
    """
    noisy = length if sees_canvas else min(widest or block_size, length)
    clean = length if whole else 0 if sees_canvas else (length - 1) // block_size * block_size
    total = clean + noisy
    if noisy >= NARROWEST * total and total <= MAX_CELLS:
        return Axes(clean, noisy, total, clean)
    cells = min(max(total, FEWEST_CELLS), MAX_CELLS)
    noisy_cells = max(1, round(max(noisy / total, NARROWEST) * cells))
    return Axes(clean, noisy, cells, cells - noisy_cells if clean else 0)


def axes_of(trace: Trace) -> Axes:
    """The axes for this run."""
    header = trace.header
    settings = header.settings
    return axes(header.length, header.block_size, needs_whole(trace), settings.widest, settings.sees_canvas)


def needs_whole(trace: Trace) -> bool:
    """Whether a run's clean stream can reach the last position: in a verifier's proposal, or after an AR prefix."""
    settings = trace.header.settings
    return settings.corrector in AR_SCORES or settings.ar_prefix > 0


def picture(geometry: Geometry, frame: Axes) -> NDArray[np.uint8]:
    """The mask on the run's axes, uint8 [cells, cells] of KINDS; rows of earlier passes are shown as `earlier`."""
    tokens = _stream(frame, frame.places())
    return rule(geometry, tokens, tokens)


def _stream(frame: Axes, places: NDArray[np.int64]) -> Stream:
    noisy = places >= frame.clean
    return noisy, np.where(noisy, places - frame.clean, places)
