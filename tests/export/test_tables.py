from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from blockviz.export import tables
from blockviz.export.words import ExportError
from blockviz.sampling.trace import REASONS, STATES, Trace
from tests.browser.fake_runs import fake_run

TRACE = fake_run("uniform", length=48)


def hostile() -> Trace:
    """A run whose pieces are what breaks files: quotes, separators, line ends, lone surrogates."""
    pieces = dict(TRACE.pieces)
    for token, piece in zip(list(pieces), ['"', ",", "a\nb", "\ud800", "字", "\x00", "=1+1"], strict=False):
        pieces[token] = piece
    return replace(TRACE, pieces=pieces)


def test_csv_holds_both_tables(tmp_path: Path) -> None:
    for rows, frame in tables.tables(TRACE).items():
        path = tmp_path / f"{rows}.csv"
        tables.write_csv(frame, path)
        read = pd.read_csv(path, keep_default_na=False, na_values=[""])
        assert list(read.columns) == list(frame.columns)
        assert len(read) == len(frame)
    assert read["piece"].tolist() == frame["piece"].tolist()
    assert read["state"].tolist() == [STATES[code] for code in TRACE.states.ravel()]
    np.testing.assert_allclose(read["confidence"], TRACE.confidence.ravel(), atol=6e-5)
    assert read["confidence"].dropna().map(lambda value: len(f"{value!r}") <= 6).all(), "no digits of float32"


def test_parquet_holds_the_same_and_says_where_it_comes_from(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for rows, frame in tables.tables(TRACE).items():
        path = tmp_path / f"{rows}.parquet"
        tables.write_parquet(frame, path, TRACE)
        read = pd.read_parquet(path)
        assert list(read.columns) == list(frame.columns)
        for name in frame:
            assert read[name].astype(object).where(read[name].notna(), None).tolist() == (
                frame[name].astype(object).where(frame[name].notna(), None).tolist()
            ), name
        facts = parquet.read_schema(path).metadata
        assert b"toy-uniform" in facts[b"blockviz.model"]
        assert b"block size 16" in facts[b"blockviz.settings"]


def test_odd_text_gets_into_every_table(tmp_path: Path) -> None:
    trace = hostile()
    frame = tables.positions_table(trace)
    tables.write_csv(frame, tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        assert len(pd.read_csv(file, keep_default_na=False, encoding_errors="strict")) == len(frame)
    pytest.importorskip("pyarrow")
    tables.write_parquet(frame, tmp_path / "t.parquet", trace)
    assert "\\ud800" in set(pd.read_parquet(tmp_path / "t.parquet")["piece"])
    text = tables.json_text(trace)
    text.encode("utf-8")
    assert json.loads(text)["pieces"] == {str(token): piece for token, piece in trace.pieces.items()}


@pytest.mark.parametrize("process", ["masked", "uniform"])
def test_the_json_document_holds_the_whole_run(process: str) -> None:
    trace = fake_run(process, length=48)
    body = json.loads(tables.json_text(trace))
    assert body["settings"] == trace.header.settings.to_dict()
    assert body["model"] == vars(trace.header.model)
    assert body["end"] == vars(trace.end)
    assert len(body["passes"]) == len(trace.passes)
    for number, (told, entry) in enumerate(zip(body["passes"], trace.passes, strict=True)):
        assert (told["pass"], told["phase"], told["step"]) == (number, entry.phase, entry.step)
        assert told["tokens"] == entry.tokens.tolist()
        assert told["states"] == [STATES[code] for code in entry.states]
        window = told["window"]
        assert window["reasons"] == [REASONS[code] for code in entry.reasons]
        for name in ("confidence", "entropy", "ar_logprob", "score"):
            values = np.array([np.nan if value is None else value for value in window[name]], np.float32)
            np.testing.assert_array_equal(values, getattr(entry, name), err_msg=name)
        for row, ids, probabilities in zip(window["candidates"], entry.top_ids, entry.top_probs, strict=True):
            assert [token for token, _ in row] == ids[ids >= 0].tolist()
            np.testing.assert_array_equal(np.float32([p for _, p in row]), probabilities[ids >= 0])
        assert told["checks"] == [vars(check) for check in entry.checks]
    assert body["bytes_hex"] == {str(token): content.hex() for token, content in trace.raw.items()}
    fields = set(vars(trace.passes[0])) - {"alpha_t", "alpha_s", "nfe_denoise", "nfe_verify", "start", "stop"}
    names = {"ms": "milliseconds", "k": "renoised", "top_ids": "candidates", "top_probs": "candidates"}
    said = set(body["passes"][0]) | set(body["passes"][0]["window"])
    assert {names.get(field, field) for field in fields} <= said, "a field of Pass is not in the document"


def test_attention_weights_are_in_the_document() -> None:
    codes = np.arange(2 * 4 * 8, dtype=np.uint8).reshape(2, 4, 8)
    entry = replace(TRACE.passes[-1])
    assert tables._attention(entry) is None
    assert tables._attention(_With(codes))["shape"] == [2, 4, 8]  # type: ignore[arg-type, index]


class _With:
    def __init__(self, attention: np.ndarray) -> None:
        self.attention = attention


def test_it_can_be_read_by_people() -> None:
    lines = tables.json_text(TRACE).splitlines()
    assert any(line.strip().startswith('"tokens": [') and line.endswith("],") for line in lines)
    assert len(lines) < 40 * len(TRACE.passes) + 200


def test_a_table_that_would_fill_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_ROWS", 100)
    with pytest.raises(ExportError, match="it may have 100"):
        tables.positions_table(TRACE)
