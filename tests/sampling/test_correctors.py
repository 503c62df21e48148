from __future__ import annotations

import math

import pytest
import torch

from blockviz.diffusion.draws import GeneratorDraws
from blockviz.diffusion.processes import Masked, Uniform
from blockviz.sampling.correctors import SCORES, Evidence, renoise_counts, worst
from blockviz.sampling.settings import AR_SCORES, FIELDS
from tests.golden import report, tensors

TRACES = {
    "trace_arpc_absorb_ar_nll_N4": "ar_nll",
    "trace_arpc_uniform_ar_nll_N4": "ar_nll",
    "trace_arpc_absorb_div_kld_N4": "kld",
    "trace_arpc_absorb_diff_entropy_N4": "entropy",
    "trace_arpc_uniform_diff_entropy_N4": "entropy",
    "trace_arpc_absorb_warmup1_every2_N6": "ar_nll",
    "trace_ar32_then_arpc_absorb_N4": "ar_nll",
}


def process_of(trace: str) -> Masked | Uniform:
    return Uniform(39) if "uniform" in trace else Masked(40, 39)


def simple(
    process: Masked | Uniform,
    probs: list[list[float]],
    proposal: list[int],
    xt: list[int],
    ar: list[list[float]] | None = None,
) -> Evidence:
    """Evidence of one row from plain probabilities."""

    def logs(rows: list[list[float]]) -> torch.Tensor:
        return torch.tensor([rows], dtype=torch.float64).log().float()

    return Evidence(
        process,
        torch.tensor([proposal]),
        torch.tensor([xt]),
        logs(probs),
        None if ar is None else logs(ar),
        GeneratorDraws(0),
    )


@pytest.mark.parametrize(("trace", "corrector"), TRACES.items())
def test_selections_of_the_reference_runs(trace: str, corrector: str) -> None:
    """Scores, k, the chosen set and the block that remains, at every guided pass of the recorded runs."""
    saved = tensors(trace)
    guided = [key.removesuffix("scores") for key in saved if key.endswith("_scores")]
    assert len(guided) == len(report("trace_report")[f"{trace}.safetensors"]["k"])
    for key in guided:
        start = int(key[1 : key.index("_")]) * 16
        before = saved[f"{key}xt_in"][:, start : start + 16]
        evidence = Evidence(
            process_of(trace),
            saved[f"{key}proposal"],
            before,
            saved[f"{key}log_probs"],
            saved.get(f"{key}log_p_ar"),
            GeneratorDraws(0),
        )
        scores = SCORES[corrector](evidence)
        torch.testing.assert_close(scores, saved[f"{key}scores"], atol=1e-9, rtol=0)
        free = torch.ones(before.shape, dtype=torch.bool)
        counts = renoise_counts(float(saved[f"{key}alpha_s"][0, 0]), free)
        assert counts.tolist() == [int(saved[f"{key}k"])] * len(before)
        expected = torch.zeros_like(free).scatter(1, saved[f"{key}topk_idx"], True)
        chosen = worst(scores, free, counts)
        assert torch.equal(chosen, expected)
        after = saved[f"{key}xt_out"][:, start : start + 16]
        assert torch.equal(after[~chosen], saved[f"{key}proposal"][~chosen])


def test_every_choice_of_the_setting_has_its_score() -> None:
    names = {choice.value for choice in FIELDS["corrector"].choices}
    assert set(SCORES) == names - {"none"}
    assert set(SCORES) >= AR_SCORES


def test_ar_scores_by_hand() -> None:
    evidence = simple(
        Uniform(3),
        [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]],
        [1, 2],
        [0, 0],
        ar=[[0.7, 0.2, 0.1], [0.25, 0.25, 0.5]],
    )
    expected = {
        "ar_nll": [-math.log(0.2), -math.log(0.5)],
        "ar_gap": [math.log(0.7 / 0.2), 0.0],
        "ar_entropy": [
            -(0.7 * math.log(0.7) + 0.2 * math.log(0.2) + 0.1 * math.log(0.1)),
            0.5 * math.log(4) + 0.5 * math.log(2),
        ],
        "kld": [
            0.7 * math.log(0.7 / 0.2) + 0.2 * math.log(0.2 / 0.3) + 0.1 * math.log(0.1 / 0.5),
            0.5 * math.log(2.5) + 0.5 * math.log(0.5 / 0.8),
        ],
        "reverse_kld": [
            0.2 * math.log(0.2 / 0.7) + 0.3 * math.log(0.3 / 0.2) + 0.5 * math.log(0.5 / 0.1),
            0.2 * math.log(0.1 / 0.25) + 0.8 * math.log(0.8 / 0.5),
        ],
        "tvd": [0.5, 0.3],
    }
    for name, values in expected.items():
        assert SCORES[name](evidence)[0].tolist() == pytest.approx(values, abs=1e-6), name


def test_diffusion_scores_by_hand() -> None:
    evidence = simple(Uniform(3), [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], [1, 2], [0, 0])
    assert SCORES["confidence"](evidence)[0].tolist() == pytest.approx([0.7, 0.2], abs=1e-6)
    assert SCORES["margin"](evidence)[0].tolist() == pytest.approx([0.8, 0.3], abs=1e-6)
    entropies = [-sum(p * math.log(p) for p in row) for row in ([0.2, 0.3, 0.5], [0.1, 0.1, 0.8])]
    assert SCORES["entropy"](evidence)[0].tolist() == pytest.approx(entropies, abs=1e-6)


@pytest.mark.parametrize("corrector", ["kld", "reverse_kld", "tvd"])
def test_divergences_remask_revealed_tokens_first_on_masked_noise(corrector: str) -> None:
    """Trap 5: a token carried over as certain differs most from any AR reading."""
    same = [0.3, 0.3, 0.4, 0.0]
    evidence = simple(
        Masked(4, 3), [same, same, same], [2, 0, 2], [3, 0, 3], ar=[[0.4, 0.4, 0.2, 0.0], same, same]
    )
    free = torch.ones(1, 3, dtype=torch.bool)
    assert worst(SCORES[corrector](evidence), free, torch.tensor([1])).tolist() == [[False, True, False]]


@pytest.mark.parametrize("corrector", ["entropy", "confidence", "margin"])
def test_diffusion_scores_never_remask_a_revealed_token_on_masked_noise(corrector: str) -> None:
    """Trap 5, the other half; on uniform noise the same evidence does re-noise it."""
    probs = [[0.34, 0.33, 0.33, 0.0], [0.9, 0.05, 0.05, 0.0], [0.9, 0.05, 0.05, 0.0]]
    free = torch.ones(1, 3, dtype=torch.bool)
    masked = SCORES[corrector](simple(Masked(4, 3), probs, [0, 0, 0], [0, 3, 3]))
    assert masked[0, 0] == 0
    assert not worst(masked, free, torch.tensor([2]))[0, 0]
    uniform = SCORES[corrector](simple(Uniform(4), probs, [0, 0, 0], [0, 3, 3]))
    assert worst(uniform, free, torch.tensor([1])).tolist() == [[True, False, False]]


def test_ar_scores_ask_for_the_verification() -> None:
    evidence = simple(Uniform(3), [[0.2, 0.3, 0.5]], [1], [0])
    for name in AR_SCORES:
        with pytest.raises(ValueError, match="AR verification"):
            SCORES[name](evidence)


def test_random_scores_come_from_the_draws_of_the_run() -> None:
    evidence = simple(Uniform(3), [[0.2, 0.3, 0.5]] * 4, [1] * 4, [0] * 4)
    assert torch.equal(SCORES["random"](evidence), GeneratorDraws(0).uniform(1, 4))


def test_only_free_positions_are_counted_and_chosen() -> None:
    """Trap 7: prompt positions inside the block neither count nor are re-noised, however bad their score."""
    free = torch.tensor([[False, False, True, True, True, True], [True] * 6, [False] * 6])
    counts = renoise_counts(0.5, free)
    assert counts.tolist() == [2, 3, 0]
    scores = torch.tensor([[9.0, 9, 1, 4, 2, 3]] * 3, dtype=torch.float64)
    chosen = worst(scores, free, counts)
    assert chosen.tolist() == [
        [False, False, False, True, False, True],
        [True, True, False, True, False, False],
        [False] * 6,
    ]


def test_equal_scores_go_to_the_leftmost_position() -> None:
    scores = torch.zeros(1, 40, dtype=torch.float64)
    chosen = worst(scores, torch.ones(1, 40, dtype=torch.bool), torch.tensor([7]))
    assert chosen[0].nonzero().flatten().tolist() == list(range(7))


def test_at_least_one_position_is_re_noised() -> None:
    assert renoise_counts(0.999, torch.ones(1, 4, dtype=torch.bool)).tolist() == [1]
