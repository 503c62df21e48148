/* BlockViz.Story: the pass in one sentence, the passes that read as one step, and on the canvas, under each token that AR
   doubts, what AR would write instead. Words and their twin in Python: blockviz/views/story.py. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);
  const N = BlockViz.numbers;
  const REASON = { prompt: "1", revealed: "2", resampled: "3", kept: "5" };
  const ROOMY = 43; // px of a cell in which a token and a number stand side by side

  const words = () => BlockViz.panels && BlockViz.panels.story;

  const countOf = (list, wanted) => {
    let n = 0;
    for (const one of list) if (wanted(one)) n++;
    return n;
  };

  /** The verification that a verify or re-noise pass rests on: its pass, or -1. */
  function reading(run, k) {
    const pass = run.passes[k];
    if (pass.phase === "verify") return k;
    if (pass.phase !== "renoise" || k === 0) return -1;
    const before = run.passes[k - 1];
    return before.phase === "verify" && before.win[0] === pass.win[0] && before.win[1] === pass.win[1] ? k - 1 : -1;
  }

  /** Scores of the window at a verify or re-noise pass (NaN: not free to change). */
  function scoresOf(run, k) {
    const pass = run.passes[k];
    if (pass.phase === "renoise") return run.score(k);
    const states = run.states(k);
    return run.ar(k).map((value, i) => (states[pass.win[0] + i] === BlockViz.STATE_CODE.prompt ? NaN : -value));
  }

  /** What AR would have written instead of each token it doubts: [{pos, id, p}]. */
  function alternatives(run, k) {
    const source = reading(run, k);
    if (source < 0) return [];
    const pass = run.passes[k];
    const scores = scoresOf(run, k);
    const states = run.states(k);
    const tokens = run.tokens(source);
    const list = [];
    for (let pos = pass.win[0]; pos < pass.win[1]; pos++) {
      const best = run.top(source, pos)[0];
      if (!best || Number.isNaN(scores[pos - pass.win[0]])) continue;
      const doubted = pass.phase === "renoise" ? states[pos] === BlockViz.STATE_CODE.renoised : best.id !== tokens[pos];
      if (doubted) list.push({ pos, id: best.id, p: best.p });
    }
    return list;
  }

  /** At how many free positions AR's own choice is another token than the proposed one; -1 where AR was not asked. */
  function disagreements(run, k, scores) {
    const source = reading(run, k);
    if (source < 0) return -1;
    const start = run.passes[k].win[0];
    const tokens = run.tokens(source);
    let asked = false;
    let n = 0;
    scores.forEach((score, i) => {
      const best = run.top(source, start + i)[0];
      if (best) asked = true;
      if (best && best.id !== tokens[start + i] && !Number.isNaN(score)) n++;
    });
    return asked ? n : -1;
  }

  function sentence(run, k) {
    const W = words().words;
    const pass = run.passes[k];
    if (pass.phase === "start") return W.start;
    const why = [...pass.why];
    const free = why.length - countOf(why, (code) => code === REASON.prompt);
    if (pass.phase === "edit") return edited(run.editAt(k), W);
    if (pass.phase === "commit") return N.fill(W.commit, { block: pass.block + 1, free: N.count(free, "token") });
    const fresh = countOf(why, (code) => code === REASON.revealed || code === REASON.resampled);
    if (pass.phase === "propose") return N.fill(fresh === free ? W.propose_all : W.propose, { new: fresh, free: N.count(free, "token") });
    if (pass.phase === "denoise") {
      const CODE = BlockViz.STATE_CODE;
      const held = countOf(run.states(k).subarray(pass.win[0], pass.win[1]), (state) => state === CODE.noise || state === CODE.renoised);
      const kept = countOf(why, (code) => code === REASON.kept);
      return N.fill(held ? W.denoise : W.denoise_all, { new: N.count(fresh, "token"), kept, left: held });
    }
    return pass.phase === "verify" ? verified(run, k, W) : thrown(run, k, W);
  }

  const plain = (value) => (value === true ? "on" : value === false ? "off" : String(value));

  /** What an edit changes, in one sentence. */
  function edited(edit, W) {
    const parts = [];
    for (const name of ["force", "renoise", "freeze", "release"]) {
      if (edit && edit[name]) parts.push(N.fill(W["edit_" + name], { tokens: N.count(edit[name].length, "token") }));
    }
    const changed = Object.entries((edit && edit.settings) || {}).map(([name, value]) => `${name.replaceAll("_", " ")} ${plain(value)}`);
    if (changed.length) parts.push(N.fill(W.edit_settings, { changed: changed.join(", ") }));
    return parts.length ? N.fill(W.edit, { what: parts.join(", ") }) : W.edit_nothing;
  }

  function verified(run, k, W) {
    const scores = scoresOf(run, k);
    const free = countOf(scores, (score) => !Number.isNaN(score));
    const doubted = Math.max(0, disagreements(run, k, scores));
    if (doubted === 0) return N.fill(W.verify_none, { free: N.count(free, "token") });
    let worst = -1;
    scores.forEach((score, i) => {
      if (!Number.isNaN(score) && (worst < 0 || score > scores[worst])) worst = i;
    });
    const token = N.quoted(run.piece(run.tokens(k)[run.passes[k].win[0] + worst]));
    return N.fill(W.verify, { doubted, free: N.count(free, "token"), token, score: N.brief(scores[worst]) });
  }

  function thrown(run, k, W) {
    const { verifiers, scores: names } = words();
    const pass = run.passes[k];
    if (!pass.k) return W.renoise_nothing;
    if (pass.cut === null) return N.fill(run.plan.overlap ? W.renoise_draft : W.renoise_seam, { count: N.count(pass.k, "token") });
    const corrector = run.header.settings.corrector;
    const scores = run.score(k);
    const doubted = disagreements(run, k, scores);
    let kind = corrector === "ar_nll" || corrector === "random" ? corrector : verifiers.includes(corrector) ? "ar" : "own";
    if (kind.startsWith("ar") && doubted < 0) kind = "own";
    const score = names[corrector] || names.ar_nll;
    const unit = kind === "ar_nll" ? "" : score.unit;
    return N.fill(W[`renoise_${kind}${pass.k === 1 ? "_one" : ""}`], {
      doubted,
      free: N.count(countOf(scores, (value) => !Number.isNaN(value)), "token"),
      k: pass.k,
      cut: `${N.brief(pass.cut)} ${unit}`.trim(),
      short: score.short,
    });
  }

  /** The passes of the guided step that pass k belongs to, by phase; empty for any other pass. */
  function stepPasses(run, k) {
    const { parts } = words();
    const pass = run.passes[k];
    const found = {};
    if (!parts.includes(pass.phase)) return found;
    // A person may step in between, and have the proposal read again: the nearest pass of each phase counts.
    for (const by of [-1, 1]) {
      for (let j = k; j >= 0 && j <= run.last; j += by) {
        const other = run.passes[j];
        if (!(parts.includes(other.phase) || other.phase === "edit") || other.block !== pass.block || other.step !== pass.step) break;
        if (parts.includes(other.phase) && !(other.phase in found)) found[other.phase] = j;
      }
    }
    return found;
  }

  class Story {
    /** `canvas` is the player's token canvas, `seek(k)` goes to a pass. */
    constructor(canvas, seek) {
      this.canvas = canvas;
      this.said = el("span", { class: "bv-story-said" });
      this.step = el("span", { class: "bv-story-step", role: "group" });
      this.node = el("div", { class: "bv-story", "data-testid": "story" }, this.step, this.said);
      this.buttons = {};
      this._shown = [];
      this._seek = seek;
    }

    load(run) {
      this.run = run;
      const known = words();
      this.node.hidden = !known;
      if (!known) return;
      this.step.setAttribute("aria-label", known.player.step);
      const corrector = (run.header.settings && run.header.settings.corrector) || "none";
      const parts = known.parts.filter((phase) => corrector !== "none" && (phase !== "verify" || known.verifiers.includes(corrector)));
      this.step.replaceChildren();
      this.buttons = {};
      for (const phase of parts) {
        if (this.step.firstChild) this.step.append(el("i", { "aria-hidden": "true", text: "›" }));
        const button = el("button", { type: "button", class: "bv-story-part", "data-phase": phase, text: known.phases[phase] });
        button.addEventListener("click", () => this._seek(Number(button.dataset.pass)));
        this.buttons[phase] = button;
        this.step.append(button);
      }
      this.step.hidden = parts.length === 0;
      this.canvas.grid.parentElement.classList.toggle("is-read", parts.includes("verify"));
      this._forget();
    }

    draw(k) {
      const { run } = this;
      if (!words() || !run || run !== this.canvas.run) return;
      BlockViz.write(this.said, sentence(run, k));
      const passes = stepPasses(run, k);
      this.step.classList.toggle("is-off", Object.keys(passes).length === 0);
      for (const [phase, button] of Object.entries(this.buttons)) {
        const at = passes[phase];
        button.disabled = at === undefined;
        BlockViz.mark(button, "data-pass", at);
        BlockViz.mark(button, "aria-current", at === k ? "step" : null);
      }
      this._doubts(k);
    }

    _forget() {
      for (const cell of this._shown) clear(cell);
      this._shown = [];
    }

    /** Under each doubted token what AR would write: inside the cell, so that the grid stays as it is. */
    _doubts(k) {
      const list = alternatives(this.run, k);
      const cells = this.canvas.cells;
      const keep = new Set(list.map(({ pos }) => cells[pos]));
      for (const cell of this._shown) if (!keep.has(cell)) clear(cell);
      this._shown = [];
      const written = list.length ? this.run.tokens(reading(this.run, k)) : null;
      const roomy = this.canvas.plan.cell >= ROOMY;
      for (const { pos, id, p } of list) {
        const cell = cells[pos];
        if (!cell) continue;
        if (!cell.other) {
          cell.other = el("span", { class: "bv-other" }, el("span", { class: "bv-other-piece" }), el("span", { class: "bv-other-p" }));
        }
        if (!cell.other.isConnected) cell.node.append(cell.other);
        const piece = this.run.piece(id);
        BlockViz.write(cell.other.firstChild, piece);
        BlockViz.write(cell.other.lastChild, roomy ? N.percent(p).replace(/\.\d/, "") : "");
        cell.other.style.setProperty("--bv-p", p.toFixed(3));
        const said = N.fill(words().player.alternative, { token: N.quoted(piece), p: N.percent(p) });
        BlockViz.mark(cell.node, "aria-description", said);
        cell.node.classList.add("has-other");
        cell.other.classList.toggle("is-same", id === written[pos]);
        this._shown.push(cell);
      }
    }
  }

  function clear(cell) {
    if (cell.other) cell.other.remove();
    cell.node.classList.remove("has-other");
    cell.node.removeAttribute("aria-description");
  }

  BlockViz.Story = Story;
  BlockViz.story = { sentence, alternatives, stepPasses };
})();
