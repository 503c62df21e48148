/* BlockViz.Speech: tells a screen reader the pass on screen, once it rests there, and while it plays only now and then. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const PLAYING_MS = 1800; // while playing, a pass is told at most this often
  const SOONEST_MS = 250;
  const RESTING_MS = 350;

  class Speech {
    /** `moving()` says whether it plays, `words()` what there is to say. */
    constructor(moving, words) {
      this.node = BlockViz.el("div", { class: "bv-hidden", "aria-live": "polite", role: "status" });
      this._moving = moving;
      this._words = words;
      this._said = 0;
      this._due = 0;
    }

    /** Another pass is shown. */
    moved() {
      const now = performance.now();
      const moving = this._moving();
      clearTimeout(this._timer);
      // While it plays the timer must not be pushed back forever by the next pass.
      if (!moving || !this._due) this._due = now + (moving ? Math.max(SOONEST_MS, PLAYING_MS - (now - this._said)) : RESTING_MS);
      this._timer = setTimeout(() => this._say(), Math.max(0, this._due - now));
    }

    _say() {
      this._due = 0;
      this._said = performance.now();
      BlockViz.write(this.node, this._words());
    }
  }

  BlockViz.Speech = Speech;
})();
