"""Likelihood by block size: exact against the left-to-right reading, errors and mixture bounds against known values."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from blockviz.evaluation import block_likelihood
from blockviz.evaluation.accuracy import EvaluationError
from blockviz.evaluation.block_likelihood import likelihood, rounds
from blockviz.evaluation.likelihood import ar_nll
from blockviz.evaluation.texts import problem_examples
from blockviz.training.batches import Example
from tests.commands import call
from tests.evaluation.math_models import math_model, write_checkpoint
from tests.no_float64 import there


@pytest.mark.parametrize("process", ["masked"])
def test_block_size_one_is_the_left_to_right_reading(process: str) -> None:
    model = math_model(process)
    examples = problem_examples(model, 5)
    report = likelihood(model, examples, draws=2)
    canvas = np.zeros((5, 128), np.int64)
    for row, example in zip(canvas, examples, strict=True):
        row[: len(example.tokens)] = example.tokens
    starts = np.array([e.prompt_length for e in examples])
    stops = np.array([len(e.tokens) for e in examples])
    expected = ar_nll(model, canvas, starts, stops, list(range(5))).sum() / (stops - starts).sum()
    first = report.sizes[0]
    assert (first.block_size, first.exact, first.error) == (1, True, 0)
    assert first.nll == pytest.approx(expected, rel=1e-5)
    assert first.perplexity == pytest.approx(math.exp(expected), rel=1e-5)
    assert report.tokens == (stops - starts).sum()


def known(monkeypatch: pytest.MonkeyPatch, spread: float) -> None:
    """Let every sequence cost 10 nats at B = 1 and 12 on average at B = 16, with noise of this spread."""
    noise = torch.Generator().manual_seed(5)

    def nats(model: object, examples: list[Example], size: int, generator: object) -> torch.Tensor:
        base = torch.full((len(examples),), 10.0 if size == 1 else 12.0, dtype=torch.float64)
        return base if size == 1 else base + spread * torch.randn(len(examples), generator=noise).double()

    monkeypatch.setattr(block_likelihood, "_nats", nats)


def test_mixture_bounds_of_exact_figures_are_the_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, 0.0)
    model = math_model("masked")
    report = likelihood(model, [Example(tuple(range(1, 6)), 0)] * 4, draws=3)
    assert [size.nll for size in report.sizes] == pytest.approx([2.0, 2.4])
    assert report.jensen == pytest.approx(2.2)
    assert report.log_sum_exp == pytest.approx(-math.log(0.5 * math.exp(-10) + 0.5 * math.exp(-12)) / 5)
    assert (report.log_sum_exp_error, report.jensen_error) == pytest.approx((0, 0), abs=1e-9)


def test_the_stated_error_is_that_of_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, 1.0)
    model = math_model("masked")
    examples = [Example(tuple(range(1, 6)), 0)] * 100
    reports = [likelihood(model, examples, draws=16) for _ in range(40)]
    estimates = torch.tensor([report.sizes[1].nll for report in reports])
    stated = torch.tensor([report.sizes[1].error for report in reports]).mean()
    # 1 nat a sequence, 100 sequences of 5 tokens, 16 draws: 1 / (5 sqrt(1600)) = 0.005
    assert float(stated) == pytest.approx(0.005, rel=0.15)
    assert float(estimates.std()) == pytest.approx(0.005, rel=0.35)
    exact = -math.log(0.5 * math.exp(-10) + 0.5 * math.exp(-12)) / 5
    mean = sum(report.log_sum_exp for report in reports) / 40
    assert mean == pytest.approx(exact, abs=4 * 0.12 * 0.005)  # unbiased to first order: 4 standard errors


def test_any_order_of_texts_and_any_batches_give_a_masked_model_the_same_exact_figure() -> None:
    model = math_model("masked")
    examples = problem_examples(model, 6)
    one = likelihood(model, examples, draws=2, rows=3).sizes[0]
    again = likelihood(model, examples[::-1], draws=2, rows=4).sizes[0]
    assert again.nll == pytest.approx(one.nll, rel=1e-6)


def test_what_a_uniform_model_reads_depends_on_its_noise_and_not_on_the_order_of_texts() -> None:
    """At B = 1 too, where a figure is exact for the noise tokens it was read on, and batches decide those."""
    model = math_model("uniform")
    examples = problem_examples(model, 6)
    assert len({len(example.tokens) for example in examples}) == 6, (
        "else the order decides between equal lengths"
    )
    one = likelihood(model, examples, draws=2, rows=3)
    assert one.sizes[1].error > 0
    assert one.log_sum_exp <= one.jensen + 3 * (one.jensen_error + one.log_sum_exp_error)
    again = likelihood(model, examples[::-1], draws=2, rows=3)
    assert [size.nll for size in again.sizes] == pytest.approx([size.nll for size in one.sizes], rel=1e-9)
    # Random weights heed the noise more than trained ones: eight draws gave 7.28 to 7.78 nats a token, so half a nat.
    others = [likelihood(model, examples, draws=2, rows=rows).sizes[0] for rows in (1, 2, 4)]
    assert [other.nll for other in others] == pytest.approx([one.sizes[0].nll] * 3, abs=0.5)
    assert len({round(other.nll, 6) for other in others}) == 3
    assert not any(other.exact for other in others)
    assert all(0 < other.error < 0.5 for other in others)


def test_a_device_without_float64_gives_the_figures_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    model = math_model("masked")
    examples = problem_examples(model, 3)
    expected = likelihood(model, examples, draws=2)
    monkeypatch.setattr(block_likelihood, "bound", there(block_likelihood.bound))
    assert likelihood(model, examples, draws=2) == expected


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_progress_comes_to_the_rounds_over_all_texts(process: str) -> None:
    model = math_model(process)
    told: list[int] = []
    likelihood(model, problem_examples(model, 3), draws=2, progress=told.append)
    assert sum(told) == 3 * rounds(model, 2)


def test_what_cannot_be_measured_is_said() -> None:
    model = math_model("masked")
    with pytest.raises(EvaluationError, match="no text"):
        likelihood(model, [])
    with pytest.raises(EvaluationError, match="draws cannot be 1"):
        likelihood(model, [Example((1, 2), 0)], draws=1)
    with pytest.raises(EvaluationError, match="--text FILE"):
        problem_examples(replace(model, info=replace(model.info, task=None)), 3)


def test_the_command_measures_problems_and_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_checkpoint(tmp_path / "tiny", "masked")
    arguments = ("evaluate", "tiny", "--folder", tmp_path, "--device", "cpu", "--likelihood", "--draws", 2)
    code, out, _ = call(capsys, *arguments, "--problems", 4, "--json")
    report = json.loads(out)
    assert code == 0
    assert [size["block_size"] for size in report["sizes"]] == [1, 16]
    assert report["sequences"] == 4
    code, out, _ = call(capsys, *arguments, "--problems", 4, "--json", "--batch-size", 2)
    assert json.loads(out) == report, "batches decide which noise a text gets, so they are always the same"
    code, out, _ = call(capsys, *arguments, "--problems", 4)
    assert code == 0
    assert f"{report['sizes'][0]['nll']:.4f}" in out
    assert "exact" in out
    file = tmp_path / "texts.txt"
    file.write_text("12 + 30 = 42 ;\n<|endoftext|>\n7 + 1 = 8 ;")
    code, _, err = call(capsys, *arguments, "--text", file)
    assert (code, "--all-texts" in err) == (2, True)
    code, out, _ = call(capsys, *arguments, "--text", file, "--all-texts", "--json")
    assert json.loads(out)["sequences"] == 2


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("--text", "x"), "--text and --all-texts need --likelihood"),
        (("--likelihood", "--gsm8k", "x"), "only one"),
        (("--likelihood", "--draws", 1), "--draws cannot be"),
    ],
)
def test_flags_that_do_not_belong_together_are_named(
    flags: tuple[object, ...], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_checkpoint(tmp_path / "tiny", "masked")
    code, out, err = call(capsys, "evaluate", "tiny", "--folder", tmp_path, *flags)
    assert (code, out) == (2, "")
    assert reason in err
