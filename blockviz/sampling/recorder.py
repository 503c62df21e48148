"""From the loop's events to recorded passes: an observer that reads the state and never changes it.

For the masked process the network says nothing about a position it sees a token in (carry-over, MATHS.md), so the
confidence, entropy and candidates of a revealed position stay those of the pass in which it was last noise. For the
uniform process every pass predicts every free position.
"""

from __future__ import annotations

import platform
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from blockviz.models.checkpoint import Model
from blockviz.sampling.candidates import Candidates
from blockviz.sampling.passes import (
    REASON_CODE,
    STATE_CODE,
    TOP,
    TOP_SCALE,
    Check,
    Header,
    ModelFacts,
    Pass,
    unscaled,
)
from blockviz.sampling.plans import Rows
from blockviz.sampling.settings import SamplerSettings

if TYPE_CHECKING:
    from blockviz.sampling.run import Event

Checker = Callable[[list[int], int], tuple[Check, ...]]
"""Verdicts on the tokens of a canvas, given them and the prompt's length; sampling knows nothing of the task.

Noise is given as -1, whatever the process: a uniform noise token looks like any other, but is nobody's equation.
"""

# As uint8, so that numpy keeps to it: a conversion costs as much as the work.
S, R = ({name: np.uint8(code) for name, code in codes.items()} for codes in (STATE_CODE, REASON_CODE))
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
        self.window: _Window | None = None
        self.given = None if given is None else given.cpu().numpy()

    def start(self, canvas: torch.Tensor) -> Pass:
        """The first pass: the prompt in place, noise everywhere else, nothing spent."""
        self.tokens = canvas[0].cpu().numpy().astype(np.int32)
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
        before, self.tokens = self.tokens, event.canvas[0].cpu().numpy().astype(np.int32)
        window = self.window
        if window is None or window.segment is not segment:
            self._close()
            window = self.window = _Window(event, window)
        now = self.tokens[segment.start : segment.stop]
        changed = now != before[segment.start : segment.stop]
        reasons = window.observe(event, now, changed, self.masked)
        states = self.states[segment.start : segment.stop]
        shut = ~window.free
        if shut.any():
            reasons[shut] = np.where(states == S["prompt"], R["prompt"], R["none"])[shut]
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
        window = self.window = _Window(event)
        window.states = self.states[event.segment.start : event.segment.stop].copy()
        window.noise = NOISE_STATES[window.states]
        here = slice(event.segment.start - entry.start, event.segment.stop - entry.start)
        window.confidence, window.entropy = entry.confidence[here].copy(), entry.entropy[here].copy()
        window.top_ids = entry.top_ids[here].astype(np.int64)
        window.top_probs = entry.top_probs[here].copy()
        window.ar_logprob = entry.ar_logprob[here]

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


class _Window:
    """What is known of the active window over all passes of its segment, as numpy arrays of its width."""

    def __init__(self, event: Event, before: _Window | None = None) -> None:
        """What the window `before` knew of positions that are written again stays known."""
        self.segment = event.segment
        self.free = event.free[0].cpu().numpy()
        self.noise = self.free
        width = self.free.shape[0]
        self.states = np.full(width, S["noise"], np.uint8)
        self.unknown = np.full(width, np.nan, np.float32)
        self.confidence, self.entropy = self.unknown.copy(), self.unknown.copy()
        self.top_ids = np.full((width, TOP), -1, np.int64)
        self.top_probs = np.zeros((width, TOP), np.float32)
        self.no_tokens = np.full(width, -1, np.int64)
        self.ar_logprob: NDArray[np.float32] = self.unknown
        self._forget()
        if before is not None:
            self._go_on_from(before)

    def _go_on_from(self, before: _Window) -> None:
        first, last = (
            max(before.segment.start, self.segment.start),
            min(before.segment.stop, self.segment.stop),
        )
        if first >= last:
            return
        theirs = slice(first - before.segment.start, last - before.segment.start)
        mine = slice(first - self.segment.start, last - self.segment.start)
        again = self.free[mine]
        for name in ("confidence", "entropy", "top_ids", "top_probs"):
            getattr(self, name)[mine][again] = getattr(before, name)[theirs][again]

    def observe(
        self, event: Event, now: NDArray[np.int32], changed: NDArray[np.bool_], masked: bool
    ) -> NDArray[np.uint8]:
        """Take in one event: tokens `now`, of which `changed` differ from before. Returns why, per position."""
        ar_logprob = self.ar_logprob
        self._forget()
        if event.phase in ("denoise", "propose"):
            return self._drawn(event, now, changed, masked)
        if event.phase == "verify":
            self._verified(event, now, masked)
        elif event.phase == "renoise":
            if event.scores is None:
                return self._reopened(event)
            self.ar_logprob = ar_logprob
            return self._renoised(event)
        return np.full(now.shape, R["none"], np.uint8)

    def _forget(self) -> None:
        """Drop what belongs to one pass only."""
        self.k = 0
        self.cut: float | None = None
        self.score = self.unknown
        self.ar_logprob = self.unknown
        self.verify_tokens = self.no_tokens
        self.shown_ids, self.shown_probs = self.top_ids, self.top_probs

    def _drawn(
        self, event: Event, now: NDArray[np.int32], changed: NDArray[np.bool_], masked: bool
    ) -> NDArray[np.uint8]:
        """Denoise and propose: tokens come from the prediction, or stay, or (uniform) become fresh noise."""
        was_noise, self.noise = self.noise, event.noise[0].cpu().numpy()
        known = was_noise if masked else self.free
        assert event.log_probs is not None
        found = Candidates(event.log_probs[0])
        ids, best = found.ids, found.probs
        np.copyto(self.confidence, np.exp(found.of(now)), where=known)
        self.entropy[known] = found.entropies(known)
        np.copyto(self.top_ids[:, : ids.shape[1]], ids, where=known[:, None])
        # Kept as they are recorded, so that a later pass says the same whether it remembers them or reads them.
        np.copyto(self.top_probs[:, : ids.shape[1]], _recorded(best), where=known[:, None])
        np.copyto(self.confidence, best[:, 0], where=self.noise)
        fresh = was_noise | changed
        self.states = np.where(fresh, S["proposed" if event.phase == "propose" else "revealed"], S["kept"])
        self.states[self.noise] = S["noise"]
        reasons = np.where(was_noise, R["revealed"], np.where(changed, R["resampled"], R["kept"]))
        reasons[self.noise] = R["none"]
        reasons[self.noise & (changed | ~was_noise)] = R["renoised"]
        return reasons

    def _verified(self, event: Event, now: NDArray[np.int32], masked: bool) -> None:
        """Verify: nothing changes; the AR reading of the proposal is known, and its candidates are shown."""
        assert event.log_p_ar is not None
        assert event.verify_tokens is not None
        found = Candidates(event.log_p_ar[0])
        ids, best = found.ids, found.probs
        self.ar_logprob = np.where(self.free, found.of(now), np.float32(np.nan))
        self.shown_ids, self.shown_probs = np.full_like(self.top_ids, -1), np.zeros_like(self.top_probs)
        np.copyto(self.shown_ids[:, : ids.shape[1]], ids, where=self.free[:, None])
        np.copyto(self.shown_probs[:, : ids.shape[1]], best, where=self.free[:, None])
        if not masked:
            self.verify_tokens = event.verify_tokens[0].cpu().numpy()

    def _renoised(self, event: Event) -> NDArray[np.uint8]:
        """Re-noise: the positions with the worst scores went back to noise, the proposal stands elsewhere."""
        assert event.scores is not None
        scores = event.scores[0].cpu().numpy()
        chosen = self.noise = event.noise[0].cpu().numpy()
        self.score = np.where(self.free, scores, np.nan)
        self.k = int(chosen.sum())
        self.cut = float(scores[chosen].min()) if self.k else None
        # Where there is noise, confidence is that of the best candidate.
        np.copyto(self.confidence, self.top_probs[:, 0], where=chosen)
        self.states[self.states == S["proposed"]] = S["revealed"]
        self.states[chosen] = S["renoised"]
        return np.where(chosen, R["renoised"], R["kept"])

    def _reopened(self, event: Event) -> NDArray[np.uint8]:
        """A seam: what is written again went back to noise, for its place and not for a score."""
        assert event.chosen is not None
        chosen = event.chosen[0].cpu().numpy()
        self.noise = event.noise[0].cpu().numpy()
        self.k = int(chosen.sum())
        np.copyto(self.confidence, self.top_probs[:, 0], where=chosen)
        self.states[self.noise] = S["noise"]
        self.states[chosen] = S["renoised"]
        return np.where(chosen, R["renoised"], R["none"]).astype(np.uint8)


def _recorded(probs: NDArray[np.float32]) -> NDArray[np.float32]:
    """Probabilities of candidates, rounded as a pass records them."""
    return unscaled(np.rint(probs.astype(np.float64) * TOP_SCALE), TOP_SCALE)


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
