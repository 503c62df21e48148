/* The part "What it costs" under Explore: asks for a measurement of what the form says, and shows its table, chart and guidance.
   The chart comes from blockviz/views/cost.py as it is; nothing is computed here. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);
  const GROUP = "cost"; // without players

  class CostView extends BlockViz.View {
    give(id, figures) {
      this.figures = figures;
      this.run = { id };
      this._load(true);
    }

    loaded() {
      const { data, layout } = structuredClone(this.figures[this.themed]);
      const frame = this.blank().layout;
      this.show({ data, layout: { ...layout, width: frame.width, height: frame.height, datarevision: frame.datarevision } });
      BlockViz.Plotly.restyle(this.plot, { hovertemplate: "%{hovertext}<extra></extra>" }); // each bar has its own words
    }
  }

  class Cost {
    /** `options`: words, models, alive, silence; `emit(name, data)` asks the server. */
    constructor(root, options, emit) {
      const { words } = options;
      this.options = options;
      this.emit = emit;
      this.busy = false;
      root.classList.add("bv-seeds", "bv-cost");
      const button = (name, kind, title) => el("button", { type: "button", class: kind, "data-testid": "cost-" + name, text: words[name], title });
      this.go = button("rivals", "bv-seeds-go", words.help);
      this.grid = button("grid", "", words.grid_title);
      this.halt = button("stop", "bv-seeds-stop", "");
      this.bar = el("progress", { max: 1, value: 0, hidden: true });
      this.status = el("p", { class: "bv-seeds-status", role: "status", "data-testid": "cost-status" });
      const head = el("div", { class: "bv-seeds-head" }, el("h3", { text: words.title }), this.go, this.grid, this.halt, this.bar, this.status);
      this.body = el("div", { class: "bv-cost-body", hidden: true });
      root.append(head, el("p", { class: "bv-result-help", text: words.help }), this.body);
      this.method = el("p", { class: "bv-result-help", "data-testid": "cost-method" });
      this.table = el("div", { class: "bv-seeds-table" });
      this.mount = el("section", { class: "bv-view", "data-testid": "cost-chart" });
      this.advice = el("div", { class: "bv-cost-advice", "data-testid": "cost-guidance" });
      this.more = el("details", { class: "bv-cost-more" }, el("summary", { text: words.table }), this.table);
      this.body.append(this.method, this.mount, this.advice, this.more);
      this.go.addEventListener("click", () => this.start("rivals"));
      this.grid.addEventListener("click", () => this.start("grid"));
      this.halt.addEventListener("click", () => {
        this.halt.disabled = true;
        this.stopping = true;
        this.status.textContent = words.stopping;
        emit("stop", {});
      });
      this._theme = new MutationObserver(() => this.chart && this.chart.theme(BlockViz.isDark()));
      this._theme.observe(document.body, { attributes: true, attributeFilter: ["class"] });
      const say = (text) => (this.status.textContent = text);
      this.silence = new BlockViz.Silence({ words: options.silence, address: options.alive, say, lost: () => this.over() });
      this._settle();
    }

    _settle() {
      this.go.disabled = this.grid.disabled = this.busy || !this.options.models;
      this.halt.disabled = !this.busy || this.stopping;
      this.bar.hidden = !this.busy;
    }

    start(kind) {
      const form = BlockViz.formNow && BlockViz.formNow("explore");
      if (this.busy || !form) return;
      this.busy = true;
      this.stopping = false;
      this.bar.removeAttribute("value");
      this.status.textContent = this.options.words.starting;
      this.status.classList.remove("is-error");
      this._settle();
      this.silence.heard();
      this.emit("cost", { kind, form });
    }

    /** An answer of the server. */
    answer(text) {
      if (!text) return;
      const { n, state, message, done, total, shown } = JSON.parse(text);
      this.busy = state === "running";
      if (this.busy) this.silence.heard();
      else this.silence.end(GROUP);
      if (total) {
        this.bar.max = total;
        this.bar.value = done;
      }
      if (!(this.busy && this.stopping)) this.status.textContent = message;
      this.status.classList.toggle("is-error", state === "error");
      this._settle();
      if (shown) this._show(String(n), shown);
    }

    /** The event is over, however it ended. */
    over() {
      if (!this.busy) return;
      this.busy = false;
      this.silence.end(GROUP);
      this.status.textContent = this.options.words.lost;
      this._settle();
    }

    _show(id, shown) {
      this.body.hidden = false;
      const head = el("tr", {}, ...shown.columns.map((name) => el("th", { text: name })));
      const rows = shown.rows.map(([name, ...cells]) => el("tr", {}, el("th", { text: name }), ...cells.map((cell) => el("td", { text: cell }))));
      this.table.replaceChildren(el("table", { "data-testid": "cost-table" }, el("thead", {}, head), el("tbody", {}, ...rows)));
      this.method.textContent = shown.method;
      this.advice.hidden = !shown.guidance.length;
      this.advice.replaceChildren(...shown.guidance.map((line) => el("p", { text: line })));
      this.more.open = !shown.guidance.length; // the table of many block sizes is long
      if (!this.chart) {
        this.chart = new CostView(this.mount, BlockViz.panels.cost);
        this.chart.theme(BlockViz.isDark());
      }
      this.chart.give(id, shown.figures);
    }
  }

  BlockViz.Cost = Cost;
})();
