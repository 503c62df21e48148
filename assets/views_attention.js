/* Attention: which keys each query of a pass' forward may read, and (views_weights.js) what was looked at, where that was recorded.
   The twin of blockviz/views/attention.py, with its words. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { fill, make, tickStep } = BlockViz.viewTools;
  const weights = BlockViz.attentionWeights;
  const { KINDS, axes, geometry, picture, placeOf, reason, sourcePass } = BlockViz.attentionMasks;

  /* One choice for every attention view of the page, so that runs side by side show the same; head -1 is the average. */
  const choice = { show: "seen", head: -1, views: new Set() };

  const KEPT = 24; // pictures of masks that are kept: scrubbing to and fro asks for the same few again

  /* The reasons for reading a key. */
  const READ = new Set([...KINDS.slice(1), "recomputed", "in_proposal"]);

  class AttentionView extends BlockViz.View {
    _build() {
      this._pictures = new Map();
      super._build();
      choice.views.add(this);
      this.legend.style.height = this.template.height - this.plotHeight() - this.template.controls + "px";
      const bar = make("div", "bv-view-choices", this.element);
      bar.style.height = this.template.controls + "px";
      this.plot.before(bar);
      const group = make("div", "bv-view-segments", bar);
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", this.words.show);
      this.buttons = {};
      for (const [name, label] of Object.entries(this.words.shows)) {
        const button = (this.buttons[name] = make("button", "", group));
        button.type = "button";
        button.dataset.show = name;
        button.textContent = label;
        button.title = `${this.words.show} ${label}`;
        button.addEventListener("click", () => choose({ show: name }));
      }
      this.heads = make("select", "bv-view-heads", bar);
      this.heads.setAttribute("aria-label", this.words.heads);
      this.heads.addEventListener("change", () => choose({ head: Number(this.heads.value) }));
      this._chosen();
    }

    destroy() {
      choice.views.delete(this);
      super.destroy();
    }

    get looked() {
      return choice.show === "looked";
    }
    /** The head shown: -1 for the average, also where the layer of this run has no such head. */
    get head() {
      return this.run && choice.head < weights.heads(this.run) ? choice.head : -1;
    }

    /** Another choice was made, here or in another view. */
    chosen() {
      this._chosen();
      this._legend();
      this._key = "";
      if (this.run && this.k >= 0 && this.k < this.run.passes.length) this.drawn();
    }

    _chosen() {
      for (const [name, button] of Object.entries(this.buttons)) button.setAttribute("aria-pressed", String(name === choice.show));
      const count = this.run ? weights.heads(this.run) : 0;
      this.heads.hidden = !this.looked || count < 2;
      if (this.heads.length !== count + 1) {
        const option = (value, label) => new Option(label, String(value));
        const each = Array.from({ length: count }, (none, head) => option(head, fill(this.words.head, { head: head + 1 })));
        this.heads.replaceChildren(option(-1, this.words.average), ...each);
      }
      this.heads.value = String(this.head);
    }

    _entries() {
      const legend = this.looked ? this.template.weights.legend : this.template.legend;
      return legend[this.themed];
    }

    loaded(fresh) {
      const { run, template } = this;
      if (fresh) this._pictures.clear();
      const settings = run.header.settings;
      const whole = template.verifiers.includes(settings.corrector) || settings.ar_prefix > 0;
      this.frame = axes(run.length, run.blockSize, whole, template, run.plan.widest, run.plan.seesCanvas);
      this._chosen();
      if (this.k >= 0 && this.k < run.passes.length) this.drawn();
    }

    drawn() {
      const { run, k } = this;
      const source = sourcePass(run, k);
      if (source < 0) {
        this.say(this.words.none);
        this.quiet(this.words.quiet);
        return;
      }
      const shape = geometry(run, source);
      const last = source === k ? "" : fill(this.words.last, { pass: source });
      if (this.looked) {
        this._drawLooked(source, shape);
        return;
      }
      this.say(last + this._reads(shape, run.passes[source].block));
      this.quiet("");
      const key = [run.id, Object.values(shape), this._axesKey(), this.frame.cells].join();
      if (key === this._key) return;
      this._key = key;
      this.shape = shape;
      const at = shape.cached ? (shape.cached * this.frame.cleanCells) / Math.max(this.frame.clean, 1) : null;
      this._put({ z: this._picture(shape) }, { edge: { at, label: fill(this.words.cached, shape) }, ...this._ticks(shape) });
    }

    _drawLooked(source, shape) {
      const { run, template } = this;
      const { words } = template.weights;
      this.shape = shape;
      this.map = weights.codes(run, source, this.head);
      this.source = source;
      this.say(weights.says(run, source, this.head, words));
      this.quiet(this.map ? "" : words.how);
      const key = [run.id, source, this.head, this._axesKey()].join();
      if (!this.map || key === this._key) return;
      this._key = key;
      const edge = { at: shape.start + 0.5, label: "" };
      this._put(weights.cells(this.map, template.weights), { edge, ...weights.axes(run, source, this.map) });
    }

    /** What the frame of the figure depends on beside the pass. */
    _axesKey() {
      return [this.run.id, this.themed, this.looked, this.plotHeight()].join();
    }

    _picture(shape) {
      const name = [this.run.id, ...Object.values(shape)].join();
      let z = this._pictures.get(name);
      if (!z) {
        if (this._pictures.size >= KEPT) this._pictures.delete(this._pictures.keys().next().value);
        this._pictures.set(name, (z = picture(shape, this.frame)));
      }
      return z;
    }

    /** Show these cells under these axes: as soon as the axes are drawn, only cells, the labels of the ticks and the edge change. */
    _put(cells, axes) {
      const frame = [this._axesKey(), axes.x.range, axes.x.tickvals, axes.y.range, axes.y.tickvals].join();
      const same = frame === this._frame;
      this._frame = frame;
      this._shown = { cells, axes, looked: this.looked };
      if (same) {
        this.repaint(cells);
        for (const axis of ["x", "y"]) this.relabel(`.${axis}axislayer-above text`, axes[axis].ticktext);
      } else this.catchUp();
      this.moved();
    }

    catchUp() {
      const { cells, axes, looked } = this._shown;
      const { data, layout } = this.blank(looked ? this.template.weights[this.themed] : undefined);
      Object.assign(data[0], cells);
      Object.assign(layout.xaxis, axes.x, { tickangle: 0 });
      Object.assign(layout.yaxis, axes.y, { tickangle: 0 });
      layout.shapes = [];
      const color = layout.xaxis.title.font.color;
      const { cleanCells } = this.frame;
      // Where the noisy stream begins.
      for (const [mine, other] of looked || !cleanCells ? [] : ["xy", "yx"]) {
        const line = { color, width: 1 };
        layout.shapes.push({ type: "line", [mine + "ref"]: mine, [other + "ref"]: "paper", [mine + "0"]: cleanCells, [mine + "1"]: cleanCells, [other + "0"]: 0, [other + "1"]: 1, line });
      }
      this.show({ data, layout });
    }

    /** Clean positions at a few round places, and the window's own positions at the noisy part. */
    _ticks(shape) {
      const { frame } = this;
      const step = tickStep(frame.clean);
      const tickvals = [];
      const ticktext = [];
      const scale = frame.cleanCells / Math.max(frame.clean, 1);
      for (let position = step; position < frame.clean * 0.88; position += step) {
        tickvals.push((position - 0.5) * scale);
        ticktext.push(String(position));
      }
      tickvals.push((frame.cleanCells + frame.cells) / 2);
      ticktext.push(shape.window === 1 ? String(shape.stop) : fill(this.words.noisy, { first: shape.start + 1, last: shape.stop }));
      const { cells } = frame;
      return { x: { range: [0, cells], tickvals, ticktext }, y: { range: [cells, 0], tickvals: tickvals.slice(), ticktext: ticktext.slice() } };
    }

    ready() {
      this.sheet = new BlockViz.Sheet(this.plot);
      this.edge = make("div", "bv-view-edge", this.plot);
      this.edgeName = make("span", "bv-view-edge-name", this.edge);
    }

    resized() {
      this.moved();
    }

    /** A line where the cache ends, and of recorded weights where the active block begins. */
    moved() {
      const frame = this.plot._fullLayout;
      if (!this._shown || !this.edge || !frame || !frame.xaxis) return;
      this.sheet.place();
      const { xaxis, yaxis } = frame;
      const { at, label } = this._shown.axes.edge;
      const x = at === null ? -1 : xaxis.l2p(at);
      const style = this.edge.style;
      const inside = x >= 0 && x <= xaxis._length;
      style.visibility = inside ? "" : "hidden";
      if (!inside) return;
      style.height = yaxis._length + "px";
      style.transform = `translate(${xaxis._offset + x - 0.5}px, ${yaxis._offset}px)`;
      // Above the triangle of the cached rows there is room.
      this.edge.classList.toggle("bv-view-edge-left", x > xaxis._length / 3);
      if (this.edgeName.textContent !== label) this.edgeName.textContent = label;
    }

    /** For the image: the edge as a line, with its name. */
    image({ layout }) {
      if (!this._shown || this._shown.axes.edge.at === null) return;
      const { at: x, label: text } = this._shown.axes.edge;
      const color = layout.xaxis.title.font.color;
      layout.shapes = layout.shapes.concat({ type: "line", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line: { color, width: 1, dash: "dot" } });
      const xanchor = this.edge.classList.contains("bv-view-edge-left") ? "right" : "left";
      if (text) layout.annotations = [{ text, x, y: 1, yref: "paper", xanchor, yanchor: "top", showarrow: false, font: { size: 10, color } }];
    }

    _reads(shape, block) {
      if (shape.whole) return fill(this.words.reads_whole, { block: block + 1, window: shape.window });
      const parts = [];
      if (shape.cached) parts.push(fill(this.words.cached, shape));
      if (shape.clean) parts.push(fill(shape.recomputed ? this.words.recomputed : this.words.carried, shape));
      const name = (shape.verify ? "verifies" : "reads") + (parts.length ? "" : "_alone");
      return fill(this.words[name], { block: block + 1, context: parts.join(" + ") });
    }

    _why(noisyQuery, query, noisyKey, key) {
      const { shape } = this;
      const name = reason(shape, noisyQuery, query, noisyKey, key);
      const why = fill(this.words.why[name], { query: (noisyQuery ? shape.start : 0) + query + 1 });
      const itself = READ.has(name) && noisyQuery === noisyKey && query === key;
      return itself ? fill(this.words.itself, { why }) : why;
    }

    describe(x, y) {
      if (this.looked) return this._describeLooked(Math.round(x) - 1, Math.round(y) - 1);
      const { shape, frame } = this;
      const column = Math.floor(x);
      const row = Math.floor(y);
      if (!shape || Math.min(row, column) < 0 || Math.max(row, column) >= frame.cells) return "";
      const query = placeOf(frame, row);
      const key = placeOf(frame, column);
      const position = (place) => (place.noisy ? shape.start + place.at : place.at) + 1;
      return [
        fill(this.words.cell, { query: position(query), key: position(key), why: this._why(query.noisy, query.at, key.noisy, key.at) }),
        fill(this.words.row, { row: this.words.rows[this._row(shape, query)] }),
      ].join("<br>");
    }

    _describeLooked(key, place) {
      const { map, shape, run, source } = this;
      if (!map || place < 0 || place >= map.rows || key < 0 || key >= map.columns) return "";
      const code = map.values[place * map.columns + key];
      if (code !== code) return "";
      const inWindow = key >= shape.start && !(shape.verify && key - shape.start < place);
      const why = this._why(true, place, inWindow, inWindow ? key - shape.start : key);
      return weights.cellWords(run, source, place, key, code, this.template.weights) + "<br>" + why;
    }

    _row(shape, query) {
      if (query.noisy) return query.at >= shape.window ? "none" : shape.verify ? "noise" : shape.whole ? "whole" : "active";
      if (query.at < shape.cached) return "earlier";
      if (query.at < shape.start) return shape.recomputed ? "recomputed" : "carried";
      return shape.verify && query.at < shape.stop ? "proposal" : "none";
    }
  }

  function choose(change) {
    Object.assign(choice, change);
    for (const view of choice.views) view.chosen();
  }

  BlockViz.views.attention = {
    mount: (element, template) => new AttentionView(element, template),
    choose,
    geometry,
    axes,
    picture,
    reason,
  };
})();
