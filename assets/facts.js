/* BlockViz.Facts, Legend and Checks: the lines of words around the canvas. Every number is named and says what it measures. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);

  const HELP = {
    pass: "Recorded state changes of this run; pass 0 is the start, before any network call.",
    block: "The block that this pass works on.",
    nfe: "Network calls so far (number of function evaluations): denoising or proposing calls plus autoregressive verifying calls.",
    alpha: "Noise schedule: the share of tokens that is clean before this step → after it.",
    cached: "Tokens whose keys and values are in the cache before this pass.",
    ms: "Time of this pass on the machine that ran it, in milliseconds.",
    rate: "Generated tokens in place (draft or committed; not noise, not after the end token) divided by network calls so far.",
  };

  class Facts {
    constructor(testid) {
      this.node = el("div", { class: "bv-facts", role: "group", "aria-label": "Facts of this pass", "data-testid": testid });
      this.values = {};
      this.facts = [];
      this._fact("pass", ["pass ", "*pass", " / ", "passes"]);
      this._fact("block", ["block ", "*block", " / ", "blocks"]);
      this.chip = el("span", { class: "bv-chip-phase" });
      this.node.append(this.chip);
      this._fact("nfe", ["NFE ", "*nfe", " = ", "denoise", " denoise + ", "verify", " verify"]);
      this._fact("alpha", ["α ", "*alpha_t", " → ", "alpha_s"]);
      this._fact("cached", ["cached ", "*cached"]);
      this._fact("ms", ["*ms", " ms"]);
      this._fact("rate", ["*rate", " tokens / NFE"]);
      this.tag = el("span", { class: "bv-tag" });
      this.node.append(this.tag);
    }

    /** One fact: plain strings are words, known names are values, a star makes the value strong. */
    _fact(name, parts) {
      const node = el("span", { class: "bv-fact", "data-fact": name, title: HELP[name] });
      const known = ["passes", "blocks", "denoise", "verify", "alpha_s"];
      for (const part of parts) {
        const strong = part.startsWith("*");
        if (!strong && !known.includes(part)) {
          node.append(part);
          continue;
        }
        const value = el(strong ? "b" : "span", { class: "bv-value" });
        this.values[strong ? part.slice(1) : part] = value;
        node.append(value);
      }
      this.facts.push(node);
      this.node.append(node);
    }

    /** Reserve the room of the largest numbers, so that the line does not twitch while it plays. */
    load(run) {
      const last = run.passes[run.last];
      const most = run.end ? last.nfe : last.nfe.map((n) => Math.max(88, n));
      const passes = run.end ? run.last : Math.max(100, run.last);
      const blocks = run.blockCount;
      const widest = { pass: passes, passes, block: blocks, blocks, nfe: most[0] + most[1], denoise: most[0], verify: most[1] };
      Object.assign(widest, { alpha_t: "0.88", alpha_s: "0.88", cached: run.length, ms: "88.8", rate: "0.88" });
      const parts = [...this.facts, this.chip];
      for (const part of parts) part.style.minWidth = "";
      for (const [name, text] of Object.entries(widest)) BlockViz.write(this.values[name], String(text));
      BlockViz.write(this.chip, `${BlockViz.WORDS.phase.renoise} · step ${(run.header.settings && run.header.settings.steps) || 8}`);
      const em = parseFloat(getComputedStyle(this.node).fontSize);
      const widths = parts.map((part) => part.getBoundingClientRect().width);
      parts.forEach((part, i) => (part.style.minWidth = (widths[i] / em).toFixed(2) + "em"));
    }

    draw(run, k, tag) {
      const pass = run.passes[k];
      const put = (name, text) => BlockViz.write(this.values[name], text);
      const alpha = (value) => (value === null || value === undefined ? "–" : value.toFixed(2));
      put("pass", String(k));
      put("passes", String(run.last));
      put("block", String((pass.block || 0) + 1));
      put("blocks", String(run.blockCount));
      put("nfe", String(pass.nfe[0] + pass.nfe[1]));
      put("denoise", String(pass.nfe[0]));
      put("verify", String(pass.nfe[1]));
      const pair = pass.alpha || [null, null];
      put("alpha_t", alpha(pair[0]));
      put("alpha_s", alpha(pair[1]));
      put("cached", String(pass.cached));
      put("ms", typeof pass.ms === "number" ? pass.ms.toFixed(pass.ms < 100 ? 1 : 0) : "–");
      const rate = run.tokensPerCall(k);
      put("rate", Number.isNaN(rate) ? "–" : rate.toFixed(rate < 9.995 ? 2 : 1));
      const name = BlockViz.WORDS.phase[pass.phase] || pass.phase;
      const stepped = !["start", "commit", "edit"].includes(pass.phase) && typeof pass.step === "number" && pass.step >= 0;
      BlockViz.write(this.chip, stepped ? `${name} · step ${pass.step + 1}` : name);
      BlockViz.mark(this.chip, "data-phase", pass.phase);
      const help = BlockViz.WORDS.phaseHelp[pass.phase] || "";
      if (this.chip.title !== help) this.chip.title = help;
      BlockViz.write(this.tag, tag);
      BlockViz.mark(this.tag, "data-tag", tag ? tag.split(" ")[0] : null);
    }
  }

  /* What stands for the mask while nothing was written over it. */
  const GLYPHS = { noise: "▒", unopened: "·" };

  class Legend {
    constructor() {
      this.node = el("ul", { class: "bv-legend", "aria-label": "Legend" });
      this._key = "";
    }

    load(run) {
      const settings = run.header.settings || {};
      const masked = run.process === "masked";
      const corrector = settings.corrector || "none";
      const guided = corrector !== "none" && settings.predictor !== "autoregressive";
      const edited = Boolean(run.header.fork);
      const seams = settings.seams !== undefined && settings.seams !== "none" && run.plan.widest < run.length;
      const key = [masked, guided, corrector, settings.predictor, edited, seams].join();
      if (key === this._key) return;
      this._key = key;
      const items = [["prompt", "prompt"], ["unopened", "not opened"]];
      if (settings.predictor !== "autoregressive") items.push(["noise", "noise"]);
      if (guided) items.push(["proposed", "proposed"]);
      items.push(["revealed", "new this pass"]);
      if (settings.predictor !== "autoregressive") items.push(["kept", "draft kept"]);
      if (guided) {
        const words = BlockViz.WORDS.score[corrector] || BlockViz.WORDS.score.none;
        const score = corrector === "random" ? "" : `, ${words.name}${words.unit ? ` in ${words.unit}` : ""}`;
        items.push(["renoised", "re-noised" + score]);
      } else if (edited || seams) items.push(["renoised", "re-noised"]);
      items.push(["committed", "committed"], ["after_end", "after the end"]);
      const story = BlockViz.panels && BlockViz.panels.story;
      if (guided && story && story.verifiers.includes(corrector)) items.push(["other", story.player.legend]);
      this.node.replaceChildren(
        ...items.map(([state, words]) => {
          const sample = el("span", { class: "bv-sample", "data-state": state, "data-glyph": masked && state === "noise" ? "mask" : null, "aria-hidden": "true" });
          sample.append(el("span", { class: "bv-text", text: state === "other" ? "b 97%" : masked && GLYPHS[state] ? GLYPHS[state] : "a" }));
          return el("li", {}, sample, words);
        }),
      );
    }
  }

  class Checks {
    constructor() {
      this.node = el("ol", { class: "bv-checks", "aria-label": "Checked equations", "data-testid": "checks" });
      this._last = null;
    }

    draw(run, k) {
      const checks = run.checks(k);
      if (checks === this._last) return;
      this._last = checks;
      const signs = { right: "✓", wrong: "✗", unfinished: "…" };
      this.node.replaceChildren(
        ...checks.map(([start, stop, verdict, text]) => {
          const pretty = String(text).replace(/ - /g, " − ").replace(/ \* /g, " × ");
          return el(
            "li",
            { "data-verdict": verdict, title: `positions ${start + 1} to ${stop}` },
            el("span", { "aria-hidden": "true", text: signs[verdict] || "" }),
            el("span", { class: "bv-equation", text: pretty }),
            el("span", { class: "bv-verdict", text: verdict }),
          );
        }),
      );
    }
  }

  BlockViz.Facts = Facts;
  BlockViz.Legend = Legend;
  BlockViz.Checks = Checks;
})();
