"""Calling the command line inside the test's own process."""

from __future__ import annotations

import pytest

from blockviz.__main__ import main


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `python -m blockviz ARGUMENTS`."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    out, err = capsys.readouterr()
    return code, out, err
