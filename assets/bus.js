/* BlockViz.bus(name): one clock and one target pass for every player of a group. The target moves at once, so no key press is
   lost; drawing happens at most once per animation frame. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const RATE = 6; // passes per second at speed 1x
  const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];

  class Bus {
    constructor(name) {
      this.name = name;
      this.players = [];
      this.transports = [];
      this.pass = 0;
      this.playing = false;
      this.follow = false;
      this.speed = 1;
      this._asked = 0;
      this._clock = 0;
      this._owed = 0;
      this.head = new BlockViz.Head(this);
    }

    join(list, member) {
      // A page that rebuilt itself leaves dead roots behind; they must not keep the clock busy.
      for (let i = list.length - 1; i >= 0; i--) {
        if (list[i].root.isConnected) continue;
        list[i].destroy();
        list.splice(i, 1);
      }
      if (!list.includes(member)) list.push(member);
      this.redraw();
    }

    get loaded() {
      return this.players.filter((player) => player.run.passes.length > 0);
    }
    get last() {
      return Math.max(0, ...this.loaded.map((player) => player.run.last));
    }
    get live() {
      return this.loaded.some((player) => player.live);
    }
    get visible() {
      return this.players.some((player) => BlockViz.visible(player.root));
    }
    /** Something moves by itself: playback, or a live run whose head is followed. */
    get moving() {
      return this.playing || (this.follow && this.live);
    }

    /** Go to pass k; a person's own move stops playback and, off the head, following. */
    seek(k, quiet) {
      const last = this.last;
      this.pass = Math.max(0, Math.min(last, Math.round(k)));
      if (!quiet) {
        this.playing = false;
        this.follow = this.live && this.pass >= last;
      }
      this.redraw();
    }
    step(by) {
      this.seek(this.pass + by);
    }
    first() {
      this.seek(0);
    }
    toEnd() {
      this.seek(this.last);
    }
    play() {
      if (this.loaded.length === 0) return;
      if (this.live && this.pass >= this.last) this.follow = true;
      else {
        if (this.pass >= this.last) this.pass = 0;
        this.playing = true;
        this._clock = 0;
        this._owed = 0;
      }
      this.redraw();
    }
    pause() {
      this.playing = false;
      this.follow = false;
      this.redraw();
    }
    toggle() {
      if (this.moving) this.pause();
      else this.play();
    }
    setSpeed(speed) {
      this.speed = SPEEDS.includes(speed) ? speed : 1;
      this._owed = 0;
      this.redraw();
    }

    /** To the nearest of `marks(run)` before (by < 0) or after the pass on screen. */
    _jump(marks, by) {
      const all = this.loaded.flatMap((player) => marks(player.run));
      const here = this.pass;
      if (by > 0) {
        const next = Math.min(...all.filter((k) => k > here));
        this.seek(Number.isFinite(next) ? next : this.last);
      } else {
        const next = Math.max(...all.filter((k) => k < here));
        this.seek(Number.isFinite(next) ? next : 0);
      }
    }
    block(by) {
      this._jump((run) => run.blocks.map((block) => block.pass), by);
    }
    renoise(by) {
      const any = this.loaded.some((player) => player.run.renoises.some((k) => (by > 0 ? k > this.pass : k < this.pass)));
      if (any) this._jump((run) => run.renoises, by);
    }

    /** A player has more passes; `fresh` says that it began another run. */
    grown(player, fresh) {
      if (fresh) {
        this.playing = false;
        this._owed = 0;
        if (player.live) this.follow = true;
        else if (!this.live) {
          this.follow = false;
          this.pass = BlockViz.calm() ? this.last : 0;
          if (!BlockViz.calm()) this.play();
        }
      }
      if (this.follow) this.head.grown(fresh);
      else this.pass = Math.min(this.pass, this.last);
      this.redraw();
    }

    redraw() {
      if (this._asked) return;
      this._asked = requestAnimationFrame((now) => this._frame(now));
    }

    _frame(now) {
      this._asked = 0;
      if (this.playing) this._advance(now);
      else if (this.follow) this.head.step(now);
      for (const player of this.players) player.draw(this.pass);
      for (const transport of this.transports) transport.draw();
      if (this.playing || this.head.behind) this.redraw();
    }

    _advance(now) {
      if (!this.visible) {
        this.playing = false;
        return;
      }
      // A tab that slept owes nothing: never jump more than a quarter of a second.
      const passed = this._clock ? Math.min(0.25, (now - this._clock) / 1000) : 0;
      this._clock = now;
      this._owed += passed * RATE * this.speed;
      const steps = Math.floor(this._owed);
      this._owed -= steps;
      const last = this.last;
      this.pass = Math.min(last, this.pass + steps);
      if (this.pass < last) return;
      this.playing = false;
      if (this.live) this.follow = true;
    }

    state() {
      const players = this.players.map((player) => player.state());
      const first = players.find((state) => state.passes > 0) || players[0];
      return Object.assign({}, first, {
        playing: this.moving,
        following: this.follow,
        live: this.live,
        speed: this.speed,
        group: this.name,
        players,
      });
    }
  }

  const buses = new Map();

  /** The bus of a group, made on first use. */
  BlockViz.bus = function (name) {
    const key = name || "explore";
    if (!buses.has(key)) buses.set(key, new Bus(key));
    return buses.get(key);
  };

  /** The bus whose players are on screen; with several, the one nearest the top of the window. */
  BlockViz.visibleBus = function () {
    let best = null;
    let nearest = Infinity;
    for (const bus of buses.values()) {
      for (const player of bus.players) {
        if (!BlockViz.visible(player.root)) continue;
        const box = player.root.getBoundingClientRect();
        const distance = box.bottom < 0 ? -box.bottom + 1e4 : Math.max(0, box.top);
        if (distance < nearest) {
          nearest = distance;
          best = bus;
        }
      }
    }
    return best;
  };

  /** What the visible player shows: {pass, passes, block, phase, nfe: {denoise, verify, total}, run, playing, ...}. */
  BlockViz.state = function () {
    const bus = BlockViz.visibleBus() || [...buses.values()].find((one) => one.players.length) || null;
    if (bus && bus.players.length) return bus.state();
    return { pass: 0, passes: 0, block: 0, phase: null, nfe: { denoise: 0, verify: 0, total: 0 }, run: null, playing: false, players: [] };
  };

  BlockViz.SPEEDS = SPEEDS;
})();
