/* BlockViz.steppingPlan: what is to be changed after a pass, and what the sampler would do next, told from the record alone.
   The rules are those of blockviz/sampling/forks.py, which has the last word when the fork runs. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const UNDER_REVIEW = ["propose", "verify"];
  const AR_SCORES = ["ar_nll", "ar_gap", "ar_entropy", "kld", "reverse_kld", "tvd"];

  /** Rounded half to even, as Python rounds. */
  function evenly(value) {
    const low = Math.floor(value);
    const rest = value - low;
    if (rest !== 0.5) return Math.round(value);
    return low % 2 === 0 ? low : low + 1;
  }

  /** The pass that an edit after pass k follows: k itself, or the one before the edits that stand there. */
  function source(run, k) {
    let j = k;
    while (j > 0 && run.passes[j].phase === "edit") j--;
    return j;
  }

  /** The step after pass k is not over: the block is a proposal under review. */
  const reviewed = (run, k) => UNDER_REVIEW.includes(run.passes[source(run, k)].phase);

  /** Positions frozen by the edits before pass k. */
  function frozen(run, k) {
    const held = new Set();
    const fork = run.header.fork;
    for (const edit of fork ? fork.edits : []) {
      if (edit.at >= k) break;
      for (const pos of edit.release || []) held.delete(pos);
      for (const pos of edit.freeze || []) held.add(pos);
      for (const [pos] of edit.force || []) if (run.states(edit.at)[pos] === BlockViz.STATE_CODE.unopened) held.add(pos);
    }
    return held;
  }

  class Plan {
    constructor(run, at) {
      this.run = run;
      this.at = at;
      this.held = frozen(run, at);
      this.clear();
    }

    clear(positions) {
      if (positions) for (const pos of positions) for (const marks of [this.renoise, this.freeze, this.release, this.force]) marks.delete(pos);
      else {
        this.renoise = new Set();
        this.freeze = new Set();
        this.release = new Set();
        this.force = new Map(); // position -> {id} or {text}
      }
    }

    get empty() {
      return !(this.renoise.size || this.freeze.size || this.release.size || this.force.size);
    }

    state(pos) {
      return BlockViz.STATES[this.run.states(this.at)[pos]];
    }

    /** Whether the position holds noise already. */
    noisy(pos) {
      return ["noise", "renoised", "unopened"].includes(this.state(pos));
    }

    /** Whether a person may choose the position at all: the prompt stays as it is. */
    may(pos) {
      return pos >= 0 && pos < this.run.length && this.state(pos) !== "prompt";
    }

    /** What may be written now: the open window but for the prompt; nothing before the first pass. */
    open() {
      const pass = this.run.passes[source(this.run, this.at)];
      const found = [];
      for (let pos = pass.win[0]; pos < pass.win[1]; pos++) if (this.may(pos)) found.push(pos);
      return found;
    }

    /** Why re-noising is not possible here, as the name of its words, or "". */
    get refusal() {
      return reviewed(this.run, this.at) ? "renoise_review" : "";
    }

    act(name, positions) {
      for (const pos of positions) {
        if (name === "renoise") {
          this.clear([pos]);
          if (this.noisy(pos)) continue;
          if (this.held.has(pos)) this.release.add(pos);
          this.renoise.add(pos);
        } else if (name === "freeze") {
          if (this.noisy(pos) && !this.force.has(pos)) continue;
          this.renoise.delete(pos);
          this.release.delete(pos);
          if (!this.held.has(pos)) this.freeze.add(pos);
        } else if (name === "release") {
          this.freeze.delete(pos);
          if (this.held.has(pos)) this.release.add(pos);
        }
      }
    }

    /** Put a token ({id}) or words ({text}) at a position, frozen or not. */
    put(pos, what, keep) {
      this.renoise.delete(pos);
      this.force.set(pos, what);
      if (keep && !this.held.has(pos)) this.freeze.add(pos);
      else this.freeze.delete(pos);
    }

    /** The edit as it is sent: as in a trace file, but that `force` may pair a position with words. */
    edit(settings) {
      const sorted = (marks) => [...marks].sort((a, b) => a - b);
      const force = sorted(this.force.keys()).map((pos) => [pos, this.force.get(pos).text ?? this.force.get(pos).id]);
      // Words may take several positions, which the server counts; freezing those needs ids.
      const body = { at: this.at };
      for (const name of ["renoise", "freeze", "release"]) if (this[name].size) body[name] = sorted(this[name]);
      if (force.length) body.force = force;
      if (Object.keys(settings).length) body.settings = settings;
      return body;
    }

    /** The token that would stand at a position, or null where it is words that only the server reads. */
    token(pos) {
      const put = this.force.get(pos);
      if (!put) return this.run.tokens(this.at)[pos];
      return put.id ?? null;
    }
  }

  // ---- what comes next

  /** Recorded candidates at a position up to pass k: {pass, phase, list}, or null. */
  function candidates(run, k, pos) {
    for (let j = k; j >= 0; j--) {
      const pass = run.passes[j];
      if (pos < pass.win[0] || pos >= pass.win[1]) continue;
      const list = run.top(j, pos);
      if (list.length) return { pass: j, phase: pass.phase, list };
    }
    return null;
  }

  /** The step's pass of a phase after pass k, or -1. */
  function later(run, k, phase) {
    const pass = run.passes[k];
    for (let j = k + 1; j <= run.last; j++) {
      const other = run.passes[j];
      if (other.block !== pass.block || other.step !== pass.step) return -1;
      if (other.phase === phase) return j;
    }
    return -1;
  }

  /** The score that the corrector would give a forced token of a proposal; NaN where the record does not tell. */
  function rescored(plan, k, pos, old) {
    const { run } = plan;
    const corrector = run.header.settings.corrector;
    if (corrector !== "confidence") return old; // entropy, margin and the lot look at the prediction alone
    const id = plan.token(pos);
    const pass = run.passes[k];
    const drawn = pass.why[pos - pass.win[0]] === "2" || run.process !== "masked";
    if (id === null) return NaN;
    if (!drawn) return id === run.tokens(k)[pos] ? old : 1;
    const known = run.top(k, pos).find((one) => one.id === id);
    return known ? 1 - known.p : NaN;
  }

  /** The positions that the coming re-noise pass would choose: {positions, before} or {unknown: position} or null. */
  function renoised(plan, k, decision) {
    const { run } = plan;
    const pass = run.passes[decision];
    const scores = Array.from(run.score(decision));
    const held = new Set([...plan.held, ...plan.freeze].filter((pos) => !plan.release.has(pos)));
    const states = run.states(decision);
    const before = [];
    for (let pos = pass.win[0]; pos < pass.win[1]; pos++) if (states[pos] === BlockViz.STATE_CODE.renoised) before.push(pos);
    // Recorded scores are rounded: where two are level, what was chosen in this run was the higher one.
    const was = (i) => (before.includes(i + pass.win[0]) ? 1 : 0);
    const chosen = (values, count) => {
      const order = values.map((value, i) => i).filter((i) => !Number.isNaN(values[i]));
      order.sort((a, b) => values[b] - values[a] || was(b) - was(a) || a - b);
      return order.slice(0, count).map((i) => i + pass.win[0]).sort((a, b) => a - b);
    };
    for (const pos of plan.force.keys()) {
      const i = pos - pass.win[0];
      if (i < 0 || i >= scores.length || Number.isNaN(scores[i]) || held.has(pos)) continue;
      scores[i] = rescored(plan, k, pos, scores[i]);
      if (Number.isNaN(scores[i])) return { unknown: pos };
    }
    for (const pos of held) if (pos >= pass.win[0] && pos < pass.win[1]) scores[pos - pass.win[0]] = NaN;
    const free = scores.filter((value) => !Number.isNaN(value)).length;
    const count = Math.min(free, Math.max(1, evenly((1 - pass.alpha[1]) * free)));
    return { positions: chosen(scores, count), before };
  }

  /** The pass that followed pass k in this run, past the edits there; null where none did. */
  function followed(run, k) {
    for (let j = k + 1; j <= run.last; j++) if (run.passes[j].phase !== "edit") return run.passes[j];
    return null;
  }

  /** What the sampler does next: {call, name, ...}; `name` is that of the words, `call` whether it takes a network call. */
  function next(plan) {
    const { run } = plan;
    const k = source(run, plan.at);
    const pass = run.passes[k];
    const { corrector, predictor } = run.header.settings;
    const inside = (pos) => pos >= pass.win[0] && pos < pass.win[1];
    const forced = [...plan.force.keys()].some(inside);
    const after = followed(run, plan.at);
    const over = after === null && run.end && run.end.finished !== "stopped";
    const token = predictor === "autoregressive";
    const commit = { call: false, name: "next_commit", start: pass.win[0], stop: pass.win[1] };
    if (pass.phase === "start") return token ? { call: true, name: "next_token" } : { call: true, name: "next_open", block: openAfter(run, 0) };
    if (pass.phase === "propose" && AR_SCORES.includes(corrector)) return { call: true, name: "next_read" };
    if (pass.phase === "verify" && forced) return { call: true, name: "next_reread" };
    if (UNDER_REVIEW.includes(pass.phase)) {
      const decision = later(run, k, "renoise");
      if (decision < 0) return { call: true, name: "next_predict" };
      const found = renoised(plan, k, decision);
      if (found.unknown !== undefined) return { call: true, name: "next_unknown", position: found.unknown };
      const same = found.positions.join() === found.before.join();
      return { call: false, name: same ? "next_renoise_same" : plan.empty ? "next_renoise" : "next_renoise_was", ...found };
    }
    if ([...plan.renoise].some(inside)) {
      const last = pass.phase === "commit" || token || after === null || after.phase === "commit";
      return last ? { call: true, name: "next_again", count: plan.renoise.size } : { call: true, name: "next_predict" };
    }
    if (over && !plan.force.size) return { call: false, name: "next_end" };
    if (token) return { call: true, name: "next_token" };
    if (after !== null && after.phase === "commit") return commit;
    if (after !== null && after.phase === "renoise") return { call: false, name: "next_seam" };
    if (pass.phase === "commit") return { call: true, name: "next_open", block: openAfter(run, pass.win[1]) };
    // Whoever reveals tokens one group after another is done once nothing is noise.
    if (predictor !== "ancestral" && pass.phase === "denoise" && !plan.open().some((pos) => ["noise", "renoised"].includes(plan.state(pos)) && !plan.force.has(pos))) return commit;
    return { call: true, name: "next_predict" };
  }

  /** The number of the block that holds the first position from `start` on which is not the prompt. */
  function openAfter(run, start) {
    let pos = start;
    while (pos < run.length - 1 && run.states(0)[pos] === BlockViz.STATE_CODE.prompt) pos++;
    return run.blockOf(Math.min(pos, run.length - 1)) + 1;
  }

  /** Positions as people count them: "34–36, 40". */
  function named(positions) {
    const parts = [];
    const sorted = [...positions].sort((a, b) => a - b);
    for (let i = 0; i < sorted.length; ) {
      let j = i;
      while (j + 1 < sorted.length && sorted[j + 1] === sorted[j] + 1) j++;
      parts.push(j > i + 1 ? `${sorted[i] + 1}–${sorted[j] + 1}` : sorted.slice(i, j + 1).map((pos) => pos + 1).join(", "));
      i = j + 1;
    }
    return parts.join(", ");
  }

  /** The text after pass k as a prompt with gaps: [[n]] for positions that are chosen or hold noise, up to the last word. */
  function gapped(run, k, picked) {
    const states = run.states(k);
    const tokens = run.tokens(k);
    const blank = (pos) => picked.has(pos) || ["unopened", "noise", "renoised", "after_end"].includes(BlockViz.STATES[states[pos]]);
    const end = run.header.model.end_id;
    let stop = run.length;
    while (stop > 0 && blank(stop - 1) && !picked.has(stop - 1)) stop--;
    const parts = [];
    for (let pos = 0; pos < stop; ) {
      let to = pos;
      if (blank(pos)) {
        while (to < stop && blank(to)) to++;
        parts.push({ gap: to - pos });
      } else {
        while (to < stop && !blank(to)) to++;
        // The end token has no words: the text ends there by itself.
        parts.push({ ids: Array.from(tokens.subarray(pos, to)).filter((id) => id !== end) });
      }
      pos = to;
    }
    const spoken = (ids) => BlockViz.spoken(run, ids);
    return parts.map((part) => (part.gap ? `[[${part.gap}]]` : spoken(part.ids))).filter(Boolean).join(" ");
  }

  BlockViz.steppingPlan = { Plan, candidates, frozen, gapped, named, next, source };
})();
