/* The inspector's chart: confidence, entropy and AR score of one position over the passes of its block. The twin of the
   figure in blockviz/views/life.py. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { fill, make } = BlockViz.viewTools;
  const N = BlockViz.numbers;

  const round = (value) => Math.round(value * 1e4) / 1e4;

  /** x and y of the four traces: confidence, entropy, AR −log p, and the passes that threw the token back (at 0). */
  function curves(rows) {
    const open = rows.filter((row) => row.state !== "prompt");
    const line = (list, value) => ({ x: list.map((row) => row.number), y: list.map((row) => round(value(row)) + 0) });
    const known = (name) => open.filter((row) => !Number.isNaN(row[name]));
    return [
      line(known("confidence"), (row) => row.confidence),
      line(known("entropy"), (row) => row.entropy),
      line(known("ar").filter((row) => row.phase === "verify"), (row) => -row.ar),
      line(open.filter((row) => row.state === "renoised"), () => 0),
    ];
  }

  class LifeView extends BlockViz.View {
    constructor(element, template) {
      super(element, template);
      this.cursor = make("div", "bv-life-cursor", this.plot);
      this.rows = [];
    }

    /** Show another position; `rows` are those of BlockViz.life.rows. */
    look(run, pos, rows) {
      this.run = run;
      this.pos = pos;
      this.rows = rows;
      this._figure();
    }

    loaded() {
      if (this.rows.length) this._figure();
    }

    _figure() {
      const { data, layout } = this.blank();
      const lines = curves(this.rows);
      lines.forEach((line, i) => Object.assign(data[i], line));
      const highest = Math.max(0, ...lines[1].y, ...lines[2].y);
      const top = this.template.nats.find((end) => end >= highest) || highest;
      const numbers = this.rows.slice(1).map((row) => row.number);
      const first = numbers.length ? numbers[0] : 0;
      const last = numbers.length ? numbers[numbers.length - 1] : 0;
      layout.yaxis2.range = [0, top * 1.05];
      layout.xaxis.range = [first - 0.5, last + 0.5];
      layout.uirevision = `${this.run.id} ${this.pos}`;
      this.quiet(lines[0].x.length ? "" : BlockViz.panels.life.words[this.rows.some((row) => row.state === "prompt") ? "given" : "prior"]);
      this.show({ data, layout });
      this.moved();
    }

    drawn() {
      this.moved();
    }
    resized() {
      this.moved();
    }

    /** Put the cursor where the axis has the pass on screen now. */
    moved() {
      const frame = this.plot._fullLayout;
      if (!frame || !frame.xaxis) return;
      const x = frame.xaxis.l2p(this.k);
      const on = this._quiet === "" && x >= 0 && x <= frame.xaxis._length;
      this.cursor.style.visibility = on ? "visible" : "hidden";
      if (!on) return;
      this.cursor.style.top = frame.yaxis._offset + "px";
      this.cursor.style.height = frame.yaxis._length + "px";
      this.cursor.style.transform = `translateX(${(frame.xaxis._offset + x - 1).toFixed(1)}px)`;
    }

    clicked(event) {
      const k = Math.round(this.plot._fullLayout.xaxis.p2d(event.event.clientX - this.plot.getBoundingClientRect().left - this.plot._fullLayout.xaxis._offset));
      this.element.dispatchEvent(new CustomEvent("bv:pass", { bubbles: true, detail: { pass: k } }));
    }

    describe(x) {
      const k = Math.round(x);
      const row = this.rows.find((one) => one.number === k);
      if (!row || row.state === "prompt") return "";
      const { words, states } = this.template;
      const lines = [this.place(this.pos), this.when(k), fill(words.point, { token: this.token(row.token), state: states[row.state] })];
      const noisy = row.state === "noise" || row.state === "renoised";
      if (!Number.isNaN(row.confidence)) lines.push(fill(noisy ? words.best : words.confidence, { p: N.percent(row.confidence) }));
      if (!Number.isNaN(row.entropy)) lines.push(fill(words.entropy, { h: N.fixed(row.entropy, 2) }));
      if (!Number.isNaN(row.ar)) lines.push(fill(words.ar, { score: N.fixed(-row.ar, 2) }));
      return lines.join("<br>");
    }
  }

  BlockViz.views.life = { mount: (element, template) => new LifeView(element, template), curves };
})();
