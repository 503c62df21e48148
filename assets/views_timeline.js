/* Timeline: one bar per block, cut into its passes, along passes, network calls or milliseconds. The bars are drawn when a run
   arrives, has grown or the axis changes; a step only moves the cursor laid over them. The twin of blockviz/views/timeline.py. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { fill, make, passRoom, tickStep } = BlockViz.viewTools;
  const THINNEST = 3; // pixels of the cursor
  const REACH = 4; // pixels beside a pass that still mean it
  const NUMBER = 12; // pixels that a number of the y axis needs
  const SLOWEST = 24; // its bars take Plotly long: of a growing run they are drawn more seldom than other views
  const ROUND = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];

  /* One axis for every timeline of the page: two that stand beside each other must be read alike. */
  const timelines = new Set();
  let chosen = "pass";

  function choose(along) {
    chosen = along;
    for (const view of timelines) view.axis(along);
  }

  /** Where every pass begins and ends along an axis, in its unit: Float64Array [2 P]. */
  function edges(run, along) {
    const where = new Float64Array(2 * run.passes.length);
    let at = 0;
    run.passes.forEach((pass, k) => {
      if (along === "pass") {
        where[2 * k] = k - 0.5;
        where[2 * k + 1] = k + 0.5;
        return;
      }
      where[2 * k] = at;
      at = along === "nfe" ? pass.nfe[0] + pass.nfe[1] : at + (pass.ms > 0 ? pass.ms : 0);
      where[2 * k + 1] = at;
    });
    return where;
  }

  /** The end of the axis: that of an ended run, or a round number beyond a live one, so that it is not rescaled at every pass. */
  function reach(run, along) {
    const where = edges(run, along);
    const last = where[where.length - 1];
    if (run.end) return last;
    if (along === "pass") return passRoom(run) - 0.5;
    if (last <= 0) return 1;
    const scale = 10 ** Math.floor(Math.log10(last));
    return scale * ROUND.find((round) => round * scale >= last);
  }

  /** The farthest end of several runs along each axis. */
  function reaches(runs) {
    return Object.fromEntries(["pass", "nfe", "ms"].map((along) => [along, Math.max(0, ...runs.map((run) => reach(run, along)))]));
  }

  function extent(last, along) {
    if (along === "pass") return [-0.5, last];
    const room = last > 0 ? last : 1;
    return [-0.01 * room, 1.01 * room];
  }

  /** The bars to draw: [{phase, block, start, length}]; passes of a very long run in groups, free ones as hairlines. */
  function bars(run, along, range, { bars: limit, hair: share, drawn, free }) {
    const where = edges(run, along);
    const hair = along === "pass" ? 0 : share * (range[1] - range[0]);
    const count = run.passes.length;
    const size = Math.ceil(count / limit);
    const made = [];
    for (let first = 1; first < count; ) {
      const { block } = run.passes[first];
      let last = first;
      while (last + 1 < count && last + 1 < first + size && run.passes[last + 1].block === block) last++;
      const lengths = {};
      for (let k = first; k <= last; k++) {
        const { phase } = run.passes[k];
        lengths[phase] = (lengths[phase] || 0) + (where[2 * k + 1] - where[2 * k]);
      }
      let start = where[2 * first];
      for (const phase of drawn) {
        if (!(phase in lengths)) continue;
        const length = lengths[phase];
        const thin = free.includes(phase) && length < hair;
        made.push({ phase, block, start: thin ? start + length / 2 - hair / 2 : start, length: thin ? hair : length });
        start += length;
      }
      first = last + 1;
    }
    return made;
  }

  class TimelineView extends BlockViz.View {
    _build() {
      super._build();
      this.along = chosen;
      this.legend.style.height = "";
      this.foot = make("div", "bv-time-foot", this.element);
      this.foot.append(this.legend);
      this._choice();
      timelines.add(this);
    }

    get slowest() {
      return SLOWEST;
    }

    /** Which axis: buttons, of which one is pressed. */
    _choice() {
      const group = make("div", "bv-choice", this.foot);
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", this.words.choice);
      make("span", "bv-choice-name", group).textContent = this.words.choice;
      this.choices = this.template.alongs.map((along) => {
        const button = make("button", "", group);
        button.type = "button";
        button.textContent = this.words.choices[along];
        button.title = this.words.choice_help[along];
        button.dataset.along = along;
        button.addEventListener("click", () => choose(along));
        return button;
      });
      this._pressed();
    }

    _pressed() {
      for (const button of this.choices) button.setAttribute("aria-pressed", String(button.dataset.along === this.along));
    }

    axis(along) {
      this.along = along;
      this._pressed();
      if (this.run) this._load(true);
    }

    /** Edits are legend to forks only. */
    _entries() {
      const forked = Boolean(this.run && this.run.header.fork);
      return super._entries().filter((entry) => forked || entry.name !== "edit");
    }

    loaded(fresh) {
      const { run, along, template } = this;
      if (fresh) this._legend();
      const last = (this.scales && this.scales.timeline && this.scales.timeline[along]) || reach(run, along);
      const range = extent(last, along);
      this.hair = along === "pass" ? 0 : template.hair * (range[1] - range[0]);
      this._measure();
      this._index(fresh);
      const { data, layout } = this.blank();
      const drawn = bars(run, along, range, template);
      template.drawn.forEach((phase, i) => {
        const mine = drawn.filter((bar) => bar.phase === phase);
        Object.assign(data[i], { base: mine.map((bar) => bar.start), x: mine.map((bar) => bar.length), y: mine.map((bar) => bar.block + 1) });
      });
      layout.xaxis.title.text = this.words.axes[along];
      layout.xaxis.range = range;
      layout.uirevision = this._id + along;
      const count = run.blockCount;
      layout.yaxis.range = [count + 0.5, 0.5];
      Object.assign(layout.yaxis, { tick0: 1, dtick: this._everyRow(count) ? 1 : tickStep(count) });
      this.show({ data, layout });
      this._block = -2;
      if (this.k >= 0 && this.k < run.passes.length) this.drawn();
    }

    /** Whether there is room for every block's number. */
    _everyRow(count) {
      const { t, b } = this.template.light.layout.margin;
      return count <= this.template.rows && (this.plotHeight() - t - b) / count >= NUMBER;
    }

    _measure() {
      this.where = edges(this.run, this.along);
      this.times = this.along === "ms" ? this.where : edges(this.run, "ms");
    }

    /** The passes of each block, in order. */
    _index() {
      this.blocks = new Map();
      this.run.passes.forEach((pass, k) => {
        if (k === 0) return;
        if (!this.blocks.has(pass.block)) this.blocks.set(pass.block, []);
        this.blocks.get(pass.block).push(k);
      });
    }

    ready() {
      this.cursor = make("div", "bv-view-cursor", this.plot);
    }

    resized() {
      this.moved();
    }

    drawn() {
      this.moved();
      const pass = this.run.passes[this.k];
      const block = pass.phase === "start" ? -1 : pass.block;
      if (block === this._block) return;
      this._block = block;
      // A growing run is redrawn only now and then, and its next block may begin in between.
      if (block >= 0 && !this.blocks.has(block)) this._index();
      this.say(block < 0 ? this.words.start : this._sum(block));
    }

    /** The sums of a block over the whole run, in words. */
    _sum(block) {
      const { run } = this;
      const ks = this.blocks.get(block);
      let denoise = 0;
      let verify = 0;
      let ms = 0;
      for (const k of ks) {
        const [before, pass] = [run.passes[k - 1], run.passes[k]];
        denoise += pass.nfe[0] - before.nfe[0];
        verify += pass.nfe[1] - before.nfe[1];
        ms += pass.ms > 0 ? pass.ms : 0;
      }
      const values = { block: block + 1, passes: ks.length, nfe: denoise + verify, denoise, verify, ms: ms.toFixed(1) };
      return fill(this.words.sum, values);
    }

    moved() {
      const frame = this.plot._fullLayout;
      if (!this.cursor || this.k < 0 || !frame || !frame.xaxis) return;
      // The cursor of a growing run is ahead of its bars.
      if (2 * this.k >= this.where.length) this._measure();
      const { xaxis, yaxis } = frame;
      const left = xaxis.l2p(this.where[2 * this.k]);
      const right = xaxis.l2p(this.where[2 * this.k + 1]);
      const width = Math.max(THINNEST, right - left);
      const middle = (left + right) / 2;
      const style = this.cursor.style;
      const inside = middle >= 0 && middle <= xaxis._length;
      style.visibility = inside ? "visible" : "hidden";
      if (!inside) return;
      style.width = width + 3 + "px";
      style.height = yaxis._length + 4 + "px";
      style.transform = `translate(${xaxis._offset + middle - width / 2 - 1.5}px, ${yaxis._offset - 2}px)`;
    }

    image({ data, layout }) {
      const color = getComputedStyle(this.cursor).borderTopColor;
      const [x0, x1] = [this.where[2 * this.k], this.where[2 * this.k + 1]];
      layout.shapes = (layout.shapes || []).concat({ type: "rect", yref: "paper", x0, x1, y0: 0, y1: 1, line: { color, width: 1.5 } });
      layout.showlegend = true;
      layout.legend = { orientation: "h", y: -0.2 };
      layout.margin.b += 30;
      data.forEach((trace) => (trace.hovertemplate = undefined));
    }

    /** The pass of a block's bar at x (in the axis' unit), or -1; where several meet, the shortest. */
    at(x, y) {
      const ks = this.blocks.get(Math.round(y) - 1);
      const frame = this.plot._fullLayout;
      if (!ks || !frame || Math.abs(y - Math.round(y)) > 0.45) return -1;
      const unit = Math.abs(frame.xaxis.p2l(1) - frame.xaxis.p2l(0));
      let best = -1;
      let nearest = REACH * unit;
      let shortest = Infinity;
      for (const k of ks) {
        if (2 * k >= this.where.length) break; // it came after the last drawing
        const [start, stop] = [this.where[2 * k], this.where[2 * k + 1]];
        const spare = Math.max(0, this.hair - (stop - start)) / 2;
        const distance = Math.max(0, start - spare - x, x - stop - spare);
        if (distance > nearest || (distance === nearest && stop - start >= shortest)) continue;
        [best, nearest, shortest] = [k, distance, stop - start];
      }
      return best;
    }

    clicked(event) {
      const frame = this.plot._fullLayout;
      const mouse = event.event;
      if (!mouse || !frame) return;
      const k = this.at(...this.under(mouse));
      if (k < 0) return;
      this.element.dispatchEvent(new CustomEvent("bv:pass", { bubbles: true, detail: { pass: k } }));
    }

    describe(x, y) {
      const k = this.at(x, y);
      return k < 0 ? "" : this.tell(k);
    }

    /** A pass in words: its block, what it is, its network call and its time. */
    tell(k) {
      const { run } = this;
      const pass = run.passes[k];
      const before = k ? run.passes[k - 1] : pass;
      const [denoise, verify] = pass.nfe;
      const nfe = denoise + verify;
      const [start, stop] = [this.times[2 * k], this.times[2 * k + 1]];
      const lines = [
        fill(this.words.block, { block: pass.block + 1 }),
        this.when(k),
        fill(nfe > before.nfe[0] + before.nfe[1] ? this.words.call : this.words.free, { nfe, denoise, verify }),
        fill(this.words.time, { ms: (stop - start).toFixed(2), start: start.toFixed(1), stop: stop.toFixed(1) }),
      ];
      if (pass.k) lines.push(fill(pass.k === 1 ? this.words.renoised_one : this.words.renoised, { k: pass.k }));
      return lines.join("<br>");
    }

    destroy() {
      timelines.delete(this);
      super.destroy();
    }
  }

  BlockViz.views.timeline = { mount: (element, template) => new TimelineView(element, template), edges, reaches, choose };
})();
