/* The part "Many seeds" of Compare: asks for n seeds of what the form says, and shows how the figures are spread and what can be told. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);
  const N = BlockViz.numbers;
  const GROUP = "seeds"; // without players
  const CHARTS = ["right", "nll", "entropy", "nfe"];

  class ManySeeds {
    /** `options`: words, counts, usual; `emit(name, data)` asks the server. */
    constructor(root, options, emit) {
      const { words } = options;
      this.options = options;
      this.emit = emit;
      this.busy = false;
      root.classList.add("bv-seeds");
      this.count = el("select", { class: "bv-pill", "data-testid": "seed-count", "aria-label": words.count, title: words.count });
      for (const count of options.counts) this.count.append(el("option", { value: count, text: count }));
      this.count.value = options.usual;
      this.go = el("button", { type: "button", class: "bv-seeds-go", "data-testid": "seeds-run" });
      this.halt = el("button", { type: "button", class: "bv-seeds-stop", "data-testid": "seeds-stop", text: words.stop });
      this.bar = el("progress", { max: 1, value: 0, hidden: true });
      this.status = el("p", { class: "bv-seeds-status", role: "status", "data-testid": "seeds-status" });
      this.body = el("div", { class: "bv-seeds-body", hidden: true });
      const head = el("div", { class: "bv-seeds-head" }, el("h3", { text: words.title }), this.count, this.go, this.halt, this.bar, this.status);
      root.append(head, el("p", { class: "bv-result-help", text: words.help }), this.body);
      this.table = el("div", { class: "bv-seeds-table" });
      this.shelf = el("div", { class: "bv-seeds-charts" });
      this.method = el("p", { class: "bv-result-help", "data-testid": "seeds-method" });
      this.body.append(this.shelf, this.table, this.method);
      this.charts = CHARTS.map((name) => {
        const mount = el("section", { class: "bv-view", "data-testid": "seeds-" + name, hidden: true });
        this.shelf.append(mount);
        return { name, mount, it: null };
      });
      this.count.addEventListener("change", () => this._settle());
      this.go.addEventListener("click", () => this.start());
      this.halt.addEventListener("click", () => {
        this.halt.disabled = true;
        this.status.textContent = words.stopping;
        emit("stop", {});
      });
      this._theme = new MutationObserver(() => this.charts.forEach(({ it }) => it && it.theme(BlockViz.isDark())));
      this._theme.observe(document.body, { attributes: true, attributeFilter: ["class"] });
      const say = (text) => (this.status.textContent = text);
      this.silence = new BlockViz.Silence({ words: options.silence, address: options.alive, say, lost: () => this.over() });
      this._settle();
    }

    _settle() {
      this.go.textContent = N.fill(this.options.words.run, { count: this.count.value });
      this.go.disabled = this.busy || !this.options.models;
      this.halt.disabled = !this.busy;
      this.count.disabled = this.busy;
      this.bar.hidden = !this.busy;
    }

    start() {
      if (this.busy) return;
      this.busy = true;
      this.bar.removeAttribute("value");
      this.status.textContent = this.options.words.starting;
      this.status.classList.remove("is-error");
      this._settle();
      const form = BlockViz.compare.form();
      const scorer = BlockViz.comparisonScorer ? BlockViz.comparisonScorer(form.a.model) : "";
      this.silence.heard();
      this.emit("study", { count: Number(this.count.value), scorer, form });
    }

    /** An answer of the server. */
    answer(text) {
      if (!text) return;
      const { state, message, done, total, study } = JSON.parse(text);
      this.busy = state === "running";
      if (this.busy) this.silence.heard();
      else this.silence.end(GROUP);
      if (total) {
        this.bar.max = total;
        this.bar.value = done;
      }
      if (!(this.busy && this.halt.disabled && done)) this.status.textContent = message;
      this.status.classList.toggle("is-error", state === "error");
      const stopping = this.halt.disabled && this.busy && done > 0;
      this._settle();
      if (stopping) this.halt.disabled = true;
      if (study) this._show(study);
    }

    /** The event is over, however it ended. */
    over() {
      if (!this.busy) return;
      this.busy = false;
      this.silence.end(GROUP);
      this.status.textContent = this.options.words.lost;
      this._settle();
    }

    _show(study) {
      const { words } = this.options;
      this.body.hidden = false;
      const table = el("table", { "data-testid": "seeds-table" });
      const head = el("tr", {}, el("th", { text: words.whole }));
      for (const label of study.labels) head.append(el("th", {}, el("i", { class: "bv-run-line", "data-run": label.toLowerCase(), "aria-hidden": "true" }), label));
      for (const name of study.columns) head.append(el("th", { text: name }));
      const body = el("tbody");
      for (const row of study.rows) {
        const line = el("tr", { "data-row": row.key }, el("th", { text: row.name }));
        for (const cell of row.cells) line.append(el("td", { text: cell }));
        for (const { text, tells, words: said } of row.differences) {
          line.append(el("td", { class: tells ? "bv-tells" : null }, text, said ? el("span", { class: "bv-told", text: said }) : null));
        }
        body.append(line);
      }
      table.append(el("thead", {}, head), body);
      this.table.replaceChildren(table);
      this.method.textContent = study.method;
      this._draw(study);
    }

    _draw(study) {
      const kind = BlockViz.views.seeds;
      if (!kind) return;
      const shown = this.charts.filter(({ name }) => study.charts[name]);
      this.shelf.style.setProperty("--count", shown.length);
      for (const chart of this.charts) {
        const rows = study.charts[chart.name];
        chart.mount.hidden = !rows;
        if (!rows) continue;
        if (!chart.it) {
          chart.it = kind.mount(chart.mount, BlockViz.panels.compare.seeds[chart.name], chart.name);
          chart.it.theme(BlockViz.isDark());
        }
        chart.it.give({ id: study.labels.join() + study.seeds.length, rows, labels: study.labels, seeds: study.seeds, intervals: study.intervals });
      }
    }
  }

  BlockViz.ManySeeds = ManySeeds;
})();
