/* BlockViz.life: the whole life of one position as rows, and what the decision of one pass about it was compared with, in
   sentences. The twin of blockviz/views/life.py. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const N = BlockViz.numbers;

  function moment(run, k, pos) {
    const pass = run.passes[k];
    const inside = pos >= pass.win[0] && pos < pass.win[1];
    const i = pos - pass.win[0];
    const at = (column) => (inside ? column[i] : NaN);
    return {
      number: k,
      phase: pass.phase,
      step: pass.step,
      token: run.tokens(k)[pos],
      state: BlockViz.STATES[run.states(k)[pos]],
      reason: (inside && BlockViz.REASONS[pass.why.charCodeAt(i) - 48]) || "none",
      confidence: at(run.confidence(k)),
      entropy: at(run.entropy(k)),
      ar: at(run.ar(k)),
      score: at(run.score(k)),
      candidates: inside ? run.top(k, pos) : [],
    };
  }

  /** The first pass, and every pass up to the newest whose window holds the position; `from` skips what is known already. */
  function rows(run, pos, from) {
    const list = [];
    for (let k = from || 0; k <= run.last; k++) {
      const [start, stop] = run.passes[k].win;
      if (k === 0 || (pos >= start && pos < stop)) list.push(moment(run, k, pos));
    }
    return list;
  }

  /** Rank (1: lowest of `order`, NaN left out) and both neighbours' values, in words. */
  function ranked(words, name, order, values, i, number, more) {
    let rank = 1;
    let free = 0;
    for (const value of order) {
      if (Number.isNaN(value)) continue;
      free++;
      if (value < order[i]) rank++;
    }
    const side = (j) => (j >= 0 && j < values.length && !Number.isNaN(values[j]) ? number(values[j]) : "–");
    const sides = N.fill(words.sides, { left: side(i - 1), right: side(i + 1) });
    return N.fill(words[name], { rank, free: N.count(free, "position"), sides, ...more });
  }

  function drawn(run, k, pos, words) {
    const pass = run.passes[k];
    const here = moment(run, k, pos);
    const best = here.candidates[0] || null;
    const noisy = here.state === "noise" || here.state === "renoised";
    let name = "kept";
    if (noisy) name = here.reason === "renoised" ? "fresh" : "noise";
    else if (here.reason === "revealed" || here.reason === "resampled") name = best && here.token === best.id ? "drawn_best" : "drawn";
    const known = !Number.isNaN(here.confidence);
    const lines = [];
    if ((best || name === "kept" || name === "drawn_best") && known) {
      lines.push(
        N.fill(words[name], {
          token: N.quoted(run.piece(here.token)),
          p: N.percent(here.confidence),
          best: best ? N.quoted(run.piece(best.id)) : "",
          best_p: N.percent(best ? best.p : 0),
        }),
      );
    }
    if (known) {
      const free = run.confidence(k).map((value, i) => (pass.why[i] === "1" ? NaN : value));
      lines.push(ranked(words, "sure", free.map((value) => -value), free, pos - pass.win[0], N.percent, {}));
    }
    if (!Number.isNaN(here.entropy)) lines.push(N.fill(words.unsure, { h: N.fixed(here.entropy, 2) }));
    return lines.length ? lines : [words.quiet];
  }

  function doubted(run, k, pos, words, names) {
    const pass = run.passes[k];
    const i = pos - pass.win[0];
    const verify = pass.phase === "verify";
    const score = names[verify ? "ar_nll" : run.header.settings.corrector] || names.ar_nll;
    const scores = verify ? run.ar(k).map((value) => -value) : run.score(k);
    const number = (value) => `${N.close(value)} ${score.unit}`.trim();
    const lines = [];
    const known = !Number.isNaN(scores[i]);
    if (known) {
      const more = { short: score.short, score: number(scores[i]) };
      lines.push(ranked(words, "doubt", scores.map((value) => -value), scores, i, number, more));
    }
    if (verify) lines.push(words.undecided);
    else if (pass.cut !== null && known) {
      const chosen = run.states(k)[pos] === BlockViz.STATE_CODE.renoised;
      const name = chosen ? "over" : Math.round(scores[i] * 1000) / 1000 >= pass.cut ? "level" : "under";
      lines.push(N.fill(words[name], { cut: number(pass.cut), k: pass.k }));
    }
    const source = verify ? k : k - 1;
    const read = run.passes[source];
    if (read && read.phase === "verify" && read.win[0] === pass.win[0] && read.win[1] === pass.win[1]) {
      const best = run.top(source, pos)[0];
      if (best) {
        const name = best.id === run.tokens(source)[pos] ? "agrees" : "alternative";
        lines.push(N.fill(words[name], { best: N.quoted(run.piece(best.id)), best_p: N.percent(best.p) }));
      }
    }
    return lines.length ? lines : [words.quiet];
  }

  /** What a person did to the position in the edit that is pass k. */
  function edited(run, k, pos, words) {
    const edit = run.editAt(k);
    if (!edit) return [words.edit_none];
    const lines = [];
    if ((edit.force || []).some((pair) => pair[0] === pos)) {
      const p = run.confidence(k)[pos - run.passes[k].win[0]];
      const name = Number.isNaN(p) ? "edit_unknown" : "edit_forced";
      lines.push(N.fill(words[name], { token: N.quoted(run.piece(run.tokens(k)[pos])), p: N.percent(p) }));
    }
    if ((edit.renoise || []).includes(pos)) lines.push(words.edit_renoised);
    if ((edit.freeze || []).includes(pos)) lines.push(words.edit_frozen);
    if ((edit.release || []).includes(pos)) lines.push(words.edit_released);
    return lines.length ? lines : [words.edit_none];
  }

  /** What the decision about the position at pass k was compared with, in sentences. */
  function compared(run, k, pos) {
    const { words, scores } = BlockViz.panels.life;
    const pass = run.passes[k];
    if (run.states(k)[pos] === BlockViz.STATE_CODE.prompt) return [words.given];
    if (pass.phase === "start") return [words.prior];
    if (pass.phase === "edit") return edited(run, k, pos, words);
    if (pos < pass.win[0] || pos >= pass.win[1]) return [N.fill(words.elsewhere, { k, block: pass.block + 1 })];
    if (pass.phase === "commit") return [words.commit];
    return pass.phase === "denoise" || pass.phase === "propose" ? drawn(run, k, pos, words) : doubted(run, k, pos, words, scores);
  }

  BlockViz.life = { rows, compared };
})();
