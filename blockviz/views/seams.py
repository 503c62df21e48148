"""The chart of seams: AR surprise by place inside the block, one curve per sampler, from `evaluation.seams.report`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockviz.views.layout import Figure, alone, axis, escape, layout
from blockviz.views.palette import PALETTES, Theme

TITLE = "Do the blocks fit each other?"
HELP = (
    "Mean AR −log p by place inside the block, read left to right by {model} itself, with 95% intervals over {runs} "
    "runs. A step between the last place of a block and the first is a seam."
)
NAMES: dict[str, str] = {
    "none": "seams left",
    "steps": "seams left, as many more steps",
    "overlap": "overlapping blocks",
    "renoise": "seams written again",
    "ar": "left to right (no blocks)",
}
MARKS: dict[str, tuple[str, str]] = {
    "none": ("circle", "solid"),
    "steps": ("triangle-up", "dashdot"),
    "overlap": ("square", "dash"),
    "renoise": ("diamond", "solid"),
    "ar": ("x", "dot"),
}
"""Marker and dash of a sampler, so that colour alone does not tell them apart."""


def markdown(report: Mapping[str, Any]) -> str:
    """The table of a report as Markdown; errors are half widths of 95% intervals over runs."""
    head = (
        "sampler",
        f"within {report['width']} of a boundary",
        "inside",
        "difference",
        "all",
        "entropy of tokens",
        "calls per token",
    )
    lines = [
        f"AR −log p in nats per token by `{report['model']}` itself, blocks of {report['block_size']}, "
        f"{report['curves'][0]['runs']} runs a sampler, with 95% intervals over runs.",
        "",
        "| " + " | ".join(head) + " |",
        "| " + " | ".join("---" for _ in head) + " |",
    ]
    for curve in report["curves"]:
        cells = (
            NAMES[curve["name"]],
            f"{curve['boundary']:.3f}",
            f"{curve['interior']:.3f}",
            f"{curve['gap']:+.3f} ± {curve['gap_error']:.3f}",
            f"{curve['nll']:.3f} ± {curve['nll_error']:.3f}",
            f"{curve['entropy']:.2f}",
            f"{curve['nfe_per_token']:.2f}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def figure(report: Mapping[str, Any], theme: Theme = "light") -> Figure:
    """The chart; `report` is plain data as `evaluation.seams.report` makes it."""
    palette = PALETTES[theme]
    size, width = int(report["block_size"]), int(report["width"])
    colors = {
        "none": palette.renoise,
        "steps": palette.prompt,
        "overlap": palette.checked,
        "renoise": palette.accent,
        "ar": palette.muted,
    }
    data = []
    for curve in report["curves"]:
        name = curve["name"]
        marker, dash = MARKS[name]
        known = [place for place in range(size) if curve["offsets"][place] is not None]
        label = f"{NAMES[name]}: {curve['boundary']:.3f} at boundaries, {curve['interior']:.3f} inside"
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": label,
                "x": [place + 1 for place in known],
                "y": [curve["offsets"][place] for place in known],
                "error_y": {
                    "type": "data",
                    "array": [curve["offset_errors"][place] or 0.0 for place in known],
                    "thickness": 1,
                    "width": 2,
                    "color": colors[name],
                },
                "line": {"color": colors[name], "width": 2, "dash": dash},
                "marker": {"color": colors[name], "size": 7, "symbol": marker},
                "hovertemplate": f"{NAMES[name]}<br>place %{{x}} of {size}: %{{y:.3f}} nats<extra></extra>",
            }
        )
    frame = layout(
        palette,
        (56, 12, 10, 40),
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": -0.22, "font": {"size": 11, "color": palette.ink}},
        xaxis=axis(
            palette, "place inside the block (tokens; shaded: near a boundary)", range=[0.5, size + 0.5]
        ),
        yaxis=axis(
            palette, "AR −log p (nats per token)", showgrid=True, gridcolor=palette.line, rangemode="tozero"
        ),
        shapes=[
            {
                "type": "rect",
                "xref": "x",
                "yref": "paper",
                "x0": left,
                "x1": right,
                "y0": 0,
                "y1": 1,
                "fillcolor": palette.renoise,
                "opacity": 0.08,
                "line": {"width": 0},
                "layer": "below",
            }
            for left, right in ((0.5, width + 0.5), (size - width + 0.5, size + 0.5))
        ],
    )
    runs = report["curves"][0]["runs"] if report["curves"] else 0
    view = alone(
        {"data": data, "layout": frame}, TITLE, HELP.format(model=escape(report["model"]), runs=runs), palette
    )
    frame = view["layout"]
    frame["height"] = 500
    frame["margin"] |= {"b": frame["margin"]["b"] + 74, "t": frame["margin"]["t"] + 20}
    frame["title"] |= {"y": 1, "yref": "container", "pad": {"t": 20}}
    return view
