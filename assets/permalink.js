/* BlockViz.permalink: the address bar holds the page's state (tab, form, pass, alignment, pace, theme, what is presented), and
   opening such an address brings it back; where a run is needed it is made again. Values are data: they only ever fill form fields that know them. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const VERSION = "2";
  const READ = ["1", "2"]; // version 1 named every value of both sides of Compare; that is still a way to say it
  const CALM_MS = 400; // browsers refuse an address that changes with every pass
  const OWN = ["v", "tab", "pass", "theme", "align", "pace", "present", "view"];
  const ALONE = "canvas"; // presented without a view
  const KEPT = ["__theme"]; // Gradio's own
  const HAS_FORM = ["explore", "compare", "learn"];

  const forms = Object.create(null); // its keys are compared with what an address says
  let asked = parse(window.location.search);
  let wanted = null; // { group, pass, past: ids of runs that are not the one to wait for }
  let writing = 0;

  /** What an address asks for: { version, tab, form: {name: text}, pass, theme }, or null when it asks for nothing. */
  function parse(search) {
    const given = new URLSearchParams(search);
    if (!given.get("tab")) return null;
    const form = Object.create(null);
    for (const [name, value] of given) if (!OWN.includes(name) && !KEPT.includes(name)) form[name] = value;
    const own = Object.fromEntries(OWN.map((name) => [name, given.get(name)]));
    return { ...own, version: own.v, form };
  }

  /** Nested form values as flat texts: {a: {steps: 4}} becomes {"a.steps": "4"}. */
  function flatten(values, prefix, into) {
    for (const [name, value] of Object.entries(values)) {
      if (name === "settings") flatten(value, prefix, into);
      else if (value !== null && typeof value === "object") flatten(value, prefix + name + ".", into);
      else into[prefix + name] = value === null ? "" : String(value);
    }
    return into;
  }

  /** What a form would have to be told to ask for these runs. */
  function textsOf(name, headers) {
    const texts = Object.create(null);
    const shared = new Set(headers.map(({ settings }) => settings.seed)).size === 1;
    headers.forEach(({ model, settings, prompt }, i) => {
      const { seed, ...own } = settings;
      const prefix = name === "compare" ? BlockViz.compare.SIDES[i] + "." : "";
      flatten({ model: model.name, settings: shared ? own : settings }, prefix, texts);
      if (i === 0) Object.assign(texts, { prompt, seed: String(seed) });
    });
    return texts;
  }

  const tabNow = () => document.body.dataset.bvTab || "explore";

  /** The address of what is on screen, without the host. */
  function address() {
    const tab = tabNow();
    const query = new URLSearchParams();
    for (const name of KEPT) {
      const value = new URLSearchParams(window.location.search).get(name);
      if (value) query.set(name, value);
    }
    query.set("v", VERSION);
    query.set("tab", tab);
    const form = forms[tab];
    if (form) {
      const texts = form.texts ? form.texts() : flatten(form.read(), "", {});
      for (const [name, value] of Object.entries(texts)) query.set(name, value);
      const bus = BlockViz.bus(tab);
      query.set("pass", String(bus.pass));
      if (bus.alignment) query.set("align", bus.alignment);
      if (bus.pace !== "pass") query.set("pace", bus.pace);
      if (tab === "compare" && BlockViz.compare.under()) query.set("view", BlockViz.compare.under());
      if (BlockViz.present.on) query.set("present", BlockViz.present.view || ALONE);
    }
    const theme = BlockViz.chosenTheme();
    if (theme) query.set("theme", theme);
    return window.location.pathname + "?" + query.toString();
  }

  /** Write the address once nothing has moved for a moment, and not before an opened link has been carried out. */
  function note() {
    clearTimeout(writing);
    writing = setTimeout(() => {
      if (wanted && refused(wanted)) wanted = null;
      if (asked || wanted || !BlockViz.tabs || !(forms[tabNow()] || !HAS_FORM.includes(tabNow()))) return;
      if (BlockViz.bus(tabNow()).moving) return note();
      const now = address();
      if (now !== window.location.pathname + window.location.search) window.history.replaceState(window.history.state, "", now);
    }, CALM_MS);
  }

  /** A form stands: { root, read, write, start, say, busy }. The one that the address asks for is filled and, if need be, run;
      one that is `ready` has its runs already. */
  function join(name, form) {
    forms[name] = form;
    form.initial = JSON.stringify(form.read());
    for (const type of ["input", "change", "click"]) form.root.addEventListener(type, note);
    BlockViz.bus(name).join(BlockViz.bus(name).transports, { root: document.body, draw: () => moved(name), destroy() {} });
    open();
  }

  /** Carry out what the address asks for as soon as the header and the form in question stand. */
  function open() {
    if (asked && BlockViz.tabs) {
      const form = forms[asked.tab];
      const first = forms[tabNow()];
      if (form) carryOut(asked.tab, form);
      else if (first && BlockViz.tabs.includes(asked.tab) && !HAS_FORM.includes(asked.tab)) {
        const { tab } = asked;
        asked = null;
        BlockViz.showTab(tab);
      }
      else if (first && !BlockViz.tabs.includes(asked.tab)) {
        first.say(BlockViz.linkWords.tab.replace("{name}", asked.tab));
        asked = null;
      }
    }
    note();
  }

  function carryOut(name, form) {
    const link = asked;
    asked = null;
    if (link.theme === "dark" || link.theme === "light") BlockViz.chooseTheme(link.theme, false);
    const words = BlockViz.linkWords;
    // An address that says nothing of the form leaves what the page opens with.
    const problems = Object.keys(link.form).length ? form.write(link.form) : [];
    if (!READ.includes(link.version)) problems.unshift(words.version);
    const again = !form.ready && JSON.stringify(form.read()) !== form.initial;
    const pass = /^\d{1,6}$/.test(link.pass || "") ? Number(link.pass) : null;
    const useless = (what) => problems.push(words.value.replace("{name}", () => what).replace("{value}", () => link[what]));
    if (link.pass !== null && pass === null) useless("pass");
    const bus = BlockViz.bus(name);
    if (Object.hasOwn(BlockViz.clock.PACES, link.pace || "")) bus.setPace(link.pace);
    else if (link.pace !== null) useless("pace");
    if (Object.hasOwn(BlockViz.align.AXES, link.align || "")) bus.setAlignment(link.align);
    else if (link.align !== null) useless("align");
    if (link.view !== null && !(name === "compare" && BlockViz.compare.setUnder(link.view))) useless("view");
    const view = link.present === ALONE ? "" : link.present;
    const shown = view === "" || Object.hasOwn(BlockViz.templates || {}, view || "");
    if (link.present !== null && !shown) useless("present");
    BlockViz.showTab(name, again);
    if (pass !== null || again || shown) wanted = { group: name, pass, again, past: null, view: shown ? view : null };
    if (problems.length) form.say(problems.join(" "));
    if (again) whenReady(name, () => begin(form));
  }

  function begin(form) {
    form.start(true);
    if (wanted) wanted.begun = true;
  }

  /** Gradio listens to a part only after it has drawn all of them: the players stand by then. */
  function whenReady(name, act) {
    const bus = BlockViz.bus(name);
    if (bus.players.length && document.readyState === "complete") {
      wanted.past = bus.loaded.map((player) => player.run.id);
      setTimeout(act, 0);
    } else setTimeout(() => whenReady(name, act), 50);
  }

  /** The bus drew: note the pass, or go to the one that was asked for once its run is there. */
  function moved(name) {
    if (wanted && wanted.group === name) arrive(name);
    if (name === tabNow()) note();
  }

  function arrive(name) {
    const bus = BlockViz.bus(name);
    const runs = bus.loaded.map((player) => player.run);
    if (!runs.length || runs.length < bus.used.length || bus.live) return;
    if (wanted.again && (!wanted.past || runs.some((run) => wanted.past.includes(run.id)))) return;
    const { pass, view } = wanted;
    wanted = null;
    if (pass !== null) bus.seek(pass);
    if (view !== null) present(bus, view);
  }

  /** A run that never came, or not whole, must not hold the address for ever. Asked once all is calm: the form hears of an end before
      the players have their last passes. */
  function refused({ group, begun }) {
    return begun && !forms[group].busy() && !BlockViz.bus(group).live;
  }

  /** Once the views stand: the browser may refuse its full screen to a page that nobody clicked on, and the window has to do. */
  function present(bus, view) {
    if (bus.used.every((player) => player.cards.all.some((one) => one.it && one.it.fit))) {
      BlockViz.present.view = view;
      BlockViz.present.enter(bus);
      BlockViz.present.choose(view); // the canvas alone, too
    } else setTimeout(() => present(bus, view), 100);
  }

  /** Put the address on the clipboard; resolves to whether that worked. */
  async function copy() {
    const text = window.location.origin + address();
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch (problem) {
      return copyBySelection(text); // without https the clipboard is closed to scripts
    }
  }

  function copyBySelection(text) {
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    area.style.opacity = "0";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  BlockViz.permalink = { join, textsOf, open, note, say: (message) => forms.explore && forms.explore.say(message), copy, address };
})();
