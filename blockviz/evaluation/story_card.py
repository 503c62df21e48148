"""The model card of a checkpoint that writes stories: what it is, how it was made, its likelihood, unchosen samples."""

from __future__ import annotations

import re
from pathlib import Path

from blockviz.base.writing import complete
from blockviz.evaluation.accuracy import EvaluationError
from blockviz.evaluation.block_likelihood import Likelihood
from blockviz.evaluation.model_card import recipe_of, shape_lines, training_lines
from blockviz.evaluation.tables import likelihood_markdown
from blockviz.models.checkpoint import Model
from blockviz.sampling.run import sample

PROMPT = "Once upon a time"
SAMPLES = 10
SHOWN = {"ancestral": "Ancestral", "arpc": "AR-informed corrector (ARPC)"}
BLOCK_SIZE = STEPS = 16


def write_story_card(model: Model, folder: Path, figures: Likelihood) -> Path:
    """Write `README.md` into a checkpoint folder, with `figures` and with samples drawn now; returns the file.

    Raises EvaluationError for a model that no story recipe of this project trained.
    """
    recipe = recipe_of(model)
    if model.info.task != "stories":
        raise EvaluationError(f"{model.name} writes no stories, so this is not its card.")
    noise = "masked (absorbing)" if model.info.process == "masked" else "uniform"
    lines = [
        "---",
        "license: apache-2.0",
        "library_name: blockviz",
        "language: en",
        "datasets: [roneneldan/TinyStories]",
        "tags: [diffusion-language-model, block-diffusion, stories]",
        "---",
        f"# {model.name}",
        "",
        f"A blockwise discrete-diffusion language model with {noise} noise that writes little stories. It is small on "
        "purpose: it runs on a laptop CPU. One denoiser serves the block sizes "
        f"{', '.join(map(str, recipe.block_sizes))} (BlockGen, arXiv 2606.02241); at block size 1 it is an "
        "autoregressive model and can score its own drafts (ARPC).",
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
        "The texts are the beginnings, a canvas long, of held-out stories; a token is one of this model's own "
        f"vocabulary. Made by `python -m blockviz evaluate {model.name} --likelihood --text FILE --problems "
        f"{figures.sequences} --draws {figures.draws} --card`.",
        "",
        "## Samples",
        "",
        f'Unchosen: the prompt "{PROMPT}", block size {BLOCK_SIZE}, {STEPS} steps a block, temperature 1, seeds 0 to '
        f"{SAMPLES - 1}. A text that does not end on the canvas stops there.",
        "",
    ]
    for preset, name in SHOWN.items():
        lines += [f"### {name}", ""]
        for seed in range(SAMPLES):
            trace = sample(model, PROMPT, preset=preset, block_size=BLOCK_SIZE, steps=STEPS, seed=seed)
            text = trace.end.text
            gap = " " if text[:1].isspace() else ""
            lines += [f"{seed + 1}. {PROMPT}{gap}**{_plain(text)}**", ""]
    lines += [
        "## Limits",
        "",
        "It knows the words and the simple plots of its stories and nothing else. It loses its thread, mixes up who "
        "did what, and knows no facts. What it writes was not checked for what children should read.",
        "",
    ]
    path = folder / "README.md"
    with complete(path) as part:
        part.write_text("\n".join(lines), encoding="utf-8")
    return path


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    escaped = re.sub(r"([\\`*_{}\[\]<>()#+!|~])", r"\\\1", text)
    return " ".join(escaped.split())
