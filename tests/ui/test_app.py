from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

import app

ROOT = Path(__file__).resolve().parents[2]


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


def test_help_names_every_flag_and_loads_nothing_heavy() -> None:
    code = (
        "import sys, app\n"
        "try:\n    app.main(['--help'])\n"
        "except SystemExit as stop:\n    print(stop.code, sorted({'gradio', 'torch', 'numpy'} & sys.modules.keys()))"
    )
    result = run(code)
    assert result.stdout.strip().endswith("0 []"), result.stderr
    assert all(
        flag in result.stdout
        for flag in ("--host", "--port", "--device", "--models", "--model ", "--process")
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["--port", "x"],
        ["--port", "0"],
        ["--port", "70000"],
        ["--port", "\u00b2"],
        ["--port", "\u0661\u0662"],
        ["--port", "9" * 5000],
        ["--port", "-1"],
        ["--host", ""],
        ["--models", ""],
        ["--models", "a\0b"],
        ["--device", "tpu"],
        ["--process", "gaussian"],
        ["--block-sizes", "16,1"],
        ["--block-weights", "0.5,0.6"],
        ["--models", "/nowhere"],
        ["--what"],
    ],
)
def test_a_bad_flag_ends_with_2_and_its_reason(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        app.read_flags(arguments)
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert arguments[0] in err
    assert err.count("\n") == 1
    assert len(err) < 400


def test_a_taken_port_is_one_sentence_without_the_inside(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert app.main(["--port", str(port)]) == 2
    err = capsys.readouterr().err
    assert f"--port cannot be {port}: another program listens there" in err
    assert err.count("\n") == 1
    assert "GRADIO" not in err
    assert "launch" not in err
    assert app.refused_address("127.0.0.1", port) is None


@pytest.mark.parametrize("host", ["256.0.0.1.2", "x" * 300, "192.0.2.1"])
def test_an_address_that_is_not_here_is_refused(host: str) -> None:
    refusal = app.refused_address(host, 7860)
    assert refusal is not None
    assert refusal.startswith("--host cannot be ")
    assert len(refusal) < 300


def test_flags_have_defaults_and_a_space_can_set_host_and_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADIO_SERVER_NAME", raising=False)
    monkeypatch.delenv("GRADIO_SERVER_PORT", raising=False)
    flags = app.read_flags([])
    assert (flags.host, flags.port, flags.device) == ("127.0.0.1", 7860, "auto")
    monkeypatch.setenv("GRADIO_SERVER_NAME", "0.0.0.0")
    monkeypatch.setenv("GRADIO_SERVER_PORT", "7861")
    flags = app.read_flags([])
    assert (flags.host, flags.port) == ("0.0.0.0", 7861)


@pytest.mark.slow
def test_the_page_is_built_without_torch(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom blockviz.evaluation.tasks import PAGE_PROMPTS\nfrom blockviz.ui.page import build\n"
        f"build({str(tmp_path)!r}, 'cpu', PAGE_PROMPTS)\nprint('torch' in sys.modules)"
    )
    result = run(code)
    assert result.stdout.strip().endswith("False"), result.stderr


def test_only_the_named_endpoints_are_public(tmp_path: Path) -> None:
    from blockviz.evaluation.tasks import PAGE_PROMPTS
    from blockviz.ui.page import build

    page = build(tmp_path, "cpu", PAGE_PROMPTS)
    named = page.demo.get_api_info()
    assert set(named["named_endpoints"]) == {
        "/models",
        "/generate",
        "/generate_stream",
        "/compare",
        "/fork",
        "/export",
    }
    assert named["unnamed_endpoints"] == {}
