"""The glossary: every word of the page's own, in one or two sentences, and where Learn explains it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Term:
    """One word: `forms` are how labels of the page write it (lower case), `chapter` is where Learn explains it."""

    name: str
    definition: str
    forms: tuple[str, ...] = ()
    chapter: str = ""


TERMS: tuple[Term, ...] = (
    Term(
        "active block",
        "The block that is being written; only its positions can change.",
        ("active block",),
        "frozen",
    ),
    Term(
        "ancestral",
        "Plain sampling: each step turns some noise into tokens drawn from the prediction, and no score questions them"
        " afterwards.",
        ("ancestral",),
        "noise",
    ),
    Term(
        "AR",
        "Autoregressive, left to right: each token is drawn after all tokens before it are known, with one network call"
        " for each.",
        ("ar", "left to right", "autoregressive"),
        "start",
    ),
    Term(
        "ARPC",
        "AR-informed predictor-corrector: the model reads its own draft from left to right and throws back to noise the"
        " tokens that surprise it most.",
        ("arpc",),
        "arpc",
    ),
    Term(
        "attention mask",
        "Which token may read which inside the network: a row for each token that reads, a column for each that can be"
        " read.",
        ("attention mask", "attention"),
        "mask",
    ),
    Term(
        "block",
        "Neighbouring positions that are written together; the blocks follow each other from left to right.",
        ("block",),
        "frozen",
    ),
    Term(
        "block size",
        "How many positions are written together: one is left to right, the length of the canvas is one big block.",
        ("block size",),
        "dial",
    ),
    Term(
        "block-causal",
        "Reading all earlier blocks and one's own block in both directions, and no later block.",
        ("block-causal",),
        "mask",
    ),
    Term("canvas", "All positions of the text, the prompt included.", ("canvas length", "canvas"), "start"),
    Term(
        "commit",
        "A block is finished: its tokens will not change any more, and what the network knows of them enters the KV"
        " cache.",
        ("committed", "commit"),
        "frozen",
    ),
    Term(
        "confidence",
        "The probability that the latest prediction gives to the token in place, or where noise stands, to its best"
        " candidate.",
        ("confidence", "probability"),
    ),
    Term(
        "confident reveal",
        "Revealing the most certain tokens first, a set number in each step, and taking none back.",
        ("confident reveal",),
        "reveal",
    ),
    Term(
        "corrector",
        "What turns some tokens of a draft back into noise, so that the next step draws them again.",
        ("corrector",),
        "chance",
    ),
    Term(
        "denoise",
        "A network call that predicts the tokens of the active block from its noise; some positions take a token of the"
        " prediction.",
        ("denoise",),
        "start",
    ),
    Term(
        "diffusion",
        "Making data from noise in steps. For text the noise is discrete: mask tokens, or random words.",
        ("block diffusion", "diffusion"),
        "start",
    ),
    Term(
        "EIPC",
        "A corrector that throws back the tokens of which the prediction itself is least certain; it needs no further"
        " network call.",
        ("eipc",),
    ),
    Term(
        "entropy",
        "How spread out a prediction is, in nats: zero when one token has all the probability.",
        ("entropy",),
    ),
    Term(
        "infilling",
        "Filling gaps in a given text, with what stands on both sides in view.",
        ("infilling",),
        "seams",
    ),
    Term(
        "KV cache",
        "The keys and values that attention has computed for finished tokens, kept so that they need not be computed in"
        " every call.",
        ("kv cache", "cached", "cache"),
        "mask",
    ),
    Term(
        "masked noise",
        "Noise that is a mask token, which says that nothing stands there yet.",
        ("masked noise", "masked"),
        "noise",
    ),
    Term(
        "nat",
        "The unit of information with natural logarithms; a token of probability one half surprises by about two thirds"
        " of a nat.",
        ("nats", "nat"),
    ),
    Term(
        "NFE",
        "Number of function evaluations: calls of the network, counted where they are made, apart for denoising and"
        " verifying.",
        ("nfe", "network calls"),
        "start",
    ),
    Term(
        "NLL",
        "Negative log-likelihood: minus the logarithm of the probability of a token or text, in nats; the smaller, the"
        " better the model predicts it.",
        ("nll", "−log p"),
        "arpc",
    ),
    Term(
        "noise",
        "What a position holds before a token is drawn for it: a mask, or a random word, by the process of the model.",
        ("noise",),
        "noise",
    ),
    Term(
        "noise level",
        "The share of positions that are noise; alpha (α) is the share that is clean, before and after a step.",
        ("noise level", "α"),
        "chance",
    ),
    Term(
        "overlap",
        "Tokens that two neighbouring blocks share: the end of the first is a draft, which the second writes again.",
        ("overlap",),
        "seams",
    ),
    Term(
        "pass",
        "One recorded change of the canvas; the scrubber moves from pass to pass.",
        ("pass",),
        "start",
    ),
    Term(
        "perplexity",
        "The exponential of the NLL per token: as uncertain as a choice among so many equally likely tokens.",
        ("perplexity",),
        "dial",
    ),
    Term("predictor", "What turns noise into tokens in each step.", ("predictor",)),
    Term("prompt", "The given beginning of the text; its tokens never change.", ("prompt",)),
    Term(
        "proposal",
        "A draft of the whole block, drawn to be judged; a corrector throws part of it back.",
        ("proposed", "proposal", "propose"),
        "chance",
    ),
    Term(
        "random corrector",
        "A corrector that chooses by lot: the baseline that shows what a score is worth.",
        ("random",),
        "chance",
    ),
    Term(
        "re-noise",
        "To turn a token of the draft back into noise.",
        ("re-noised", "re-noising", "re-noise"),
        "chance",
    ),
    Term(
        "reveal",
        "With masked noise, to put a token in the place of a mask.",
        ("reveal",),
        "reveal",
    ),
    Term(
        "sampler",
        "How text is drawn from the model: block plan, predictor and corrector together.",
        ("sampler",),
    ),
    Term(
        "schedule",
        "How the share of clean tokens grows over the steps of a block.",
        ("noise schedule", "schedule"),
        "reveal",
    ),
    Term(
        "seam",
        "The place where two blocks meet; the tokens before it were finished without those after it in view.",
        ("seams", "seam"),
        "seams",
    ),
    Term(
        "seed",
        "The number that the draws follow from: the same seed and settings give the same run.",
        ("seed",),
    ),
    Term(
        "step",
        "One round of denoising the active block; with a corrector a step has several passes.",
        ("steps per block", "step"),
        "steps",
    ),
    Term(
        "temperature",
        "How freely tokens are drawn: 1 follows the model's probabilities, lower values keep to the likeliest tokens.",
        ("temperature",),
    ),
    Term(
        "threshold",
        "The probability from which a drawn token is revealed at once; at least one token is in every step.",
        ("threshold",),
        "reveal",
    ),
    Term(
        "uniform noise",
        "Noise that is a word drawn at random from the whole vocabulary.",
        ("uniform noise", "uniform"),
        "noise",
    ),
    Term(
        "verify",
        "A network call in which the model reads a draft from left to right and says how likely each token is.",
        ("verify",),
        "arpc",
    ),
)
"""In alphabetical order without regard to case."""


def table() -> list[dict[str, Any]]:
    """The glossary as the page gets it."""
    return [
        {"name": term.name, "text": term.definition, "forms": list(term.forms), "chapter": term.chapter}
        for term in TERMS
    ]
