/* BlockViz.Head: follows the newest pass of a live run. Passes that arrive together are shown one after another, over the
   time in which the next ones are due, so that at twenty a second each of them is seen. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const QUICKEST_MS = 16;
  const SLOWEST_MS = 400; // the screen is never further behind than this
  const SPARE = 1.15; // so much faster than they come, that none piles up
  const NEAR = 8; // passes: so few are shown one by one even where a frame takes long

  class Head {
    constructor(bus) {
      this.bus = bus;
      this._gap = 100; // milliseconds between arrivals
      this._came = 0;
      this._pace = 0; // passes per millisecond
      this._clock = 0;
      this._owed = 0;
    }

    /** There are more passes. */
    grown(fresh) {
      const { bus } = this;
      const now = performance.now();
      if (fresh) bus.pass = bus.last;
      else {
        const gap = Math.min(SLOWEST_MS, Math.max(QUICKEST_MS, now - this._came));
        this._gap += 0.3 * (gap - this._gap);
        this._pace = (SPARE * (bus.last - bus.pass)) / this._gap;
      }
      if (fresh || !this._clock) this._owed = 1; // what comes after a pause is shown at once
      this._came = now;
    }

    get behind() {
      return this.bus.follow && this.bus.pass < this.bus.last;
    }

    /** One frame: move towards the head; at the end of the run following ends. */
    step(now) {
      const { bus } = this;
      const behind = bus.last - bus.pass;
      this._owed += this._clock ? Math.min(SLOWEST_MS, now - this._clock) * this._pace : 0;
      const steps = bus.visible ? Math.min(behind <= NEAR ? 1 : behind, behind, Math.floor(this._owed)) : behind;
      bus.pass += steps;
      this._owed = Math.min(1, this._owed - steps);
      this._clock = behind > steps ? now : 0;
      if (behind === steps && !bus.live) bus.follow = false;
    }
  }

  BlockViz.Head = Head;
})();
