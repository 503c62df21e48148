/* BlockViz.glossary: what a word of the page means, shown beside it when it is pointed at, focused or tapped. Words in the texts of
   Learn are marked there; those in labels are found here. The list comes from Python (blockviz/ui/learn/glossary.py). */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);

  /* Labels that may hold a term, and the part of the page in which a term is marked once. */
  const LABELS = [
    ".bvc-label > span, .bvc-label:not(:has(*))",
    ".bv-fact",
    ".bv-view-title",
    ".bv-legend li",
    ".bv-result th",
  ].join(", ");
  const REGIONS = ".bvc, .bv-facts, .bv-legend, .bv-views, .bv-result";
  const WAIT_MS = 180; // a pointer that only passes by opens nothing
  const LEAVE_MS = 250; // time to reach the box with the pointer
  const IDLE_MS = 300;

  let byForm = null;
  let byName = null;
  let pattern = null;
  let tip = null;
  let shown = null; // the word whose box is open
  let held = false; // opened by a press: stays until it is dismissed
  let timer = 0;
  let marking = 0;
  const waiting = new Set();

  function learnTerms() {
    if (byName) return;
    byName = new Map();
    byForm = new Map();
    for (const term of BlockViz.terms || []) {
      byName.set(term.name, term);
      for (const form of term.forms) byForm.set(form, term);
    }
    const escaped = [...byForm.keys()].sort((a, b) => b.length - a.length).map((form) => form.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    pattern = escaped.length ? new RegExp(`(?<![\\p{L}\\p{N}])(?:${escaped.join("|")})(?![\\p{L}\\p{N}])`, "iu") : null;
  }

  /** A word that explains itself, or plain text where the glossary does not have it. */
  function word(text, name) {
    learnTerms();
    if (!byName.has(name)) return document.createTextNode(text);
    return el("span", { class: "bv-term", tabindex: 0, role: "button", "data-term": name, title: "", text });
  }

  /** Wrap the first term in a label's own words; nothing else of the label changes. */
  function markLabel(label) {
    if (label.querySelector(".bv-term")) return;
    const region = label.closest(REGIONS);
    for (const node of label.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE) continue;
      const found = pattern.exec(node.data);
      if (!found) continue;
      const term = byForm.get(found[0].toLowerCase());
      if (region && region.querySelector(`.bv-term[data-term="${CSS.escape(term.name)}"]`)) continue;
      // One element for all of it: in a flexible line each would be an item of its own.
      const all = el("span");
      node.replaceWith(all);
      all.append(node.data.slice(0, found.index), word(found[0], term.name), node.data.slice(found.index + found[0].length));
      return;
    }
  }

  function mark(root) {
    learnTerms();
    if (!pattern) return;
    for (const label of root.querySelectorAll(LABELS)) markLabel(label);
  }

  /** Mark the words under `root` once the page has time for it. */
  function soon(root) {
    waiting.add(root);
    if (marking) return;
    const later = window.requestIdleCallback || setTimeout;
    marking = setTimeout(
      () =>
        later(() => {
          marking = 0;
          for (const one of waiting) if (one.isConnected) mark(one);
          waiting.clear();
        }),
      IDLE_MS,
    );
  }

  /* ---- the box ---- */

  function makeTip() {
    tip = el("div", { class: "bv-gloss", role: "tooltip", id: "bv-gloss", "data-testid": "gloss", hidden: true });
    tip.addEventListener("pointerenter", () => clearTimeout(timer));
    tip.addEventListener("pointerleave", () => !held && hideSoon());
    document.body.append(tip);
  }

  function show(node) {
    learnTerms();
    const term = byName.get(node.dataset.term);
    if (!term) return;
    if (!tip || !tip.isConnected) makeTip();
    clearTimeout(timer);
    if (shown && shown !== node) shown.removeAttribute("aria-describedby");
    shown = node;
    tip.replaceChildren(el("b", { text: term.name }), el("span", { text: term.text }));
    tip.hidden = false;
    node.setAttribute("aria-describedby", tip.id);
    place(node);
  }

  function place(node) {
    const at = node.getBoundingClientRect();
    const box = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left, window.innerWidth - box.width - 8));
    const below = at.bottom + 6;
    const top = below + box.height > window.innerHeight - 8 && at.top > box.height + 12 ? at.top - box.height - 6 : below;
    tip.style.left = Math.round(left) + "px";
    tip.style.top = Math.round(top) + "px";
  }

  function hide() {
    clearTimeout(timer);
    held = false;
    if (shown) shown.removeAttribute("aria-describedby");
    shown = null;
    if (tip) tip.hidden = true;
  }

  function hideSoon() {
    clearTimeout(timer);
    timer = setTimeout(hide, LEAVE_MS);
  }

  const termOf = (event) => (event.target instanceof Element ? event.target.closest(".bv-term") : null);

  document.addEventListener("pointerover", (event) => {
    const node = termOf(event);
    if (!node || event.pointerType === "touch" || node === shown) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      held = false;
      show(node);
    }, WAIT_MS);
  });
  document.addEventListener("pointerout", (event) => {
    if (termOf(event) && !held) hideSoon();
  });
  document.addEventListener("focusin", (event) => {
    const node = termOf(event);
    if (node && node.matches(":focus-visible")) show(node);
  });
  document.addEventListener("focusout", (event) => {
    if (shown && termOf(event) === shown) hide();
  });
  document.addEventListener("click", (event) => {
    const node = termOf(event);
    if (!node) return;
    event.preventDefault(); // inside a label it would press the field
    if (held && node === shown) return hide();
    show(node);
    held = true;
  });
  document.addEventListener("pointerdown", (event) => {
    if (shown && termOf(event) !== shown && !(tip && tip.contains(event.target))) hide();
  });
  document.addEventListener("keydown", (event) => {
    const node = termOf(event);
    if (node && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      event.stopPropagation();
      if (held && node === shown) hide();
      else {
        show(node);
        held = true;
      }
    } else if (event.key === "Escape" && shown) {
      event.preventDefault();
      event.stopPropagation();
      hide();
    }
  }, true);
  document.addEventListener("scroll", () => shown && place(shown), { capture: true, passive: true });

  BlockViz.glossary = { word, mark, soon, hide };
})();
