/* What the corrector doubts: a bar per position of the active block, the chosen ones marked, the cut, and two rows of tokens:
   what was proposed, and what AR would say. The twin of blockviz/views/renoising.py. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { fill, tokenText, make } = BlockViz.viewTools;
  const CHARACTER = 6.7; // pixels of a character of a token label

  /** The decision to show at pass k: its own, or else the last one of its block; null where there is none. */
  function decision(run, k) {
    const pass = run.passes[k];
    if (pass.phase === "verify") return verified(run, k);
    for (let source = k; source > 0; source--) {
      const candidate = run.passes[source];
      if (candidate.block !== pass.block) break;
      if (candidate.phase === "renoise") return decided(run, source, source === k ? "now" : "earlier");
    }
    return null;
  }

  function frame(run, source, moment) {
    const pass = run.passes[source];
    const [start, stop] = pass.win;
    return { moment, source, start, stop, block: pass.block, step: pass.step, k: pass.k, cut: pass.cut };
  }

  function bestOf(run, source, start, stop) {
    const best = [];
    for (let position = start; position < stop; position++) best.push(run.top(source, position)[0] || null);
    return best;
  }

  function verified(run, source) {
    const shown = frame(run, source, "verify");
    const states = run.states(source);
    const prompt = BlockViz.STATE_CODE.prompt;
    const scores = Array.from(run.ar(source), (value, i) => (states[shown.start + i] === prompt ? NaN : -value));
    return {
      ...shown,
      k: 0,
      cut: null,
      corrector: "ar_nll",
      tokens: run.tokens(source).slice(shown.start, shown.stop),
      scores,
      chosen: scores.map(() => false),
      best: bestOf(run, source, shown.start, shown.stop),
    };
  }

  function decided(run, source, moment) {
    const shown = frame(run, source, moment);
    const before = run.passes[source - 1];
    const read = before.phase === "verify" && before.win[0] === shown.start && before.win[1] === shown.stop;
    const states = run.states(source);
    const scores = Array.from(run.score(source));
    return {
      ...shown,
      corrector: run.header.settings.corrector,
      tokens: run.tokens(source - 1).slice(shown.start, shown.stop),
      scores,
      chosen: scores.map((score, i) => states[shown.start + i] === BlockViz.STATE_CODE.renoised),
      best: read ? bestOf(run, source - 1, shown.start, shown.stop) : scores.map(() => null),
    };
  }

  /** Lowest and highest score of all decisions of a run, and the name of the score. */
  function range(run) {
    let low = 0;
    let high = 0;
    run.passes.forEach((pass, k) => {
      const values = pass.phase === "renoise" ? run.score(k) : pass.phase === "verify" ? run.ar(k).map((value) => -value) : [];
      for (const value of values) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
    });
    return [low, high, run.header.settings.corrector];
  }

  /** Halfway between the lowest chosen score and the highest spared one; where they touch, at the cut. */
  function cutLine(shown) {
    let below = -Infinity;
    shown.scores.forEach((score, i) => {
      if (!shown.chosen[i] && score > below) below = score;
    });
    return below > -Infinity && below < shown.cut ? (shown.cut + below) / 2 : shown.cut;
  }

  function leftIsFree(shown, height) {
    const third = Math.max(1, Math.floor(shown.scores.length / 3));
    const over = (list) => list.filter((score) => score > height).length;
    return over(shown.scores.slice(0, third)) <= over(shown.scores.slice(-third));
  }

  class RenoisingView extends BlockViz.View {
    constructor(element, template) {
      super(element, template);
      this._key = "";
      this.width = 0;
      this.rows = make("div", "bv-view-tokens", this.plot);
      this.cut = make("div", "bv-view-cut", this.plot);
      this.cutName = make("span", "bv-view-cut-name", this.cut);
      this.caption = make("div", "bv-view-caption", this.plot);
      this.caption.style.height = this.caption.style.lineHeight = template.caption + "px";
    }

    /** The box holds bars, rows of tokens and a caption; the legend takes one line only. */
    plotHeight() {
      return this.tall - this.template.legend_line;
    }

    loaded() {
      const { run, template } = this;
      const [low, high, name] = range(run);
      const [bottom, top] = (this.scales && this.scales.scores[name]) || [low, high];
      const score = template.scores[name] || template.scores.ar_nll;
      this.low = bottom;
      this.top = template.tops.find((round) => round >= Math.min(top, score.capped ? template.tallest : Infinity)) || top;
      this.width = Math.min(run.blockSize, run.length);
      this.labelled = this.width <= template.most_labels;
      this.verifies = template.verifiers.includes(name);
      this._figure(score);
      this._key = "";
      if (this.k >= 0 && this.k < run.passes.length) this.drawn();
    }

    /** The empty chart of a run; passes only restyle its bars. It is rebuilt only when its frame changes. */
    _figure(score) {
      const { template } = this;
      const rows = this.labelled ? (this.verifies ? 2 : 1) : 0;
      const tall = this.plotHeight() - template.caption - rows * template.row_height;
      const key = [this.run.id, this.themed, this.low, this.top, this.width, tall].join();
      if (key === this._frameKey) return;
      this._frameKey = key;
      const { data, layout } = this.blank();
      layout.height = tall;
      layout.yaxis.range = [this.low * 1.1, this.top * 1.1];
      layout.yaxis.title.text = score.axis;
      layout.xaxis.range = [0.5, this.width + 0.5];
      layout.xaxis.fixedrange = this.labelled; // the tokens stand under their bars
      if (!this.labelled) this._number(layout);
      for (const bars of data) {
        bars.x = Array.from({ length: this.width }, (_, i) => i + 1);
        bars.y = bars.x.map(() => null);
      }
      this.color = data[1].marker.color;
      this.show({ data, layout });
      this._prepareRows(layout, tall, rows);
    }

    /** Too many bars for tokens: a few position numbers instead. */
    _number(layout) {
      const every = Math.ceil(this.width / 6);
      this._first = -1;
      layout.margin.b = 18;
      layout.xaxis.showticklabels = true;
      layout.xaxis.tickvals = Array.from({ length: Math.ceil(this.width / every) }, (_, i) => i * every + 1);
    }

    _prepareRows(layout, tall, rows) {
      const { margin } = layout;
      const style = this.rows.style;
      style.top = tall + "px";
      style.left = "0";
      style.paddingLeft = margin.l + "px";
      style.paddingRight = margin.r + "px";
      this.rows.replaceChildren();
      this.cells = [];
      for (let row = 0; row < rows; row++) {
        const line = make("div", row ? "bv-view-row bv-view-row-ar" : "bv-view-row", this.rows);
        line.style.height = this.template.row_height + "px";
        line.style.gridTemplateColumns = `repeat(${this.width}, minmax(0, 1fr))`;
        const name = make("span", "bv-view-row-name", line);
        name.textContent = row ? this.words.ar_says : this.words.proposed;
        name.style.width = margin.l - 8 + "px";
        this.cells.push(Array.from({ length: this.width }, () => make("span", "bv-view-token", line)));
      }
    }

    drawn() {
      const { run, k } = this;
      const shown = decision(run, k);
      if (!shown) {
        this.shown = null;
        this.say(this.words.help_none);
        this.quiet(this._why(run, k));
        return;
      }
      this.quiet("");
      const score = this.template.scores[shown.corrector];
      const name = shown.moment === "now" && shown.k === 1 ? "now_one" : shown.moment;
      this.say(fill(this.words[name], { says: score.says, k: shown.k, step: shown.step + 1, pass: shown.source }));
      this.plot.classList.toggle("bv-is-earlier", shown.moment === "earlier");
      this.shown = shown;
      const key = `${shown.source} ${run.id} ${this._frameKey}`;
      if (key === this._key) return;
      this._key = key;
      this._bars(shown, score);
      this._tokens(shown);
      this.caption.textContent = fill(this.words.positions, { first: shown.start + 1, last: shown.stop, block: shown.block + 1 });
      this.moved();
    }

    _why(run, k) {
      if (run.header.settings.corrector === "none") return this.words.no_corrector;
      const pass = run.passes[k];
      return pass.phase === "start" ? this.words.none_start : fill(this.words.none_yet, { block: pass.block + 1 });
    }

    _bars(shown, score) {
      const column = (wanted, value) =>
        Array.from({ length: this.width }, (_, i) => (i < shown.scores.length && shown.chosen[i] === wanted ? value(shown.scores[i]) : null));
      const height = (score) => (Number.isNaN(score) ? null : Math.min(score, this.top));
      const over = (score) => (score > this.top + 1e-6 ? score.toFixed(1) : "");
      const bars = {
        y: [column(false, height), column(true, height)],
        text: [column(false, over), column(true, over)],
      };
      const ticks = {};
      if (!this.labelled && this._first !== shown.start) {
        this._first = shown.start;
        ticks["xaxis.ticktext"] = this.plot.layout.xaxis.tickvals.map((place) => String(shown.start + place));
      }
      // A verification reads another score than divergences and entropies: name what stands on the axis.
      if (this.plot.layout.yaxis.title.text !== score.axis) ticks["yaxis.title.text"] = score.axis;
      if (Object.keys(ticks).length) BlockViz.Plotly.update(this.plot, bars, ticks, [0, 1]);
      else BlockViz.Plotly.restyle(this.plot, bars, [0, 1]);
    }

    _tokens(shown) {
      if (!this.labelled) return;
      const wide = Math.floor((this.plot.clientWidth - this.plot.layout.margin.l - this.plot.layout.margin.r) / this.width / CHARACTER);
      const put = (cell, id, chosen) => {
        const piece = id === null ? "" : this.run.piece(id);
        if (cell.textContent !== piece) cell.textContent = piece;
        cell.classList.toggle("bv-view-long", BlockViz.pieces.width(piece) > Math.max(1, wide));
        cell.classList.toggle("bv-view-chosen", chosen);
      };
      this.cells[0].forEach((cell, i) => put(cell, i < shown.tokens.length ? shown.tokens[i] : null, shown.chosen[i] === true));
      if (this.cells[1]) this.cells[1].forEach((cell, i) => put(cell, this._doubted(shown, i) ? shown.best[i].id : null, false));
    }

    _doubted(shown, i) {
      if (!shown.best[i] || Number.isNaN(shown.scores[i])) return false;
      return shown.chosen[i] || (shown.moment === "verify" && shown.best[i].id !== shown.tokens[i]);
    }

    resized() {
      if (this.shown) this._tokens(this.shown);
      this.moved();
    }

    /** Put the cut line where the axis has it now. */
    moved() {
      const frame = this.plot._fullLayout;
      const { shown } = this;
      const style = this.cut.style;
      style.visibility = "hidden";
      if (!shown || shown.cut === null || !frame) return;
      const { xaxis, yaxis } = frame;
      const y = yaxis.l2p(Math.min(cutLine(shown), this.top));
      if (y < 0 || y > yaxis._length) return;
      style.visibility = "visible";
      style.left = xaxis._offset + "px";
      style.width = xaxis._length + "px";
      style.transform = `translateY(${yaxis._offset + y - 1}px)`;
      this.cut.classList.toggle("bv-view-cut-right", !leftIsFree(shown, shown.cut));
      this.cutName.textContent = fill(this.words.cut, { k: shown.k });
    }

    /** For the image: tokens as tick labels, the cut as a line. */
    image(figure) {
      const { shown } = this;
      const { layout } = figure;
      layout.margin.b = 64;
      layout.showlegend = true;
      if (!shown) return;
      if (this.labelled) {
        layout.xaxis.showticklabels = true;
        layout.xaxis.tickvals = Array.from(shown.tokens, (id, i) => i + 1);
        layout.xaxis.ticktext = Array.from(shown.tokens, (id, i) => {
          const name = (token) => tokenText(this.run.piece(token), this.template.longest_label);
          if (!this._doubted(shown, i)) return name(id);
          return `<b>${name(id)}</b><br><span style="color:${this.color}">${name(shown.best[i].id)}</span>`;
        });
      }
      const rows = this.verifies && this.labelled ? `${this.words.proposed}, ${this.words.ar_says}: ` : "";
      layout.xaxis.title = { text: rows + this.caption.textContent, font: layout.xaxis.title.font };
      if (shown.cut === null) return;
      const height = Math.min(cutLine(shown), this.top);
      const line = { color: this.color, width: 1.5, dash: "dash" };
      layout.shapes = [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: height, y1: height, line }];
      const text = this.cutName.textContent;
      layout.annotations = [{ text, xref: "paper", x: 0, y: height, xanchor: "left", yanchor: "bottom", showarrow: false }];
    }

    describe(x) {
      const { shown } = this;
      const i = Math.round(x) - 1;
      return shown && i >= 0 && i < shown.scores.length ? this._words(shown, i) : "";
    }

    _words(shown, i) {
      const score = this.template.scores[shown.corrector];
      const fate = shown.moment === "verify" ? "doubted" : shown.chosen[i] ? "chosen" : "spared";
      const lines = [
        this.place(shown.start + i),
        fill(this.words.bar, {
          token: this.token(shown.tokens[i]),
          short: score.short,
          score: `${shown.scores[i].toFixed(2)} ${score.unit}`.trim(),
          fate: this.words[fate],
        }),
      ];
      const best = shown.best[i];
      if (best) {
        const words = best.id === shown.tokens[i] ? this.words.agrees : this.words.alternative;
        lines.push(fill(words, { token: this.token(best.id), p: best.p.toFixed(2) }));
      }
      return lines.join("<br>");
    }
  }

  BlockViz.views.renoising = { mount: (element, template) => new RenoisingView(element, template), range };
})();
