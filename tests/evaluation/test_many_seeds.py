from __future__ import annotations

from typing import Any

import pytest

from blockviz.evaluation.many_seeds import CHUNK, Configuration, Study, study
from blockviz.evaluation.paired import mean_difference, share_difference
from blockviz.evaluation.scoring import nll_per_token
from blockviz.evaluation.tasks import EXAMPLE_PROMPTS
from blockviz.sampling.run import sample
from blockviz.sampling.settings import from_preset
from blockviz.views.comparison import facts, final_positions
from tests.evaluation.math_models import math_model

PROMPT = EXAMPLE_PROMPTS[0].prompt
MASKED = Configuration(math_model("masked"), from_preset("arpc", steps=2))
UNIFORM = Configuration(math_model("uniform"), from_preset("ancestral", steps=2))


def last(*configurations: Configuration, count: int = 5, prompt: str = PROMPT, **more: Any) -> Study:
    return list(study(configurations, prompt, count, **more))[-1]


def test_every_run_is_that_of_its_seed_alone() -> None:
    found = last(MASKED, UNIFORM, count=6, seed=40)
    assert found.seeds == [40, 41, 42, 43, 44, 45]
    for configuration, outcomes in zip((MASKED, UNIFORM), found.outcomes, strict=True):
        for seed, outcome in zip(found.seeds, outcomes, strict=True):
            alone = sample(configuration.model, PROMPT, configuration.settings, seed=seed)
            end = alone.passes[-1]
            assert outcome.nfe == end.nfe_denoise + end.nfe_verify
            assert outcome.nll is not None
            assert outcome.nll > 0
            assert outcome.right is False
    assert found.judged == "sound"
    assert all(ms > 0 for ms in found.ms)
    assert found.scorer == math_model("masked").name


@pytest.mark.parametrize("prompt", [PROMPT, f"{PROMPT} [[15]] #### 30", f"{PROMPT} [[90=#### 30]]"])
def test_figures_are_those_of_the_table_of_single_runs(prompt: str) -> None:
    """What is given behind a gap is nobody's text, though it is read as the context of what follows."""
    configurations = (MASKED, UNIFORM)
    found = last(*configurations, prompt=prompt)
    reader = MASKED.model
    for one, outcomes in zip(configurations, found.outcomes, strict=True):
        for seed, outcome in zip(found.seeds, outcomes, strict=True):
            trace = sample(one.model, prompt, one.settings, seed=seed)
            table, positions = facts(trace), final_positions(trace).tolist()
            different, grams = table.distinct[1]
            assert (outcome.tokens, outcome.entropy) == (table.tokens, pytest.approx(table.entropy))
            assert outcome.distinct == (pytest.approx(100 * different / grams) if grams else None)
            nll = nll_per_token(reader, trace.passes[-1].tokens[: positions[-1] + 1].tolist(), positions)
            assert outcome.nll == pytest.approx(nll, rel=1e-5)


def test_it_grows_batch_by_batch_and_pairs_only_what_all_have_finished() -> None:
    seen = [
        (len(found.seeds), [len(one) for one in found.outcomes], found.values(0, "nfe"))
        for found in study([MASKED, UNIFORM], PROMPT, CHUNK + 5)
    ]
    assert [(seeds, counts) for seeds, counts, _ in seen] == [
        (0, [CHUNK, 0]),
        (CHUNK, [CHUNK, CHUNK]),
        (CHUNK, [CHUNK + 5, CHUNK]),
        (CHUNK + 5, [CHUNK + 5, CHUNK + 5]),
    ]
    assert len(seen[2][2] or []) == CHUNK


def test_differences_are_taken_seed_by_seed_from_the_first() -> None:
    found = last(MASKED, UNIFORM, count=7)
    for name in ("nll", "entropy", "nfe", "tokens"):
        first, second = found.values(0, name), found.values(1, name)
        assert first is not None
        assert second is not None
        assert found.difference(name, 1) == mean_difference(first, second)
    assert found.difference("right", 1) == share_difference([False] * 7, [False] * 7)
    same = last(MASKED, MASKED)
    nll = same.difference("nll", 1)
    assert nll is not None
    assert (nll.value, nll.low, nll.high, nll.tells) == (0, 0, 0, False)


def test_the_answer_decides_where_it_is_known() -> None:
    assert last(MASKED, answer=28).judged == "answer"


def test_a_stop_is_heard_within_a_batch() -> None:
    class Enough(Exception):
        pass

    calls = 0

    def tick() -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise Enough

    with pytest.raises(Enough):
        list(study([MASKED], PROMPT, 200, tick=tick))
    assert calls == 4


@pytest.mark.parametrize(("count", "many"), [(4, 1), (201, 1), (5, 0), (5, 5)])
def test_bounds(count: int, many: int) -> None:
    with pytest.raises(ValueError, match=r"allowed|can be compared"):
        next(study([MASKED] * many, PROMPT, count))
