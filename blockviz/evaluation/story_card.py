"""The model card of a checkpoint that writes stories: what it is, how it was made, its figures, unchosen samples."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

from blockviz.base.writing import complete
from blockviz.evaluation.accuracy import EvaluationError
from blockviz.evaluation.block_likelihood import Likelihood
from blockviz.evaluation.model_card import flags, recipe_of, shape_lines, training_lines
from blockviz.evaluation.quality import CAUTIOUS, Quality
from blockviz.evaluation.sweep import BLOCK_SIZE, Cell
from blockviz.evaluation.tables import likelihood_markdown, quality_markdown
from blockviz.evaluation.texts import OPENING_WORDS
from blockviz.models.checkpoint import Model
from blockviz.sampling.batch import sample_batch
from blockviz.sampling.settings import FIELDS, PRESETS, refused_on

QUALITY = "quality.json"
PROMPT = "Once upon a time"
SAMPLES = 10
STEPS = 16
SHOWN = (
    Cell("confident", STEPS, CAUTIOUS),
    Cell("arpc", 2 * STEPS, CAUTIOUS),
    Cell("arpc", STEPS, CAUTIOUS),
    Cell("arpc", STEPS, 1.0),
    Cell("ancestral", STEPS, CAUTIOUS),
    Cell("ancestral", STEPS, 1.0),
    Cell("ar", None, CAUTIOUS),
    Cell("ar", None, 1.0),
)


def check_story_card(model: Model, judged: bool) -> None:
    """Raise EvaluationError where a model has no such card, or (not) `judged` does not fit it.

    A model of several block sizes has what a judge says of its samples on its card; an AR model is the judge.
    """
    recipe_of(model)
    if model.info.task != "stories":
        raise EvaluationError(f"{model.name} writes no stories, so this is not its card.")
    if not judged and not _left_to_right(model):
        raise EvaluationError(
            f"The card of {model.name} needs a judge of its samples: name an AR model with --judge, as the recipe "
            "stories-ar makes one."
        )


def write_story_card(
    model: Model, folder: Path, figures: Likelihood, texts: Quality | None, *, all_texts: bool = False
) -> Path:
    """Write `README.md` into a checkpoint folder, with `figures`, `texts` and samples drawn now; returns the file.

    The quality of `texts` goes into `QUALITY` beside it too, for whoever cites it. `all_texts`: both are of all texts
    of a file, not of those that training holds out. Raises EvaluationError as `check_story_card`.
    """
    check_story_card(model, texts is not None)
    kind = "autoregressive" if _left_to_right(model) else "diffusion-language-model, block-diffusion"
    lines = [
        "---",
        "license: apache-2.0",
        "library_name: blockviz",
        "language: en",
        "datasets: [roneneldan/TinyStories]",
        f"tags: [{kind}, stories]",
        "---",
        f"# {model.name}",
        "",
        _what_it_is(model),
        "",
        *shape_lines(model, "end, 256 bytes, byte-level BPE"),
        "",
        "## Data",
        "",
        "Short English stories: slices of TinyStories (Eldan and Li, 2023; the text is by GPT-3.5 and GPT-4; "
        "CDLA-Sharing-1.0), cleaned to ASCII and without doubles. None of the text is part of this repository. One "
        "story in fifty is held out by a hash of its words. Some of the stories belong to the data set's published "
        "validation files, so no figure here may be compared with figures on those.",
        "",
        "## Training",
        "",
        *training_lines(model),
        "",
        "## Likelihood",
        "",
        likelihood_markdown(model.name, figures).strip(),
        "",
        f"The texts are the beginnings, a canvas long, of {'a file of' if all_texts else 'held-out'} stories; a token "
        "is one of this model's own vocabulary, end tokens counted.",
        "",
        *_quality_lines(model, texts),
        "## Samples",
        "",
        *_sample_lines(model),
        "## How the figures were made",
        "",
        f"All of this card, samples included: `{_command(model, figures, texts, all_texts)}` "
        + (
            "(FILE: a text that it was not trained on, all of which is read)."
            if all_texts
            else "(FILE: the text it was trained on, of which only what training holds out is read)."
        ),
        "",
        "## Limits",
        "",
        *_limits(model),
        "",
    ]
    if texts is not None:
        with complete(folder / QUALITY) as part:
            part.write_text(
                json.dumps({"hash": model.content_hash, **asdict(texts)}, indent=1) + "\n", encoding="utf-8"
            )
    path = folder / "README.md"
    with complete(path) as part:
        part.write_text("\n".join(lines), encoding="utf-8")
    return path


def _left_to_right(model: Model) -> bool:
    return model.info.block_sizes == (1,)


def _what_it_is(model: Model) -> str:
    if _left_to_right(model):
        return (
            "An autoregressive language model that writes little stories, one token after the other. It has the "
            "network of this project's diffusion models at block size 1 alone, where a position sees the text before "
            "it and one token of noise. It was trained apart from them, to be the judge that reads what they write. It "
            "is small on purpose: it runs on a laptop CPU."
        )
    noise = "masked (absorbing)" if model.info.process == "masked" else "uniform"
    return (
        f"A blockwise discrete-diffusion language model with {noise} noise that writes little stories. It is small on "
        "purpose: it runs on a laptop CPU. One denoiser serves the block sizes "
        f"{', '.join(map(str, model.info.block_sizes))} (BlockGen, arXiv 2606.02241); at block size 1 it is an "
        "autoregressive model and can score its own drafts (ARPC)."
    )


def _quality_lines(model: Model, texts: Quality | None) -> list[str]:
    if texts is None:
        return []
    given = (
        ""
        if texts.source is None
        else f"The first {OPENING_WORDS} words of a held-out story are the prompt; its own continuation, to the end of "
        "the canvas, is what the last row reads. "
    )
    return [
        "## Quality of sampled texts",
        "",
        quality_markdown(model.name, texts).strip(),
        "",
        f"{given}The judge is about as small as this model and knows the same kind of stories: what it finds likely "
        "reads like them, which is no proof of sense. Its figures compare samplers and models of this very tokenizer.",
        "",
    ]


def _sample_lines(model: Model) -> list[str]:
    """Ten unchosen texts of each sampler."""
    alone = _left_to_right(model)
    how = "" if alone else f"block size {BLOCK_SIZE}, "
    lines = [
        f'Unchosen: the prompt "{PROMPT}", {how}seeds 0 to {SAMPLES - 1}. A text that does not end on the canvas stops '
        "there.",
        "",
    ]
    fitting = [cell for cell in SHOWN if not refused_on(PRESETS[cell.preset], model.info.process)]
    for cell in (cell for cell in fitting if not alone or cell.steps is None):
        settings = cell.settings(BLOCK_SIZE, 0)
        result = sample_batch(model, [PROMPT] * SAMPLES, settings, range(SAMPLES))
        steps = "" if cell.steps is None else f"{cell.steps} steps a block, "
        lines += [f"### {PRESETS[cell.preset].label}, {steps}temperature {cell.temperature:g}", ""]
        for number, text in enumerate(result.texts, 1):
            gap = " " if text[:1].isspace() else ""
            lines += [f"{number}. {PROMPT}{gap}**{_plain(text)}**", ""]
    return lines


def _command(model: Model, figures: Likelihood, texts: Quality | None, all_texts: bool) -> str:
    judged = ""
    if texts is not None:
        judged = f" --judge {texts.judge} --samples {texts.samples}" + flags(
            {
                "--seed": (texts.seed, FIELDS["seed"].default),
                "--block-size": (texts.block_size, FIELDS["block_size"].default),
            }
        )
    return (
        f"python -m blockviz evaluate {model.name} --likelihood --text FILE{' --all-texts' if all_texts else ''} "
        f"--problems {figures.sequences} --draws {figures.draws}{judged} --card"
    )


def _limits(model: Model) -> list[str]:
    lines = [
        "It knows the words and the simple plots of its stories and nothing else. It loses its thread, mixes up who "
        "did what, and knows no facts. What it writes was not checked for what children should read."
    ]
    if _left_to_right(model):
        lines += [
            "",
            "As a judge it is as good as its own stories: a text can be likely to it without making sense, and it "
            "cannot compare models of other tokenizers.",
        ]
    return lines


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    escaped = re.sub(r"([\\`*_{}\[\]<>()#+!|~])", r"\\\1", text)
    return " ".join(escaped.split())
