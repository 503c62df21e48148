/* The bar over the runs of a tab: what is on screen (an example with what it shows, an opened file, a run made here), the gallery,
   Open, Save and Export; and runs dropped on the page. Its words and examples come from Python (blockviz/ui/filebar.py). */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);
  const { fill } = BlockViz.files;
  const NEWS_MS = 4000; // so long a new run on screen leaves words standing
  const bars = {};
  let cover = null;
  const LOST_MS = 10_000; // what is not answered by then never will be
  let serial = 0; // of what was asked for last
  let sent = null; // what the server has not answered yet: { asked, since }
  let next = null; // sends what was asked for meanwhile; of several the last

  class Bar {
    constructor(root, options, emit) {
      root.classList.add("bvf");
      Object.assign(this, { root, options, emit, words: options.words, bus: BlockViz.bus(options.group) });
      const { words, group } = this.options;
      this.opened = ""; // the file that the runs on screen came from
      this.source = ""; // where the next run comes from, when a script puts it there
      this.wanted = null; // what was asked of the server last, until it has answered
      this.said = 0;
      this.title = el("b");
      this.place = el("span", { class: "bvf-place" });
      this.line = el("span", { class: "bvf-line" });
      this.news = el("p", { class: "bvf-news", role: "status", "data-testid": `files-news-${group}`, hidden: true });
      const about = el("div", { class: "bvf-about" }, el("p", {}, this.title, this.place), this.line);
      const examples = this._button("examples", () => this._gallery(), "bvf-strong");
      const steps = el("span", { class: "bvf-steps" }, this._button("previous", () => this._step(-1), "", "‹"), this._button("next", () => this._step(1), "", "›"));
      const chooser = el("input", { type: "file", accept: ".gz,.jsonl,.json", multiple: true, hidden: true, "data-testid": `chooser-${group}` });
      chooser.addEventListener("change", () => {
        this.read([...chooser.files]);
        chooser.value = "";
      });
      const acts = el(
        "div",
        { class: "bvf-acts" },
        this._button("open", () => chooser.click()),
        this._button("save", () => this._save()),
        this._button("export", () => this._export()),
        chooser,
      );
      const left = el("div", { class: "bvf-left" }, examples, steps);
      if (!options.entries.length) left.hidden = true;
      root.append(left, about, acts, this.news);
      this.bus.join(this.bus.transports, this);
    }

    destroy() {}

    _button(name, act, className, sign) {
      const { words } = this;
      const help = words[name + "_help"] || words[name];
      const button = el("button", { type: "button", class: "bv-pill " + (className || ""), text: sign || words[name], title: help });
      if (sign) button.setAttribute("aria-label", words[name]);
      button.dataset.testid = `${name}-${this.options.group}`;
      button.addEventListener("click", act);
      return button;
    }

    /** Words under the bar: what was refused and why, or nothing. */
    say(text) {
      this.said = performance.now();
      this.news.hidden = !text;
      BlockViz.write(this.news, text);
    }

    /* ---- what is on screen ---- */

    _entry() {
      const ids = this.bus.loaded.map((player) => player.run.id).join();
      return this.options.entries.find((entry) => entry.ids.join() === ids) || null;
    }

    /** The bus drew: say what its runs are, when they are others than before. */
    draw() {
      const runs = this.bus.loaded.map((player) => player.run);
      const key = runs.map((run) => `${run.id}${run.end ? "." : ""}`).join();
      if (key === this._key) return;
      const same = this._ids === runs.map((run) => run.id).join();
      this._ids = runs.map((run) => run.id).join();
      this._key = key;
      if (!same) {
        this.opened = this.source || (this.wanted && this.wanted.file) || "";
        this.source = "";
        if (performance.now() - this.said > NEWS_MS) this.say("");
      }
      this._describe(runs);
    }

    _describe(runs) {
      const { words, options } = this;
      const entry = this._entry();
      const number = options.entries.indexOf(entry) + 1;
      BlockViz.write(this.place, entry ? fill(words.example, { number, count: options.entries.length }) : "");
      this.place.title = entry ? entry.chosen : "";
      if (entry) {
        BlockViz.write(this.title, entry.title);
        BlockViz.write(this.line, entry.sentence);
        return;
      }
      const first = runs[0];
      const seed = first ? ` · ${fill(words.seed, { seed: first.header.settings.seed })}` : "";
      const several = fill(words.beside, { count: runs.length });
      BlockViz.write(this.title, !first ? "" : runs.length > 1 ? several : BlockViz.describe(first.header) + seed);
      BlockViz.write(this.line, !first ? "" : this.opened ? fill(words.opened, { file: this.opened }) : words.generated);
    }

    /* ---- examples ---- */

    _gallery() {
      this.gallery = this.gallery || new BlockViz.files.Gallery(this.options, (entry) => this.show(entry));
      const entry = this._entry();
      this.gallery.open(entry && entry.name);
    }

    /** A second press goes on from the example that the first one asked for, though that may not be on screen yet. */
    _step(by) {
      const { entries } = this.options;
      const asked = this.wanted && entries.find((entry) => entry.name === this.wanted.example);
      const now = entries.indexOf(asked || this._entry());
      this.show(entries[now < 0 ? (by > 0 ? 0 : entries.length - 1) : (now + by + entries.length) % entries.length]);
    }

    /** Ask for an example of the gallery; it opens in the tab that holds as many runs. */
    show(entry) {
      if (this._busy()) return;
      this.say("");
      this._ask({ example: entry.name, file: "" });
    }

    _busy() {
      const busy = Object.keys(bars).some((group) => BlockViz.formBusy(group));
      this.say(busy ? this.words.busy : "");
      return busy;
    }

    /** One request at a time is on its way, so that no late answer takes the place of a newer one. */
    _ask(what) {
      const request = { ...what, asked: ++serial };
      for (const bar of Object.values(bars)) bar.wanted = request;
      next = () => {
        sent = { asked: request.asked, since: performance.now() };
        next = null;
        this.emit("open", request);
      };
      if (!sent || performance.now() - sent.since > LOST_MS) next();
    }

    /** The server's answer, which comes with the runs: {asked, runs, file} or {asked, error}. Every bar has it; only that to the
        last request counts. */
    answer(text) {
      if (!text) return;
      const { asked, error, runs, file } = JSON.parse(text);
      const { group } = this.options;
      if (sent && asked === sent.asked) {
        sent = null;
        if (next) next();
      }
      if (asked !== serial) return;
      if (error || (runs > 1) !== (group === "compare")) {
        this.wanted = null;
        if (error && BlockViz.tabNow() === group) this.say(error);
        return;
      }
      if (group === "compare") BlockViz.compare.show();
      else BlockViz.showTab(group);
      requestAnimationFrame(() => requestAnimationFrame(() => this._arrived(asked, file || "")));
    }

    /** The players have their texts by now, but for those that the server gave them before. */
    _arrived(asked, file) {
      BlockViz.showGiven(this.options.group);
      if (this.wanted && this.wanted.asked === asked) this.wanted = null;
      this.draw(); // the runs are known now, and where they come from holds for them
      this.opened = file;
      this._describe(this.bus.loaded.map((player) => player.run));
      BlockViz.formFollows(this.options.group);
    }

    /* ---- files ---- */

    /** Read chosen or dropped files, all or none. */
    async read(files) {
      if (!files.length || this._busy()) return;
      const tokens = [];
      for (const file of files) {
        this.say(fill(this.words.reading, { file: file.name }));
        const found = await BlockViz.files.read(file, this.options);
        if (found.error) return this.say(found.error);
        tokens.push(found.token);
      }
      this.say("");
      this._ask({ tokens, file: files.map((file) => file.name).join(", ") });
    }

    async _save() {
      const runs = BlockViz.files.onScreen(this.options.group);
      if (!runs.length) return this.say(this.words.no_run);
      const { name, size } = await BlockViz.files.save(runs);
      this.say(fill(this.words.done, { file: name, size: BlockViz.files.sizeWords(size) }));
    }

    _export() {
      const group = this.options.group;
      if (!BlockViz.files.onScreen(group).length) return this.say(this.words.no_run);
      this.say("");
      this.exporter = this.exporter || new BlockViz.files.Exporter(this.options, () => BlockViz.files.onScreen(group));
      this.exporter.open();
    }
  }

  /* ---- dropping files anywhere on the page ---- */

  const holdsFiles = (event) => Boolean(event.dataTransfer) && [...event.dataTransfer.types].includes("Files");
  const barNow = () => bars[BlockViz.tabNow()] || bars.explore;

  function covered(on) {
    if (on && !cover) {
      cover = el("div", { class: "bvf-drop", "aria-hidden": "true" }, el("p", { text: barNow().words.drop }));
      document.body.append(cover);
    } else if (!on && cover) {
      cover.remove();
      cover = null;
    }
  }

  function listen() {
    window.addEventListener("dragover", (event) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
      covered(true);
    });
    window.addEventListener("dragleave", (event) => event.relatedTarget === null && covered(false));
    window.addEventListener("drop", (event) => {
      covered(false);
      if (!holdsFiles(event)) return;
      event.preventDefault();
      barNow().read([...event.dataTransfer.files]);
    });
  }

  /** The examples on screen in a tab make room for the first ones of a task; runs that are somebody's own stay. */
  BlockViz.files.showTask = function (group, task) {
    const bar = bars[group];
    if (!bar || (bar.bus.loaded.length && !bar._entry())) return;
    const several = group === "compare";
    const entry = bar.options.entries.find((one) => one.task === task && one.runs.length > 1 === several);
    if (entry) bar.show(entry);
  };

  /** A run is about to be put into a tab by a script: where it comes from, for the bar that describes it. */
  BlockViz.files.comesFrom = function (group, place) {
    const bar = bars[group];
    if (bar) Object.assign(bar, { source: place, _key: null, _ids: null }); // even where it is the run that is there
  };

  BlockViz.parts.files = function (root, options, emit) {
    if (!Object.keys(bars).length) listen();
    const bar = new Bar(root, options, emit);
    bars[options.group] = bar;
    return { feed: (text) => bar.answer(text) };
  };
})();
