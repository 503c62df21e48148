"""Accuracy: the interval, what counts as right, the counts, independence of the batch size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blockviz.evaluation import accuracy
from blockviz.evaluation.accuracy import EvaluationError, evaluate, held_out, wilson
from blockviz.sampling.run import sample
from blockviz.sampling.settings import SettingsError, from_preset
from blockviz.training.word_problems import split_of
from tests.evaluation.math_models import math_model
from tests.sampling.small_models import tiny_model


@pytest.mark.parametrize(
    ("right", "count", "low", "high"),
    [(8, 10, 0.4901625, 0.9433178), (0, 10, 0.0, 0.2775328), (10, 10, 0.7224672, 1.0), (0, 0, 0.0, 1.0)],
)
def test_wilson_interval(right: int, count: int, low: float, high: float) -> None:
    assert wilson(right, count) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize("count", [1, 7, 500])
def test_interval_holds_its_share(count: int) -> None:
    for right in range(count + 1):
        low, high = wilson(right, count)
        assert 0 <= low <= right / count <= high <= 1


def test_problems_are_held_out_and_always_the_same() -> None:
    tasks = held_out(20)
    assert tasks == held_out(30)[:20]
    assert {split_of(task.prompt) for task in tasks} == {"test"}
    for count in (0, -1, 100_001):
        with pytest.raises(EvaluationError, match=r"^problems cannot be"):
            held_out(count)


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_figures_agree_with_one_run_at_a_time_and_with_any_batch_size(process: str) -> None:
    model = math_model(process)
    settings = from_preset("arpc", steps=3, block_size=32, seed=5)
    tasks = held_out(5)
    told: list[float] = []
    whole = evaluate(model, settings, tasks, batch_size=5, progress=told.append)
    split = evaluate(model, settings, tasks, batch_size=2)
    alone = [sample(model, task.prompt, replace(settings, seed=5 + i)) for i, task in enumerate(tasks)]
    assert whole.nfe_denoise_per_problem == sum(trace.passes[-1].nfe_denoise for trace in alone) / 5
    assert whole.nfe_verify_per_problem == sum(trace.passes[-1].nfe_verify for trace in alone) / 5
    assert whole.nfe_per_problem == whole.nfe_denoise_per_problem + whole.nfe_verify_per_problem
    assert replace(split, seconds=0, ar_nll=0) == replace(whole, seconds=0, ar_nll=0)
    assert split.ar_nll == pytest.approx(whole.ar_nll, rel=1e-5)
    assert whole.ar_nll > 0
    assert 0 < sum(told) <= 5
    assert min(told) >= 0


def test_only_the_right_final_answer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = held_out(4)
    written = {
        tasks[0].prompt: tasks[0].solution,
        tasks[1].prompt: f"1 + 1 = 3 ; #### {tasks[1].answer}",
        tasks[2].prompt: f"#### {tasks[2].answer + 1}",
        tasks[3].prompt: "",
    }
    true_batch = accuracy.sample_batch

    def written_batch(model, prompts, *args, **kwargs):  # type: ignore[no-untyped-def]
        result = true_batch(model, prompts, *args, **kwargs)
        return replace(result, texts=[written[prompt] for prompt in prompts])

    monkeypatch.setattr(accuracy, "sample_batch", written_batch)
    result = evaluate(math_model("masked"), from_preset("ancestral", steps=1), tasks, batch_size=3)
    assert (result.right, result.accuracy, result.problems) == (2, 0.5, 4)
    assert (result.low, result.high) == wilson(2, 4)


def test_what_cannot_be_evaluated_is_refused() -> None:
    settings = from_preset("ancestral", steps=1)
    with pytest.raises(EvaluationError, match="no task"):
        evaluate(tiny_model("masked"), settings, held_out(1))
    with pytest.raises(EvaluationError, match=r"^batch_size cannot be 0"):
        evaluate(math_model("masked"), settings, held_out(1), batch_size=0)
    with pytest.raises(EvaluationError, match="no problem"):
        evaluate(math_model("masked"), settings, [])
    with pytest.raises(SettingsError, match=r"^block_size cannot be 256"):
        evaluate(math_model("masked"), from_preset("ancestral", block_size=256), held_out(1))
