/* The attention mask of a recorded pass, from what its trace says of the forward. The twin of blockviz/views/masks.py. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const CALLS = new Set(["denoise", "propose", "verify"]);

  /* Codes of blockviz/views/attention.py: KINDS. */
  const KINDS = ["blocked", "earlier", "cached", "carried", "active", "proposal", "noise"];
  const KIND = Object.fromEntries(KINDS.map((name, code) => [name, code]));

  /** What a query finds at a key; `noisy` says which stream, the number is a position (clean) or a place in the window. */
  function rule(shape, noisyQuery, query, noisyKey, key) {
    const { cached, start, stop, window, verify } = shape;
    const causal = shape.x0Causal ? key <= query : Math.floor(key / shape.blockSize) <= Math.floor(query / shape.blockSize);
    if (!noisyQuery && query < cached) return !noisyKey && key < cached && causal ? KIND.earlier : 0;
    const context = key < cached ? KIND.cached : KIND.carried;
    if (!noisyQuery) {
      if (noisyKey) return 0;
      if (query < start) return key < start && causal ? context : 0;
      if (!verify || query >= stop) return 0;
      if (key < start) return context;
      return key <= query ? KIND.proposal : 0;
    }
    if (query >= window) return 0;
    if (!noisyKey) {
      if (key < start) return context;
      return verify && key < stop && key - start < query ? KIND.proposal : 0;
    }
    if (verify) return key === query ? KIND.noise : 0;
    return key < window ? KIND.active : 0;
  }

  /** Why a query reads a key or does not: a name among the words' `why`. */
  function reason(shape, noisyQuery, query, noisyKey, key) {
    const { start, stop, window, verify } = shape;
    const cleanEnd = verify ? stop : start;
    if (query >= (noisyQuery ? window : cleanEnd)) return "no_query";
    if (key >= (noisyKey ? window : cleanEnd)) return "no_key";
    const kind = KINDS[rule(shape, noisyQuery, query, noisyKey, key)];
    if (kind === "carried" && shape.recomputed) return "recomputed";
    if (kind === "active" && shape.whole) return "whole";
    if (kind === "proposal" && !noisyQuery && key === query) return "in_proposal";
    if (kind !== "blocked") return kind;
    if (noisyKey) return noisyQuery ? "noise_of_another" : "noise_unread";
    if (noisyQuery) return key - start === query ? "own_proposal" : "later_proposal";
    return shape.x0Causal || key >= start ? "later" : "later_block";
  }

  /** The geometry of the network call of a pass. */
  function geometry(run, source) {
    const pass = run.passes[source];
    const plan = run.plan;
    const verify = pass.phase === "verify";
    const whole = plan.seesCanvas && !verify;
    const [start, stop] = whole ? [0, run.length] : pass.win;
    const causal = run.header.model && run.header.model.x0_causal;
    return {
      cached: pass.cached,
      clean: pass.clean,
      start,
      stop,
      window: stop - start,
      blockSize: run.blockSize,
      verify,
      x0Causal: causal !== false,
      recomputed: !plan.caches,
      whole,
    };
  }

  /** Axes that hold still over a run: cells along an axis, the first `cleanCells` for clean positions, the rest for the noisy block. */
  function axes(length, blockSize, whole, template, widest, seesCanvas) {
    const noisy = seesCanvas ? length : Math.min(widest || blockSize, length);
    const clean = whole ? length : seesCanvas ? 0 : Math.floor((length - 1) / blockSize) * blockSize;
    const total = clean + noisy;
    if (noisy >= template.narrowest * total && total <= template.most_cells) return { clean, noisy, cells: total, cleanCells: clean };
    const cells = Math.min(Math.max(total, template.fewest_cells), template.most_cells);
    const noisyCells = Math.max(1, Math.round(Math.max(noisy / total, template.narrowest) * cells));
    return { clean, noisy, cells, cleanCells: clean ? cells - noisyCells : 0 };
  }

  /** The place in the middle of a cell: {noisy, at}. */
  function placeOf(frame, cell) {
    if (cell < frame.cleanCells) return { noisy: false, at: Math.floor(((cell + 0.5) * frame.clean) / frame.cleanCells) };
    const rest = frame.cells - frame.cleanCells;
    return { noisy: true, at: Math.floor(((cell - frame.cleanCells + 0.5) * frame.noisy) / rest) };
  }

  function picture(shape, frame) {
    const places = [];
    for (let cell = 0; cell < frame.cells; cell++) places.push(placeOf(frame, cell));
    return places.map((row) => {
      const line = new Array(frame.cells);
      for (let cell = 0; cell < frame.cells; cell++) line[cell] = rule(shape, row.noisy, row.at, places[cell].noisy, places[cell].at);
      return line;
    });
  }

  function sourcePass(run, k) {
    while (k >= 0 && !CALLS.has(run.passes[k].phase)) k -= 1;
    return k;
  }

  BlockViz.attentionMasks = { KINDS, rule, reason, geometry, axes, placeOf, picture, sourcePass };
})();
