/* What the corrector doubts: a bar per position of the active block, the chosen ones marked, the cut, and two rows of tokens:
   what was proposed, and what AR would say. The twin of blockviz/views/renoising.py. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { fill, tokenText, make } = BlockViz.viewTools;
  const { decision, range, cutLine, leftIsFree } = BlockViz.decisions;
  const CHARACTER = 6.7; // pixels of a character of a token label

  class RenoisingView extends BlockViz.View {
    constructor(element, template) {
      super(element, template);
      this._key = "";
      this.width = 0;
      this.overs = [];
      this._widths = new Map();
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
      this.width = run.plan.widest;
      this.labelled = this.width <= template.most_labels;
      this.verifies = template.verifiers.includes(name);
      this._figure(score);
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
      this._axis = score.axis;
      this.show({ data, layout });
      this._prepareRows(layout, tall, rows);
    }

    /** Too many bars for tokens: a few position numbers instead. */
    _number(layout) {
      const every = Math.ceil(this.width / 6);
      this._numbers = [];
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
      const { data, layout } = this.plot;
      [data[0].y, data[1].y] = [column(false, height), column(true, height)];
      if (!this.labelled) this._numbers = layout.xaxis.tickvals.map((place) => String(shown.start + place));
      // A verification reads another score than divergences and entropies: name what stands on the axis.
      this._axis = score.axis;
      this.behind();
      if (!this._paint()) this.settle();
    }

    /** Give Plotly's own bars their new heights; false where it has not drawn them. */
    _paint() {
      const { data, _fullLayout: frame } = this.plot;
      if (!this._paths) {
        const traces = [...this.plot.querySelectorAll(".barlayer > .bars")].map((trace) => [...trace.querySelectorAll("path")]);
        const sides = (path) => /^M([\d.-]+),[^H]*H([\d.-]+)V/.exec(path.getAttribute("d") || "");
        this._paths = traces.map((paths) => paths.map((path) => ({ path, sides: sides(path), y: undefined })));
      }
      const paths = this._paths;
      if (paths.length !== 2 || paths.some((list) => list.length !== this.width || list.some(({ sides }) => !sides))) return false;
      const { yaxis } = frame;
      const ground = yaxis.l2p(0).toFixed(2);
      paths.forEach((list, i) =>
        list.forEach((bar, place) => {
          const value = data[i].y[place];
          if (bar.y === value) return;
          bar.y = value;
          const [, left, right] = bar.sides;
          bar.path.setAttribute("d", `M${left},${ground}V${value === null ? ground : yaxis.l2p(value).toFixed(2)}H${right}V${ground}Z`);
          bar.path.style.strokeWidth = value === null ? "0" : data[i].marker.line.width + "px";
        }),
      );
      this.relabel(".ytitle", [this._axis]);
      if (!this.labelled) this.relabel(".xaxislayer-above text", this._numbers);
      return true;
    }

    catchUp() {
      const { data, layout } = this.plot;
      const bars = { y: data.map(({ y }) => y.slice()) };
      const labels = {};
      if (layout.yaxis.title.text !== this._axis) labels["yaxis.title.text"] = this._axis;
      if (!this.labelled && this._numbers.join() !== (layout.xaxis.ticktext || []).join()) labels["xaxis.ticktext"] = this._numbers;
      if (Object.keys(labels).length) BlockViz.Plotly.update(this.plot, bars, labels, [0, 1]);
      else BlockViz.Plotly.restyle(this.plot, bars, [0, 1]);
    }

    /** The score itself beside a bar that is cut off at the top. */
    _overs() {
      const { shown } = this;
      const frame = this.plot._fullLayout;
      let used = 0;
      if (shown && frame) {
        const { xaxis, yaxis } = frame;
        shown.scores.forEach((score, i) => {
          if (!(score > this.top + 1e-6)) return;
          if (!this.overs[used]) this.overs.push(make("span", "bv-view-over", this.plot));
          const node = this.overs[used++];
          BlockViz.write(node, score.toFixed(1));
          const [x, y] = [xaxis._offset + xaxis.l2p(i + 1), yaxis._offset + yaxis.l2p(this.top) + 3];
          node.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) translateX(-50%) rotate(180deg)`;
          node.hidden = false;
        });
      }
      for (; used < this.overs.length; used++) this.overs[used].hidden = true;
    }

    _tokens(shown) {
      if (!this.labelled) return;
      const wide = Math.floor((this._width - this.plot.layout.margin.l - this.plot.layout.margin.r) / this.width / CHARACTER);
      const put = (cell, id, chosen) => {
        const piece = id === null ? "" : this.run.piece(id);
        BlockViz.write(cell, piece);
        cell.classList.toggle("bv-view-long", this._letters(piece) > Math.max(1, wide));
        cell.classList.toggle("bv-view-chosen", chosen);
      };
      this.cells[0].forEach((cell, i) => put(cell, i < shown.tokens.length ? shown.tokens[i] : null, shown.chosen[i] === true));
      if (this.cells[1]) this.cells[1].forEach((cell, i) => put(cell, this._doubted(shown, i) ? shown.best[i].id : null, false));
    }

    /** Widths of pieces, which come again and again. */
    _letters(piece) {
      let width = this._widths.get(piece);
      if (width === undefined) this._widths.set(piece, (width = BlockViz.pieces.width(piece)));
      return width;
    }

    _doubted(shown, i) {
      if (!shown.best[i] || Number.isNaN(shown.scores[i])) return false;
      return shown.chosen[i] || (shown.moment === "verify" && shown.best[i].id !== shown.tokens[i]);
    }

    resized() {
      if (this.shown) this._tokens(this.shown);
      this.moved();
    }

    ready() {
      for (const event of ["plotly_afterplot", "plotly_relayout"]) this.plot.on(event, () => (this._paths = null));
    }

    /** Put the cut line, and the names of bars that are cut off, where the axes have them now. */
    moved() {
      this._overs();
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
      for (const bars of figure.data) bars.text = bars.y.map((y, i) => (y !== null && shown.scores[i] > this.top + 1e-6 ? shown.scores[i].toFixed(1) : ""));
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
