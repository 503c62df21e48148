"""The words that stand on every export: what a run is called, and its footer (model, settings, seed, version)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from blockviz import __version__
from blockviz.sampling.settings import SamplerSettings
from blockviz.sampling.trace import Header, Trace


class ExportError(ValueError):
    """An export that cannot be made; the message is one sentence with the reason."""


CORRECTORS: dict[str, str] = {
    "ar_nll": "ARPC",
    "entropy": "EIPC",
    "random": "random corrector",
    "ar_gap": "corrector AR gap",
    "ar_entropy": "corrector AR entropy",
    "kld": "corrector KL",
    "reverse_kld": "corrector reverse KL",
    "tvd": "corrector TV",
    "confidence": "corrector confidence",
    "margin": "corrector margin",
}
PREDICTORS: dict[str, str] = {"confident": "Confident", "threshold": "Threshold"}
"""Samplers that are named by their predictor."""
SEES: dict[str, str] = {"canvas": "whole canvas", "bidirectional": "both sides"}
"""What the network sees, where that is not the blocks before."""
SCORES: dict[str, str] = {
    "ar_nll": "AR −log p in nats",
    "ar_gap": "AR gap to its own best in nats",
    "ar_entropy": "AR entropy in nats",
    "kld": "KL divergence AR ‖ diffusion in nats",
    "reverse_kld": "KL divergence diffusion ‖ AR in nats",
    "tvd": "total variation AR, diffusion",
    "entropy": "diffusion entropy in nats",
    "confidence": "confidence score",
    "margin": "margin score",
}
"""What the number at a re-noised token measures."""


LONGEST = 120
"""Characters of a name on an export; a foreign trace may carry any text as its model's name."""


def short(text: str, longest: int = LONGEST) -> str:
    """The text, cut with an ellipsis where it is longer."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def clean(text: str) -> str:
    """The text as metadata may hold it: no control characters, no lone surrogates."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return printable.encode("utf-8", "backslashreplace").decode()


def title(header: Header) -> str:
    """One line that names a run, as the page does: "math-masked · ARPC, block 16, 8 steps"."""
    return _named(header) + ("" if header.fork is None else f" · fork from pass {header.fork.at}")


def sampler(settings: SamplerSettings) -> str:
    """The short name of a sampler: "AR", "ARPC", "Confident"."""
    if settings.predictor == "autoregressive":
        return "AR"
    return PREDICTORS.get(settings.predictor) or CORRECTORS.get(settings.corrector, "Ancestral")


def file_words(header: Header) -> str:
    """The words of a run's file name: model, sampler, and what it sees."""
    settings = header.settings
    sees = "" if settings.predictor == "autoregressive" else SEES.get(settings.context, "")
    return f"{header.model.name[:200]} {sampler(settings)} {sees}"


def _named(header: Header) -> str:
    settings, name = header.settings, short(header.model.name) or "model"
    if settings.predictor == "autoregressive":
        return f"{name} · AR"
    parts = [sampler(settings)]
    if settings.context == "canvas":
        parts.append(SEES["canvas"])
    else:
        parts.append(f"block {settings.block_size}")
        parts += [SEES["bidirectional"]] if settings.context == "bidirectional" else []
        parts += {
            "none": [],
            "overlap": [f"overlap {settings.overlap}"],
            "renoise": [f"seams of {settings.seam_width}"],
        }[settings.seams]
    if settings.predictor == "threshold":
        parts.append(f"from {settings.threshold:g}")
    else:
        parts.append(f"{settings.steps} step" + ("" if settings.steps == 1 else "s"))
    return f"{name} · {', '.join(parts)}"


def footer(header: Header) -> tuple[str, str]:
    """Two lines: model with its hash, seed and versions; then every setting but the seed, as `name value`."""
    model, settings = header.model, header.settings.to_dict()
    seed = settings.pop("seed", None)
    made_by = short(header.versions.get("blockviz", __version__), 40)
    version = f"BlockViz {__version__}" + ("" if made_by == __version__ else f", run recorded with {made_by}")
    count = model.parameters
    size = f"{count / 1e6:.1f} M parameters" if count >= 100_000 else f"{count} parameters"
    first = (
        f"model {short(model.name)} ({short(model.hash, 16)}), {model.process} noise, {size}",
        f"seed {seed}",
        f"run {short(header.run, 40)}"
        + (
            ""
            if header.fork is None
            else f", fork of {short(header.fork.parent, 40)} from pass {header.fork.at}"
        ),
        version,
    )
    named = ((name.replace("_", " "), value) for name, value in settings.items() if value is not None)
    return " · ".join(first), " · ".join(f"{name} {_value(value)}" for name, value in named)


def about(traces: Sequence[Trace]) -> dict[str, str]:
    """The footer as metadata of a file: each line under a name, the runs of a comparison one after another."""
    lines = [footer(trace.header) for trace in traces]
    return {
        "title": clean(" | ".join(title(trace.header) for trace in traces)),
        "model": clean(" | ".join(line[0] for line in lines)),
        "settings": clean(" | ".join(line[1] for line in lines)),
    }


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def fixed(value: float, digits: int) -> str:
    """The number with so many decimals, a half rounded away from zero as the page's `toFixed` does."""
    return str(Decimal(float(value)).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP))
