"""The sentences of the Compare tab."""

from __future__ import annotations

COMPARE: dict[str, str] = {
    "run_all": "Run both",
    "run_many": "Run all {count}",
    "ready": "One click:",
    "differs_in": "The runs differ in {names}.",
    "differs_nothing": "The runs do not differ; choose below what each has for itself.",
    "letter": "Run {letter}",
    "vary": "Let another setting differ …",
    "share": "{name}: the same for all runs again, as in run A",
    "add": "+ run",
    "add_help": "One more run, set as the last one (at most four)",
    "remove": "Take run {letter} away",
    "idle": "Changes nothing in this run",
    "shared": "Shared by all runs: {values}",
    "shared_seed": "seed",
    "on": "on",
    "off": "off",
    "runs": "The link asks for {value} runs; two to four can be compared.",
    "missing": "Needs a model of {process} noise, and there is none here.",
}

MEASURE: dict[str, str] = {
    "unreadable": "The text could not be read.",
    "unknown": "Its model is not among those of this page, so its tokens cannot be read here.",
    "other_tokens": "{reader} has other tokens than {writer}; their likelihoods per token could not be compared.",
}
