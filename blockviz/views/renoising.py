"""Re-noising: the score that decided, position by position of the active block, the chosen ones and the cut."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from blockviz.sampling.settings import AR_SCORES
from blockviz.sampling.trace import Trace
from blockviz.views.decisions import (
    SCORES,
    TALLEST,
    TOPS,
    Decision,
    cut_line,
    decision,
    is_doubted,
    left_is_free,
    score_range,
)
from blockviz.views.layout import Figure, alone, axis, layout, place_words, token_text, token_words
from blockviz.views.palette import PALETTES, Palette, Theme

TITLE = "What the corrector doubts"
HELP = "Score of every proposed token; the highest are re-noised."

ROW_HEIGHT = 40
"""Pixels of a row of tokens under the bars: the proposal, and what AR would say."""
CAPTION = 18
"""Pixels of the line that names the positions."""
LEGEND_LINE = 18
MOST_LABELS = 32
"""A wider block shows position numbers in place of tokens; hovering still names them."""
LONGEST_LABEL = 7

WORDS: dict[str, Any] = {
    "now": "{says}; the {k} highest are re-noised.",
    "now_one": "{says}; the highest is re-noised.",
    "verify": "{says}; the cut follows in the next pass.",
    "earlier": "Dimmed: last decision of this block, step {step} (pass {pass}).",
    "cut": "cut: k = {k}",
    "bar": "{token}: {short} {score}, {fate}",
    "chosen": "re-noised",
    "spared": "kept",
    "doubted": "not decided yet",
    "alternative": "AR would say {token} (p {p})",
    "agrees": "AR would say the same (p {p})",
    "no_corrector": "No re-noising in this run:\nit has no corrector.",
    "none_yet": "No re-noising in block {block} yet.",
    "none_start": "No block is open yet.",
    "proposed": "token",
    "ar_says": "AR would say",
    "positions": "positions {first} to {last}, block {block}",
    "help_none": "Score of every proposed token; the highest are re-noised.",
}


def template(theme: Theme) -> Figure:
    """The figure without data: one bar for each place of the window, which always stand at x = 1 .. block size.

    On the page JavaScript lays the tokens and the cut line under and over it, which is cheaper than tick labels.
    """
    palette = PALETTES[theme]
    return {
        "data": [
            _bars(WORDS["spared"], {"color": palette.quiet, "line": {"width": 0}}, palette),
            # Stripes and an outline as well: colour alone does not tell which were chosen.
            _bars(
                WORDS["chosen"],
                {
                    "color": palette.renoise,
                    "line": {"width": 1.5, "color": palette.renoise},
                    "pattern": {
                        "shape": "/",
                        "fillmode": "overlay",
                        "fgcolor": palette.card,
                        "fgopacity": 0.8,
                        "size": 5,
                        "solidity": 0.2,
                    },
                },
                palette,
            ),
        ],
        "layout": layout(
            palette,
            (44, 8, 10, 4),
            barmode="overlay",
            bargap=0.16,
            xaxis=axis(
                palette, "", range=[0.5, 1.5], ticks="", showticklabels=False, showline=True, fixedrange=True
            ),
            yaxis=axis(palette, "score", range=[0, 1], nticks=5, showgrid=True, gridcolor=palette.line),
        ),
    }


def _bars(name: str, marker: dict[str, Any], palette: Palette) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": name,
        "x": [],
        "y": [],
        "text": [],
        "textposition": "inside",
        "insidetextanchor": "end",
        "textangle": -90,
        "textfont": {"color": palette.ink, "size": 9},
        "constraintext": "none",
        "hovertext": [],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": marker,
    }


def legend(theme: Theme) -> list[dict[str, str]]:
    """Swatches for the legend of the page."""
    palette = PALETTES[theme]
    return [
        {"name": "renoised", "color": palette.renoise, "label": "re-noised", "mark": "striped"},
        {"name": "kept", "color": palette.quiet, "label": "kept", "mark": ""},
        {"name": "cut", "color": palette.renoise, "label": "cut", "mark": "dashed"},
    ]


def constants() -> dict[str, Any]:
    """What the JavaScript twin needs to build the same chart."""
    return {
        "scores": {name: asdict(score) for name, score in SCORES.items()},
        "most_labels": MOST_LABELS,
        "longest_label": LONGEST_LABEL,
        "tallest": TALLEST,
        "tops": list(TOPS),
        "row_height": ROW_HEIGHT,
        "caption": CAPTION,
        "legend_line": LEGEND_LINE,
        "verifiers": sorted(AR_SCORES),
    }


def label(piece: str) -> str:
    """A token as a tick label: shortened, and safe for Plotly."""
    return token_text(piece, LONGEST_LABEL)


def figure(trace: Trace, k: int, theme: Theme = "light") -> Figure:
    """The scores that decided at pass `k` (or the last ones of its block, dimmed), as a plain Plotly figure.

    Raises IndexError when the trace has no pass `k`.
    """
    palette = PALETTES[theme]
    view = template(theme)
    shown = decision(trace, k)
    if shown is None:
        return _quiet(trace, k, view, palette)
    low, top = score_range(trace)
    free = ~np.isnan(shown.scores)
    for bars, mask in zip(view["data"], (free & ~shown.chosen, free & shown.chosen), strict=True):
        over = mask & (shown.scores > top + 1e-6)
        bars |= {
            "x": list(range(1, len(free) + 1)),
            "y": [
                min(float(score), top) if here else None
                for score, here in zip(shown.scores, mask, strict=True)
            ],
            "text": [f"{score:.1f}" if here else "" for score, here in zip(shown.scores, over, strict=True)],
            "hovertext": [bar_words(trace, shown, i) for i in range(len(free))],
            "opacity": 0.4 if shown.moment == "earlier" else 1.0,
        }
    frame = view["layout"]
    if shown.cut is not None:
        view["data"].append(_cut(shown, min(cut_line(shown.scores, shown.chosen, shown.cut), top), palette))
    frame["yaxis"] |= {"range": [low * 1.1, top * 1.1]}
    frame["yaxis"]["title"]["text"] = SCORES[shown.corrector].axis
    frame["showlegend"] = True
    frame["margin"]["b"] += 40
    frame["xaxis"] |= _token_labels(trace, shown, palette)
    return alone(view, TITLE, help_words(shown), palette)


def help_words(shown: Decision) -> str:
    """The line under the title: which score this is, and what was done with it."""
    name = "now_one" if shown.moment == "now" and shown.k == 1 else shown.moment
    words = {"says": SCORES[shown.corrector].says, "k": shown.k, "step": shown.step + 1, "pass": shown.source}
    return WORDS[name].format(**words)


def _cut(shown: Decision, height: float, palette: Palette) -> dict[str, Any]:
    name = WORDS["cut"].format(k=shown.k)
    left = left_is_free(shown.scores, height)
    return {
        "type": "scatter",
        "name": "cut",
        "mode": "lines+text",
        "x": [0.5, len(shown.scores) + 0.5],
        "y": [height, height],
        "text": [name, ""] if left else ["", name],
        "textposition": ["top right", "top left"],
        "line": {"color": palette.renoise, "width": 1.5, "dash": "dash"},
        "hoverinfo": "skip",
    }


def _token_labels(trace: Trace, shown: Decision, palette: Palette) -> dict[str, Any]:
    """Tick labels of a figure that stands alone: the proposed token, and under it what AR would say."""
    places = WORDS["positions"].format(first=shown.start + 1, last=shown.stop, block=shown.block + 1)
    title = f"{WORDS['proposed']}, {WORDS['ar_says']} ({places})" if (shown.choices >= 0).any() else places
    width = len(shown.tokens)
    names = []
    for i, token in enumerate(shown.tokens):
        name = label(trace.pieces.get(int(token), "?"))
        if width > MOST_LABELS:
            name = str(shown.start + i + 1)
        elif is_doubted(shown, i):
            other = label(trace.pieces.get(int(shown.choices[i]), "?"))
            name = f"<b>{name}</b><br><span style='color:{palette.renoise}'>{other}</span>"
        names.append(name)
    labels: dict[str, Any] = {
        "range": [0.5, width + 0.5],
        "showticklabels": True,
        "title": {"text": title, "font": {"size": 11, "color": palette.muted}},
        "tickfont": {"size": 11, "color": palette.ink, "family": palette.mono},
        "tickvals": list(range(1, width + 1)),
        "ticktext": names,
    }
    if width > MOST_LABELS:
        every = -(-width // 8)
        labels |= {"tickvals": labels["tickvals"][::every], "ticktext": names[::every]}
    return labels


def bar_words(trace: Trace, shown: Decision, i: int) -> str:
    """What hovering says of position `i` of the window."""
    score = SCORES[shown.corrector]
    fate = "doubted" if shown.moment == "verify" else "chosen" if shown.chosen[i] else "spared"
    if np.isnan(shown.scores[i]):
        return place_words(shown.start + i, trace.header)
    lines = [
        place_words(shown.start + i, trace.header),
        WORDS["bar"].format(
            token=token_words(trace.pieces.get(int(shown.tokens[i]), "?")),
            short=score.short,
            score=f"{shown.scores[i]:.2f} {score.unit}".rstrip(),
            fate=WORDS[fate],
        ),
    ]
    if shown.choices[i] >= 0:
        same = shown.choices[i] == shown.tokens[i]
        lines.append(
            WORDS["agrees" if same else "alternative"].format(
                token=token_words(trace.pieces.get(int(shown.choices[i]), "?")),
                p=f"{shown.choice_p[i]:.2f}",
            )
        )
    return "<br>".join(lines)


def quiet_words(trace: Trace, k: int) -> str:
    """Why there is nothing to show at pass `k`."""
    if trace.header.settings.corrector == "none":
        return WORDS["no_corrector"]
    entry = trace.passes[k]
    return WORDS["none_start"] if entry.phase == "start" else WORDS["none_yet"].format(block=entry.block + 1)


def _quiet(trace: Trace, k: int, view: Figure, palette: Palette) -> Figure:
    frame = view["layout"]
    for name in ("xaxis", "yaxis"):
        frame[name]["visible"] = False
    frame["annotations"] = [
        {
            "text": quiet_words(trace, k).replace("\n", "<br>"),
            "xref": "paper",
            "yref": "paper",
            "x": 0.5,
            "y": 0.6,
            "showarrow": False,
            "font": {"size": 13, "color": palette.muted},
        }
    ]
    view["data"] = []
    return alone(view, TITLE, HELP, palette)
