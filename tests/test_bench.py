"""The benchmark's own parts: what it compares with, its statistics, and the place of its table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from bench.models import random_model, small_config
from bench.network import head_of, one_pass, products, weights
from bench.readme import bench_markdown, fill, table
from bench.results import Result, write
from bench.timing import percentile, ratio


@pytest.mark.parametrize(("cached", "clean"), [(0, 0), (32, 0), (32, 16)])
def test_the_bare_products_are_those_of_the_pass(cached: int, clean: int) -> None:
    model = random_model(small_config(128), "small")
    config, shape = model.config, (clean + 16, cached + clean + 16, 16)
    with torch.inference_mode():
        work = one_pass(model, cached, clean)
        # Only the plain implementation of attention is counted, product by product.
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as network:
            work()
        with FlopCounterMode(display=False) as bare:
            products(config, weights(config), head_of(config), *shape)()
        with FlopCounterMode(display=False) as many:
            products(config, weights(config), head_of(config), *shape, rows=3)()
    assert network.get_total_flops() == bare.get_total_flops() > 0
    assert many.get_total_flops() == 3 * bare.get_total_flops()


def test_ratio_leaves_the_first_round_out() -> None:
    calls: list[str] = []
    value, ours, theirs = ratio(lambda: calls.append("ours"), lambda: calls.append("theirs"), 3, calls=2)
    assert calls == ["ours", "ours", "theirs", "theirs"] * 4
    assert min(value, ours, theirs) > 0


def test_percentile_is_the_smallest_value_that_covers_the_share() -> None:
    values = [float(value) for value in range(100, 0, -1)]
    assert percentile(values, 0.95) == 95.0
    assert percentile(values, 0.5) == 50.0
    assert percentile([7.0], 0.95) == 7.0


def test_results_say_whether_their_target_is_met(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "results.json"
    slow = Result("pass | small", 2.5, "x", "at most", 2.0, "by hand")
    fast = Result("cache", 4.0, "x", "at least", 3.0, "by hand")
    assert (slow.met, fast.met) == (False, True)
    write([slow, fast], path)
    text = bench_markdown(path)
    assert "| pass \\| small | 2.5 x | at most 2 x | **no** | by hand |" in text
    assert "| cache | 4 x | at least 3 x | yes | by hand |" in text
    assert text.startswith("Machine: ")


def test_only_the_text_between_the_markers_is_replaced() -> None:
    text = "before\n<!-- bench:begin (make bench) -->\nold\n<!-- bench:end -->\nafter\n"
    filled = fill(text, "bench", table(("a",), [("b",)]))
    assert filled == text.replace("old\n", "| a |\n| --- |\n| b |\n")
    with pytest.raises(ValueError, match="models"):
        fill(text, "models", "")


def test_parts_measured_again_take_the_places_of_the_old_ones(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    first = [Result(name, 1.0, "ms", "at most", 2.0, "once") for name in ("a", "b")]
    write(first, path)
    write(
        [Result(name, 3.0, "ms", "at most", 2.0, "again") for name in ("c", "a")],
        path,
        keep=True,
    )
    entries = json.loads(path.read_text(encoding="utf-8"))
    assert [(entry["name"], entry["value"], entry["met"]) for entry in entries] == [
        ("a", 3.0, False),
        ("b", 1.0, True),
        ("c", 3.0, False),
    ]
