/* BlockViz.Player: one run on screen: facts, transport, canvas, legend, checks and the views beside it. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);

  const VIEWS = ["fill", "confidence", "renoising", "attention", "timeline"];
  const EMPTY = "No run yet. Generate writes one, pass by pass.";
  const GROWTH_MS = 150; // views hear of a growing run at most this often

  class Player {
    constructor(root, options) {
      this.root = root;
      this.options = Object.assign({ group: "explore", suffix: "", label: "", transport: true, views: VIEWS, empty: EMPTY }, options);
      this.bus = BlockViz.bus(this.options.group);
      this.run = new BlockViz.Run();
      this.shown = -1;
      this.timing = { canvas: 0 };
      this.cards = new BlockViz.Cards(this);
      this._broke = false;
      this._make();
      this.hover = new BlockViz.Hover(this.frame, this.canvas.grid, () => ({ run: this.run, k: this.shown }));
      this.cards.add("inspector", this.inspector.node, this.inspector);
      this._theme = new MutationObserver(() => this._themed());
      this._theme.observe(document.body, { attributes: true, attributeFilter: ["class"] });
      this._seen = new ResizeObserver(() => this._sized());
      this._seen.observe(this.frame);
      this.frame.addEventListener("bv:pass", (event) => this.show(event.detail.pass));
      for (const type of ["click", "keydown"]) this.canvas.grid.addEventListener(type, (event) => this._cell(event));
      this.bus.join(this.bus.players, this);
    }

    destroy() {
      this._theme.disconnect();
      this._seen.disconnect();
      this.canvas.destroy();
      this.hover.destroy();
      this.reader.destroy();
      if (this.ribbon) this.ribbon.destroy();
      clearTimeout(this._growth);
      this.cards.destroy();
    }

    _make() {
      const { suffix, label } = this.options;
      this.frame = el("div", { class: "bv-frame is-empty" });
      this.title = el("div", { class: "bv-title", hidden: !label }, el("b", { text: label }), el("span"));
      this.facts = new BlockViz.Facts("facts" + suffix);
      this.note = el("p", { class: "bv-note", role: "alert", hidden: true });
      this.legend = new BlockViz.Legend();
      this.checks = new BlockViz.Checks();
      this.checks.node.dataset.testid = "checks" + suffix;
      const name = label ? `${label}: ` : "";
      this.speech = new BlockViz.Speech(() => this.bus.moving, () => name + this.sentence());
      const canvas = el("div", { class: "bv-canvas" });
      this.frame.append(this.title, this.facts.node);
      if (this.options.transport) {
        const bar = el("div", { class: "bv-bar" });
        this.frame.append(bar);
        this.root.append(this.frame);
        BlockViz.Transport(bar, { group: this.options.group, suffix });
      } else this.root.append(this.frame);
      this.frame.append(this.note, el("p", { class: "bv-empty", text: this.options.empty }), canvas);
      this.canvas = new BlockViz.Canvas(canvas, {
        testid: "canvas" + suffix,
        redrawn: (k) => {
          this.story.draw(k);
          this.inspector.draw(this.run, k);
        },
      });
      const seek = (k) => this.show(k);
      this.story = new BlockViz.Story(this.canvas, seek);
      this.returns = new BlockViz.Returns((k, pos) => {
        seek(k);
        this.inspector.open(pos);
      });
      canvas.prepend(this.story.node);
      canvas.append(this.checks.node, this.legend.node, this.returns.node);
      this.inspector = new BlockViz.Inspector(this.canvas, seek, label);
      this.reader = new BlockViz.Reader(label);
      this.ribbon = BlockViz.Ribbon ? new BlockViz.Ribbon(suffix) : null;
      this.frame.append(this.inspector.node);
      if (this.ribbon) this.frame.append(this.ribbon.node);
      this.frame.append(this.cards.node, this.speech.node, this.reader.node);
    }

    /** The views' scripts came after the first run: mount them now. */
    mountViews() {
      if (this.run.passes.length === 0) return;
      this.cards.mount();
      this._grow(true);
    }

    _themed() {
      const dark = BlockViz.isDark();
      if (dark === this._dark) return;
      this._dark = dark;
      this.cards.theme(dark);
    }

    /** A run that came while the tab was hidden is measured and drawn once there is something to measure. */
    _sized() {
      const on = BlockViz.visible(this.frame);
      if (on && !this._on && this.run.passes.length > 0) {
        this.facts.load(this.run);
        this.bus.redraw();
      }
      this._on = on;
    }

    get live() {
      return this.run.passes.length > 0 && this.run.end === null && this.run.error === null && !this._broke;
    }

    /** No more passes will come, though the run has no end: what there is stays, and is labelled so. */
    breakOff() {
      if (!this.live) return;
      this._broke = true;
      this.bus.grown(this, false);
    }

    /** The run goes, and the empty player stays. */
    clear() {
      this.text = "";
      if (!this.run.header) return;
      this.run.clear();
      this.shown = -1;
      this._broke = false;
      this.frame.classList.add("is-empty");
      this.note.hidden = true;
      for (const view of this.cards.all) if (view.it && view.it.forget) view.it.forget();
      this.bus.grown(this, false);
    }

    /** Take the whole growing trace text; what was read before is not read again. */
    feed(text) {
      if (text) this.text = text; // as it is: what a saved file holds
      if (!this.frame.isConnected) this.root.replaceChildren(this.frame);
      const report = this.run.feed(text);
      if (report.reset) this._fresh = true;
      this._explain();
      if (!report.added && !report.ended) return;
      this._broke = false;
      const fresh = this._fresh && this.run.passes.length > 0;
      if (fresh) {
        this._fresh = false;
        this.shown = -1;
        this.frame.classList.remove("is-empty");
        this.hover.hide();
        this.inspector.close(); // what it tells is of another run
        this.canvas.load(this.run);
        this.story.load(this.run);
        this.facts.load(this.run);
        this.legend.load(this.run);
        if (this.ribbon) this.ribbon.load(this.run);
        BlockViz.write(this.title.lastChild, BlockViz.describe(this.run.header));
      }
      this._grow(fresh || report.ended);
      if (report.ended) this.facts.load(this.run);
      if (fresh || report.ended) this.returns.load(this.run);
      this.bus.grown(this, fresh);
    }

    _explain() {
      this.note.hidden = this.run.error === null;
      if (this.run.error !== null) BlockViz.write(this.note, this.run.error);
    }

    _grow(now) {
      if (now) {
        clearTimeout(this._growth);
        this._growth = 0;
        this._loadViews();
      } else if (!this._growth) {
        this._growth = setTimeout(() => {
          this._growth = 0;
          this._loadViews();
        }, GROWTH_MS);
      }
    }

    /** Give the views the run; in a group all share one scale, so a change of one reloads the others. */
    _loadViews() {
      this.cards.mount();
      const peers = this.bus.loaded;
      const scale = peers.length > 1 && BlockViz.views && BlockViz.views.scales ? BlockViz.views.scales(peers.map((peer) => peer.run)) : undefined;
      const key = JSON.stringify(scale);
      this._give(scale, key);
      for (const peer of peers) if (peer !== this && peer._scaleKey !== key) peer._give(scale, key);
      this.bus.redraw();
    }

    _give(scale, key) {
      this._scaleKey = key;
      this.cards.load(scale);
    }

    /** Go to pass k of this player's run, wherever that lies in the time of its group. */
    show(k) {
      this.bus.seek(this.bus.place(this, k));
    }

    /** What is on screen: asked before anything is written, when the browser need not work it out anew. */
    look() {
      this._visible = this.run.passes.length > 0 && BlockViz.visible(this.root);
      this.cards.look(this._visible);
    }

    /** In the same frame, after every canvas. */
    drawViews(until) {
      this.cards.draw(until);
    }

    /** Called by the bus once per animation frame; a shorter run holds its last pass. */
    draw(target) {
      const run = this.run;
      if (!this._visible) return;
      const k = Math.min(target, run.last);
      const tag = this._tag(target);
      const begun = performance.now();
      const moved = k !== this.shown;
      if (moved) {
        this.canvas.draw(k);
        this.story.draw(k);
        this.checks.draw(run, k);
        if (this.ribbon) this.ribbon.draw(run, k);
        this.shown = k;
        this.hover.refresh();
        this.speech.moved();
      }
      this.facts.draw(run, k, tag);
      this.reader.draw(run, k, this.bus.moving);
      if (moved) this.timing.canvas = performance.now() - begun;
    }

    _tag(target) {
      const { run } = this;
      if (this._broke) return `broke off at pass ${run.last}`;
      if (run.end && run.end.stopped) return `stopped at pass ${run.last}`;
      if (target > run.last) return run.end ? `ended at pass ${run.last}` : "waiting";
      return this.live ? "live" : "";
    }

    /** The pass in words, for the scrubber and for screen readers. */
    sentence() {
      const run = this.run;
      if (run.passes.length === 0) return "no run yet";
      const k = Math.min(this.bus.target(this), run.last);
      const pass = run.passes[k];
      const back = pass.k ? `, ${pass.k} ${pass.k === 1 ? "token" : "tokens"} thrown back` : "";
      return `pass ${k} of ${run.last}, block ${(pass.block || 0) + 1}, ${BlockViz.WORDS.phase[pass.phase] || pass.phase}${back}`;
    }

    _cell(event) {
      const cell = event.target.closest(".bv-cell");
      if (!cell || (event.type === "keydown" && event.key !== "Enter")) return;
      const detail = { pos: Number(cell.dataset.pos), pass: this.shown, run: this.run.id };
      this.root.dispatchEvent(new CustomEvent("bv:cell", { bubbles: true, detail }));
    }

    state() {
      const run = this.run;
      const k = Math.min(this.bus.target(this), Math.max(0, run.last));
      const pass = run.passes[k];
      const nfe = pass ? pass.nfe : [0, 0];
      return {
        pass: k,
        passes: run.passes.length,
        block: pass ? pass.block : 0,
        phase: pass ? pass.phase : null,
        step: pass ? pass.step : 0,
        nfe: { denoise: nfe[0], verify: nfe[1], total: nfe[0] + nfe[1] },
        cached: pass ? pass.cached : 0,
        run: run.id,
        ended: run.end !== null,
        broke: this._broke,
        shown: this.shown,
        error: run.error,
        timing: this.timing,
      };
    }
  }

  /** The player in `root`, made on the first call. Options: group, suffix, label, transport, views, templates. */
  BlockViz.Player = function (root, options) {
    if (!root.__bvPlayer) root.__bvPlayer = new Player(root, options);
    return root.__bvPlayer;
  };
})();
