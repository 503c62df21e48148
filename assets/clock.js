/* BlockViz.clock: where a run stands in time. Three paces: every pass equally long; every network call equally long, passes
   without one taking no time; or the milliseconds that the run itself took. Also where tokens change. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const RATE = 6; // passes, or network calls, per second at speed 1x
  const PACES = {
    pass: { name: "by pass", help: "Every pass takes equally long" },
    nfe: { name: "by NFE", help: "Every network call takes equally long; passes without one are shown in passing" },
    ms: { name: "real ms", help: "The milliseconds that the run took, times the speed; what is faster than the screen is skipped" },
  };

  /* What was worked out for a run; a run that grows is read on, one that was replaced is read anew. */
  const known = new WeakMap();

  function of(run) {
    let entry = known.get(run);
    if (!entry || entry.id !== run.id || entry.ms.length > run.passes.length) {
      entry = { id: run.id, nfe: [], ms: [], changes: [] };
      known.set(run, entry);
    }
    for (let k = entry.ms.length; k < run.passes.length; k++) {
      const pass = run.passes[k];
      entry.nfe.push(pass.nfe[0] + pass.nfe[1]);
      entry.ms.push((k ? entry.ms[k - 1] : 0) + (pass.ms > 0 ? pass.ms : 0));
      if (k > 0 && changes(run, k)) entry.changes.push(k);
    }
    return entry;
  }

  /** Passes that draw no token: the reasons that they carry are those of the pass before. */
  const quiet = (run, k) => run.passes[k].phase === "verify" || run.passes[k].phase === "commit";

  /** Whether pass k put a token somewhere, or drew the one that stood there again. */
  function changes(run, k) {
    const why = run.passes[k].why;
    for (let i = 0; i < why.length; i++) {
      const reason = why.charCodeAt(i) - 48;
      if (((reason >= 2 && reason <= 4) || reason === 6) && !quiet(run, k)) return true;
    }
    const [now, before] = [run.tokens(k), run.tokens(k - 1)];
    for (let pos = 0; pos < now.length; pos++) if (now[pos] !== before[pos]) return true;
    return false;
  }

  const clock = {
    PACES,

    /** A run without recorded times cannot be played in real time: it is played by pass. */
    pace(run, pace) {
      if (pace !== "ms") return pace;
      const { ms } = of(run);
      return ms.length && ms[ms.length - 1] > 0 ? "ms" : "pass";
    },

    /** Time at the end of pass k in the unit of the pace: passes, network calls, milliseconds. */
    time(run, k, pace) {
      if (pace === "pass") return k;
      const times = of(run)[pace];
      return times[Math.max(0, Math.min(k, times.length - 1))] || 0;
    },

    /** Seconds between pass k - 1 and pass k at speed 1x. */
    seconds(run, k, pace) {
      const length = clock.time(run, k, pace) - clock.time(run, k - 1, pace);
      return pace === "ms" ? length / 1000 : length / RATE;
    },

    /** The last pass that is over at a time. */
    passAt(run, time, pace) {
      if (pace === "pass") return Math.min(run.last, Math.floor(time));
      const times = of(run)[pace];
      let low = 0;
      let high = run.last;
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (times[middle] <= time) low = middle;
        else high = middle - 1;
      }
      return low;
    },

    /** The first pass that is not before a time. */
    passFrom(run, time, pace) {
      const k = clock.passAt(run, time, pace);
      if (clock.time(run, k, pace) < time) return Math.min(run.last, k + 1);
      let first = k;
      while (first > 0 && clock.time(run, first - 1, pace) >= time) first--;
      return first;
    },

    /** Passes that change the canvas or, with a position, that position. */
    changes(run, pos) {
      if (pos === undefined || pos < 0 || pos >= run.length) return of(run).changes;
      const list = [];
      for (let k = run.last; k > 0; ) {
        const at = run.changedAt(k, pos).pass;
        if (at <= 0) break;
        if (!quiet(run, at) || run.tokens(at)[pos] !== run.tokens(at - 1)[pos]) list.unshift(at);
        k = at - 1;
      }
      return list;
    },
  };

  BlockViz.clock = clock;
})();
