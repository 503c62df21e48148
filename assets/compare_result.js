/* BlockViz.Comparison: what stands under the canvases of several runs: in what they differ, their figures side by side, their final
   texts with differences marked, and the charts over network calls. On an exported page it works without a server; there nobody
   can be asked how likely a model finds the texts. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);
  const N = BlockViz.numbers;
  const { facts, differing, differences, curves, finalPositions, finalTokens } = BlockViz.comparison;

  const AGAIN_MS = 500; // figures of runs that grow are worked out at most this often
  const CHARTS = ["placed", "confidence", "revised"];
  const MARKS = { right: " ✓", wrong: " ✗" };
  const NONE = "–";

  const sumOf = (one) => one.denoise + one.verify;
  const whole = (value) => ({ text: String(value), number: value });
  const decimal = (value, digits) => (Number.isFinite(value) ? { text: N.fixed(value, digits), number: value } : { text: NONE });

  /** Every row as {text, number} of one run; `number` where a difference makes sense. */
  const ROWS = {
    calls: (one) => ({ text: `${one.denoise} + ${one.verify}`, number: sumOf(one) }),
    tokens: (one) => whole(one.tokens),
    per_call: (one) => decimal(one.tokens / sumOf(one), 2),
    ms_pass: (one) => (one.passes && one.ms ? decimal(one.ms / one.passes, 1) : { text: NONE }),
    ms: (one) => (one.ms ? decimal(one.ms, 0) : { text: NONE }),
    nll: (one, said) => (said && typeof said.nll === "number" ? { text: N.close(said.nll), number: said.nll } : { text: said && said.problem ? NONE : "…" }),
    entropy: (one) => (one.tokens ? decimal(one.entropy, 2) : { text: NONE }),
    distinct: (one) => ({ text: one.distinct.map(([count, all]) => (all ? `${Math.round((100 * count) / all)} %` : NONE)).join(" · ") }),
    revised: (one) => whole(one.revised),
    thrown: ({ back }) => whole(back.thrown),
    returned: ({ back }) => ({ text: back.thrown ? `${back.same} / ${back.better} / ${back.worse} / ${back.unjudged}` : NONE }),
    righted: ({ back, equations }) => ({ text: back.thrown && equations[1] ? `${back.righted} / ${back.spoilt}` : NONE }),
    equations: ({ equations: [right, all] }) => (all ? { text: `${right} of ${all}`, number: right } : { text: NONE }),
    answer: (one) => ({ text: one.answer ? one.answer + (MARKS[one.verdict] || "") : NONE }),
  };
  const CHECKED_TASK = "math";
  const CHECKED = ["righted", "equations", "answer"]; // rows for runs of the task that has a checker
  const DIGITS = { per_call: 2, ms_pass: 1, nll: 2, entropy: 2 };

  class Comparison {
    /** Options: group; `scorers` are the models that can be asked, { name, task, reads_only }; `emit(name, data)` asks the server. */
    constructor(root, options) {
      this.root = root;
      this.options = options;
      this.bus = BlockViz.bus(options.group);
      this.scorers = options.scorers || [];
      this.scorer = this._reader(null);
      this.said = new Map(); // "run scorer" -> {nll} or {problem}
      this.asked = "";
      this.runs = [];
      this._key = "";
      this._at = 0;
      root.classList.add("bv-comparison");
      this.card = el("section", { class: "bv-card bv-result", hidden: true });
      this.shelf = el("section", { class: "bv-card bv-charts", hidden: true });
      root.append(this.card, this.shelf);
      this.charts = CHARTS.map((name) => {
        const mount = el("section", { class: "bv-view", "data-testid": "chart-" + name });
        this.shelf.append(mount);
        return { name, mount, it: null };
      });
      this._theme = new MutationObserver(() => this.charts.forEach(({ it }) => it && it.theme(BlockViz.isDark())));
      this._theme.observe(document.body, { attributes: true, attributeFilter: ["class"] });
      // Told by the browser, not asked for in the middle of a frame, where the answer would cost a layout.
      this._seen = new IntersectionObserver((entries) => {
        for (const { target, isIntersecting } of entries) {
          if (target === this.shelf) this._near = isIntersecting;
          if (!isIntersecting) continue;
          this._ask();
          this.bus.redraw();
        }
      });
      this._seen.observe(this.shelf);
      this._seen.observe(this.card);
      this.bus.join(this.bus.transports, this);
    }

    destroy() {
      this._theme.disconnect();
      this._seen.disconnect();
      clearTimeout(this._later);
      for (const { it } of this.charts) if (it) it.destroy();
    }

    /** The bus drew a frame. */
    draw() {
      if (!this.root.isConnected) return;
      const players = this.bus.loaded;
      const key = players.map(({ run }) => [run.id, run.passes.length, Boolean(run.end)].join(".")).join() + Boolean(BlockViz.views.progress);
      if (key !== this._key) {
        const wait = this.bus.live ? AGAIN_MS - (performance.now() - this._at) : 0;
        if (wait > 0) {
          if (!this._later) this._later = setTimeout(() => ((this._later = 0), this.bus.redraw()), wait);
        } else {
          this._key = key;
          this._at = performance.now();
          this._work(players);
        }
      }
      if (this._near) this._stand();
    }

    /** The dots on the lines go where the runs stand. */
    _stand() {
      const passes = this.runs.map(({ player }) => this.bus.target(player));
      for (const { it } of this.charts) if (it) it.stand(passes);
    }

    /** Who reads texts of a task: a model that can do nothing else and wrote none of them, or the first of that task. */
    _reader(task) {
      const own = this.scorers.filter((one) => one.task === task);
      return (own.find((one) => one.reads_only) || own[0] || this.scorers[0] || { name: "" }).name;
    }

    /** Who would read what a model writes: who reads the runs on screen, where that is a model of the same task. */
    scorerFor(model) {
      const taskOf = (name) => (this.scorers.find((one) => one.name === name) || { task: null }).task;
      return taskOf(model) === taskOf(this.scorer) ? this.scorer : this._reader(taskOf(model));
    }

    _work(players) {
      this.card.hidden = this.shelf.hidden = players.length < 2;
      this.runs = players.map((player, i) => ({ player, run: player.run, label: player.options.label || String(i + 1) }));
      if (players.length < 2) return;
      const { task } = players[0].run.header.model;
      if (task !== this._task) {
        this._task = task;
        this.scorer = this._reader(task);
      }
      for (const one of this.runs) {
        const known = one.run.__bvFigures;
        const key = one.run.id + "." + one.run.passes.length;
        if (!known || known.key !== key) one.run.__bvFigures = { key, facts: facts(one.run), curves: curves(one.run) };
        Object.assign(one, one.run.__bvFigures);
      }
      this._table();
      this._charts();
      this._ask();
    }

    /* ---- likelihood: the server's model reads the finished texts ---- */

    _ask() {
      if (!this.scorer || !this.options.emit || this.runs.length < 2 || this.runs.some(({ run }) => !run.end)) return;
      if (!BlockViz.visible(this.card)) return; // asked once it is seen
      for (const { run } of this.runs) if (run.end.stopped) this.said.set(run.id + " " + this.scorer, { problem: BlockViz.panels.compare.words.stopped });
      const missing = this.runs.filter(({ run }) => !this.said.has(run.id + " " + this.scorer));
      const key = missing.map(({ run }) => run.id).join() + this.scorer;
      if (!missing.length || key === this.asked) return;
      this.asked = key;
      const runs = missing.map(({ run }) => {
        const positions = finalPositions(run);
        return { run: run.id, model: run.header.model.name, tokens: Array.from(run.tokens(run.last).subarray(0, (positions[positions.length - 1] || 0) + 1)), positions };
      });
      this.options.emit("measure", { scorer: this.scorer, runs });
    }

    /** The server's answer as JSON: {scorer, runs: {id: {nll} or {problem}}}. */
    answer(text) {
      if (!text) return;
      const { scorer, runs } = JSON.parse(text);
      for (const [id, said] of Object.entries(runs)) this.said.set(id + " " + scorer, said);
      this.asked = "";
      if (this.runs.length > 1) this._table();
      this._ask(); // for runs that came meanwhile
    }

    /* ---- the table ---- */

    _table() {
      const { words, rows } = BlockViz.panels.compare;
      const two = this.runs.length === 2;
      const table = el("table", { "data-testid": "summary", "data-count": this.runs.length });
      const head = el("tr", {}, el("th", { text: words.title }));
      for (const { label } of this.runs) head.append(el("th", {}, sample(label), label));
      if (two) head.append(el("th", { text: `${this.runs[1].label} − ${this.runs[0].label}` }));
      const body = el("tbody");
      for (const [key, name] of Object.entries(rows)) {
        if (key === "nll" && !this.scorer) continue;
        if (CHECKED.includes(key) && this.runs.every(({ run }) => run.header.model.task !== CHECKED_TASK)) continue;
        const cells = this.runs.map((one) => ROWS[key](one.facts, this.said.get(one.run.id + " " + this.scorer)));
        const title = el("th", {}, key === "nll" ? this._scorers(name) : name);
        const line = el("tr", { "data-row": key }, title);
        cells.forEach((cell, i) => {
          const one = this.runs[i];
          const said = key === "nll" ? this.said.get(one.run.id + " " + this.scorer) : null;
          const verdict = cell.text.endsWith("✓") ? "bv-right" : cell.text.endsWith("✗") ? "bv-wrong" : null;
          line.append(el("td", { class: verdict, text: cell.text, title: said && said.problem ? said.problem : null }));
        });
        if (two) line.append(el("td", { text: difference(cells, key) }));
        body.append(line);
      }
      table.append(el("thead", {}, head), body);
      const names = differing(this.runs.map(({ run }) => run.header)).map((name) => BlockViz.panels.compare.fields[name]);
      const differs = el("p", { class: "bv-differs-line", "data-testid": "differs", text: names.length ? N.fill(words.differs, { names: names.join(", ") }) : words.same_settings });
      this.card.dataset.count = this.runs.length;
      this.card.replaceChildren(el("div", { class: "bv-figures" }, differs, table, el("p", { class: "bv-result-help", text: this.scorer ? words.help_scored : words.help })), this._texts(words));
    }

    _scorers(name) {
      const [before, after] = name.split("{model}");
      if (this.scorers.length === 1) return `${before}${this.scorer}${after}`;
      const choose = el("select", { class: "bv-pill bv-scorer", "data-testid": "scorer", title: BlockViz.panels.compare.words.scorer });
      choose.setAttribute("aria-label", BlockViz.panels.compare.words.scorer);
      for (const { name: one } of this.scorers) choose.append(el("option", { value: one, text: one }));
      choose.value = this.scorer;
      choose.addEventListener("change", () => {
        this.scorer = choose.value;
        this._table();
        this._ask();
      });
      return el("span", {}, before, choose, after);
    }

    /* ---- the texts ---- */

    _texts(words) {
      const box = el("section", { class: "bv-texts", "data-testid": "final-texts" }, el("h3", { text: words.texts }));
      const texts = this.runs.map(({ run }) => finalTokens(run).map((token) => run.piece(token)));
      const marks = texts.map((text) => text.map(() => false));
      const counts = [];
      for (let i = 1; i < texts.length; i++) {
        const [first, other] = differences(texts[0], texts[i]);
        first.forEach((differs, j) => (marks[0][j] = marks[0][j] || differs));
        marks[i] = other;
        counts.push([first, other].map((list) => list.filter(Boolean).length));
      }
      texts.forEach((text, i) => {
        box.append(el("p", {}, el("b", {}, sample(this.runs[i].label), this.runs[i].label), written(text, marks[i])));
      });
      const same = counts.every(([gone, come]) => gone + come === 0);
      const ended = this.runs.every(({ run }) => run.end);
      let said = "";
      if (ended && same && texts[0].length) {
        const times = this.runs.every(({ facts: one }) => one.ms > 0) ? N.fill(words.same_times, { times: this.runs.map(({ label, facts: one }) => `${label} ${N.fixed(one.ms, 0)} ms`).join(", ") }) : "";
        said = N.fill(words.same_tokens, { count: texts[0].length }) + times;
      } else {
        said = counts
          .map(([gone, come], i) => N.fill(words.other_tokens, { label: this.runs[i + 1].label, first: this.runs[0].label, come, of: texts[i + 1].length, gone }))
          .join(" ");
      }
      box.append(el("p", { class: "bv-result-help", "data-testid": "same-tokens", text: said }));
      return box;
    }

    /* ---- the charts ---- */

    _charts() {
      const kind = BlockViz.views.progress;
      this.shelf.hidden = !kind;
      if (!kind) return;
      const highest = (name, axis) => Math.max(1, ...this.runs.flatMap((one) => one.curves[name][axis]));
      const ends = { calls: highest("placed", "x") * 1.02, revised: highest("revised", "y") * 1.06 };
      for (const chart of this.charts) {
        if (!chart.it) {
          chart.it = kind.mount(chart.mount, BlockViz.panels.compare.charts[chart.name], chart.name);
          chart.it.theme(BlockViz.isDark());
        }
        chart.it.give(this.runs, ends);
      }
      this._stand();
    }
  }

  /** The colour and line style of a run, by its letter. */
  function sample(label) {
    return el("i", { class: "bv-run-line", "data-run": label.toLowerCase(), "aria-hidden": "true" });
  }

  function difference(cells, key) {
    const [a, b] = cells.map((cell) => cell.number);
    if (a === undefined || b === undefined) return "";
    const value = b - a;
    const text = N.fixed(value, DIGITS[key] || 0);
    if (Number(text.replace("−", "-")) === 0) return "0";
    return value > 0 ? "+" + text : text;
  }

  const digit = (piece) => /^[0-9]$/.test(piece);

  /** Tokens as a line of text; those that differ are marked, neighbours together. */
  function written(pieces, marks) {
    const line = el("span", {});
    // Tokens that carry their own spaces stand as they are, whole words with a space between; digits make numbers.
    const spaced = !pieces.some((piece) => piece.includes("␣"));
    let open = null;
    pieces.forEach((piece, i) => {
      const gap = i > 0 && spaced && !(digit(piece) && digit(pieces[i - 1])) ? " " : "";
      if (open && open.marked === marks[i]) open.node.append(gap + piece);
      else {
        if (gap) line.append(gap);
        open = { marked: marks[i], node: el(marks[i] ? "mark" : "span", { text: piece }) };
        line.append(open.node);
      }
    });
    return line;
  }

  BlockViz.Comparison = Comparison;
})();
