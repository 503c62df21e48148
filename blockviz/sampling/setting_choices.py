"""The values of the choices among a sampler's settings, with the words people see. Knows no torch.

Only `setting_fields.py` and `settings.py` read this module.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """One value of a choice field, with the words the page shows for it."""

    value: str
    label: str
    help: str


PREDICTORS = (
    Choice(
        "ancestral",
        "Block diffusion",
        "Each block starts as noise and is denoised in several steps; blocks follow each other.",
    ),
    Choice(
        "confident",
        "Confident reveal",
        "Every step reveals a set number of masked positions, the most confident first, and never takes one back.",
    ),
    Choice(
        "threshold",
        "Threshold reveal",
        "Every step reveals all masked positions whose drawn token is likely enough, at least one; "
        "a block takes as many steps as it needs.",
    ),
    Choice("autoregressive", "Left to right", "One token at a time, one network call per token."),
)

CORRECTORS = (
    Choice(
        "none",
        "None",
        "No second thoughts: each step draws what it reveals and never takes a clean token back by its score.",
    ),
    Choice(
        "ar_nll",
        "AR surprise (ARPC)",
        "Re-noises the tokens that the same network, reading left to right, finds least likely; "
        "one extra call each time.",
    ),
    Choice(
        "ar_gap",
        "AR gap",
        "Re-noises the tokens furthest below what the left-to-right reading would have put there; "
        "one extra call each time.",
    ),
    Choice(
        "ar_entropy",
        "AR entropy",
        "Re-noises where the left-to-right reading is least certain; one extra call each time.",
    ),
    Choice(
        "kld",
        "KL divergence",
        "Re-noises where diffusion and left-to-right predictions differ most (KL); masked noise re-masks every already "
        "revealed token first, because it counts as certain.",
    ),
    Choice(
        "reverse_kld",
        "Reverse KL divergence",
        "As KL divergence, the other way round; masked noise re-masks every already revealed token first.",
    ),
    Choice(
        "tvd",
        "Total variation",
        "As KL divergence, by total variation distance; masked noise re-masks every already revealed token first.",
    ),
    Choice(
        "entropy",
        "Diffusion entropy (EIPC)",
        "Re-noises where the diffusion prediction is least certain; masked noise never re-masks a revealed token, so "
        "that tokens appear in order of certainty.",
    ),
    Choice(
        "confidence",
        "Confidence",
        "Re-noises the drawn tokens to which the diffusion prediction gives the lowest probability.",
    ),
    Choice(
        "margin",
        "Margin",
        "Re-noises where the two best candidates of the diffusion prediction are closest to each other.",
    ),
    Choice(
        "random",
        "Random",
        "Re-noises positions drawn at random: what a corrector is worth without information.",
    ),
)

SCHEDULES = (
    Choice("model", "The model's", "The noise schedule the model was trained with."),
    Choice("log-linear", "Log-linear", "The same share of tokens is cleaned in every step."),
    Choice("cosine", "Cosine", "Few tokens are cleaned in the first steps and many in the last ones."),
)

RECORDINGS = (
    Choice("none", "Off", "No attention weights are kept; runs are as fast and as small as they can be."),
    Choice(
        "mean",
        "Average of the heads",
        "Keeps how much each position of the active block reads of each token, averaged over one layer's heads: "
        "one byte per query and key in every network call.",
    ),
    Choice(
        "heads",
        "Each head",
        "Keeps how much each position of the active block reads of each token, for every head of one layer: "
        "one byte per query, key and head in every network call.",
    ),
)

ORDERS = (
    Choice("confidence", "Confidence", "First where the drawn token has the highest probability."),
    Choice("margin", "Margin", "First where the best candidate leads the second one by most."),
    Choice("entropy", "Entropy", "First where the prediction is most certain as a whole."),
    Choice("left_to_right", "Left to right", "First what stands furthest left."),
    Choice("random", "Random", "In an order drawn at random: what confidence is worth."),
)

REVEALS = (
    Choice("linear", "Linear", "The same share of positions is revealed in every step."),
    Choice("cosine", "Cosine", "Few positions are revealed in the first steps and many in the last ones."),
)

COUNTINGS = (
    Choice("ceil", "Up", "Rounded up: the first step of a block reveals at least one position."),
    Choice("floor", "Down", "Rounded down: what is left over is revealed in later steps."),
)

CONTEXTS = (
    Choice(
        "causal",
        "Earlier blocks",
        "A block sees itself and all text before it, whose keys and values are cached.",
    ),
    Choice(
        "bidirectional",
        "Both sides",
        "A block sees the whole canvas, later blocks still masked; nothing is cached, every step recomputes it all. "
        "Blocks start where the prompt ends.",
    ),
    Choice(
        "canvas",
        "Whole canvas",
        "The whole canvas is one block, so that every position sees every other; nothing is cached.",
    ),
)

SEAMS = (
    Choice("none", "Leave them", "Blocks stand side by side; a finished block never changes."),
    Choice(
        "overlap",
        "Overlap",
        "The last tokens of each block are drafts: they turn back to noise and are written again with the next block.",
    ),
    Choice(
        "renoise",
        "Write again",
        "Once a block is written, the tokens around the boundary before it turn back to noise and are written again, "
        "with both blocks in sight.",
    ),
)
