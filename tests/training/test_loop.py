from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from blockviz.models.checkpoint import load
from blockviz.models.tokens import Tokens
from blockviz.training import loop, validation
from blockviz.training.command import main, termination
from blockviz.training.curriculum import LEVELS, Curriculum
from blockviz.training.loop import Place, Trainer, train
from blockviz.training.preparation import block_sizes
from blockviz.training.recipes import RECIPES, Recipe
from blockviz.training.runfiles import LOSSES, NOISE, STATE, VALIDATION, RunError
from blockviz.training.seams import Seams
from blockviz.training.text_source import TextSource
from tests.no_float64 import there
from tests.training.made_up_stories import stories

CPU = Place(0, 1, torch.device("cpu"))
ROOT = Path(__file__).resolve().parents[2]


def tiny(process: str = "masked", **changes: object) -> Recipe:
    base = RECIPES[f"math-{process}"]
    return replace(base.with_steps(6), hidden_size=16, n_blocks=1, n_heads=2, batch=8, **changes)


def run(recipe: Recipe, folder: Path, **options: object) -> Trainer:
    return train(
        recipe, folder, CPU, **{"validation_rows": 8, "validate_every": 3, "save_every": 2, **options}
    )


@pytest.mark.slow
@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_a_resumed_run_is_the_uninterrupted_run(process: str, tmp_path: Path) -> None:
    whole = run(tiny(process), tmp_path / "whole")
    run(tiny(process), tmp_path / "cut", until=4)
    resumed = run(tiny(process), tmp_path / "cut", resume=True)
    assert resumed.step == whole.step == 6
    expected, actual = load_file(tmp_path / "whole" / STATE), load_file(tmp_path / "cut" / STATE)
    assert expected.keys() == actual.keys()
    for name, tensor in expected.items():
        assert torch.equal(tensor, actual[name]), name
    for name in (LOSSES, VALIDATION):
        frames = [
            pd.read_csv(tmp_path / kind / name).drop(columns="seconds", errors="ignore")
            for kind in ("whole", "cut")
        ]
        frames[1] = frames[1].query("step != 4") if name == VALIDATION else frames[1]
        pd.testing.assert_frame_equal(frames[0], frames[1].reset_index(drop=True))
    assert (tmp_path / "cut" / "losses.html").stat().st_size > 1e6


def test_a_killed_run_resumes_from_its_last_saved_step(tmp_path: Path) -> None:
    recipe = tiny()
    run(recipe, tmp_path / "whole")
    run(recipe, tmp_path / "cut", until=4)
    trainer = Trainer(recipe, CPU)
    assert trainer.step == 0
    rows = pd.read_csv(tmp_path / "cut" / LOSSES)
    # What a process writes after its last save is written again by the one that resumes.
    pd.concat([rows, rows.tail(1).assign(step=5)]).to_csv(tmp_path / "cut" / LOSSES, index=False)
    run(recipe, tmp_path / "cut", resume=True)
    assert pd.read_csv(tmp_path / "cut" / LOSSES)["step"].tolist() == [1, 2, 3, 4, 5, 6]


def test_a_run_of_another_recipe_is_not_resumed(tmp_path: Path) -> None:
    run(tiny(), tmp_path, until=2)
    with pytest.raises(RunError, match=r"made with batch = 8, not 4"):
        run(replace(tiny(), batch=4), tmp_path, resume=True)
    with pytest.raises(RunError, match="no run to resume"):
        run(tiny(), tmp_path / "empty", resume=True)


def test_a_step_lowers_the_loss_and_follows_the_weights() -> None:
    trainer = Trainer(tiny(), CPU)
    results = [trainer.train_step() for _ in range(12)]
    assert results[-1].loss < results[0].loss
    assert all(size in RECIPES["math-masked"].block_sizes for r in results for size in r.by_block_size)
    # Eight rows and a weight of one half on block size 1: stratified choice gives four of them at every step.
    for step in range(20):
        assert block_sizes(trainer.recipe, step, 8).count(1) == 4


def test_the_exported_checkpoint_holds_the_averaged_weights(tmp_path: Path) -> None:
    trainer = run(tiny("uniform"), tmp_path / "run")
    live = {name: p.detach().clone() for name, p in trainer.net.named_parameters()}
    folder = trainer.export(tmp_path / "out", {"note": 1})
    model = load(folder, "cpu")
    assert model.info.process == "uniform"
    assert model.info.mask_id is None
    assert model.info.training["note"] == 1
    assert model.info.training["sequences"] == 48
    for name, parameter in model.net.named_parameters():
        expected = trainer.optimiser.average[name].half().float()
        assert torch.equal(parameter, expected), name
        assert torch.equal(live[name], dict(trainer.net.named_parameters())[name])


@pytest.mark.slow
def test_a_run_starts_from_the_averaged_weights_another_ended_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = replace(tiny("uniform"), name="base")
    monkeypatch.setitem(RECIPES, "base", base)
    masked = replace(tiny("masked"), starts_from="base")
    with pytest.raises(RunError, match="no run to resume"):
        run(masked, tmp_path / "masked", until=0)
    run(base, tmp_path / "base", until=4)
    with pytest.raises(RunError, match="stands at step 4 of 6"):
        run(masked, tmp_path / "masked", until=0)
    run(base, tmp_path / "base", resume=True)
    averaged = load_file(tmp_path / "base" / STATE)
    started = dict(run(masked, tmp_path / "masked", until=0).net.named_parameters())
    for name, parameter in started.items():
        old = averaged[f"average/{name}"]
        if old.shape == parameter.shape:
            assert torch.equal(parameter, old), name
        else:
            assert torch.equal(parameter[:-1], old), name
    assert torch.equal(
        started["vocab_embed.embedding"][-1], averaged["average/vocab_embed.embedding"].mean(dim=0)
    )
    # The base's files are not needed to go on.
    run(masked, tmp_path / "masked", until=2)
    (tmp_path / "base" / STATE).unlink()
    assert run(masked, tmp_path / "masked", resume=True).step == 6


def test_the_command_refuses_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["math-masked", "--run", str(tmp_path), "--resume", "--device", "cpu"]
    assert main(arguments) == 2
    assert "no run to resume" in capsys.readouterr().err


def test_a_finished_model_does_not_land_among_the_bundled_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(RECIPES, "math-masked", tiny(validation_rows=2))
    arguments = ["math-masked", "--steps", "1", "--device", "cpu"]
    for more, folder in (((), "runs/checkpoints"), (("--out", "mine"), "mine")):
        assert main([*arguments, *more]) == 0
        assert capsys.readouterr().out.strip() == f"{folder}/math-masked"
        assert load(tmp_path / folder / "math-masked", "cpu").info.process == "masked"
    assert not (tmp_path / "checkpoints").exists()


def test_a_device_without_float64_gives_the_figures_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = Trainer(tiny(), CPU).corpus.validation(4)

    def figures() -> tuple[object, object]:
        trainer = Trainer(tiny(), CPU, autocast=False)
        return trainer.train_step(), trainer.validate(examples)

    expected = figures()
    monkeypatch.setattr(loop, "weighted_loss", there(loop.weighted_loss))
    monkeypatch.setattr(validation, "bound", there(validation.bound))
    assert figures() == expected


SCRIPT = """
import sys
from dataclasses import replace
from pathlib import Path
from blockviz.training.command import processes
from blockviz.training.loop import train
from blockviz.training.recipes import RECIPES
recipe = replace(RECIPES["math-masked"].with_steps(3), hidden_size=16, n_blocks=1, n_heads=2, batch=8)
with processes("cpu") as place:
    train(recipe, Path(sys.argv[1]), place, validation_rows=8, autocast=False)
"""


@pytest.mark.slow
def test_two_processes_write_one_run(tmp_path: Path) -> None:
    """`torchrun` with two CPU processes: the leading one writes, and both hold the same weights in the end."""
    script = tmp_path / "run.py"
    script.write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    subprocess.run([*command, str(script), str(tmp_path / "run")], check=True, env=environment, timeout=300)
    losses = pd.read_csv(tmp_path / "run" / LOSSES)
    assert losses["step"].tolist() == [1, 2, 3]
    alone = train(tiny().with_steps(3), tmp_path / "alone", CPU, validation_rows=8, autocast=False)
    single = pd.read_csv(tmp_path / "alone" / LOSSES)
    # The processes draw other noise than one alone, so the losses agree only as far as the data does.
    assert (losses["loss"] - single["loss"]).abs().max() < 0.2
    weights = load_file(tmp_path / "run" / STATE)
    assert any(
        not torch.equal(value, dict(alone.net.named_parameters())[name.removeprefix("weights/")])
        for name, value in weights.items()
        if name.startswith("weights/")
    )


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_every_option_of_the_recipe_trains_and_resumes_exactly(process: str, tmp_path: Path) -> None:
    recipe = tiny(
        process,
        curriculum=Curriculum(4.0, 1.0),
        seams=Seams(1.0),
        losses=("ce", "elbo", "ce", "elbo", "ce", "elbo", "elbo"),
    )
    run(recipe, tmp_path / "whole")
    run(recipe, tmp_path / "cut", until=3)
    run(recipe, tmp_path / "cut", resume=True)
    expected, actual = load_file(tmp_path / "whole" / STATE), load_file(tmp_path / "cut" / STATE)
    for name, tensor in expected.items():
        assert torch.isfinite(tensor).all(), name
        assert torch.equal(tensor, actual[name]), name
    counts = pd.read_csv(tmp_path / "whole" / NOISE)
    assert len(counts) == recipe.steps
    assert (tmp_path / "whole" / "noise.html").stat().st_size > 1e6


def test_a_curriculum_lightens_what_is_drawn(tmp_path: Path) -> None:
    run(replace(tiny(curriculum=Curriculum(6.0, 0.3)), batch=32), tmp_path)
    levels = pd.read_csv(tmp_path / NOISE).drop(columns="step").to_numpy()
    means = (levels * (torch.arange(LEVELS).numpy() + 0.5) / LEVELS).sum(axis=1) / levels.sum(axis=1)
    assert means[0] > 0.7
    assert means[-1] < 0.4


@pytest.mark.slow
def test_stories_train_with_the_tokenizer_of_the_run_they_start_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "stories.txt"
    text.write_text("\n<|endoftext|>\n".join(stories(300)))
    source = TextSource(text)
    small = {"hidden_size": 16, "n_blocks": 1, "n_heads": 2, "batch": 4, "vocabulary": 300}
    base = replace(RECIPES["stories-base"].with_steps(4), **small, name="base")
    monkeypatch.setitem(RECIPES, "base", base)
    run(base, tmp_path / "base", source=source)
    masked = replace(RECIPES["stories-masked"].with_steps(4), **small, starts_from="base")
    trainer = run(masked, tmp_path / "masked", source=source, until=2)
    assert trainer.tokens.names == Tokens.from_file(tmp_path / "base" / "tokenizer.json").names
    with pytest.raises(RunError, match="made with another text"):
        run(masked, tmp_path / "masked", source=TextSource(text, most=200), resume=True)
    model = load(
        run(masked, tmp_path / "masked", source=source, resume=True).export(tmp_path / "out", {}), "cpu"
    )
    assert (model.info.task, model.info.mask_id) == ("stories", model.tokens.vocab_size)
    assert model.tokens.names == trainer.tokens.names


def test_a_run_that_is_asked_to_stop_saves_and_can_be_resumed(tmp_path: Path) -> None:
    asked = iter([False, True])
    trainer = run(tiny(), tmp_path / "cut", asked_to_stop=lambda: next(asked), validate_every=100)
    assert trainer.step == 2
    run(tiny(), tmp_path / "cut", resume=True)
    run(tiny(), tmp_path / "whole")
    expected, actual = load_file(tmp_path / "whole" / STATE), load_file(tmp_path / "cut" / STATE)
    for name, tensor in expected.items():
        assert torch.equal(tensor, actual[name]), name


def test_a_slow_run_is_saved_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[int] = []
    monkeypatch.setattr(loop, "save_state", lambda *given: saved.append(given[3]["step"]))
    for plot in ("plot_losses", "plot_noise"):
        monkeypatch.setattr(loop, plot, lambda folder: folder)
    run(tiny(), tmp_path / "a", save_every=100)
    run(tiny(), tmp_path / "b", save_every=100, save_seconds=0)
    assert saved == [6, 1, 2, 3, 4, 5, 6]


def test_a_signal_is_a_request_while_training_lasts() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with termination() as asked:
        assert not asked()
        signal.raise_signal(signal.SIGTERM)
        assert asked()
    assert signal.getsignal(signal.SIGTERM) is before
