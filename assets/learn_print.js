/* BlockViz.printLearn: all chapters of Learn as pages of paper. Each has its text, the canvas as it stands at the pass in question (drawn
   once, without a player), the question and its answer. They are made when they are asked for, and taken away after printing. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);

  const PAPER_PX = 680; // the width that is printed on A4
  let pages = null;

  /** What a drawing on paper must not have: hooks, roles of things to press, places in the tab order. */
  function still(root) {
    for (const node of root.querySelectorAll("*")) {
      for (const name of ["data-testid", "tabindex", "id", "title", "aria-describedby"]) node.removeAttribute(name);
      if (node.getAttribute("role") === "button") node.removeAttribute("role");
    }
  }

  function picture(run, k, outlined) {
    const inner = el("div", { class: "bv-canvas" });
    const box = el("div", { class: "bv-frame" }, inner);
    const canvas = new BlockViz.Canvas(inner, {});
    const legend = new BlockViz.Legend();
    inner.append(legend.node);
    return {
      box,
      draw() {
        canvas.load(run);
        canvas.draw(k);
        legend.load(run);
        for (const pos of outlined) canvas.cells[pos].node.classList.add("is-outlined");
        canvas.destroy();
      },
    };
  }

  async function chapterPage(learn, name, pictures) {
    const { words, options } = learn;
    const chapter = await learn.load(name);
    const { shown, control, outline } = chapter;
    const option = control.options[control.chosen];
    const address = options.runs[option.run];
    const { article } = learn.text(chapter);
    const page = el("section", { class: "bvl-page" }, article);
    if (address) {
      const run = new BlockViz.Run();
      run.feed(await learn.fetch(address));
      const inQuestion = shown.option === control.chosen;
      const k = inQuestion ? shown.pass : option.pass;
      const rule = inQuestion && shown.listed ? "listed" : outline.rule;
      const listed = inQuestion && shown.listed ? shown.listed : option.listed;
      const drawing = picture(run, k, BlockViz.outlined(rule, run, k, listed));
      const lines = [`${control.label}: ${option.label}`, `${BlockViz.WORDS.phase[run.passes[k].phase]}, pass ${k} of ${run.last}`];
      page.append(
        el("p", { class: "bvl-caption", text: `${lines.join(" · ")}. ${option.told}` }),
        drawing.box,
        el("p", { class: "bvl-caption" }, el("span", { class: "bvl-sample" }), el("b", { text: words.outlined }), ` ${outline.words}`),
      );
      pictures.push(drawing);
    }
    const told = (segments) => segments.map(([text]) => text).join("");
    page.append(
      el("p", { class: "bvl-page-question" }, el("b", { text: words.ask + ": " }), told(chapter.question)),
      el("p", {}, told(chapter.answer)),
      el("p", { class: "bvl-caption", text: chapter.sources.join(" · ") }),
    );
    return page;
  }

  function glossaryPage(learn) {
    const list = el("dl");
    for (const { name, text } of BlockViz.terms || []) list.append(el("div", {}, el("dt", { text: name }), el("dd", { text })));
    return el("section", { class: "bvl-page" }, el("h2", { text: learn.words.glossary }), list);
  }

  function away() {
    if (pages) pages.remove();
    pages = null;
    document.body.classList.remove("bv-printing");
  }

  /** Make the pages and open the browser's print dialog; resolves once they stand. */
  async function printLearn(learn, button) {
    const { words, options } = learn;
    button.disabled = true;
    button.textContent = words.printing;
    away();
    const made = el("div", { class: "bvl bvl-pages", "data-testid": "pages", "aria-hidden": "true" });
    made.style.width = PAPER_PX + "px";
    const pictures = [];
    try {
      for (const { name } of options.chapters) made.append(await chapterPage(learn, name, pictures));
      made.append(glossaryPage(learn));
      document.body.append(made);
      for (const drawing of pictures) drawing.draw();
      still(made);
      pages = made;
      document.body.classList.add("bv-printing");
    } catch (problem) {
      made.remove();
    }
    button.disabled = false;
    button.textContent = pages ? words.print : words.lost;
    if (pages) window.print();
  }

  window.addEventListener("afterprint", away);

  BlockViz.printLearn = printLearn;
})();
