/* BlockViz.align: which pass of one run stands beside a pass of another. Every pass has a time on an axis; beside pass k of the run
   that leads stands the last pass that is over by then. The twin of blockviz/views/alignment.py. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const NEAR = 1e-9; // of a time on an axis of fractions: 1/3 of 6 and 2/6 of 6 are one place
  const AXES = {
    pass: { name: "by pass", help: "Runs stand at the same pass" },
    nfe: { name: "by NFE", help: "Runs have spent the same number of network calls" },
    block: { name: "by block", help: "Runs stand at the same place of the canvas: at the same share of the same block, or of several small ones beside a large one" },
    share: { name: "by share of run", help: "Runs have done the same share of their passes; all end together" },
    ms: { name: "by real ms", help: "Runs have taken the same time on the machine that ran them" },
  };
  const WHOLE = ["block", "share"]; // axes on which a run that still grows has no fixed times

  const known = new WeakMap();

  /** For every pass how far the text had got: the end of the last block before, plus the share of its own block's passes. */
  function places(run) {
    const { passes } = run;
    const times = new Float64Array(passes.length);
    let from = run.promptLength;
    times.fill(from);
    for (let k = 1; k < passes.length; ) {
      const [start, stop] = passes[k].win;
      let next = k;
      while (next < passes.length && passes[next].win[0] === start && passes[next].win[1] === stop) next++;
      const width = Math.max(0, stop - from);
      for (let i = k; i < next; i++) times[i] = from + width * ((i - k + 1) / (next - k));
      from += width;
      k = next;
    }
    return times;
  }

  function timesOf(run, axis) {
    let entry = known.get(run);
    if (!entry || entry.id !== run.id || entry.count !== run.passes.length) {
      entry = { id: run.id, count: run.passes.length };
      known.set(run, entry);
    }
    if (!entry[axis]) entry[axis] = axis === "block" ? places(run) : Float64Array.from(run.passes, (pass, k) => k / Math.max(1, run.last));
    return entry[axis];
  }

  const align = {
    AXES,

    /** The axis that these runs can be aligned on: the wanted one, or "pass" where they have no times on it. */
    axis(runs, wanted) {
      if (wanted === "ms") return runs.every((run) => BlockViz.clock.pace(run, "ms") === "ms") ? "ms" : "pass";
      return WHOLE.includes(wanted) && runs.some((run) => run.end === null) ? "pass" : wanted;
    },

    /** The time at the end of pass k: passes, network calls, milliseconds, canvas positions, or the share of the run. */
    time(run, k, axis) {
      if (!WHOLE.includes(axis)) return BlockViz.clock.time(run, k, axis);
      const times = timesOf(run, axis);
      return times.length ? times[Math.max(0, Math.min(k, run.last))] : 0;
    },

    /** The last pass that is over at a time. */
    passAt(run, time, axis) {
      if (!WHOLE.includes(axis)) return BlockViz.clock.passAt(run, time, axis);
      const times = timesOf(run, axis);
      let low = 0;
      let high = run.last;
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (times[middle] <= time + NEAR) low = middle;
        else high = middle - 1;
      }
      return low;
    },

    /** The first pass that is not before a time. */
    passFrom(run, time, axis) {
      if (!WHOLE.includes(axis)) return BlockViz.clock.passFrom(run, time, axis);
      let k = align.passAt(run, time, axis);
      const times = timesOf(run, axis);
      if (times[k] < time - NEAR) return Math.min(run.last, k + 1);
      while (k > 0 && times[k - 1] >= time - NEAR) k--;
      return k;
    },

    /** The pass of `run` beside pass k of `lead`; one beyond its last once it is over before the lead is. */
    beside(lead, k, run, axis) {
      if (axis === "pass") return Math.min(k, run.last + 1);
      const time = align.time(lead, k, axis);
      return time > align.time(run, run.last, axis) + (WHOLE.includes(axis) ? NEAR : 0) ? run.last + 1 : align.passAt(run, time, axis);
    },

    /** The index of the run that leads: the one that lasts longest; of those that end together, the one with most passes. */
    lead(runs, axis) {
      let best = -1;
      let longest = -1;
      runs.forEach((run, i) => {
        const lasts = align.time(run, run.last, axis);
        const same = best >= 0 && Math.abs(lasts - longest) <= NEAR;
        if (best < 0 || (same ? run.last > runs[best].last : lasts > longest)) [best, longest] = [i, Math.max(lasts, longest)];
      });
      return best;
    },
  };

  BlockViz.align = align;
})();
