/* BlockViz.Returns: once a run is over, what became of the tokens that were thrown back to noise: counts, and which ones.
   The counts are those of revisions.js; the words those of blockviz/views/story.py. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);
  const N = BlockViz.numbers;
  const MOST = 300; // rows of one list; a run may have a hundred thousand throws
  const KINDS = {
    same: (one) => one.outcome === "same",
    better: (one) => one.outcome === "better",
    worse: (one) => one.outcome === "worse",
    unjudged: (one) => one.outcome === "unjudged" && one.back >= 0,
    lost: (one) => one.back < 0,
    righted: (one) => one.checked === "better",
    spoilt: (one) => one.checked === "worse",
  };
  const SIGNS = { same: "=", better: "▲", worse: "▼", unjudged: "·", lost: "–", righted: "✓", spoilt: "✗" };

  class Returns {
    /** `go(pass, position)` shows a pass and inspects a position. */
    constructor(go) {
      this.go = go;
      this.counts = el("div", { class: "bv-returns-counts" });
      this.list = el("div", { class: "bv-returns-list", hidden: true });
      this.node = el("div", { class: "bv-returns", "data-testid": "returns", hidden: true }, this.counts, this.list);
    }

    get words() {
      return BlockViz.panels && BlockViz.panels.story && BlockViz.panels.story.player;
    }

    /** Take a run; nothing is said before it is over, and nothing of one without a corrector. */
    load(run) {
      const settings = (run.header && run.header.settings) || {};
      const corrected = settings.corrector && settings.corrector !== "none" && settings.predictor !== "autoregressive";
      const due = Boolean(this.words && run.end && corrected);
      this.node.hidden = !due;
      if (!due || this._key === run.id) {
        if (!due) this._key = null;
        return;
      }
      this._key = run.id;
      this.run = run;
      this.throws = BlockViz.revisions(run);
      this.open = null;
      this.list.hidden = true;
      this._count(BlockViz.tally(this.throws), run.renoises.length > 0);
    }

    _count(tally) {
      const { words } = this;
      this.counts.replaceChildren();
      if (tally.thrown === 0) {
        this.counts.append(el("span", { text: words.none }));
        return;
      }
      this.counts.append(el("span", { text: N.fill(words.returns, { thrown: N.count(tally.thrown, "token") }) }));
      const numbers = { ...tally, unjudged: tally.unjudged - tally.lost };
      for (const kind of Object.keys(KINDS)) {
        const n = numbers[kind];
        const always = kind === "same" || kind === "better" || kind === "worse";
        if (n === 0 && !always) continue;
        const button = el("button", {
          type: "button",
          class: "bv-returns-kind",
          "data-kind": kind,
          "aria-expanded": "false",
          title: words[kind + "_help"],
          disabled: n === 0,
        });
        button.append(el("i", { "aria-hidden": "true", text: SIGNS[kind] }), N.fill(words[kind], { n }));
        button.addEventListener("click", () => this._toggle(kind));
        this.counts.append(button);
      }
    }

    _toggle(kind) {
      this.open = this.open === kind ? null : kind;
      for (const button of this.counts.querySelectorAll("button")) {
        button.setAttribute("aria-expanded", String(button.dataset.kind === this.open));
      }
      this.list.hidden = this.open === null;
      if (this.open) this._list(this.open);
    }

    _list(kind) {
      const { words, run } = this;
      const chosen = this.throws.filter(KINDS[kind]);
      const rows = el("ol", { "aria-label": N.fill(words.list, { what: N.fill(words[kind], { n: chosen.length }) }) });
      for (const one of chosen.slice(0, MOST)) rows.append(el("li", {}, this._row(one, run)));
      this.list.replaceChildren(rows);
      if (chosen.length > MOST) {
        this.list.append(el("p", { text: N.fill(words.more, { shown: MOST, all: N.count(chosen.length, "token") }) }));
      }
    }

    _row(one, run) {
      const { words } = this;
      const number = (value) => (Number.isNaN(value) ? words.unread : N.fixed(value, 2));
      const back = one.back < 0 ? el("em", { text: words.nothing }) : el("b", { text: run.piece(one.new) });
      const button = el(
        "button",
        { type: "button", class: "bv-returns-row" },
        el("span", { class: "bv-returns-place", text: N.fill(words.throw, { at: one.at, position: one.position + 1 }) }),
        el("span", { class: "bv-returns-pair" }, el("s", { text: run.piece(one.token) }), el("span", { "aria-hidden": "true", text: "→" }), back),
      );
      if (!Number.isNaN(one.ar_before) && one.back >= 0) {
        const text = N.fill(words.ar, { before: number(one.ar_before), after: number(one.ar_after) });
        button.append(el("span", { class: "bv-returns-ar", text }));
      }
      if (one.checked) button.append(el("span", { class: "bv-returns-check", "data-kind": one.checked, text: `${one.check_before} → ${one.check_after}` }));
      button.addEventListener("click", () => this.go(one.at, one.position));
      return button;
    }
  }

  BlockViz.Returns = Returns;
})();
