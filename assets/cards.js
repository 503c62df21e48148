/* BlockViz.Cards: the views of a player. Each is given the run and drawn when there is time for it: quick ones in the frame of the
   canvas, the others after it has been painted, always for the newest pass. The canvas never waits for them. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);

  const WIDE = ["timeline"]; // a strip of its own under the others
  const HEAVY_MS = 4; // a view that takes longer is drawn after the frame has been painted
  const BUDGET_MS = 12; // views may then take this much before the browser gets to paint again

  class Cards {
    /** `player` has the run, the pass shown, the bus and the options `views`, `suffix`, `templates`. */
    constructor(player) {
      this.player = player;
      const { suffix, views } = player.options;
      const count = views.filter((name) => !WIDE.includes(name)).length;
      this.all = [];
      this.node = el("div", { class: "bv-views", "data-count": count, hidden: views.length === 0 });
      for (const name of views) {
        const mount = el("section", { class: "bv-view", "data-view": name, "data-testid": `view-${name}${suffix}` });
        this.node.append(mount);
        this.add(name, mount, null);
      }
    }

    /** A view and where it stands: `drawn` is the pass it shows, `due` that it has not been given the run as it is now, `cost` and
        `loading` the milliseconds that a drawing and that giving it the run took last. */
    add(name, mount, it) {
      this.all.push({ name, mount, it, drawn: -1, due: false, seen: false, at: 0, cost: 0, loading: Infinity });
    }

    destroy() {
      clearTimeout(this._viewing);
      for (const view of this.all) if (view.it && view.it.destroy) view.it.destroy();
    }

    /** Views are mounted with the first run, when the page is laid out and their scripts are there. */
    mount() {
      const templates = this.player.options.templates || BlockViz.templates || {};
      for (const view of this.all) {
        const kind = BlockViz.views && BlockViz.views[view.name];
        if (view.it || view.broken || !kind || !templates[view.name]) continue;
        try {
          view.it = kind.mount(view.mount, templates[view.name]) || kind;
          this._theme(view, BlockViz.isDark());
        } catch (problem) {
          this._broken(view, problem);
        }
      }
    }

    _theme(view, dark) {
      if (view.it && view.it.theme) view.it.theme(dark);
    }

    theme(dark) {
      for (const view of this.all) this._theme(view, dark);
    }

    /** A view that fails says so in its own card; the canvas and the other views go on. */
    _broken(view, problem) {
      view.it = null;
      view.mount.replaceChildren(el("p", { class: "bv-note", text: `This view could not be drawn: ${problem.message}` }));
      console.warn("BlockViz view", view.name, problem);
    }

    /** The run has more passes, or is another: every view is to be given it, with this scale. */
    load(scale) {
      this._scale = scale;
      const { id } = this.player.run;
      for (const view of this.all) {
        view.drawn = -1;
        view.due = true;
        if (id !== this._id) view.loading = Infinity; // what another run costs nobody knows
      }
      this._id = id;
    }

    /** Which views are on screen: asked before anything is written in a frame. */
    look(on) {
      for (const view of this.all) view.seen = on && BlockViz.visible(view.mount);
    }

    /** In the frame of the canvas: the views that are quick. The others wait until it has been painted. */
    draw(until) {
      this._draw((view) => {
        const cost = view.cost + (view.due ? view.loading : 0);
        return cost <= HEAVY_MS && performance.now() + cost < until;
      });
      if (this._late()) this._after();
    }

    _after() {
      if (!this._viewing) this._viewing = setTimeout(() => this._drawLate(), 0);
    }

    /** After the frame, unless passes wait for the next one; while something moves, a frame passes between two views that take long. */
    _drawLate() {
      this._viewing = 0;
      if (BlockViz.haste.holds()) {
        requestAnimationFrame(() => this._after());
        return;
      }
      const { moving } = this.player.bus;
      const until = performance.now() + (moving ? 0 : BUDGET_MS);
      let first = true;
      this._draw(() => {
        const go = first || performance.now() < until;
        first = false;
        return go;
      });
      if (!this._late()) return;
      if (moving) requestAnimationFrame(() => this._after());
      else this._after();
    }

    _behind(view) {
      const { shown } = this.player;
      return view.it && view.seen && shown >= 0 && (view.due || view.drawn !== shown);
    }

    _late() {
      return this.all.some((view) => this._behind(view));
    }

    /** Draw the views that are behind and that `may` be drawn, those first that have waited longest. */
    _draw(may) {
      const behind = this.all.filter((view) => this._behind(view)).sort((a, b) => a.at - b.at);
      for (const view of behind) if (may(view)) this._drawOne(view);
    }

    _drawOne(view) {
      let begun = performance.now();
      const { run, shown } = this.player;
      try {
        if (view.due) {
          view.it.load(run, this._scale);
          view.loading = performance.now() - begun;
          begun += view.loading;
        }
        view.due = false;
        view.drawn = shown;
        view.it.draw(run, shown);
      } catch (problem) {
        this._broken(view, problem);
      }
      view.at = performance.now();
      view.cost = view.at - begun;
    }
  }

  BlockViz.Cards = Cards;
})();
