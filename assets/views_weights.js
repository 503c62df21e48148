/* Recorded attention: reading it from a run, and its heat map. The twin of blockviz/views/weights.py, with its words. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { fill, escape, tickStep } = BlockViz.viewTools;

  let last = { pass: null, codes: null }; // the pass decoded last: scrubbing asks for it several times

  /** Heads whose weights a run recorded: 0 nothing, 1 their average, else each head of the layer. */
  function heads(run) {
    const { settings, model } = run.header || {};
    const kept = settings && settings.record_attention;
    return kept === "mean" ? 1 : kept === "heads" && model ? model.heads : 0;
  }

  /** Keys of a call: all text up to the window's end, or the whole canvas where that is read as one. */
  const columnsOf = (run, pass) => (run.plan.seesCanvas && pass.phase !== "verify" ? run.length : pass.win[1]);

  /** Uint8Array [heads * window * keys], the codes as they were recorded in pass k (weight = (code / 255)^2); null for none. */
  function recorded(run, k) {
    const pass = run.passes[k];
    if (!pass || !pass.attn) return null;
    if (last.pass !== pass) {
      let codes = null;
      try {
        codes = Uint8Array.from(atob(pass.attn), (letter) => letter.charCodeAt(0));
      } catch (problem) {
        // not base64: as if it had not been recorded
      }
      const size = heads(run) * (pass.win[1] - pass.win[0]) * columnsOf(run, pass);
      last = { pass, codes: codes && size > 0 && codes.length === size ? codes : null };
    }
    return last.codes;
  }

  /** 255 times the roots of the weights of pass k: {values: Float32Array [rows * columns], rows, columns}, NaN where nothing may
      be read; `head` from 0, or -1 for the average. Null where nothing was recorded. */
  function codes(run, k, head) {
    const kept = recorded(run, k);
    if (!kept) return null;
    const pass = run.passes[k];
    const [start, stop] = pass.win;
    const columns = columnsOf(run, pass);
    const rows = stop - start;
    const size = rows * columns;
    const count = kept.length / size;
    const values = new Float32Array(size);
    if (count === 1 || head >= 0) values.set(kept.subarray((count === 1 ? 0 : head) * size, ((count === 1 ? 0 : head) + 1) * size));
    else {
      for (let i = 0; i < size; i++) {
        let sum = 0;
        for (let h = 0; h < count; h++) sum += kept[h * size + i] ** 2;
        values[i] = Math.sqrt(sum / count);
      }
    }
    if (pass.phase === "verify") {
      for (let row = 0; row < rows; row++) for (let column = start + row + 1; column < columns; column++) values[row * columns + column] = NaN;
    }
    return { values, rows, columns };
  }

  /** The map for display: {z, high, wide}; a cell stands for so many queries and keys and has the largest value among them. */
  function thinned({ values, rows, columns }, template) {
    const high = Math.ceil(rows / template.most_queries);
    const wide = Math.ceil(columns / template.most_keys);
    const z = [];
    for (let top = 0; top < rows; top += high) {
      const line = new Array(Math.ceil(columns / wide)).fill(null);
      for (let row = top; row < Math.min(rows, top + high); row++) {
        for (let column = 0; column < columns; column++) {
          const value = values[row * columns + column];
          const cell = Math.floor(column / wide);
          if (value === value && (line[cell] === null || value > line[cell])) line[cell] = value;
        }
      }
      z.push(line);
    }
    return { z, high, wide };
  }

  /** One sentence: whose attention this is, of which layer and heads. */
  function says(run, k, head, words) {
    const { settings, model } = run.header;
    const pass = run.passes[k];
    if (!recorded(run, k)) return words.none;
    let which = fill(words.head, { head: head + 1, count: model.heads });
    if (model.heads === 1) which = words.only_head;
    else if (head < 0 || heads(run) === 1) which = fill(words.average, { count: model.heads });
    const values = { block: pass.block + 1, pass: k, layer: settings.attention_layer || model.layers, layers: model.layers, heads: which };
    return fill(pass.phase === "verify" ? words.verified : words.read, values);
  }

  /** The token that stood at a key when it was read; -1 unknown. */
  function keyToken(run, k, place, key) {
    const pass = run.passes[k];
    const [start] = pass.win;
    if (pass.phase !== "verify") return run.tokens(k > 0 && key >= start ? k - 1 : k)[key];
    if (key === start + place) return run.maskId < 0 ? (pass.noise ? pass.noise[place] : -1) : run.maskId;
    return run.tokens(k)[key];
  }

  function cellWords(run, k, place, key, code, template) {
    const percent = (100 * (code / template.steps) ** 2).toFixed(1) + "%";
    const id = keyToken(run, k, place, key);
    const token = id < 0 ? template.words.unknown : `<b>${escape(run.piece(id))}</b>`;
    return fill(template.words.cell, { query: run.passes[k].win[0] + place + 1, key: key + 1, token, weight: percent });
  }

  /** The cells of the heat map of a map. */
  function cells(map, template) {
    const { z, high, wide } = thinned(map, template);
    return { z, dy: high, y0: (high + 1) / 2, dx: wide, x0: (wide + 1) / 2 };
  }

  /** Ranges and ticks for a map of pass k: {x, y}, each {range, tickvals, ticktext}. */
  function axes(run, k, map) {
    const [start] = run.passes[k].win;
    const keys = [];
    for (let key = tickStep(run.length); key < run.length; key += tickStep(run.length)) keys.push(key);
    const rows = Math.max(map.rows, run.plan.widest);
    const places = [];
    for (let place = 1; place <= map.rows; place += tickStep(map.rows)) places.push(place);
    return {
      x: { range: [0.5, run.length + 0.5], tickvals: keys, ticktext: keys.map(String) },
      y: { range: [rows + 0.5, 0.5], tickvals: places, ticktext: places.map((place) => String(start + place)) },
    };
  }

  BlockViz.attentionWeights = { heads, recorded, codes, thinned, says, cellWords, cells, axes };
})();
