/* BlockViz.stepping: the panel under Explore's canvas in which a person steps into the run: chooses positions, marks what is to
   change, sees what the sampler would do next, and has the fork run in Compare. Words come from blockviz/ui/stepping_words.py. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);
  const N = BlockViz.numbers;
  const { gapped, named } = BlockViz.steppingPlan;
  const GROUP = "explore";
  const RESULT = "compare"; // where the fork runs
  const OWN = "stepping"; // without players

  class Stepping {
    constructor(root, options, emit) {
      this.root = root;
      this.options = options;
      this.words = options.words;
      this.emit = emit;
      this.plan = null; // while the panel is open
      this.picked = new Set();
      this.anchor = -1;
      this.busy = false;
      this.tries = 0; // forks that were asked for; an upload that belongs to none of them any more is forgotten
      this.answered = 0;
      const say = (words) => this.say(words);
      this.silence = new BlockViz.Silence({ words: options.silence, address: options.alive, say, lost: () => this.over() });
      this.node = el("section", { class: "bv-step", "data-testid": "stepping", "aria-label": this.words.invite });
      this._invitation();
      root.append(this.node);
      this.bus = BlockViz.bus(GROUP);
      this._pressed = this._pressed.bind(this);
      this.bus.join(this.bus.transports, this);
    }

    destroy() {}

    get player() {
      return this.bus.loaded[0] || null;
    }

    // ---- closed: one line

    _invitation() {
      const press = { open: () => this.begin(), show: () => this._show(), go_on: () => this._goOn() };
      Object.assign(this, BlockViz.steppingInvitation(this.node, this.words, press));
    }

    // ---- open: a plan for one pass

    begin() {
      const { player } = this;
      if (!player || this._blocked()) return;
      if (this.bus.moving) this.bus.pause();
      player.inspector.close();
      if (!this.made) this._make();
      this.body.hidden = false;
      this.invite.hidden = true;
      this.say("");
      this._aim(player, player.shown < 0 ? player.run.last : player.shown);
      const { grid } = player.canvas;
      grid.addEventListener("click", this._pressed, true);
      grid.addEventListener("keydown", this._pressed, true);
      grid.setAttribute("aria-multiselectable", "true");
      player.frame.classList.add("is-stepping");
      this.heading.focus({ preventScroll: true });
    }

    leave() {
      this._unmark();
      const { player } = this;
      if (player) {
        const { grid } = player.canvas;
        grid.removeEventListener("click", this._pressed, true);
        grid.removeEventListener("keydown", this._pressed, true);
        grid.removeAttribute("aria-multiselectable");
        player.frame.classList.remove("is-stepping");
      }
      this.plan = null;
      this.picked.clear();
      this.body.hidden = true;
      this.invite.hidden = false;
    }

    /** Make the edit one after pass k. */
    _aim(player, k) {
      this.run = player.run;
      this._id = player.run.id;
      this.plan = new BlockViz.steppingPlan.Plan(player.run, k);
      this.picked.clear();
      this.anchor = -1;
      this._tell();
    }

    _blocked() {
      const { player } = this;
      if (!player) return true;
      return player.live;
    }

    _make() {
      this.made = true;
      const press = {
        close: () => this._closed(),
        back: () => this.player.show(this.plan.at),
        move: () => this._aim(this.player, this.player.shown),
        block: () => this._pick(this.plan.open()),
        unpick: () => this._pick([]),
        renoise: () => this._act("renoise"),
        freeze: () => this._act("freeze"),
        release: () => this._act("release"),
        clear: () => {
          this.plan.clear(this.picked.size ? this.picked : null);
          this._tell();
        },
        force: () => this._force(),
        settings: () => this._tell(),
        resume: () => this._resume(),
        stop: () => this._stop(),
        gaps: () => this._gaps(),
      };
      Object.assign(this, BlockViz.steppingPanel(this.body, this.words, press));
    }

    _closed() {
      this.leave();
      this.say("");
      this.open.focus({ preventScroll: true });
    }

    // ---- choosing positions on the canvas

    _pressed(event) {
      const cell = event.target.closest(".bv-cell");
      if (!cell || !this.plan || this.player.shown !== this.plan.at) return;
      if (event.type === "keydown" && event.key !== " ") return;
      event.preventDefault();
      event.stopImmediatePropagation();
      const pos = Number(cell.dataset.pos);
      const all = new Set(this.picked);
      if (event.shiftKey && this.anchor >= 0) {
        for (let p = Math.min(pos, this.anchor); p <= Math.max(pos, this.anchor); p++) all.add(p);
      } else if (all.has(pos)) all.delete(pos);
      else all.add(pos);
      this.anchor = pos;
      this._pick(all);
      if (event.type === "click") cell.focus({ preventScroll: true });
    }

    _pick(positions) {
      this.picked = new Set([...positions].filter((pos) => this.plan.may(pos)));
      if (!this.picked.has(this.anchor)) this.anchor = this.picked.size ? Math.max(...this.picked) : -1;
      this._tell();
    }

    // ---- changes

    _act(name) {
      this.plan.act(name, this.picked);
      this._tell();
    }

    _force() {
      const text = this.input.value.trim();
      if (!text || !this.picked.size) return this.input.focus();
      this._put(Math.min(...this.picked), { text });
      this.input.value = "";
    }

    _put(pos, what) {
      this.plan.put(pos, what, this.keep.checked);
      this._tell();
    }

    /** The settings of the form that differ from the run's, where they are to be taken over; null where not. */
    _settings() {
      const form = BlockViz.formOf && BlockViz.formOf(GROUP);
      if (!form || !this.use.checked) return null;
      return BlockViz.steppingSettings.taken(form.read(), this.run, this.plan.at, this.options.changeable);
    }

    // ---- what the panel says

    _tell() {
      const { plan, words: W, run } = this;
      if (!plan) return;
      const pass = run.passes[plan.at];
      BlockViz.write(this.heading, N.fill(W.title, { k: plan.at, last: run.last }));
      const phase = BlockViz.WORDS.phase[pass.phase] || pass.phase;
      BlockViz.write(this.where, pass.phase === "start" ? W.after_start : N.fill(W.after, { phase, step: pass.step + 1, block: pass.block + 1 }));
      BlockViz.write(this.chosen, this.picked.size ? N.fill(W.picked, { positions: named(this.picked) }) : W.picked_none);
      const none = this.picked.size === 0;
      this.acts.renoise.disabled = none || plan.refusal !== "";
      this.acts.freeze.disabled = none;
      this.acts.release.disabled = none || ![...this.picked].some((pos) => plan.held.has(pos) || plan.freeze.has(pos));
      this.forceButton.disabled = none;
      const noise = !none && [...this.picked].every((pos) => plan.noisy(pos) && !plan.force.has(pos));
      if (noise) this.acts.renoise.disabled = this.acts.freeze.disabled = true;
      BlockViz.write(this.reason, plan.refusal ? W[plan.refusal] : noise ? W.noise_already : "");
      this._offer();
      this._list();
      this._changes();
      this._foresee();
      this._mark();
    }

    _offer() {
      const pos = this.picked.has(this.anchor) ? this.anchor : Math.min(...this.picked);
      this.offers.replaceChildren(...(this.picked.size ? BlockViz.steppingOffers(this.plan, pos, this.words, (id) => this._put(pos, { id })) : []));
    }

    _list() {
      const lines = BlockViz.steppingMarks.lines(this.plan, this.words);
      this.marks.replaceChildren(...lines.map(([name, text]) => el("li", { "data-mark": name, text })));
    }

    _changes() {
      const found = this._settings();
      BlockViz.write(this.changes, found ? BlockViz.steppingSettings.told(found, this.run, this.plan.at, this.words, this.options.labels) : "");
    }

    _foresee() {
      const step = (this.step = BlockViz.steppingPlan.next(this.plan));
      BlockViz.write(this.next, BlockViz.steppingMarks.foreseen(this.plan, step, this.words));
      this.next.dataset.call = step.call ? "yes" : "no";
    }

    // ---- on the canvas

    _unmark() {
      BlockViz.steppingMarks.clear(this.marked || []);
      this.marked = [];
    }

    /** Marks stand on the cells while the canvas shows the pass that the edit follows. */
    _mark() {
      this._unmark();
      const { plan, player, run } = this;
      const away = !player || player.shown !== plan.at;
      this.back.hidden = !away;
      if (away) {
        BlockViz.write(this.backWords, N.fill(this.words.elsewhere, { shown: player ? player.shown : 0, k: plan.at }));
        BlockViz.write(this.backTo, N.fill(this.words.back, { k: plan.at }));
        return;
      }
      const { cells } = player.canvas;
      this._cells = cells;
      this.marked = BlockViz.steppingMarks.put(plan, cells, this.picked, new Set(this.step.positions || []));
    }

    /** One frame of the bus: another run, another pass, or cells that were made anew. */
    draw() {
      const { player } = this;
      if (player && this.node.parentNode !== player.frame) player.frame.insertBefore(this.node, player.inspector.node);
      this.node.hidden = !player;
      if (!player) return;
      this.open.disabled = player.live;
      this.open.title = player.live ? this.words.live : this.words.invite_help;
      if (!this.plan) return;
      if (player.run !== this.run || player.run.id !== this._id) return this.leave();
      if (this._shown !== player.shown || this._cells !== player.canvas.cells) {
        this._shown = player.shown;
        // Without a change marked, the edit goes along with the canvas.
        if (this.plan.empty && this.plan.at !== player.shown && player.shown >= 0) return this._aim(player, player.shown);
        this._mark();
      }
    }

    // ---- going on

    say(words, wrong) {
      BlockViz.write(this.status, words);
      this.status.classList.toggle("is-wrong", Boolean(wrong));
    }

    /** `broken`: no more passes of the fork will come, whether it has an end or not. */
    _busy(busy, broken) {
      this.busy = busy;
      if (busy) this.silence.heard();
      else this.silence.end(broken && this.both ? RESULT : OWN); // before the fork shows, the sides hold other runs
      if (!this.made) return;
      this.go.disabled = busy;
      this.stop.hidden = !busy;
    }

    async _resume() {
      if (this.busy || !this.plan) return;
      const { words: W, options, player } = this;
      const edit = this.plan.edit((this._settings() || { changed: {} }).changed);
      const mine = ++this.tries;
      this.both = this.stopping = this.begun = false;
      this.sending = true;
      this._busy(true);
      this.after.hidden = true;
      this.say(W.sending);
      const answer = await BlockViz.files.read(new File([player.text], "run"), { ...options, words: options.reading });
      if (mine !== this.tries) return; // stopped, or given up, while it was sent
      this.sending = false;
      if (answer.error) {
        this._busy(false);
        return this.say(answer.error, true);
      }
      this.sent = edit.at + 1;
      this.emit("fork", { token: answer.token, edit });
      this.say(W.running);
    }

    _stop() {
      if (this.sending) return this._end(this.words.unsent);
      this.stopping = true;
      this.emit("stop", {});
    }

    /** An answer of the server: {n, state, message, errors}. */
    feed(text) {
      if (!text) return;
      const answer = JSON.parse(text);
      if (answer.n === this.answered) return;
      this.answered = answer.n;
      if (answer.state === "error") {
        this._busy(false, true);
        return this.say([answer.message, ...answer.errors.map((error) => error.message)].filter(Boolean).join(" "), true);
      }
      if (answer.state !== "done") {
        if (!this.busy) return; // a late line of a fork that was given up
        this.silence.heard();
        // A stop asked for before the server had begun reached nobody: it is asked for again.
        if (this.stopping && !this.begun) this.emit("stop", {});
        this.begun = true;
      }
      this.say(answer.message || this.words.running);
      if (answer.runs.length && !this.both) {
        this.both = true;
        this._show();
      }
      if (answer.state !== "done") return;
      this._busy(false);
      BlockViz.bus(RESULT).seek(this.sent);
      this.after.hidden = false;
      // Once the players have their last passes, Compare's form and the address say what stands there.
      requestAnimationFrame(() => requestAnimationFrame(() => BlockViz.formFollows(RESULT)));
    }

    /** Parent and fork, from the top of their canvases. */
    _show() {
      BlockViz.compare.show();
      const [bar, pair] = ["#compare-transport", "#compare .bv-pair"].map((name) => document.querySelector(name));
      if (bar && pair) window.scrollBy({ top: pair.getBoundingClientRect().top - bar.offsetHeight - 8 });
    }

    /** The event is over, however it ended. */
    over() {
      if (this.busy) this._end(this.words.lost, true);
    }

    _end(words, wrong) {
      this.tries++;
      this.sending = false;
      this._busy(false, true);
      this.say(words, wrong);
    }

    /** The fork becomes the run on screen here, so that it can be stepped into in its turn. */
    _goOn() {
      const fork = BlockViz.compare.players().b;
      if (!fork || !this.player || !fork.run.header) return;
      if (BlockViz.formBusy(GROUP)) return this.say(this.words.live, true);
      this.leave();
      this.after.hidden = true;
      this.say("");
      const { edits } = fork.run.header.fork || { edits: [] };
      BlockViz.openInExplore(fork.text, edits.length ? edits[edits.length - 1].at + 1 : this.bus.pass, "", "");
    }

    /** The text on the canvas, with gaps where positions are chosen, becomes the prompt. */
    _gaps() {
      const prompt = document.querySelector("#explore-form textarea");
      if (!prompt) return;
      if (!this.picked.size) return this.say(this.words.picked_none + ".", true);
      prompt.value = gapped(this.run, this.plan.at, this.picked);
      prompt.dispatchEvent(new Event("input", { bubbles: true }));
      this.say(this.words.gaps_done);
    }
  }

  BlockViz.stepping = { panel: null, over: () => BlockViz.stepping.panel && BlockViz.stepping.panel.over() };
  BlockViz.parts.stepping = function (root, options, emit) {
    const panel = new Stepping(root, options, emit);
    BlockViz.stepping.panel = panel;
    return { feed: (text) => panel.feed(text) };
  };
})();
