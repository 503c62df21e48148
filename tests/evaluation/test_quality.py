"""Quality of sampled texts: figures against direct computation on small models, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blockviz.base.token_counts import distinct, entropy
from blockviz.evaluation.accuracy import EvaluationError, wilson
from blockviz.evaluation.quality import (
    OPENINGS,
    SAMPLERS,
    Written,
    cells_of,
    check_judge,
    held_out_texts,
    measure,
    quality,
)
from blockviz.evaluation.scoring import nll_per_token
from blockviz.evaluation.sweep import Cell
from blockviz.evaluation.tables import quality_markdown
from blockviz.evaluation.texts import OPENING_WORDS, beginnings
from blockviz.models.checkpoint import Model
from blockviz.sampling.run import sample
from tests.commands import call
from tests.evaluation.story_models import LENGTH, story_file, story_model

ARPC = Cell("arpc", 3, 1.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("quality")


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return story_model(folder, "stories-masked", "masked", seed=1)


@pytest.fixture(scope="module")
def judge(folder: Path) -> Model:
    return story_model(folder, "stories-ar", "uniform", seed=2, sizes=(1,))


@pytest.fixture(scope="module")
def text(folder: Path) -> Path:
    return story_file(folder)


def test_every_figure_is_that_of_the_runs_alone(model: Model, judge: Model) -> None:
    (row,) = quality(model, judge, samples=9, seed=4, cells=[ARPC], batch_size=4).rows
    nats, tokens, calls, ended, entropies = 0.0, [], 0, 0, []
    grams = {n: [0, 0] for n in (1, 2, 3)}
    for i in range(9):
        trace = sample(model, OPENINGS[i % len(OPENINGS)], ARPC.settings(16, 0), seed=4 + i)
        start = len(model.tokens.encode(OPENINGS[i % len(OPENINGS)]))
        canvas = trace.passes[-1].tokens.tolist()
        stop = LENGTH
        if model.info.end_id in canvas[start:]:
            stop = canvas.index(model.info.end_id, start) + 1
            ended += 1
        written = canvas[start:stop]
        nats += nll_per_token(judge, canvas[:stop], range(start, stop)) * len(written)
        tokens.append(len(written))
        entropies.append(entropy(written))
        calls += trace.passes[-1].nfe_denoise + trace.passes[-1].nfe_verify
        for n, counts in grams.items():
            for place, value in enumerate(distinct(written, n)):
                counts[place] += value
    assert (row.preset, row.steps, row.temperature, row.texts) == ("arpc", 3, 1.0, 9)
    assert row.nll.value == pytest.approx(nats / sum(tokens), rel=1e-5)
    assert row.entropy.value == pytest.approx(np.mean(entropies))
    assert [share.value for share in row.distinct] == pytest.approx([100 * a / b for a, b in grams.values()])
    assert row.tokens.value == pytest.approx(np.mean(tokens))
    assert row.ended.value == pytest.approx(100 * ended / 9)
    assert (row.ended.low / 100, row.ended.high / 100) == pytest.approx(wilson(ended, 9))
    assert row.calls is not None
    assert row.calls.value == pytest.approx(calls / sum(tokens))
    assert 0 < ended < 9, "the made-up model should show both ends"
    for figure in (row.nll, row.entropy, *row.distinct[:2], row.tokens, row.calls):
        assert figure.low <= figure.value <= figure.high


def test_known_texts_have_known_figures(model: Model, judge: Model) -> None:
    """Noise behind the end of a text, MASK here, is neither read nor counted."""
    end, mask = model.info.end_id, model.info.mask_id
    assert end is not None
    assert mask is not None
    rows = np.full((6, LENGTH), mask, np.int64)
    rows[:, :6] = [[7, 8, 20, 20, 20, end]] * 6
    starts, stops = np.full(6, 2), np.full(6, 6)
    row = measure(ARPC, Written(rows, starts, stops, np.full(6, 8)), model, judge)
    assert row.nll.value == pytest.approx(
        nll_per_token(judge, [7, 8, 20, 20, 20, end], range(2, 6)), rel=1e-6
    )
    assert row.entropy.value == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)))
    assert [share.value for share in row.distinct] == pytest.approx([50.0, 200 / 3, 100.0])
    assert (row.tokens.value, row.ended.value) == (4.0, 100.0)
    assert row.calls is not None
    assert (row.calls.low, row.calls.value) == (2.0, 2.0)


def test_held_out_texts_give_the_prompts_and_stand_beside(model: Model, judge: Model, text: Path) -> None:
    found = beginnings(model, text, 8)
    result = quality(model, judge, beginnings=found, source=text, samples=8, cells=[ARPC])
    sampled, held_out = result.rows
    assert (result.source, result.samples) == ("stories.txt", 8)
    assert (held_out.preset, held_out.steps, held_out.temperature, held_out.calls) == (None, None, None, None)
    written = held_out_texts([example for _, example in found])
    nats = sum(
        nll_per_token(judge, e.tokens, range(e.prompt_length, len(e.tokens)))
        * (len(e.tokens) - e.prompt_length)
        for _, e in found
    )
    assert held_out.nll.value == pytest.approx(nats / (written.stops - written.starts).sum(), rel=1e-5)
    assert sampled.calls is not None
    page = quality_markdown(model.name, result)
    assert "| **the 8 held-out texts themselves** |" in page
    assert f"| AR-informed corrector (ARPC), 3 | 1 | {sampled.nll.value:.3f} [{sampled.nll.low:.3f}, " in page
    assert f"as `stories-ar` (`{judge.content_hash}`)" in page


def test_a_beginning_is_the_first_words_and_the_rest_follows_it(model: Model, text: Path) -> None:
    for prompt, example in beginnings(model, text, 100):
        assert len(prompt.split()) == OPENING_WORDS
        assert model.tokens.encode(prompt) == list(example.tokens[: example.prompt_length])
        whole = model.tokens.decode(example.tokens)
        assert whole.startswith(prompt + " ")
        assert len(example.tokens) <= LENGTH


def test_texts_too_short_or_with_marks_of_gaps_are_passed_over(model: Model, tmp_path: Path) -> None:
    file = tmp_path / "some.txt"
    texts = ["one two three four five six seven eight", "a b c [[3]] e f g h i", "A b c d e f g h, i"]
    file.write_text("\n<|endoftext|>\n".join(texts))
    assert [prompt for prompt, _ in beginnings(model, file, 9, whole=True)] == ["A b c d e f g h,"]
    file.write_text(texts[0])
    with pytest.raises(EvaluationError, match="no held-out text"):
        beginnings(model, file, 9, whole=True)


def test_an_ar_model_is_sampled_from_left_to_right_only(model: Model, judge: Model) -> None:
    assert cells_of(model) == list(SAMPLERS)
    uniform = replace(model, info=replace(model.info, process="uniform"))
    assert {cell.preset for cell in set(SAMPLERS) - set(cells_of(uniform))} == {"confident"}
    assert {(cell.preset, cell.steps) for cell in cells_of(judge)} == {("ar", None)}


def test_a_judge_must_read_the_same_tokens_from_left_to_right_and_be_trained_apart(
    model: Model, judge: Model, tmp_path: Path
) -> None:
    check_judge(model, judge)

    def refused(other: Model, says: str, of: Model = model) -> None:
        with pytest.raises(EvaluationError, match=says):
            check_judge(of, other)

    refused(model, "cannot be its own judge")
    refused(replace(model, name="a-copy"), "cannot be its own judge")
    refused(story_model(tmp_path, "other", "uniform", entries=290), "tokenizers differ")
    refused(story_model(tmp_path, "blind", "uniform", x0_causal=False), "not trained to read")
    refused(story_model(tmp_path, "blocks", "uniform", sizes=(16,)), "not trained to read")
    refused(story_model(tmp_path, "short", "uniform", length=32), "reads 32 tokens, and the canvas has 48")
    over = story_model(tmp_path, "stories-overlay", "uniform", recipes=("stories-ar", "stories-overlay"))
    refused(judge, "both come from the training run stories-ar", of=over)


def test_too_few_texts_are_refused(model: Model, judge: Model, text: Path) -> None:
    with pytest.raises(EvaluationError, match="samples cannot be 4"):
        quality(model, judge, samples=4, cells=[ARPC])
    with pytest.raises(EvaluationError, match="samples cannot be 3"):
        quality(model, judge, beginnings=beginnings(model, text, 3), cells=[ARPC])


def test_the_command(
    folder: Path, model: Model, judge: Model, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = ("evaluate", "stories-masked", "--folder", folder, "--device", "cpu", "--quality")
    asked = (*start, "--judge", "stories-ar", "--samples", 5, "--text", text)
    code, out, _ = call(capsys, *asked, "--json")
    assert code == 0
    report = json.loads(out)
    named = [(row["preset"], row["steps"], row["temperature"]) for row in report["rows"]]
    assert named == [*((cell.preset, cell.steps, cell.temperature) for cell in SAMPLERS), (None, None, None)]
    assert (report["model"], report["judge"], report["samples"]) == ("stories-masked", "stories-ar", 5)
    assert all(row["nll"]["value"] > 0 for row in report["rows"])
    assert report["rows"][-1]["calls"] is None
    code, out, _ = call(capsys, *asked)
    assert f"| Left to right (AR) | 1 | {report['rows'][0]['nll']['value']:.3f} [" in out
    code, _, err = call(capsys, *start)
    assert (code, "--quality needs --judge MODEL" in err) == (2, True)
    code, _, err = call(capsys, *start, "--judge", "stories-masked")
    assert (code, "cannot be its own judge" in err) == (2, True)
    code, _, err = call(capsys, *asked, "--likelihood")
    assert (code, "only one is measured at a time" in err) == (2, True)
    code, _, err = call(capsys, *start[:-1], "--judge", "stories-ar")
    assert (code, "--judge needs --quality" in err) == (2, True)
