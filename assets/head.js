/* BlockViz.Head: follows the newest pass of a live run. Passes that arrive together are shown one after another, over the
   time in which the next ones are due, so that each has a frame of its own wherever the screen is quick enough for that. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const QUICKEST_MS = 16;
  const SLOWEST_MS = 400; // the screen is never further behind than this
  const SPARE = 1.15; // so much faster than they come, that none piles up
  const LOOK_BACK_MS = 1000; // over which it is counted how many come
  const SOONEST_MS = 500; // of a run that has just begun: a few that come together are not yet a rate
  const MANY = 2; // passes within a frame: then they are shown at the rate at which they come, without a queue
  const NEAR = 4; // passes: so few are shown one by one even where a frame takes long
  const FRAMES = 5; // of which the middle one says how long a frame takes: one that was held up does not count

  class Head {
    constructor(bus) {
      this.bus = bus;
      this._gap = 100; // milliseconds between arrivals
      this._came = []; // [time, last pass] of arrivals
      this._frames = [];
      this._pace = 0; // passes per millisecond
      this._clock = 0;
      this._owed = 0;
      this._new = false; // its first frame is still to come
    }

    /** There are more passes. A run that has just begun is shown from its start, unless another one goes on beside it. */
    grown(fresh) {
      const { bus } = this;
      const now = performance.now();
      if (fresh) {
        bus.pass = bus.loaded.filter((player) => player.live).length > 1 ? Math.min(bus.pass, bus.last) : 0;
        this._came = [[now, 0]];
        this._new = true;
      } else {
        const [before] = this._came[this._came.length - 1] || [0];
        const gap = Math.min(SLOWEST_MS, Math.max(QUICKEST_MS, now - before));
        this._gap += 0.3 * (gap - this._gap);
        this._came.push([now, bus.last]);
        while (this._came.length > 2 && now - this._came[1][0] > LOOK_BACK_MS) this._came.shift();
        if (!this._clock) this._owed = 1; // what comes after a pause is shown at once
      }
      this._pace = (SPARE * (bus.last - bus.pass)) / this._gap;
    }

    get behind() {
      return this.bus.follow && this.bus.pass < this.bus.last;
    }

    /** Milliseconds that a frame takes. */
    get _frame() {
      const sorted = this._frames.slice().sort((a, b) => a - b);
      return sorted.length ? Math.max(QUICKEST_MS, sorted[sorted.length >> 1]) : QUICKEST_MS;
    }

    /** Passes that one frame may go on: one, as long as the screen can show about all that come and is not far behind. */
    _most(behind) {
      if (behind <= NEAR) return 1;
      const frame = this._frame;
      const [[first, from], [last, to]] = [this._came[0] || [0, 0], this._came[this._came.length - 1] || [0, 0]];
      const share = ((to - from) / Math.max(SOONEST_MS, last - first)) * frame; // how many come within a frame
      return share > MANY ? behind : Math.ceil(behind / Math.max(1, Math.floor(SLOWEST_MS / frame)));
    }

    /** One frame: move towards the head; at the end of the run following ends. */
    step(now) {
      const { bus } = this;
      const behind = bus.last - bus.pass;
      if (this._clock) {
        const passed = now - this._clock;
        this._frames.push(passed);
        if (this._frames.length > FRAMES) this._frames.shift();
        this._owed += Math.min(SLOWEST_MS, passed) * this._pace;
      }
      if (this._new) this._owed = 0;
      const steps = bus.visible ? Math.min(this._most(behind), behind, Math.floor(this._owed)) : behind;
      bus.pass += steps;
      this._owed = this._new ? 1 : Math.min(1, this._owed - steps);
      this._new = false;
      this._clock = behind > steps ? now : 0;
      if (behind === steps && !bus.live) bus.follow = false;
    }
  }

  BlockViz.Head = Head;
})();
