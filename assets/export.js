/* An exported page: the runs stand in the page itself, one player each under one transport. Everything else is the
   player's own scripts; Plotly comes after the first picture, so that the canvas does not wait for it. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);
  const read = (id) => document.getElementById(id).textContent;
  const SVG = "http://www.w3.org/2000/svg";

  const config = JSON.parse(read("bv-config"));
  const root = document.getElementById("bv-export");
  const several = config.runs.length > 1;
  const views = BlockViz.views;
  const players = [];
  BlockViz.views = {};

  /* ---- theme: the system's, unless the button was pressed ---- */

  const system = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = new URLSearchParams(window.location.search).get("__theme");
  const button = el("button", { type: "button", class: "bv-round", "data-testid": "theme" }, halfMoon());

  function applyTheme() {
    const dark = chosen === "dark" || (chosen !== "light" && system.matches);
    document.body.classList.toggle("dark", dark);
    button.title = dark ? config.themes.light : config.themes.dark;
    button.setAttribute("aria-label", button.title);
  }

  function halfMoon() {
    const picture = document.createElementNS(SVG, "svg");
    for (const [name, value] of Object.entries({ viewBox: "0 0 16 16", width: 15, height: 15, "aria-hidden": "true" })) {
      picture.setAttribute(name, value);
    }
    const ring = document.createElementNS(SVG, "path");
    ring.setAttribute("d", "M8 1.8a6.2 6.2 0 1 0 0 12.4a6.2 6.2 0 1 0 0-12.4z");
    ring.setAttribute("fill", "none");
    ring.setAttribute("stroke", "currentColor");
    ring.setAttribute("stroke-width", "1.5");
    const half = document.createElementNS(SVG, "path");
    half.setAttribute("d", "M8 1.8a6.2 6.2 0 0 1 0 12.4z");
    half.setAttribute("fill", "currentColor");
    picture.append(ring, half);
    return picture;
  }

  button.addEventListener("click", () => {
    chosen = document.body.classList.contains("dark") ? "light" : "dark";
    applyTheme();
  });
  system.addEventListener("change", applyTheme);
  applyTheme();

  /* ---- the page ---- */

  function header() {
    const brand = el("h1", { class: "bv-brand" }, el("img", { src: config.logo, alt: "" }), el("span", { text: "BlockViz" }));
    const name = several ? `${config.runs.length} runs` : config.runs[0].title;
    return el("header", { class: "bv-header" }, brand, el("div", { class: "bv-header-end" }, el("span", { class: "bv-export-name", text: name }), button));
  }

  function footer() {
    const node = el("footer", { class: "bv-export-footer", "data-testid": "footer" });
    for (const run of config.runs) {
      const label = run.label ? `${run.label}: ` : "";
      node.append(el("p", { text: label + run.footer[0] }), el("p", { text: run.footer[1] }));
    }
    return node;
  }

  const shelf = el("div", { class: "bv-export-runs", "data-count": config.runs.length });
  const main = el("main", { class: "bv-export" });
  root.append(header(), main);
  if (several) {
    const bar = el("div", { class: "bv-card bv-bar bv-export-bar" });
    main.append(bar);
    BlockViz.Transport(bar, { group: "export" });
  }
  const under = el("div", { class: "bv-export-comparison" });
  main.append(shelf, under, footer());
  config.runs.forEach((run, index) => {
    const place = el("div", { class: "bv-player" });
    shelf.append(el("section", { class: "bv-card", "aria-label": run.title }, place));
    const suffix = several ? "-" + run.label.toLowerCase() : "";
    const player = BlockViz.Player(place, { group: "export", suffix, label: run.label, transport: !several, views: config.views });
    players.push(player);
    player.feed(read("bv-run-" + index));
  });

  if (several) new BlockViz.Comparison(under, { group: "export" });

  /** Called once Plotly stands in the page. */
  function showViews() {
    BlockViz.Plotly = window.Plotly;
    BlockViz.views = views;
    for (const player of players) player.mountViews();
    BlockViz.bus("export").redraw();
  }

  BlockViz.exported = { showViews, players };
})();
