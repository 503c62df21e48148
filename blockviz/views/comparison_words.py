"""The words under the canvases of Compare: rows of the table, sentences about the texts."""

from __future__ import annotations

ROWS: dict[str, str] = {
    "calls": "network calls, denoise + verify",
    "tokens": "tokens written",
    "per_call": "tokens per NFE",
    "ms_pass": "ms per pass, on average",
    "ms": "ms in all passes",
    "nll": "AR −log p per token, nats, read by {model}",
    "entropy": "token entropy of that text, nats",
    "distinct": "different 1- · 2- · 3-grams",
    "revised": "tokens revised after first appearing",
    "thrown": "tokens re-noised",
    "returned": "… came back the same / better / worse by AR / not judged",
    "righted": "… with which an equation became right / wrong",
    "equations": "equations right",
    "answer": "final answer",
}
WORDS: dict[str, str] = {
    "title": "whole run",
    "texts": "Final texts, token by token; what differs is underlined",
    "differs": "The runs shown differ in {names}.",
    "same_settings": "The runs shown have the same prompt, model and settings.",
    "help": "How likely a model finds the texts is measured on the live page only: it takes the model.",
    "help_scored": "AR −log p: one left-to-right reading of the finished text by the model named. A text that repeats "
    "itself is likely and poor, so its token entropy (of how often each token occurs) stands beside it.",
    "stopped": "The run was stopped; its text is unfinished.",
    "under": "Under each canvas:",
    "under_nothing": "nothing, the canvases alone",
    "under_all": "all views",
    "scorer": "The model that reads every text from left to right",
    "same_tokens": "Every run wrote the same {count} tokens.",
    "same_times": " Time of all passes: {times}.",
    "other_tokens": "{label}: {come} of {of} tokens are not in {first} in that order, {gone} of {first} are missing.",
}
