"""Statistics of many samples against the reference implementation's (`sampler_stats.json`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from blockviz.diffusion.draws import GeneratorDraws
from blockviz.sampling.denoiser import Denoiser
from blockviz.sampling.run import passes, prepare
from blockviz.sampling.settings import SamplerSettings
from tests.golden import report
from tests.sampling.small_models import golden_model

CORRECTORS = {"ar_nll": "ar_nll", "div_kld": "kld", "diff_entropy": "entropy", "random": "random"}
REFERENCE: dict[str, Any] = report("sampler_stats")
# One setting of each kind runs in the fast suite, with fewer sequences.
FAST = (
    "absorb_ancestral_N4",
    "absorb_arpc_ar_nll_N4",
    "uniform_ancestral_N4",
    "uniform_arpc_ar_nll_temp0.5_N4",
)


@dataclass(frozen=True)
class Statistics:
    """What a batch of samples looked like: a value per sequence `[N]`, or per step and sequence `[S, N]`."""

    ar_nll: torch.Tensor
    unigram_entropy: torch.Tensor
    masked: torch.Tensor
    changes: torch.Tensor
    counts: list[int]
    nfe: int


def settings_of(name: str) -> SamplerSettings:
    """The settings behind a key such as `absorb_arpc_ar_nll_temp0.5_N4`."""
    kind = name.split("_", 1)[1]
    options: dict[str, Any] = {"steps": int(name.rsplit("_N", 1)[1])}
    if "temp" in name:
        options["temperature"] = float(name.split("_temp")[1].split("_")[0])
    if kind.startswith("ar_only"):
        options["predictor"] = "autoregressive"
    for word, corrector in CORRECTORS.items():
        if f"arpc_{word}" in kind:
            options["corrector"] = corrector
    return SamplerSettings(**options)


def unigram_entropy(row: torch.Tensor) -> float:
    shares = row.bincount().double() / len(row)
    return float(torch.special.entr(shares).sum())


def collect(name: str, count: int, seed: int = 1) -> Statistics:
    settings = settings_of(name)
    model = golden_model("b" if name.startswith("uniform") else "a")
    draws = GeneratorDraws(seed)
    job = prepare(model, settings, [[]] * count, lambda active: draws)
    masked, changes = torch.zeros(2, 4, settings.steps, count)
    counts: list[int] = []
    before = job.canvas.clone()
    for event in passes(job):
        if event.phase == "renoise" and event.chosen is not None:
            (each,) = set(event.chosen.sum(1).tolist())
            counts.append(each)
        if event.phase in ("denoise", "renoise") and settings.predictor == "ancestral":
            block, step = event.segment.block, event.step
            masked[block, step] = event.noise.double().mean(dim=1)
            changes[block, step] = (job.canvas != before).double().sum(dim=1)
            before = job.canvas.clone()
    everyone = torch.ones(count, dtype=torch.bool)
    reader = Denoiser(model, count, 64, 64, 1.0, True)
    log_p, _ = reader.verify(job.canvas, job.canvas, model.process.prior((count, 64), draws), 0, everyone)
    nll = -log_p.double().gather(-1, job.canvas.unsqueeze(-1)).squeeze(-1).mean(dim=1)
    entropies = torch.tensor([unigram_entropy(row) for row in job.canvas])
    spent = job.denoiser.nfe_denoise + job.denoiser.nfe_verify
    return Statistics(nll, entropies, masked.mean(0), changes.mean(0), counts, spent)


def assert_within(found: torch.Tensor, mean: float, sem: float | None = None) -> None:
    """Means within four standard errors; where the reference gives none, that of 512 sequences like ours."""
    spread = float(found.double().std())
    sem = spread / math.sqrt(512) if sem is None else sem
    error = math.hypot(spread / math.sqrt(len(found)), sem)
    assert abs(float(found.double().mean()) - mean) <= 4 * error + 1e-6


def compare(name: str, count: int) -> None:
    expected, found = REFERENCE[name], collect(name, count)
    assert found.nfe == expected["nfe_total"]
    assert found.counts == expected["k_sequence"] * 4
    assert_within(found.ar_nll, expected["ar_nll_per_token_mean"], expected["ar_nll_per_token_sem"])
    entropy, sem = expected["sample_unigram_entropy_mean"], expected["sample_unigram_entropy_sem"]
    assert_within(found.unigram_entropy, entropy, sem)
    for step, mean in enumerate(expected["mean_changes_per_step"]):
        assert_within(found.changes[step], mean)
    for step, mean in enumerate(expected["mean_frac_masked_after_step"] or []):
        assert_within(found.masked[step], mean)


@pytest.mark.parametrize("name", FAST)
def test_a_few_samples_look_like_the_reference(name: str) -> None:
    compare(name, 96)


@pytest.mark.slow
@pytest.mark.parametrize("name", REFERENCE)
def test_samples_look_like_the_reference(name: str) -> None:
    compare(name, 256)
