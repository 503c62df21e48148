"""Plots of a training run, each a file that needs no network: its losses, and the noise levels it drew."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from blockviz.training.runfiles import LOSSES, NOISE, VALIDATION

STRETCHES = 40  # columns of the picture of noise levels at most


def plot_losses(folder: Path) -> Path:
    """Draw the losses by block size and the validation bounds into `losses.html`."""
    figure = go.Figure()
    losses = pd.read_csv(folder / LOSSES)
    window = max(1, len(losses) // 100)
    for column in [name for name in losses if name.startswith("loss")]:
        smooth = losses[column].rolling(window, min_periods=1).mean()
        figure.add_scatter(x=losses["step"], y=smooth, name=f"training {column}", line={"width": 1})
    if (folder / VALIDATION).exists():
        bounds = pd.read_csv(folder / VALIDATION)
        for column in [name for name in bounds if name not in ("step", "ar_exact")]:
            figure.add_scatter(
                x=bounds["step"], y=bounds[column], name=f"validation {column}", mode="lines+markers"
            )
    figure.update_layout(
        title="Training and validation losses",
        xaxis_title="optimiser step",
        yaxis={"title": "nats per token", "type": "log"},
        template="plotly_white",
    )
    return _written(figure, folder / "losses.html")


def plot_noise(folder: Path) -> Path:
    """Draw the noise levels that training drew, as counted, into `noise.html`.

    A column is a stretch of steps and adds up to 1; a line follows the mean level. Block size 1 is not counted: there
    everything is noise.
    """
    rows = pd.read_csv(folder / NOISE)
    counts = rows.drop(columns="step")
    width = max(1, -(-len(rows) // STRETCHES))
    grouped = counts.groupby(counts.index // width).sum()
    first = rows["step"].groupby(rows.index // width).first()
    levels = len(counts.columns)
    middles = [(level + 0.5) / levels for level in range(levels)]
    totals = grouped.sum(axis=1)
    shares = grouped.div(totals.where(totals > 0), axis=0)
    figure = go.Figure()
    figure.add_heatmap(
        x=first,
        y=middles,
        z=shares.T.to_numpy(),
        colorscale="Blues",
        zmin=0,
        colorbar={"title": {"text": "share of<br>positions"}},
        hovertemplate="step %{x}<br>noise level %{y:.3f}<br>share %{z:.3f}<extra></extra>",
    )
    figure.add_scatter(
        x=first,
        y=(shares * middles).sum(axis=1, min_count=1),
        name="mean level",
        line={"color": "#b5401b", "width": 2},
    )
    figure.update_layout(
        title={
            "text": "Noise levels drawn in training",
            "subtitle": {"text": f"{int(totals.sum()):,} positions in blocks of two and more"},
        },
        xaxis_title="optimiser step",
        yaxis={"title": "noise level (share of tokens that are noise)", "range": [0, 1]},
        template="plotly_white",
        showlegend=True,
        legend={"orientation": "h", "y": 1.06, "x": 1, "xanchor": "right"},
    )
    return _written(figure, folder / "noise.html")


def _written(figure: go.Figure, path: Path) -> Path:
    figure.write_html(path, include_plotlyjs=True)
    return path
