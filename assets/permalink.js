/* BlockViz.permalink: the address bar holds the page's state (tab, form, pass, theme), and opening such an address brings it
   back; where a run is needed it is made again. Values are data: they only ever fill form fields that know them. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const VERSION = "1";
  const CALM_MS = 400; // browsers refuse an address that changes with every pass
  const OWN = ["v", "tab", "pass", "theme"];
  const KEPT = ["__theme"]; // Gradio's own

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
    return { version: given.get("v"), tab: given.get("tab"), form, pass: given.get("pass"), theme: given.get("theme") };
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
    if (forms[tab]) for (const [name, value] of Object.entries(flatten(forms[tab].read(), "", {}))) query.set(name, value);
    query.set("pass", String(BlockViz.bus(tab).pass));
    const theme = BlockViz.chosenTheme();
    if (theme) query.set("theme", theme);
    return window.location.pathname + "?" + query.toString();
  }

  /** Write the address once nothing has moved for a moment, and not before an opened link has been carried out. */
  function note() {
    clearTimeout(writing);
    writing = setTimeout(() => {
      if (asked || wanted || !forms[tabNow()]) return;
      if (BlockViz.bus(tabNow()).moving) return note();
      const now = address();
      if (now !== window.location.pathname + window.location.search) window.history.replaceState(window.history.state, "", now);
    }, CALM_MS);
  }

  /** A form stands: { root, read, write, start, say, busy }. The one that the address asks for is filled and, if need be, run. */
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
    const problems = form.write(link.form);
    if (link.version !== VERSION) problems.unshift(words.version);
    const again = JSON.stringify(form.read()) !== form.initial;
    const pass = /^\d{1,6}$/.test(link.pass || "") ? Number(link.pass) : null;
    if (link.pass !== null && pass === null) problems.push(words.value.replace("{name}", "pass").replace("{value}", link.pass));
    BlockViz.showTab(name, again);
    if (pass !== null || again) wanted = { group: name, pass, again, past: null };
    if (problems.length) form.say(problems.join(" "));
    if (again) whenReady(name, () => form.start(true));
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
    if (wanted.again && (!wanted.past || runs.some((run) => wanted.past.includes(run.id)))) {
      // A run that never came (its settings were refused) must not hold the address for ever.
      if (wanted.past && wanted.begun && !forms[name].busy()) wanted = null;
      else if (forms[name].busy()) wanted.begun = true;
      return;
    }
    const { pass } = wanted;
    wanted = null;
    if (pass !== null) bus.seek(pass);
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

  BlockViz.permalink = { join, open, note, copy, address, parse };
})();
