/* BlockViz.steppingMarks: a plan in words, and as marks on the canvas. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const N = BlockViz.numbers;
  const { named } = BlockViz.steppingPlan;

  /** What was put at a position, quoted. */
  function quoted(plan, pos) {
    const put = plan.force.get(pos);
    return put.text !== undefined ? `“${BlockViz.isolated(put.text)}”` : N.quoted(plan.run.piece(put.id));
  }

  /** [[name, sentence], ...]: every change of the plan. */
  function lines(plan, W) {
    const found = [];
    for (const pos of [...plan.force.keys()].sort((a, b) => a - b)) {
      const name = plan.freeze.has(pos) || plan.state(pos) === "unopened" ? "mark_force_kept" : "mark_force";
      found.push([name, N.fill(W[name], { position: pos + 1, token: quoted(plan, pos) })]);
    }
    for (const name of ["renoise", "freeze", "release"]) {
      const rest = [...plan[name]].filter((pos) => name !== "freeze" || !plan.force.has(pos));
      if (rest.length) found.push(["mark_" + name, N.fill(W["mark_" + name], { positions: named(rest) })]);
    }
    return found.length ? found : [["marked_none", W.marked_none]];
  }

  /** The text that a block would be finished with. */
  function finished(plan, { start, stop }) {
    const pieces = [];
    for (let pos = start; pos < stop; pos++) {
      if (plan.state(pos) === "prompt") continue;
      const put = plan.force.get(pos);
      pieces.push(put && put.text !== undefined ? put.text : plan.run.piece(plan.token(pos)));
    }
    return `“${BlockViz.isolated(pieces.join(" "))}”`;
  }

  /** What the sampler does next, in a sentence that says whether it takes a network call. */
  function foreseen(plan, step, W) {
    const values = { count: N.count(step.count || 0, "position"), block: step.block };
    if (step.positions) Object.assign(values, { positions: named(step.positions) || "–", before: named(step.before) || "–" });
    if (step.position !== undefined) values.token = quoted(plan, step.position);
    if (step.name === "next_commit") values.text = finished(plan, step);
    const what = N.fill(W[step.name], values);
    return step.name === "next_end" ? what + "." : N.fill(step.call ? W.next_call : W.next_free, { what });
  }

  function clear(nodes) {
    for (const node of nodes) {
      node.classList.remove("is-picked", "is-next");
      for (const name of ["data-edit", "data-edit-text", "aria-selected"]) node.removeAttribute(name);
    }
  }

  /** Mark the cells: what is picked, what changes, and what the corrector would choose; gives back the marked nodes. */
  function put(plan, cells, picked, coming) {
    const marked = [];
    for (let pos = 0; pos < cells.length; pos++) {
      const kind = ["force", "renoise", "release", "freeze", "held"].find((name) => plan[name].has(pos));
      if (!kind && !picked.has(pos) && !coming.has(pos)) continue;
      const { node } = cells[pos];
      marked.push(node);
      node.classList.toggle("is-picked", picked.has(pos));
      node.classList.toggle("is-next", coming.has(pos));
      if (picked.has(pos)) node.setAttribute("aria-selected", "true");
      if (kind) node.dataset.edit = kind;
      const forced = plan.force.get(pos);
      if (forced) node.dataset.editText = forced.text !== undefined ? forced.text : plan.run.piece(forced.id);
    }
    return marked;
  }

  BlockViz.steppingMarks = { clear, foreseen, lines, put };
})();
