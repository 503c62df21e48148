/* BlockViz.Transport: buttons, scrubber with ticks and marks, speed and the keyboard of one bus. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);
  const SVG = "http://www.w3.org/2000/svg";

  /* Icons as paths, so that no emoji font decides how they look. */
  const ICONS = {
    first: "M5 5v14M19 5 9 12l10 7z",
    back: "M17 5 7 12l10 7z",
    play: "M8 4.5 19.5 12 8 19.5z",
    pause: "M7 5h3.6v14H7zM13.4 5H17v14h-3.6z",
    forward: "M7 5l10 7-10 7z",
    last: "M19 5v14M5 5l10 7-10 7z",
  };

  const KEYS = [
    ["Space", "play or pause"],
    ["← →", "one pass back, one forward"],
    ["Home End", "first pass, last pass"],
    ["[ ] or PgUp PgDn", "previous block, next block"],
    ["n  N", "next re-noising, previous one"],
    ["− +", "slower, faster"],
    ["↑ ↓, Shift ← →", "on the canvas: move between tokens"],
    ["Enter", "on a token: pin its details"],
    ["?", "this list"],
  ];

  function icon(name) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", ICONS[name]);
    svg.append(path);
    return { svg, set: (other) => path.setAttribute("d", ICONS[other]) };
  }

  class Transport {
    constructor(root, options) {
      this.root = root;
      this.options = options || {};
      this.bus = BlockViz.bus(this.options.group);
      this._hooks = [];
      this._marks = "";
      this._make();
      this.bus.join(this.bus.transports, this);
      this._observer = new ResizeObserver(() => this._hook());
      this._observer.observe(root);
      this._hook();
    }

    destroy() {
      this._observer.disconnect();
    }

    _button(name, label, act, className) {
      const drawing = icon(name);
      const button = el("button", { type: "button", class: "bv-button" + (className || ""), "aria-label": label, title: label }, drawing.svg);
      button.addEventListener("click", act);
      this._name(button, name);
      return { button, drawing };
    }

    /** A test hook that only the transport on screen answers to; Explore and Compare both have one. */
    _name(node, name) {
      this._hooks.push([node, name + (this.options.suffix || "")]);
    }

    _hook() {
      const on = BlockViz.visible(this.root);
      for (const [node, name] of this._hooks) BlockViz.mark(node, "data-testid", on ? name : null);
      if (on) this.bus.redraw();
    }

    _make() {
      const bus = this.bus;
      const first = this._button("first", "First pass (Home)", () => bus.first());
      const back = this._button("back", "One pass back (left arrow)", () => bus.step(-1));
      this.play = this._button("play", "Play (space)", () => bus.toggle(), " bv-play");
      const forward = this._button("forward", "One pass forward (right arrow)", () => bus.step(1));
      const last = this._button("last", "Last pass (End)", () => bus.toEnd());
      this.scrubber = el("input", { type: "range", class: "bv-scrubber", min: 0, max: 0, step: 1, value: 0, "aria-label": "Pass" });
      this._name(this.scrubber, "scrubber");
      this.scrubber.addEventListener("input", () => bus.seek(Number(this.scrubber.value)));
      this.ticks = el("div", { class: "bv-ticks", "aria-hidden": "true" });
      this.speed = el("select", { class: "bv-pill", "aria-label": "Playback speed", title: "Playback speed; 1× is 6 passes a second" });
      for (const speed of BlockViz.SPEEDS) this.speed.append(el("option", { value: speed, text: speed + "×" }));
      this.speed.value = "1";
      this._name(this.speed, "speed");
      this.speed.addEventListener("change", () => bus.setSpeed(Number(this.speed.value)));
      this.head = el("button", { type: "button", class: "bv-pill bv-head", text: "live" });
      this._name(this.head, "head");
      this.head.addEventListener("click", () => bus.toEnd());
      const help = el("button", { type: "button", class: "bv-pill bv-help", text: "?", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts (?)" });
      help.addEventListener("click", () => showKeys());
      this.bar = el(
        "div",
        { class: "bv-transport", role: "group", "aria-label": "Playback" },
        el("div", { class: "bv-buttons" }, first.button, back.button, this.play.button, forward.button, last.button),
        el("div", { class: "bv-track" }, this.ticks, this.scrubber),
        el("div", { class: "bv-extras" }, this.head, this.speed, help),
      );
      this.root.append(this.bar);
    }

    draw() {
      const bus = this.bus;
      const last = bus.last;
      const input = this.scrubber;
      if (input.max !== String(last)) input.max = last;
      if (input.value !== String(bus.pass)) input.value = bus.pass;
      input.style.setProperty("--bv-at", last ? (bus.pass / last) * 100 + "%" : "0%");
      BlockViz.mark(input, "aria-valuetext", bus.players[0] ? bus.players[0].sentence() : `pass ${bus.pass} of ${last}`);
      const moving = bus.moving;
      if (this._moving !== moving) {
        this._moving = moving;
        this.play.drawing.set(moving ? "pause" : "play");
        const label = moving ? "Pause (space)" : "Play (space)";
        this.play.button.setAttribute("aria-label", label);
        this.play.button.title = label;
      }
      if (this.speed.value !== String(bus.speed)) this.speed.value = String(bus.speed);
      const live = bus.live;
      BlockViz.mark(this.head, "data-live", live ? (bus.follow ? "following" : "left") : null);
      BlockViz.write(this.head, live && !bus.follow ? "to live" : "live");
      this.head.title = bus.follow ? "The newest pass is shown as it comes" : "The run goes on: show its newest pass";
      this._drawMarks(last);
    }

    /** Ticks where a block begins, dots where tokens were thrown back; one line of dots per run. */
    _drawMarks(last) {
      const runs = this.bus.loaded.map((player) => player.run);
      const key = last + ":" + runs.map((run) => run.id + run.blocks.length + "." + run.renoises.length).join();
      if (key === this._marks) return;
      const now = performance.now();
      if (this.bus.live && this._drawn && now - this._drawn < 120) {
        if (!this._later) this._later = setTimeout(() => ((this._later = 0), this.bus.redraw()), 130);
        return;
      }
      this._drawn = now;
      this._marks = key;
      const all = document.createDocumentFragment();
      const put = (className, k, row, title) => {
        const mark = el("i", { class: className, title });
        mark.style.left = (last ? (k / last) * 100 : 0) + "%";
        if (row) mark.style.setProperty("--bv-line-no", row);
        all.append(mark);
      };
      const seen = new Set();
      runs.forEach((run, line) => {
        for (const { block, pass } of run.blocks) {
          if (seen.has(pass)) continue;
          seen.add(pass);
          put("bv-tick", pass, 0, `block ${block + 1} begins`);
        }
        for (const k of run.renoises) put("bv-dot", k, line, "re-noise");
      });
      this.ticks.replaceChildren(all);
    }
  }

  let dialog = null;

  function showKeys() {
    if (!dialog || !dialog.isConnected) {
      const list = el("dl", { class: "bv-keys-list" });
      for (const [keys, meaning] of KEYS) list.append(el("dt", {}, el("kbd", { text: keys })), el("dd", { text: meaning }));
      const close = el("button", { type: "button", class: "bv-pill", text: "Close" });
      dialog = el("dialog", { class: "bv-keys", "aria-label": "Keyboard shortcuts" }, el("h2", { text: "Keys" }), list, close);
      close.addEventListener("click", () => dialog.close());
      dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
      document.body.append(dialog);
    }
    if (dialog.open) dialog.close();
    else dialog.showModal();
  }

  const ACTIONS = {
    " ": (bus) => bus.toggle(),
    ArrowLeft: (bus) => bus.step(-1),
    ArrowRight: (bus) => bus.step(1),
    Home: (bus) => bus.first(),
    End: (bus) => bus.toEnd(),
    "[": (bus) => bus.block(-1),
    "]": (bus) => bus.block(1),
    PageUp: (bus) => bus.block(-1),
    PageDown: (bus) => bus.block(1),
    n: (bus) => bus.renoise(1),
    N: (bus) => bus.renoise(-1),
    "-": (bus) => faster(bus, -1),
    "+": (bus) => faster(bus, 1),
    "?": () => showKeys(),
  };

  function faster(bus, by) {
    const at = BlockViz.SPEEDS.indexOf(bus.speed) + by;
    if (at >= 0 && at < BlockViz.SPEEDS.length) bus.setSpeed(BlockViz.SPEEDS[at]);
  }

  /** True where a key belongs to what has the focus: typing, choosing, or pressing a button with space. */
  function taken(target, key) {
    if (!(target instanceof Element)) return false;
    if (target.closest(".bv-scrubber")) return false;
    if (target.isContentEditable) return true;
    if (target.closest("input, textarea, select, [role=listbox], [role=combobox], [role=slider], [role=tab], [role=radio], [role=menu], dialog, .modebar")) return key !== "?" || !target.closest("dialog");
    return key === " " && Boolean(target.closest("button, summary, a[href], [role=button]"));
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
    const act = ACTIONS[event.key];
    if (!act || taken(event.target, event.key)) return;
    const bus = BlockViz.visibleBus();
    if (!bus) return;
    event.preventDefault();
    act(bus);
  });

  /** The transport in `root`, made on the first call. Options: group, suffix (of the test hooks). */
  BlockViz.Transport = function (root, options) {
    if (!root.__bvTransport) root.__bvTransport = new Transport(root, options);
    return root.__bvTransport;
  };
})();
