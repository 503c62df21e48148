/* The Learn tab: a chapter's text, the real player on its recorded run, one control, one question. Chapters and runs are fetched when
   they are opened (blockviz/ui/learn), so that the tab costs nothing until then; it needs no model. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);

  const GLOSSARY = "glossary";
  let serial = 0;

  /** Words with their glossary terms: [[text, term], ...] as nodes. */
  const worded = (segments) => segments.map(([text, term]) => (term ? BlockViz.glossary.word(text, term) : text));

  class Learn {
    /** `options`: chapters, runs (addresses by name), words, address (of a chapter, before its name). */
    constructor(root, options) {
      this.root = root;
      this.options = options;
      this.words = options.words;
      this.name = options.chapters[0].name;
      this.option = -1; // the chapter's own
      this.chapter = null;
      this.player = null;
      this._kept = new Map();
      this._asked = 0;
      this._make();
    }

    _make() {
      const { words, options } = this;
      this.steps = el("ol", { class: "bvl-steps" });
      this.buttons = new Map();
      const entries = [...options.chapters, { name: GLOSSARY, short: words.glossary }];
      entries.forEach(({ name, short }, i) => {
        const number = name === GLOSSARY ? null : el("span", { class: "bvl-number", text: String(i + 1) });
        const button = el("button", { type: "button", "data-testid": "chapter-" + name }, number, el("span", { text: short }));
        button.addEventListener("click", () => this.show(name));
        this.buttons.set(name, button);
        this.steps.append(el("li", {}, button));
      });
      const print = el("button", { type: "button", class: "bv-pill bvl-print", "data-testid": "print", text: words.print });
      print.addEventListener("click", () => BlockViz.printLearn(this, print));
      this.nav = el("nav", { class: "bvl-nav", "aria-label": words.chapters }, this.steps, print);
      this.body = el("div", { class: "bvl-body" });
      this.root.classList.add("bvl");
      this.root.append(this.nav, this.body);
    }

    /** The tab was opened: show the chapter that was asked for, or the first. */
    open() {
      if (!this.chapter) this.show(this.name, this.option);
    }

    /** Fetch a text once and keep it while the page is open. */
    fetch(address) {
      if (!this._kept.has(address)) {
        const text = fetch(address).then((answer) => {
          if (!answer.ok) throw new Error(String(answer.status));
          return answer.text();
        });
        text.catch(() => this._kept.delete(address));
        this._kept.set(address, text);
      }
      return this._kept.get(address);
    }

    async load(name) {
      return JSON.parse(await this.fetch(this.options.address + name));
    }

    async show(name, option) {
      const turn = ++this._asked;
      const moved = this.chapter !== null || this._on === GLOSSARY;
      this.name = name;
      for (const [other, button] of this.buttons) BlockViz.mark(button, "aria-current", other === name ? "step" : null);
      const current = this.buttons.get(name);
      this.steps.scrollTo({ left: current.offsetLeft - this.steps.clientWidth / 2 + current.clientWidth / 2 });
      BlockViz.glossary.hide();
      if (name === GLOSSARY) this._drawGlossary();
      else {
        let chapter;
        try {
          chapter = await this.load(name);
        } catch (problem) {
          if (turn === this._asked) this._lost(name, option);
          return;
        }
        if (turn !== this._asked) return;
        this.chapter = chapter;
        this._draw();
        this.pick(option >= 0 && option < chapter.control.options.length ? option : chapter.control.chosen);
      }
      this._on = name;
      if (moved) this.heading.focus({ preventScroll: true });
      if (moved && this.root.getBoundingClientRect().top < 0) this.root.scrollIntoView({ block: "start" });
      BlockViz.permalink.note();
    }

    _lost(name, option) {
      const again = el("button", { type: "button", class: "bv-pill", text: this.words.again });
      again.addEventListener("click", () => this.show(name, option));
      this.body.replaceChildren(el("div", { class: "bvl-lost", role: "alert" }, el("p", { text: this.words.lost }), again));
    }

    /** The words of a chapter, also for print: {article, question}. */
    text(chapter) {
      const { words, options } = this;
      const index = options.chapters.findIndex((entry) => entry.name === chapter.name);
      const heading = el("h2", { tabindex: -1, "data-testid": "chapter-title", text: chapter.title });
      const count = BlockViz.numbers.fill(words.chapter, { number: index + 1, count: options.chapters.length });
      const article = el("div", { class: "bvl-text", "data-testid": "chapter-text" }, el("p", { class: "bvl-count", text: count }), heading);
      const parts = [chapter.sentences.slice(0, chapter.paragraph), chapter.sentences.slice(chapter.paragraph)];
      for (const sentences of parts) {
        const paragraph = el("p");
        for (const sentence of sentences) paragraph.append(el("span", { class: "bvl-sentence" }, ...worded(sentence)), " ");
        if (sentences.length) article.append(paragraph);
      }
      return { article, heading };
    }

    _draw() {
      const { words, chapter } = this;
      const { article, heading } = this.text(chapter);
      this.heading = heading;
      this.told = el("p", { class: "bvl-told", "data-testid": "told", role: "status" });
      this.count = el("span", { class: "bvl-outline-count", "data-testid": "outlined" });
      const sample = el("span", { class: "bvl-sample", "aria-hidden": "true" });
      this.which = el("span");
      const legend = el("p", { class: "bvl-outline" }, sample, el("b", { text: words.outlined }), " ", this.which, " ", this.count);
      const turn = el("section", { class: "bvl-turn", "aria-label": chapter.control.label }, this._control(), this.told, legend);
      const stage = el("div", { class: "bvl-stage bv-card" });
      const place = el("div", { class: "bv-player" });
      stage.append(place);
      this.body.className = "bvl-body is-chapter";
      this.body.replaceChildren(article, turn, this._question(), stage, this._foot());
      this.player = BlockViz.Player(place, { group: "learn", suffix: "-learn", views: chapter.views, empty: words.loading });
      BlockViz.awaitViews(this.player, this.options.plotly);
      this.outline = new BlockViz.Outline(this.player, (n) => {
        const text = n ? `(${BlockViz.numbers.count(n, words.positions)})` : `(${words.none_outlined})`;
        BlockViz.write(this.count, text);
      });
    }

    _control() {
      const { control } = this.chapter;
      const group = "bvl-control-" + ++serial;
      const set = el("fieldset", { class: "bvc-segments", "data-testid": "control" });
      set.setAttribute("aria-label", control.label);
      this.radios = control.options.map(({ label }, i) => {
        const radio = el("input", { type: "radio", name: group, value: i, "data-testid": "option-" + i });
        radio.addEventListener("change", () => this.pick(i));
        set.append(el("label", {}, radio, el("span", { text: label })));
        return radio;
      });
      return el(
        "div",
        { class: "bvc-field bvl-control" },
        el("span", { class: "bvl-label", text: control.label }),
        set,
        el("p", { class: "bvc-help", text: control.help }),
      );
    }

    _question() {
      const { words, chapter } = this;
      const id = "bvl-answer-" + ++serial;
      this.answer = el("p", { class: "bvl-answer", id, "data-testid": "answer", role: "status", hidden: true }, ...worded(chapter.answer));
      this.asker = el("button", { type: "button", class: "bvl-ask", "aria-expanded": "false", "aria-controls": id, "data-testid": "ask", text: words.show });
      this.asker.addEventListener("click", () => this._reveal(this.answer.hidden));
      return el(
        "section",
        { class: "bvl-question", "aria-label": words.ask },
        el("h3", { text: words.ask }),
        el("p", { "data-testid": "question" }, ...worded(chapter.question)),
        this.asker,
        this.answer,
      );
    }

    _foot() {
      const { words, chapter, options } = this;
      const index = options.chapters.findIndex((entry) => entry.name === chapter.name);
      const explore = el("button", { type: "button", class: "bv-pill", title: words.explore_help, "data-testid": "open-in-explore", text: words.explore });
      explore.addEventListener("click", () => this._explore());
      const step = (entry, text, hook) => {
        const button = el("button", { type: "button", class: "bv-pill", "data-testid": hook, text, title: entry ? entry.title : "", disabled: !entry });
        if (entry) button.addEventListener("click", () => this.show(entry.name));
        return button;
      };
      const last = { name: GLOSSARY, title: words.glossary };
      const sources = el("ul", { class: "bvl-sources", "aria-label": words.sources, "data-testid": "sources" });
      for (const text of chapter.sources) sources.append(el("li", { text }));
      // Not a footer: Gradio's own is hidden by its tag.
      return el(
        "div",
        { class: "bvl-foot" },
        el(
          "div",
          { class: "bvl-moves" },
          step(options.chapters[index - 1], "← " + words.previous, "previous"),
          explore,
          step(options.chapters[index + 1] || last, words.next + " →", "next"),
        ),
        sources,
      );
    }

    /** Show the run of an option at its pass, or at `shown` ({pass, listed}) where the answer is. */
    async pick(i, shown) {
      const turn = ++this._asked;
      const { chapter } = this;
      const option = chapter.control.options[i];
      this.option = i;
      this.radios[i].checked = true;
      BlockViz.write(this.told, option.told);
      const address = this.options.runs[option.run];
      let text = "";
      try {
        text = address ? await this.fetch(address) : "";
      } catch (problem) {
        text = "";
      }
      if (turn !== this._asked) return;
      if (!text) {
        BlockViz.write(this.told, this.words.no_run);
        return;
      }
      this.player.feed(text);
      this._mark(shown && shown.listed ? shown.listed : null);
      this.player.bus.seek(shown ? shown.pass : option.pass);
      BlockViz.glossary.soon(this.player.root);
      BlockViz.permalink.note();
    }

    _reveal(on) {
      this.answer.hidden = !on;
      this.asker.setAttribute("aria-expanded", String(on));
      this.asker.textContent = on ? this.words.hide : this.words.show;
      if (on) this.pick(this.chapter.shown.option, this.chapter.shown);
      else this._mark(null);
    }

    /** Outline the positions of an answer, or what the chapter is about. */
    _mark(listed) {
      const { outline, control } = this.chapter;
      BlockViz.write(this.which, listed ? this.words.in_question : outline.words);
      if (listed) this.outline.set("listed", listed);
      else this.outline.set(outline.rule, control.options[this.option].listed);
    }

    async _explore() {
      const { chapter } = this;
      const text = await this.fetch(this.options.runs[chapter.control.options[this.option].run]);
      const pass = this.player.bus.pass;
      const say = (words) => BlockViz.numbers.fill(words, { title: chapter.title });
      BlockViz.openInExplore(text, pass, say(this.words.place), say(this.words.opened));
    }

    _drawGlossary() {
      const { words, options } = this;
      const titles = new Map(options.chapters.map((entry) => [entry.name, entry.title]));
      this.chapter = null;
      this.heading = el("h2", { tabindex: -1, "data-testid": "chapter-title", text: words.glossary });
      const list = el("dl", { class: "bvl-terms", "data-testid": "glossary" });
      for (const term of BlockViz.terms || []) {
        const meaning = el("dd", {}, term.text);
        if (titles.has(term.chapter)) {
          const text = BlockViz.numbers.fill(words.in_chapter, { title: titles.get(term.chapter) });
          const link = el("button", { type: "button", class: "bvl-link", text });
          link.addEventListener("click", () => this.show(term.chapter));
          meaning.append(" ", link);
        }
        list.append(el("div", {}, el("dt", { text: term.name }), meaning));
      }
      this.body.className = "bvl-body";
      this.body.replaceChildren(el("div", { class: "bvl-text" }, this.heading, el("p", { text: words.glossary_help }), list));
    }

    /* ---- what the address holds ---- */

    read() {
      const own = this.chapter && this.option === this.chapter.control.chosen;
      return this.option < 0 || own ? { chapter: this.name } : { chapter: this.name, option: this.option };
    }

    /** Take what an address asks for; gives back [name, value] of what means nothing here. */
    write(texts) {
      const refused = [];
      for (const [name, text] of Object.entries(texts)) {
        if (name === "chapter" && this.buttons.has(text)) this.name = text;
        else if (name === "option" && /^\d$/.test(text)) this.option = Number(text);
        else refused.push([name, text]);
      }
      return refused;
    }
  }

  BlockViz.Learn = Learn;
})();
