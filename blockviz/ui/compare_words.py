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

SEEDS: dict[str, str] = {
    "title": "Many seeds",
    "help": "One run can be luck. This runs what the form above asks for on many seeds, all runs on the same ones, "
    "and says how far the differences can be told from chance.",
    "run": "Run {count} seeds",
    "count": "How many seeds",
    "stop": "Stop",
    "starting": "Starting …",
    "stopping": "Stopping …",
    "progress": "{done} of {total} runs.",
    "done": "Done: {count} seeds.",
    "stopped": "Stopped: {count} seeds were finished by all runs.",
    "stopped_early": "Stopped before all runs had finished a seed.",
    "bad_count": "The number of seeds must be one of {counts}.",
    "lost": "The server gave no answer; what had come until then stays.",
    "whole": "mean (lowest – highest)",
    "column": "{label} − A, 95% interval",
    "right_answer": "final answer right",
    "right_sound": "sound: every equation right, the answer follows",
    "nll": "AR −log p per token, nats, read by {scorer}",
    "entropy": "token entropy, nats",
    "distinct": "different 2-grams, %",
    "nfe": "network calls a run",
    "tokens": "tokens written",
    "ms": "ms a run, ten at once",
    "of": "{right} of {count}",
    "points": " points",
    "mcnemar": ", p {p}",
    "tells_more": "higher",
    "tells_less": "lower",
    "cannot_tell": "cannot tell",
    "equal": "the same on every seed",
    "no_interval": "one number for all",
    "method": "{count} seeds from {first} on, the same for every run, all on this one prompt. Intervals are 95% "
    "intervals over pairs of one seed: of shares by Newcombe's method for paired shares (p: McNemar's exact test), of "
    "numbers by the bootstrap. “Cannot tell”: the interval holds 0. Of twenty differences that are none, about one "
    "will seem to be one.",
}
