/* BlockViz.Transport: buttons, scrubber with ticks and marks, jumps, pace, speed and loop of one bus. */
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
    previous: "M15 5l-7 7 7 7",
    next: "M9 5l7 7-7 7",
    loop: "M17 2l4 4-4 4M3 11V9a3 3 0 0 1 3-3h15M7 22l-4-4 4-4M21 13v2a3 3 0 0 1-3 3H3",
    present: "M3 9V4h6M15 4h6v5M21 15v5h-6M9 20H3v-5",
  };

  const SPEED_HELP = "Playback speed; 1× is 6 passes or 6 network calls a second, or real time, by the pace (− +)";
  const ALIGN_HELP = "Which passes of the runs are shown beside each other";
  const PACE_HELP = "What sets the time of playback (t)";
  /* Jumps: what (a method of the bus too), its name, keys back and forward, words. */
  const JUMPS = [
    ["block", "block", "[", "]", "block"],
    ["renoise", "re-noise", "N", "n", "re-noising"],
    ["change", "change", "C", "c", "change of the token in focus, or else of any"],
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

    _button(name, label, act, className, hook) {
      const drawing = icon(name);
      const button = el("button", { type: "button", class: "bv-button" + (className || ""), "aria-label": label, title: label }, drawing.svg);
      button.addEventListener("click", act);
      this._name(button, hook || name);
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
      this.pace = el("select", { class: "bv-pill bv-pace", "aria-label": "Pace" });
      for (const [pace, { name, help }] of Object.entries(BlockViz.clock.PACES)) this.pace.append(el("option", { value: pace, text: name, title: help }));
      this._name(this.pace, "pace");
      this.pace.addEventListener("change", () => bus.setPace(this.pace.value));
      this.align = el("select", { class: "bv-pill bv-align", "aria-label": "Alignment of the runs", hidden: true });
      for (const [axis, { name, help }] of Object.entries(BlockViz.align.AXES)) this.align.append(el("option", { value: axis, text: "aligned " + name, title: help }));
      this._name(this.align, "align");
      this.align.addEventListener("change", () => bus.setAlignment(this.align.value));
      this.loop = this._toggle("loop", "Loop: begin again at the end (l)", () => bus.setLoop(!bus.loop));
      this.present = this._toggle("present", "Present: full screen, the canvas and one view (p)", () => BlockViz.present.toggle(bus));
      this.speed = el("select", { class: "bv-pill", "aria-label": "Playback speed", title: SPEED_HELP });
      for (const speed of BlockViz.SPEEDS) this.speed.append(el("option", { value: speed, text: speed + "×" }));
      this.speed.value = "1";
      this._name(this.speed, "speed");
      this.speed.addEventListener("change", () => bus.setSpeed(Number(this.speed.value)));
      this.head = el("button", { type: "button", class: "bv-pill bv-head", text: "live" });
      this._name(this.head, "head");
      this.head.addEventListener("click", () => bus.toEnd());
      const help = el("button", { type: "button", class: "bv-pill bv-help", text: "?", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts (?)" });
      help.addEventListener("click", () => BlockViz.showKeys());
      this.bar = el(
        "div",
        { class: "bv-transport", role: "group", "aria-label": "Playback" },
        el("div", { class: "bv-buttons" }, first.button, back.button, this.play.button, forward.button, last.button),
        el("div", { class: "bv-track" }, this.ticks, this.scrubber),
        el("div", { class: "bv-jumps" }, ...JUMPS.map((jump) => this._jump(...jump))),
        this.head,
        el("div", { class: "bv-extras" }, this.align, this.pace, this.speed, this.loop, this.present, help),
      );
      this.root.append(this.bar);
    }

    /** A button that is on or off. */
    _toggle(name, label, act) {
      const { button } = this._button(name, label, act, " bv-toggle");
      button.setAttribute("aria-pressed", "false");
      return button;
    }

    /** A name between a button back and one forward. */
    _jump(what, name, back, forward, words) {
      const { bus } = this;
      const side = (drawing, by, label, hook) => this._button(drawing, label, () => bus[what](by), " bv-jump-button", hook).button;
      return el(
        "div",
        { class: "bv-jump", role: "group", "aria-label": `Jump by ${name}` },
        side("previous", -1, `Previous ${words} (${back})`, what + "-back"),
        el("span", { class: "bv-jump-name", "aria-hidden": "true", text: name }),
        side("next", 1, `Next ${words} (${forward})`, what + "-forward"),
      );
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
      if (this.pace.value !== bus.pace) this.pace.value = bus.pace;
      const pace = `${PACE_HELP}. ${BlockViz.clock.PACES[bus.pace].help}.`;
      if (this.pace.title !== pace) this.pace.title = pace;
      this._drawAlignment();
      BlockViz.mark(this.loop, "aria-pressed", String(bus.loop));
      BlockViz.mark(this.present, "aria-pressed", String(BlockViz.present.on));
      const live = bus.live;
      BlockViz.mark(this.head, "data-live", live ? (bus.follow ? "following" : "left") : null);
      BlockViz.write(this.head, live && !bus.follow ? "to live" : "live");
      const head = bus.follow ? "The newest pass is shown as it comes" : "The run goes on: show its newest pass";
      if (this.head.title !== head) this.head.title = head;
      this._drawMarks(last);
    }

    /** Only several runs are aligned; while one still grows, those that need its end are aligned by pass. */
    _drawAlignment() {
      const { bus, align } = this;
      const many = bus.loaded.length > 1;
      if (align.hidden === many) align.hidden = !many;
      if (!many) return;
      const chosen = bus.alignment || bus.axis;
      if (align.value !== chosen) align.value = chosen;
      const until = chosen === bus.axis ? "" : ` As long as a run grows or has no times: ${BlockViz.align.AXES[bus.axis].name}.`;
      const title = `${ALIGN_HELP}. ${BlockViz.align.AXES[chosen].help}.${until}`;
      if (align.title !== title) align.title = title;
    }

    /** Ticks where a block begins, dots where tokens were thrown back; one line of dots per run. */
    _drawMarks(last) {
      const players = this.bus.loaded;
      const runs = players.map((player) => player.run);
      const key = last + this.bus.axis + ":" + runs.map((run) => run.id + run.blocks.length + "." + run.renoises.length).join();
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
          const at = this.bus.place(players[line], pass);
          if (seen.has(at)) continue;
          seen.add(at);
          put("bv-tick", at, 0, `block ${block + 1} begins`);
        }
        for (const k of run.renoises) put("bv-dot", this.bus.place(players[line], k), line, "re-noise");
      });
      this.ticks.replaceChildren(all);
    }
  }

  /** The transport in `root`, made on the first call. Options: group, suffix (of the test hooks). */
  BlockViz.Transport = function (root, options) {
    if (!root.__bvTransport) root.__bvTransport = new Transport(root, options);
    return root.__bvTransport;
  };
})();
