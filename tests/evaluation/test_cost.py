from __future__ import annotations

import json

import pytest

from blockviz.evaluation import cost
from blockviz.sampling.run import sample
from blockviz.sampling.settings import SettingsError, from_preset, parse
from tests.sampling.small_models import tiny_model, words

PROMPT = words(1, 2, 3)


@pytest.mark.parametrize("preset", ["arpc", "blockwise", "seams", "threshold", "canvas"])
def test_counts_are_those_of_the_network(preset: str) -> None:
    """Against a hook on the network in a run of its own."""
    model = tiny_model("masked", end_id=9)
    settings = from_preset(preset, block_size=6, steps=3)
    told: list[float] = []
    found = cost.measure(model, settings, PROMPT, rounds=2, progress=told.append)
    assert [one.name for one in found] == (
        ["asked", "ar"] if preset == "canvas" else ["asked", "canvas", "ar"]
    )
    assert len(told) == 3 * len(found)
    given: list[int] = []
    handle = model.net.register_forward_hook(lambda net, arguments, out: given.append(arguments[0].shape[1]))
    try:
        for one in found:
            given.clear()
            trace = sample(model, PROMPT, parse(one.settings))
            assert (one.calls, one.queries) == (len(given), sum(given))
            assert one.verify == trace.passes[-1].nfe_verify
            assert one.tokens == 19
            assert one.milliseconds > 0
            assert one.per_token == pytest.approx(one.milliseconds / 19)
            # Every query reads at least what was computed with it.
            assert one.pairs >= sum(count * count for count in given)
    finally:
        handle.remove()
    ar = found[-1]
    assert (ar.calls, ar.queries) == (
        19,
        3 + 19 + 18,
    )  # the prompt once, then a clean and a noisy token per call
    assert ar.pairs == 4 * 4 + sum(2 * (place + 1) for place in range(4, 22))


def test_the_canvas_at_once_reveals_as_many_tokens_in_a_pass() -> None:
    found = cost.rivals(from_preset("ancestral", block_size=4, steps=2), 20)
    assert (found["canvas"].context, found["canvas"].steps) == ("canvas", 10)
    assert all(settings.fill_canvas for settings in found.values())
    assert list(cost.rivals(from_preset("ar"), 20)) == ["asked"]


def test_a_grid_has_every_block_size_with_every_number_of_steps() -> None:
    model = tiny_model("masked")
    found = cost.grid(model, from_preset("ancestral"), PROMPT, blocks=(4, 8), steps=(1, 2), rounds=1)
    assert [one.name for one in found] == ["ar", "4/1", "4/2", "8/1", "8/2", "22/1", "22/2"]
    assert [one.calls for one in found] == [19, 6, 12, 3, 6, 1, 2]
    for preset in ("ar", "threshold", "canvas"):
        with pytest.raises(SettingsError, match="a block size and steps"):
            cost.grid(model, from_preset(preset), PROMPT)


def test_a_report_is_plain_json() -> None:
    model = tiny_model("uniform")
    report = cost.report(
        model, PROMPT, cost.measure(model, from_preset("ancestral", block_size=4), PROMPT, rounds=1), 1
    )
    assert json.loads(json.dumps(report)) == report
    assert report["process"] == "uniform"


def test_bad_input_is_refused_before_anything_is_timed() -> None:
    with pytest.raises(SettingsError, match="block_size"):
        cost.measure(tiny_model("masked"), from_preset("ancestral", block_size=64), PROMPT)
