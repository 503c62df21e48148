"""A text's own likelihood: the parallel reading against the left-to-right sampler, and independence of the batch."""

from __future__ import annotations

import math

import numpy as np
import pytest

from blockviz.evaluation.likelihood import ar_nll, generated_stops
from blockviz.sampling.batch import sample_batch
from blockviz.sampling.run import sample
from blockviz.sampling.settings import from_preset
from tests.sampling.small_models import golden_model, tiny_model, words


@pytest.mark.parametrize("causal", [True, False])
def test_reading_in_parallel_agrees_with_writing_token_by_token(causal: bool) -> None:
    model = tiny_model("masked", length=14, x0_causal=causal)
    trace = sample(model, words(3, 4, 5), preset="ar", seed=11)
    # In each pass of the AR sampler the confidence is the probability of the token it has just written.
    written = [entry for entry in trace.passes if entry.phase == "denoise"]
    nats = -sum(math.log(float(entry.confidence[0])) for entry in written)
    assert len(written) == 11
    measured = ar_nll(model, trace.tokens[-1:].astype(np.int64), np.array([3]), np.array([14]), [0])
    assert measured[0] == pytest.approx(nats, abs=0.05)  # recorded probabilities have four digits


@pytest.mark.parametrize("letter", ["a", "b"])
def test_a_row_does_not_depend_on_its_batch_mates(letter: str) -> None:
    model = golden_model(letter)
    prompts = [words(1, 2, 3), words(*range(1, 30)), words(5)]
    result = sample_batch(model, prompts, from_preset("ancestral", steps=1), [1, 2, 3])
    together = ar_nll(model, result.tokens, result.prompt_lengths, result.lengths, [7, 8, 9])
    for i in range(3):
        one = slice(i, i + 1)
        alone = ar_nll(model, result.tokens[one], result.prompt_lengths[one], result.lengths[one], [7 + i])
        assert alone[0] == pytest.approx(together[i], rel=1e-5)
    assert (together > 0).all()


def test_only_a_uniform_model_depends_on_the_noise_it_reads_with() -> None:
    for letter, depends in (("a", False), ("b", True)):
        model = golden_model(letter)
        tokens = np.arange(64)[None] % 39
        nats = [float(ar_nll(model, tokens, np.array([4]), np.array([64]), [seed])[0]) for seed in (1, 2)]
        assert (nats[0] != nats[1]) is depends


def test_nothing_written_costs_nothing() -> None:
    model = golden_model("a")
    assert ar_nll(model, np.zeros((1, 64), np.int64), np.array([5]), np.array([5]), [0]).tolist() == [0.0]


def test_text_ends_behind_its_first_end_token_after_the_prompt() -> None:
    tokens = np.array([[0, 1, 0, 2, 0, 9], [0, 1, 2, 2, 2, 0], [0, 1, 2, 3, 4, 0]])
    starts, stops = np.array([2, 2, 1]), np.array([5, 5, 6])
    assert generated_stops(tokens, starts, stops, 0).tolist() == [3, 5, 6]
    assert generated_stops(tokens, starts, stops, None).tolist() == [5, 5, 6]
