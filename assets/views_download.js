/* The download button of a view: a picture of it as it stands (PNG or SVG), with its title, its key, and model, settings, seed and
   version under the title, as on every export (blockviz/export/words.py). */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { escape } = BlockViz.viewTools;

  const [WIDTH, HEIGHT] = [720, 480];
  const HEAD = 78; // px for title and help
  const LINE = 13;
  const LETTERS = 125; // of the smallest line

  const short = (text, longest) => (text.length <= longest ? text : text.slice(0, longest - 1) + "…");
  const value = (given) => (given === true ? "on" : given === false ? "off" : String(given));

  /** Two lines: model with its hash, seed and versions; then every setting but the seed. */
  function footer(header) {
    const { model } = header;
    const settings = { ...BlockViz.defaults, ...header.settings };
    const versions = header.versions || {};
    const ours = BlockViz.version || versions.blockviz || "";
    const made = short(versions.blockviz || ours, 40);
    const size = model.parameters >= 100_000 ? `${(model.parameters / 1e6).toFixed(1)} M parameters` : `${model.parameters} parameters`;
    const first = [
      `model ${short(model.name, 120)} (${short(model.hash, 16)}), ${model.process} noise, ${size}`,
      `seed ${settings.seed}`,
      `run ${short(header.run, 40)}`,
      `BlockViz ${ours}${made === ours ? "" : `, run recorded with ${made}`}`,
    ];
    const named = Object.keys(settings).filter((name) => name !== "seed" && settings[name] !== null);
    return [first.join(" · "), named.map((name) => `${name.replace(/_/g, " ")} ${value(settings[name])}`).join(" · ")];
  }

  /** The footers of runs in lines that fit the picture, broken between their parts. */
  function lines(runs) {
    const all = [];
    const label = (i) => (runs.length > 1 ? `${"ABCD"[i]}: ` : "");
    const texts = runs.flatMap(({ header }, i) => footer(header).map((text, row) => (row ? text : label(i) + text)));
    for (const text of texts) {
      let line = "";
      for (const part of text.split(" · ")) {
        if (line && line.length + part.length > LETTERS) {
          all.push(line);
          line = part;
        } else line = line ? `${line} · ${part}` : part;
      }
      all.push(line);
    }
    return all;
  }

  /** The figure of the picture: that of the view with its words above the plot. */
  BlockViz.View.prototype.pictured = function () {
    const layout = structuredClone(this.plot.layout);
    const data = this.plot.data.map((trace) => ({ ...trace, showscale: trace.type === "heatmap" }));
    const runs = this.runs ? this.runs.map(({ run }) => run) : [this.run]; // a chart of several runs names them all
    const small = lines(runs.filter((run) => run.header && run.header.model));
    const muted = getComputedStyle(this.element).getPropertyValue("--bv-muted").trim();
    const words = small.map((line) => `<br><span style="font-size:9.5px;color:${muted}">${escape(BlockViz.pieces.clean(line))}</span>`);
    const help = `<span style="font-size:11px">${escape(this._said)}</span>`;
    const text = `<b>${escape(this.template.title)}</b><br>${help}${words.join("")}`;
    layout.title = { text, x: 0, xanchor: "left", xref: "container", y: 1, yref: "container", yanchor: "top", pad: { t: 22, l: 14 } };
    layout.width = WIDTH;
    layout.height = HEIGHT + 14 + LINE * small.length;
    layout.margin.t += HEAD + LINE * small.length;
    if (data.some((trace) => trace.colorbar && trace.colorbar.orientation !== "h")) layout.margin.r += 110;
    this.image({ data, layout });
    return { data, layout };
  };

  /** Hand the picture to the visitor as "png" or "svg". */
  BlockViz.View.prototype.download = function (format) {
    this.settle();
    const { data, layout } = this.pictured();
    const name = this.template.title.toLowerCase().replace(/[^a-z]+/g, "-");
    const options = { format, scale: format === "png" ? 2 : 1, width: layout.width, height: layout.height };
    return BlockViz.Plotly.downloadImage({ data, layout }, { ...options, filename: `blockviz-${name}${this.k < 0 ? "" : `-pass-${this.k}`}` });
  };

  BlockViz.footer = footer;
})();
