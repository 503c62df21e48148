"""What a sampler may ask of a network: a prediction of its window, and an AR reading of a proposal.

The only place where the network is called and where NFE is counted. It owns the KV cache: whatever is clean before
the window and not yet cached is carried, and committed, by the same forward that predicts the window, so that
committing a block costs no call of its own (MATHS.md, "The model"). Without the cache every call carries the whole
clean prefix again and must give the same predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from blockviz.diffusion.prediction import log_probs
from blockviz.models.attention import additive, clean_to_clean, generation_mask, verification_mask
from blockviz.models.block_dit import Fixed
from blockviz.models.checkpoint import Model
from blockviz.models.kv_cache import KVCache
from blockviz.sampling.attention_recording import AttentionRecording

KEPT_LAYOUTS = 4
"""Layouts of calls kept: a block has one that opens it, one for its further passes, and one or two for verification."""

Layout = tuple[Fixed, Tensor | None]
"""Rotary angles and attention mask of a call."""


@dataclass(frozen=True)
class Call:
    """One forward: `cached` tokens were read from the cache, `clean` further tokens were carried before the window.

    `attention` are the codes uint8 `[heads, W, stop]` of the window's attention weights, where they are recorded.
    """

    cached: int
    clean: int
    attention: Tensor | None = field(default=None, compare=False)


class Denoiser:
    """The network behind a run of `rows` sequences on a canvas of `length` positions.

    `rows_denoise` and `rows_verify` (int64 `[rows]`) count, for each sequence, the forwards in which it was active;
    `nfe_denoise` and `nfe_verify` count the forwards themselves. `device` is `work_device(model)`. With `recording`,
    which is for one row, every call brings its attention codes along.
    """

    def __init__(
        self,
        model: Model,
        rows: int,
        length: int,
        widest: int,
        temperature: float,
        use_cache: bool,
        recording: AttentionRecording | None = None,
    ) -> None:
        config = model.config
        self.net = model.net
        self.net_device = model.device
        self.device = work_device(model)
        self.temperature = temperature
        self.recording = recording
        self.x0_causal = config.x0_causal
        self.forbidden = torch.tensor(forbidden_ids(model), dtype=torch.int64, device=self.device)
        self.end_id = model.info.end_id
        self.endless: Tensor | None = None
        """bool `[rows, length]` where the end token must not be written, or None; set by whoever knows the prompts."""
        self.positions = torch.arange(length, device=self.net_device)
        self.dtype = next(self.net.parameters()).dtype
        self.cache = (
            KVCache(config, rows, length + widest, self.net_device, self.dtype) if use_cache else None
        )
        self.nfe_denoise = 0
        self.nfe_verify = 0
        self.rows_denoise = torch.zeros(rows, dtype=torch.int64)
        self.rows_verify = torch.zeros(rows, dtype=torch.int64)
        with torch.no_grad():
            self.fixed = self.net.fixed(self.positions)
        self._layouts: dict[tuple[bool, int, int, int, int], Layout] = {}

    @torch.no_grad()
    def denoise(
        self, canvas: Tensor, start: int, stop: int, block_size: int, active: Tensor, whole: bool = False
    ) -> tuple[Tensor, Call]:
        """Predict the window `start..stop` of `canvas` int64 `[N, L]`, whose tokens before `start` are clean.

        The window sees all of the clean tokens before it and all of itself. `active` bool `[N]` says for which rows
        the call counts. With `whole` the canvas is one noisy stream instead, in which every position sees every other,
        and nothing is read from the cache or carried. Returns log-probabilities float32 `[N, stop - start, V]`
        (temperature applied, MASK and PAD removed) and the call.
        """
        if whole:
            return self._denoise_within(canvas, start, stop, active)
        cached = self._cached(start)
        clean = start - cached
        tokens = canvas[:, cached:stop].to(self.net_device)
        fixed, mask = self._layout(False, cached, start, stop, block_size)
        recording = self.recording
        request = None if recording is None else recording.request(stop - start)
        logits = self.net(
            tokens,
            fixed,
            mask,
            self.cache,
            clean,
            first_output=clean,
            attention=request,
        )
        self.nfe_denoise += 1
        self.rows_denoise += active.cpu()
        codes = None if recording is None or request is None else recording.of_denoising(request)
        return self._log_probs(logits, start, stop), Call(cached, clean, codes)

    def _denoise_within(self, canvas: Tensor, start: int, stop: int, active: Tensor) -> tuple[Tensor, Call]:
        """Predict the window while reading all of the canvas as one noisy stream."""
        recording = self.recording
        request = None if recording is None else recording.request(canvas.shape[1] - start)
        logits = self.net(canvas.to(self.net_device), self.fixed, first_output=start, attention=request)
        self.nfe_denoise += 1
        self.rows_denoise += active.cpu()
        codes = None
        if recording is not None and request is not None:
            codes = recording.of_denoising(request)[:, : stop - start]
        return self._log_probs(logits[:, : stop - start], start, stop), Call(0, 0, codes)

    def forget(self, start: int) -> Call:
        """Drop what the cache holds from `start` on, because it is written anew; says what is left, without a call."""
        return Call(self._cached(start), 0)

    @torch.no_grad()
    def verify(
        self, canvas: Tensor, proposal: Tensor, noise: Tensor, start: int, active: Tensor
    ) -> tuple[Tensor, Call]:
        """Read a proposal left to right: one forward over [proposal | noise tokens], nothing of it is committed.

        `proposal` and `noise` are int64 `[N, W]`, at the positions from `start` on. Noise token i sees the clean
        tokens before the window, the proposal before i, and itself. Returns log-probabilities float32 `[N, W, V]`
        of each position given everything to its left, and the call.
        """
        cached = self._cached(start)
        count = proposal.shape[1]
        stop, clean = start + count, start - cached
        tokens = torch.cat([canvas[:, cached:start], proposal, noise], dim=1).to(self.net_device)
        fixed, mask = self._layout(True, cached, start, stop, 1)
        recording = self.recording
        request = None if recording is None else recording.request(count)
        first = clean + count
        logits = self.net(tokens, fixed, mask, self.cache, 0, first_output=first, attention=request)
        self.nfe_verify += 1
        self.rows_verify += active.cpu()
        codes = None if recording is None or request is None else recording.of_verification(request)
        return self._log_probs(logits, start, stop), Call(cached, clean, codes)

    def keep(self, rows: Tensor) -> None:
        """Go on with these of the sequences, int64 in rising order; calls are counted for them alone from now on."""
        if self.cache is not None:
            self.cache.keep(rows.to(self.net_device))
        self.rows_denoise, self.rows_verify = self.rows_denoise[rows.cpu()], self.rows_verify[rows.cpu()]
        if self.endless is not None:
            self.endless = self.endless[rows]

    def _cached(self, start: int) -> int:
        """Tokens of the clean prefix before `start` that the cache holds; anything it holds beyond is forgotten."""
        if self.cache is None:
            return 0
        if self.cache.length > start:
            self.cache.truncate(start)
        return self.cache.length

    def _log_probs(self, logits: Tensor, start: int, stop: int) -> Tensor:
        logits = logits.to(self.device)
        if self.endless is not None and self.end_id is not None:
            logits[..., self.end_id].masked_fill_(self.endless[:, start:stop], -torch.inf)
        return log_probs(logits, self.temperature, self.forbidden, overwrite=True)

    def _layout(self, verify: bool, cached: int, start: int, stop: int, block_size: int) -> Layout:
        """Angles and mask of the call, made once for all the passes of a block that share them."""
        key = (verify, cached, start, stop, block_size)
        if key not in self._layouts:
            if len(self._layouts) == KEPT_LAYOUTS:
                del self._layouts[next(iter(self._layouts))]
            self._layouts[key] = self._made_layout(*key)
        return self._layouts[key]

    def _made_layout(self, verify: bool, cached: int, start: int, stop: int, block_size: int) -> Layout:
        if verify:
            fixed = self.fixed.at(slice(cached, stop), slice(start, stop))
            mask = verification_mask(start, stop - start).to(self.net_device)
            if cached < start:
                context = clean_to_clean(
                    self.positions[cached:start], self.positions[:start], 1, self.x0_causal
                )
                mask = torch.cat([torch.nn.functional.pad(context, (0, 2 * (stop - start))), mask])
        else:
            fixed = self.fixed.at(slice(cached, stop))
            if cached == start:  # without clean tokens to carry, every query sees every key (trap 10)
                return fixed, None
            mask = generation_mask(cached, start - cached, stop - start, block_size, self.x0_causal)
            mask = mask.to(self.net_device)
        return fixed, additive(mask, self.dtype)


def work_device(model: Model) -> torch.device:
    """Where draws, canvas and predictions live: the network's device, or the CPU where that has no float64 (MPS)."""
    return torch.device("cpu") if model.device.type == "mps" else model.device


def forbidden_ids(model: Model) -> list[int]:
    """Token ids that no sampler may write: MASK, and PAD where it is not the end token itself (trap 4)."""
    info = model.info
    ids = {info.mask_id, info.pad_id} - {None, info.end_id}
    return sorted(token for token in ids if token is not None)
