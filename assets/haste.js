/* BlockViz.haste: what goes first. While passes wait for their frame, or the run that was asked for is not on screen yet, nothing
   that takes long begins; but nothing is put off for ever. Charts hold on to that: the canvas never waits for them. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const LONGEST_MS = 400; // then one thing that takes long may begin all the same
  const AWAITED_MS = 1500; // a run that has not begun by then is not waited for any longer

  class Haste {
    constructor() {
      this._buses = [];
      this._awaited = 0;
      this._since = 0;
    }

    join(bus) {
      this._buses.push(bus);
    }

    _some(what) {
      return this._buses.some((bus) => what(bus) && bus.visible);
    }

    /** A run was asked for. */
    await() {
      this._awaited = performance.now() + AWAITED_MS;
    }

    /** Its first network pass is on screen, or it will not come. */
    met() {
      this._awaited = 0;
    }

    /** Whether something on screen moves by itself: playback, or a live run that is followed. */
    get moving() {
      return this._some((bus) => bus.moving);
    }

    /** Whether what takes long has to wait now; asked right before it would begin. */
    holds() {
      const now = performance.now();
      if (now >= this._awaited && !this._some((bus) => bus.head.behind)) {
        this._since = 0;
        return false;
      }
      this._since = this._since || now;
      if (now - this._since < LONGEST_MS) return true;
      this._since = 0;
      return false;
    }
  }

  BlockViz.haste = new Haste();
})();
