"""From the loop's events to recorded passes: an observer that reads the state and never changes it."""

from __future__ import annotations

import platform
import secrets
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import torch

from blockviz.models.checkpoint import Model
from blockviz.sampling.fixed_point import frozen
from blockviz.sampling.job import Event
from blockviz.sampling.passes import Check, Header, ModelFacts, Pass
from blockviz.sampling.plans import Rows
from blockviz.sampling.settings import SamplerSettings
from blockviz.sampling.window_recording import S, WindowRecording, row_of

Checker = Callable[[list[int], int], tuple[Check, ...]]
"""Verdicts on the tokens of a canvas, given them and the prompt's length; sampling knows nothing of the task.

Noise is given as -1, whatever the process: a uniform noise token looks like any other, but is nobody's equation.
"""

NOISE_STATES = np.isin(np.arange(len(S)), [S[state] for state in ("unopened", "noise", "renoised")])
"""Whether a position in the state of that code holds noise."""
_WRITTEN = ~np.isin(np.arange(len(S)), [S["prompt"], S["unopened"]])


class Recorder:
    """Makes one `Pass` of the beginning and of every event of a run of one sequence."""

    def __init__(
        self,
        model: Model,
        settings: SamplerSettings,
        prompt_length: int,
        checker: Checker | None,
        given: torch.Tensor | None = None,
    ) -> None:
        """`given` bool `[L]` are the positions that the run never writes; left out, those of the prompt."""
        self.temperature = settings.temperature
        self.use_cache = settings.caches
        self.masked = model.info.process == "masked"
        self.end_id = model.info.end_id
        self.prompt_length = prompt_length
        self.checker = checker
        self.checks: tuple[Check, ...] = ()
        self.judged = np.zeros(0, np.int32)
        self.tokens = np.zeros(0, np.int32)
        self.states = np.zeros(0, np.uint8)
        self.window: WindowRecording | None = None
        self.given = None if given is None else given.cpu().numpy()

    def start(self, canvas: torch.Tensor) -> Pass:
        """The first pass: the prompt in place, noise everywhere else, nothing spent."""
        self.tokens = frozen(row_of(canvas).astype(np.int32))
        self.states = np.full(self.tokens.shape, S["unopened"], np.uint8)
        if self.given is None:
            self.given = np.arange(self.tokens.size) < self.prompt_length
        self.states[self.given] = S["prompt"]
        self._check()
        return Pass.record(
            "start",
            tokens=self.tokens,
            states=self.states,
            start=0,
            stop=0,
            temperature=self.temperature,
            checks=self.checks,
        )

    def record(self, event: Event) -> Pass:
        """The pass that `event` is; everything in it is a copy."""
        segment, level, call = event.segment, event.level, event.call
        before, self.tokens = self.tokens, frozen(row_of(event.canvas).astype(np.int32))
        here = slice(segment.start, segment.stop)
        states = self.states[here]
        window = self.window
        if window is None or window.segment is not segment:
            self._close()
            window = self.window = WindowRecording(event, states, self.masked, window)
        reasons = window.observe(event, self.tokens[here], before[here])
        np.copyto(states, window.states, where=window.free)
        if event.phase == "commit":
            self._close()
        self._check()
        calls = event.phase in ("denoise", "propose", "verify")
        return Pass(
            phase=event.phase,
            block=segment.block,
            step=event.step,
            alpha_t=level.alpha_t,
            alpha_s=level.alpha_s,
            temperature=self.temperature,
            nfe_denoise=event.nfe_denoise,
            nfe_verify=event.nfe_verify,
            cached=call.cached if calls or not self.use_cache else call.cached + call.clean,
            clean=call.clean if calls else 0,
            ms=event.seconds * 1000,
            start=segment.start,
            stop=segment.stop,
            k=window.k,
            cut=window.cut,
            tokens=self.tokens,
            states=self.states,
            reasons=reasons,
            confidence=window.confidence,
            entropy=window.entropy,
            ar_logprob=window.ar_logprob,
            score=window.score,
            top_ids=window.shown_ids,
            top_probs=window.shown_probs,
            verify_tokens=window.verify_tokens,
            checks=self.checks,
            attention=call.attention.numpy() if calls and call.attention is not None else None,
        )

    def resume(self, entry: Pass, event: Event | None) -> None:
        """Be as it was after `entry`, a pass between two steps that recorded `event` (None: the beginning)."""
        self.tokens, self.states = entry.tokens.copy(), entry.states.copy()
        self.checks, self.judged = entry.checks, np.where(NOISE_STATES[self.states], -1, self.tokens)
        if event is None:
            return
        segment = event.segment
        states = self.states[segment.start : segment.stop].copy()
        window = self.window = WindowRecording(event, states, self.masked)
        window.states, window.noise = states, NOISE_STATES[states]
        here = slice(segment.start - entry.start, segment.stop - entry.start)
        for name in ("confidence", "entropy", "top_ids", "top_probs", "ar_logprob"):
            setattr(window, name, frozen(getattr(entry, name)[here].copy()))

    def settle(self) -> None:
        """Mark the window as committed where it was written, as its commit did, with what stands in it now."""
        self._close()

    def check(self) -> tuple[Check, ...]:
        """The verdicts on what stands on the canvas now."""
        self._check()
        return self.checks

    def _check(self) -> None:
        if self.checker is None:
            return
        judged = np.where(NOISE_STATES[self.states], -1, self.tokens)
        if not np.array_equal(judged, self.judged):
            self.judged = judged
            self.checks = self.checker(judged.tolist(), self.prompt_length)

    def _close(self) -> None:
        """Mark the finished window as committed, and what follows the first generated end token as after it."""
        if self.window is None:
            return
        segment = self.window.segment
        keep = slice(segment.start, segment.keep)
        self.states[keep][_WRITTEN[self.states[keep]]] = S["committed"]
        if self.end_id is not None and self.given is not None:
            written = ~self.given[: segment.keep]
            ends = np.flatnonzero((self.tokens[: segment.keep] == self.end_id) & written)
            if ends.size:
                after = int(ends[0]) + 1
                self.states[after : segment.keep][written[after:]] = S["after_end"]


def header_of(
    model: Model, settings: SamplerSettings, prompt: str, ids: list[int], length: int, rows: Rows
) -> Header:
    """The header of a run of `model` on a canvas of `length` positions; its run id is random."""
    info, config = model.info, model.config
    device = str(model.device)
    if model.device.type == "cuda":
        device = f"{device} ({torch.cuda.get_device_name(model.device)})"
    return Header(
        run=secrets.token_hex(8),
        model=ModelFacts(
            name=model.name,
            hash=model.content_hash,
            process=info.process,
            mask_id=info.mask_id,
            end_id=info.end_id,
            task=info.task,
            parameters=model.parameters,
            layers=config.n_blocks,
            heads=config.n_heads,
            head_dim=config.head_dim,
            x0_causal=config.x0_causal,
            kv_bytes=next(model.net.parameters()).element_size(),
        ),
        settings=settings,
        prompt=prompt,
        length=length,
        block_size=rows.size,
        origin=rows.origin,
        tokens=tuple(ids),
        device=device,
        versions={"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def written_text(model: Model, tokens: list[int], prompt_length: int, written: int) -> str:
    """The generated text, decoded whole: from the prompt to the end token or the last finished position."""
    generated = tokens[prompt_length:written]
    if model.info.end_id in generated:
        generated = generated[: generated.index(model.info.end_id)]
    return model.tokens.decode(generated)
