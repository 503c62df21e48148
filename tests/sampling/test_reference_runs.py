"""Whole runs of the reference, with its random numbers, through the loop: every prediction, draw and choice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from blockviz.sampling import correctors
from blockviz.sampling.correctors import Evidence
from blockviz.sampling.run import Event, passes, prepare
from blockviz.sampling.settings import SamplerSettings
from tests.golden import report, tensors
from tests.sampling.small_models import golden_model

RUNS: dict[str, dict[str, Any]] = {
    "trace_ancestral_absorb_N4": {},
    "trace_ancestral_uniform_N4": {},
    "trace_arpc_absorb_ar_nll_N4": {"corrector": "ar_nll"},
    "trace_arpc_uniform_ar_nll_N4": {"corrector": "ar_nll"},
    "trace_arpc_absorb_div_kld_N4": {"corrector": "kld"},
    "trace_arpc_absorb_diff_entropy_N4": {"corrector": "entropy"},
    "trace_arpc_uniform_diff_entropy_N4": {"corrector": "entropy"},
    "trace_arpc_absorb_warmup1_every2_N6": {"corrector": "ar_nll", "steps": 6, "warmup": 1, "every": 2},
    "trace_ar32_then_arpc_absorb_N4": {"corrector": "ar_nll", "ar_prefix": 32},
}


class ReferenceDraws:
    """The reference's draws: one generator for the whole batch.

    It draws a corrector's noise only for the chosen positions, worst first; `guided` holds these positions of every
    guided pass, `kinds` says which of the integer draws are of that sort.
    """

    device = torch.device("cpu")

    def __init__(self, seed: int, kinds: list[str], guided: list[torch.Tensor]) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.kinds = iter(kinds)
        self.guided = iter(guided)

    def uniform(self, *shape: int) -> torch.Tensor:
        return torch.rand(shape, dtype=torch.float64, generator=self.generator)

    def integers(self, high: int, *shape: int) -> torch.Tensor:
        if next(self.kinds) != "corrector":
            return torch.randint(high, shape, generator=self.generator)
        chosen = next(self.guided)
        fresh = torch.randint(high, tuple(chosen.shape), generator=self.generator)
        return torch.zeros(shape, dtype=torch.int64).scatter(1, chosen, fresh)


def reference(name: str) -> tuple[dict[str, torch.Tensor], dict[str, Any], ReferenceDraws]:
    saved, facts = tensors(name), report("trace_report")[f"{name}.safetensors"]
    guided = [saved[f"{key}_topk_idx"] for key in facts["order"] if f"{key}_topk_idx" in saved]
    corrected = ["verify", "corrector"] if "ar_nll" in name else ["corrector"]
    block = corrected * 3 if guided else ["noise"] * 3
    return saved, facts, ReferenceDraws(facts["seed"], ["prior", *block * 4], guided)


def checked_score(name: str, saved: Iterator[torch.Tensor]) -> correctors.Score:
    """The score of that name, compared with the reference's, whose value is then used.

    The positions of a fully masked first block differ by rounding alone, and so does the reference's choice there.
    """
    score = correctors.SCORES[name]

    def compare(evidence: Evidence) -> torch.Tensor:
        expected = next(saved)
        torch.testing.assert_close(score(evidence), expected, atol=2e-4, rtol=1e-5)
        return expected

    return compare


@pytest.mark.parametrize(("name", "options"), RUNS.items())
def test_a_whole_run_of_the_reference(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, facts, draws = reference(name)
    settings = SamplerSettings(**{"steps": 4, **options})
    if settings.corrector != "none":
        scores = iter([saved[f"{key}_scores"] for key in facts["order"] if f"{key}_scores" in saved])
        monkeypatch.setitem(correctors.SCORES, settings.corrector, checked_score(settings.corrector, scores))
    model = golden_model("b" if "uniform" in name else "a")
    job = prepare(model, settings, [[]] * facts["batch"], lambda active: draws)
    nfe: list[int] = []
    cached: list[int] = []
    for event in passes(job):
        if event.phase in ("denoise", "propose"):
            key = facts["order"][len(nfe)]
            cached.append(event.call.cached)
            nfe.append(0)
            assert event.call.clean == saved[f"{key}_gen_in_x0"].shape[1]
            compare_prediction(event, saved[f"{key}_log_probs"], saved[f"{key}_xt_in"])
        if event.phase in ("denoise", "propose", "verify"):
            nfe[-1] += 1
        if event.phase == "propose":
            window = event.canvas[:, event.segment.start : event.segment.stop]
            assert torch.equal(window, saved[f"{key}_proposal"])
        if event.phase == "verify" and "uniform" in name:
            assert event.verify_tokens is not None
            assert torch.equal(event.verify_tokens, saved[f"{key}_verify_in_xt"])  # trap 6
        if event.phase in ("denoise", "renoise"):
            stop = event.segment.stop
            assert torch.equal(event.canvas[:, :stop], saved[f"{key}_xt_out"][:, :stop])
    assert torch.equal(job.canvas, saved["final_xt"])
    assert nfe == facts["nfe_per_pass"]
    assert sum(nfe) == facts["nfe"] == job.denoiser.nfe_denoise + job.denoiser.nfe_verify
    assert cached == facts["cached_len_before"]


def compare_prediction(event: Event, expected: torch.Tensor, canvas: torch.Tensor) -> None:
    """Predictions agree where no token was carried over."""
    window = canvas[:, event.segment.start : event.segment.stop]
    noise = window == 39 if expected.shape[-1] == 40 else torch.ones_like(window, dtype=torch.bool)
    expected = expected.masked_fill(expected < -1e5, -torch.inf)
    torch.testing.assert_close(event.log_probs[noise], expected[noise], atol=1e-4, rtol=0)
