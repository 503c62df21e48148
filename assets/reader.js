/* BlockViz.Reader: the canvas as plain text for those who do not see it, block by block. It is written when the run rests, never
   while it plays, and it announces nothing: the passes have their own announcements. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);

  const REST_MS = 400;
  const count = (n, one, many) => `${n} ${n === 1 ? one : many}`;

  /** Tokens as words: pieces that carry their own spaces are put together, others stand apart. */
  function words(run, ids) {
    const pieces = ids.map((id) => run.piece(id));
    if (!pieces.some((piece) => piece.includes("␣"))) return pieces.join(" ");
    return pieces.join("").replace(/␣/g, " ").replace(/⏎/g, "\n").trim();
  }

  /** One stretch of neighbours in the same state, in words. */
  function stretch(run, state, ids) {
    const masks = ids.filter((id) => id === run.maskId).length;
    if (state === "noise" && masks === ids.length) return `(${count(masks, "mask", "masks")})`;
    if (state === "noise") return `(noise: ${words(run, ids)})`;
    if (state === "renoised") return `(thrown back: ${words(run, ids)})`;
    if (state === "after_end") return `(${count(ids.length, "token", "tokens")} after the end)`;
    return words(run, ids);
  }

  const plain = { prompt: "text", committed: "text", kept: "text", revealed: "text", proposed: "text" };

  /** The text of positions [start, stop) after pass k. */
  function blockText(run, k, start, stop) {
    const [tokens, states, before] = [run.tokens(k), run.states(k), run.tokens(Math.max(0, k - 1))];
    const parts = [];
    for (let pos = start; pos < stop; ) {
      const state = BlockViz.STATES[states[pos]];
      const kind = plain[state] || state;
      const ids = [];
      for (; pos < stop; pos++) {
        const here = BlockViz.STATES[states[pos]];
        if ((plain[here] || here) !== kind) break;
        ids.push(here === "renoised" ? before[pos] : tokens[pos]);
      }
      parts.push(stretch(run, kind, ids));
    }
    return parts.join(" ");
  }

  /** [[heading, text], ...]: every block that is open, and one line for those that are not. */
  function canvasText(run, k) {
    const states = run.states(k);
    const pass = run.passes[k];
    const { unopened, prompt } = BlockViz.STATE_CODE;
    const lines = [];
    let closed = -1;
    for (let block = 0; block < run.blockCount; block++) {
      const [start, stop] = run.spanOf(block);
      if (states.subarray(start, stop).every((state) => state === unopened)) {
        if (closed < 0) closed = block;
        continue;
      }
      const given = states.subarray(start, stop).every((state) => state === prompt);
      const active = k > 0 && pass.block === block;
      const name = `Block ${block + 1}${active ? ", active" : given ? ", prompt" : ""}`;
      lines.push([name, blockText(run, k, start, stop)]);
    }
    const blocks = run.blockCount;
    if (closed >= 0) lines.push([closed + 1 === blocks ? `Block ${blocks}` : `Blocks ${closed + 1} to ${blocks}`, "not opened yet"]);
    return lines;
  }

  class Reader {
    constructor(label) {
      this.node = el("section", { class: "bv-hidden bv-reader", "aria-label": `${label ? label + ": " : ""}canvas as text` });
      this._key = "";
    }

    destroy() {
      clearTimeout(this._later);
    }

    /** Called at every drawing: once nothing moves for a moment, the text is that of the pass on screen. */
    draw(run, k, moving) {
      const key = `${run.id} ${k} ${run.last}`;
      if (moving) {
        clearTimeout(this._later);
        this._wanted = "";
      } else if (key !== this._key && key !== this._wanted) {
        this._wanted = key;
        clearTimeout(this._later);
        this._later = setTimeout(() => this._write(run, k, key), REST_MS);
      }
    }

    _write(run, k, key) {
      if (k > run.last) return;
      this._key = key;
      const lines = [["", `The canvas after pass ${k} of ${run.last}`], ...canvasText(run, k)];
      this.node.replaceChildren(...lines.map(([name, text]) => el("p", { text: name ? `${name}: ${text}` : `${text}.` })));
    }
  }

  BlockViz.Reader = Reader;
  BlockViz.canvasText = canvasText;
  BlockViz.spoken = words;
})();
