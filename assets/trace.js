/* BlockViz.Run: reads the lines of a trace as they arrive and answers "what stood where after pass k, and why".
   The format is that of blockviz/sampling/trace.py; nothing here draws. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const STATES = ["prompt", "unopened", "noise", "proposed", "revealed", "kept", "renoised", "committed", "after_end"];
  const REASONS = ["none", "prompt", "revealed", "resampled", "renoised", "kept", "forced"];
  const CODE = Object.fromEntries(STATES.map((name, code) => [name, code]));
  /* Format 2 added to the model what kind of attention and cache it has, and to a pass its attention weights. */
  const FORMAT = 2;
  const OLDEST_FORMAT = 1;
  const EMPTY = new Float32Array(0);
  /* Fixed-point scales of the numeric columns. */
  const SCALE = { conf: 1e-4, ent: 1e-3, ar: 1e-3, score: 1e-3 };

  class Run {
    constructor() {
      this._clear();
    }

    /** Forget everything: there is no run. */
    clear() {
      this._clear();
    }

    _clear() {
      this.id = null;
      this.header = null;
      this.passes = [];
      this.end = null;
      this.error = null;
      this.blocks = []; // {block, pass}: the first pass of each block, in order
      this.renoises = []; // passes that threw tokens back
      this._first = "";
      this._at = 0;
      this._line = 0;
      this._pieces = new Map();
      this._bytes = new Map();
      this._rows = 0;
      this._tokens = new Int32Array(0);
      this._states = new Uint8Array(0);
      this._changed = new Int32Array(0);
    }

    /** Read what is new in `text`, the whole growing trace; a line counts once its newline is there.
        Returns {reset, added, ended}. Errors end up in `.error` as one sentence; good passes before it stay. */
    feed(text) {
      const report = { reset: false, added: 0, ended: false };
      if (!text) return report;
      const firstBreak = this._first ? this._first.length : text.indexOf("\n") + 1;
      if (!this._first || text.length < this._at || !text.startsWith(this._first)) {
        const end = text.indexOf("\n") + 1;
        if (end === 0) return report;
        this._clear();
        this._first = text.slice(0, end);
        report.reset = true;
      } else if (firstBreak === 0) return report;
      const before = this.passes.length;
      const hadEnd = this.end !== null;
      while (this.error === null) {
        const stop = text.indexOf("\n", this._at);
        if (stop < 0) break;
        const line = text.slice(this._at, stop);
        this._at = stop + 1;
        this._line += 1;
        if (line.trim() === "") continue;
        this._read(line);
      }
      report.added = this.passes.length - before;
      report.ended = !hadEnd && this.end !== null;
      return report;
    }

    _read(line) {
      let data;
      try {
        data = JSON.parse(line);
      } catch (problem) {
        this.error = `Line ${this._line} of this run is not JSON.`;
        return;
      }
      if (this.header === null) this._readHeader(data);
      else if (data.end) this.end = data.end;
      else this._readPass(data);
    }

    _readHeader(data) {
      if (data === null || typeof data !== "object" || !("blockviz" in data)) {
        this.error = "This is not a BlockViz run: its first line has no format number.";
        return;
      }
      const format = data.blockviz;
      if (!Number.isInteger(format) || format < OLDEST_FORMAT || format > FORMAT) {
        const newer = format > FORMAT ? ", newer than this page" : "";
        this.error = `This run has format ${format}${newer}; this page reads formats ${OLDEST_FORMAT} to ${FORMAT}.`;
        return;
      }
      const length = data.length;
      const size = data.block_size;
      if (!Number.isInteger(length) || length < 1 || !Number.isInteger(size) || size < 1) {
        this.error = "This run does not say how long its canvas and its blocks are.";
        return;
      }
      this.header = data;
      this.id = data.run;
      this._learn(data);
    }

    _learn({ pieces, bytes }) {
      if (pieces) for (const id of Object.keys(pieces)) this._pieces.set(Number(id), BlockViz.pieces.clean(String(pieces[id])));
      if (bytes) for (const id of Object.keys(bytes)) this._bytes.set(Number(id), bytes[id]);
    }

    _grow() {
      const rows = Math.max(64, this._rows * 2);
      const widen = (old, Kind) => {
        const wide = new Kind(rows * this.length);
        wide.set(old);
        return wide;
      };
      this._tokens = widen(this._tokens, Int32Array);
      this._states = widen(this._states, Uint8Array);
      this._changed = widen(this._changed, Int32Array);
      this._rows = rows;
    }

    _readPass(data) {
      const k = this.passes.length;
      const length = this.length;
      const state = data.state;
      if (data.i !== k || typeof state !== "string" || state.length !== length || !Array.isArray(data.set)) {
        this.error = `Line ${this._line} of this run is not pass ${k}.`;
        return;
      }
      this._learn(data);
      if (k >= this._rows) this._grow();
      const row = k * length;
      const tokens = this._tokens;
      const states = this._states;
      const changed = this._changed;
      if (k > 0) {
        tokens.copyWithin(row, row - length, row);
        changed.copyWithin(row, row - length, row);
      } else tokens.fill(-1, 0, length);
      for (let i = 0; i + 1 < data.set.length; i += 2) {
        const pos = data.set[i];
        if (!(pos >= 0 && pos < length)) continue;
        tokens[row + pos] = data.set[i + 1];
        changed[row + pos] = k;
      }
      let placed = 0;
      for (let pos = 0; pos < length; pos++) {
        const code = state.charCodeAt(pos) - 48;
        states[row + pos] = code;
        if (code === CODE.proposed || code === CODE.revealed || code === CODE.kept || code === CODE.committed) placed++;
      }
      const win = data.win || [0, 0];
      const why = data.why || "";
      // A draw may land on the token that stood there; it still changed hands, so the reason counts.
      for (let i = 0; i < why.length; i++) {
        const reason = why.charCodeAt(i) - 48;
        if ((reason >= 2 && reason <= 4) || reason === 6) changed[row + win[0] + i] = k;
      }
      const previous = k > 0 ? this.passes[k - 1] : null;
      const open = this.blocks.length ? this.blocks[this.blocks.length - 1].block : -1;
      if (data.phase !== "start" && data.phase !== "edit" && data.block !== open) this.blocks.push({ block: data.block, pass: k });
      if (data.phase === "renoise") this.renoises.push(k);
      const checks = data.checks || (previous ? previous.checks : []);
      this.passes.push({
        i: k,
        phase: data.phase,
        block: data.block,
        step: data.step,
        alpha: data.alpha || null,
        temp: data.temp,
        nfe: data.nfe || [0, 0],
        cached: data.cached || 0,
        clean: data.clean || 0,
        ms: data.ms,
        win,
        k: data.k || 0,
        cut: data.cut === undefined || data.cut === null ? null : data.cut,
        why,
        placed,
        checks,
        noise: data.noise || null,
        attn: typeof data.attn === "string" ? data.attn : null, // read by views_weights.js
        _raw: { conf: data.conf, ent: data.ent, ar: data.ar, score: data.score, top: data.top },
        _columns: {},
      });
    }

    get length() {
      return this.header ? this.header.length : 0;
    }
    get blockSize() {
      return this.header ? this.header.block_size : 0;
    }
    get promptLength() {
      return this.header ? this.header.prompt_length : 0;
    }
    get last() {
      return this.passes.length - 1;
    }
    get process() {
      return this.header && this.header.model ? this.header.model.process : "masked";
    }
    get maskId() {
      const id = this.header && this.header.model ? this.header.model.mask_id : null;
      return id === null || id === undefined ? -1 : id;
    }

    /** Int32Array [L], the tokens after pass k; a view, not a copy: do not write into it or keep it over a feed. */
    tokens(k) {
      return this._tokens.subarray(k * this.length, (k + 1) * this.length);
    }
    /** Uint8Array [L] of state codes after pass k (BlockViz.STATES). */
    states(k) {
      return this._states.subarray(k * this.length, (k + 1) * this.length);
    }

    _column(k, key) {
      const pass = this.passes[k];
      if (!pass) return EMPTY;
      let column = pass._columns[key];
      if (!column) {
        const raw = pass._raw[key];
        const width = pass.win[1] - pass.win[0];
        column = new Float32Array(width).fill(NaN);
        if (raw) for (let i = 0; i < width; i++) if (raw[i] !== null && raw[i] !== undefined) column[i] = raw[i] * SCALE[key];
        pass._columns[key] = column;
      }
      return column;
    }
    /** Float32Array [window]: probability of the token in place (of the best candidate where noise stands), NaN unknown. */
    confidence(k) {
      return this._column(k, "conf");
    }
    /** Float32Array [window]: entropy in nats. */
    entropy(k) {
      return this._column(k, "ent");
    }
    /** Float32Array [window]: AR log-probability of the proposal in nats, at most 0; NaN unless verified. */
    ar(k) {
      return this._column(k, "ar");
    }
    /** Float32Array [window]: the score that decided the re-noising; NaN unless a decision. */
    score(k) {
      return this._column(k, "score");
    }

    /** The candidates at a position in pass k, best first: [{id, p}], empty where the pass recorded none. */
    top(k, pos) {
      const pass = this.passes[k];
      if (!pass || !pass._raw.top || pos < pass.win[0] || pos >= pass.win[1]) return [];
      const flat = pass._raw.top[pos - pass.win[0]] || [];
      const list = [];
      for (let i = 0; i + 1 < flat.length; i += 2) if (flat[i] >= 0) list.push({ id: flat[i], p: flat[i + 1] * 1e-3 });
      return list;
    }

    /** The edit that pass k is: {at, renoise, force, freeze, release, settings}, what is not changed left out; else null. */
    editAt(k) {
      const fork = this.header && this.header.fork;
      return (fork && fork.edits.find((edit) => edit.at + 1 === k)) || null;
    }

    /** The newest pass up to k that says something about `pos` in column `key`, or -1. */
    latest(k, pos, key) {
      for (let j = Math.min(k, this.last); j >= 0; j--) {
        const pass = this.passes[j];
        if (pos < pass.win[0] || pos >= pass.win[1] || !pass._raw[key]) continue;
        const value = pass._raw[key][pos - pass.win[0]];
        if (value !== null && value !== undefined) return j;
      }
      return -1;
    }

    /** The display piece of a token id; never empty, never markup. */
    piece(id) {
      const piece = this._pieces.get(id);
      if (piece !== undefined && piece !== "") return piece;
      return id === this.maskId ? "▒" : "#" + id;
    }

    /** The bytes of a token's text as hexadecimal digits, "" for a special token, null where the run does not say. */
    bytes(id) {
      return this._bytes.get(id) ?? null;
    }

    /** Verdicts in force after pass k: [[start, stop, verdict, text], ...]. The same array object while unchanged. */
    checks(k) {
      const pass = this.passes[k];
      return pass ? pass.checks : [];
    }

    /** {pass, why, phase}: the newest pass up to k that changed `pos`, and the reason word. */
    changedAt(k, pos) {
      const at = this._changed[k * this.length + pos];
      const pass = this.passes[at];
      let why = this.states(0)[pos] === STATES.indexOf("prompt") ? "prompt" : "prior";
      if (at > 0) {
        const inside = pos >= pass.win[0] && pos < pass.win[1];
        const code = inside ? pass.why.charCodeAt(pos - pass.win[0]) - 48 : 0;
        why = REASONS[code] || "none";
        if (why === "none" || why === "kept") why = pass.phase === "propose" || pass.phase === "denoise" ? "revealed" : "none";
      }
      return { pass: at, why, phase: pass ? pass.phase : "start" };
    }

    /** Generated tokens in place after pass k (draft or committed; not noise, not after the end) per network call so far. */
    tokensPerCall(k) {
      const pass = this.passes[k];
      const calls = pass.nfe[0] + pass.nfe[1];
      return calls > 0 ? pass.placed / calls : NaN;
    }

    /** Positions of the first block where it is shorter than the others; 0: there is none. */
    get origin() {
      return (this.header && this.header.origin) || 0;
    }
    get blockCount() {
      return Math.ceil((this.length - this.origin) / this.blockSize) + (this.origin ? 1 : 0);
    }
    /** Index of the block a position lies in. */
    blockOf(pos) {
      return Math.floor((pos - this.origin) / this.blockSize) + (this.origin ? 1 : 0);
    }
    /** First position of a block, and the one behind its last. */
    spanOf(block) {
      const start = this.origin + (block - (this.origin ? 1 : 0)) * this.blockSize;
      return [Math.max(start, 0), Math.min(start + this.blockSize, this.length)];
    }

    /** What follows from the settings for every pass; the twin of SamplerSettings.caches, .sees_canvas and .widest. */
    get plan() {
      const settings = (this.header && this.header.settings) || {};
      const diffusion = settings.predictor !== "autoregressive";
      const context = (diffusion && settings.context) || "causal";
      const inBlocks = diffusion && context !== "canvas";
      const wider = settings.seams === "renoise" ? settings.seam_width : 0;
      return {
        caches: (settings.context || "causal") === "causal" ? settings.use_cache !== false : !diffusion,
        seesCanvas: context === "bidirectional",
        onCanvas: context !== "causal",
        overlap: inBlocks && settings.seams === "overlap" ? settings.overlap : 0,
        widest: !diffusion ? 1 : Math.min(this.length, inBlocks ? (settings.block_size || this.blockSize) + wider : this.length),
      };
    }
  }

  BlockViz.Run = Run;
  BlockViz.STATES = STATES;
  BlockViz.REASONS = REASONS;
  BlockViz.STATE_CODE = CODE;
})();
