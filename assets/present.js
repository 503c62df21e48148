/* BlockViz.present: the run for a room. The player on screen (in Compare both) fills the screen, or the window where the browser
   has no full screen: canvas and one chosen view, large; controls show while the mouse moves or a key was pressed. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);

  const IDLE_MS = 2600;
  const ZOOMS = [3, 2.7, 2.4, 2.1, 1.9, 1.7, 1.55, 1.4, 1.25, 1.1, 1];
  const LONG_ZOOM = 1.5; // a canvas that scrolls anyway
  const CARD_WIDTH = 330; // px that a view is drawn for
  const CARD_HEIGHT = 270;
  const CARD_HEAD = 80; // px of a view's title, help line and padding
  const SHORTEST = 130; // px of plot and legend at least
  const FACTS = 84; // em of the line of facts
  const PAIR_FACTS = 55; // and of one of several, where it may take two lines
  const SIDE = 0.64; // share of the canvas beside a view
  const ABOVE = 0.58; // and above one
  const SHORT_CANVAS = 480; // px below which legend and checks give way to the tokens
  const HELP = { alone: "The canvas alone (0)", side: "Side by side or stacked (s)", leave: "Leave (Esc)" };

  /** The views that stand in cards, as far as they are mounted. */
  const cards = (player) => player.cards.all.filter((view) => view.it && view.it.fit);

  class Present {
    constructor() {
      this.on = false;
      this.view = "";
      this._held = []; // canvases that scroll only while presented
      this.stacked = null; // nobody chose: by the shape of the window
      this.keys = {
        Escape: () => this.leave(),
        0: () => this.choose(""),
        v: () => this._cycle(1),
        V: () => this._cycle(-1),
        s: () => this.turn(),
      };
      for (let n = 1; n <= 9; n++) this.keys[n] = () => this._names[n - 1] && this.choose(this._names[n - 1]);
      this._wake = () => this._awake();
      this._full = () => {
        if (!document.fullscreenElement && this._isFull) this.leave();
        this._isFull = Boolean(document.fullscreenElement);
      };
    }

    toggle(bus) {
      if (this.on) this.leave();
      else this.enter(bus);
    }

    enter(bus) {
      const players = bus.players.filter((player) => BlockViz.visible(player.root) && player.run.passes.length > 0);
      if (this.on || players.length === 0) return;
      this.on = true;
      this.bus = bus;
      this.players = players;
      this._from = document.activeElement;
      this._names = cards(players[0]).map((view) => view.name);
      if (players.length > 2) this.view = ""; // so many canvases leave little room; a view has to be asked for
      else if (!this._names.includes(this.view)) this.view = this._names[0] || "";
      const bars = bus.transports.filter((one) => one.bar && BlockViz.visible(one.root)); // others only listen
      this._take([...players.map((player) => player.root), ...bars.map((one) => one.root)]);
      document.body.classList.add("bv-presenting");
      this._makeBar();
      this._watch = new ResizeObserver(() => this._later());
      this._watch.observe(this.stage);
      for (const type of ["pointermove", "pointerdown", "keydown", "focusin"]) document.addEventListener(type, this._wake, true);
      document.addEventListener("fullscreenchange", this._full);
      this._isFull = false;
      this._fullScreen();
      this._awake();
      this._fit();
    }

    leave() {
      if (!this.on) return;
      this.on = false;
      clearTimeout(this._idle);
      cancelAnimationFrame(this._fitting);
      this._watch.disconnect();
      for (const type of ["pointermove", "pointerdown", "keydown", "focusin"]) document.removeEventListener(type, this._wake, true);
      document.removeEventListener("fullscreenchange", this._full);
      if (document.fullscreenElement) document.exitFullscreen().catch(() => undefined);
      document.body.classList.remove("bv-presenting", "bv-idle");
      this.bar.remove();
      for (const undo of this._undo.reverse()) undo();
      this.stage.classList.remove("is-stacked", "is-alone", "is-short");
      this._release();
      for (const player of this.players) {
        for (const view of cards(player)) {
          view.mount.classList.remove("is-chosen");
          view.it.fit(0);
        }
        player.facts.load(player.run);
      }
      if (this._from && this._from.isConnected) this._from.focus({ preventScroll: true });
      this.bus.redraw();
    }

    /** Ask for the real full screen; where it is refused or missing, filling the window has to do. */
    _fullScreen() {
      const page = document.documentElement;
      if (!page.requestFullscreen) return;
      page.requestFullscreen({ navigationUI: "hide" }).then(
        () => (this._isFull = true),
        () => undefined,
      );
    }

    /** The nearest element that holds all of `roots` becomes the stage; everything outside it sleeps. */
    _take(roots) {
      let stage = roots[0];
      while (!roots.every((root) => stage.contains(root))) stage = stage.parentElement;
      this.stage = stage;
      this._undo = [];
      this._class(stage, "bv-stage");
      if (this.players.length > 1) this._class(stage, "is-pair");
      const inner = [];
      for (const child of stage === roots[0] ? [] : stage.children) {
        if (!roots.some((root) => child.contains(root))) this._class(child, "bv-offstage");
        else inner.push(child);
      }
      for (const child of inner) this._class(child, this.players.some((player) => child.contains(player.root)) ? "bv-onstage" : "bv-onstage-bar");
      for (let node = stage; node !== document.body; node = node.parentElement) {
        for (const other of node.parentElement.children) {
          if (other === node || other.inert || other.matches("script, style, link, dialog")) continue;
          other.inert = true;
          this._undo.push(() => (other.inert = false));
        }
      }
    }

    _class(node, name) {
      if (node.classList.contains(name)) return;
      node.classList.add(name);
      this._undo.push(() => node.classList.remove(name));
    }

    _set(node, name, value) {
      if (!node.style.getPropertyValue(name)) this._undo.push(() => node.style.removeProperty(name));
      node.style.setProperty(name, value);
    }

    _makeBar() {
      const templates = this.players[0].options.templates || BlockViz.templates || {};
      const button = (text, key, title, act) => {
        const node = el("button", { type: "button", title }, el("kbd", { text: key, "aria-hidden": "true" }), text);
        node.addEventListener("click", act);
        return node;
      };
      this.choices = this._names.map((name, i) => {
        const title = templates[name] ? templates[name].title : name;
        const node = button(title, String(i + 1), `${title} beside the canvas (${i + 1})`, () => this.choose(name));
        node.dataset.view = name;
        return node;
      });
      const alone = button("Canvas alone", "0", HELP.alone, () => this.choose(""));
      alone.dataset.view = "";
      this.choices.push(alone);
      this.turner = button("", "s", HELP.side, () => this.turn());
      this.bar = el("div", { class: "bv-present-bar", role: "toolbar", "aria-label": "Present", "data-testid": "present-bar" });
      const keys = button("Keys", "?", "Keyboard shortcuts (?)", () => BlockViz.showKeys());
      const leave = button("Leave", "Esc", HELP.leave, () => this.leave());
      leave.classList.add("bv-leave");
      this.bar.append(...this.choices, this.turner, el("span"), keys, leave);
      document.body.append(this.bar);
    }

    choose(name) {
      this.view = name;
      this._fit();
    }

    _cycle(by) {
      if (this._names.length === 0) return;
      const at = this._names.indexOf(this.view);
      const from = at < 0 && by < 0 ? 0 : at;
      this.choose(this._names[(from + by + this._names.length) % this._names.length]);
    }

    turn() {
      this.stacked = !this._isStacked();
      this._fit();
    }

    _isStacked() {
      if (this.players.length > 1) return true;
      return this.stacked === null ? window.innerWidth < window.innerHeight * 1.1 : this.stacked;
    }

    _later() {
      cancelAnimationFrame(this._fitting);
      this._fitting = requestAnimationFrame(() => this.on && this._fit());
    }

    /** Divide the room, and let canvas and view grow until they fill it. */
    _fit() {
      const { stage } = this;
      const stacked = this._isStacked();
      stage.classList.toggle("is-stacked", stacked);
      stage.classList.toggle("is-alone", this.view === "");
      for (const node of this.choices) node.setAttribute("aria-pressed", String(node.dataset.view === this.view));
      this.turner.lastChild.data = stacked ? "Side by side" : "Stacked"; // what a press would do
      this.turner.hidden = this.players.length > 1;
      this._set(stage, "--bv-present-bar", this.bar.offsetHeight + "px");
      this._set(stage, "--bv-present-type", Math.max(13.5, Math.min(26, stage.clientWidth / (this.players.length > 1 ? PAIR_FACTS * (this.players.length === 3 ? 3 : 2) : FACTS))) + "px");
      for (const player of this.players) player.facts.load(player.run);
      stage.classList.remove("is-short");
      let rooms = this.players.map((player) => this._room(player, stacked));
      if (rooms.some((room) => room.canvas[1] < SHORT_CANVAS)) {
        stage.classList.add("is-short");
        rooms = this.players.map((player) => this._room(player, stacked)); // what gave way has made room
      }
      this._release();
      for (const zoom of ZOOMS) {
        const fits = this.players.map((player) => this._zoomCanvas(player, zoom));
        if (fits.every(Boolean)) break;
      }
      for (const player of this.players) this._hold(player);
      this.players.forEach((player, i) => this._showView(player, rooms[i].view));
      this.bus.redraw();
    }

    /** Pixels for canvas and view: {canvas: [width, height], view: [width, height]}; also told to the style sheet. */
    _room(player, stacked) {
      const { frame } = player;
      const taken = [...frame.children].filter((child) => child.matches(".bv-title, .bv-facts, .bv-note, .bv-ribbon, .bv-bar") && BlockViz.visible(child));
      const width = frame.clientWidth;
      const height = Math.max(200, frame.clientHeight - taken.reduce((sum, child) => sum + child.offsetHeight, 0));
      if (this.view === "") {
        this._set(frame, "--bv-canvas-height", "1fr");
        return { canvas: [width, height], view: [0, 0] };
      }
      const canvas = stacked ? [width, Math.round(height * ABOVE)] : [Math.round(width * SIDE), height];
      this._set(frame, "--bv-canvas-width", canvas[0] + "px");
      this._set(frame, "--bv-canvas-height", canvas[1] + "px");
      return { canvas, view: stacked ? [width, height - canvas[1]] : [width - canvas[0], height] };
    }

    /** Try a size; true when the whole canvas is seen at it. */
    _zoomCanvas(player, zoom) {
      const box = player.canvas.grid.parentElement;
      this._set(box, "--bv-zoom", zoom);
      player.canvas._resize();
      if (player.canvas.grid.classList.contains("is-long")) return zoom <= LONG_ZOOM;
      return box.scrollHeight <= box.clientHeight + 1;
    }

    /** A canvas that does not fit at any size scrolls by itself and follows the active block, as a long one does. */
    _hold({ canvas, shown }) {
      const { grid } = canvas;
      const box = grid.parentElement;
      if (grid.classList.contains("is-long") || box.scrollHeight <= box.clientHeight + 1) return;
      grid.classList.add("is-long");
      this._held.push(grid);
      canvas._active = -2;
      if (shown < 0) return;
      canvas.draw(shown);
      canvas.follow();
    }

    _release() {
      for (const grid of this._held) grid.classList.remove("is-long");
      this._held = [];
    }

    _showView(player, [width, height]) {
      for (const view of cards(player)) {
        const chosen = view.name === this.view;
        view.mount.classList.toggle("is-chosen", chosen);
        if (!chosen) continue;
        const zoom = Math.max(1, Math.min(3, width / CARD_WIDTH, height / CARD_HEIGHT));
        this._set(view.mount, "--bv-zoom", zoom.toFixed(3));
        view.it.fit(Math.max(SHORTEST, Math.floor(height / zoom - CARD_HEAD)));
        view.drawn = -1;
      }
    }

    _awake() {
      document.body.classList.remove("bv-idle");
      clearTimeout(this._idle);
      this._idle = setTimeout(() => this._sleep(), IDLE_MS);
    }

    /** The list of keys stays until it is closed. */
    _sleep() {
      if (BlockViz.keysOpen()) this._awake();
      else document.body.classList.add("bv-idle");
    }
  }

  BlockViz.present = new Present();
})();
