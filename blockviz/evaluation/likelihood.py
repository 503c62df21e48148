"""How likely a finished text is to the model itself, read left to right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from blockviz.diffusion.draws import GeneratorDraws
from blockviz.diffusion.prediction import log_probs
from blockviz.models.attention import two_stream_mask
from blockviz.models.checkpoint import Model
from blockviz.sampling.batch import RowsDraws
from blockviz.sampling.denoiser import forbidden_ids, work_device


def ar_nll(
    model: Model,
    tokens: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    seeds: Sequence[int],
) -> NDArray[np.float64]:
    """Autoregressive negative log-likelihood in nats, summed over positions [starts, stops) of each row: float64 [N].

    See `token_nll`.
    """
    each = token_nll(model, tokens, starts, stops, seeds)
    return np.nansum(each, axis=1)


@torch.inference_mode()
def token_nll(
    model: Model,
    tokens: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    seeds: Sequence[int],
) -> NDArray[np.float64]:
    """Autoregressive negative log-likelihood of every token in nats: float64 [N, L], NaN outside [starts, stops).

    `tokens` [N, L] are whole canvases. This is the model's B = 1 mode on pure noise (MATHS.md, "The model"), one
    forward over [clean | noise] for all positions at once, at temperature 1; a uniform model's noise comes from
    `seeds`, one a row, so that a row's value does not depend on its batch mates.
    """
    out = np.full(tokens.shape, np.nan)
    if not len(tokens) or not int(stops.max()) > int(starts.min()):
        return out
    first, last = int(starts.min()), int(stops.max())
    device = work_device(model)
    draws = RowsDraws(
        [GeneratorDraws(seed, device) for seed in seeds], torch.ones(len(seeds), dtype=torch.bool)
    )
    noise = model.process.prior(tokens.shape, draws)[:, first:last]
    canvas = torch.from_numpy(tokens).to(device)
    clean, noisy = torch.arange(last), torch.arange(first, last)
    logits = model.net(
        torch.cat([canvas[:, :last], noise], dim=1).to(model.device),
        torch.cat([clean, noisy]).to(model.device),
        two_stream_mask(clean, noisy, 1, model.config.x0_causal).to(model.device),
        first_output=last,
    )
    chosen = log_probs(logits.to(device), 1.0, forbidden_ids(model)).gather(-1, canvas[:, first:last, None])[
        ..., 0
    ]
    positions = noisy.to(device)
    inside = (positions >= torch.from_numpy(starts).to(device)[:, None]) & (
        positions < torch.from_numpy(stops).to(device)[:, None]
    )
    out[:, first:last] = torch.where(inside, -chosen.double(), torch.nan).cpu().numpy()
    return out


def generated_stops(
    tokens: NDArray[np.int64], starts: NDArray[np.int64], stops: NDArray[np.int64], end_id: int | None
) -> NDArray[np.int64]:
    """Where each row's text ends, int64 [N]: behind the first end token in [starts, stops), else at `stops`."""
    if end_id is None:
        return stops
    positions = np.arange(tokens.shape[1])
    ends = (tokens == end_id) & (positions >= starts[:, None]) & (positions < stops[:, None])
    return np.where(ends.any(axis=1), ends.argmax(axis=1) + 1, stops)
