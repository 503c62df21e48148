/* BlockViz.comparison: the figures of whole runs, in what they differ, and where their final texts do. The twin of
   blockviz/views/comparison.py and blockviz/views/progress.py, where the terms are defined. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const IN_PLACE = ["proposed", "revealed", "kept", "committed"];
  const FINAL = "####";
  const GRAMS = [1, 2, 3];
  const LARGEST = 16e6; // cells of the table by which texts are compared; beyond it everything between the common ends is marked

  const codes = (names) => {
    const is = new Uint8Array(BlockViz.STATES.length);
    for (const name of names) is[BlockViz.STATE_CODE[name]] = 1;
    return is;
  };
  const stands = codes(IN_PLACE);
  const draft = codes([...IN_PLACE, "after_end"]);

  /** Positions of the final text, in order. */
  function finalPositions(run) {
    const states = run.states(run.last);
    const list = [];
    for (let pos = 0; pos < states.length; pos++) if (stands[states[pos]]) list.push(pos);
    return list;
  }

  /** Token ids of the final text. */
  function finalTokens(run) {
    const tokens = run.tokens(run.last);
    return finalPositions(run).map((pos) => tokens[pos]);
  }

  function entropy(tokens) {
    const counts = new Map();
    for (const token of tokens) counts.set(token, (counts.get(token) || 0) + 1);
    let sum = 0;
    for (const count of counts.values()) sum -= (count / tokens.length) * Math.log(count / tokens.length);
    return sum + 0;
  }

  function distinct(tokens, n) {
    const grams = new Set();
    for (let i = 0; i + n <= tokens.length; i++) grams.add(tokens.slice(i, i + n).join());
    return [grams.size, Math.max(0, tokens.length - n + 1)];
  }

  /** For each pass how many times a token has replaced another until then. */
  function revised(run) {
    const held = new Int32Array(run.length).fill(-1);
    const list = [];
    let count = 0;
    for (let k = 0; k <= run.last; k++) {
      const [tokens, states] = [run.tokens(k), run.states(k)];
      for (let pos = 0; pos < tokens.length; pos++) {
        if (!draft[states[pos]]) continue;
        if (held[pos] >= 0 && held[pos] !== tokens[pos]) count++;
        held[pos] = tokens[pos];
      }
      list.push(count);
    }
    return list;
  }

  function answerOf(checks) {
    const last = checks.filter((check) => String(check[3]).startsWith(FINAL)).pop();
    return last ? [String(last[3]).slice(FINAL.length).split(" (")[0].trim(), last[2]] : ["", ""];
  }

  /** The figures of a run, as things stand after its last pass. */
  function facts(run) {
    const [denoise, verify] = run.passes[run.last].nfe;
    const tokens = finalTokens(run);
    const checks = run.checks(run.last);
    const verdicts = checks.filter((check) => !String(check[3]).startsWith(FINAL) && check[2] !== "unfinished").map((check) => check[2]);
    const [answer, verdict] = answerOf(checks);
    return {
      denoise,
      verify,
      passes: run.last,
      ms: run.passes.reduce((sum, pass) => sum + (pass.ms > 0 ? pass.ms : 0), 0),
      tokens: tokens.length,
      entropy: entropy(tokens),
      distinct: GRAMS.map((n) => distinct(tokens, n)),
      revised: revised(run).pop(),
      back: BlockViz.tally(BlockViz.revisions(run)),
      equations: [verdicts.filter((one) => one === "right").length, verdicts.length],
      answer,
      verdict,
    };
  }

  /** In which of prompt, model and settings runs differ, by name. A header leaves out later settings that are at their defaults. */
  function differing(headers) {
    const names = [];
    const several = (values) => new Set(values.map((value) => JSON.stringify(value === undefined ? null : value))).size > 1;
    if (several(headers.map((header) => header.prompt))) names.push("prompt");
    if (several(headers.map((header) => header.model.name))) names.push("model");
    const whole = headers.map((header) => ({ ...BlockViz.defaults, ...header.settings }));
    for (const name of Object.keys(BlockViz.panels.compare.fields)) if (several(whole.map((settings) => settings[name]))) names.push(name);
    return names;
  }

  /** Which entries of each list are not part of the longest sequence that both have in common. */
  function differences(a, b) {
    let start = 0;
    while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
    let stop = 0;
    while (stop < Math.min(a.length, b.length) - start && a[a.length - 1 - stop] === b[b.length - 1 - stop]) stop++;
    const one = a.slice(start, a.length - stop);
    const other = b.slice(start, b.length - stop);
    const marks = [new Array(a.length).fill(false), new Array(b.length).fill(false)];
    const wide = other.length + 1;
    if ((one.length + 1) * wide > LARGEST) {
      marks[0].fill(true, start, start + one.length);
      marks[1].fill(true, start, start + other.length);
      return marks;
    }
    const longest = new Uint16Array((one.length + 1) * wide);
    for (let i = one.length - 1; i >= 0; i--) {
      for (let j = other.length - 1; j >= 0; j--) {
        longest[i * wide + j] = one[i] === other[j] ? longest[(i + 1) * wide + j + 1] + 1 : Math.max(longest[(i + 1) * wide + j], longest[i * wide + j + 1]);
      }
    }
    for (let i = 0, j = 0; i < one.length || j < other.length; ) {
      if (i < one.length && j < other.length && one[i] === other[j]) [i, j] = [i + 1, j + 1];
      else if (j === other.length || (i < one.length && longest[(i + 1) * wide + j] >= longest[i * wide + j + 1])) marks[0][start + i++] = true;
      else marks[1][start + j++] = true;
    }
    return marks;
  }

  const round = (value, digits) => Math.round(value * 10 ** digits) / 10 ** digits;

  /** The curves of the charts over NFE: {placed, confidence, revised}, each {x, y} with a point a pass that has a value. */
  function curves(run) {
    const calls = run.passes.map((pass) => pass.nfe[0] + pass.nfe[1]);
    const final = finalPositions(run);
    const text = run.tokens(run.last);
    const placed = run.passes.map((pass, k) => {
      const [tokens, states] = [run.tokens(k), run.states(k)];
      const there = final.filter((pos) => draft[states[pos]] && tokens[pos] === text[pos]).length;
      return final.length ? round((100 * there) / final.length, 3) : 0;
    });
    const sure = { x: [], y: [], k: [] };
    run.passes.forEach((pass, k) => {
      const known = [];
      run.confidence(k).forEach((value, i) => {
        if (pass.why[i] !== "1" && !Number.isNaN(value)) known.push(value);
      });
      if (!known.length) return;
      sure.x.push(calls[k]);
      sure.y.push(round(known.reduce((sum, value) => sum + value, 0) / known.length, 4));
      sure.k.push(k);
    });
    const all = calls.map((_, k) => k);
    return { placed: { x: calls, y: placed, k: all }, confidence: sure, revised: { x: calls, y: revised(run), k: all } };
  }

  BlockViz.comparison = { facts, differing, differences, curves, entropy, distinct, finalPositions, finalTokens };
})();
