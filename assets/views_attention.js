/* Attention mask: which keys each query of a pass' forward may read. The twin of blockviz/views/attention.py, with its words. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { fill, tickStep } = BlockViz.viewTools;
  const CALLS = new Set(["denoise", "propose", "verify"]);

  /* Codes of blockviz/views/attention.py: KINDS. */
  const KINDS = ["blocked", "earlier", "cached", "carried", "active", "proposal", "noise"];
  const KIND = Object.fromEntries(KINDS.map((name, code) => [name, code]));

  /** What a query finds at a key; `noisy` says which stream, the number is a position (clean) or a place in the window. */
  function rule(shape, noisyQuery, query, noisyKey, key) {
    const { cached, start, stop, window, verify } = shape;
    const causal = shape.x0Causal ? key <= query : Math.floor(key / shape.blockSize) <= Math.floor(query / shape.blockSize);
    if (!noisyQuery && query < cached) return !noisyKey && key < cached && causal ? KIND.earlier : 0;
    const context = key < cached ? KIND.cached : KIND.carried;
    if (!noisyQuery) {
      if (noisyKey) return 0;
      if (query < start) return key < start && causal ? context : 0;
      if (!verify || query >= stop) return 0;
      if (key < start) return context;
      return key <= query ? KIND.proposal : 0;
    }
    if (query >= window) return 0;
    if (!noisyKey) {
      if (key < start) return context;
      return verify && key < stop && key - start < query ? KIND.proposal : 0;
    }
    if (verify) return key === query ? KIND.noise : 0;
    return key < window ? KIND.active : 0;
  }

  /** The geometry of the network call of a pass. */
  function geometry(run, source) {
    const pass = run.passes[source];
    const [start, stop] = pass.win;
    const settings = run.header.settings;
    const causal = run.header.model && run.header.model.x0_causal;
    return {
      cached: pass.cached,
      clean: pass.clean,
      start,
      stop,
      window: stop - start,
      blockSize: run.blockSize,
      verify: pass.phase === "verify",
      x0Causal: causal !== false,
      recomputed: settings.use_cache === false,
    };
  }

  /** Axes that hold still over a run: cells along an axis, the first `cleanCells` for clean positions, the rest for the noisy block. */
  function axes(length, blockSize, whole, template) {
    const noisy = Math.min(blockSize, length);
    const clean = whole ? length : Math.floor((length - 1) / blockSize) * blockSize;
    const total = clean + noisy;
    if (noisy >= template.narrowest * total && total <= template.most_cells) return { clean, noisy, cells: total, cleanCells: clean };
    const cells = Math.min(Math.max(total, template.fewest_cells), template.most_cells);
    const noisyCells = Math.max(1, Math.round(Math.max(noisy / total, template.narrowest) * cells));
    return { clean, noisy, cells, cleanCells: clean ? cells - noisyCells : 0 };
  }

  /** The place in the middle of a cell: {noisy, at}. */
  function placeOf(frame, cell) {
    if (cell < frame.cleanCells) return { noisy: false, at: Math.floor(((cell + 0.5) * frame.clean) / frame.cleanCells) };
    const rest = frame.cells - frame.cleanCells;
    return { noisy: true, at: Math.floor(((cell - frame.cleanCells + 0.5) * frame.noisy) / rest) };
  }

  function picture(shape, frame) {
    const places = [];
    for (let cell = 0; cell < frame.cells; cell++) places.push(placeOf(frame, cell));
    return places.map((row) => {
      const line = new Array(frame.cells);
      for (let cell = 0; cell < frame.cells; cell++) line[cell] = rule(shape, row.noisy, row.at, places[cell].noisy, places[cell].at);
      return line;
    });
  }

  function sourcePass(run, k) {
    while (k >= 0 && !CALLS.has(run.passes[k].phase)) k -= 1;
    return k;
  }

  class AttentionView extends BlockViz.View {
    loaded() {
      const { run, template } = this;
      const settings = run.header.settings;
      const whole = template.verifiers.includes(settings.corrector) || settings.ar_prefix > 0;
      this.frame = axes(run.length, run.blockSize, whole, template);
      this._key = "";
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
      this.say(last + this._reads(shape, run.passes[source].block));
      this.quiet("");
      const key = JSON.stringify([run.id, shape, this.themed, this.frame]);
      if (key === this._key) return;
      this._key = key;
      this.shape = shape;
      this.show(this._figure(shape));
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

    describe(x, y) {
      const { shape, frame } = this;
      const column = Math.floor(x);
      const row = Math.floor(y);
      if (!shape || Math.min(row, column) < 0 || Math.max(row, column) >= frame.cells) return "";
      const query = placeOf(frame, row);
      const key = placeOf(frame, column);
      let kind = KINDS[rule(shape, query.noisy, query.at, key.noisy, key.at)];
      if (kind === "carried" && shape.recomputed) kind = "recomputed";
      const position = (place) => (place.noisy ? shape.start + place.at : place.at) + 1;
      return [
        fill(this.words.cell, { query: position(query), key: position(key), kind: this.words.kinds[kind] }),
        fill(this.words.row, { row: this.words.rows[this._row(shape, query)] }),
      ].join("<br>");
    }

    _row(shape, query) {
      if (query.noisy) return query.at >= shape.window ? "none" : shape.verify ? "noise" : "active";
      if (query.at < shape.cached) return "earlier";
      if (query.at < shape.start) return shape.recomputed ? "recomputed" : "carried";
      return shape.verify && query.at < shape.stop ? "proposal" : "none";
    }
  }

  BlockViz.views.attention = {
    mount: (element, template) => new AttentionView(element, template),
    geometry,
    axes,
    picture,
  };
})();
