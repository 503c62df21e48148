"""Exports as files, and the command that writes them."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from blockviz.export import files, plots
from blockviz.export.files import KINDS, Options, write
from blockviz.export.words import ExportError
from blockviz.sampling import trace as traces
from blockviz.sampling.trace import Trace
from tests.browser.fake_runs import fake_run
from tests.commands import call

ROOT = Path(__file__).resolve().parents[2]
TRACE = fake_run("masked", length=32, steps=2, prompt_length=10)
QUICK = ("html", "gif", "csv", "json")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "My run.jsonl.gz"
    TRACE.save(path)
    return path


def test_the_command_writes_what_it_is_asked_for(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    code, printed, _ = call(
        capsys, "export", run, *(f"--{kind}" for kind in QUICK), "--out", out, "--no-views"
    )
    assert code == 0
    paths = [Path(line) for line in printed.splitlines()]
    assert [path.name for path in paths] == [
        "My run.html",
        "My run.gif",
        "My run-passes.csv",
        "My run-positions.csv",
        "My run.json",
    ]
    assert set(paths) == set(out.iterdir())
    assert json.loads(paths[-1].read_text(encoding="utf-8"))["run"] == TRACE.header.run
    assert paths[0].read_text(encoding="utf-8").startswith("<!doctype html>")
    with Image.open(paths[1]) as gif:
        assert gif.n_frames == len(TRACE.passes)


@pytest.mark.parametrize("linked", [False, True])
def test_a_run_is_never_replaced_by_its_own_export(
    linked: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.json"
    TRACE.save(path)
    out = tmp_path
    if linked:
        out = tmp_path / "out"
        out.symlink_to(tmp_path)
    before = path.read_bytes()
    code, _, error = call(capsys, "export", path, "--json", "--csv", "--out", out)
    assert code == 2
    assert "is a run that is to be exported" in error
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("*.csv"))


def test_several_runs_make_one_page_and_files_of_their_own(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, printed, _ = call(capsys, "export", run, run, "--html", "--json", "--no-views", "--out", tmp_path)
    assert code == 0
    assert [Path(line).name for line in printed.splitlines()] == [
        "My run-My run-2.html",
        "My run.json",
        "My run-2.json",
    ]
    code, _, err = call(capsys, "export", *([run] * 5), "--html", "--out", tmp_path)
    assert (code, "1 to 4 runs" in err) == (2, True)


def test_a_file_of_several_runs_becomes_one_film(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = tmp_path / "both.jsonl.gz"
    both.write_bytes(run.read_bytes() * 2)
    out = tmp_path / "out"
    out.mkdir()
    flags = ("--gif", "--beside", "--align", "nfe", "--frames", "3", "--json")
    code, printed, _ = call(capsys, "export", both, *flags, "--out", out)
    assert code == 0
    names = [Path(line).name for line in printed.splitlines()]
    assert sorted(names) == ["both-2.json", "both-both-2.gif", "both.json"]
    with Image.open(out / "both-both-2.gif") as gif:
        assert (gif.n_frames, gif.size[0]) == (3, 1280)
    code, _, err = call(capsys, "export", *[both] * 3, "--mp4", "--beside", "--out", out)
    assert (code, "2 to 4 runs" in err) == (2, True)


def _broken(folder: Path) -> dict[str, tuple[Path, str]]:
    lines = list(TRACE.to_lines())
    newer = json.loads(lines[0]) | {"blockviz": traces.FORMAT + 1}
    contents = {
        "broken": ("".join(lines[:3]) + "{oops\n", "not JSON"),
        "foreign": ('{"cells": []}\n', "not the header of a BlockViz trace"),
        "newer": (json.dumps(newer) + "\n", "newer than format"),
        "short": ("".join(lines[:-1]), "cut short"),
        "empty": ("", "empty"),
    }
    found = {}
    for name, (text, reason) in contents.items():
        path = folder / f"{name}.jsonl"
        path.write_text(text, encoding="utf-8")
        found[name] = (path, reason)
    damaged = folder / "damaged.jsonl.gz"
    damaged.write_bytes(gzip.compress("".join(lines).encode())[:200])
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    return found | {
        "damaged": (damaged, "compressed data"),
        "picture": (folder / "picture.png", "not text"),
        "missing": (folder / "nothing.jsonl", "No such file"),
        "folder": (folder, "directory"),
    }


def test_bad_files_are_refused_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name, (path, reason) in _broken(tmp_path).items():
        code, printed, err = call(capsys, "export", path, "--json", "--out", out)
        assert (code, printed) == (2, ""), name
        assert reason.lower() in err.lower(), name
        assert path.name in err, name
        assert err.count("\n") == 1, name
    assert list(out.iterdir()) == []


def test_a_huge_file_is_refused(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(traces, "MAX_BYTES", 1000)
    code, _, err = call(capsys, "export", run, "--json", "--out", run.parent)
    assert (code, "may have" in err or "more than 1000 bytes" in err) == (2, True), err


BAD = {
    "nothing asked": ((), "--html"),
    "no folder": (("--json", "--out", "nowhere"), "--out cannot be 'nowhere'"),
    "theme": (("--gif", "--theme", "pink"), "pink"),
    "frames": (("--gif", "--frames", "1"), "--frames cannot be '1'"),
    "frames, no number": (("--gif", "--frames", "many"), "many"),
    "rate": (("--gif", "--rate", "nan"), "--rate cannot be 'nan'"),
    "pass": (("--png", "--pass", "999"), "pass cannot be 999"),
    "pass of a table": (("--csv", "--pass", "3"), "--pass does nothing with --csv"),
    "pass 0 of a table": (("--csv", "--pass", "0"), "--png or --svg"),
    "views of a table": (
        ("--csv", "--no-views"),
        "--no-views does nothing with --csv: allowed is only together with --html",
    ),
    "theme of a page": (("--html", "--theme", "light"), "--theme does nothing with --html"),
    "rate of pictures": (("--png", "--json", "--rate", "3"), "--rate does nothing with --json, --png"),
    "frames of JSON": (("--json", "--frames", "9"), "--frames does nothing"),
    "pass, negative": (("--png", "--pass", "-1"), "--pass cannot be '-1'"),
    "empty folder": (("--json", "--out", ""), "--out cannot be ''"),
    "unknown": (("--pdf",), "--pdf"),
    "beside of tables": (("--csv", "--beside"), "--beside does nothing with --csv"),
    "alignment": (("--gif", "--align", "moon"), "moon"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_flags_are_one_sentence(name: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags, reason = BAD[name]
    code, out, err = call(capsys, "export", run, *flags, *(() if "--out" in flags else ("--out", run.parent)))
    assert (code, out) == (2, "")
    assert reason.lower() in err.lower()
    assert err.count("\n") == 1
    assert list(run.parent.iterdir()) == [run]


@pytest.mark.parametrize("kind", ["html", "gif", "csv", "json"])
def test_a_pipe_in_the_place_of_a_file_is_refused_before_any_work(
    kind: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    pipe = out / ("My run-positions.csv" if kind == "csv" else f"My run.{kind}")
    os.mkfifo(pipe)
    code, printed, err = call(capsys, "export", run, "--csv", f"--{kind}", "--out", out)
    assert (code, printed, err.count("\n")) == (2, "", 1)
    assert "no regular file" in err
    assert pipe.is_fifo()
    assert list(out.iterdir()) == [pipe]


def test_help_says_what_needs_a_browser(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "export", "--help")
    words = " ".join(out.split())
    assert code == 0
    assert all(f"--{kind}" in words for kind in KINDS)
    assert "needs a Chrome" in words
    assert "download button" in words


def test_a_failed_export_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "run.json"
    old.write_text("old")

    def fail(trace: Trace) -> str:
        raise ExportError("no")

    monkeypatch.setattr(files.tables, "json_text", fail)
    with pytest.raises(ExportError):
        write([TRACE], ["run"], ["json"], tmp_path)
    assert old.read_text() == "old"
    assert list(tmp_path.iterdir()) == [old]


def test_the_canvas_is_a_picture_without_a_browser(tmp_path: Path) -> None:
    path = files.write_canvas(TRACE, tmp_path / "canvas.png", Options(number=2))
    with Image.open(path) as image:
        assert image.size[0] == 1280
        assert "toy-masked" in image.text["blockviz.model"]


def test_without_a_chrome_charts_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("kaleido")
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "no-chrome"))
    with pytest.raises(ExportError, match="download button"):
        write([TRACE], ["run"], ["svg"], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_every_chart_has_the_footer() -> None:
    for name, figure in plots.figures(TRACE, 3).items():
        foot = figure["layout"]["title"]["text"]
        assert "toy-masked" in foot, name
        assert "seed 0" in foot, name
        assert "block size 16" in foot, name


@pytest.mark.browser
def test_charts_are_drawn_by_kaleido(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "CHROMIUM" in os.environ:  # the one that `make test` found
        monkeypatch.setenv("BROWSER_PATH", os.environ["CHROMIUM"])
    written = write([TRACE], ["run"], ["png", "svg"], tmp_path, Options(number=3))
    names = {path.name for path in written}
    assert {"run-canvas.png", "run-fill.png", "run-fill.svg", "run-attention.svg"} <= names
    for path in written:
        if path.suffix == ".png":
            with Image.open(path) as image:
                image.load()
                assert min(image.size) > 300
        else:
            assert "toy-masked" in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_exporting_loads_no_torch(run: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom blockviz.export.files import write\n"
        "from blockviz.sampling.trace import Trace\n"
        f"write([Trace.load({str(run)!r})], ['run'], ['html', 'json', 'csv', 'gif'], Path({str(tmp_path)!r}))\n"
        "print(sorted({'torch', 'gradio'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
