/* The charts of Compare over network calls: a line a run, a dot where each run stands. The twin of blockviz/views/progress.py. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { fill, make } = BlockViz.viewTools;
  const N = BlockViz.numbers;

  class ProgressView extends BlockViz.View {
    constructor(element, template, chart) {
      super(element, template);
      this.chart = chart;
      this.runs = [];
      this.dots = [];
    }

    /** Legend entries of the runs that there are. */
    _entries() {
      const all = super._entries();
      return this.runs ? all.slice(0, this.runs.length) : all;
    }

    /** `runs` are [{run, label, curves}] from the left, `ends` the ends of the shared axes: {calls, revised}. */
    give(runs, ends) {
      this.runs = runs;
      this.ends = ends;
      this.run = runs[0].run;
      this._legend();
      this._load(true);
    }

    loaded() {
      const { data, layout } = this.blank();
      layout.uirevision = this.runs.map(({ run }) => run.id).join();
      const lines = data.slice(0, this.runs.length);
      lines.forEach((line, i) => {
        const { x, y } = this.runs[i].curves[this.chart];
        Object.assign(line, { x, y });
      });
      layout.xaxis.range = [0, this.ends.calls];
      if (this.chart === "revised") layout.yaxis.range = [0, this.ends.revised];
      this.show({ data: lines, layout });
      this._place();
    }

    ready() {
      this._place();
    }

    /** Where each run stands now: its pass, in the order of the runs. */
    stand(passes) {
      this.passes = passes;
      this._place();
    }

    moved() {
      this._place();
    }
    resized() {
      this._place();
    }

    _place() {
      const frame = this.plot._fullLayout;
      if (!frame || !frame.xaxis || !this.passes) return;
      while (this.dots.length < this.runs.length) this.dots.push(make("i", "bv-progress-dot", this.plot));
      this.dots.forEach((dot, i) => {
        const one = this.runs[i];
        const k = one ? Math.min(this.passes[i], one.run.last) : -1;
        let at = -1;
        if (one) for (let j = 0; j < one.curves[this.chart].k.length && one.curves[this.chart].k[j] <= k; j++) at = j;
        dot.hidden = at < 0;
        if (at < 0) return;
        const { x, y } = one.curves[this.chart];
        const [left, top] = [frame.xaxis.l2p(x[at]), frame.yaxis.l2p(y[at])];
        dot.hidden = left < -1 || left > frame.xaxis._length + 1 || top < -1 || top > frame.yaxis._length + 1;
        dot.style.setProperty("--bv-run", this.template[this.themed].data[i].line.color);
        dot.style.transform = `translate(${(frame.xaxis._offset + left).toFixed(1)}px, ${(frame.yaxis._offset + top).toFixed(1)}px)`;
      });
    }

    /** The nearest point of any run. */
    describe(x, y) {
      const { xaxis, yaxis } = this.plot._fullLayout;
      let best = null;
      let nearest = Infinity;
      for (const one of this.runs) {
        const line = one.curves[this.chart];
        for (let i = 0; i < line.x.length; i++) {
          const far = (xaxis.l2p(line.x[i]) - xaxis.l2p(x)) ** 2 + (yaxis.l2p(line.y[i]) - yaxis.l2p(y)) ** 2;
          if (far < nearest) [nearest, best] = [far, [one.label, line.k[i], line.x[i], line.y[i]]];
        }
      }
      if (!best) return "";
      const [label, number, calls, value] = best;
      return fill(this.words.point, { label, number, calls, value: N.fixed(value, this.template.digits) });
    }
  }

  BlockViz.views.progress = { mount: (element, template, chart) => new ProgressView(element, template, chart) };
})();
