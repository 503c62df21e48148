"""The cache ribbon: spans, pages and bytes against what the network had."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blockviz.models.kv_cache import KVCache
from blockviz.sampling.run import sample
from blockviz.sampling.settings import SamplerSettings
from blockviz.views import ribbon
from blockviz.views.masks import codes, geometry
from tests.sampling.small_models import tiny_model, words
from tests.views.runs import guided, left_to_right, sampled, with_settings

MODEL = tiny_model("masked")


def real(**options):  # type: ignore[no-untyped-def]
    settings = SamplerSettings(**{"block_size": 4, "steps": 3, "corrector": "ar_nll", **options})
    return sample(MODEL, words(1, 2, 3, 1, 2, 4), settings)


@pytest.mark.parametrize("use_cache", [True, False])
def test_counts_are_those_of_the_forward(use_cache: bool) -> None:
    trace = real(use_cache=use_cache)
    held = 0
    for k, entry in enumerate(trace.passes):
        now = ribbon.facts(trace, k)
        if entry.phase not in ("denoise", "propose", "verify"):
            assert (now.queries, now.keys) == (0, 0)
            continue
        assert (now.queries, now.keys) == codes(geometry(trace, k)).shape
        assert now.cached == held
        held = entry.cached + (entry.clean if use_cache else 0)
    assert held == (16 + 4 if use_cache else 0)


def test_bytes_are_those_of_the_cache() -> None:
    trace = real()
    cache = KVCache(MODEL.config, 1, 32)
    for k in range(len(trace.passes)):
        now = ribbon.facts(trace, k)
        cache.length = now.cached
        assert now.bytes == cache.bytes
        assert now.pages == -(-now.cached // 4)
    half = replace(trace, header=replace(trace.header, model=replace(trace.header.model, kv_bytes=2)))
    assert 2 * ribbon.facts(half, 8).bytes == ribbon.facts(trace, 8).bytes > 0


def test_the_words_of_each_phase() -> None:
    trace = real()
    said = {}
    for k, entry in enumerate(trace.passes):
        said.setdefault((entry.phase, entry.clean > 0), ribbon.parts(ribbon.facts(trace, k)))
    assert said["start", False] == {
        "cached": "cached 0 (0 pages of 4, 0 B)",
        "clean": "",
        "window": "",
        "calls": "no network call",
    }
    assert said["propose", True]["clean"] == "committed now 4 (+2.0 KiB)"
    assert said["propose", True]["calls"] == "8 queries × 8 keys"
    assert said["propose", False]["cached"] == "cached 4 (1 page of 4, 2.0 KiB)"
    assert said["verify", False]["window"] == "proposal 4 + noise 4"
    assert said["commit", False]["clean"] == "finished 4, cached by the next pass"
    assert said["renoise", False]["calls"] == "no network call"


def test_without_a_cache_it_says_so_and_counts_what_is_recomputed() -> None:
    trace = real(use_cache=False)
    k = next(k for k, entry in enumerate(trace.passes) if entry.phase == "verify" and entry.start == 8)
    now = ribbon.facts(trace, k)
    assert (now.cached, now.carried, now.added, now.bytes) == (0, 8, 0, 0)
    assert ribbon.parts(now)["cached"].startswith("no cache")
    assert ribbon.parts(now)["clean"] == "recomputed 8"
    assert "recomputed 8; proposal 4 + noise 4; 16 queries × 16 keys." in ribbon.sentence(trace, k)


@pytest.mark.parametrize("preset", ["blockwise", "canvas", "overlap", "seams"])
def test_every_sampler_shows_the_calls_that_were_made(preset: str) -> None:
    """Queries of the strip against what the network was given."""
    given: list[int] = []
    handle = MODEL.net.register_forward_hook(lambda net, arguments, out: given.append(arguments[0].shape[1]))
    try:
        trace = sampled(preset)
    finally:
        handle.remove()
    shown = [ribbon.facts(trace, k) for k in range(len(trace.passes))]
    assert [now.queries for now in shown if now.queries] == given
    last, before = shown[-1], shown[-2]
    if preset in ("blockwise", "canvas"):
        assert (last.finished, last.bytes) == (0, 0)
        assert ribbon.parts(before)["cached"] == "no cache: every pass recomputes the whole canvas"
        assert ribbon.parts(before)["calls"] == "22 queries × 22 keys"
    else:
        assert last.finished > 0
        drafts = next(now for k, now in enumerate(shown) if trace.passes[k].phase == "commit")
        kept = drafts.stop - (4 if preset == "overlap" else 0)
        assert drafts.cached + drafts.finished == kept


def test_one_token_at_a_time_has_pages_of_one() -> None:
    trace = left_to_right()
    now = ribbon.facts(trace, 3)
    assert (now.page_size, now.pages) == (1, 3)
    assert "3 pages of 1" in ribbon.sentence(trace, 3)
    assert ribbon.parts(replace(now, queries=1, keys=1))["calls"] == "1 query × 1 key"
    assert "No cache" in ribbon.sentence(with_settings(guided(), use_cache=False), 2)


@pytest.mark.parametrize(
    ("count", "words_"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1280, "1.3 KiB"), (3 * 2**20 + 2**18, "3.3 MiB")],
)
def test_sizes_are_rounded_half_up(count: int, words_: str) -> None:
    assert ribbon.size_words(count) == words_
