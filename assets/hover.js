/* BlockViz.Hover: the short form of a token's story, beside the cell that is pointed at or focused; inspector.js has the long one. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);

  const percent = (p) => (p >= 0.9995 ? "100%" : p < 0.001 ? "<0.1%" : (p * 100).toFixed(1) + "%");

  class Hover {
    /** `frame` is the positioned ancestor, `grid` the canvas whose cells are watched; `look()` gives {run, k}. */
    constructor(frame, grid, look) {
      this.frame = frame;
      this.grid = grid;
      this.look = look;
      this.pos = -1;
      this._make();
      grid.addEventListener("pointerover", (event) => {
        const cell = event.target.closest(".bv-cell");
        if (cell && event.pointerType !== "touch") this.show(Number(cell.dataset.pos));
      });
      grid.addEventListener("pointerleave", () => this.hide());
      grid.addEventListener("focusin", (event) => {
        const cell = event.target.closest(".bv-cell");
        if (cell && cell.matches(":focus-visible")) this.show(Number(cell.dataset.pos));
      });
      grid.addEventListener("focusout", () => this.hide());
      grid.addEventListener("click", () => this.hide());
      this._outside = (event) => {
        if (event.type === "keydown" ? event.key === "Escape" : !this.grid.contains(event.target)) this.hide();
      };
      document.addEventListener("pointerdown", this._outside);
      document.addEventListener("keydown", this._outside);
    }

    destroy() {
      document.removeEventListener("pointerdown", this._outside);
      document.removeEventListener("keydown", this._outside);
    }

    _make() {
      this.token = el("b", { class: "bv-tip-token" });
      this.id = el("span", { class: "bv-tip-id" });
      this.place = el("div", { class: "bv-tip-place" });
      this.facts = el("dl", { class: "bv-tip-facts" });
      this.lines = {};
      for (const [key, label] of [
        ["joined", "together"],
        ["state", "state"],
        ["confidence", "probability"],
        ["ar", "AR log p"],
        ["score", "score"],
        ["changed", "last changed"],
      ]) {
        const term = el("dt", { text: label });
        const value = el("dd");
        this.facts.append(term, value);
        this.lines[key] = { term, value };
      }
      this.topTitle = el("div", { class: "bv-tip-title" });
      this.top = el("div", { class: "bv-tip-top" });
      this.tops = [];
      for (let i = 0; i < 5; i++) {
        const bar = el("i");
        const piece = el("span", { class: "bv-tip-piece" });
        const value = el("span", { class: "bv-tip-p" });
        const row = el("div", { class: "bv-tip-row" }, piece, el("span", { class: "bv-tip-bar" }, bar), value);
        this.tops.push({ row, bar, piece, value });
        this.top.append(row);
      }
      this.box = el(
        "div",
        { class: "bv-tip", role: "tooltip", hidden: true },
        el("div", { class: "bv-tip-head" }, this.token, this.id),
        this.place,
        this.facts,
        this.topTitle,
        this.top,
      );
      this.frame.append(this.box);
    }

    show(pos) {
      this.pos = pos;
      this.refresh();
    }

    hide() {
      this.pos = -1;
      this.box.hidden = true;
    }

    _line(key, text, label) {
      const line = this.lines[key];
      line.term.hidden = line.value.hidden = text === null;
      if (label) line.term.textContent = label;
      if (text !== null) line.value.textContent = text;
    }

    /** Write the box anew for the pass on screen; called after each step while it is open. */
    refresh() {
      if (this.pos < 0) return;
      const { run, k } = this.look();
      const pos = this.pos;
      if (!run || k < 0 || pos >= run.length) return this.hide();
      const WORDS = BlockViz.WORDS;
      const id = run.tokens(k)[pos];
      const state = BlockViz.STATES[run.states(k)[pos]];
      const pass = run.passes[k];
      const thrown = state === "renoised" && k > 0 ? run.tokens(k - 1)[pos] : -1;
      this.token.textContent = run.piece(thrown >= 0 ? thrown : id);
      this.token.classList.toggle("is-struck", thrown >= 0);
      this.id.textContent = thrown >= 0 ? `id ${thrown} → ${BlockViz.isolated(run.piece(id))} id ${id}` : `id ${id}`;
      this.place.textContent = `position ${pos + 1} of ${run.length} · block ${run.blockOf(pos) + 1}`;
      const joined = BlockViz.pieces.joined(run, k, pos);
      this._line("joined", joined && `positions ${joined.first + 1} to ${joined.last + 1}: ${BlockViz.isolated(joined.text)}`);
      this._line("state", WORDS.state[state]);
      const open = state !== "prompt" && state !== "unopened";
      const asOf = (j) => (j === k ? "" : `  (pass ${j})`);
      let j = open ? run.latest(k, pos, "conf") : -1;
      const noisy = state === "noise" || state === "renoised";
      this._line(
        "confidence",
        j < 0 ? null : percent(run.confidence(j)[pos - run.passes[j].win[0]]) + asOf(j),
        noisy && j === k ? "best candidate" : "probability",
      );
      j = open ? run.latest(k, pos, "ar") : -1;
      this._line("ar", j < 0 ? null : run.ar(j)[pos - run.passes[j].win[0]].toFixed(2).replace("-", "−") + " nats" + asOf(j));
      j = open ? run.latest(k, pos, "score") : -1;
      const corrector = (run.header.settings && run.header.settings.corrector) || "none";
      const words = WORDS.score[corrector] || WORDS.score.none;
      if (j < 0) this._line("score", null);
      else {
        const value = run.score(j)[pos - run.passes[j].win[0]].toFixed(2).replace("-", "−");
        const cut = run.passes[j].cut;
        const limit = cut === null ? "" : ` · cut ${cut.toFixed(2).replace("-", "−")}`;
        this._line("score", value + (words.unit ? " " + words.unit : "") + limit + asOf(j), words.name);
      }
      const change = run.changedAt(k, pos);
      const why = change.why === "renoised" && change.phase !== "renoise" ? "noise" : change.why;
      const when = change.pass === 0 ? "start" : `pass ${change.pass}, ${WORDS.phase[change.phase]}`;
      this._line("changed", `${when}: ${WORDS.why[why]}`);
      j = open ? run.latest(k, pos, "top") : -1;
      // Beside a doubt stands what AR would have written instead; the re-noising itself shows the denoiser's candidates.
      if (j === k && pass.phase === "renoise" && k > 0 && run.passes[k - 1].phase === "verify" && run.top(k - 1, pos).length) j = k - 1;
      const list = j < 0 ? [] : run.top(j, pos);
      this.topTitle.hidden = this.top.hidden = list.length === 0;
      if (list.length) {
        const by = run.passes[j].phase === "verify" ? "AR would say" : "candidates";
        this.topTitle.textContent = `${by} (pass ${j}, ${WORDS.phase[run.passes[j].phase]})`;
      }
      this.tops.forEach((line, i) => {
        line.row.hidden = i >= list.length;
        if (line.row.hidden) return;
        line.piece.textContent = run.piece(list[i].id);
        line.bar.style.width = Math.round(list[i].p * 100) + "%";
        line.value.textContent = percent(list[i].p);
        line.row.classList.toggle("is-here", list[i].id === (thrown >= 0 ? thrown : id));
      });
      this.box.hidden = false;
      this._put(pos);
    }

    _put(pos) {
      const cell = this.grid.querySelector(`[data-pos="${pos}"]`);
      if (!cell) return this.hide();
      const at = cell.getBoundingClientRect();
      const frame = this.frame.getBoundingClientRect();
      const box = this.box.getBoundingClientRect();
      const left = Math.min(Math.max(6, at.left - frame.left + at.width / 2 - box.width / 2), Math.max(6, frame.width - box.width - 6));
      // Below the cell: the rows above carry the score badges; above only when the window ends first.
      let top = at.bottom - frame.top + 6;
      if (at.bottom + box.height + 12 > window.innerHeight && at.top > box.height + 12) top = at.top - frame.top - box.height - 8;
      this.box.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    }
  }

  BlockViz.Hover = Hover;
})();
