"""Named samplers: the settings that each fixes. Knows no torch.

Only `settings.py` reads this module; import the names from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Preset:
    """A named sampler: the settings it fixes; every other setting stays free."""

    name: str
    label: str
    help: str
    fixed: dict[str, Any]


_PLAIN: dict[str, Any] = {"corrector": "none", "context": "causal", "seams": "none"}

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "ar",
            "Left to right (AR)",
            "One token at a time, as usual language models write; the model's own standard of comparison.",
            {"predictor": "autoregressive", "corrector": "none"},
        ),
        Preset(
            "ancestral",
            "Ancestral",
            "Plain block diffusion: every step reveals some tokens, none is questioned afterwards.",
            {"predictor": "ancestral", **_PLAIN},
        ),
        Preset(
            "arpc",
            "AR-informed corrector (ARPC)",
            "Proposes a whole block, reads it left to right, and re-noises the tokens that surprise that reading.",
            {"predictor": "ancestral", **_PLAIN, "corrector": "ar_nll"},
        ),
        Preset(
            "eipc",
            "Diffusion-entropy corrector (EIPC)",
            "Re-noises where the diffusion prediction is least certain; "
            "on masked noise that means unmasking in order of certainty.",
            {"predictor": "ancestral", **_PLAIN, "corrector": "entropy"},
        ),
        Preset(
            "random",
            "Random corrector",
            "Re-noises positions drawn at random: the baseline that shows what a score adds.",
            {"predictor": "ancestral", **_PLAIN, "corrector": "random"},
        ),
        Preset(
            "confident",
            "Confident reveal",
            "Block by block, the same number of tokens in every step, the most confident first (masked noise only).",
            {"predictor": "confident", **_PLAIN},
        ),
        Preset(
            "threshold",
            "Threshold reveal",
            "Block by block, every token that is likely enough at once, so that easy blocks take few network calls "
            "(masked noise only).",
            {"predictor": "threshold", **_PLAIN},
        ),
        Preset(
            "blockwise",
            "Blockwise on both sides",
            "Confident reveal block by block on a canvas that is seen as a whole and recomputed in every step "
            "(masked noise only).",
            {"predictor": "confident", **_PLAIN, "context": "bidirectional", "counting": "floor"},
        ),
        Preset(
            "canvas",
            "Canvas at once",
            "Confident reveal over the whole canvas at once: no blocks, every position sees both sides "
            "(masked noise only).",
            {"predictor": "confident", **_PLAIN, "context": "canvas", "counting": "ceil"},
        ),
        Preset(
            "overlap",
            "Overlap of blocks",
            "Ancestral, but the end of each block is a draft that the next block writes again.",
            {"predictor": "ancestral", **_PLAIN, "seams": "overlap"},
        ),
        Preset(
            "seams",
            "Seams written again",
            "Ancestral, but the tokens around each boundary are written once more when both blocks are there.",
            {"predictor": "ancestral", **_PLAIN, "seams": "renoise"},
        ),
    )
}
