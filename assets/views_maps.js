/* Fill map and confidence: positions across, passes down. The map is drawn when a run arrives or has grown; the cursor is an
   element laid over it, so that a step costs a style change and no Plotly call. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { fill, make, passRoom, tickStep } = BlockViz.viewTools;
  const THINNEST = 3; // pixels of the cursor

  class MapView extends BlockViz.View {
    constructor(element, template) {
      super(element, template);
      this.rows = [];
      this._thinned = "";
    }

    loaded(fresh) {
      const { run, scales } = this;
      if (fresh) {
        this.rows = [];
        this._thinned = "";
      }
      this.extend(fresh);
      this.positions = Math.max(run.length, scales ? scales.positions : 0);
      this.passes = Math.max(passRoom(run), scales ? scales.passes : 0);
      const frame = [run.id, run.length, run.blockSize, run.origin, this.themed, this.positions, this.passes, this.plotHeight()].join();
      const same = frame === this._frame;
      this._frame = frame;
      const [dx, dy] = this.cellSize();
      this._shown = { ...this.cells(dx, dy), dx, dy, x0: 1 + (dx - 1) / 2, y0: (dy - 1) / 2 };
      if (same) this.repaint(this._shown); // a run that grows by some rows
      else this.catchUp();
    }

    catchUp() {
      const { data, layout } = this.blank();
      Object.assign(data[0], this._shown);
      layout.xaxis.range = [0.5, this.positions + 0.5];
      Object.assign(layout.xaxis, { tick0: 0, dtick: tickStep(this.positions) });
      layout.yaxis.range = [this.passes - 0.5, -0.5];
      layout.shapes = [this.ground(), this.boundaries()].filter(Boolean);
      this.show({ data, layout });
      this.moved();
    }

    /** Positions and passes under one display cell: 1 unless the run is too large to show each. */
    cellSize() {
      const { rows, columns } = this.template;
      return [Math.ceil(this.run.length / columns), Math.ceil(this.run.passes.length / rows)];
    }

    /** What Plotly draws: the rows, or bands of passes thinned to dx positions x dy passes; a whole band is made once. */
    cells(dx, dy) {
      if (dx === 1 && dy === 1) return { z: this.rows };
      const key = `${dx} ${dy}`;
      if (key !== this._thinned) this._bands = [];
      this._thinned = key;
      const count = this.rows.length;
      for (let top = this._bands.length * dy; top < count; top += dy) {
        this._bands.push(this.band(this.rows.slice(top, top + dy), dx, Math.ceil(this.run.length / dx)));
      }
      const z = this._bands.slice();
      this._bands.length = Math.floor(count / dy);
      return { z };
    }

    ground() {
      return null;
    }

    boundaries() {
      const { length, blockSize, origin } = this.run;
      if (blockSize < Math.max(2, Math.floor(length / 64)) || blockSize >= length) return null;
      let path = "";
      for (let edge = origin || blockSize; edge < length; edge += blockSize) path += `M${edge + 0.5},0L${edge + 0.5},1`;
      const line = { color: this.template.boundary[this.themed], width: 1 };
      return { type: "path", path, xref: "x", yref: "paper", line, layer: "above" };
    }

    ready() {
      this.cursor = make("div", "bv-view-cursor", this.plot);
      this.sheet = new BlockViz.Sheet(this.plot);
    }

    drawn() {
      this.moved();
    }

    moved() {
      const frame = this.plot._fullLayout;
      if (!this.cursor || this.k < 0 || !frame || !frame.yaxis) return;
      this.sheet.place();
      const { xaxis, yaxis } = frame;
      const top = yaxis.l2p(this.k - 0.5);
      const bottom = yaxis.l2p(this.k + 0.5);
      const height = Math.max(THINNEST, bottom - top);
      const middle = (top + bottom) / 2;
      const style = this.cursor.style;
      const inside = middle >= 0 && middle <= yaxis._length;
      style.visibility = inside ? "visible" : "hidden";
      if (!inside) return;
      style.width = xaxis._length + 4 + "px";
      style.height = height + 3 + "px";
      style.transform = `translate(${xaxis._offset - 2}px, ${yaxis._offset + middle - height / 2 - 1.5}px)`;
    }

    image({ layout }) {
      const color = getComputedStyle(this.cursor).borderTopColor;
      const row = { type: "rect", xref: "paper", x0: 0, x1: 1, y0: this.k - 0.5, y1: this.k + 0.5, line: { color, width: 1.5 } };
      layout.shapes = layout.shapes.concat(row);
    }

    /** Canvas position and pass under a point of the plot, or null. */
    at(x, y) {
      const position = Math.round(x) - 1;
      const k = Math.round(y);
      return position >= 0 && position < this.run.length && k >= 0 && k < this.run.passes.length ? { position, k } : null;
    }

    clicked(event) {
      const point = event.points && event.points[0];
      const place = point ? this.at(point.x, point.y) : null;
      if (!place) return;
      const detail = { pass: place.k, position: place.position };
      this.element.dispatchEvent(new CustomEvent("bv:pass", { bubbles: true, detail }));
    }

    describe(x, y) {
      const place = this.at(x, y);
      if (!place) return "";
      return [this.place(place.position), this.when(place.k), ...this.says(place.position, place.k)].join("<br>");
    }
  }

  class FillView extends MapView {
    extend() {
      // Views of the run's own memory, taken anew each time because the run may have moved it while growing.
      this.rows = this.run.passes.map((pass, k) => this.run.states(k));
    }

    /** The most striking state under each cell. */
    band(rows, dx, columns) {
      const { rank } = this.template;
      const line = new Uint8Array(columns);
      const highest = new Int8Array(columns).fill(-1);
      for (const row of rows) {
        for (let i = 0, cell = 0, n = 0; i < row.length; i++) {
          const state = row[i];
          if (rank[state] > highest[cell]) {
            highest[cell] = rank[state];
            line[cell] = state;
          }
          if (++n === dx) {
            n = 0;
            cell += 1;
          }
        }
      }
      return line;
    }

    says(position, k) {
      const state = this.words.states[BlockViz.STATES[this.run.states(k)[position]]];
      return [fill(this.words.cell, { token: this.token(this.run.tokens(k)[position]), state })];
    }
  }

  class ConfidenceView extends MapView {
    /** The prompt's columns: nothing is predicted there. */
    ground() {
      return { ...this.template.ground[this.themed], x1: this.run.promptLength + 0.5 };
    }

    /** Carry the last known probability of every position forward, and remember the pass it is from. */
    extend(fresh) {
      const { run } = this;
      if (fresh) this.seen = [];
      for (let k = this.rows.length; k < run.passes.length; k++) {
        const row = k > 0 ? this.rows[k - 1].slice() : new Float32Array(run.length).fill(NaN);
        const seen = k > 0 ? this.seen[k - 1].slice() : new Int32Array(run.length).fill(-1);
        const [start] = run.passes[k].win;
        const values = run.confidence(k);
        for (let i = 0; i < values.length; i++) {
          if (Number.isNaN(values[i]) || start + i < run.promptLength) continue;
          row[start + i] = values[i];
          seen[start + i] = k;
        }
        this.rows.push(row);
        this.seen.push(seen);
      }
    }

    /** The mean of what is known under each cell. */
    band(rows, dx, columns) {
      const sums = new Float64Array(columns);
      const counts = new Uint16Array(columns);
      for (const row of rows) {
        for (let i = 0, cell = 0, n = 0; i < row.length; i++) {
          const value = row[i];
          if (value === value) {
            sums[cell] += value;
            counts[cell] += 1;
          }
          if (++n === dx) {
            n = 0;
            cell += 1;
          }
        }
      }
      return Array.from(sums, (sum, cell) => (counts[cell] ? sum / counts[cell] : null));
    }

    says(position, k) {
      const state = BlockViz.STATES[this.run.states(k)[position]];
      const token = this.token(this.run.tokens(k)[position]);
      if (state === "prompt") return [fill(this.words.prompt, { token })];
      const seen = this.seen[k] ? this.seen[k][position] : -1;
      if (seen < 0) return [this.words.none];
      const noisy = state === "noise" || state === "renoised";
      const lines = [fill(noisy ? this.words.noise : this.words.cell, { token, p: this.rows[k][position].toFixed(3) })];
      if (seen < k) lines.push(fill(this.words.carried, { seen }));
      return lines;
    }
  }

  BlockViz.views.fill = { mount: (element, template) => new FillView(element, template) };
  BlockViz.views.confidence = { mount: (element, template) => new ConfidenceView(element, template) };
})();
