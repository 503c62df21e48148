"""The command line: results on stdout, reasons on stderr, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import blockviz
from blockviz.sampling.settings import FIELDS
from blockviz.sampling.trace import Trace
from tests.commands import call
from tests.evaluation.math_models import write_checkpoint

ROOT = Path(__file__).resolve().parents[1]
PROMPT = "Mia has 12 apples. She buys 30 more apples. How many apples does Mia have?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    write_checkpoint(folder / "tiny", "masked")
    return folder


def test_models_are_listed_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "models", "--folder", folder)
    (card,) = json.loads(out)
    assert code == 0
    assert (card["name"], card["process"], card["task"], card["length"]) == ("tiny", "masked", "math", 128)


def test_sample_as_json_with_a_trace(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out_file = tmp_path / "run.jsonl.gz"
    arguments = (
        "--prompt",
        PROMPT,
        "--preset",
        "arpc",
        "--block-size",
        16,
        "--steps",
        3,
        "--temperature",
        "1.0",
    )
    code, out, _ = call(
        capsys, "sample", "tiny", *arguments, "--seed", 4, "--out", out_file, "--json", "--folder", folder
    )
    report = json.loads(out)
    trace = Trace.load(out_file)
    last = trace.passes[-1]
    assert code == 0
    assert report["text"] == trace.end.text
    assert (report["nfe_denoise"], report["nfe_verify"]) == (last.nfe_denoise, last.nfe_verify)
    assert report["nfe_verify"] > 0
    assert (report["passes"], report["seed"], report["seconds"]) == (len(trace.passes), 4, trace.end.seconds)
    assert report["settings"] == trace.header.settings.to_dict()
    assert report["settings"]["corrector"] == "ar_nll"
    assert report["checks"] == [vars(check) for check in last.checks]


def test_the_same_seed_gives_the_same_trace_through_every_door(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"]
    for file in files:
        call(capsys, "sample", "tiny", "--prompt", PROMPT, "--steps", 2, "--out", file, "--folder", folder)
    first, second = (Trace.load(file) for file in files)
    assert first.same_content(second)
    model = blockviz.load(folder / "tiny", device="cpu")
    third = blockviz.sample(model, PROMPT, preset="ancestral", steps=2)
    assert third.end.text == first.end.text
    assert (third.tokens == first.tokens).all()


def test_sample_as_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "sample", "tiny", "--prompt", PROMPT, "--preset", "arpc", "--folder", folder)
    assert code == 0
    assert " denoise + " in out
    assert out.rstrip().endswith("seed 0")


def test_evaluate_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(
        capsys,
        "evaluate",
        "tiny",
        "--preset",
        "arpc",
        "--steps",
        2,
        "--problems",
        3,
        "--json",
        "--folder",
        folder,
    )
    report = json.loads(out)
    assert code == 0
    assert {"accuracy", "low", "high", "problems", "nfe_per_problem", "ar_nll", "seconds"} <= set(report)
    assert report["problems"] == 3
    assert 0 <= report["low"] <= report["accuracy"] <= report["high"] <= 1
    code, out, _ = call(capsys, "evaluate", "tiny", "--steps", 1, "--problems", 2, "--folder", folder)
    assert code == 0
    assert "2 problems" in out


def test_every_setting_is_a_flag_with_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("sample", "evaluate"):
        code, out, _ = call(capsys, command, "--help")
        shown = " ".join(out.split())
        assert code == 0
        for field in FIELDS.values():
            assert "--" + field.name.replace("_", "-") in shown
            assert field.help[:30] in shown


BAD = {
    "unknown model": (("sample", "nobody", "--prompt", "hi"), "no checkpoint 'nobody'"),
    "steps": (("sample", "tiny", "--prompt", PROMPT, "--steps", "0"), "steps cannot be '0'"),
    "fraction": (
        ("sample", "tiny", "--prompt", PROMPT, "--block-size", "8.5"),
        "--block-size cannot be '8.5'",
    ),
    "nan": (("sample", "tiny", "--prompt", PROMPT, "--temperature", "nan"), "--temperature cannot be 'nan'"),
    "seed": (("evaluate", "tiny", "--seed", "-1"), "eed cannot be '-1'"),
    "preset": (("sample", "tiny", "--prompt", PROMPT, "--preset", "best"), "reset cannot be 'best'"),
    "corrector": (("sample", "tiny", "--prompt", PROMPT, "--corrector", "luck"), "orrector cannot be 'luck'"),
    "contradiction": (
        ("sample", "tiny", "--prompt", PROMPT, "--preset", "ar", "--corrector", "tvd"),
        "no proposal",
    ),
    "canvas": (("sample", "tiny", "--prompt", PROMPT, "--length", "129"), "at most 128"),
    "long prompt": (
        ("sample", "tiny", "--prompt", PROMPT, "--length", "16"),
        "tokens: allowed is at most 15 tokens",
    ),
    "word": (("sample", "tiny", "--prompt", "mia has 3 quasars"), "quasars"),
    "no folder": (
        ("sample", "tiny", "--prompt", PROMPT, "--out", "nowhere/run.jsonl"),
        "there is no folder nowhere",
    ),
    "no prompt": (("sample", "tiny"), "--prompt"),
    "no command": ((), "COMMAND"),
    "unknown command": (("simple",), "simple"),
    "unknown flag": (("models", "--loud"), "--loud"),
    "device": (("sample", "tiny", "--prompt", PROMPT, "--device", "abacus"), "'abacus'"),
    "problems": (("evaluate", "tiny", "--problems", "0"), "--problems cannot be '0'"),
    "many": (("evaluate", "tiny", "--problems", "many"), "'many'"),
    "digits": (("evaluate", "tiny", "--problems", "9" * 5000), "9...: allowed is a whole number from 1 to"),
    "no digits": (("evaluate", "tiny", "--problems", "\u00b2"), "--problems cannot be"),
    "long setting": (("sample", "tiny", "--prompt", PROMPT, "--steps", "9" * 5000), "9...: allowed is"),
    "long choice": (("export", "run.jsonl", "--gif", "--theme", "x" * 5000), "x..."),
    "long model": (("sample", "m" * 5000, "--prompt", PROMPT), "m..."),
    "problem seed": (("evaluate", "tiny", "--problem-seed", "-1"), "--problem-seed cannot be '-1'"),
    "empty setting": (("sample", "tiny", "--prompt", PROMPT, "--steps", ""), "--steps cannot be empty"),
    "empty out": (
        ("sample", "tiny", "--prompt", PROMPT, "--out", ""),
        "--out cannot be '': allowed is a file",
    ),
    "out here": (
        ("sample", "tiny", "--prompt", PROMPT, "--out", "."),
        "--out cannot be '.': allowed is a file",
    ),
    "out root": (
        ("sample", "tiny", "--prompt", PROMPT, "--out", "/"),
        "--out cannot be '/': allowed is a file",
    ),
    "out NUL": (("sample", "tiny", "--prompt", PROMPT, "--out", "a\0b"), "NUL character"),
    "out long": (("sample", "tiny", "--prompt", PROMPT, "--out", "a" * 300), "name too long"),
    "model NUL": (("sample", "a\0b", "--prompt", PROMPT), "NUL character"),
    "run NUL": (("export", "a\0b", "--json"), "NUL character"),
    "table here": (("evaluate", "tiny", "--table", "."), "--table cannot be '.'"),
    "device colon": (
        ("sample", "tiny", "--prompt", PROMPT, "--device", "cpu:"),
        "allowed is auto, cuda, cuda:N",
    ),
    "device word": (
        ("sample", "tiny", "--prompt", PROMPT, "--device", "cpu:foo"),
        "--device cannot be 'cpu:foo'",
    ),
    "device number": (("sample", "tiny", "--prompt", PROMPT, "--device", "cpu:99999"), "--device cannot be"),
    "device beyond": (("sample", "tiny", "--prompt", PROMPT, "--device", "cuda:99"), "--device 'cuda:99'"),
    "train device": (("train", "math-base", "--device", "cpu:"), "--device cannot be 'cpu:'"),
    "train threads": (("train", "math-base", "--threads", "-1"), "--threads cannot be '-1'"),
    "train many threads": (("train", "math-base", "--threads", str(10**30)), "--threads cannot be '1000"),
    "train seed": (("train", "math-base", "--seed", "-1"), "--seed cannot be '-1'"),
    "train until": (("train", "math-base", "--until", "-1"), "--until cannot be '-1'"),
    "train batch": (("train", "math-base", "--batch", str(10**9)), "--batch cannot be '1000000000'"),
    "train steps": (("train", "math-base", "--steps", "0"), "--steps cannot be '0'"),
    "train run": (("train", "math-base", "--run", ""), "--run cannot be ''"),
    "train out": (("train", "math-base", "--out", "a\0b"), "NUL character"),
    "batch": (("evaluate", "tiny", "--problems", "1", "--batch-size", "0"), "--batch-size cannot be '0'"),
    "recipe": (("train", "nothing"), "nothing"),
    "table": (("evaluate", "tiny", "--problems", "1", "--table", "nowhere/table.json"), "nowhere"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(
    name: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, reason = BAD[name]
    if arguments and arguments[0] in ("sample", "evaluate"):
        arguments = (*arguments, "--folder", str(folder))
    code, out, err = call(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert reason.lower() in err.lower()
    assert err.endswith(".\n")
    assert err.count("\n") == 1
    assert len(err) < 600
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_refused_before_the_run_and_stays(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("work began")

    monkeypatch.setattr("blockviz.sampling.flags.open_model", never)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for arguments in (
        ("sample", "tiny", "--prompt", PROMPT, "--out", pipe),
        ("evaluate", "tiny", "--table", pipe),
    ):
        code, out, err = call(capsys, *arguments, "--folder", folder)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "no regular file" in err
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_table_whose_card_cannot_be_written_is_not_measured(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("work began")

    monkeypatch.setattr("blockviz.evaluation.command.sweep", never)
    arguments = ("evaluate", "tiny", "--table", tmp_path / "table.json", "--card", "--folder", folder)
    code, _, err = call(capsys, *arguments)
    assert (code, "has no card" in err) == (2, True), err


def test_a_prompt_that_no_encoding_holds_is_answered_with_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = call(capsys, "sample", "tiny", "--prompt", "mia has \ud800 apples", "--folder", folder)
    assert (code, err.count("\n")) == (2, 1)
    err.encode("utf-8")
    code, _, err = call(capsys, "sample", "tiny\udcff\x1b[31m", "--prompt", PROMPT, "--folder", folder)
    assert (code, err.count("\n"), "\x1b" in err) == (2, 1, False)
    err.encode("utf-8")


@pytest.mark.slow
def test_the_module_runs_as_a_command() -> None:
    command = [sys.executable, "-m", "blockviz", "sample"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_the_package_offers_nothing_else() -> None:
    assert callable(blockviz.load)
    with pytest.raises(AttributeError, match="no attribute 'generate'"):
        blockviz.generate  # noqa: B018
