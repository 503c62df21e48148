/* BlockViz.Canvas: the tokens as DOM cells, a row a block. The layout depends on the run's geometry and the width only,
   never on the text, so nothing moves while a run plays; a step touches only the cells that look different. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const GOOD_CELL = 44; // px a cell wants at least, so that six letters can be read
  const SMALL_CELL = 34; // px it accepts to keep a block on one line, or on a phone
  const TINY_CELL = 30; // and on a phone, so that two small blocks share a row
  const WIDE_CELL = 66; // px beyond which a cell only looks empty
  const GAP = 3;
  const FONTS = [13, 12, 11, 10, 9, 8]; // px, tried in turn until a piece fits
  const TIGHT = 0.055; // em taken out between the letters of a piece that needs a smaller font
  const FLAT = /^[-−–—_=~+]+$/; // a horizontal strike would hide these
  const PLAIN = { css: "", cut: false }; // how a token is written that is small
  const NO_BADGE = -1e9;
  const SHARED_BELOW = 8; // blocks smaller than this share a row
  const LONG_ROWS = 16; // more lines than this scroll inside the canvas

  /** How `length` positions are laid out: {columns, perRow (blocks on a row), cell (px)}. */
  function geometry(width, gutter, blockSize, length) {
    const room = Math.max(80, width - gutter);
    const size = Math.min(blockSize, length);
    const good = width >= 560 ? GOOD_CELL : size < SHARED_BELOW ? TINY_CELL : SMALL_CELL;
    const most = Math.max(1, Math.floor((room + GAP) / (good + GAP)));
    let columns;
    let perRow = 1;
    if (size < SHARED_BELOW) {
      // A bracket takes room of its own, so a row holds a little less than it could.
      const inset = size === 1 ? 0 : 12;
      perRow = Math.max(1, Math.floor((room + GAP) / (size * (good + GAP) + inset)));
      perRow = Math.min(perRow, Math.max(1, Math.floor(16 / size)), Math.ceil(length / size));
      columns = size;
      const cell = Math.floor((room - perRow * inset) / (perRow * size)) - GAP;
      return { columns, perRow, cell: Math.max(18, Math.min(WIDE_CELL, cell)) };
    }
    const squeezed = Math.floor((room + GAP - 12) / (SMALL_CELL + GAP));
    if (size <= most || (size <= 16 && size <= squeezed)) columns = size;
    else if (size % 8 === 0 && most >= 8) columns = most - (most % 8);
    else columns = Math.ceil(size / Math.ceil(size / most));
    const cell = Math.floor(((room - 12 + GAP) / columns) * 2) / 2 - GAP;
    return { columns, perRow, cell: Math.max(18, Math.min(WIDE_CELL, cell)) };
  }

  class Canvas {
    /** `root` receives the grid; `options.testid` names it. */
    constructor(root, options) {
      this.options = options || {};
      this.grid = BlockViz.el("div", {
        class: "bv-grid",
        role: "grid",
        "data-testid": this.options.testid || "canvas",
        "aria-label": "Token canvas, one row per block. Up, down and Shift with left or right move between tokens; Enter inspects one.",
      });
      root.append(this.grid);
      this.run = null;
      this.cells = [];
      this.blocks = [];
      this.rows = [];
      this._key = "";
      this._k = -1;
      this._focus = 0;
      this.grid.addEventListener("keydown", (event) => this._move(event));
      this.grid.addEventListener("focusin", (event) => {
        const cell = event.target.closest(".bv-cell");
        if (cell) this._rove(Number(cell.dataset.pos));
      });
      this._observer = new ResizeObserver(() => this._resize());
      this._observer.observe(this.grid);
    }

    destroy() {
      this._observer.disconnect();
    }

    /** The pass on screen, or -1. */
    get shown() {
      return this._k;
    }

    /** Take a run; the grid is rebuilt only when its geometry differs. */
    load(run) {
      this.run = run;
      this._id = run.id;
      this._looks = new Map();
      this._build(false);
      this._forget();
    }

    _width() {
      return this.grid.clientWidth;
    }

    _resize() {
      if (!this.run || this._width() === 0) return;
      const k = this._k;
      if (this._build(true) && k >= 0) {
        this._forget();
        this.draw(k);
        this.follow();
        if (this.options.redrawn) this.options.redrawn(k);
      }
    }

    _forget() {
      const n = this.cells.length;
      this._token = new Int32Array(n).fill(-2);
      this._shown = new Int32Array(n).fill(-2);
      this._state = new Uint8Array(n).fill(255);
      this._badge = new Float32Array(n).fill(NO_BADGE);
      this._check = new Uint8Array(n);
      this._checks = null;
      this._glyph = new Uint8Array(n);
      this._k = -1;
      for (const cell of this.cells) {
        BlockViz.mark(cell.node, "data-check", null);
        BlockViz.mark(cell.node, "data-badge", null);
        BlockViz.mark(cell.node, "data-glyph", null);
        if (cell.badge) BlockViz.write(cell.badge, "");
      }
    }

    _build(keep) {
      const run = this.run;
      const width = this._width() || 960;
      const narrow = width < 560;
      const shared = run.blockSize < SHARED_BELOW; // its rows are numbered "13–16"
      const gutter = narrow ? (shared ? 42 : 26) : width < 760 ? (shared ? 46 : 30) : shared ? 104 : 76;
      const plan = geometry(width, gutter, run.blockSize, run.length);
      const key = [run.length, run.blockSize, run.origin, plan.columns, plan.perRow, plan.cell, gutter].join();
      if (key === this._key) return false;
      this._key = key;
      this.plan = plan;
      const style = this.grid.parentElement.style; // the legend below is aligned by the same gutter
      style.setProperty("--bv-cell", plan.cell + "px");
      style.setProperty("--bv-gutter", gutter + "px");
      style.setProperty("--bv-columns", plan.columns);
      this.grid.classList.toggle("is-narrow", width < 760);
      this._looks.clear();
      this._limits = FONTS.map((px, i) => Math.floor((plan.cell - (i ? 2.5 : 4)) / ((BlockViz.pieces.GLYPH - (i ? TIGHT : 0)) * px)));
      const same = keep && this.cells.length === run.length && this._built === [run.blockSize, run.origin, plan.perRow].join();
      if (same) return true;
      this._built = [run.blockSize, run.origin, plan.perRow].join();
      this._rows(run, plan);
      return true;
    }

    _rows(run, plan) {
      const count = run.blockCount;
      this.cells = [];
      this.blocks = [];
      this.rows = [];
      const rows = document.createDocumentFragment();
      for (let first = 0; first < count; first += plan.perRow) {
        const last = Math.min(count, first + plan.perRow) - 1;
        const number = BlockViz.el("b", { text: first === last ? String(first + 1) : `${first + 1}–${last + 1}` });
        const status = BlockViz.el("span", { class: "bv-status" });
        const head = BlockViz.el("div", { class: "bv-gutter", role: "rowheader" }, number, status);
        const body = BlockViz.el("div", { class: "bv-blocks", role: "none" });
        const row = BlockViz.el("div", { class: "bv-row", role: "row" }, head, body);
        const entry = { node: row, status, first, last, text: "" };
        for (let block = first; block <= last; block++) {
          const [start, stop] = run.spanOf(block);
          const box = BlockViz.el("div", { class: "bv-block", role: "none", "data-block": block });
          for (let pos = start; pos < stop; pos++) {
            const text = BlockViz.el("span", { class: "bv-text" });
            const node = BlockViz.el(
              "div",
              { class: "bv-cell", role: "gridcell", tabindex: pos === 0 ? 0 : -1, "data-pos": pos },
              text,
            );
            box.append(node);
            this.cells.push({ node, text, badge: null, look: PLAIN });
          }
          body.append(box);
          this.blocks.push({ node: box, start, stop, look: "", row: entry, status: "" });
        }
        this.rows.push(entry);
        rows.append(row);
      }
      const lines = this.rows.length * Math.ceil(Math.min(run.blockSize, run.length) / plan.columns);
      this.grid.classList.toggle("is-long", lines > LONG_ROWS);
      this.grid.classList.toggle("is-shared", plan.perRow > 1 || run.blockSize < SHARED_BELOW);
      this.grid.classList.toggle("is-single", run.blockSize === 1);
      this.grid.setAttribute("aria-rowcount", this.rows.length);
      this.grid.replaceChildren(rows);
      this._focus = 0;
      this._active = -1;
    }

    /** Show the canvas after pass k. */
    draw(k) {
      const run = this.run;
      if (!run || k < 0 || k > run.last) return;
      const CODE = BlockViz.STATE_CODE;
      const pass = run.passes[k];
      const tokens = run.tokens(k);
      const states = run.states(k);
      const before = k > 0 ? run.tokens(k - 1) : tokens;
      const [start, stop] = pass.win;
      const corrector = run.header.settings ? run.header.settings.corrector : "none";
      const scores = pass.phase === "renoise" && corrector !== "random" ? run.score(k) : null;
      const doubts = pass.phase === "verify" ? run.ar(k) : null;
      this._underline(k);
      const mask = run.maskId;
      for (let pos = 0; pos < tokens.length; pos++) {
        const state = states[pos];
        const token = tokens[pos];
        let shown = token;
        let badge = NO_BADGE;
        if (state === CODE.renoised) {
          shown = before[pos];
          if (scores) badge = scores[pos - start];
        } else if (doubts && pos >= start && pos < stop) badge = -doubts[pos - start];
        // NaN, and doubts that would read 0.0, are no news.
        if (badge !== badge || (doubts && badge < 0.05)) badge = NO_BADGE;
        const restated = state !== this._state[pos];
        if (restated || token !== this._token[pos] || shown !== this._shown[pos]) {
          this._cell(pos, token, shown, state, restated, mask);
        }
        if (badge !== this._badge[pos] || (restated && badge !== NO_BADGE)) this._score(pos, badge);
      }
      this._frames(k, pass, states);
      this._k = k;
    }

    _cell(pos, token, shown, state, restated, mask) {
      const cell = this.cells[pos];
      const run = this.run;
      const name = BlockViz.STATES[state];
      if (restated) cell.node.setAttribute("data-state", name);
      if (token !== this._token[pos]) cell.node.setAttribute("data-token", token);
      let text = run.piece(shown);
      let glyph = 0;
      if (shown === mask) {
        glyph = 1;
        text = name === "unopened" ? "·" : "▒";
      }
      BlockViz.write(cell.text, text);
      if (glyph !== this._glyph[pos]) {
        BlockViz.mark(cell.node, "data-glyph", glyph ? "mask" : null);
        this._glyph[pos] = glyph;
      }
      const look = glyph ? PLAIN : this._look(shown, text);
      if (look !== cell.look) {
        if (look.css !== cell.look.css) cell.text.style.cssText = look.css;
        if (look.cut !== cell.look.cut) cell.node.classList.toggle("is-cut", look.cut);
        cell.look = look;
      }
      if (name === "renoised") cell.node.classList.toggle("is-flat", FLAT.test(text));
      const words = BlockViz.WORDS.state[name];
      cell.node.setAttribute("aria-label", glyph ? `mask, ${words}` : `${text}, ${words}`);
      this._token[pos] = token;
      this._shown[pos] = shown;
      this._state[pos] = state;
    }

    /** How a token is written: the largest font in which it fits, and whether it may still be wider or taller than its cell. */
    _look(id, text) {
      let look = this._looks.get(id);
      if (look) return look;
      const cursive = BlockViz.pieces.cursive(text);
      const wide = BlockViz.pieces.width(text) * (cursive ? 1.1 : 1);
      const fits = this._limits.findIndex((limit) => wide <= limit);
      const font = FONTS[fits < 0 ? FONTS.length - 1 : fits];
      const tight = cursive ? "" : `; letter-spacing: ${-TIGHT}em`;
      look = { css: font === FONTS[0] ? "" : `--bv-size: ${font}px${tight}`, cut: fits < 0 || !BlockViz.pieces.plain(text) };
      this._looks.set(id, look);
      return look;
    }

    _score(pos, badge) {
      const cell = this.cells[pos];
      this._badge[pos] = badge;
      if (badge === NO_BADGE) {
        cell.node.removeAttribute("data-badge");
        BlockViz.write(cell.badge, "");
        return;
      }
      if (!cell.badge) {
        cell.badge = BlockViz.el("span", { class: "bv-badge", "aria-hidden": "true" });
        cell.node.append(cell.badge);
      }
      const size = Math.abs(badge);
      BlockViz.write(cell.badge, (badge < 0 && size >= 0.05 ? "−" : "") + size.toFixed(size < 9.95 ? 1 : 0));
      cell.node.setAttribute("data-badge", this._state[pos] === BlockViz.STATE_CODE.renoised ? "cut" : badge >= 1 ? "doubt" : "calm");
    }

    /** A quiet line under the positions the checker has judged. */
    _underline(k) {
      const checks = this.run.checks(k);
      if (checks === this._checks) return;
      this._checks = checks;
      const want = new Uint8Array(this.cells.length);
      for (const [start, stop, verdict] of checks) {
        const code = verdict === "right" ? 1 : verdict === "wrong" ? 2 : 0;
        want.fill(code, start, stop);
      }
      for (let pos = 0; pos < want.length; pos++) {
        if (want[pos] === this._check[pos]) continue;
        this._check[pos] = want[pos];
        BlockViz.mark(this.cells[pos].node, "data-check", want[pos] === 1 ? "right" : want[pos] === 2 ? "wrong" : null);
      }
    }

    _frames(k, pass, states) {
      const run = this.run;
      const CODE = BlockViz.STATE_CODE;
      const cached = pass.cached + (pass.phase === "commit" || pass.phase === "renoise" ? 0 : pass.clean);
      const uses = run.plan.caches;
      const active = pass.phase === "start" ? -1 : pass.block;
      for (let i = 0; i < this.blocks.length; i++) {
        const block = this.blocks[i];
        let status;
        if (i === active) status = pass.phase === "commit" ? "commit" : "active";
        else {
          const first = states[block.start];
          const done = states[block.stop - 1];
          if (done === CODE.prompt) status = "prompt";
          else if (first === CODE.unopened || done === CODE.unopened) status = "";
          else if (done !== CODE.committed && done !== CODE.after_end) status = "";
          else status = uses && block.stop <= cached ? "✓ cached" : "✓ done";
        }
        if (status === block.status) continue;
        block.status = status;
        block.row.stale = true;
        BlockViz.mark(block.node, "data-active", status === "active" ? "yes" : status === "commit" ? "commit" : null);
      }
      for (const row of this.rows) {
        if (!row.stale) continue;
        row.stale = false;
        const words = new Set();
        for (let i = row.first; i <= row.last; i++) words.add(this.blocks[i].status);
        let word = this.blocks[row.last].status;
        for (const strong of ["active", "commit"]) if (words.has(strong)) word = strong;
        if (word === "" && words.size > 1) word = words.has("✓ cached") ? "✓ cached" : "";
        BlockViz.write(row.status, word);
        BlockViz.mark(row.node, "data-status", word.replace("✓ ", "") || null);
      }
      if (active !== this._active) {
        this._active = active;
        this._away = active >= 0;
      }
    }

    /** Scroll a long canvas to the active block; last in a frame, because it asks for a layout. */
    follow() {
      if (!this._away) return;
      this._away = false;
      const { grid } = this;
      if (!grid.classList.contains("is-long")) return;
      const row = this.blocks[this._active].row.node;
      const top = row.offsetTop - grid.offsetTop;
      if (top < grid.scrollTop) grid.scrollTop = Math.max(0, top - 12);
      else if (top + row.offsetHeight > grid.scrollTop + grid.clientHeight) {
        grid.scrollTop = top + row.offsetHeight - grid.clientHeight + 12;
      }
    }

    _rove(pos) {
      if (pos === this._focus || !this.cells[pos]) return;
      if (this.cells[this._focus]) this.cells[this._focus].node.setAttribute("tabindex", "-1");
      this.cells[pos].node.setAttribute("tabindex", "0");
      this._focus = pos;
    }

    _move(event) {
      if (!event.target.classList.contains("bv-cell") || event.ctrlKey || event.altKey || event.metaKey) return;
      const line = this.plan.columns * this.plan.perRow;
      let step = 0;
      if (event.key === "ArrowUp") step = -line;
      else if (event.key === "ArrowDown") step = line;
      else if (event.shiftKey && event.key === "ArrowLeft") step = -1;
      else if (event.shiftKey && event.key === "ArrowRight") step = 1;
      else return;
      event.preventDefault();
      event.stopPropagation();
      const to = this.cells[this._focus + step];
      if (to) to.node.focus();
    }
  }

  BlockViz.Canvas = Canvas;
})();
