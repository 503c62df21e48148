"""The page in Chromium: cold start, first live pass, scrubbing, playback, and the server's memory."""

from __future__ import annotations

import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from bench.models import bundled, with_length
from bench.results import ROOT, Result
from bench.sampling import PROMPT
from bench.timing import percentile
from blockviz.models.checkpoint import CHECKPOINTS, list_models, save
from blockviz.sampling.run import sample

PROBE = Path(__file__).with_name("probe.js")
BROWSER_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-precise-memory-info",
)
READY = "() => window.BlockViz && window.BlockViz.state && window.BlockViz.state().passes > 0"


FRAME_MS = 16.7
FIRST_PAINT_MS = 2000.0
LIVE_RATE = 20.0
FAST_RATE = 200.0
STOP_MS = 500.0
REST_MS = 250.0


@dataclass(frozen=True)
class Server:
    """A running page: its address, its process, and when the process was started (perf_counter)."""

    address: str
    process: subprocess.Popen[bytes]
    started: float

    def memory(self) -> float:
        """Resident memory in MiB; raises OSError where there is no /proc."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


@contextmanager
def server(models: Path, program: Sequence[str] = ("app.py",)) -> Iterator[Server]:
    """Start app.py (or another program that takes its flags) on a free port and end it afterwards."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, *program, "--port", str(port), "--device", "cpu", "--models", str(models)]
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        yield Server(f"http://127.0.0.1:{port}", process, started)
    finally:
        process.terminate()
        process.wait(timeout=20)


def open_page(page: Page, served: Server) -> None:
    """Open the page as soon as the server answers."""
    port = int(served.address.rsplit(":", 1)[1])
    while True:
        if served.process.poll() is not None:
            raise RuntimeError(f"app.py ended with exit code {served.process.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.02)
    page.goto(served.address)


def recorded(length: int, steps: int, seed: int) -> tuple[str, int]:
    """A run of ARPC on a canvas of `length` positions, as the lines the page reads, and its number of passes."""
    model = with_length(bundled(), length)
    trace = sample(
        model, PROMPT, preset="arpc", block_size=16, steps=steps, length=length, seed=seed, fill_canvas=True
    )
    return "".join(trace.to_lines()), len(trace.passes)


def scrubbing(
    page: Page, ids: list[str], runs: list[tuple[str, int]], limit: float, moves: int
) -> list[Result]:
    """Scrub times over random moves: half of them to a neighbouring pass, half anywhere."""
    loaded = page.evaluate("([ids, texts]) => probe.load(ids, texts)", [ids, [text for text, _ in runs]])
    last = max(passes for _, passes in runs) - 1
    rng = random.Random(0)
    at, targets = 0, []
    for index in range(moves):
        at = rng.randrange(last + 1) if index % 2 else min(last, at + 1)
        targets.append(at)
    page.evaluate("([ids, passes]) => probe.scrub(ids, passes)", [ids, targets[:5]])
    measured: dict[str, list[float]] = page.evaluate(
        "([ids, passes]) => probe.scrub(ids, passes)", [ids, targets]
    )
    times = measured["times"]
    length = page.evaluate("id => probe.length(id)", ids[0])
    shape = f"{len(runs)} run{'s' * (len(runs) > 1)} of {length} positions x {last + 1} passes"
    how = (
        f"median {statistics.median(times):.1f} ms; scrubber event to painted frame with canvas and "
        f"{sum(loaded['views'])} views, {moves} moves, headless Chromium"
    )
    script = percentile(measured["script"], 0.95)
    results = [Result(f"scrub p95, {shape}", percentile(times, 0.95), "ms", "at most", limit, how)]
    if len(runs) == 1:
        how = f"p95 of {moves} moves, script of canvas and facts for one pass"
        limit = 4.0 if length == 128 else FRAME_MS
        results.append(Result(f"canvas step, {shape}", script, "ms of script", "at most", limit, how))
    if length > 128:
        how = (
            "from the whole text of the run to canvas and views painted; afterwards the page's scripts hold "
        )
        how += f"{page.evaluate('() => probe.heap()'):.0f} MiB"
        results.append(Result(f"first paint, {shape}", loaded["ms"], "ms", "at most", FIRST_PAINT_MS, how))
    return results


def live(page: Page, served: Server, rate: float | None, tries: int = 1) -> Result:
    """How many of the passes of live runs are painted: replayed runs at `rate` passes a second, or a real run."""
    page.goto(served.address)
    page.wait_for_selector('[data-testid="generate"]', timeout=120_000)
    page.wait_for_function(READY, timeout=120_000)
    runs = [page.evaluate("() => probe.live('player')") for _ in range(tries)]
    seen, passes, seconds = (sum(run[name] for run in runs) for name in ("seen", "passes", "seconds"))
    pace = passes / seconds
    how = f"{seen} of {passes} passes were painted, {pace:.1f} a second, none is missing in the trace"
    if rate is None:
        return Result("live rate, real run", pace, "passes per second", "at least", 20.0, f"ARPC; {how}")
    name = f"live passes painted at {rate:g} a second"
    return Result(name, 100 * seen / passes, "% of the passes", "at least", 99.0, f"{tries} runs; {how}")


def playback(page: Page, tries: int) -> Result:
    """Frames per second while a run plays at eight times its speed."""
    rates = [page.evaluate("() => probe.playback('player', 2000)") for _ in range(tries)]
    how = (
        f"median of {tries}, the slowest {min(rates):.1f}; animation frames over at most 2 s of playback at 8x; the "
        "display's own rate is 60"
    )
    name = "canvas playback, 128 positions"
    return Result(name, statistics.median(rates), "frames per second", "at least", 58.0, how)


def at_rest(page: Page, moves: int) -> Result:
    """Time until Plotly's own figures have caught up with what the views show at once, after the last step."""
    last = page.evaluate("() => window.BlockViz.state().passes") - 1
    rng = random.Random(1)
    times = page.evaluate(
        "([id, passes]) => probe.rest(id, passes)",
        ["player", [rng.randrange(1, last + 1) for _ in range(moves)]],
    )
    how = f"median {statistics.median(times):.0f} ms; from a step to all of Plotly's figures redrawn, {moves} steps"
    return Result("figures at rest p95", percentile(times, 0.95), "ms", "at most", REST_MS, how)


def stop(page: Page, served: Server, rate: float, tries: int) -> Result:
    """Time from the click on Stop to the end of a run of `rate` passes a second on screen."""
    page.goto(served.address)
    page.wait_for_selector('[data-testid="generate"]', timeout=120_000)
    page.wait_for_function(READY, timeout=120_000)
    runs = [page.evaluate("() => probe.stop('player', 200)") for _ in range(tries)]
    times = [run["ms"] for run in runs]
    how = (
        f"median of {tries}, the slowest {max(times):.0f} ms; click to the last pass shown and Generate ready; "
        f"at most {max(run['more'] for run in runs)} passes came after the click"
    )
    return Result(f"stop at {rate:g} a second", statistics.median(times), "ms", "at most", STOP_MS, how)


def first_pass(page: Page, clicks: int) -> Result:
    """Time from the click on Generate to the first painted pass after the start."""
    times = []
    for _ in range(clicks):
        times.append(page.evaluate("() => probe.firstPass()"))
        page.evaluate("() => probe.ended()")
    how = (
        f"median of {clicks} clicks, the first {times[0]:.0f} ms, the slowest {max(times):.0f} ms; click event to the "
        "painted first pass after the start, warm server, bundled model"
    )
    return Result("first live pass", statistics.median(times), "ms", "at most", 300.0, how)


def memory(page: Page, served: Server, runs: int) -> Result:
    """Growth of the server's resident memory over `runs` runs of one session."""

    def run(count: int) -> None:
        for _ in range(count):
            page.evaluate("() => probe.firstPass()")
            page.evaluate("() => probe.ended()")

    page.evaluate("() => document.querySelector('[data-testid=\"preset-ancestral\"]').click()")
    run(max(1, runs // 5))
    before = served.memory()
    run(runs)
    after = served.memory()
    how = f"resident {before:.0f} MiB before, {after:.0f} MiB after {runs} runs in one session"
    return Result(f"server memory after {runs} runs", after - before, "MiB more", "at most", 20.0, how)


@contextmanager
def model_folder() -> Iterator[Path]:
    """The folder of the bundled checkpoints, or of one with random weights in a clone that has none."""
    if list_models(CHECKPOINTS):
        yield CHECKPOINTS
        return
    with tempfile.TemporaryDirectory() as folder:
        model = bundled()
        save(Path(folder) / "math-masked", model.net, model.info, model.tokens)
        yield Path(folder)


def measure(moves: int, clicks: int, runs: int) -> list[Result]:
    """Everything that needs the page; `CHROMIUM` names the browser, else Playwright's own is taken."""
    small = [recorded(128, 6, seed) for seed in (0, 1)]
    large = recorded(1024, 3, 0)
    wire = len(small[0][0].encode()) / small[0][1] / 1000
    results = [
        Result(
            "trace on the wire, 128 positions",
            wire,
            "kB per pass",
            "at most",
            1.0,
            f"lines of {small[0][1]} passes of ARPC, uncompressed",
        )
    ]
    with sync_playwright() as playwright, model_folder() as folder:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM") or None, args=list(BROWSER_FLAGS)
        )
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(path=str(PROBE))
        with server(folder) as served:
            results.append(cold_start(page, served))
            page.wait_for_timeout(3000)  # the bundled models are loaded in the background
            results.append(first_pass(page, clicks))
            results += scrubbing(page, ["player"], small[:1], 50.0, moves)
            results.append(playback(page, 2 if moves < 50 else 5))
            results.append(at_rest(page, max(2, moves // 5)))
            results += scrubbing(page, ["player"], [large], 100.0, moves)
            page.click('[data-testid="tab-compare"]')
            page.wait_for_timeout(1000)
            results += scrubbing(page, ["player-a", "player-b"], small, 70.0, moves)
            page.click('[data-testid="tab-explore"]')
            if Path("/proc/self/status").exists():
                results.append(memory(page, served, runs))
            results.append(live(page, served, None))
        with server(folder, ("-m", "bench.paced", "--rate", str(LIVE_RATE))) as served:
            open_page(page, served)
            page.wait_for_timeout(3000)  # warm, as above
            results.append(live(page, served, LIVE_RATE, 1 if moves < 50 else 3))
        with server(folder, ("-m", "bench.paced", "--rate", str(FAST_RATE), "--steps", "40")) as served:
            open_page(page, served)
            results.append(stop(page, served, FAST_RATE, 2 if moves < 50 else 5))
        browser.close()
    return results


def cold_start(page: Page, served: Server) -> Result:
    """Time from starting app.py until the page can be used and its example run is on screen."""
    open_page(page, served)
    page.wait_for_selector('[data-testid="generate"]', timeout=120_000)
    page.wait_for_function(READY, timeout=120_000)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    value = time.perf_counter() - served.started
    how = (
        "start of app.py to the example run on screen; the browser was open, the files in the system's cache"
    )
    return Result("cold start to usable page", value, "s", "at most", 10.0, how)
