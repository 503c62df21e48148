/* Numbers and tokens inside sentences, rounded as blockviz/views/numbers.py does. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const LONGEST_PIECE = 14;

  const half = (value, scale) => Math.floor(Math.abs(value) * scale + 0.5) / scale;

  /** So many decimals, rounded half up, with a true minus sign. */
  function fixed(value, digits) {
    const text = half(value, 10 ** digits).toFixed(digits);
    return value < 0 && Number(text) !== 0 ? "−" + text : text;
  }

  BlockViz.numbers = {
    fixed,
    /** A score in a sentence: one decimal, three where it would read 0.0. */
    brief: (value) => fixed(value, value !== 0 && Math.abs(value) < 0.05 ? 3 : 1),
    /** A score to compare with others: two decimals, three (as many as are recorded) where it is small. */
    close: (value) => fixed(value, value !== 0 && Math.abs(value) < 0.1 ? 3 : 2),
    percent(p) {
      const tenths = Math.floor(p * 1000 + 0.5);
      return tenths === 0 && p > 0 ? "<0.1%" : (tenths / 10).toFixed(1) + "%";
    },
    count: (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`,
    quoted(piece) {
      const letters = Array.from(piece);
      if (letters.length <= LONGEST_PIECE) return `“${BlockViz.isolated(piece)}”`;
      const start = letters.slice(0, LONGEST_PIECE - 1).join("");
      return BlockViz.isolated(start) === start ? `“${start}…”` : `“${BlockViz.isolated(start + "…")}”`;
    },
    /** Fill "{name}" in words; what is filled in is never looked at again. */
    fill: (words, values) => words.replace(/\{(\w+)\}/g, (all, name) => (name in values ? values[name] : all)),
  };
})();
