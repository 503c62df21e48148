/* The Plotly views beside the canvas: what they share. Layouts, colours and words are templates from Python
   (blockviz/views); scripts here only put data into them. BlockViz.views.<name>.mount(element, template) returns
   {load(run, scales), draw(run, k), theme(dark), destroy()}. Token text reaches Plotly escaped, the page as textContent. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  // Gradio brings an older Plotly that takes window.Plotly over at its first plot: keep the one that was loaded with us.
  BlockViz.Plotly = BlockViz.Plotly || window.Plotly;

  const PASS_ROOM = [24, 48, 72, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096];
  const SLOWEST = 8; // a growing run may take one part in this many of the time for redrawing
  const QUICKEST_MS = 120;
  const REST_MS = 90; // so long after the last step Plotly draws what a view has shown by itself
  const LIVE_REST_MS = 800; // of a run that grows, which does not rest before it ends
  const DECODE_MS = 120; // a browser may take this long to show a new picture of Plotly's
  const LOOK_MS = 40; // so often it is asked whether passes still wait for their frame

  const fill = (words, values) => words.replace(/\{(\w+)\}/g, (all, name) => (name in values ? values[name] : all));
  // A pair of dollars is a formula wherever MathJax is loaded.
  const escape = (piece) => piece.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\$/g, "&#36;");

  /** A token within a line of Plotly's text: shortened, safe, and its direction of writing moves nothing beside it. */
  function tokenText(piece, longest) {
    const characters = Array.from(piece);
    const escaped = escape(characters.length <= longest ? piece : characters.slice(0, longest - 1).join("") + "…");
    return BlockViz.isolated(piece) === piece ? escaped : BlockViz.isolated(escaped);
  }

  function make(tag, name, parent) {
    const node = document.createElement(tag);
    node.className = name;
    parent.append(node);
    return node;
  }

  /** Rows a map keeps for a run: all of an ended one, room to grow for a live one (so that it is not rescaled at every pass). */
  function passRoom(run) {
    const count = run.passes.length;
    return run.end ? count : PASS_ROOM.find((room) => room >= count) || count;
  }

  /** Distance between ticks along positions: round in blocks, at most five of them. */
  function tickStep(length) {
    let step = 1;
    while (length / step > 4.2) step *= 2;
    return step;
  }

  /** On a page with a base address Plotly writes the page's whole address into every reference to a pattern or a clip, and they
      break when the address changes (permalinks); without one it refers to its own document. */
  function locally(act) {
    const base = document.querySelector("base[href]");
    const href = base && base.getAttribute("href");
    if (base) base.removeAttribute("href");
    act();
    if (base) base.setAttribute("href", href);
  }

  class View {
    constructor(element, template) {
      this.element = element;
      this.template = template;
      this.run = null;
      this.k = -1;
      this.scales = null;
      this.dark = document.body.classList.contains("dark");
      this.words = template.words;
      this.hover = { words: "" };
      this._plotted = false;
      this._loadedAt = 0;
      this._cost = 0;
      this._later = 0;
      this._revision = 0;
      this._behind = false;
      this._build();
    }

    get themed() {
      return this.dark ? "dark" : "light";
    }

    get slowest() {
      return SLOWEST;
    }

    _build() {
      this.element.replaceChildren();
      const title = make("h3", "bv-view-title", this.element);
      title.textContent = this.template.title;
      this.help = make("p", "bv-view-help", this.element);
      this.say(this.template.help);
      this.plot = make("div", "bv-view-plot", this.element);
      this.plot.style.height = this.plotHeight() + "px";
      this.quietNode = make("div", "bv-view-quiet", this.plot);
      this.legend = make("ul", "bv-view-legend", this.element);
      this.legend.style.height = this.tall - this.plotHeight() + "px";
      this._legend();
      this._watch = new ResizeObserver(() => this._resized());
      this._watch.observe(this.plot);
    }

    /** Pixels of plot and legend together. */
    get tall() {
      return this._tall || this.template.height;
    }

    plotHeight() {
      return this.template.light.layout.height + this.tall - this.template.height;
    }

    /** Take another height for plot and legend together, in pixels (Present mode); 0 is the card's own. */
    fit(height) {
      if ((this._tall || 0) === height) return;
      this._tall = height;
      this.plot.style.height = this.plotHeight() + "px";
      this._key = "";
      if (this.run && this._plotted) this._load(true);
    }

    _legend() {
      const entries = this._entries();
      this.legend.replaceChildren();
      for (const entry of entries) {
        const item = make("li", "", this.legend);
        const swatch = make("span", "bv-view-swatch", item);
        swatch.style.setProperty("--bv-swatch", entry.color);
        if (entry.mark) swatch.dataset.mark = entry.mark;
        item.append(entry.label);
      }
    }

    _entries() {
      return (this.template.legend || {})[this.themed] || [];
    }

    _resized() {
      const width = this.plot.clientWidth;
      if (!this._plotted || width === 0 || width === this._width) return;
      cancelAnimationFrame(this._sizing);
      this._sizing = requestAnimationFrame(() => {
        this.settle();
        this._width = width;
        BlockViz.Plotly.relayout(this.plot, { width });
        this.resized();
      });
    }

    /** The changing line under the title. */
    say(text) {
      if (this._said === text) return;
      this._said = text;
      this.help.textContent = text;
      this.help.title = text;
    }

    /** Words in place of the plot, or "" to show the plot. */
    quiet(text) {
      if (this._quiet === text) return;
      this._quiet = text;
      this.quietNode.textContent = text;
      this.plot.classList.toggle("bv-is-quiet", text !== "");
    }

    /** The frame of a figure in the present theme, or of the one given; a copy that may be written into. */
    blank(template) {
      const { data, layout } = structuredClone(template || this.template[this.themed]);
      this._width = this.plot.clientWidth || 285;
      layout.width = this._width;
      layout.datarevision = ++this._revision;
      layout.height = this.plotHeight();
      layout.uirevision = this.run ? this.run.id : "";
      if (window.matchMedia("(pointer: coarse)").matches) layout.dragmode = false; // a finger scrolls the page
      return { data, layout };
    }

    /** Hand a whole figure to Plotly. */
    show(figure) {
      const Plotly = (BlockViz.Plotly = BlockViz.Plotly || window.Plotly);
      for (const trace of figure.data) {
        trace.meta = this.hover;
        trace.hovertemplate = "%{meta.words}<extra></extra>";
      }
      if (this._plotted) {
        Plotly.react(this.plot, figure.data, figure.layout);
        this._caught();
      } else {
        this._plotted = true;
        locally(() => Plotly.newPlot(this.plot, figure.data, figure.layout, this._config(Plotly)));
        this.plot.append(this.quietNode);
        this.plot.on("plotly_beforehover", (event) => this._point(event));
        this.plot.on("plotly_relayout", () => this.moved());
        this.plot.on("plotly_click", (event) => this.clicked(event));
        // Pointing and zooming need Plotly's own picture.
        this.plot.addEventListener("pointermove", () => this.settle(), true);
        this.plot.addEventListener("pointerdown", () => this.settle(true), true);
        this.ready();
      }
    }

    /** What is seen was drawn without Plotly: it follows once the view rests, or is pointed at. */
    behind() {
      this._behind = true;
      clearTimeout(this._resting);
      this._resting = setTimeout(() => this._rest(), this.run.end ? REST_MS : LIVE_REST_MS);
    }

    /** Plotly would hold up what moves. */
    _rest() {
      if (BlockViz.haste.moving || BlockViz.haste.holds()) this._resting = setTimeout(() => this._rest(), REST_MS);
      else this.settle();
    }

    /** Let Plotly catch up now; `bare` takes away at once what lies over its picture. */
    settle(bare) {
      if (this._behind) {
        this._behind = false;
        this.catchUp();
        this._caught();
      }
      if (bare && this.sheet) this.sheet.hide();
    }

    _caught() {
      this._behind = false;
      clearTimeout(this._resting);
      if (this.sheet && this.sheet.on) this._resting = setTimeout(() => this.sheet.hide(), DECODE_MS);
    }

    /** Write other labels on what Plotly has drawn, where there are as many; it comes to the same when it catches up. */
    relabel(selector, texts) {
      const nodes = this.plot.querySelectorAll(selector);
      if (nodes.length !== texts.length) return;
      nodes.forEach((node, i) => {
        if (node.textContent !== texts[i]) node.textContent = texts[i];
      });
    }

    /** Show other cells of the heat map, which keeps its axes. */
    repaint(cells) {
      Object.assign(this.plot.data[0], cells);
      // The colours of a scale that is known by name; Plotly has none while there is no number among the cells.
      const { colorscale } = this.plot._fullData[0];
      this.behind();
      if (colorscale) this.sheet.paint({ ...this.plot.data[0], colorscale });
      else this.settle();
    }

    _config(Plotly) {
      const button = (format, title, icon) => ({ name: format, title, icon, click: () => this.download(format) });
      const downloads = [button("png", "Download as image", Plotly.Icons.camera), button("svg", "Download as SVG", Plotly.Icons.disk)];
      return {
        displayModeBar: "hover",
        displaylogo: false,
        responsive: false,
        scrollZoom: false,
        doubleClick: "reset",
        modeBarButtons: [["zoom2d", "pan2d", "resetScale2d", ...downloads]],
      };
    }

    /** Put what stands over the plot as elements into the figure of the image. */
    image() {}

    /** Before Plotly looks for what is under the pointer: put the words for exactly this place. */
    _point(event) {
      const frame = this.plot._fullLayout;
      if (!this.run || !frame || !frame.xaxis || !event || event.clientX === undefined) return true;
      this.hover.words = this.describe(...this.under(event)) || "";
      return true;
    }

    /** The data coordinates under a pointer; the card may be scaled (Present mode). */
    under({ clientX, clientY }) {
      const { xaxis, yaxis } = this.plot._fullLayout;
      const box = this.plot.getBoundingClientRect();
      const scale = box.width / this.plot.offsetWidth || 1;
      return [xaxis.p2d((clientX - box.left) / scale - xaxis._offset), yaxis.p2d((clientY - box.top) / scale - yaxis._offset)];
    }

    load(run, scales) {
      const fresh = run !== this.run || run.id !== this._id;
      this.run = run;
      this._id = run.id;
      this.scales = scales || null;
      const wait = Math.max(QUICKEST_MS, this._cost * this.slowest) - (performance.now() - this._loadedAt);
      clearTimeout(this._later);
      if (fresh || run.end || wait <= 0) this._load(fresh);
      else this._later = setTimeout(() => this._loadLater(), wait);
    }

    _loadLater() {
      if (BlockViz.haste.holds()) this._later = setTimeout(() => this._loadLater(), LOOK_MS);
      else this._load(false);
    }

    _load(fresh) {
      const begun = performance.now();
      this.loaded(fresh);
      this._loadedAt = performance.now();
      this._cost = this._loadedAt - begun;
    }

    draw(run, k) {
      if (run !== this.run || run.id !== this._id) this.load(run, this.scales);
      this.k = k;
      this.drawn();
    }

    theme(dark) {
      if (dark === this.dark) return;
      this.dark = dark;
      this._legend();
      if (this.run) this._load(true);
    }

    /** There is no run any more; what is drawn stays until the next one. */
    forget() {
      clearTimeout(this._later);
      clearTimeout(this._resting);
      this._behind = false;
      this.run = null;
    }

    destroy() {
      this._watch.disconnect();
      clearTimeout(this._later);
      clearTimeout(this._resting);
      cancelAnimationFrame(this._sizing);
      if (this._plotted) BlockViz.Plotly.purge(this.plot);
      this.element.replaceChildren();
    }

    // What a view fills in.
    ready() {}
    moved() {}
    resized() {}
    loaded() {}
    drawn() {}
    catchUp() {}
    clicked() {}
    describe() {
      return "";
    }

    // Words every view uses; people count positions, blocks and steps from 1, passes from the start pass 0.
    place(position) {
      return fill(this.words.place, { position: position + 1, block: this.run.blockOf(position) + 1 });
    }
    when(k) {
      const pass = this.run.passes[k];
      const stepped = pass.phase !== "start" && pass.phase !== "commit";
      const phase = this.words.phases[pass.phase];
      return fill(stepped ? this.words.when : this.words.when_idle, { number: k, phase, step: pass.step + 1 });
    }
    token(id) {
      return `<b>${tokenText(this.run.piece(id), this.template.longest_token)}</b>`;
    }
  }

  /** Scales under which several runs can be compared: give the result to every load. */
  function scales(runs) {
    const full = runs.filter((run) => run.passes.length > 0);
    const scores = {};
    for (const run of full) {
      const [low, high, name] = BlockViz.views.renoising.range(run);
      const known = scores[name] || [low, high];
      scores[name] = [Math.min(low, known[0]), Math.max(high, known[1])];
    }
    return {
      positions: Math.max(1, ...full.map((run) => run.length)),
      passes: Math.max(1, ...full.map(passRoom)),
      timeline: BlockViz.views.timeline.reaches(full),
      scores,
    };
  }

  BlockViz.View = View;
  BlockViz.viewTools = { fill, escape, tokenText, make, passRoom, tickStep };
  BlockViz.views = Object.assign(BlockViz.views || {}, { scales });
})();
