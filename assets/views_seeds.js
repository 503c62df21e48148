/* The charts of many seeds: a row of dots a run, or a bar of rights. The twin of blockviz/views/seeds.py. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { fill } = BlockViz.viewTools;
  const N = BlockViz.numbers;

  class SeedsView extends BlockViz.View {
    constructor(element, template, chart) {
      super(element, template);
      this.chart = chart;
      this.rows = [];
    }

    _entries() {
      const all = super._entries();
      return this.rows ? all.slice(0, this.rows.length) : all;
    }

    /** `rows` are the values of each run by seed, `labels` and `seeds` name them; `intervals` are those of rights, 0 to 1. */
    give({ id, rows, labels, seeds, intervals }) {
      this.rows = rows;
      this.labels = labels;
      this.seeds = seeds;
      this.intervals = intervals;
      this.run = { id };
      this._legend();
      this._load(true);
    }

    loaded() {
      const { data, layout } = this.blank();
      const { rows } = this;
      const at = rows.map((_, i) => i);
      Object.assign(layout.yaxis, { range: [rows.length - 0.5, -0.5], tickvals: at, ticktext: this.labels });
      const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
      if (this.chart === "right") {
        const shares = rows.map((values) => 100 * mean(values));
        Object.assign(data[0], { x: shares, y: at });
        data[0].marker.color = data[0].marker.color.slice(0, rows.length);
        data[0].error_x.array = shares.map((share, i) => 100 * this.intervals[i][1] - share);
        data[0].error_x.arrayminus = shares.map((share, i) => share - 100 * this.intervals[i][0]);
        this.show({ data, layout });
        return;
      }
      const { golden, spread } = this.template;
      const dots = data.slice(0, rows.length);
      dots.forEach((line, i) => Object.assign(line, { x: rows[i], y: rows[i].map((_, j) => i + (((j * golden) % 1) - 0.5) * spread) }));
      const means = Object.assign(data[data.length - 1], { x: rows.map(mean), y: at });
      this.show({ data: [...dots, means], layout });
    }

    describe(x, y) {
      const { words, digits, golden, spread } = this.template;
      const row = Math.max(0, Math.min(this.rows.length - 1, Math.round(y)));
      const label = this.labels[row];
      const values = this.rows[row];
      if (this.chart === "right") {
        const [low, high] = this.intervals[row].map((end) => N.fixed(100 * end, 0));
        return fill(words.bar, { label, right: values.filter((value) => value > 0).length, count: values.length, low, high });
      }
      const { xaxis, yaxis } = this.plot._fullLayout;
      const far = (i) => (xaxis.l2p(values[i]) - xaxis.l2p(x)) ** 2 + (yaxis.l2p(row + (((i * golden) % 1) - 0.5) * spread) - yaxis.l2p(y)) ** 2;
      let best = 0;
      for (let i = 1; i < values.length; i++) if (far(i) < far(best)) best = i;
      return fill(words.point, { label, seed: this.seeds[best], value: N.fixed(values[best], digits), unit: words.unit });
    }
  }

  BlockViz.views.seeds = { mount: (element, template, chart) => new SeedsView(element, template, chart) };
})();
