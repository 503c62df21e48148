"""A fork in every view: the edit is a pass of its own, told in words, and nothing else reads it as a step."""

from __future__ import annotations

import pytest

from blockviz.export import frames, words
from blockviz.sampling.edits import Edit
from blockviz.sampling.forks import fork
from blockviz.sampling.trace import Trace
from blockviz.views import attention, confidence, fill, life, renoising, story, timeline
from tests.sampling.small_models import tiny_model
from tests.sampling.test_forks import middle, run

VIEWS = (attention, confidence, fill, renoising, timeline)


def made() -> Trace:
    """A fork whose first edit comes inside a step, and whose second re-noises, freezes and forces."""
    model = tiny_model("masked")
    parent = run(model, steps=4, corrector="ar_nll")
    at = middle(parent, "propose")
    first = fork(model, parent, Edit(at, force={parent.passes[at].stop - 1: 3}))
    at = middle(first, "renoise", 1)
    stop = first.passes[at].stop
    held = next(i for i in range(stop) if first.passes[at].states[i] in (4, 5))
    changed = {"temperature": 0.5, "fill_canvas": True}
    edit = Edit(at, renoise=(held,), force=((stop + 3, 5),), settings=changed)
    return fork(model, first, edit)


@pytest.fixture(scope="module")
def child() -> Trace:
    return made()


@pytest.mark.slow
def test_every_view_draws_every_pass_of_a_fork(child: Trace) -> None:
    for k in range(len(child.passes)):
        for view in VIEWS:
            assert "layout" in view.figure(child, k)
        frames.frame(child, k)


def test_edits_are_told_in_words(child: Trace) -> None:
    first, second = (k for k, entry in enumerate(child.passes) if entry.phase == "edit")
    assert story.sentence(child, first) == "A person stepped in: 1 token forced."
    assert story.sentence(child, second) == (
        "A person stepped in: 1 token forced, 1 token back to noise, temperature 0.5, fill canvas on from here on."
    )
    edit = child.edit_at(second)
    assert edit is not None
    assert child.edit_at(second - 1) is None
    (position,) = edit.renoise
    assert life.compared(child, second, position) == ["A person turned it back to noise."]
    ((forced, _),) = edit.force
    assert life.compared(child, second, forced) == [
        "A person put “w5” here, which is not among the recorded candidates."
    ]
    assert life.compared(child, second, child.header.length - 1) == [
        "A person stepped in, and changed nothing here."
    ]
    assert frames.chip(child.passes[second]) == "edit"
    assert child.header.fork is not None
    assert words.title(child.header) == f"tiny-masked · ARPC, block 4, 4 steps · fork from pass {second - 1}"
    assert f"fork of {child.header.fork.parent} from pass {second - 1}" in words.footer(child.header)[0]


def test_a_step_that_was_stepped_into_is_still_one_step(child: Trace) -> None:
    first = next(k for k, entry in enumerate(child.passes) if entry.phase == "edit")
    step = {"propose": first - 1, "verify": first + 1, "renoise": first + 2}
    for k in step.values():
        assert story.step_passes(child, k) == step
    assert story.step_passes(child, first) == {}
