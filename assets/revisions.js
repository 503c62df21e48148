/* BlockViz.revisions(run): what became of every token that was thrown back to noise. The twin of blockviz/views/revisions.py,
   where the terms are defined. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const DRAFTS = ["proposed", "revealed", "kept", "committed", "after_end"];

  /** "right", "wrong", or "" where the last check around the position is unfinished or there is none. */
  function verdict(checks, position) {
    for (let i = checks.length - 1; i >= 0; i--) {
      const [start, stop, word] = checks[i];
      if (start <= position && position < stop) return word === "unfinished" ? "" : word;
    }
    return "";
  }

  function outcome(one) {
    if (one.new === one.token) return "same";
    if (one.ar_after > one.ar_before) return "better";
    return one.ar_after < one.ar_before ? "worse" : "unjudged";
  }

  function checked(one) {
    if (one.back < 0 || one.new === one.token) return "";
    if (one.check_before === "wrong" && one.check_after === "right") return "better";
    return one.check_before === "right" && one.check_after === "wrong" ? "worse" : "";
  }

  /** All throws in order: {at, position, token, ar_before, check_before, back, new, judged, ar_after, check_after, outcome, checked}. */
  function revisions(run) {
    const CODE = BlockViz.STATE_CODE;
    const isDraft = new Uint8Array(BlockViz.STATES.length);
    for (const name of DRAFTS) isDraft[CODE[name]] = 1;
    const all = [];
    const open = new Map(); // position -> the throw whose token waits to come back, or stands
    run.passes.forEach((pass, k) => {
      if (k === 0) return;
      const tokens = run.tokens(k);
      const states = run.states(k);
      const before = run.checks(k - 1);
      const [start, stop] = pass.win;
      const ar = pass.phase === "verify" || pass.phase === "renoise" ? run.ar(k) : null;
      for (const [position, one] of open) {
        const draft = isDraft[states[position]] === 1;
        if (one.back >= 0) {
          if (draft && tokens[position] === one.new) continue;
          one.check_after = verdict(before, position);
          open.delete(position);
        } else if (draft) {
          one.back = k;
          one.new = tokens[position];
        }
      }
      if (pass.phase === "verify") {
        for (const [position, one] of open) {
          if (one.back < 0 || one.judged >= 0 || position < start || position >= stop) continue;
          const value = ar[position - start];
          if (Number.isNaN(value)) continue;
          one.judged = k;
          one.ar_after = value;
        }
      }
      if (pass.phase !== "renoise") return;
      const held = run.states(k - 1);
      for (let position = start; position < stop; position++) {
        if (states[position] !== CODE.renoised || isDraft[held[position]] !== 1) continue;
        const one = {
          at: k,
          position,
          token: run.tokens(k - 1)[position],
          ar_before: ar[position - start],
          check_before: verdict(before, position),
          back: -1,
          new: -1,
          judged: -1,
          ar_after: NaN,
          check_after: "",
        };
        all.push(one);
        open.set(position, one);
      }
    });
    const last = run.checks(run.last);
    for (const [position, one] of open) if (one.back >= 0) one.check_after = verdict(last, position);
    for (const one of all) {
      one.outcome = outcome(one);
      one.checked = checked(one);
    }
    return all;
  }

  /** Counts of throws, as `Tally` in Python. */
  function tally(throws) {
    const counts = { thrown: throws.length, same: 0, better: 0, worse: 0, unjudged: 0, lost: 0, righted: 0, spoilt: 0 };
    for (const one of throws) {
      counts[one.outcome] += 1;
      if (one.back < 0) counts.lost += 1;
      if (one.checked === "better") counts.righted += 1;
      if (one.checked === "worse") counts.spoilt += 1;
    }
    return counts;
  }

  BlockViz.revisions = revisions;
  BlockViz.tally = tally;
})();
