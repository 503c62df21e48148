/* The gallery of recorded runs, and the dialog for exports: both open over the page from the bar of a tab (filebar.js). */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);
  const { fill } = BlockViz.files;

  const SPEEDS = ["2", "4", "6", "12"];
  const FILMS = ["gif", "mp4"];
  let pictures = null; // a promise, once asked for

  function dialog(className, title, ...parts) {
    const close = el("button", { type: "button", class: "bv-pill bvf-close", "aria-label": "Close", text: "×" });
    const node = el("dialog", { class: className, "aria-label": title }, el("header", {}, el("h2", { text: title }), close), ...parts);
    close.addEventListener("click", () => node.close());
    node.addEventListener("click", (event) => event.target === node && node.close());
    document.body.append(node);
    return node;
  }

  /* ---- the gallery ---- */

  /** Draws the states of a run, a row a pass, a column a stretch of positions, in the colours of the fill map. */
  function draw(canvas, rows, colors) {
    if (!rows) return;
    canvas.width = rows[0].length;
    canvas.height = rows.length;
    const pen = canvas.getContext("2d");
    rows.forEach((row, y) => {
      for (let x = 0; x < row.length; x++) {
        pen.fillStyle = colors[Number(row[x])] || "transparent";
        pen.fillRect(x, y, 1, 1);
      }
    });
  }

  function card(entry, choose) {
    const shelf = el("div", { class: "bvf-pictures", "aria-hidden": "true" });
    for (const name of entry.runs) shelf.append(el("canvas", { "data-run": name }));
    const button = el(
      "button",
      { type: "button", class: "bvf-example", "data-testid": `example-${entry.name}` },
      shelf,
      el("b", { text: entry.title }),
      el("span", { text: entry.sentence }),
    );
    if (entry.chosen) button.append(el("small", { text: entry.chosen }));
    button.addEventListener("click", () => choose(entry));
    return button;
  }

  class Gallery {
    constructor(options, choose) {
      const { words } = options;
      this.options = options;
      this.cards = options.entries.map((entry) =>
        card(entry, (chosen) => {
          this.node.close();
          choose(chosen);
        }),
      );
      const shelves = options.tasks.flatMap(({ name, label }) => {
        const cards = this.cards.filter((_, i) => options.entries[i].task === name);
        return cards.length ? [el("h3", { text: label }), el("div", { class: "bvf-examples" }, ...cards)] : [];
      });
      this.node = dialog("bvf-gallery", words.gallery, el("p", { class: "bvf-help", text: words.gallery_help }), ...shelves);
      this.node.dataset.testid = "gallery";
    }

    /** Show it; `name` is the example on screen. */
    async open(name) {
      this.options.entries.forEach((entry, i) => BlockViz.mark(this.cards[i], "aria-current", entry.name === name ? "true" : null));
      this.node.showModal();
      const current = this.cards.find((one) => one.getAttribute("aria-current"));
      if (current) current.scrollIntoView({ block: "nearest" });
      if (!pictures) pictures = fetch(this.options.pictures).then((answer) => answer.json(), () => ({}));
      const found = await pictures;
      const colors = this.options.colors[BlockViz.isDark() ? "dark" : "light"];
      for (const canvas of this.node.querySelectorAll("canvas")) draw(canvas, found[canvas.dataset.run], colors);
    }
  }

  /* ---- exports ---- */

  class Exporter {
    constructor(options, runs) {
      const { words } = options;
      Object.assign(this, { options, words, runs, bus: BlockViz.bus(options.group) });
      this.kinds = el("div", { class: "bvf-kinds", role: "radiogroup", "aria-label": words.export_title });
      for (const { kind, label, help } of options.kinds) {
        const radio = el("input", { type: "radio", name: `bvf-kind-${options.group}`, value: kind, "data-testid": `kind-${kind}` });
        this.kinds.append(el("label", {}, radio, el("b", { text: label }), el("span", { text: help })));
      }
      this.kinds.querySelector("input").checked = true;
      this.kinds.addEventListener("change", () => this._applies());
      this.charts = el("input", { type: "checkbox", checked: true });
      this.chartsLine = el("label", { class: "bvf-option" }, this.charts, words.charts);
      this.rate = el("select", { class: "bv-pill" }, ...SPEEDS.map((speed) => el("option", { value: speed, text: speed })));
      this.rate.value = "6";
      this.rateLine = el("label", { class: "bvf-option" }, words.rate, this.rate);
      this.bar = el("progress", { max: 1, value: 0, hidden: true });
      this.status = el("p", { class: "bvf-status", role: "status", "data-testid": "export-status" });
      this.go = el("button", { type: "button", class: "bvf-go", text: words.make, "data-testid": "export-go" });
      this.cancel = el("button", { type: "button", class: "bv-pill", text: words.cancel, hidden: true, "data-testid": "export-cancel" });
      this.go.addEventListener("click", () => this._make());
      this.cancel.addEventListener("click", () => this.work && this.work.abort());
      const foot = el("footer", {}, this.go, this.cancel, this.bar, this.status);
      this.node = dialog("bvf-export", words.export_title, this.kinds, this.chartsLine, this.rateLine, foot);
      this.node.dataset.testid = "export-dialog";
      this.node.addEventListener("close", () => this.work && this.work.abort());
      this._applies();
    }

    get kind() {
      return this.kinds.querySelector("input:checked").value;
    }

    _applies() {
      this.chartsLine.hidden = this.kind !== "html";
      this.rateLine.hidden = !FILMS.includes(this.kind);
    }

    open() {
      this.status.textContent = "";
      this.node.showModal();
    }

    _settle(running) {
      this.go.disabled = running;
      this.cancel.hidden = this.bar.hidden = !running;
      for (const input of this.node.querySelectorAll("input, select")) input.disabled = running;
    }

    async _make() {
      const { words } = this;
      const runs = this.runs();
      if (!runs.length) {
        this.status.textContent = words.no_run;
        return;
      }
      const asked = { kind: this.kind, theme: BlockViz.isDark() ? "dark" : "light" };
      if (!this.chartsLine.hidden && !this.charts.checked) asked.views = "0";
      if (!this.rateLine.hidden) asked.rate = this.rate.value;
      if (asked.kind === "picture") asked.pass = String(this.bus.pass);
      if (runs.length > 1) asked.align = this.bus.axis;
      this.work = new AbortController();
      this.bar.removeAttribute("value"); // not known yet
      this.status.textContent = words.preparing;
      this._settle(true);
      const result = await BlockViz.files.exported(runs, asked, this.options, (news) => this._told(news), this.work.signal);
      this.work = null;
      this._settle(false);
      this.status.textContent =
        result.error || (result.cancelled ? words.cancelled : fill(words.done, { file: result.name, size: BlockViz.files.sizeWords(result.size) }));
    }

    _told({ waiting, progress, of, file }) {
      const { words } = this;
      if (waiting) this.status.textContent = fill(words.waiting, { count: waiting });
      if (of === undefined) return;
      this.bar.max = of;
      this.bar.value = progress;
      this.status.textContent = fill(words.frames, { file, done: progress, count: of });
    }
  }

  Object.assign(BlockViz.files, { Gallery, Exporter });
})();
