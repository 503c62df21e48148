"""The cache ribbon: what the KV cache holds, in pages of one block, and what the forward of a pass computes.

One strip over the canvas positions. The browser draws it with elements (`assets/ribbon.js`); the sentence here goes
with the attention figure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from blockviz.sampling.trace import Header, Pass, Trace
from blockviz.views.palette import PALETTES, THEMES

COLORS: dict[str, str] = {
    "cached": "cached",
    "carried": "carried",
    "finished": "carried",
    "active": "active",
    "proposal": "proposal",
    "noise": "noise",
}
"""Span of the ribbon -> kind of key whose colour it has (`masks.KINDS`)."""

WORDS: dict[str, Any] = {
    "title": "KV cache",
    "help": "What the cache holds, in pages of one block, and what this pass computes; left to right, the canvas.",
    "cached": "cached {count}",
    "pages": "{pages} of {size}, {bytes}",
    "page": "1 page",
    "page_count": "{count} pages",
    "carried": "committed now {count} (+{bytes})",
    "recomputed": "recomputed {count}",
    "finished": "finished {count}, cached by the next pass",
    "active": "active block {count}",
    "proposal": "proposal {count} + noise {count}",
    "calls": "{queries} {queries_word} × {keys} {keys_word}",
    "query": "query",
    "queries": "queries",
    "key": "key",
    "keys": "keys",
    "idle": "no network call",
    "off_canvas": "no cache: every pass recomputes the whole canvas",
    "off": "no cache: every pass recomputes its context",
    "tips": {
        "cached": "Tokens in the cache before this pass: pages of one block, and the bytes of their keys and values.",
        "carried": "Clean tokens that this pass computes and adds to the cache.",
        "recomputed": "Clean tokens that this pass computes again, because the cache is off.",
        "finished": "Committed tokens that the next network call carries and puts into the cache.",
        "active": "The active block, computed in this pass.",
        "proposal": "The proposal, read left to right, and one noise token for each of its positions.",
        "calls": "Tokens that this pass computes (queries) and tokens that they may read (keys, cached ones included).",
    },
}


@dataclass(frozen=True)
class Ribbon:
    """The spans of the strip in tokens, and the counts; `queries` and `keys` are 0 where a pass calls no network.

    Positions 0 .. cached-1 are in the cache, `carried` further ones are computed as clean context (and put into the
    cache, unless `recomputed`), `finished` further ones are done, but enter it with the next call only. `pages` of
    `page_size` tokens and `bytes` are those of the cached tokens, `added` the bytes of the carried ones.
    """

    cached: int
    carried: int
    finished: int
    start: int
    stop: int
    verify: bool
    recomputed: bool
    whole: bool
    queries: int
    keys: int
    page_size: int
    pages: int
    bytes: int
    added: int


def facts(trace: Trace, k: int) -> Ribbon:
    """The ribbon of pass `k`; raises IndexError when the trace has no such pass."""
    entry, header = trace.passes[k], trace.header
    call, verify = entry.phase in ("denoise", "propose", "verify"), entry.phase == "verify"
    settings = header.settings
    recomputed = not settings.caches
    whole = recomputed and settings.context != "causal" and settings.predictor != "autoregressive"
    carried = entry.clean if call else 0
    window = entry.stop - entry.start
    queries = carried + window * (2 if verify else 1) if call else 0
    if call and settings.sees_canvas and not verify:
        queries = header.length
    done = entry.phase == "commit" and not recomputed
    return Ribbon(
        cached=entry.cached,
        carried=carried,
        finished=kept_stop(header, entry) - entry.cached if done else 0,
        start=entry.start,
        stop=entry.stop,
        verify=verify,
        recomputed=recomputed,
        whole=whole,
        queries=queries,
        keys=entry.cached + queries if call else 0,
        page_size=header.block_size,
        pages=-(-entry.cached // header.block_size),
        bytes=header.model.cache_bytes(entry.cached),
        added=0 if recomputed else header.model.cache_bytes(carried),
    )


def kept_stop(header: Header, entry: Pass) -> int:
    """Where the part of a window that is finished stops: before the drafts that an overlapping one writes again."""
    overlap = header.settings.overlap if header.settings.seams == "overlap" else 0
    if entry.stop == header.length or header.settings.widest in (1, None):
        return entry.stop
    return entry.stop - overlap


def parts(ribbon: Ribbon) -> dict[str, str]:
    """The words of the strip by the place they stand at: `cached`, `clean`, `window` and `calls`."""
    size = WORDS["page"] if ribbon.pages == 1 else WORDS["page_count"].format(count=ribbon.pages)
    pages = WORDS["pages"].format(pages=size, size=ribbon.page_size, bytes=size_words(ribbon.bytes))
    window = ribbon.stop - ribbon.start
    clean = ""
    if ribbon.carried:
        clean = WORDS["recomputed" if ribbon.recomputed else "carried"].format(
            count=ribbon.carried, bytes=size_words(ribbon.added)
        )
    elif ribbon.finished:
        clean = WORDS["finished"].format(count=ribbon.finished)
    calls = WORDS["idle"]
    if ribbon.queries:
        calls = WORDS["calls"].format(
            queries=ribbon.queries,
            queries_word=WORDS["query" if ribbon.queries == 1 else "queries"],
            keys=ribbon.keys,
            keys_word=WORDS["key" if ribbon.keys == 1 else "keys"],
        )
    return {
        "cached": WORDS["off_canvas" if ribbon.whole else "off"]
        if ribbon.recomputed
        else f"{WORDS['cached'].format(count=ribbon.cached)} ({pages})",
        "clean": clean,
        "window": WORDS["proposal" if ribbon.verify else "active"].format(count=window)
        if ribbon.queries
        else "",
        "calls": calls,
    }


def sentence(trace: Trace, k: int) -> str:
    """The words of the strip in one line, for figures outside the page."""
    line = "; ".join(words for words in parts(facts(trace, k)).values() if words)
    return f"{line[0].upper()}{line[1:]}."


def size_words(count: int) -> str:
    """A number of bytes as people read it; rounded half up, as the browser does."""
    if count < 1024:
        return f"{count} B"
    size, unit = (count / 1024, "KiB") if count < 1024**2 else (count / 1024**2, "MiB")
    return f"{math.floor(size * 10 + 0.5) / 10:.1f} {unit}"


def constants() -> dict[str, Any]:
    """What the JavaScript twin needs: words, and the colour of every span by theme."""
    kinds = ("blocked", "earlier", "cached", "carried", "active", "proposal", "noise")
    return {
        "words": WORDS,
        "colors": {
            span: {theme: PALETTES[theme].kinds[kinds.index(kind)] for theme in THEMES}
            for span, kind in COLORS.items()
        },
    }
