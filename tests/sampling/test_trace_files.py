"""Trace lines and files: exact round trips, and one-sentence refusals of everything else."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blockviz.sampling import trace as trace_module
from blockviz.sampling import trace_reader, trace_values
from blockviz.sampling.trace import LineReader, LineWriter, Pass, Trace, TraceError, save_all
from tests.sampling import traces as make

EXAMPLES = Path(__file__).resolve().parents[2] / "assets" / "examples"


def lines() -> list[str]:
    return list(make.small_trace().to_lines())


def one_sentence(error: BaseException) -> bool:
    text = str(error)
    return text.endswith(".") and "\n" not in text and 10 < len(text) < 400


@settings(max_examples=60, deadline=None)
@given(make.traces())
def test_lines_round_trip_exactly(trace: Trace) -> None:
    text = "".join(trace.to_lines())
    again = Trace.from_lines(text.split("\n")[:-1])
    assert again == trace
    assert "".join(again.to_lines()) == text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15, deadline=None)
@given(make.traces())
@pytest.mark.parametrize("name", ["run.jsonl.gz", "run.jsonl"])
def test_files_round_trip_exactly(tmp_path: Path, name: str, trace: Trace) -> None:
    path = tmp_path / name
    trace.save(path)
    assert Trace.load(path) == trace
    assert [entry.name for entry in tmp_path.iterdir() if entry.suffix == ".part"] == []


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:
    make.small_trace().save(tmp_path / "a.jsonl.gz")
    make.small_trace().save(tmp_path / "b.jsonl.gz")
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_line_format() -> None:
    """What the page's script reads; changing it means a new format number."""
    head, start, propose, verify, renoise, commit, end = (json.loads(line) for line in lines())
    assert (head["blockviz"], head["run"], head["prompt_length"], head["length"], head["block_size"]) == (
        2,
        "00ff",
        2,
        6,
        4,
    )
    assert head["tokens"] == [1, 2]
    assert (head["model"]["x0_causal"], head["model"]["kv_bytes"]) == (True, 4)
    assert head["pieces"] == {"1": "<1>", "2": "<2>"}
    assert head["settings"]["corrector"] == "ar_nll"
    assert start["set"] == [0, 1, 1, 2, 2, 9, 3, 9, 4, 9, 5, 9]
    assert start["pieces"] == {"9": "▒"}
    assert not {"conf", "ent", "ar", "score", "top", "noise", "attn", "checks"} & set(start)
    assert propose == {
        "i": 1,
        "phase": "propose",
        "block": 0,
        "step": 0,
        "alpha": [0.001, 0.5005],
        "temp": 1.0,
        "nfe": [1, 0],
        "cached": 0,
        "clean": 0,
        "ms": 1.5,
        "win": [0, 4],
        "k": 0,
        "cut": None,
        "set": [2, 3, 3, 4],
        "state": "003311",
        "why": "1122",
        "conf": [10000, 10000, 5000, 7000],
        "ent": [0, 0, 1200, 600],
        "top": [[1, 1000], [2, 1000], [3, 500, 5, 200, 6, 100, 7, 100, 8, 50], [4, 700, 3, 300]],
        "checks": [[2, 4, "wrong", "1 + 1 = 3"]],
        "pieces": {"3": "<3>", "4": "<4>", "5": "<5>", "6": "<6>", "7": "<7>", "8": "<8>"},
    }
    assert (verify["set"], verify["ar"], "checks" in verify) == ([], [-100, -200, -3250, -500], False)
    assert (renoise["set"], renoise["score"], renoise["k"], renoise["cut"]) == (
        [2, 9],
        [None, None, 3250, 500],
        1,
        3.25,
    )
    assert renoise["checks"] == []
    assert commit["state"] == "007711"
    assert end == {
        "end": {"seconds": 0.25, "stopped": False, "finished": "canvas", "text": "e d", "passes": 5}
    }


def test_bytes_of_tokens_travel_with_their_pieces() -> None:
    raw = {1: b"\xe2\x80", 2: b"", 3: b" "}
    trace = Trace.collect(make.small_events(), make.piece, raw.get)
    assert trace.raw == raw
    head, _, propose = (json.loads(line) for line in list(trace.to_lines())[:3])
    assert head["bytes"] == {"1": "e280", "2": ""}
    assert propose["bytes"] == {"3": "20"}
    assert Trace.from_lines(trace.to_lines()) == trace
    assert not trace.same_content(make.small_trace())


def test_files_without_bytes_are_read() -> None:
    assert not any("bytes" in json.loads(line) for line in lines())
    assert make.small_trace().raw == {}
    assert Trace.from_lines(lines()) == make.small_trace()


@pytest.mark.parametrize(
    "bad", [[], {"one": "20"}, {"1": "2"}, {"1": "2G"}, {"1": "FF"}, {"1": 3}, {"1": "00" * 5000}]
)
def test_bytes_that_are_none_are_refused(bad: Any) -> None:
    broken = lines()
    broken[0] = json.dumps({**json.loads(broken[0]), "bytes": bad})
    with pytest.raises(TraceError, match="bytes") as caught:
        Trace.from_lines(broken)
    assert one_sentence(caught.value)


def test_every_line_is_ascii_and_complete_in_itself() -> None:
    events = make.small_events()
    events[0] = make.header(prompt="a\u2028b\x85c\ud800<script>\n")
    writer = LineWriter(lambda token: "\n\u2028</script>")
    reader = LineReader()
    for event in events:
        line = writer.line(event)
        assert line.isascii()
        assert line.index("\n") == len(line) - 1
        assert reader.read(line) == event


def outcome(text: list[str]) -> tuple[Trace | None, TraceError | None]:
    try:
        return Trace.from_lines(text), None
    except TraceError as error:
        return None, error


def test_a_live_stream_reads_line_by_line() -> None:
    reader = LineReader()
    seen = [reader.read(line) for line in lines()[:3]]
    assert isinstance(seen[-1], Pass)
    assert reader.end is None
    assert reader.pieces[4] == "<4>"


def test_cut_short_files_are_refused(tmp_path: Path) -> None:
    whole = lines()
    for count in range(1, len(whole)):
        with pytest.raises(TraceError, match="cut short"):
            Trace.from_lines(whole[:count])
    with pytest.raises(TraceError, match="is empty"):
        Trace.from_lines([])
    path = tmp_path / "run.jsonl.gz"
    make.small_trace().save(path)
    data = path.read_bytes()
    for keep in (2, 9, 40, len(data) - 1):
        path.write_bytes(data[:keep])
        with pytest.raises(TraceError) as caught:
            Trace.load(path)
        assert one_sentence(caught.value)


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    good = gzip.compress("".join(lines()).encode())
    flipped = bytearray(good)
    flipped[len(flipped) // 2] ^= 0xFF
    foreign = {
        "nothing": b"",
        "text": b"hello\n",
        "json": b'{"a": 1}\n',
        "list": b"[1, 2]\n",
        "number": b"1\n",
        "pickle": b"\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00\x8c\x05hello\x94.",
        "binary": bytes(range(256)),
        "not gzip": b"\x1f\x8bnope, not at all",
        "flipped": bytes(flipped),
        "deep": b"[" * 200_000 + b"\n",
        "digits": b'{"blockviz":' + b"9" * 10_000 + b"}\n",
        "nan": b'{"blockviz":NaN}\n',
    }
    for name, data in foreign.items():
        path.write_bytes(data)
        with pytest.raises(TraceError) as caught:
            Trace.load(path)
        assert one_sentence(caught.value), name


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Trace.load(tmp_path / "none.jsonl")


def test_other_formats_are_named() -> None:
    head = json.loads(lines()[0])
    with pytest.raises(TraceError, match="format 3, newer than format 2"):
        Trace.from_lines([json.dumps({**head, "blockviz": 3, "something new": 1})])
    with pytest.raises(TraceError, match="unknown format 0; this BlockViz reads formats 1 to 2"):
        Trace.from_lines([json.dumps({**head, "blockviz": 0})])


def of_format_1(text: list[str]) -> list[str]:
    """The lines as format 1 had them, settings of later versions left out."""
    head = json.loads(text[0])
    for name in ("x0_causal", "kv_bytes"):
        del head["model"][name]
    for name in ("record_attention", "attention_layer"):
        del head["settings"][name]
    return [json.dumps({**head, "blockviz": 1}), *text[1:]]


def test_format_1_is_read_with_the_values_of_its_time_and_written_as_format_2() -> None:
    trace = Trace.from_lines(of_format_1(lines()))
    assert trace == make.small_trace()
    assert (trace.header.model.x0_causal, trace.header.model.kv_bytes) == (True, 4)
    assert json.loads(next(trace.to_lines()))["blockviz"] == 2


def test_format_1_knows_nothing_of_format_2() -> None:
    head = json.loads(of_format_1(lines())[0])
    with pytest.raises(TraceError, match='unknown entry "x0_causal"'):
        Trace.from_lines([json.dumps({**head, "model": {**head["model"], "x0_causal": True}})])
    body = {**json.loads(lines()[1]), "attn": ""}
    with pytest.raises(TraceError, match='unknown entry "attn"'):
        Trace.from_lines([json.dumps(head), json.dumps(body)])


@pytest.mark.parametrize("name", ["doubts-mend", "where-it-looks", "two-people-uniform"])
def test_the_bundled_runs_open(name: str, tmp_path: Path) -> None:
    trace = Trace.load(EXAMPLES / f"{name}.jsonl.gz")
    trace.save(tmp_path / "again.jsonl.gz")
    assert Trace.load(tmp_path / "again.jsonl.gz") == trace


def with_attention() -> list[str]:
    """The small trace with the weights of two heads in its first network call."""
    events = make.small_events()
    settings = replace(make.header().settings, record_attention="heads")
    events[0] = make.header(settings=settings)
    codes = np.arange(2 * 4 * 4).reshape(2, 4, 4)
    events[2] = replace(events[2], attention=codes)  # type: ignore[type-var]
    return list(Trace.collect(events, make.piece).to_lines())


def test_attention_weights_are_bytes_in_base64() -> None:
    text = with_attention()
    assert json.loads(text[2])["attn"] == "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    assert all("attn" not in json.loads(line) for line in (*text[:2], *text[3:]))
    codes = Trace.from_lines(text).passes[1].attention
    assert codes is not None
    assert codes.tolist() == np.arange(32).reshape(2, 4, 4).tolist()
    assert not codes.flags.writeable


@pytest.mark.parametrize(
    "attn", ["", "AAECAw==", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", "!" * 44, "é" * 44, 5, None, []]
)
def test_wrong_attention_weights_are_refused(attn: object) -> None:
    text = with_attention()
    text[2] = json.dumps({**json.loads(text[2]), "attn": attn})
    with pytest.raises(TraceError, match=r'^Line 3 .*"attn" must be 32 bytes in base64') as caught:
        Trace.from_lines(text)
    assert one_sentence(caught.value)


def test_attention_weights_that_the_settings_do_not_record_are_refused() -> None:
    text = lines()
    text[2] = json.dumps({**json.loads(text[2]), "attn": "AAAA"})
    with pytest.raises(TraceError, match="the settings record no attention"):
        Trace.from_lines(text)


def test_attention_weights_are_bounded_while_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_values, "MAX_ATTENTION_CALL", 31)
    with pytest.raises(TraceError, match="of one pass are larger than 31 bytes"):
        Trace.from_lines(with_attention())
    monkeypatch.setattr(trace_values, "MAX_ATTENTION_CALL", 32)
    monkeypatch.setattr(trace_reader, "MAX_ATTENTION_RUN", 31)
    with pytest.raises(TraceError, match="larger than 31 bytes"):
        Trace.from_lines(with_attention())


def test_size_is_bounded_while_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.gz"
    line = b" " * 100_000
    path.write_bytes(gzip.compress(line * 200))  # 20 MB of blanks in 20 KB, and no newline
    monkeypatch.setattr(trace_module, "MAX_LINE_BYTES", 1_000_000)
    with pytest.raises(TraceError, match="a line of more than 1000000 bytes"):
        Trace.load(path)
    text = "".join(lines()).encode()
    path.write_bytes(gzip.compress(text))
    monkeypatch.setattr(trace_module, "MAX_BYTES", len(text) - 1)
    with pytest.raises(TraceError, match=f"more than {len(text) - 1} bytes"):
        Trace.load(path)
    monkeypatch.setattr(trace_module, "MAX_BYTES", 10)
    with pytest.raises(TraceError, match="a trace file may have 10"):
        Trace.load(path)
    with pytest.raises(TraceError, match="a trace file may have 10"):
        make.small_trace().save(tmp_path / "new.gz")
    assert not (tmp_path / "new.gz").exists()


def test_passes_and_cells_are_bounded_while_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_reader, "MAX_CELLS", 3 * 6)
    with pytest.raises(TraceError, match=r"^Line 5 of the trace cannot be used: .* larger than 18 cells"):
        Trace.from_lines(lines())
    monkeypatch.setattr(trace_reader, "MAX_PASSES", 2)
    with pytest.raises(TraceError, match=r"^Line 4 "):
        Trace.from_lines(lines())


def test_what_could_not_be_read_again_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make.small_trace()
    cells = len(whole.passes) * whole.header.length
    for name, enough in (("MAX_CELLS", cells), ("MAX_PASSES", len(whole.passes))):
        with monkeypatch.context() as patch:
            for module in (trace_module, trace_reader):
                patch.setattr(module, name, enough)
            whole.save(tmp_path / "run.jsonl")
            assert Trace.load(tmp_path / "run.jsonl") == whole
            patch.setattr(trace_module, name, enough - 1)
            with pytest.raises(
                TraceError, match=f"{len(whole.passes)} passes on {whole.header.length} positions"
            ):
                whole.save(tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()


def edited(index: int, change: Callable[[dict[str, Any]], object]) -> list[str]:
    whole = lines()
    body = json.loads(whole[index])
    change(body)
    whole[index] = json.dumps(body)
    return whole


HEADER, START, PROPOSE, RENOISE, END = 0, 1, 2, 4, 6


@pytest.mark.parametrize(
    ("index", "key", "value", "reason"),
    [
        (HEADER, "length", 0, "length"),
        (HEADER, "length", 10**9, "length"),
        (HEADER, "length", True, "length"),
        (HEADER, "block_size", 0, "block_size"),
        (HEADER, "prompt_length", 3, "prompt_length"),
        (HEADER, "tokens", [1] * 7, "tokens"),
        (HEADER, "tokens", [1, 77], "token 77 is used"),
        (HEADER, "tokens", "12", "tokens"),
        (HEADER, "settings", [], "settings"),
        (HEADER, "settings", {"stepz": 1}, "stepz cannot be 1"),
        (HEADER, "settings", {"steps": 0}, "steps cannot be 0"),
        (HEADER, "model", None, "model"),
        (HEADER, "prompt", 5, "prompt"),
        (HEADER, "versions", {"torch": 2}, "versions"),
        (HEADER, "surprise", 1, 'unknown entry "surprise"'),
        (HEADER, "pieces", {"one": "a"}, "pieces"),
        (HEADER, "pieces", {"1": ""}, "pieces"),
        (HEADER, "pieces", {"1": "a" * 600, "2": "b"}, "pieces"),
        (HEADER, "pieces", {"²": "a"}, "pieces"),
        (START, "set", [0, 1], "every position once"),
        (START, "set", [0, 1, 0, 2, 2, 9, 3, 9, 4, 9, 5, 9], "every position once"),
        (PROPOSE, "set", [2], "pairs"),
        (PROPOSE, "set", [6, 1], "positions below 6"),
        (PROPOSE, "set", [-1, 1], "set"),
        (PROPOSE, "set", [2, 3.0], "set"),
        (PROPOSE, "i", 7, "the number of this pass"),
        (PROPOSE, "phase", "guess", "one of start, denoise"),
        (PROPOSE, "phase", ["start"], "one of start, denoise"),
        (PROPOSE, "win", [4, 0], "win"),
        (PROPOSE, "win", [0, 7], "win"),
        (PROPOSE, "win", [0, 4, 4], "win"),
        (PROPOSE, "state", "00331", "6 digits"),
        (PROPOSE, "state", "003319", "digits from 0 to 8"),
        (PROPOSE, "state", "00331-", "digits from 0 to 8"),
        (PROPOSE, "state", "00331²", "6 digits"),
        (PROPOSE, "why", "11226", "4 digits"),
        (PROPOSE, "why", "1127", "digits from 0 to 6"),
        (PROPOSE, "conf", [0, 0, 0, 10001], "conf"),
        (PROPOSE, "conf", [0, 0, 0], "conf"),
        (PROPOSE, "conf", [None, 0, 0], "conf"),
        (PROPOSE, "conf", {"0": 1}, "conf"),
        (PROPOSE, "ent", [0, 0, 0, "1"], "ent"),
        (PROPOSE, "ar", [0, 0, 0, 1], "ar"),
        (PROPOSE, "score", [0, 0, 0, 10**30], "score"),
        (PROPOSE, "top", [[1, 1000]], "top"),
        (PROPOSE, "top", [[1], [], [], []], "top"),
        (PROPOSE, "top", [[1, 1001], [], [], []], "top"),
        (PROPOSE, "top", [[1, 1] * 6, [], [], []], "top"),
        (PROPOSE, "top", [[55, 1], [], [], []], "token 55 is used"),
        (PROPOSE, "noise", [1, 2, 3], "noise"),
        (PROPOSE, "noise", [1, 2, 3, 55], "token 55 is used"),
        (PROPOSE, "checks", [[2, 4, "maybe", ""]], "one of right, wrong"),
        (PROPOSE, "checks", [[4, 2, "right", ""]], "stop"),
        (PROPOSE, "checks", [[2, 4]], "checks"),
        (PROPOSE, "alpha", [0.1, 1.5], "alpha"),
        (PROPOSE, "alpha", 0.5, "alpha"),
        (PROPOSE, "nfe", [-1, 0], "nfe"),
        (PROPOSE, "ms", "fast", "ms"),
        (PROPOSE, "ms", -1, "ms"),
        (PROPOSE, "surprise", 1, 'unknown entry "surprise"'),
        (PROPOSE, "end", {}, 'unknown entry "'),
        (RENOISE, "k", 5, "k"),
        (RENOISE, "cut", 100, "cut"),
        (RENOISE, "nfe", [0, 1], "counts that never fall"),
        (END, "end", {}, "is missing"),
        (END, "end", [], "end"),
        (END, "more", 1, 'unknown entry "more"'),
    ],
)
def test_a_line_with_a_wrong_entry_is_refused(index: int, key: str, value: object, reason: str) -> None:
    with pytest.raises(TraceError) as caught:
        Trace.from_lines(edited(index, lambda body: body.update({key: value})))
    assert reason in str(caught.value)
    assert f"Line {index + 1} of the trace" in str(caught.value)
    assert one_sentence(caught.value)


@pytest.mark.parametrize("index", [HEADER, START, PROPOSE, END])
def test_every_needed_entry_is_needed(index: int) -> None:
    optional = {"conf", "ent", "top", "checks", "pieces"}
    for key in set(json.loads(lines()[index])) - optional:
        with pytest.raises(TraceError):
            Trace.from_lines(edited(index, lambda body, key=key: body.pop(key)))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("key", "value"), [("passes", 4), ("stopped", 0), ("finished", "bored"), ("seconds", -1)]
)
def test_a_wrong_end_is_refused(key: str, value: object) -> None:
    with pytest.raises(TraceError, match=key):
        Trace.from_lines(edited(END, lambda body: body["end"].update({key: value})))


def test_lines_out_of_order_are_refused() -> None:
    whole = lines()
    with pytest.raises(TraceError, match="has already ended"):
        Trace.from_lines([*whole, whole[2]])
    with pytest.raises(TraceError, match="not the header"):
        Trace.from_lines(whole[1:])
    with pytest.raises(TraceError, match="ends before its first pass"):
        Trace.from_lines([whole[0], whole[-1]])
    with pytest.raises(TraceError, match="the number of this pass"):
        Trace.from_lines([whole[0], whole[2], whole[1], *whole[3:]])
    with pytest.raises(TraceError):
        Trace.from_lines([*whole[:2], "", *whole[2:]])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 6), st.data())
def test_any_edit_gives_a_trace_or_a_reason(index: int, data: st.DataObject) -> None:
    """Whatever stands in one entry, reading ends in a trace that writes and reads again, or in a TraceError."""
    key = data.draw(st.sampled_from(sorted(json.loads(lines()[index]))))
    value = data.draw(JSON)
    trace, refusal = outcome(edited(index, lambda body: body.update({key: value})))
    if trace is None:
        assert refusal is not None
        assert one_sentence(refusal)
    else:
        assert Trace.from_lines(trace.to_lines()) == trace


def test_a_file_of_several_runs_is_the_files_one_after_another(tmp_path: Path) -> None:
    runs = [make.small_trace(), make.small_trace()]
    for number, trace in enumerate(runs):
        trace.save(tmp_path / f"{number}.jsonl.gz")
    save_all(runs, tmp_path / "both.jsonl.gz")
    joined = b"".join((tmp_path / f"{number}.jsonl.gz").read_bytes() for number in range(2))
    (tmp_path / "cat.jsonl.gz").write_bytes(joined)
    assert Trace.load_all(tmp_path / "both.jsonl.gz") == Trace.load_all(tmp_path / "cat.jsonl.gz") == runs
    assert Trace.load_all(tmp_path / "0.jsonl.gz") == runs[:1]
    assert Trace.all_from_lines([line for trace in runs for line in trace.to_lines()]) == runs
    with pytest.raises(TraceError, match="has already ended"):
        Trace.load(tmp_path / "both.jsonl.gz")


def test_a_file_of_several_runs_is_read_as_strictly_as_one(tmp_path: Path) -> None:
    one = lines()
    for following, says in (
        (["{}"], "Run 2 of the file: Line 1 .* not the header"),
        (one[:-1], "cut short"),
        (one + one + one + one, "already ended"),
        ([""], "Run 2"),
    ):
        with pytest.raises(TraceError, match=says) as caught:
            Trace.all_from_lines(one + following)
        assert one_sentence(caught.value)
    for count in (0, 5):
        with pytest.raises(TraceError, match="1 to 4 runs"):
            save_all([make.small_trace()] * count, tmp_path / "x.jsonl.gz")
    packed = io.BytesIO(gzip.compress("".join(one).encode()))
    with pytest.raises(TraceError, match="more than 1000 bytes"):
        Trace.read_all(packed, most_bytes=1000)
    with pytest.raises(TraceError, match="has 3000 bytes; a trace file may have 1000"):
        Trace.read_all(io.BytesIO(b"x" * 3000), most_bytes=1000)
