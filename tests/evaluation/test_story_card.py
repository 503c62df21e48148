from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from blockviz.__main__ import main
from blockviz.evaluation import story_card
from blockviz.evaluation.accuracy import EvaluationError
from blockviz.evaluation.block_likelihood import likelihood
from blockviz.evaluation.texts import text_examples
from blockviz.models.block_dit import BlockDiT, NetworkConfig
from blockviz.models.checkpoint import Model, ModelInfo, load, save
from blockviz.models.tokens import Tokens
from blockviz.training import byte_tokenizer
from tests.evaluation.math_models import math_model
from tests.training.made_up_stories import stories

TRAINING = {
    "recipe": "stories-masked",
    "steps": 10,
    "sequences": 80,
    "seconds": 120,
    "parameters": 1234,
    "runs": [
        {
            "recipe": f"stories-{name}",
            "process": process,
            "batch": 192,
            "block_sizes": [1, 16],
            "stages": [{"steps": steps, "block_weights": [0.25, 0.75]}],
            "steps": steps,
            "seconds": 120,
            "device": "cuda",
        }
        for name, process, steps in (("base", "uniform", 700), ("masked", "masked", 300))
    ],
}


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "stories.txt"
    path.write_text("\n<|endoftext|>\n".join(stories(400)))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokens = Tokens(byte_tokenizer.build(stories(50), 300))
    net = BlockDiT(NetworkConfig(16, 1, 2, 32, tokens.vocab_size + 1))
    net.initialise(torch.Generator().manual_seed(0))
    info = ModelInfo(
        process="masked",
        vocab_size=tokens.vocab_size + 1,
        mask_id=tokens.vocab_size,
        end_id=tokens.end_id,
        pad_id=None,
        length=32,
        block_sizes=(1, 16),
        block_weights=(0.5, 0.5),
        task="stories",
        training=TRAINING,
    )
    return save(tmp_path / "models" / "stories-tiny", net, info, tokens)


def model(folder: Path) -> Model:
    return load(folder, "cpu")


def test_the_card_carries_figures_and_unchosen_samples(
    folder: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(story_card, "SAMPLES", 2)
    arguments = ["evaluate", "stories-tiny", "--folder", str(folder.parent), "--device", "cpu"]
    arguments += ["--likelihood", "--text", str(text), "--problems", "3", "--draws", "2", "--card"]
    assert main(arguments) == 0
    card = (folder / "README.md").read_text(encoding="utf-8")
    figures = likelihood(model(folder), text_examples(model(folder), text, 3), draws=2)
    assert f"| B = 1 | {figures.sizes[0].nll:.4f} |" in card
    assert len(re.findall(r"^[12]\. Once upon a time ?\*\*.*\*\*$", card, re.MULTILINE)) == 4
    assert "700 optimiser steps of 192 sequences, 2 minutes on one GPU" in card
    assert "300 optimiser steps of 192 sequences (57,600 in all), 2 minutes on one GPU" in card
    assert "| block sizes and weights, stories-masked, 300 steps | 1: 0.25, 16: 0.75 |" in card
    assert "CDLA-Sharing-1.0" in card
    assert "`python -m blockviz train stories-base`" in card
    assert "--problems 3 --draws 2 --card" in card


def test_markdown_in_a_story_stays_text() -> None:
    assert story_card._plain("a *b*\n<c> [d](e) `f`") == r"a \*b\* \<c\> \[d\]\(e\) \`f\`"


def test_a_model_of_another_kind_has_no_such_card(folder: Path, text: Path, tmp_path: Path) -> None:
    figures = likelihood(model(folder), text_examples(model(folder), text, 2), draws=2)
    math = math_model("masked")
    with pytest.raises(EvaluationError, match="not trained by a recipe"):
        story_card.write_story_card(math, tmp_path, figures)
    named = replace(math, info=replace(math.info, training={**TRAINING, "recipe": "math-masked"}))
    with pytest.raises(EvaluationError, match="writes no stories"):
        story_card.write_story_card(named, tmp_path, figures)


def test_a_card_of_stories_needs_a_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["evaluate", "stories-tiny", "--folder", str(folder.parent), "--likelihood", "--card"]
    assert main(arguments) == 2
    assert "--likelihood --text FILE" in capsys.readouterr().err
