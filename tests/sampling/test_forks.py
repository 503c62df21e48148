from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from blockviz.sampling.edits import Edit, EditError
from blockviz.sampling.forks import fork, replay
from blockviz.sampling.passes import REASON_CODE, STATE_CODE, Pass
from blockviz.sampling.run import stream
from blockviz.sampling.settings import SamplerSettings, SettingsError
from blockviz.sampling.trace import Trace
from tests.sampling.small_models import tiny_model
from tests.sampling.test_run import ALL_MODES, PROMPT, run

S, R = STATE_CODE, REASON_CODE
PROCESSES = ["masked", "uniform"]
WITHIN = [
    {"context": "canvas", "predictor": "confident", "steps": 5},
    {"context": "bidirectional", "predictor": "confident"},
    {"context": "bidirectional", "predictor": "threshold", "threshold": 0.3},
]
EVERY = [*ALL_MODES, *(("masked", options) for options in WITHIN)]
FREE_OF_NOISE = ("revealed", "kept", "proposed", "committed", "after_end")


def rest_of(trace: Trace, first: int) -> tuple[Pass, ...]:
    return trace.passes[first:]


def same(ours: tuple[Pass, ...], theirs: tuple[Pass, ...]) -> bool:
    pairs = zip(ours, theirs, strict=True)
    return all(a.same(b, ignore=frozenset({"ms"})) for a, b in pairs)


def held(entry: Pass) -> list[int]:
    """Positions that hold a drawn token after the pass."""
    return [i for i, state in enumerate(entry.states) if state in [S[name] for name in FREE_OF_NOISE]]


def middle(trace: Trace, phase: str, skip: int = 0) -> int:
    """The number of a pass of that phase, `skip` of them into the run."""
    return [k for k, entry in enumerate(trace.passes) if entry.phase == phase][skip]


@pytest.mark.parametrize(("process", "options"), EVERY, ids=str)
def test_an_empty_edit_goes_on_as_the_parent_did_bit_for_bit(process: str, options: dict[str, Any]) -> None:
    model = tiny_model(process)
    parent = run(model, **options)
    for at in range(0, len(parent.passes), 5):
        child = fork(model, parent, Edit(at))
        assert same(child.passes[: at + 1], parent.passes[: at + 1])
        assert child.passes[at + 1].phase == "edit"
        assert same(rest_of(child, at + 2), rest_of(parent, at + 1)), at
        assert child.end.text == parent.end.text
        assert child.end.passes == len(child.passes) == len(parent.passes) + 1


@pytest.mark.parametrize("process", PROCESSES)
def test_only_the_calls_that_fill_the_cache_are_made_again(process: str) -> None:
    model = tiny_model(process)
    parent = run(model, steps=4, corrector="ar_nll")
    last = len(parent.passes) - 1
    child = fork(model, parent, Edit(last))
    blocks = len({entry.block for entry in parent.passes if entry.phase == "commit"})
    assert child.header.fork is not None
    assert (
        child.header.fork.rebuilt == blocks
    )  # the prompt reaches into the second block, which carries the first
    assert child.passes[-1].nfe_denoise == parent.passes[-1].nfe_denoise
    none = fork(model, run(model, steps=4, use_cache=False), Edit(5))
    assert none.header.fork is not None
    assert none.header.fork.rebuilt == 0


def test_a_step_that_is_stepped_into_is_predicted_again_and_a_proposal_changed_under_review_read_again() -> (
    None
):
    model = tiny_model("masked")
    parent = run(model, steps=4, corrector="ar_nll")
    proposed, verified = middle(parent, "propose"), middle(parent, "verify")
    position = next(i for i, s in enumerate(parent.passes[proposed].states) if s == S["proposed"])
    token = (int(parent.passes[proposed].tokens[position]) + 1) % 12
    early = fork(model, parent, Edit(proposed, force={position: token}))
    late = fork(model, parent, Edit(verified, force={position: token}))
    assert [entry.phase for entry in early.passes[proposed : proposed + 4]] == [
        "propose",
        "edit",
        "verify",
        "renoise",
    ]
    assert [entry.phase for entry in late.passes[verified : verified + 4]] == [
        "verify",
        "edit",
        "verify",
        "renoise",
    ]
    assert late.passes[verified + 2].nfe_verify == parent.passes[verified].nfe_verify + 1
    for name in ("ar_logprob", "score", "tokens"):
        ours = getattr(early.passes[proposed + 3], name)
        assert ours.tobytes() == getattr(late.passes[verified + 3], name).tobytes()
    with pytest.raises(EditError, match="under review"):
        fork(model, parent, Edit(verified, renoise=(position,)))


def test_a_re_noised_block_without_a_step_left_takes_its_last_step_again() -> None:
    for process in PROCESSES:
        model = tiny_model(process)
        parent = run(model, steps=3)
        for phase in ("denoise", "commit"):
            at = middle(parent, "commit", 1) - (phase == "denoise")
            start, stop = parent.passes[at].start, parent.passes[at].stop
            child = fork(model, parent, Edit(at, renoise=(start, start + 2)))
            phases = [entry.phase for entry in child.passes[at : at + 4]]
            assert phases == [phase, "edit", "denoise", "commit"]
            edited, again = child.passes[at + 1 : at + 3]
            assert edited.states[[start, start + 2]].tolist() == [S["renoised"]] * 2
            assert edited.reasons[[0, 2]].tolist() == [R["renoised"]] * 2
            assert edited.k == 2
            assert edited.nfe_denoise == parent.passes[at].nfe_denoise
            assert again.step == 2
            assert again.nfe_denoise == edited.nfe_denoise + 1
            if process == "masked":
                assert (
                    again.tokens[[start + 1, start + 3]].tolist()
                    == edited.tokens[[start + 1, start + 3]].tolist()
                )
                assert 12 not in again.tokens[:stop]


def test_a_token_of_a_left_to_right_run_is_drawn_again() -> None:
    model = tiny_model("masked")
    parent = run(model, predictor="autoregressive")
    at = 6
    position = parent.passes[at].start
    drawn = fork(model, parent, Edit(at, renoise=(position,)))
    assert drawn.passes[at + 2].start == position
    assert drawn.passes[-1].nfe_denoise == parent.passes[-1].nfe_denoise + 1
    with pytest.raises(EditError, match="finished: go back"):
        fork(model, parent, Edit(at, renoise=(position - 1,)))


@pytest.mark.parametrize("process", PROCESSES)
def test_finished_text_may_be_replaced_and_the_cache_follows(process: str) -> None:
    """Cached and recomputed forks agree after a token in a committed block was replaced (trap 13)."""
    model = tiny_model(process)
    children = []
    for cached in (True, False):
        parent = run(model, steps=3, corrector="ar_nll", use_cache=cached)
        at = middle(parent, "denoise", 1) + 1
        position = 8
        assert parent.passes[at].states[position] == S["committed"]
        token = (int(parent.passes[at].tokens[position]) + 5) % 12
        children.append(fork(model, parent, Edit(at, force={position: token})))
    for ours, theirs in zip(children[0].passes, children[1].passes, strict=True):
        assert ours.tokens.tolist() == theirs.tokens.tolist()
        assert np.allclose(ours.confidence, theirs.confidence, atol=2e-4, equal_nan=True)


def test_what_is_refused_is_refused_with_the_reason() -> None:
    model = tiny_model("masked", end_id=3)
    parent = run(model, fill_canvas=False, steps=3)
    at = middle(parent, "denoise")
    start = parent.passes[at].start
    noise = [i for i, s in enumerate(parent.passes[at].states) if s == S["noise"]]
    for edit, words_of_it in (
        (Edit(at, renoise=(1,)), "Position 2 belongs to the prompt"),
        (Edit(at, force={1: 2, 2: 3}), "Positions 2 and 3 belong to the prompt"),
        (Edit(at, force={start + 3: 12}), "Token 12 is none that this model may write"),
        (Edit(at, force={99: 1}), "Position 100 is not on the canvas"),
        (Edit(at, freeze=(noise[0],)), "holds noise: force a token there"),
        (Edit(at, release=(start + 3,)), "is not frozen"),
        (Edit(900), "no pass 900"),
    ):
        with pytest.raises(EditError, match=words_of_it):
            fork(model, parent, edit)
    with pytest.raises(EditError, match="other weights"):
        fork(tiny_model("masked", seed=6), parent_of_another(parent), Edit(at))
    with pytest.raises(SettingsError, match="block_size cannot be 8: allowed is 4"):
        fork(model, parent, Edit(at, settings={"block_size": 8}))
    with pytest.raises(SettingsError, match="ste cannot be 8"):
        Edit(at, settings={"ste": 8})
    with pytest.raises(EditError, match="Position 8 cannot be frozen and released"):
        Edit(at, freeze=(7,), release=(7,))


def parent_of_another(trace: Trace) -> Trace:
    return replace(trace, header=replace(trace.header, model=replace(trace.header.model, hash="f" * 16)))


def test_settings_change_from_the_next_step_or_block_on() -> None:
    model = tiny_model("masked")
    parent = run(model, steps=3, block_size=4)
    at = middle(parent, "denoise", 1)
    child = fork(model, parent, Edit(at, settings={"corrector": "ar_nll", "temperature": 0.0, "steps": 5}))
    block = parent.passes[at].block
    own = rest_of(child, at + 1)
    assert child.header.settings == parent.header.settings.__class__(
        **{**parent.header.settings.to_dict(), "corrector": "ar_nll", "temperature": 0.0, "steps": 5}
    )
    assert {entry.temperature for entry in own} == {0.0}
    steps = {b: {e.step for e in own if e.block == b and e.phase != "edit"} for b in {e.block for e in own}}
    assert max(steps[block]) == 2
    assert all(max(steps[b]) == 4 for b in steps if b > block)
    assert any(entry.phase == "verify" for entry in own if entry.block == block + 1)
    anew = fork(model, parent, Edit(0, settings={"seed": 77, "block_size": 8, "steps": 2}))
    direct = run(model, steps=2, block_size=8, seed=77)
    assert same(rest_of(anew, 2), rest_of(direct, 1))


def test_the_block_under_way_keeps_its_steps_and_its_corrector_when_the_number_of_steps_changes() -> None:
    """Also to 1, where the blocks to come have no step that could be corrected."""
    model = tiny_model("masked")
    parent = run(model, steps=8, corrector="ar_nll")
    at = middle(parent, "renoise", 1)
    child = fork(model, parent, Edit(at, settings={"steps": 1}))
    block = parent.passes[at].block
    end = next(k for k in range(at, len(parent.passes)) if parent.passes[k].phase == "commit")
    assert [entry.phase for entry in parent.passes[at:end]].count("verify") == 5
    assert same(child.passes[at + 2 : end + 2], parent.passes[at + 1 : end + 1])
    later = [entry.phase for entry in child.passes[end + 2 :] if entry.block != block]
    assert set(later) == {"denoise", "commit"}


def test_a_seam_under_way_gets_no_corrector_by_an_edit() -> None:
    model = tiny_model("masked")
    parent = run(model, seams="renoise", seam_width=2, seam_steps=4, steps=4, corrector="ar_nll")
    opened = next(
        k
        for k, entry in enumerate(parent.passes)
        if entry.phase == "renoise" and parent.passes[k - 1].phase not in ("verify", "propose")
    )
    at = opened + 1
    end = next(k for k in range(at, len(parent.passes)) if parent.passes[k].phase == "commit")
    child = fork(model, parent, Edit(at, settings={"every": 2}))
    assert {entry.phase for entry in child.passes[at + 2 : end + 1]} == {"denoise"}


def test_a_new_seed_draws_from_the_edit_on_as_a_run_of_that_seed() -> None:
    model = tiny_model("uniform")
    parent = run(model, steps=3)
    at = middle(parent, "commit")
    first, second = (fork(model, parent, Edit(at, settings={"seed": seed})) for seed in (4, 5))
    assert same(first.passes[: at + 1], parent.passes[: at + 1])
    assert first.passes[-1].tokens.tolist() != second.passes[-1].tokens.tolist()


def test_a_forced_end_token_ends_the_run_and_replacing_one_lets_it_go_on() -> None:
    model = tiny_model("masked", end_id=3, favourite=5)
    parent = run(model, steps=2, fill_canvas=False)
    at = middle(parent, "denoise")
    position = parent.passes[at].stop - 2
    ended = fork(model, parent, Edit(at, force={position: 3}, freeze=(position,)))
    assert ended.end.finished == "end_token"
    assert ended.passes[-1].stop == parent.passes[at].stop
    assert ended.passes[-1].states[position + 1] == S["after_end"]
    last = len(ended.passes) - 1
    on = fork(model, ended, Edit(last, release=(position,), renoise=(position,), settings={"seed": 5}))
    assert on.end.finished == "canvas"
    assert len(on.end.text.split()) == 16
    swapped = fork(model, ended, Edit(last, force={position: 4}))
    assert swapped.end.finished == "canvas"
    assert swapped.passes[-1].tokens[position] == 4
    assert S["after_end"] not in swapped.passes[last + 1].states


def test_a_stopped_run_goes_on_to_its_end() -> None:
    model = tiny_model("masked")
    config = SamplerSettings(block_size=4, steps=3, seed=11)
    asked = iter(range(100))
    events = stream(model, PROMPT, config, should_stop=lambda: next(asked) > 6)
    stopped = Trace.collect(events, model.tokens.piece, model.tokens.raw)
    assert stopped.end.stopped
    child = fork(model, stopped, Edit(len(stopped.passes) - 1))
    whole = run(model)
    assert child.end.text == whole.end.text
    assert same(rest_of(child, len(stopped.passes) + 1), rest_of(whole, len(stopped.passes)))


@pytest.mark.parametrize(
    "options", [{"predictor": "threshold", "threshold": 0.9}, {"predictor": "confident"}], ids=str
)
def test_samplers_that_count_fill_whatever_is_re_noised(options: dict[str, Any]) -> None:
    model = tiny_model("masked")
    parent = run(model, **options)
    at = middle(parent, "commit", 2)
    start, stop = parent.passes[at].start, parent.passes[at].stop
    again = fork(model, parent, Edit(at, renoise=tuple(range(start, stop))))
    assert 12 not in again.passes[-1].tokens
    own = [entry for entry in rest_of(again, at + 2) if entry.block == parent.passes[at].block]
    assert [entry.phase for entry in own].count("commit") == 1
    revealed = [int((entry.reasons == R["revealed"]).sum()) for entry in own if entry.phase == "denoise"]
    assert sum(revealed) == stop - start
    assert all(revealed)
    # What is forced is no noise any more: nothing is left to reveal, and no call is spent on it.
    whole = run(model, context="canvas", predictor="confident", steps=8)
    early = middle(whole, "denoise", 1)
    noise = [i for i, state in enumerate(whole.passes[early].states) if state == S["noise"]]
    full = fork(model, whole, Edit(early, force=tuple((position, 3) for position in noise)))
    assert [entry.phase for entry in rest_of(full, early + 1)] == ["edit", "commit"]
    assert full.passes[-1].nfe_denoise == whole.passes[early].nfe_denoise


def test_a_seam_leaves_alone_what_is_frozen_in_finished_text() -> None:
    model = tiny_model("masked")
    parent = run(model, predictor="confident", seams="renoise", seam_width=3)
    at = middle(parent, "commit", 1)
    position = parent.passes[at].stop - 1
    held = fork(model, parent, Edit(at, freeze=(position,)))
    token = parent.passes[at].tokens[position]
    assert {int(entry.tokens[position]) for entry in rest_of(held, at)} == {int(token)}
    opened = next(k for k in range(at, len(held.passes)) if held.passes[k].phase == "renoise")
    assert held.passes[opened].states[position - 1] == S["renoised"]
    assert held.passes[opened].states[position] == S["committed"]


@st.composite
def edits(draw: st.DrawFn, trace: Trace) -> Edit:
    at = draw(st.integers(0, len(trace.passes) - 1))
    entry = trace.passes[at]
    length = trace.header.length
    open_now = [i for i in range(length) if entry.states[i] != S["prompt"]]
    some = st.lists(st.sampled_from(open_now), max_size=3, unique=True)
    force = draw(st.dictionaries(st.sampled_from(open_now), st.integers(0, 11), max_size=3))
    renoise = [i for i in draw(some) if i not in force]
    freeze = [i for i in draw(some) if i not in renoise]
    release = [i for i in draw(some) if i not in freeze]
    changed = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "temperature": st.sampled_from([0.0, 0.5, 1.0]),
                "corrector": st.sampled_from(["none", "ar_nll", "entropy"]),
                "seed": st.integers(0, 5),
                "steps": st.integers(1, 4),
            },
        )
    )
    return Edit(at, renoise, force, freeze, release, changed)


@pytest.mark.slow
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(data=st.data(), mode=st.sampled_from(EVERY))
def test_every_edit_holds_what_it_says_and_replays_from_its_file(
    data: st.DataObject, mode: tuple[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    process, options = mode
    model = tiny_model(process)
    trace = run(model, **{"steps": 2, **options})
    made = 0
    for _ in range(2):
        edit = data.draw(edits(trace))
        try:
            child = fork(model, trace, edit)
        except (EditError, SettingsError):
            continue
        made += 1
        at = edit.at
        assert same(child.passes[: at + 1], trace.passes[: at + 1])
        edited, own = child.passes[at + 1], rest_of(child, at + 2)
        assert edited.phase == "edit"
        for position, token in edit.force:
            assert edited.tokens[position] == token
        for position in edit.freeze:
            assert {int(entry.tokens[position]) for entry in (edited, *own)} == {int(edited.tokens[position])}
        untouched = [i for i in range(trace.header.length) if i not in edit.positions]
        assert (edited.tokens[untouched] == trace.passes[at].tokens[untouched]).all()
        if process == "masked":
            written = child.passes[-1].tokens[: child.passes[-1].stop]
            assert 12 not in written  # every mask was revealed in the end
        path = tmp_path_factory.mktemp("forks") / "fork.jsonl.gz"
        child.save(path)
        loaded = Trace.load(path)
        assert loaded.same_content(child)
        assert loaded.header.fork == child.header.fork
        again = replay(model, loaded)
        assert again.same_content(child)
        assert again.content_hash() == child.content_hash()
        trace = loaded
    assume(made)
