"""Tables in Markdown: the figures of a model card, the fields of the settings. Plain data in, text out; no torch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from blockviz.sampling.settings import FIELDS, PRESETS

if TYPE_CHECKING:
    from blockviz.evaluation.block_likelihood import Likelihood, SizeLikelihood
    from blockviz.evaluation.bootstrap import Figure
    from blockviz.evaluation.quality import Quality, QualityRow


def accuracy_markdown(table: Mapping[str, Any]) -> str:
    """The figures of `evaluation.sweep` as Markdown: one table per temperature, accuracy in percent with its interval.

    An entry that was not measured is shown as a dash.
    """
    rows: Sequence[Mapping[str, Any]] = table["rows"]
    lines = [
        f"`{table['model']}` ({table['process']} noise), {table['problems']} held-out problems, block size "
        f"{table['block_size']}. Final answers right, in percent, with 95% Wilson intervals; in parentheses network "
        "calls (NFE) per problem, counted.",
        "",
    ]
    left_to_right = [row for row in rows if row["steps"] is None]
    lines += [f"Left to right, temperature {row['temperature']:g}: {_cell(row)}." for row in left_to_right]
    blocks = [row for row in rows if row["steps"] is not None]
    steps = sorted({row["steps"] for row in blocks})
    for temperature in sorted({row["temperature"] for row in blocks}, reverse=True):
        by_key = {(row["preset"], row["steps"]): row for row in blocks if row["temperature"] == temperature}
        body = [
            [PRESETS[name].label, *(_cell(by_key.get((name, count))) for count in steps)]
            for name in PRESETS
            if any(key[0] == name for key in by_key)
        ]
        header = [f"T = {temperature:g}", *(f"{count} step" + "s" * (count > 1) for count in steps)]
        lines += ["", *_table(header, body)]
    return "\n".join(lines) + "\n"


def likelihood_markdown(name: str, result: Likelihood) -> str:
    """The figures of `evaluation.block_likelihood` as Markdown: one row per block size, then the mixture's bounds."""
    body = [
        [
            f"B = {size.block_size}",
            f"{size.nll:.4f}" + ("" if size.exact else f" ± {size.error:.4f}"),
            f"{size.perplexity:.3f}",
            _kind(size),
        ]
        for size in result.sizes
    ]
    mixed = len(result.sizes) > 1
    for label, value, error in (
        ("log-sum-exp", result.log_sum_exp, result.log_sum_exp_error),
        ("Jensen", result.jensen, result.jensen_error),
    ):
        if mixed:
            kind = "upper bound, per sequence" + (", cross-fitted" if label == "log-sum-exp" else "")
            body.append([f"mixture, {label}", f"{value:.4f} ± {error:.4f}", f"{math.exp(value):.3f}", kind])
    exact = all(size.exact for size in result.sizes)
    drawn = "" if exact else f"; {result.draws} noise draws a text, ± their standard error"
    lines = [
        f"`{name}` on {result.sequences:,} texts, {result.tokens:,} tokens{drawn}. Other texts of the same kind would "
        f"move the first row by a standard error of {result.between:.4f}.",
        "",
        *_table(["block size", "nats per token", "perplexity", "what it is"], body),
    ]
    return "\n".join(lines) + "\n"


def _kind(size: SizeLikelihood) -> str:
    if size.exact:
        return "exact"
    return "exact for the noise drawn" if size.block_size == 1 else "upper bound (ELBO)"


def quality_markdown(name: str, result: Quality) -> str:
    """The figures of `evaluation.quality` as Markdown: one row per sampler, then the held-out texts."""
    given = (
        "the prompts are fixed openings"
        if result.source is None
        else "the prompts are the first words of held-out texts, whose own continuations stand in the last row"
    )
    last = result.seed + result.samples - 1
    lines = [
        f"`{name}`: {result.samples} texts a sampler, block size {result.block_size}, canvas "
        f"{result.canvas} tokens, seeds {result.seed} to {last}; {given}. AR NLL: nats per generated token as "
        f"`{result.judge}` (`{result.judge_hash}`), an AR model trained apart, reads the text from left to right. A "
        "text that repeats itself is likely and poor, so the entropy of its token frequencies and its share of "
        "different 1-, 2- and 3-grams stand beside it. In brackets 95% intervals over texts.",
        "",
        *_table(
            [
                "sampler, steps a block",
                "temperature",
                "AR NLL, nats per token",
                "token entropy, nats",
                *(f"distinct {n}-grams, %" for n in range(1, len(result.rows[0].distinct) + 1)),
                "tokens a text",
                "ended, %",
                "network calls per token",
            ],
            [
                [
                    _sampler(row),
                    "–" if row.temperature is None else f"{row.temperature:g}",
                    _figure(row.nll, 3),
                    _figure(row.entropy, 3),
                    *(_figure(share, 1) for share in row.distinct),
                    _figure(row.tokens, 1),
                    _figure(row.ended, 0),
                    "–" if row.calls is None else f"{row.calls.value:.2f}",
                ]
                for row in result.rows
            ],
        ),
    ]
    return "\n".join(lines) + "\n"


def _sampler(row: QualityRow) -> str:
    if row.preset is None:
        return f"**the {row.texts} held-out texts themselves**"
    return PRESETS[row.preset].label + ("" if row.steps is None else f", {row.steps}")


def _figure(figure: Figure, digits: int) -> str:
    if math.isnan(figure.value):
        return "–"
    return f"{figure.value:.{digits}f} [{figure.low:.{digits}f}, {figure.high:.{digits}f}]"


def settings_markdown() -> str:
    """Every setting with its values, default and help, for the README."""
    body = [
        [
            f"`{field.name}`",
            field.allowed,
            "the model's" if field.default is None else f"`{field.default}`",
            field.help,
        ]
        for field in FIELDS.values()
    ]
    return "\n".join(_table(["setting", "values", "default", "meaning"], body)) + "\n"


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "–"
    low, high = 100 * row["low"], 100 * row["high"]
    return f"{100 * row['accuracy']:.1f} [{low:.1f}, {high:.1f}] ({row['nfe_per_problem']:.0f})"


def _table(header: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    rows = [header, ["---"] * len(header), *body]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
