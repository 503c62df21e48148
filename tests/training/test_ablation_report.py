"""What the report says of figures that are known: paired differences, their intervals, and the claim in words."""

from __future__ import annotations

import math
from typing import Any

import pytest

from blockviz.training.ablation_report import BOUND, SHOWN, claims, document, interval, paired, table

WORDS = {"mixture": "all sizes", "fixed-16": "one size", "elbo": "the bound"}


def runs(*values: float, **others: float) -> dict[str, dict[str, float]]:
    """One run per value, all figures that value; `others` are added to single figures (spaces as underscores)."""
    added = {key.replace("_", " "): value for key, value in others.items()}
    return {
        str(seed): {key: value + added.get(key, 0.0) for key in SHOWN} for seed, value in enumerate(values)
    }


def content(**figures: Any) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in figures.items()}
    return {"process": "uniform", "steps": 300, "figures": named}


def test_differences_are_paired_by_seed() -> None:
    text = table(content(mixture=runs(1, 2, 3), elbo=runs(1.5, 2.5, 3.5)), WORDS)
    assert "| **mixture** | 3 | 2.000 ± 2.484 |" in text
    assert "| elbo | 3 | +0.500 ± 0.000 |" in text
    assert "- **elbo**: the bound." in text


def test_only_seeds_that_both_have_are_pairs() -> None:
    first, second = runs(1, 2, 3), runs(0, 0)
    assert paired(first, second, "B = 1", "B = 4") == [1, 2]
    assert "| elbo | 2 |" in table(content(mixture=first, elbo=second), WORDS)


def test_the_interval_is_students() -> None:
    mean, half = interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    assert math.isnan(interval([1.0])[1])


def test_the_claim_compares_the_mixtures_bound_with_the_other_models_block_size() -> None:
    mixture = {seed: run | {BOUND: run["B = 16"] - 0.3} for seed, run in runs(2.0, 2.1, 2.2).items()}
    fixed = {seed: run | {BOUND: 0.0} for seed, run in runs(2.2, 2.3, 2.4).items()}
    bound, same_size, own = claims(content(mixture=mixture, fixed_16=fixed))
    assert "-0.500 ± 0.000 nats per token (3 seeds); **lower, which is better**" in bound
    assert "-0.200 ± 0.000" in same_size
    assert "-0.300 ± 0.000" in own


def test_what_cannot_be_told_is_not_told() -> None:
    (bound, *_) = claims(content(mixture=runs(2.0, 2.4, 2.2), fixed_16=runs(2.1, 2.2, 2.3)))
    assert "+0.000 ± 0.430" in bound
    assert "it cannot be told" in bound
    (worse, *_) = claims(content(mixture=runs(3.0, 3.1), fixed_16=runs(2.0, 2.1)))
    assert "+1.000 ± 0.000 nats per token (2 seeds); **higher, which is worse**" in worse
    (one, *_) = claims(content(mixture=runs(2.0), fixed_16=runs(3.0)))
    assert "-1.000 nats per token (1 seed); one seed has no interval" in one
    assert claims(content(mixture=runs(2.0), elbo=runs(3.0))) == []


def test_the_page_has_both_processes_and_its_limits() -> None:
    figures = content(mixture=runs(2, 3), fixed_16=runs(3, 4))
    page = document([figures, figures | {"process": "masked", "steps": 1200}], WORDS, "Small ones.")
    assert "## Uniform noise, 300 steps" in page
    assert "## Masked noise, 1,200 steps" in page
    assert page.count("### Is the mixture's bound better than one block size?") == 2
    assert "## What the figures do not show" in page
    assert "--process masked --steps 1200 --seeds 2`" in page
    assert "Small ones." in page
