/* BlockViz.compare: the sides of Compare and what stands in them. Runs come from its form, or are given: by an event of the server
   (`Screen` in blockviz/ui/compare.py), or here in the browser with BlockViz.compare.put([text, ...]). */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const GROUP = "compare";
  const SIDES = ["a", "b", "c", "d"];
  const ALL = "all";
  const NOTHING = "none";
  let expected = 0;
  let bar = null;
  let chosen = null; // what stands under each canvas; nobody chose: everything under two, nothing under more
  let given = false; // what stands in the sides was put there by a script, unknown to Gradio

  const bus = () => BlockViz.bus(GROUP);
  const sideOf = (player) => player.options.suffix.slice(1);
  /** The players by side, as far as they stand. */
  const players = () => Object.fromEntries(bus().players.map((player) => [sideOf(player), player]));

  /** Show the sides that have a run or await one; the first two while there is none at all. */
  function refresh() {
    const all = players();
    const filled = SIDES.filter((side) => all[side] && all[side].run.header !== null);
    const shown = SIDES.filter((side, i) => filled.includes(side) || i < (filled.length ? expected : Math.max(2, expected)));
    for (const side of SIDES) {
      if (!all[side]) continue;
      all[side].unused = !shown.includes(side);
      const place = document.getElementById("player-" + side);
      if (place) place.classList.toggle("bv-unused", all[side].unused);
    }
    const shelf = document.querySelector("#compare .bv-pair");
    if (shelf) shelf.dataset.count = shown.length;
    lay(shown.length);
    return shown;
  }

  /** Three or four canvases are to be seen at once: one view under each, or none, unless all are asked for. */
  function lay(count) {
    const many = count > 2;
    const under = many ? chosen || NOTHING : ALL;
    for (const player of bus().players) {
      player.frame.classList.toggle("is-brief", many && under !== ALL);
      for (const { name, mount } of player.cards.all) {
        if (name !== "inspector") mount.classList.toggle("bv-put-away", under !== ALL && name !== under);
      }
    }
    if (bar) {
      bar.hidden = !many;
      bar.querySelector("select").value = under;
    }
    bus().redraw();
  }

  /** Choose what stands under each of more than two canvases: a view by name, "all" or "none". */
  function setUnder(name) {
    const known = name === ALL || name === NOTHING || Object.hasOwn(BlockViz.templates || {}, name || "");
    chosen = known ? name : null;
    refresh();
    return known;
  }

  /** The line above the canvases where that is chosen. */
  function head(root) {
    const { words } = BlockViz.panels.compare;
    bar = root;
    const choose = BlockViz.el("select", { class: "bv-pill", "data-testid": "under", "aria-label": words.under });
    const put = (value, text) => choose.append(BlockViz.el("option", { value, text }));
    put(NOTHING, words.under_nothing);
    for (const [name, view] of Object.entries(BlockViz.templates)) put(name, view.title);
    put(ALL, words.under_all);
    choose.addEventListener("change", () => {
      setUnder(choose.value);
      BlockViz.permalink.note();
    });
    root.classList.add("bv-under");
    root.append(BlockViz.el("span", { text: words.under }), choose);
    refresh();
  }

  /** So many runs are about to come: their sides are shown before their first passes are there; 0 takes that back. */
  function expect(count) {
    expected = Math.min(count, SIDES.length);
    refresh();
  }

  /** Put one to four whole runs, as the text of their lines, into the sides from the left; the other sides become empty.
      A text that is no run is refused by its player in words. Gives back how many sides are shown. */
  function put(texts) {
    if (texts.length < 1 || texts.length > SIDES.length) throw new RangeError(`Compare shows 1 to ${SIDES.length} runs`);
    const all = players();
    SIDES.forEach((side, i) => all[side] && fill(all[side], texts[i] || ""));
    given = true;
    return refresh().length;
  }

  /** An empty text takes the run of a side away. */
  function fill(player, text) {
    if (text || player.bus.name !== GROUP) player.feed(text);
    else player.clear();
  }

  /** Gradio has a text for a player of the page. Sides that were given runs here are emptied for it: Gradio takes them for empty. */
  function fed(player, text) {
    if (given && text && player.bus.name === GROUP) {
      given = false;
      for (const other of bus().players) if (other !== player) other.clear();
    }
    fill(player, text);
    refresh();
  }

  /** Open the tab for runs that were given: its recorded examples are not fetched over them. */
  function show() {
    BlockViz.showTab(GROUP, true);
    refresh();
  }

  BlockViz.compare = { SIDES, players, refresh, expect, put, fed, show, head, setUnder, under: () => chosen };
})();
