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

  /* The reasons for reading a key. */
  const READ = new Set([...KINDS.slice(1), "recomputed", "in_proposal"]);

  class AttentionView extends BlockViz.View {
    _build() {
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

    loaded() {
      const { run, template } = this;
      const settings = run.header.settings;
      const whole = template.verifiers.includes(settings.corrector) || settings.ar_prefix > 0;
      this.frame = axes(run.length, run.blockSize, whole, template);
      this._key = "";
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
      const key = JSON.stringify([run.id, shape, this.themed, this.frame]);
      if (key === this._key) return;
      this._key = key;
      this.shape = shape;
      this.show(this._figure(shape));
    }

    _drawLooked(source, shape) {
      const { run, template } = this;
      const { words } = template.weights;
      this.shape = shape;
      this.map = weights.codes(run, source, this.head);
      this.source = source;
      this.say(weights.says(run, source, this.head, words));
      this.quiet(this.map ? "" : words.how);
      const key = JSON.stringify([run.id, source, this.head, this.themed]);
      if (!this.map || key === this._key) return;
      this._key = key;
      const figure = this.blank(template.weights[this.themed]);
      weights.draw(figure, run, source, this.map, template.weights);
      this.show(figure);
    }

    _figure(shape) {
      const { frame } = this;
      const { data, layout } = this.blank();
      data[0].z = picture(shape, frame);
      layout.xaxis.range = [0, frame.cells];
      layout.yaxis.range = [frame.cells, 0];
      this._ticks(layout, shape);
      this._lines(layout, shape);
      return { data, layout };
    }

    /** Clean positions at a few round places, and the window's own positions at the noisy part. */
    _ticks(layout, shape) {
      const { frame } = this;
      const step = tickStep(frame.clean);
      const values = [];
      const texts = [];
      const scale = frame.cleanCells / Math.max(frame.clean, 1);
      for (let position = step; position < frame.clean * 0.88; position += step) {
        values.push((position - 0.5) * scale);
        texts.push(String(position));
      }
      const noisy = fill(this.words.noisy, { first: shape.start + 1, last: shape.stop });
      values.push((frame.cleanCells + frame.cells) / 2);
      texts.push(shape.window === 1 ? String(shape.stop) : noisy);
      Object.assign(layout.xaxis, { tickvals: values, ticktext: texts, tickangle: 0 });
      Object.assign(layout.yaxis, { tickvals: values.slice(), ticktext: texts.slice(), tickangle: 0 });
    }

    /** A line where the noisy stream begins, and one where the cache ends. */
    _lines(layout, shape) {
      const { frame } = this;
      const color = layout.xaxis.title.font.color;
      const rule = (axis, at, dash) => {
        const other = axis === "x" ? "y" : "x";
        return {
          type: "line",
          xref: axis === "x" ? "x" : "paper",
          yref: axis === "x" ? "paper" : "y",
          [axis + "0"]: at,
          [axis + "1"]: at,
          [other + "0"]: 0,
          [other + "1"]: 1,
          line: { color, width: 1, dash },
        };
      };
      layout.shapes = [];
      if (frame.cleanCells) layout.shapes.push(rule("x", frame.cleanCells, "solid"), rule("y", frame.cleanCells, "solid"));
      const edge = (shape.cached * frame.cleanCells) / Math.max(frame.clean, 1);
      if (!shape.cached) return;
      layout.shapes.push(rule("x", edge, "dot"));
      const inside = edge > frame.cells / 3; // above the triangle of the cached rows there is room
      layout.annotations = [
        {
          text: fill(this.words.cached, shape),
          x: edge,
          y: 1,
          yref: "paper",
          xanchor: inside ? "right" : "left",
          yanchor: "top",
          showarrow: false,
          font: { size: 10, color },
        },
      ];
    }

    _reads(shape, block) {
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
      if (query.noisy) return query.at >= shape.window ? "none" : shape.verify ? "noise" : "active";
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
