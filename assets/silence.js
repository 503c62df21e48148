/* BlockViz.Silence: notices that a run no longer says anything, asks the server whether it is still there, and ends the
   waiting in words. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const QUIET_MS = 12000; // without a word for so long the server is asked
  const ANSWER_MS = 6000; // it has so long to answer
  const FAILURES = 2; // and may miss this many questions but one
  const LONGEST_MS = 180000; // a run that says nothing for so long is over, whatever the server says
  const SETTLE_MS = 1200; // the form hears of an end before the player has its last passes

  class Silence {
    /** `address` is any file of the server; `say(words)` shows a state, `lost()` ends the waiting. */
    constructor({ address, words, say, lost }) {
      Object.assign(this, { address, words, say, lost });
      this._timer = 0;
      this._since = 0;
      this._failed = 0;
    }

    /** The run said something. */
    heard() {
      this._since = performance.now();
      this._failed = 0;
      this._wait(QUIET_MS);
    }

    /** The run is over. Players of `group` that have not seen its end by then never will. */
    end(group) {
      clearTimeout(this._timer);
      this._timer = 0;
      setTimeout(() => {
        if (!this._timer) for (const player of BlockViz.bus(group).players) player.breakOff();
      }, SETTLE_MS);
    }

    _wait(ms) {
      clearTimeout(this._timer);
      this._timer = setTimeout(() => this._ask(), ms);
    }

    async _ask() {
      const asked = this._timer;
      let answered = false;
      try {
        await fetch(this.address, { method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS) });
        answered = true;
      } catch (problem) {
        this._failed += 1;
      }
      if (asked !== this._timer) return; // something was heard meanwhile
      if (answered) this._failed = 0;
      const silent = performance.now() - this._since;
      if (this._failed >= FAILURES || silent > LONGEST_MS) return this.lost();
      const words = answered ? this.words.quiet : this.words.trouble;
      this.say(words.replace("{seconds}", Math.round(silent / 1000)));
      this._wait(answered ? QUIET_MS : 2000);
    }
  }

  BlockViz.Silence = Silence;
})();
