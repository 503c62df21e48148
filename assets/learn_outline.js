/* BlockViz.Outline: which positions a chapter of Learn outlines on the canvas, pass by pass. The twin of `outlined` in
   blockviz/ui/learn/reading.py, which says what each rule means. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const BY_STATE = {
    new: ["revealed", "proposed"],
    thrown: ["renoised"],
    frozen: ["committed", "after_end"],
    noise: ["noise", "renoised"],
  };

  /** The positions outlined after pass k, ascending. */
  function positions(rule, run, k, listed) {
    if (rule === "listed") return listed || [];
    const [start, stop] = run.passes[k].win;
    if (rule === "block") return Array.from({ length: stop - start }, (_, i) => start + i);
    const wanted = BY_STATE[rule].map((name) => BlockViz.STATE_CODE[name]);
    const found = [];
    run.states(k).forEach((state, pos) => wanted.includes(state) && found.push(pos));
    return found;
  }

  class Outline {
    /** `player` is the player whose canvas is marked, `told(count)` hears how many positions are outlined. */
    constructor(player, told) {
      this.player = player;
      this.root = player.root;
      this.told = told;
      this.rule = "new";
      this.listed = [];
      this._marked = [];
      player.bus.join(player.bus.transports, this); // it is drawn after the players, in the same frame
    }

    destroy() {}

    set(rule, listed) {
      this.rule = rule;
      this.listed = listed || [];
      this._k = -1;
      this.player.bus.redraw();
    }

    draw() {
      const { player } = this;
      const { run, shown, canvas } = player;
      if (shown < 0 || run.passes.length === 0) return;
      const first = canvas.cells[0] && canvas.cells[0].node; // another one: the canvas was built anew
      if (this._k === shown && this._id === run.id && this._first === first) return;
      [this._k, this._id, this._first] = [shown, run.id, first];
      for (const node of this._marked) node.classList.remove("is-outlined");
      const list = positions(this.rule, run, shown, this.listed);
      this._marked = list.map((pos) => canvas.cells[pos].node);
      for (const node of this._marked) node.classList.add("is-outlined");
      this.told(list.length);
    }
  }

  BlockViz.Outline = Outline;
  BlockViz.outlined = positions;
})();
