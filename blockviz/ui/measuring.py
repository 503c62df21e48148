"""Finished texts of Compare, read by a model that the visitor names: the answer to the page's event "measure"."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from blockviz.models.fields import CheckpointError
from blockviz.ui.compare_words import MEASURE
from blockviz.ui.controls import SIDES
from blockviz.ui.runner import Runner

if TYPE_CHECKING:
    from blockviz.models.checkpoint import Model

LONGEST = 4096
"""Tokens of one text."""


def measure(runner: Runner, data: object) -> str:
    """The answer as JSON for assets/compare_result.js: {scorer, runs: {id: {nll} or {problem}}}; never raises.

    `data` has the name of the `scorer` and up to four `runs`, each with its id, its model's name, the ids of its
    `tokens` and the `positions` of the text among them.
    """
    if not isinstance(data, dict) or not isinstance(data.get("runs"), list):
        return ""
    scorer = data.get("scorer")
    runs = [
        run for run in data["runs"][: len(SIDES)] if isinstance(run, dict) and isinstance(run.get("run"), str)
    ]
    answers = {run["run"]: _measured(runner, scorer, run) for run in runs}
    return json.dumps({"scorer": scorer if isinstance(scorer, str) else "", "runs": answers})


def _measured(runner: Runner, scorer: object, run: Mapping[str, Any]) -> dict[str, Any]:
    from blockviz.evaluation.scoring import ScoringError, nll_per_token

    tokens, positions = run.get("tokens"), run.get("positions")
    if not (_numbers(tokens) and _numbers(positions)):
        return {"problem": MEASURE["unreadable"]}
    try:
        reader, writer = _model(runner, scorer), _model(runner, run.get("model"))
        if reader is not writer and reader.tokens.tokenizer.to_str() != writer.tokens.tokenizer.to_str():
            return {"problem": MEASURE["other_tokens"].format(reader=reader.name, writer=writer.name)}
        with runner.turn():
            return {"nll": round(nll_per_token(reader, tokens, positions), 6)}  # type: ignore[arg-type]
    except KeyError:
        return {"problem": MEASURE["unknown"]}
    except (ScoringError, CheckpointError) as error:
        return {"problem": str(error)}


def _numbers(values: object) -> bool:
    return (
        isinstance(values, list)
        and len(values) <= LONGEST
        and all(type(value) is int and 0 <= value < 2**31 for value in values)
    )


def _model(runner: Runner, name: object) -> Model:
    if not isinstance(name, str):
        raise KeyError(name)
    return runner.shelf.load(name)
