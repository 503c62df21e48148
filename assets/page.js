/* The parts of the page that are not the player: header with tabs and theme, forms, the table under Compare.
   Python creates each part by name (blockviz/ui/player_component.py) and feeds it its text. */
(function () {
  "use strict";

  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const THEME_KEY = "blockviz-theme";
  const forms = {};
  const opened = new Set(["explore"]);
  const PLACES = ["explore", "compare", "learn"];

  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  /* ---- theme: what the visitor chose wins over the system, and outlives the visit ---- */

  function storedTheme() {
    try {
      const theme = window.localStorage.getItem(THEME_KEY);
      return theme === "dark" || theme === "light" ? theme : null;
    } catch (error) {
      return null; // storage is switched off: the choice lasts for this visit only
    }
  }

  let chosen = new URLSearchParams(window.location.search).get("__theme") ? null : storedTheme();

  function applyTheme() {
    if (chosen && document.body) document.body.classList.toggle("dark", chosen === "dark");
  }

  /** `keep` says whether the choice outlives this visit; that of an opened link does not. */
  function chooseTheme(theme, keep) {
    chosen = theme;
    applyTheme();
    BlockViz.permalink.note();
    if (!keep) return;
    try {
      window.localStorage.setItem(THEME_KEY, theme);
    } catch (error) {
      // see storedTheme
    }
  }

  /* Gradio sets its own theme when it starts and when the system's changes; a choice made here stays. */
  new MutationObserver(() => {
    if (chosen && document.body.classList.contains("dark") !== (chosen === "dark")) applyTheme();
  }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  applyTheme();

  /* Test hooks are unique on the page: those of the tab that is not shown are put aside. */
  function hooks(root, shown) {
    const [from, to] = shown ? ["data-hook", "data-testid"] : ["data-testid", "data-hook"];
    for (const element of root.querySelectorAll("[" + from + "]")) {
      element.setAttribute(to, element.getAttribute(from));
      element.removeAttribute(from);
    }
  }

  /* ---- header ---- */

  /** `running`: a run is about to come, so the recorded ones need not be fetched. */
  function showTab(name, running) {
    document.body.dataset.bvTab = name;
    for (const button of document.querySelectorAll(".bv-tabs button")) {
      const on = button.dataset.tab === name;
      button.setAttribute("aria-selected", String(on));
      button.tabIndex = on ? 0 : -1;
    }
    for (const place of PLACES) {
      const panel = document.getElementById(place);
      if (panel) panel.setAttribute("role", "tabpanel");
    }
    for (const [place, form] of Object.entries(forms)) hooks(form.root, place === name);
    if (!opened.has(name)) {
      opened.add(name);
      if (forms[name] && !running) forms[name].open();
    }
    BlockViz.permalink.note();
    window.dispatchEvent(new Event("resize")); // figures drawn while hidden learn their width
  }

  function header(root, options) {
    const bar = make("header", "bv-header");
    const brand = make("h1", "bv-brand");
    const logo = make("img");
    logo.src = options.logo;
    logo.alt = "";
    brand.append(logo, make("span", "", options.title));

    const tabs = make("nav", "bv-tabs");
    tabs.setAttribute("role", "tablist");
    for (const [name, label] of Object.entries(options.tabs)) {
      const button = make("button", "", label);
      button.type = "button";
      button.dataset.tab = name;
      button.dataset.testid = "tab-" + name;
      button.setAttribute("role", "tab");
      button.setAttribute("aria-controls", name);
      button.addEventListener("click", () => showTab(name));
      tabs.append(button);
    }
    tabs.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const all = [...tabs.children];
      const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
      next.focus();
      next.click();
      event.preventDefault();
      event.stopPropagation();
    });

    const end = make("div", "bv-header-end");
    const chip = make("span", "bv-chip");
    chip.dataset.testid = "run-model";
    const theme = make("button", "bv-round");
    theme.type = "button";
    theme.dataset.testid = "theme";
    theme.append(halfMoon());
    const name = () => {
      const label = document.body.classList.contains("dark") ? options.light : options.dark;
      theme.title = label;
      theme.setAttribute("aria-label", label);
    };
    theme.addEventListener("click", () => {
      chooseTheme(document.body.classList.contains("dark") ? "light" : "dark", true);
      name();
    });
    name();
    end.append(chip, linkButton(options.link), theme);
    bar.append(brand, tabs, end);
    root.append(bar);
    BlockViz.tabs = Object.keys(options.tabs);
    BlockViz.linkWords = options.link;
    showTab("explore");
    BlockViz.permalink.open();
    return { feed() {} };
  }

  /* Puts the page's address, which holds its state, on the clipboard. */
  function linkButton(words) {
    const button = make("button", "bv-link-button", words.copy);
    button.type = "button";
    button.title = words.help;
    button.dataset.testid = "copy-link";
    button.addEventListener("click", async () => {
      button.textContent = (await BlockViz.permalink.copy()) ? words.copied : words.failed;
      setTimeout(() => (button.textContent = words.copy), 1800);
    });
    return button;
  }

  function halfMoon() {
    const space = "http://www.w3.org/2000/svg";
    const picture = document.createElementNS(space, "svg");
    picture.setAttribute("viewBox", "0 0 16 16");
    picture.setAttribute("width", "15");
    picture.setAttribute("height", "15");
    picture.setAttribute("aria-hidden", "true");
    const ring = document.createElementNS(space, "circle");
    for (const [key, value] of Object.entries({ cx: 8, cy: 8, r: 6.2, fill: "none", stroke: "currentColor" })) {
      ring.setAttribute(key, value);
    }
    ring.setAttribute("stroke-width", "1.5");
    const half = document.createElementNS(space, "path");
    half.setAttribute("d", "M8 1.8a6.2 6.2 0 0 1 0 12.4z");
    half.setAttribute("fill", "currentColor");
    picture.append(ring, half);
    return picture;
  }

  /* ---- forms ---- */

  function form(root, options, emit) {
    const control = BlockViz.forms[options.form](root, { ...JSON.parse(options.spec), alive: options.alive }, emit);
    forms[options.form] = { ...control, root, open: () => emit("open", {}) };
    if (options.form === "compare") BlockViz.compare.form = control.read;
    hooks(root, (document.body.dataset.bvTab || "explore") === options.form);
    BlockViz.glossary.soon(root);
    BlockViz.permalink.join(options.form, { ...control, root });
    return { feed: control.answer };
  }

  /* ---- player and transport ---- */

  function modelLine(run) {
    const model = run.header && run.header.model;
    if (!model) return "";
    const size = model.parameters ? (model.parameters / 1e6).toFixed(1) + " M" : "";
    return [model.name, size, run.header.device].filter(Boolean).join(" · ");
  }

  /* Plotly is by far the largest file: it is fetched once the first player stands, and the canvas does not wait for it. */
  const views = BlockViz.views;
  const players = [];
  const given = new Map(); // what the server gave each player of the page last, and how it takes that
  BlockViz.views = {};

  function fetchPlotly(address) {
    if (players.length) return;
    const script = document.createElement("script");
    script.src = address;
    script.addEventListener("load", () => {
      BlockViz.Plotly = window.Plotly;
      BlockViz.views = views;
      for (const control of players) control.mountViews();
      for (const control of players) BlockViz.glossary.soon(control.root);
    });
    document.head.append(script);
  }

  /** A player that another part made gets its views with those of the page. */
  function awaitViews(control, address) {
    fetchPlotly(address);
    if (BlockViz.views !== views) players.push(control);
  }

  function player(root, options) {
    root.classList.add("bv-player");
    const control = BlockViz.Player(root, options);
    fetchPlotly(options.plotly);
    players.push(control);
    const feed = (text) => {
      given.set(control, { text, feed });
      BlockViz.compare.fed(control, text);
      BlockViz.glossary.soon(root);
      const chip = document.querySelector(".bv-header .bv-chip");
      if (chip && options.transport) chip.textContent = modelLine(control.run);
    };
    return { feed };
  }

  /** Gradio does not report a value that stays the same: where a script has put another run since, the server's comes back. */
  function showGiven(group) {
    for (const control of BlockViz.bus(group).players) {
      const { text, feed } = given.get(control) || { text: "" };
      if (feed && text !== (control.text || "")) feed(text);
    }
  }

  function transport(root, options) {
    root.classList.add("bv-bar"); // it wraps by its own width, as in a player
    BlockViz.Transport(root, options);
    return { feed() {} };
  }

  /* ---- what stands under the runs of Compare ---- */

  function result(root, options, emit) {
    const control = new BlockViz.Comparison(root, { ...options, emit });
    BlockViz.comparisonScorer = (model) => control.scorerFor(model);
    return {
      feed(text) {
        control.answer(text);
        BlockViz.glossary.soon(root);
      },
    };
  }

  function seeds(root, options, emit) {
    const control = new BlockViz.ManySeeds(root, options, emit);
    BlockViz.seedsOver = () => control.over();
    return { feed: (text) => control.answer(text) };
  }

  function cost(root, options, emit) {
    const control = new BlockViz.Cost(root, options, emit);
    BlockViz.costOver = () => control.over();
    return { feed: (text) => control.answer(text) };
  }

  function sides(root) {
    BlockViz.compare.head(root);
    return { feed() {} };
  }

  /* ---- Learn ---- */

  function learn(root, options) {
    const tab = new BlockViz.Learn(root, options);
    forms.learn = { root, open: () => tab.open(), over() {} };
    const say = (message) => forms.explore && BlockViz.permalink.say(message);
    const complain = ([name, value]) => BlockViz.linkWords.value.replace("{name}", name).replace("{value}", value);
    const form = { root, read: () => tab.read(), write: (texts) => tab.write(texts).map(complain), start() {}, say, busy: () => false };
    BlockViz.permalink.join("learn", { ...form, ready: true });
    return { feed() {} };
  }

  /** Show a recorded run in Explore, at a pass, with its settings in the form, which says where it comes from. */
  function openInExplore(text, pass, place, note) {
    const bus = BlockViz.bus("explore");
    const [player] = bus.players;
    if (!player) return;
    showTab("explore", true);
    if (forms.explore.busy()) return forms.explore.say(BlockViz.linkWords.busy);
    BlockViz.files.comesFrom("explore", place);
    player.feed(text);
    bus.seek(pass);
    BlockViz.formFollows("explore");
    forms.explore.say(note);
    document.querySelector(".bv-header .bv-chip").textContent = modelLine(player.run);
    BlockViz.glossary.soon(player.root);
  }

  BlockViz.parts = { header, form, player, transport, sides, result, seeds, learn, cost };
  BlockViz.awaitViews = awaitViews;
  BlockViz.showGiven = showGiven;
  BlockViz.openInExplore = openInExplore;
  BlockViz.formNow = (name) => (forms[name] ? forms[name].read() : null);
  BlockViz.showTab = showTab;
  BlockViz.tabNow = () => document.body.dataset.bvTab || "explore";
  BlockViz.chooseTheme = chooseTheme;
  BlockViz.chosenTheme = () => chosen;
  BlockViz.formBusy = (name) => Boolean(forms[name] && forms[name].busy());

  /** A run came on screen that the form did not ask for: it takes that run's model, prompt and settings, where it knows them.
      A form whose own run has just been started keeps what that run was asked for. */
  BlockViz.formFollows = function (name) {
    const form = forms[name];
    const runs = BlockViz.bus(name).loaded.map((player) => player.run.header);
    if (!form || !runs.length || form.busy()) return;
    form.answer(JSON.stringify({ state: "done", message: "" }));
    form.say("");
    form.write(BlockViz.permalink.textsOf(name, runs));
    BlockViz.permalink.note();
  };
  BlockViz.formOf = (name) => forms[name];
  BlockViz.over = (name) => forms[name] && forms[name].over();
})();
