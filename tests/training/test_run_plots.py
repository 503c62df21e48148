from __future__ import annotations

from pathlib import Path

import pandas as pd

from blockviz.training.run_plots import STRETCHES, plot_noise
from blockviz.training.runfiles import NOISE


def test_the_noise_plot_shows_what_was_counted(tmp_path: Path) -> None:
    steps = 3 * STRETCHES - 1
    rows = [{"step": step + 1, "level 0": step, "level 1": steps - step} for step in range(steps)]
    pd.DataFrame(rows).to_csv(tmp_path / NOISE, index=False)
    text = plot_noise(tmp_path).read_text()
    assert "Noise levels drawn in training" in text
    assert f"{steps * steps:,} positions in blocks of two and more" in text
    assert "noise level (share of tokens that are noise)" in text
    assert "optimiser step" in text
