/* The nodes of the stepping panel; what they do and say is assets/stepping.js. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);
  const N = BlockViz.numbers;
  const PER_ROW = 5;

  /** A button of the panel: its words and help by its name. */
  function maker(W, press) {
    return (name, look = "bv-pill", text = W[name]) => {
      const one = el("button", { type: "button", class: look, "data-testid": "step-" + name.replaceAll("_", "-"), title: W[name + "_help"] || null, text });
      one.addEventListener("click", press[name]);
      return one;
    };
  }

  /** The closed panel: an invitation, and what stands when a fork has run. */
  BlockViz.steppingInvitation = function (node, W, press) {
    const button = maker(W, press);
    const open = button("open");
    const invite = el("div", { class: "bv-step-invite" }, el("b", { text: W.invite }), el("p", { text: W.invite_help }), open);
    const status = el("p", { class: "bv-step-status", role: "status", "data-testid": "step-status" });
    const after = el("div", { class: "bv-step-after", hidden: true }, button("show"), button("go_on"));
    const body = el("div", { class: "bv-step-body", hidden: true });
    node.append(invite, body, status, after);
    return { open, invite, status, after, body };
  };

  /** The open panel: choosing and changing on the left; what is marked and what comes next on the right. */
  BlockViz.steppingPanel = function (body, W, press) {
    const button = maker(W, press);
    const help = (text, testid) => el("p", { class: "bv-step-help", text, "data-testid": testid });
    const line = (...parts) => el("div", { class: "bv-step-line" }, ...parts);

    const heading = el("h3", { tabindex: "-1" });
    const where = el("span", { class: "bv-step-where" });
    const close = button("close", "bv-button", "×");
    close.title = W.close;
    close.setAttribute("aria-label", W.close);
    const backWords = el("span");
    const backTo = button("back");
    const back = el("div", { class: "bv-step-back", hidden: true }, backWords, backTo, button("move"));

    const chosen = el("span", { class: "bv-step-chosen", "data-testid": "step-chosen" });
    const acts = { renoise: button("renoise"), freeze: button("freeze"), release: button("release") };
    const reason = help("");
    const input = el("input", { type: "text", maxlength: "200", "data-testid": "step-text", placeholder: W.force_input, "aria-label": W.force_input, title: W.force_help });
    const keep = el("input", { type: "checkbox", checked: true, "data-testid": "step-keep" });
    const forceButton = button("force");
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      press.force();
    });
    const offers = el("div", { class: "bv-step-offers", "data-testid": "step-candidates" });
    const left = el(
      "div",
      { class: "bv-step-col" },
      help(W.pick),
      line(chosen, button("block"), button("unpick")),
      line(acts.renoise, acts.freeze, acts.release, button("clear")),
      reason,
      line(input, forceButton, el("label", { class: "bv-step-keep", title: W.keep_help }, keep, W.keep)),
      help(W.force_help),
      offers,
    );

    const marks = el("ul", { class: "bv-step-marks", "data-testid": "step-marks" });
    const use = el("input", { type: "checkbox", "data-testid": "step-settings" });
    use.addEventListener("change", press.settings);
    const changes = help("", "step-changes");
    const next = el("p", { class: "bv-step-next", "data-testid": "step-next", role: "status" });
    const go = button("resume", "bvc-go");
    const stop = button("stop");
    stop.hidden = true;
    const right = el(
      "div",
      { class: "bv-step-col" },
      el("h4", { text: W.marked }),
      marks,
      el("label", { class: "bv-step-keep" }, use, W.settings),
      changes,
      el("h4", { text: W.next }),
      next,
      el("div", { class: "bv-step-line bv-step-go" }, go, stop, button("gaps")),
    );
    body.append(el("header", { class: "bv-step-head" }, heading, where, close), back, el("div", { class: "bv-step-columns" }, left, right));
    return { heading, where, back, backWords, backTo, chosen, acts, reason, input, keep, forceButton, offers, marks, use, changes, next, go, stop };
  };

  /** What the run recorded as candidates for a position, as buttons; `put(id)` hears which one is pressed. */
  BlockViz.steppingOffers = function (plan, pos, W, put) {
    const { run } = plan;
    const found = BlockViz.steppingPlan.candidates(run, plan.at, pos);
    const words = found ? (found.phase === "verify" ? W.candidates_ar : W.candidates) : W.candidates_none;
    const help = el("p", { class: "bv-step-help", text: N.fill(words, { position: pos + 1, k: found ? found.pass : plan.at }) });
    if (!found) return [help];
    const strip = el("div", { class: "bv-step-strip" });
    const here = plan.token(pos);
    for (const { id, p } of found.list.slice(0, PER_ROW)) {
      const one = el("button", { type: "button", class: "bv-step-offer", "aria-pressed": String(id === here), "data-token": id, title: N.fill(W.mark_force, { position: pos + 1, token: run.piece(id) }) });
      one.append(el("span", { class: "bv-step-piece", text: run.piece(id) }), el("small", { text: N.percent(p) }));
      one.addEventListener("click", () => put(id));
      strip.append(one);
    }
    return [help, strip];
  };
})();
