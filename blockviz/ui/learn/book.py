"""Chapters as the browser gets them: texts in segments, every choice with its run, pass and outlined positions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from blockviz.sampling.trace import Trace, TraceError
from blockviz.ui.examples import lesson_choices, recorded
from blockviz.ui.learn.chapter import Chapter, Measured, Option, Question, Runs, Values
from blockviz.ui.learn.chapters import CHAPTERS
from blockviz.ui.learn.figures import FiguresMissing, source
from blockviz.ui.learn.reading import calls, outlined, written
from blockviz.ui.learn.words import fill, segments
from blockviz.ui.wording import LEARN
from blockviz.views.numbers import count


def contents() -> list[dict[str, str]]:
    """Name, short name and title of every chapter, in order; reads no run."""
    return [{"name": chapter.name, "short": chapter.short, "title": chapter.title} for chapter in CHAPTERS]


def run_names(chapter: Chapter) -> list[str]:
    """The recorded runs of a chapter, each once."""
    return list(dict.fromkeys(option.run for option in chapter.control.options))


@cache
def page(name: str) -> str:
    """A chapter as JSON; raises KeyError for a name that no chapter has, TraceError where a run cannot be read."""
    chapter = {chapter.name: chapter for chapter in CHAPTERS}[name]
    return json.dumps(resolved(chapter, {run: _trace(run) for run in run_names(chapter)}))


def _trace(name: str) -> Trace:
    return Trace.from_lines(recorded(name).splitlines())


def resolved(chapter: Chapter, runs: Runs) -> dict[str, Any]:
    """A chapter with its values read from `runs` and from measured figures."""
    values = dict(chapter.facts(runs))
    measured = _measured(chapter)
    known = {**values, **(measured or {})}
    control, question = chapter.control, chapter.question
    return {
        "name": chapter.name,
        "title": chapter.title,
        "sentences": [segments(text, known) for text in sentences(chapter, measured is not None)],
        "paragraph": chapter.paragraph,
        "views": list(chapter.views),
        "outline": {"rule": chapter.outline.rule, "words": chapter.outline.words},
        "control": {
            "label": control.label,
            "help": fill(control.help, values),
            "chosen": control.chosen,
            "options": [_option(chapter, option, runs[option.run]) for option in control.options],
        },
        "question": segments(question.text, known),
        "answer": segments(question.answer, known),
        "shown": _shown(question, control.options[question.option], runs),
        "sources": [*_sources(chapter), *_chosen(chapter)],
    }


def sentences(chapter: Chapter, measured: bool) -> Iterator[str]:
    """The sentences of a chapter, with or without its measured figures."""
    for sentence in chapter.sentences:
        if isinstance(sentence, Measured):
            yield sentence.text if measured else sentence.without
        else:
            yield sentence


def _measured(chapter: Chapter) -> Values | None:
    if chapter.figures is None:
        return {}
    try:
        return chapter.figures()
    except FiguresMissing:
        return None


def _sources(chapter: Chapter) -> Iterator[str]:
    for name in chapter.sources:
        try:
            yield source(name)
        except FiguresMissing:
            continue


def _chosen(chapter: Chapter) -> list[str]:
    """How the runs of a chapter were chosen, each sentence once."""
    choices = lesson_choices()
    return list(dict.fromkeys(choices[run] for run in run_names(chapter) if choices.get(run)))


def _option(chapter: Chapter, option: Option, trace: Trace) -> dict[str, Any]:
    k = option.at(trace)
    listed = option.places(trace) if option.places else ()
    return {
        "label": fill(option.label, setting_words(trace)),
        "run": option.run,
        "pass": k,
        "listed": list(listed),
        "outlined": list(outlined(chapter.outline.rule, trace, k, listed)),
        "told": told(trace),
    }


def _shown(question: Question, option: Option, runs: Runs) -> dict[str, Any]:
    trace = runs[option.run]
    places = question.places(trace) if question.places else None
    return {
        "option": question.option,
        "pass": question.at(trace),
        "listed": list(places) if places is not None else None,
    }


def setting_words(trace: Trace) -> dict[str, str]:
    """The settings of a run as words for labels."""
    settings = trace.header.settings
    return {"steps": str(settings.steps), "block_size": str(trace.header.block_size)}


def told(trace: Trace) -> str:
    """A recorded run in one line: calls, tokens, and how many statements the checker calls right."""
    verdicts = [check.verdict for check in trace.passes[-1].checks]
    words = {
        "calls": count(calls(trace), LEARN["call"]),
        "tokens": count(written(trace), LEARN["token"]),
        "right": str(verdicts.count("right")),
        "statements": count(len(verdicts), LEARN["statement"]),
        "seed": str(trace.header.settings.seed),
    }
    return fill(LEARN["told" if verdicts else "told_unchecked"], words)


def check(name: str) -> Mapping[str, Any]:
    """A chapter as the browser gets it, parsed; for tests and for reading it aloud."""
    try:
        return json.loads(page(name))
    except TraceError as error:
        raise LookupError(f"a run of chapter {name} cannot be read: {error}") from None
