/* What a corrector decided, read from a run: scores, the chosen ones, the cut, AR's own choices. The twin of
   blockviz/views/decisions.py. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  /** The decision to show at pass k: its own, or else the last one of its block; null where there is none. */
  function decision(run, k) {
    const pass = run.passes[k];
    if (pass.phase === "verify") return verified(run, k);
    for (let source = k; source > 0; source--) {
      const candidate = run.passes[source];
      if (candidate.block !== pass.block) break;
      if (candidate.phase === "renoise" && (candidate.cut !== null || !candidate.k)) return decided(run, source, source === k ? "now" : "earlier");
    }
    return null;
  }

  function frame(run, source, moment) {
    const pass = run.passes[source];
    const [start, stop] = pass.win;
    return { moment, source, start, stop, block: pass.block, step: pass.step, k: pass.k, cut: pass.cut };
  }

  function bestOf(run, source, start, stop) {
    const best = [];
    for (let position = start; position < stop; position++) best.push(run.top(source, position)[0] || null);
    return best;
  }

  function verified(run, source) {
    const shown = frame(run, source, "verify");
    const states = run.states(source);
    const prompt = BlockViz.STATE_CODE.prompt;
    const scores = Array.from(run.ar(source), (value, i) => (states[shown.start + i] === prompt ? NaN : -value));
    return {
      ...shown,
      k: 0,
      cut: null,
      corrector: "ar_nll",
      tokens: run.tokens(source).slice(shown.start, shown.stop),
      scores,
      chosen: scores.map(() => false),
      best: bestOf(run, source, shown.start, shown.stop),
    };
  }

  function decided(run, source, moment) {
    const shown = frame(run, source, moment);
    const before = run.passes[source - 1];
    const read = before.phase === "verify" && before.win[0] === shown.start && before.win[1] === shown.stop;
    const states = run.states(source);
    const scores = Array.from(run.score(source));
    return {
      ...shown,
      corrector: run.header.settings.corrector,
      tokens: run.tokens(source - 1).slice(shown.start, shown.stop),
      scores,
      chosen: scores.map((score, i) => states[shown.start + i] === BlockViz.STATE_CODE.renoised),
      best: read ? bestOf(run, source - 1, shown.start, shown.stop) : scores.map(() => null),
    };
  }

  /** Lowest and highest score of all decisions of a run, and the name of the score. */
  function range(run) {
    let low = 0;
    let high = 0;
    run.passes.forEach((pass, k) => {
      const values = pass.phase === "renoise" ? run.score(k) : pass.phase === "verify" ? run.ar(k).map((value) => -value) : [];
      for (const value of values) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
    });
    return [low, high, run.header.settings.corrector];
  }

  /** Halfway between the lowest chosen score and the highest spared one; where they touch, at the cut. */
  function cutLine(shown) {
    let below = -Infinity;
    shown.scores.forEach((score, i) => {
      if (!shown.chosen[i] && score > below) below = score;
    });
    return below > -Infinity && below < shown.cut ? (shown.cut + below) / 2 : shown.cut;
  }

  function leftIsFree(shown, height) {
    const third = Math.max(1, Math.floor(shown.scores.length / 3));
    const over = (list) => list.filter((score) => score > height).length;
    return over(shown.scores.slice(0, third)) <= over(shown.scores.slice(-third));
  }

  BlockViz.decisions = { decision, range, cutLine, leftIsFree };
})();
