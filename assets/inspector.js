/* BlockViz.Inspector: the panel that opens on a cell: the whole life of that position, pass by pass. It stands under the
   canvas (on a phone it is a sheet at the bottom of the window) and moves along with the pass on screen. The player treats
   it as one more view. Its words are those of blockviz/views/life.py. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);
  const N = BlockViz.numbers;
  const SHEET = "(max-width: 600px)";
  const COLUMNS = ["pass", "phase", "token", "why", "candidates", "p", "entropy", "ar", "score"];
  const TOP = 5;

  const number = (value, digits) => (Number.isNaN(value) ? "" : N.fixed(value, digits));

  class Inspector {
    /** `canvas` holds the cells, `seek(k)` goes to a pass of this run; `label` names the side of Compare. */
    constructor(canvas, seek, label) {
      this.canvas = canvas;
      this.seek = seek;
      this.label = label;
      this.pos = -1;
      this.k = -1;
      this.aim = null;
      this.rows = [];
      this.node = el("section", { class: "bv-inspector", "data-testid": "inspector", tabindex: "-1", hidden: true });
      canvas.grid.addEventListener("click", (event) => this._pressed(event));
      canvas.grid.addEventListener("keydown", (event) => this._pressed(event));
      canvas.grid.addEventListener("focusin", (event) => this._follow(event));
      this.node.addEventListener("keydown", (event) => this._key(event));
      this._escape = (event) => {
        if (event.key !== "Escape" || this.pos < 0 || event.defaultPrevented || document.querySelector("dialog[open]")) return;
        this.close();
      };
      document.addEventListener("keydown", this._escape);
      this._sheet = window.matchMedia(SHEET);
      this._narrow = () => this.pos >= 0 && this._place();
      this._sheet.addEventListener("change", this._narrow);
    }

    destroy() {
      document.removeEventListener("keydown", this._escape);
      this._sheet.removeEventListener("change", this._narrow);
      if (this.chart) this.chart.destroy();
    }

    get words() {
      return BlockViz.panels && BlockViz.panels.life;
    }

    // ---- what opens, moves and closes it

    _pressed(event) {
      const cell = event.target.closest(".bv-cell");
      if (!cell || (event.type === "keydown" && event.key !== "Enter")) return;
      const pos = Number(cell.dataset.pos);
      if (pos === this.pos && event.type === "click") return this.close();
      this.open(pos);
      if (event.type === "keydown") this.node.focus({ preventScroll: false });
    }

    /** Moving the focus over the canvas takes an open inspector along. */
    _follow(event) {
      const cell = event.target.closest(".bv-cell");
      if (this.pos >= 0 && cell && cell.matches(":focus-visible")) this.open(Number(cell.dataset.pos));
    }

    _key(event) {
      if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest(".bv-life-chart")) return;
      const act = {
        ArrowLeft: () => this.open(this.pos - 1),
        ArrowRight: () => this.open(this.pos + 1),
        ArrowUp: () => this._row(-1),
        ArrowDown: () => this._row(1),
        Escape: () => this.close(),
      }[event.key];
      if (!act) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    }

    /** To the row before or after the pass on screen. */
    _row(by) {
      const numbers = this.rows.map((row) => row.number);
      // A key may come before the pass that the one before it asked for is drawn.
      const here = this.aim === null ? this.k : this.aim;
      const next = by > 0 ? numbers.find((k) => k > here) : numbers.filter((k) => k < here).pop();
      if (next === undefined) return;
      this.aim = next;
      this.seek(next);
    }

    open(pos) {
      const { run } = this.canvas;
      if (!this.words || !run || pos < 0 || pos >= run.length || run.passes.length === 0) return;
      const first = this.pos < 0;
      if (first && !this.body) this._make();
      this.run = run;
      this.pos = pos;
      this._mark();
      if (first) this._place();
      this._fill();
      if (this._sheet.matches) this._reveal();
    }

    close() {
      if (this.pos < 0) return;
      const cell = this.canvas.cells[this.pos];
      const inside = this.node.contains(document.activeElement);
      this.pos = -1;
      this._mark();
      if (this.node.hasAttribute("popover") && this.node.matches(":popover-open")) this.node.hidePopover();
      this.node.hidden = true;
      this.node.parentElement.style.paddingBottom = "";
      if (inside && cell) cell.node.focus({ preventScroll: true });
    }

    /** On a phone a sheet over the page, else a panel in it. */
    _place() {
      const { node } = this;
      if (node.hasAttribute("popover") && node.matches(":popover-open")) node.hidePopover();
      node.hidden = false;
      const sheet = this._sheet.matches && typeof node.showPopover === "function";
      BlockViz.mark(node, "popover", sheet ? "manual" : null);
      if (sheet) node.showPopover();
      // Room to scroll the last cells of the page out from under the sheet.
      node.parentElement.style.paddingBottom = sheet ? node.offsetHeight + "px" : "";
    }

    /** The cell must not lie under the sheet. */
    _reveal() {
      const cell = this.canvas.cells[this.pos];
      if (!cell) return;
      const over = cell.node.getBoundingClientRect().bottom + 12 - this.node.getBoundingClientRect().top;
      if (over > 0) window.scrollBy({ top: over });
    }

    _mark() {
      const cell = this.pos >= 0 ? this.canvas.cells[this.pos] : null;
      if (this._marked && this._marked !== cell) {
        this._marked.node.classList.remove("is-inspected");
        this._marked.node.removeAttribute("aria-selected");
      }
      if (cell) {
        cell.node.classList.add("is-inspected");
        cell.node.setAttribute("aria-selected", "true");
      }
      this._marked = cell;
    }

    // ---- what stands in it

    _make() {
      const W = this.words.panel;
      const button = (name, sign, act) => {
        const one = el("button", { type: "button", class: "bv-button bv-life-button", "data-act": name, title: W[name], "aria-label": W[name], text: sign });
        one.addEventListener("click", act);
        return one;
      };
      this.token = el("b", { class: "bv-life-token" });
      this.facts = el("span", { class: "bv-life-facts" });
      this.title = el("h3", { class: "bv-life-title" });
      const head = el(
        "header",
        { class: "bv-life-head" },
        this.token,
        el("div", { class: "bv-life-names" }, this.title, this.facts),
        el(
          "div",
          { class: "bv-life-buttons" },
          button("left", "‹", () => this.open(this.pos - 1)),
          button("right", "›", () => this.open(this.pos + 1)),
          button("close", "×", () => this.close()),
        ),
      );
      this.nowTitle = el("h4");
      this.now = el("ul", { class: "bv-life-now", "data-testid": "life-now" });
      this.chartBox = el("div", { class: "bv-life-chart bv-view", "data-testid": "life-chart" });
      this.tableHead = el("tr");
      for (const name of COLUMNS) {
        this.tableHead.append(el("th", { scope: "col", "data-column": name, title: W[name + "_help"], text: W[name] }));
      }
      this.tableBody = el("tbody");
      this.tableBody.addEventListener("click", (event) => {
        const row = event.target.closest("tr");
        if (row) this.seek(Number(row.dataset.pass));
      });
      this.scroll = el("div", { class: "bv-life-scroll", tabindex: 0, role: "region", "aria-label": "Pass by pass" }, el("table", { "data-testid": "life-table" }, el("thead", {}, this.tableHead), this.tableBody));
      this.speech = el("div", { class: "bv-hidden", role: "status", "aria-live": "polite" });
      this.body = el(
        "div",
        { class: "bv-life-body" },
        el("div", { class: "bv-life-side" }, this.nowTitle, this.now, this.chartBox),
        el("div", { class: "bv-life-main" }, el("h4", { text: W.table }), el("p", { class: "bv-life-help", text: W.table_help }), this.scroll),
      );
      this.node.append(head, this.body, el("p", { class: "bv-life-hint", text: W.hint }), this.speech);
    }

    /** Everything anew, for another position or another run. */
    _fill() {
      const { run, pos } = this;
      const W = this.words.panel;
      const place = N.fill(W.title, { position: pos + 1 });
      const name = this.label ? `${this.label}: ${place}` : place;
      this.node.setAttribute("aria-label", name);
      this.tableBody.replaceChildren();
      this.rows = [];
      this._current = null;
      this._id = run.id;
      const corrector = (run.header.settings && run.header.settings.corrector) || "none";
      const score = this.words.scores[corrector];
      this.node.classList.toggle("has-score", Boolean(score) && corrector !== "ar_nll");
      this.tableHead.querySelector('[data-column="score"]').title = N.fill(W.score_help, { score: score ? score.short : "" });
      this._grow();
      this.k = -1;
      this.aim = null;
      this._show(Math.max(0, Math.min(this.canvas.shown, run.last)));
      BlockViz.write(this.speech, `${name}, ${this.token.textContent}, ${this.words.states[this._state]}`);
    }

    /** Rows for the passes that are new; the chart follows. */
    _grow() {
      const { run, pos } = this;
      const known = this.rows.length ? this._upTo + 1 : 0;
      const fresh = BlockViz.life.rows(run, pos, known);
      this._upTo = run.last;
      const lines = document.createDocumentFragment();
      for (const row of fresh) {
        row.node = this._line(row);
        lines.append(row.node);
        this.rows.push(row);
      }
      this.tableBody.append(lines);
      if (fresh.length) this._chart();
    }

    _chart() {
      if (!this.chart && BlockViz.views && BlockViz.views.life) {
        this.chart = BlockViz.views.life.mount(this.chartBox, this.words);
        this.chart.theme(BlockViz.isDark());
      }
      if (this.chart) this.chart.look(this.run, this.pos, this.rows);
    }

    _line(row) {
      const { run } = this;
      const { phase_words: phases, reasons } = this.words;
      const stepped = !["start", "commit", "edit"].includes(row.phase);
      // As on the canvas: a re-noised position shows what was thrown back.
      const shown = row.state === "renoised" && row.number > 0 ? run.tokens(row.number - 1)[this.pos] : row.token;
      const go = el("button", { type: "button", tabindex: "-1", class: "bv-life-go", text: String(row.number), "aria-label": `${this.words.panel.pass} ${row.number}` });
      const candidates = el("td", { class: "bv-life-candidates", "data-by": row.phase === "verify" ? "ar" : null });
      const strip = el("div", {});
      row.candidates.slice(0, TOP).forEach(({ id, p }) => {
        const piece = run.piece(id);
        const one = el("span", { class: id === shown ? "is-here" : null, title: `${piece}: ${N.percent(p)}` });
        one.style.setProperty("--bv-p", p.toFixed(3));
        one.append(el("span", { class: "bv-life-piece", text: piece }), el("small", { text: N.percent(p).replace("%", "") }));
        strip.append(one);
      });
      candidates.append(strip);
      const said = row.phase === "verify" || row.phase === "start" ? "" : reasons[row.reason];
      return el(
        "tr",
        { "data-pass": row.number, "data-phase": row.phase },
        el("td", {}, go),
        el("td", { class: "bv-life-phase", text: phases[row.phase] + (stepped ? ` ${row.step + 1}` : "") }),
        el("td", {}, el("span", { class: "bv-life-cell bv-sample", "data-state": row.state, text: run.piece(shown) })),
        el("td", { class: "bv-life-why", text: said }),
        candidates,
        el("td", { class: "bv-life-number", text: Number.isNaN(row.confidence) ? "" : N.percent(row.confidence).replace("%", "") }),
        el("td", { class: "bv-life-number", text: number(row.entropy, 2) }),
        el("td", { class: "bv-life-number", text: Number.isNaN(row.ar) ? "" : N.fixed(-row.ar, 2) }),
        el("td", { class: "bv-life-number bv-life-score", text: number(row.score, 2) }),
      );
    }

    /** The pass on screen. */
    _show(k) {
      if (k === this.k) return;
      this.k = k;
      this.aim = null;
      const { run, pos } = this;
      const W = this.words.panel;
      const id = run.tokens(k)[pos];
      const state = (this._state = BlockViz.STATES[run.states(k)[pos]]);
      const thrown = state === "renoised" && k > 0 ? run.tokens(k - 1)[pos] : -1;
      const shown = thrown >= 0 ? thrown : id;
      BlockViz.write(this.token, run.piece(shown));
      BlockViz.mark(this.token, "data-state", state);
      const raw = run.bytes(shown);
      const bytes = raw === null ? W.bytes_unknown : raw === "" ? W.bytes_none : N.fill(W.bytes, { bytes: raw.toUpperCase().replace(/..(?=.)/g, "$& ") });
      const back = thrown >= 0 ? N.fill(W.back, { token: N.quoted(run.piece(id)), id }) : null;
      BlockViz.write(this.facts, [this.words.states[state], N.fill(W.id, { id: shown }), bytes, back].filter(Boolean).join(" · "));
      const block = run.blockOf(pos);
      const [first, behind] = run.spanOf(block);
      const place = N.fill(W.place, { position: pos + 1, length: run.length, block: block + 1, place: pos - first + 1, size: behind - first });
      BlockViz.write(this.title, this.label ? `${this.label}: ${place}` : place);
      BlockViz.write(this.nowTitle, N.fill(W.now, { k, phase: this.words.phase_words[run.passes[k].phase] }));
      const lines = BlockViz.life.compared(run, k, pos);
      while (this.now.children.length > lines.length) this.now.lastChild.remove();
      lines.forEach((line, i) => {
        if (!this.now.children[i]) this.now.append(el("li"));
        BlockViz.write(this.now.children[i], line);
      });
      this._point(k);
      if (this.chart) this.chart.draw(run, k);
    }

    /** Mark the row of the pass on screen, or of the last one before it, and keep it in sight. */
    _point(k) {
      let row = null;
      for (const one of this.rows) if (one.number <= k) row = one;
      if (this._current && this._current !== row) this._current.node.removeAttribute("aria-current");
      this._current = row;
      if (!row) return;
      BlockViz.mark(row.node, "aria-current", "step");
      BlockViz.mark(row.node, "data-past", row.number < k ? "yes" : null);
      const box = this.scroll;
      const head = this.tableHead.offsetHeight;
      const top = row.node.offsetTop;
      if (top - head < box.scrollTop) box.scrollTop = top - head;
      else if (top + row.node.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = top + row.node.offsetHeight - box.clientHeight;
    }

    // ---- one more view of the player

    load(run) {
      if (this.pos < 0) return;
      if (run.id !== this._id || run !== this.run) {
        if (this.pos >= run.length) return this.close();
        this.run = run;
        this._mark();
        this._fill();
        return;
      }
      this._grow();
      if (!this.chart) this._chart();
    }

    draw(run, k) {
      if (this.pos < 0 || run !== this.run) return;
      if (this._marked !== this.canvas.cells[this.pos]) this._mark();
      this._show(k);
    }

    theme(dark) {
      if (this.chart) this.chart.theme(dark);
    }
  }

  BlockViz.Inspector = Inspector;
})();
