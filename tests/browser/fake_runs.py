"""Small runs without a model: every phase, every state, random content, in the real trace format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from blockviz.sampling.settings import from_preset
from blockviz.sampling.trace import STATES, Check, End, Header, ModelFacts, Pass, Trace

CODE = {name: code for code, name in enumerate(STATES)}
VOCABULARY = 40


def piece(token: int) -> str:
    """Display piece of a token; long, wide and hostile ones are among them."""
    special = {
        7: "remaining",
        8: "<img src=x onerror=window.hit=1>",
        9: "${window.hit=1}",
        10: "</script><b>",
        11: "␣",
        12: "字字字",
        13: "שלום",
        14: "$x^2$",
        15: "=" * 60,
    }
    return special.get(token, f"w{token}")


def fake_run(
    process: str = "masked",
    *,
    length: int = 64,
    block_size: int = 16,
    steps: int = 3,
    prompt_length: int = 20,
    seed: int = 0,
    run: str = "",
    stopped: bool = False,
    prompt: Sequence[int] | None = None,
    vocabulary: int = VOCABULARY,
    shown: Callable[[int], str] = piece,
    more: Mapping[str, object] | None = None,
) -> Trace:
    """A guided run (propose, verify, re-noise, ..., denoise, commit per block) of random tokens after the prompt.

    `more` are further settings, which only the header knows.
    """
    rng = np.random.default_rng(seed)
    mask = vocabulary if process == "masked" else None
    settings = from_preset("arpc", block_size=block_size, steps=steps, seed=seed, **(more or {}))
    if prompt is None:
        prompt = rng.integers(0, vocabulary, prompt_length).tolist()
    prompt_length = len(prompt)
    header = Header(
        run=run or f"{seed:08x}",
        model=ModelFacts("toy-" + process, "0" * 64, process, mask, 0, None, 1000, 1, 1, 8),  # type: ignore[arg-type]
        settings=settings,
        prompt="words",
        length=length,
        block_size=block_size,
        tokens=tuple(int(t) for t in prompt),
        device="cpu",
    )

    def noise(count: int) -> np.ndarray:
        return rng.integers(0, vocabulary, count) if mask is None else np.full(count, mask)

    tokens = noise(length)
    tokens[:prompt_length] = prompt
    states = np.full(length, CODE["unopened"])
    states[:prompt_length] = CODE["prompt"]
    passes = [Pass.record("start", tokens=tokens, states=states, start=0, stop=0)]
    denoise = verify = 0
    for block in range(prompt_length // block_size, -(-length // block_size)):
        start, stop = block * block_size, min(length, (block + 1) * block_size)
        free = np.arange(start, stop) >= prompt_length
        width = stop - start
        for step in range(steps):
            guided = step < steps - 1
            new = np.where(free, rng.integers(0, vocabulary, width), tokens[start:stop])
            kept = new == tokens[start:stop]
            tokens[start:stop] = new
            fresh = CODE["proposed" if guided else "revealed"]
            states[start:stop] = np.where(free, np.where(kept, CODE["kept"], fresh), CODE["prompt"])
            reasons = np.where(free, np.where(kept, 5, 2), 1)
            denoise += 1
            shared = {
                "block": block,
                "step": step,
                "alpha_t": step / steps,
                "alpha_s": (step + 1) / steps,
                "start": start,
                "stop": stop,
                "cached": start,
                "reasons": reasons,
                "confidence": rng.random(width),
                "entropy": rng.random(width) * 3,
                "top_ids": rng.integers(0, vocabulary, (width, 5)),
                "top_probs": np.sort(rng.dirichlet(np.ones(6), width)[:, :5])[:, ::-1],
            }
            state_now = {"tokens": tokens, "states": states}
            phase = "propose" if guided else "denoise"
            passes.append(
                Pass.record(phase, **state_now, nfe_denoise=denoise, nfe_verify=verify, ms=1.25, **shared)
            )
            if not guided:
                continue
            verify += 1
            doubt = rng.gamma(1.0, 1.5, width)
            passes.append(
                Pass.record(
                    "verify",
                    **state_now,
                    nfe_denoise=denoise,
                    nfe_verify=verify,
                    ar_logprob=-doubt,
                    **shared,
                )
            )
            k = max(1, int(free.sum()) // 2)
            score = np.where(free, doubt, np.nan)
            thrown = np.argsort(-np.where(free, doubt, -1.0))[:k]
            tokens[start + thrown] = noise(k)
            states[start:stop] = np.where(
                free, np.where(kept, CODE["kept"], CODE["revealed"]), CODE["prompt"]
            )
            states[start + thrown] = CODE["renoised"]
            reasons = reasons.copy()
            reasons[thrown] = 4
            passes.append(
                Pass.record(
                    "renoise",
                    **state_now,
                    nfe_denoise=denoise,
                    nfe_verify=verify,
                    k=k,
                    cut=float(score[thrown].min()),
                    ar_logprob=-doubt,
                    score=score,
                    **{**shared, "reasons": reasons},
                )
            )
        states[start:stop] = np.where(free, CODE["committed"], CODE["prompt"])
        if stop == length and length - 4 > prompt_length:
            states[length - 4 :] = CODE["after_end"]
        generated = max(start, prompt_length)
        checks = (
            Check(generated, min(stop, generated + 4), "right", "1 - 1 = 0"),
            Check(min(stop, generated + 4), stop, "wrong", "2 * 2 = 5 (is 4)"),
        )
        passes.append(
            Pass.record(
                "commit",
                tokens=tokens,
                states=states,
                block=block,
                step=steps - 1,
                alpha_t=1.0,
                alpha_s=1.0,
                start=start,
                stop=stop,
                cached=start,
                nfe_denoise=denoise,
                nfe_verify=verify,
                checks=checks,
            )
        )
    end = End(0.1, stopped, "stopped" if stopped else "canvas", "words", len(passes))
    return Trace.collect([header, *passes, end], shown)


def text(trace: Trace) -> str:
    """The lines of a trace as the page receives them."""
    return "".join(trace.to_lines())
