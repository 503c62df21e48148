from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockviz.export.frames import chosen, clean, facts, frame, legend
from blockviz.export.words import fixed
from blockviz.sampling.trace import STATES, Trace
from tests.browser.fake_runs import fake_run


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_cells_say_what_the_trace_says(process: str) -> None:
    trace = fake_run(process)
    mask = trace.header.model.mask_id
    for number in range(len(trace.passes)):
        cells = frame(trace, number).cells
        assert [cell.token for cell in cells] == trace.tokens[number].tolist()
        assert [cell.state for cell in cells] == [STATES[code] for code in trace.states[number]]
        for cell in cells:
            thrown = cell.state == "renoised"
            shown = (trace.tokens_before if thrown else trace.tokens)[number, cell.position]
            glyph = "·" if cell.state == "unopened" else "▒"
            assert cell.text == (glyph if shown == mask else trace.pieces[shown])


def test_a_re_noised_cell_shows_the_token_thrown_back_and_its_score() -> None:
    trace = fake_run("masked", seed=3)
    number = next(k for k, entry in enumerate(trace.passes) if entry.phase == "renoise")
    entry = trace.passes[number]
    thrown = [cell for cell in frame(trace, number).cells if cell.state == "renoised"]
    assert len(thrown) == entry.k > 0
    for cell in thrown:
        score = float(entry.score[cell.position - entry.start])
        assert cell.badge == fixed(score, 1 if score < 9.95 else 0)
        assert cell.kind == "cut"
        assert cell.text == trace.pieces[trace.tokens_before[number, cell.position]]
        assert not cell.mask


def test_what_would_hide_or_turn_text_is_named_as_on_the_page() -> None:
    assert clean("a\u202eb\x07c\ud800d\u2028") == "a⟨202E⟩b⟨07⟩c⟨D800⟩d⟨2028⟩"
    assert clean("␣שלום 字") == "␣שלום 字"


def test_the_verifiers_doubts_are_badges() -> None:
    trace = fake_run("uniform")
    number = next(k for k, entry in enumerate(trace.passes) if entry.phase == "verify")
    entry = trace.passes[number]
    for cell in frame(trace, number).cells:
        inside = entry.start <= cell.position < entry.stop
        doubt = -float(entry.ar_logprob[cell.position - entry.start]) if inside else 0.0
        assert bool(cell.badge) == (doubt >= 0.05)
        assert cell.kind == ("" if doubt < 0.05 else "doubt" if doubt >= 1 else "calm")


def test_verdicts_reach_their_cells_and_blocks_their_status() -> None:
    trace = fake_run("masked")
    last = frame(trace, len(trace.passes) - 1)
    for check in last.checks:
        assert {last.cells[i].check for i in range(check.start, check.stop)} == {check.verdict}
    assert last.statuses == ("prompt", "✓ cached", "✓ cached", "commit")
    assert set(frame(trace, 0).statuses) == {"prompt", ""}


def test_facts_are_rounded_as_the_page_rounds() -> None:
    assert [fixed(value, 2) for value in (0.125, 0.375, 2.675, -0.125, 0.0)] == [
        "0.13",
        "0.38",
        "2.67",
        "-0.13",
        "0.00",
    ]
    trace = fake_run("masked", steps=3)
    words = {fact.name: fact.text for fact in facts(trace, 4)}
    assert words["pass"] == f"pass 4 / {len(trace.passes) - 1}"
    assert words["alpha"] == "α 0.33 → 0.67"
    assert words["nfe"] == "NFE 3 = 2 denoise + 1 verify"


def test_a_pass_that_is_not_there() -> None:
    trace = fake_run("masked")
    for number in (-1, len(trace.passes)):
        with pytest.raises(IndexError, match="has passes 0 to"):
            frame(trace, number)


def test_the_legend_names_only_what_a_run_can_show() -> None:
    labels = dict(legend(fake_run("masked")))
    assert labels["renoised"] == "re-noised, AR −log p in nats"
    assert set(labels) == set(STATES)


RUNS: list[Trace] = [fake_run("masked"), fake_run("uniform", length=128, steps=6)]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(RUNS), st.integers(2, 150))
def test_chosen_frames(trace: Trace, limit: int) -> None:
    numbers = chosen(trace, limit)
    count = len(trace.passes)
    assert list(numbers) == sorted(set(numbers))
    assert numbers[0] == 0
    assert numbers[-1] == count - 1
    assert len(numbers) == min(limit, count)
    left_out = {trace.passes[k].phase for k in set(range(count)) - set(numbers)}
    kept = {trace.passes[k].phase for k in numbers[1:-1]}
    if "commit" in left_out:
        assert kept <= {"commit"}
    if "renoise" in left_out:
        assert kept <= {"commit", "renoise"}
