from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from blockviz.diffusion.draws import GeneratorDraws
from blockviz.sampling.passes import REASON_CODE, STATE_CODE, STATES, Pass
from blockviz.sampling.recorder import Recorder
from blockviz.sampling.run import Event, passes, prepare, sample
from blockviz.sampling.settings import SamplerSettings
from blockviz.sampling.trace import Trace
from tests.sampling.small_models import tiny_model, words

PROMPT = words(1, 2, 3, 1, 2, 4)
S, R = STATE_CODE, REASON_CODE


def run(process: str, **options: Any) -> Trace:
    settings = SamplerSettings(**{"block_size": 4, "steps": 4, "seed": 3, **options})
    return sample(tiny_model(process), PROMPT, settings)


def recorded(process: str, **options: Any) -> list[tuple[Event, Pass]]:
    """Events beside the passes made of them."""
    model = tiny_model(process)
    settings = SamplerSettings(**{"block_size": 4, "steps": 4, "seed": 3, **options})
    draws = GeneratorDraws(settings.seed)
    job = prepare(model, settings, [model.tokens.encode(PROMPT)], lambda active: draws)
    recorder = Recorder(model, settings, 6, None)
    recorder.start(job.canvas)
    return [(event, recorder.record(event)) for event in passes(job)]


def states_of(entry: Pass) -> list[str]:
    """The states, as words, of the window of a pass."""
    return [STATES[code] for code in entry.states[entry.start : entry.stop]]


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_the_first_pass_is_the_prompt_and_pure_noise(process: str) -> None:
    first = run(process).passes[0]
    assert first.phase == "start"
    assert first.tokens.tolist()[:6] == [1, 2, 3, 1, 2, 4]
    assert first.states.tolist() == [S["prompt"]] * 6 + [S["unopened"]] * 16
    assert (first.nfe_denoise, first.nfe_verify, first.stop - first.start) == (0, 0, 0)
    noise = first.tokens[6:]
    assert (noise == 12).all() if process == "masked" else (noise < 12).all() and len(set(noise)) > 3


@pytest.mark.parametrize("process", ["masked", "uniform"])
@pytest.mark.parametrize("corrector", ["none", "ar_nll", "random"])
def test_nothing_recorded_aliases_the_canvas(process: str, corrector: str) -> None:
    """Trap 15: passes differ from each other, are read-only, and stay as they were when the run goes on."""
    model = tiny_model(process)
    settings = SamplerSettings(block_size=4, steps=4, corrector=corrector)
    draws = GeneratorDraws(0)
    job = prepare(model, settings, [model.tokens.encode(PROMPT)], lambda active: draws)
    recorder = Recorder(model, settings, 6, None)
    made = [recorder.start(job.canvas)]
    frozen = [(made[0].tokens.copy(), made[0].states.copy(), made[0].confidence.copy())]
    for event in passes(job):
        made.append(recorder.record(event))
        frozen.append((made[-1].tokens.copy(), made[-1].states.copy(), made[-1].confidence.copy()))
    job.canvas.fill_(0)
    recorder.states.fill(0)
    for entry, (tokens, states, confidence) in zip(made, frozen, strict=True):
        assert (entry.tokens == tokens).all()
        assert (entry.states == states).all()
        np.testing.assert_array_equal(entry.confidence, confidence)
        with pytest.raises(ValueError, match="read-only"):
            entry.tokens[0] = 1
    assert len({entry.tokens.tobytes() for entry in made}) > 8


@pytest.mark.parametrize("process", ["masked", "uniform"])
@pytest.mark.parametrize("corrector", ["none", "ar_nll", "entropy", "random", "tvd"])
def test_only_the_window_changes_and_blocks_are_committed_in_order(process: str, corrector: str) -> None:
    trace = run(process, corrector=corrector)
    for before, after in pairwise(trace.passes):
        outside = np.ones(22, bool)
        outside[after.start : after.stop] = False
        assert (before.tokens[outside] == after.tokens[outside]).all()
        assert after.block == after.start // 4
        edge = after.start
        assert np.isin(after.states[6:edge], [S["committed"]]).all()
        assert (after.states[after.stop :] == S["unopened"]).all()
        if after.phase in ("verify", "commit"):
            assert (before.tokens == after.tokens).all()
    last = trace.passes[-1]
    assert last.phase == "commit"
    assert (last.states[6:] == S["committed"]).all()


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_states_and_reasons_follow_from_the_tokens(process: str) -> None:
    """Denoise: what became of each position, told again from the tokens and the loop's own flags."""
    noise = np.ones(4, bool)
    for event, entry in recorded(process, steps=6):
        before = noise
        if entry.phase == "commit":
            noise = np.ones(min(4, 22 - entry.stop), bool)
            continue
        free = event.free[0].numpy()
        states = np.array(states_of(entry))
        reasons = entry.reasons
        noise = event.noise[0].numpy()
        taken = event.predicted[0].numpy()
        if process == "masked":
            assert (noise == (entry.tokens[entry.start : entry.stop] == 12) & free).all()
        assert (states[~free] == "prompt").all()
        assert (reasons[~free] == R["prompt"]).all()
        assert (states[noise] == "noise").all()
        drafts = free & ~noise
        assert np.isin(states[drafts], ["revealed", "kept"]).all()
        fresh = drafts & before
        assert (states[fresh] == "revealed").all()
        assert (reasons[fresh] == R["revealed"]).all()
        assert (taken[fresh]).all()
        old = drafts & ~before
        assert ((states[old] == "revealed") == (reasons[old] == R["resampled"])).all()
        assert ((states[old] == "kept") == (reasons[old] == R["kept"])).all()
        if process == "masked":
            assert (states[old] == "kept").all()


def test_uniform_drafts_are_resampled_and_fall_back_to_noise() -> None:
    """Both happen in a run of some length, and are told apart from staying noise."""
    seen = set()
    for seed in range(4):
        for _, entry in recorded("uniform", steps=8, seed=seed):
            names = states_of(entry)
            seen |= {(names[i], int(entry.reasons[i])) for i in range(len(names))}
    assert ("revealed", R["resampled"]) in seen
    assert ("noise", R["renoised"]) in seen
    assert ("kept", R["kept"]) in seen


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_a_guided_step_is_propose_verify_renoise(process: str) -> None:
    trace = run(process, corrector="ar_nll")
    first = trace.passes[1:4]
    assert [entry.phase for entry in first] == ["propose", "verify", "renoise"]
    propose, verify, renoise = first
    # The prompt ends inside block 1: six tokens are there, four of them committed, two fixed in the window.
    assert [(entry.start, entry.stop, entry.step, entry.k) for entry in first] == [
        (4, 8, 0, 0),
        (4, 8, 0, 0),
        (4, 8, 0, 1),
    ]
    assert [(entry.cached, entry.clean) for entry in first] == [(0, 4), (4, 0), (4, 0)]
    assert [(entry.nfe_denoise, entry.nfe_verify) for entry in first] == [(1, 0), (1, 1), (1, 1)]
    assert states_of(propose) == states_of(verify) == ["prompt"] * 2 + ["proposed"] * 2
    worst = int(np.nanargmax(renoise.score))
    assert worst >= 2  # the fixed positions have no score
    assert states_of(renoise)[worst] == "renoised"
    assert states_of(renoise)[5 - worst] == "revealed"
    assert renoise.reasons.tolist()[:2] == [R["prompt"]] * 2
    assert (renoise.reasons[worst], renoise.reasons[5 - worst]) == (R["renoised"], R["kept"])
    assert np.isnan(propose.ar_logprob).all()
    assert np.isnan(propose.score).all()
    assert np.isnan(verify.ar_logprob).tolist() == [True, True, False, False]
    np.testing.assert_allclose(renoise.score[2:], -verify.ar_logprob[2:], atol=1e-3)
    assert renoise.cut == pytest.approx(renoise.score[worst])
    if process == "masked":
        assert (renoise.tokens[4:8] == 12).sum() == 1
        assert (verify.verify_tokens == -1).all()
    else:
        assert ((verify.verify_tokens >= 0) & (verify.verify_tokens < 12)).all()  # trap 6
    assert (propose.verify_tokens == -1).all()


@pytest.mark.parametrize("process", ["masked", "uniform"])
@pytest.mark.parametrize("corrector", ["ar_nll", "kld", "entropy", "random", "margin"])
def test_the_worst_scores_are_re_noised_and_the_rest_stands(process: str, corrector: str) -> None:
    trace = run(process, corrector=corrector, steps=5, block_size=8)
    count = 0
    proposal: Pass | None = None
    for entry in trace.passes:
        if entry.phase == "propose":
            proposal = entry
        if entry.phase != "renoise":
            assert (entry.k, entry.cut) == (0, None)
            assert np.isnan(entry.score).all()
            continue
        count += 1
        assert proposal is not None
        chosen = entry.states[entry.start : entry.stop] == S["renoised"]
        free = ~np.isnan(entry.score)
        assert chosen.sum() == entry.k == max(1, round((1 - entry.alpha_s) * free.sum()))
        assert entry.score[chosen].min() == pytest.approx(entry.cut)
        assert entry.score[chosen].min() >= entry.score[free & ~chosen].max(initial=-np.inf)
        now, proposed = (item.tokens[item.start : item.stop] for item in (entry, proposal))
        assert (now[~chosen] == proposed[~chosen]).all()
        assert (entry.reasons[chosen] == R["renoised"]).all()
        assert (entry.reasons[free & ~chosen] == R["kept"]).all()
        proposed_states = np.array(states_of(proposal))
        stands = np.array(states_of(entry))[~chosen]
        expected = np.where(proposed_states == "proposed", "revealed", proposed_states)[~chosen]
        assert (stands == expected).all()
    assert count == 4 * len({entry.block for entry in trace.passes[1:]})


def test_confidence_is_of_the_token_in_place_or_of_the_best_candidate() -> None:
    """Against the prediction itself; a masked position keeps what was known when it was last noise."""
    for process in ("masked", "uniform"):
        known: dict[int, np.ndarray] = {}
        noise = set(range(22))
        for event, entry in recorded(process, corrector="entropy", steps=5):
            if entry.phase == "commit":
                continue
            probs = event.log_probs[0].exp().numpy()
            for offset in np.flatnonzero(event.free[0].numpy()):
                position = entry.start + int(offset)
                if entry.phase != "renoise" and (process == "uniform" or position in noise):
                    known[position] = probs[offset]
                last = known[position]
                in_noise = bool(event.noise[0, offset])
                expected = last.max() if in_noise else last[entry.tokens[position]]
                # Noise that was none in between has the probability of a candidate, as candidates are recorded.
                step = 5.1e-4 if entry.phase == "renoise" and in_noise else 1e-4
                assert entry.confidence[offset] == pytest.approx(float(expected), abs=step)
                entropy = -(last[last > 0] * np.log(last[last > 0])).sum()
                assert entry.entropy[offset] == pytest.approx(float(entropy), abs=1e-3)
                best = np.sort(last)[::-1][:5]
                np.testing.assert_allclose(entry.top_probs[offset], best, atol=1e-3)
                (noise.add if in_noise else noise.discard)(position)


def test_the_verify_pass_offers_the_candidates_of_the_ar_reading() -> None:
    for event, entry in recorded("uniform", corrector="ar_gap"):
        if entry.phase != "verify":
            continue
        assert event.log_p_ar is not None
        best = event.log_p_ar[0].exp().topk(5).values.numpy()
        free = event.free[0].numpy()
        np.testing.assert_allclose(entry.top_probs[free], best[free], atol=1e-3)
        proposal = torch.from_numpy(entry.tokens[entry.start : entry.stop].astype(np.int64))
        of_proposal = event.log_p_ar[0].gather(1, proposal.unsqueeze(1)).squeeze(1).numpy()
        np.testing.assert_allclose(entry.ar_logprob[free], of_proposal[free], atol=1e-3)


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_one_token_at_a_time_the_reveal_is_the_commit(process: str) -> None:
    trace = run(process, predictor="autoregressive")
    for before, after in pairwise(trace.passes[1:]):
        assert after.start == before.start + 1
        assert after.states[before.start] == S["committed"]
        assert after.states[after.start] == S["revealed"]
        assert after.reasons.tolist() == [R["revealed"]]
        assert after.block == after.start


def test_the_block_after_an_ar_prefix_keeps_its_positions() -> None:
    trace = run("masked", ar_prefix=3, corrector="ar_nll")
    prefix = [entry for entry in trace.passes[1:] if entry.stop - entry.start == 1]
    assert [(entry.start, entry.block) for entry in prefix] == [(6, 1), (7, 1), (8, 2)]
    first = trace.passes[4]
    assert (first.phase, first.start, first.cached, first.clean) == ("propose", 8, 8, 0)
    assert states_of(first) == ["committed", "proposed", "proposed", "proposed"]
    assert first.reasons.tolist()[0] == R["none"]
    assert np.isnan(first.confidence[0])
    assert trace.passes[-1].tokens[8] == prefix[-1].tokens[8]


def test_the_header_says_what_ran() -> None:
    header = run("uniform", steps=2).header
    assert header.prompt == PROMPT
    assert header.tokens == (1, 2, 3, 1, 2, 4)
    assert (header.length, header.block_size, header.settings.steps) == (22, 4, 2)
    assert (header.model.process, header.model.mask_id, header.model.layers) == ("uniform", None, 2)
    assert header.model.parameters == tiny_model("uniform").parameters
    assert header.device == "cpu"
    assert header.versions["torch"] == torch.__version__
    assert header.run != run("uniform", steps=2).header.run


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_a_recorded_run_survives_its_file(process: str, tmp_path: Any) -> None:
    trace = run(process, corrector="ar_nll", ar_prefix=1)
    trace.save(tmp_path / "run.jsonl.gz")
    assert Trace.load(tmp_path / "run.jsonl.gz").same_content(trace)
