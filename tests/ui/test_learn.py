"""Learn: every number comes from a file, every answer agrees with its run, every word of the glossary exists."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from blockviz.evaluation.block_likelihood import Likelihood, SizeLikelihood
from blockviz.evaluation.tables import likelihood_markdown
from blockviz.sampling.trace import STATE_CODE, Trace
from blockviz.ui.examples import EXAMPLES, lesson_choices
from blockviz.ui.files import Handoff
from blockviz.ui.learn import book, figures, tab
from blockviz.ui.learn.chapter import Chapter, Measured
from blockviz.ui.learn.chapters import CHAPTERS
from blockviz.ui.learn.glossary import TERMS
from blockviz.ui.learn.reading import outlined
from blockviz.ui.learn.words import fill, segments, sentence_like, terms
from blockviz.ui.serving import assets, routes

BY_NAME = {chapter.name: chapter for chapter in CHAPTERS}
IDS = list(BY_NAME)
CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"


def texts(chapter: Chapter) -> Iterator[str]:
    """Every text of a chapter as it is written, values and marks unfilled."""
    for sentence in chapter.sentences:
        yield from (sentence.text, sentence.without) if isinstance(sentence, Measured) else (sentence,)
    yield from (chapter.title, chapter.short, chapter.question.text, chapter.question.answer)
    yield from (chapter.control.label, chapter.control.help, chapter.outline.words)
    yield from (option.label for option in chapter.control.options)


def lines(run: str) -> list[dict[str, Any]]:
    """The lines of a recorded run, read without any of our own readers."""
    with gzip.open(EXAMPLES / f"{run}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def calls(run: str) -> int:
    return sum(line.get("phase") in ("denoise", "propose", "verify") for line in lines(run))


def answer(name: str) -> str:
    return "".join(text for text, _ in book.check(name)["answer"])


@pytest.mark.parametrize("name", IDS)
def test_a_chapter_is_five_to_eight_sentences_of_which_each_is_one(name: str) -> None:
    for measured in (True, False):
        told = list(book.sentences(BY_NAME[name], measured))
        assert 5 <= len(told) <= 8
        assert [text for text in told if not sentence_like(text)] == []


@pytest.mark.parametrize("name", IDS)
def test_no_number_is_typed_into_a_text(name: str) -> None:
    assert [
        text for text in texts(BY_NAME[name]) if re.search(r"\d", re.sub(r"BD3-LM|\{\w+\}", "", text))
    ] == []


@pytest.mark.parametrize("name", IDS)
def test_every_marked_word_is_in_the_glossary(name: str) -> None:
    known = {term.name for term in TERMS}
    marked = [term for text in texts(BY_NAME[name]) for term in terms(text)]
    assert marked
    assert set(marked) - known == set()


@pytest.mark.parametrize("name", IDS)
def test_a_chapter_opens_on_its_runs(name: str) -> None:
    chapter, shown = BY_NAME[name], book.check(name)
    assert len(shown["control"]["options"]) >= 2
    for option, sent in zip(chapter.control.options, shown["control"]["options"], strict=True):
        trace = Trace.load(EXAMPLES / f"{option.run}.jsonl.gz")
        assert 0 <= sent["pass"] < len(trace.passes)
        assert sent["outlined"] == list(
            outlined(chapter.outline.rule, trace, sent["pass"], tuple(sent["listed"]))
        )
        assert all(0 <= position < trace.header.length for position in sent["outlined"])
        assert str(calls(option.run)) in sent["told"]
    assert any(option["outlined"] for option in shown["control"]["options"])
    told = [*shown["sentences"], shown["question"], shown["answer"]]
    assert not re.search(r"[{}]|\[\[", "".join(text for parts in told for text, _ in parts))


def test_the_runs_of_a_lesson_are_small_and_share_a_seed() -> None:
    for chapter in CHAPTERS:
        names = book.run_names(chapter)
        assert len({lines(name)[0]["settings"]["seed"] for name in names}) == 1
        for name in names:  # the figures beside a run are those of the same weights
            model = lines(name)[0]["model"]
            measured = figures.quality if model["task"] == "stories" else figures.accuracy
            assert model["hash"] == measured(model["name"])["hash"]
        assert all((EXAMPLES / f"{name}.jsonl.gz").stat().st_size < 50_000 for name in names)
        assert all(lesson_choices()[name].startswith("Chosen among") for name in names)


def test_values_are_data_and_never_markup() -> None:
    parts = segments("[[a [b]|AR]] {x} [[{x}|AR]].", {"x": "[[AR]] {y} <b>"})
    assert ("[[AR]] {y} <b>", "AR") in parts
    assert all("{x}" not in text for text, _ in parts)
    with pytest.raises(KeyError):
        segments("{missing}", {})


@pytest.mark.parametrize("model", ["math-masked", "math-uniform"])
def test_figures_are_those_of_the_checkpoints_files(model: str) -> None:
    table = json.loads((CHECKPOINTS / model / "accuracy.json").read_text("utf-8"))
    for row in table["rows"]:
        if row["temperature"] == (0.0 if row["preset"] == "ar" else 1.0):
            percent = figures.percent(model, row["preset"], row["steps"])
            assert abs(float(percent.rstrip("%")) - 100 * row["accuracy"]) <= 0.5
    card = (CHECKPOINTS / model / "README.md").read_text("utf-8")
    bounds = figures.likelihood(model)
    assert {"B = 1", "B = 16", "B = 128"} <= bounds.keys()
    assert all(f"| {size} | {value}" in card for size, value in bounds.items())


def test_bounds_are_read_as_a_card_writes_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sizes = (
        SizeLikelihood(1, 0.25, 0.0, math.exp(0.25), True),
        SizeLikelihood(16, 1.5, 0.125, math.exp(1.5), False),
    )
    (tmp_path / "model").mkdir()
    card = likelihood_markdown("model", Likelihood(sizes, 0.75, 0.01, 1.0, 0.01, 0.02, 8, 100, 4))
    (tmp_path / "model" / "README.md").write_text(card, encoding="utf-8")
    monkeypatch.setattr(figures, "CHECKPOINTS", tmp_path)
    assert figures.likelihood("model") == {"B = 1": "0.2500", "B = 16": "1.5000"}


def test_chapters_do_without_measured_figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(figures, "CHECKPOINTS", tmp_path)
    monkeypatch.setattr(figures, "_lessons", dict)
    monkeypatch.setattr(figures, "accuracy", lambda model: figures.read_accuracy(model, tmp_path))
    for chapter in CHAPTERS:
        runs = {name: Trace.load(EXAMPLES / f"{name}.jsonl.gz") for name in book.run_names(chapter)}
        shown = book.resolved(chapter, runs)
        assert 5 <= len(shown["sentences"]) <= 8
        plain = ["".join(text for text, _ in sentence) for sentence in shown["sentences"]]
        for sentence in chapter.sentences:
            if isinstance(sentence, Measured):
                assert fill(sentence.without, chapter.facts(runs)) in plain
        assert not any("accuracy.json" in line for line in shown["sources"])


def test_papers_results_name_their_source() -> None:
    papers = json.loads(figures.PAPERS.read_text("utf-8"))
    for name, paper in papers.items():
        assert re.fullmatch(r"arXiv \d{4}\.\d{5}", paper["source"])
        assert paper["source"] in figures.SOURCES[name]
    for chapter in CHAPTERS:
        told = " ".join(texts(chapter))
        for name, word in (("blockgen", "BlockGen"), ("bd3lm", "BD3-LM")):
            assert (word in told) == (name in chapter.sources), chapter.name


def test_the_glossary_is_in_order_and_points_at_chapters() -> None:
    names = [term.name.lower() for term in TERMS]
    assert names == sorted(names)
    forms = [form for term in TERMS for form in term.forms]
    assert len(forms) == len(set(forms))
    assert all(form == form.lower() for form in forms)
    assert {term.chapter for term in TERMS} - set(IDS) <= {""}
    assert all(term.definition.endswith(".") for term in TERMS)


def test_answer_of_start_counts_the_calls_of_both_runs() -> None:
    told = answer("start")
    assert f"{calls('lesson-left-to-right')} calls" in told
    assert f"takes {calls('lesson-in-blocks')} for" in told
    entry = lines("lesson-in-blocks")[book.check("start")["shown"]["pass"] + 1]
    assert f"{sum(code in '23' for code in entry['why'])} tokens were drawn at once" in told


def test_answer_of_frozen_no_finished_token_changes() -> None:
    shown = book.check("frozen")
    trace = Trace.load(EXAMPLES / "lesson-cached.jsonl.gz")
    k = shown["shown"]["pass"]
    frozen = [i for i, state in enumerate(trace.passes[k].states) if state == STATE_CODE["committed"]]
    for entry in trace.passes[k:]:
        assert [entry.tokens[i] for i in frozen] == [trace.passes[k].tokens[i] for i in frozen]
    assert f"0 of the {len(frozen)} finished tokens" in answer("frozen")


def test_answer_of_mask_same_tokens_less_work() -> None:
    first, second = (Trace.load(EXAMPLES / f"lesson-{name}.jsonl.gz") for name in ("cached", "recomputed"))
    assert all((a.tokens == b.tokens).all() for a, b in zip(first.passes, second.passes, strict=True))
    work = [
        sum(  # every call carries clean tokens and its window
            entry["clean"] + entry["win"][1] - entry["win"][0]
            for entry in lines(name)[2:-1]
            if entry["phase"] == "denoise"
        )
        for name in ("lesson-cached", "lesson-recomputed")
    ]
    assert "In 0 of " in answer("mask")
    assert f"{work[0]:,} tokens" in answer("mask")
    assert answer("mask").endswith(f"{work[1]:,}.")
    assert work[0] < work[1]


def test_answer_of_noise_masked_tokens_stay() -> None:
    def changes(run: str) -> int:
        return sum(entry.get("why", "").count("3") for entry in lines(run) if entry.get("phase") == "denoise")

    assert changes("lesson-masked") == 0
    assert "Masked: 0 times" in answer("noise")
    assert f"Uniform: {changes('lesson-uniform')} times" in answer("noise")


def test_answer_of_steps_shows_two_numbers_that_do_not_fit() -> None:
    shown = book.check("steps")["shown"]
    trace = Trace.load(EXAMPLES / "lesson-steps-2.jsonl.gz")
    entry = trace.passes[shown["pass"]]
    result, copy = (
        "".join(trace.pieces[int(entry.tokens[i])] for i in part)
        for part in (shown["listed"][:2], shown["listed"][2:])
    )
    assert result != copy
    assert f"“{result}”" in answer("steps")
    assert f"“{copy}”" in answer("steps")
    assert all(entry.reasons[i - entry.start] == 2 for i in shown["listed"])
    assert trace.end.text.split(" = ")[1].startswith(f"{result} ; {copy}")


def test_answer_of_chance_counts_what_came_back() -> None:
    told = answer("chance")
    thrown = sum(entry.get("k", 0) for entry in lines("lesson-random"))
    assert f"It threw {thrown} tokens back" in told
    same = int(re.findall(r"and (\d+) of them came back the same", told)[0])
    changed = int(re.findall(r"(\d+) came back as another", told)[0])
    assert 0 < same < thrown
    assert same + changed <= thrown


def test_answer_of_arpc_is_the_worst_doubt_with_another_token() -> None:
    shown = book.check("arpc")["shown"]
    trace = Trace.load(EXAMPLES / "lesson-arpc-informed.jsonl.gz")
    entry, (position,) = trace.passes[shown["pass"]], shown["listed"]
    assert entry.phase == "renoise"
    assert entry.states[position] == STATE_CODE["renoised"]
    assert entry.score[position - entry.start] == max(
        np.nanmax(other.score) for other in trace.passes if other.phase == "renoise"
    )
    assert f"{entry.score[position - entry.start]:.2f} nats" in answer("arpc")
    end = trace.passes[-1]
    assert f"{end.nfe_denoise} denoise and {end.nfe_verify} verify" in answer("arpc")


def test_answer_of_dial_has_a_line_for_every_block_size() -> None:
    told = answer("dial")
    for size in (1, 4, 16, 64):
        assert f"blocks of {size}: {calls(f'lesson-block-{size}')} calls" in told


def test_answer_of_reveal_counts_what_is_revealed() -> None:
    def filled(run: str, passes: int) -> int:
        entries = [entry for entry in lines(run) if entry.get("phase") == "denoise"]
        return sum(entry["why"].count("2") for entry in entries[:passes])

    told = answer("reveal")
    assert f"it is {filled('lesson-reveal-even', 4)} of {filled('lesson-reveal-even', 99)} positions" in told
    assert f"and {filled('lesson-reveal-cosine', 4)} with the cosine" in told
    assert f"reveals {filled('lesson-reveal-threshold', 1)} in its first call" in told
    assert (
        f"done after {calls('lesson-reveal-threshold')}, and the others take {calls('lesson-reveal-even')}"
        in told
    )
    assert calls("lesson-reveal-even") == calls("lesson-reveal-cosine")


def test_answer_of_seams_is_what_the_gap_holds() -> None:
    shown = book.check("seams")["shown"]
    trace = Trace.load(EXAMPLES / "lesson-gap.jsonl.gz")
    end = trace.passes[-1]
    written = "".join(trace.pieces[int(end.tokens[position])] for position in shown["listed"])
    text = re.findall(r"it writes (.*), in", answer("seams"))[0]
    assert text.replace(" ", "") + ";" == written
    given = [position for position in range(trace.header.length) if position not in shown["listed"]]
    assert all((entry.tokens[given] == trace.passes[0].tokens[given]).all() for entry in trace.passes)


def test_seeds_are_those_of_the_recording() -> None:
    kept = json.loads((EXAMPLES / "lessons.json").read_text("utf-8"))["entries"]
    for entry in kept:
        for run, count in entry["chosen"].get("right", {}).items():
            assert figures.seeds(run) == (entry["chosen"]["seeds_tried"], count)
            assert 0 <= count <= entry["chosen"]["seeds_tried"]


def test_routes_hand_out_chapters_and_runs_and_nothing_else() -> None:
    files = assets(tab.run_assets(), tab.glossary_script())
    client = TestClient(Starlette(routes=[*routes(files, Handoff()), *tab.routes()]))
    for name in IDS:
        sent = client.get(f"/blockviz/learn/{name}")
        assert sent.status_code == 200
        assert sent.json()["name"] == name
        for run in book.run_names(BY_NAME[name]):
            got = client.get("/" + files[tab.asset_name(run)].address)
            assert got.status_code == 200
            assert got.text == gzip.decompress((EXAMPLES / f"{run}.jsonl.gz").read_bytes()).decode()
    for name in ("nothing", "..%2Fstart", "start.json", ""):
        assert client.get(f"/blockviz/learn/{name}").status_code == 404


def test_a_missing_run_is_said_and_breaks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "recorded", lambda name: "")
    book.page.cache_clear()
    client = TestClient(Starlette(routes=tab.routes()))
    answered = client.get("/blockviz/learn/start")
    assert answered.status_code == 404
    assert "missing" in answered.text
    book.page.cache_clear()
