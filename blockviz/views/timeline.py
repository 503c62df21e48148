"""Timeline: one bar per block, cut into its passes in their phases' colours, along passes, network calls or time."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from blockviz.sampling.passes import Phase
from blockviz.sampling.trace import PHASES, Trace
from blockviz.views.layout import PHASE_WORDS, Figure, alone, axis, layout, pass_words, tick_step
from blockviz.views.palette import PALETTES, Theme

TITLE = "Timeline"
HELP = "One bar per block, cut into its passes."

Along = Literal["pass", "nfe", "ms"]
ALONGS: tuple[Along, ...] = get_args(Along)

HEIGHT = 236
"""Pixels of the plot; under it stand the legend and the choice of the x axis."""

MAX_BARS = 1_200
"""A run with more passes is drawn in groups of neighbouring passes (hovering stays exact)."""
HAIR = 0.003
"""Share of the axis that a pass without a network call takes where it takes no time: it must be seen."""
MOST_ROWS = 12
"""More blocks than this are not all numbered."""

NETWORK: tuple[Phase, ...] = ("propose", "denoise", "verify")
FREE: tuple[Phase, ...] = ("renoise", "commit", "edit")
DRAWN = NETWORK + FREE
"""Phases in drawing order; the start belongs to no block. Each has a height of its own, so that colour is not alone."""
HEIGHTS: dict[str, float] = {
    "propose": 0.66,
    "denoise": 0.84,
    "verify": 0.46,
    "renoise": 0.84,
    "commit": 0.84,
    "edit": 1.0,
}

WORDS: dict[str, Any] = {
    "axes": {"pass": "pass (number)", "nfe": "network calls so far (NFE)", "ms": "time of the run (ms)"},
    "choices": {"pass": "pass", "nfe": "NFE", "ms": "ms"},
    "choice": "x axis",
    "choice_help": {
        "pass": "Along passes: each is equally wide",
        "nfe": "Along network calls (NFE): a pass without a call is a hairline",
        "ms": "Along the milliseconds that the run took",
    },
    "block": "block {block}",
    "call": "network call {nfe} = {denoise} denoise + {verify} verify so far",
    "free": "no network call; NFE {nfe} so far",
    "time": "{ms} ms, from {start} to {stop} ms of the run",
    "renoised": "{k} tokens back to noise",
    "renoised_one": "1 token back to noise",
    "start": "One bar per block, cut into its passes. A click goes to a pass.",
    "sum": "Block {block}: {passes} passes, NFE {nfe} = {denoise} denoise + {verify} verify, {ms} ms.",
    "group": "passes {first} to {last}",
}


@dataclass(frozen=True)
class Bar:
    """One drawn piece of a block's bar: passes `first`..`last` of one phase, from `start` over `length` axis units."""

    phase: str
    block: int
    first: int
    last: int
    start: float
    length: float


def edges(trace: Trace, along: Along) -> NDArray[np.float64]:
    """Where every pass begins and ends along the axis: float64 [P, 2] in passes, network calls or milliseconds."""
    if along == "pass":
        middle = np.arange(len(trace.passes), dtype=np.float64)
        return np.stack((middle - 0.5, middle + 0.5), axis=1)
    if along == "nfe":
        ends = np.array([entry.nfe_denoise + entry.nfe_verify for entry in trace.passes], np.float64)
    else:
        ends = np.cumsum([entry.ms if entry.ms > 0 else 0.0 for entry in trace.passes])
    return np.stack((np.concatenate(([0.0], ends[:-1])), ends), axis=1)


def extent(trace: Trace, along: Along) -> tuple[float, float]:
    """The range of the axis for a whole run, with a hundredth of room so that hairlines at the ends show."""
    last = float(edges(trace, along)[-1, 1])
    if along == "pass":
        return -0.5, last
    room = last if last > 0 else 1.0
    return -0.01 * room, 1.01 * room


def bars(trace: Trace, along: Along, limit: int = MAX_BARS) -> list[Bar]:
    """The bars to draw: one per pass, or in a run of more than `limit` passes one per phase of a group of passes.

    Within a group the phases stand one after another, each as long as all its passes together. Free passes are
    hairlines (`HAIR`) unless the axis counts passes.
    """
    where = edges(trace, along)
    low, high = extent(trace, along)
    hair = 0.0 if along == "pass" else HAIR * (high - low)
    size = -(-len(trace.passes) // limit)
    made: list[Bar] = []
    first = 1
    while first < len(trace.passes):
        block = trace.passes[first].block
        last = first
        while (
            last + 1 < len(trace.passes) and last + 1 < first + size and trace.passes[last + 1].block == block
        ):
            last += 1
        made += _group(trace, where, hair, first, last)
        first = last + 1
    return made


def _group(trace: Trace, where: NDArray[np.float64], hair: float, first: int, last: int) -> list[Bar]:
    lengths: dict[Phase, float] = {}
    for k in range(first, last + 1):
        entry = trace.passes[k]
        lengths[entry.phase] = lengths.get(entry.phase, 0.0) + float(where[k, 1] - where[k, 0])
    made = []
    start = float(where[first, 0])
    for phase in (name for name in DRAWN if name in lengths):
        length = lengths[phase]
        if phase in FREE and length < hair:
            middle = start + length / 2
            made.append(Bar(phase, trace.passes[first].block, first, last, middle - hair / 2, hair))
        else:
            made.append(Bar(phase, trace.passes[first].block, first, last, start, length))
        start += length
    return made


def template(theme: Theme) -> Figure:
    """The figure without data: a horizontal bar trace per phase, blocks downward."""
    palette = PALETTES[theme]
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "name": PHASE_WORDS[phase],
                "base": [],
                "x": [],
                "y": [],
                "width": HEIGHTS[phase],
                "marker": {"color": palette.phases[PHASES.index(phase)], "line": {"width": 0}},
                "textposition": "none",
                "hovertemplate": "%{text}<extra></extra>",
            }
            for phase in DRAWN
        ],
        "layout": layout(
            palette,
            (46, 8, 4, 34),
            height=HEIGHT,
            barmode="overlay",
            xaxis=axis(palette, WORDS["axes"]["pass"], nticks=8),
            yaxis=axis(palette, "block (number)", autorange=False, range=[1.5, 0.5], fixedrange=True),
        ),
    }


def legend(theme: Theme) -> list[dict[str, str]]:
    """Swatches for the legend, in drawing order; those of passes without a network call say so."""
    palette = PALETTES[theme]
    return [
        {
            "name": phase,
            "color": palette.phases[PHASES.index(phase)],
            "label": PHASE_WORDS[phase] + (" (no call)" if phase in FREE else ""),
        }
        for phase in DRAWN
    ]


def constants() -> dict[str, Any]:
    """What the browser needs besides words and figures."""
    return {
        "alongs": list(ALONGS),
        "drawn": list(DRAWN),
        "free": list(FREE),
        "bars": MAX_BARS,
        "hair": HAIR,
        "rows": MOST_ROWS,
    }


def fixed(value: float, digits: int) -> str:
    """The number as JavaScript's toFixed writes it (halves are rounded up)."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def words(trace: Trace, k: int) -> str:
    """What hovering says of pass `k`: its block, what it is, its network call and its time."""
    entry = trace.passes[k]
    before = trace.passes[k - 1] if k else entry
    total = entry.nfe_denoise + entry.nfe_verify
    called = total > before.nfe_denoise + before.nfe_verify
    start, stop = edges(trace, "ms")[k]
    lines = [
        WORDS["block"].format(block=entry.block + 1),
        pass_words(entry, k),
        WORDS["call" if called else "free"].format(
            nfe=total, denoise=entry.nfe_denoise, verify=entry.nfe_verify
        ),
        WORDS["time"].format(ms=fixed(stop - start, 2), start=fixed(start, 1), stop=fixed(stop, 1)),
    ]
    if entry.k:
        lines.append(WORDS["renoised_one" if entry.k == 1 else "renoised"].format(k=entry.k))
    return "<br>".join(lines)


def block_words(trace: Trace, k: int) -> str:
    """What the line under the title says at pass `k`: the sums of its block over the whole run."""
    if trace.passes[k].phase == "start":
        return WORDS["start"]
    block = trace.passes[k].block
    denoise = verify = count = 0
    ms = 0.0
    for before, entry in zip(trace.passes, trace.passes[1:], strict=False):
        if entry.block != block:
            continue
        count += 1
        denoise += entry.nfe_denoise - before.nfe_denoise
        verify += entry.nfe_verify - before.nfe_verify
        ms += entry.ms if entry.ms > 0 else 0.0
    return WORDS["sum"].format(
        block=block + 1, passes=count, nfe=denoise + verify, denoise=denoise, verify=verify, ms=fixed(ms, 1)
    )


def figure(trace: Trace, k: int, theme: Theme = "light", along: Along = "pass") -> Figure:
    """The timeline of a run along `along` with its cursor at pass `k`, as a plain Plotly figure.

    Raises IndexError when the trace has no pass `k`.
    """
    palette = PALETTES[theme]
    said = block_words(trace, k)
    view = template(theme)
    drawn = bars(trace, along)
    for phase, entry in zip(DRAWN, view["data"], strict=True):
        mine = [bar for bar in drawn if bar.phase == phase]
        entry |= {
            "showlegend": phase != "edit" or bool(mine),
            "base": [bar.start for bar in mine],
            "x": [bar.length for bar in mine],
            "y": [bar.block + 1 for bar in mine],
            "text": [_bar_words(trace, bar) for bar in mine],
        }
    frame = view["layout"]
    frame["showlegend"] = True
    frame["legend"] = {"orientation": "h", "y": -0.2}
    frame["xaxis"]["title"]["text"] = WORDS["axes"][along]
    frame["xaxis"]["range"] = list(extent(trace, along))
    count = trace.header.blocks
    frame["yaxis"] |= {"range": [count + 0.5, 0.5], "tick0": 1, "dtick": row_step(count)}
    start, stop = edges(trace, along)[k]
    frame["shapes"] = [
        {
            "type": "rect",
            "yref": "paper",
            "x0": start,
            "x1": stop,
            "y0": 0,
            "y1": 1,
            "line": {"color": palette.ink, "width": 1.5},
            "layer": "above",
        }
    ]
    return alone(view, TITLE, said, palette)


def row_step(count: int) -> int:
    """Distance between the numbered blocks: each one while there are few."""
    return 1 if count <= MOST_ROWS else tick_step(count)


def _bar_words(trace: Trace, bar: Bar) -> str:
    if bar.first == bar.last:
        return words(trace, bar.first)
    block = WORDS["block"].format(block=bar.block + 1)
    group = WORDS["group"].format(first=bar.first, last=bar.last)
    return f"{block}<br>{group} · {PHASE_WORDS[bar.phase]}"
