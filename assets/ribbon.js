/* BlockViz.Ribbon: a strip over the canvas positions: what the KV cache holds, in pages of one block, and what this pass computes.
   The twin of blockviz/views/ribbon.py, with its words. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);
  const { fill } = BlockViz.viewTools;

  const CALLS = new Set(["denoise", "propose", "verify"]);
  const NARROWEST_PAGE = 5; // pixels under which the lines between pages would hide what is between them
  const SPANS = ["cached", "carried", "finished", "active", "proposal", "noise"];
  const PLACES = ["cached", "clean", "window", "calls"];

  /** The spans of the strip in tokens, and the counts, for pass k. */
  function facts(run, k) {
    const pass = run.passes[k];
    const [start, stop] = pass.win;
    const call = CALLS.has(pass.phase);
    const verify = pass.phase === "verify";
    const plan = run.plan;
    const model = run.header.model || {};
    const recomputed = !plan.caches;
    const element = model.kv_bytes === undefined ? 4 : model.kv_bytes; // format 1 does not say: float32
    const bytes = (length) => 2 * model.layers * model.heads * model.head_dim * length * element;
    const carried = call ? pass.clean : 0;
    const canvas = plan.seesCanvas && !verify;
    const queries = !call ? 0 : canvas ? run.length : carried + (stop - start) * (verify ? 2 : 1);
    const kept = stop === run.length ? stop : stop - plan.overlap; // before the drafts that the next window writes again
    return {
      cached: pass.cached,
      carried,
      finished: pass.phase === "commit" && !recomputed ? kept - pass.cached : 0,
      start,
      stop,
      verify,
      recomputed,
      whole: recomputed && plan.onCanvas,
      queries,
      keys: call ? pass.cached + queries : 0,
      pageSize: run.blockSize,
      pages: Math.ceil(pass.cached / run.blockSize),
      bytes: bytes(pass.cached),
      added: recomputed ? 0 : bytes(carried),
    };
  }

  /** A number of bytes as people read it. */
  function sizeWords(count) {
    if (!Number.isFinite(count)) return "–";
    if (count < 1024) return `${count} B`;
    const [size, unit] = count < 1048576 ? [count / 1024, "KiB"] : [count / 1048576, "MiB"];
    return `${(Math.floor(size * 10 + 0.5) / 10).toFixed(1)} ${unit}`;
  }

  /** The words of the strip by the place they stand at. */
  function parts(now, words) {
    const size = now.pages === 1 ? words.page : fill(words.page_count, { count: now.pages });
    const pages = fill(words.pages, { pages: size, size: now.pageSize, bytes: sizeWords(now.bytes) });
    let clean = "";
    if (now.carried) clean = fill(now.recomputed ? words.recomputed : words.carried, { count: now.carried, bytes: sizeWords(now.added) });
    else if (now.finished) clean = fill(words.finished, { count: now.finished });
    const named = (count, one, many) => (count === 1 ? one : many);
    const calls = now.queries
      ? fill(words.calls, {
          queries: now.queries,
          queries_word: named(now.queries, words.query, words.queries),
          keys: now.keys,
          keys_word: named(now.keys, words.key, words.keys),
        })
      : words.idle;
    return {
      cached: now.recomputed ? (now.whole ? words.off_canvas : words.off) : `${fill(words.cached, { count: now.cached })} (${pages})`,
      clean,
      window: now.queries ? fill(now.verify ? words.proposal : words.active, { count: now.stop - now.start }) : "",
      calls,
    };
  }

  class Ribbon {
    constructor(suffix) {
      this.node = el("div", { class: "bv-ribbon", role: "group", "data-testid": "ribbon" + (suffix || ""), hidden: true });
      this.title = el("b", { class: "bv-ribbon-title" });
      this.bar = el("div", { class: "bv-ribbon-bar", "aria-hidden": "true" });
      this.spans = {};
      for (const name of SPANS) {
        this.spans[name] = el("i", { "data-span": name });
        this.bar.append(this.spans[name]);
      }
      this.pages = el("div", { class: "bv-ribbon-pages" });
      this.bar.append(this.pages);
      this.words = el("div", { class: "bv-ribbon-words" });
      this.places = {};
      for (const name of PLACES) {
        this.places[name] = { node: el("span", { "data-place": name }), text: el("span", {}) };
        this.places[name].node.append(this.places[name].text);
        this.words.append(this.places[name].node);
      }
      this.node.append(this.title, this.bar, this.words);
      this._watch = new ResizeObserver(() => this._lines());
      this._watch.observe(this.bar);
    }

    destroy() {
      this._watch.disconnect();
    }

    /** The words and colours come with the templates of the views; without them there is no ribbon. */
    load(run) {
      const template = ((BlockViz.templates || {}).attention || {}).ribbon;
      this.node.hidden = !template;
      if (!template) return;
      this.template = template;
      this.run = run;
      BlockViz.write(this.title, template.words.title);
      this.node.setAttribute("aria-label", template.words.title);
      this.title.title = template.words.help;
      for (const [name, themes] of Object.entries(template.colors)) {
        this.node.style.setProperty(`--bv-ribbon-${name}-light`, themes.light);
        this.node.style.setProperty(`--bv-ribbon-${name}-dark`, themes.dark);
      }
      this._lines();
    }

    /** Lines between the pages, where there is room for them. */
    _lines() {
      if (!this.run || !this.run.length) return;
      const share = this.run.blockSize / this.run.length;
      const wide = this.bar.clientWidth * share >= NARROWEST_PAGE && share < 1;
      this.pages.style.setProperty("--bv-page", wide ? `${100 * share}%` : "100%");
    }

    draw(run, k) {
      if (this.node.hidden || !run.passes[k]) return;
      const { words } = this.template;
      const now = facts(run, k);
      const percent = (count) => `${(100 * count) / run.length}%`;
      const put = (name, from, count) => {
        const span = this.spans[name];
        span.style.left = percent(from);
        span.style.width = percent(count);
      };
      const window = now.queries ? now.stop - now.start : 0;
      put("cached", 0, now.cached);
      put("carried", now.cached, now.carried);
      put("finished", now.cached, now.finished);
      put("active", now.start, now.verify ? 0 : window);
      put("proposal", now.start, now.verify ? window : 0);
      put("noise", now.start, now.verify ? window : 0);
      BlockViz.mark(this.node, "data-recomputed", now.recomputed);
      const texts = parts(now, words);
      const kinds = { cached: now.recomputed ? null : "cached", clean: now.finished ? "finished" : "carried", window: now.verify ? "proposal" : "active", calls: null };
      const tips = { cached: now.recomputed ? "" : words.tips.cached, clean: now.finished ? words.tips.finished : now.recomputed ? words.tips.recomputed : words.tips.carried, window: words.tips[now.verify ? "proposal" : "active"], calls: words.tips.calls };
      for (const name of PLACES) {
        const { node, text } = this.places[name];
        BlockViz.write(text, texts[name]);
        BlockViz.mark(node, "data-kind", texts[name] ? kinds[name] : null);
        if (node.title !== tips[name]) node.title = tips[name];
      }
    }
  }

  BlockViz.Ribbon = Ribbon;
  Object.assign(Ribbon, { facts, parts, sizeWords });
})();
