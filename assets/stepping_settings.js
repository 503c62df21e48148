/* BlockViz.steppingSettings: which settings of the form an edit would take over, and what the panel says of that. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const N = BlockViz.numbers;

  /** Every setting of a run: its header leaves out later ones that are at their defaults. */
  const settingsOf = (run) => ({ ...BlockViz.defaults, ...run.header.settings });

  /** What the form reads differently from the run: {changed, kept, model}. `at` is the pass after which the edit comes, `changeable`
      what may change in the middle of a run. */
  function taken(read, run, at, changeable) {
    const found = { changed: {}, kept: [], model: "" };
    const mine = settingsOf(run);
    if (read.model && read.model !== run.header.model.name) found.model = run.header.model.name;
    for (const [name, value] of Object.entries({ ...read.settings, seed: read.seed })) {
      if (!(name in mine) || value === mine[name] || (name === "length" && value === null)) continue;
      const free = at === 0 ? name !== "length" : changeable.includes(name);
      if (free) found.changed[name] = value;
      else found.kept.push(name);
    }
    return found;
  }

  /** That as sentences. */
  function told({ changed, kept, model }, run, at, words, labels) {
    const mine = settingsOf(run);
    const show = (value) => (value === true ? "on" : value === false ? "off" : String(value));
    const label = (name) => labels[name] || name;
    const names = Object.keys(changed);
    const changes = names.map((name) => N.fill(words.change, { name: label(name), old: show(mine[name]), new: show(changed[name]) })).join(", ");
    const parts = [names.length ? N.fill(words.settings_from, { changes }) : words.settings_none];
    if (at > 0 && (names.includes("steps") || names.includes("schedule"))) parts.push(words.settings_block);
    if (kept.length) parts.push(N.fill(words.settings_kept, { names: kept.map(label).join(", ") }));
    if (model) parts.push(N.fill(words.model_kept, { name: model }));
    return parts.join(" ");
  }

  BlockViz.steppingSettings = { taken, told };
})();
