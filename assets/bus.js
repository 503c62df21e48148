/* BlockViz.bus(name): one clock and one target pass for every player of a group. The target moves at once, so no key press is
   lost; drawing happens at most once per animation frame. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
  const REST = 1.2; // seconds that a loop stays on the last pass
  const MOST = 0.5; // seconds of the run that playback may fall behind
  const FRAME_MS = 9; // of a frame, for canvases and quick views
  const BEHIND = 3; // passes without a call that a second run still shows one by one

  class Bus {
    constructor(name) {
      this.name = name;
      this.players = [];
      this.transports = [];
      this.pass = 0;
      this.playing = false;
      this.follow = false;
      this.speed = 1;
      this.pace = "pass";
      this.alignment = null; // nobody chose: runs keep the time that the pace counts in
      this.loop = false;
      this._asked = 0;
      this._clock = 0;
      this._owed = 0;
      this.head = new BlockViz.Head(this);
      this._rested = 0;
      this._led = null;
      this._begun = null;
      BlockViz.haste.join(this);
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

    /** The players that are in use: a side of Compare without a run is not. */
    get used() {
      return this.players.filter((player) => !player.unused);
    }
    get loaded() {
      return this.players.filter((player) => player.run.passes.length > 0);
    }
    /** The player whose passes are counted: the one whose run lasts longest. The others keep its time. */
    get lead() {
      const { loaded } = this;
      return loaded[BlockViz.align.lead(loaded.map((player) => player.run), this.axis)] || null;
    }
    /** What the runs of the group are aligned by now. */
    get axis() {
      return BlockViz.align.axis(this.loaded.map((player) => player.run), this.alignment || this.pace);
    }
    get last() {
      const lead = this.lead;
      return lead ? lead.run.last : 0;
    }
    /** Every run of a group goes by one pace: real time needs recorded times in all of them. */
    _pace() {
      return this.loaded.every((player) => BlockViz.clock.pace(player.run, this.pace) === this.pace) ? this.pace : "pass";
    }
    /** The pass that a player is to show; one beyond its last once its run is over before the lead's. */
    target(player) {
      const { lead, pass } = this;
      if (!lead || player === lead || player.run.passes.length === 0) return pass;
      return BlockViz.align.beside(lead.run, pass, player.run, this.axis);
    }
    /** Where pass k of a player's run lies among the passes of the lead. */
    place(player, k) {
      const { lead, axis } = this;
      if (axis === "pass" || !lead || player === lead) return k;
      return BlockViz.align.passFrom(lead.run, BlockViz.align.time(player.run, k, axis), axis);
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
        this._rested = 0;
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

    /** What sets the time: "pass", "nfe" or "ms"; what the leading run shows stays on screen. */
    setPace(pace) {
      this._realign(() => (this.pace = pace in BlockViz.clock.PACES ? pace : "pass"));
    }
    /** What runs are aligned by, one of BlockViz.align.AXES; null leaves it to the pace. */
    setAlignment(axis) {
      this._realign(() => (this.alignment = Object.hasOwn(BlockViz.align.AXES, axis || "") ? axis : null));
    }
    _realign(change) {
      const shown = new Map(this.loaded.map((player) => [player, Math.min(this.target(player), player.run.last)]));
      change();
      this._led = this.lead;
      if (shown.has(this._led)) this.pass = shown.get(this._led);
      this._owed = 0;
      this.redraw();
    }
    setLoop(loop) {
      this.loop = loop;
      this.redraw();
    }
    /** A run has grown beyond the one that led: the pass number means its passes from here on. */
    _relead() {
      const [old, lead] = [this._led, this.lead];
      const { axis } = this;
      this._led = lead;
      if (!old || !lead || old === lead || axis === "pass" || old.run.passes.length === 0) return;
      this.pass = BlockViz.align.passAt(lead.run, BlockViz.align.time(old.run, this.pass, axis), axis);
    }

    /** To the nearest of `marks(run)` before (by < 0) or after the pass on screen. */
    _jump(marks, by) {
      const all = this.loaded.flatMap((player) => marks(player.run).map((k) => this.place(player, k)));
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
      this._seek((run) => run.renoises, by);
    }
    /** To the next pass that changes the token in focus (or inspected), or else any token. */
    change(by) {
      const pos = this.focus();
      this._seek((run) => BlockViz.clock.changes(run, pos), by);
    }
    /** As `_jump`, but where there is no such pass, stay. */
    _seek(marks, by) {
      const all = this.loaded.flatMap((player) => marks(player.run).map((k) => this.place(player, k)));
      if (all.some((k) => (by > 0 ? k > this.pass : k < this.pass))) this._jump(marks, by);
    }
    /** The position of the token in focus or inspected in one of the players, or -1. */
    focus() {
      for (const { root, inspector } of this.players) {
        const cell = document.activeElement && root.contains(document.activeElement) && document.activeElement.closest("[data-pos]");
        if (cell) return Number(cell.dataset.pos);
        if (inspector && inspector.pos >= 0) return inspector.pos;
      }
      return -1;
    }

    /** A player has more passes; `fresh` says that it began another run. */
    grown(player, fresh) {
      if (fresh) {
        this._begun = player;
        this.playing = false;
        this._owed = 0;
        if (player.live) this.follow = true;
        else if (!this.live) {
          this.follow = false;
          this.pass = BlockViz.calm() ? this.last : 0;
          if (!BlockViz.calm()) this.play();
        }
      }
      this._relead();
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
      const until = performance.now() + FRAME_MS;
      // First everything that asks for styles or sizes, then everything that writes, then what scrolls to it.
      for (const player of this.players) player.look();
      for (const player of this.players) player.draw(this._drawn(player));
      for (const player of this.players) player.drawViews(until);
      for (const transport of this.transports) transport.draw();
      for (const player of this.players) player.canvas.follow();
      if (this._begun && this._begun.shown > 0) {
        this._begun = null;
        BlockViz.haste.met();
      }
      if (this.playing || this.head.behind) this.redraw();
    }

    _advance(now) {
      if (!this.visible) {
        this.playing = false;
        return;
      }
      const { lead, last } = this;
      const pace = this._pace();
      // A tab that slept owes nothing: never jump more than a quarter of a second.
      const passed = this._clock ? Math.min(0.25, (now - this._clock) / 1000) : 0;
      this._clock = now;
      this._owed += passed * this.speed;
      for (let steps = 0; this.pass < last; steps++) {
        const cost = BlockViz.clock.seconds(lead.run, this.pass + 1, pace);
        // A pass that takes no time has a frame of its own all the same, and so has the one before it.
        if (cost > this._owed || (cost === 0 && steps > 0)) break;
        this._owed -= cost;
        this.pass += 1;
        if (cost === 0) break;
      }
      if (this.pass < last) {
        // What the frames of free passes held up is not made up for all at once.
        this._owed = Math.min(this._owed, Math.max(MOST, BlockViz.clock.seconds(lead.run, this.pass + 1, pace)));
        return;
      }
      if (this.live) {
        this.playing = false;
        this.follow = true;
      } else if (!this.loop) this.playing = false;
      else if ((this._rested += passed) >= REST) {
        this._rested = 0;
        this._owed = 0;
        this.pass = 0;
      }
    }

    /** While it plays by time, a run that does not lead shows its short passes one by one as well. */
    _drawn(player) {
      const target = this.target(player);
      const ahead = target - player.shown;
      const slow = this.playing && this.axis !== "pass" && player.shown >= 0 && ahead > 1 && ahead <= BEHIND;
      return slow ? player.shown + 1 : target;
    }

    state() {
      const players = this.used.map((player) => player.state());
      const first = players.find((state) => state.passes > 0) || players[0];
      return Object.assign({}, first, {
        playing: this.moving,
        following: this.follow,
        live: this.live,
        speed: this.speed,
        pace: this.pace,
        alignment: this.axis,
        loop: this.loop,
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
