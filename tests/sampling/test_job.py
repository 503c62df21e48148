"""What is known of a run before it begins: how many passes it takes at most, and whether a trace can hold them."""

from __future__ import annotations

from typing import Any

import pytest

from blockviz.diffusion.draws import GeneratorDraws
from blockviz.sampling import job as module
from blockviz.sampling.edits import Edit
from blockviz.sampling.forks import fork
from blockviz.sampling.job import Job, prepare
from blockviz.sampling.plans import most_passes
from blockviz.sampling.settings import SamplerSettings, SettingsError
from tests.sampling.small_models import tiny_model
from tests.sampling.test_run import ALL_MODES, PROMPT, run

WHOLE = {"context": "canvas", "predictor": "confident", "steps": 30}
EVERY = [*ALL_MODES, ("masked", WHOLE), ("masked", {"context": "bidirectional", "predictor": "confident"})]


def job_of(process: str, record: bool, **options: Any) -> Job:
    model = tiny_model(process)
    settings = SamplerSettings(**{"block_size": 4, "steps": 3, "seed": 11, **options})
    prompt = model.tokens.encode(PROMPT)
    return prepare(model, settings, [prompt], lambda active: GeneratorDraws(0), record=record)


@pytest.mark.parametrize(("process", "options"), EVERY, ids=str)
def test_how_many_passes_a_run_takes_at_most_is_known_before_it(
    process: str, options: dict[str, Any]
) -> None:
    job = job_of(process, True, **options)
    most, passes = most_passes(job.settings, job.segments), len(run(tiny_model(process), **options).passes)
    # Which steps reveal something is known by the run alone.
    assert passes <= most if options.get("predictor") in ("confident", "threshold") else passes == most


def test_a_run_that_no_trace_can_hold_is_refused_before_it_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = len(run(tiny_model("masked"), corrector="ar_nll").passes)
    for name, most in (("MAX_PASSES", count - 1), ("MAX_CELLS", 22 * count - 1)):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, most)
            with pytest.raises(
                SettingsError,
                match=rf"^steps cannot be 3: allowed is .*at most {count - 1} passes on 22 positions",
            ):
                run(tiny_model("masked"), corrector="ar_nll")
            parent = run(tiny_model("masked"), corrector="ar_nll", steps=2)
            assert parent.end.passes < count
            with pytest.raises(SettingsError, match=r"^steps cannot be 9"):
                fork(tiny_model("masked"), parent, Edit(3, settings={"steps": 9}))
            job_of("masked", False, corrector="ar_nll")  # nothing is recorded
            patch.setattr(module, name, 10)
            with pytest.raises(SettingsError, match=r"^length cannot be 22"):
                run(tiny_model("masked"), predictor="autoregressive")
