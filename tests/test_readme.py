"""What the README promises: its front matter fits the pins, its tables are current, its example works."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bench.readme import fill
from blockviz.evaluation.tables import settings_markdown
from blockviz.sampling.trace import Trace
from tests.browser.conftest import serve
from tests.commands import call

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def front_matter() -> dict[str, str]:
    block = README.split("---\n")[1]
    return {key: value.strip(' "') for key, value in (line.split(":", 1) for line in block.splitlines())}


def test_the_space_runs_what_the_requirements_pin() -> None:
    matter = front_matter()
    pins = dict(
        re.findall(r"^(\S+)==(\S+)$", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert matter["sdk"] == "gradio"
    assert matter["sdk_version"] == pins["gradio"]
    assert (ROOT / matter["app_file"]).is_file()
    assert len(matter["short_description"]) <= 60, "a Space refuses longer ones"


def test_the_settings_table_is_current() -> None:
    assert fill(README, "settings", settings_markdown()) == README, "run 'make readme'"


def test_every_verb_and_file_it_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    verbs = set(re.findall(r"\bmake ([a-z-]+)", README))
    assert {"run", "test", "bench"} <= verbs
    assert {verb for verb in verbs if f"\n{verb}:" not in makefile} == set()
    linked = re.findall(r"\]\(([^)#:]+)\)", README)
    assert [name for name in linked if not (ROOT / name).exists()] == []


@pytest.mark.slow
def test_the_example_for_a_running_page_works(tmp_path: Path) -> None:
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "Client(" in block]
    with serve(ROOT / "checkpoints", tmp_path / "app.log") as address:
        text = code.replace("http://127.0.0.1:7860/", address)
        command = [sys.executable, "-c", f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{text}"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "math-masked masked 128" in done.stdout
    assert re.search(r"#### \d+\n", done.stdout), done.stdout
    assert "more lines of the trace" in done.stdout
    (film,) = tmp_path.glob("*.gif")
    assert film.read_bytes().startswith(b"GIF89a")


@pytest.mark.slow
def test_the_python_example_works(tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code is not None
    command = [sys.executable, "-c", f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{code[1]}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"#### \d+ \d+ \d+$", done.stdout.strip()), done.stdout
    assert (tmp_path / "run.jsonl.gz").stat().st_size > 0


def command_line(verb: str) -> list[str]:
    """The arguments of README's first `python -m blockviz VERB ...`, over its continued lines."""
    (found,) = re.findall(rf"^python -m blockviz ({verb} (?:.*\\\n)*.*)$", README, re.MULTILINE)[:1]
    return shlex.split(found.replace("\\\n", " "), comments=True)


def test_the_run_it_samples_can_be_forked_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for verb in ("sample", "fork"):
        code, _, err = call(capsys, *command_line(verb), "--device", "cpu")
        assert code == 0, err
    assert Trace.load(tmp_path / "fork.jsonl.gz").header.fork is not None
