/* Measures inside the page: every time is taken from an input event to the frame that shows its effect. */
window.probe = (() => {
  "use strict";
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  /* A message posted in an animation frame arrives after that frame has been painted. */
  function painted() {
    const channel = new MessageChannel();
    return new Promise((done) => {
      channel.port1.onmessage = done;
      channel.port2.postMessage(0);
    });
  }

  async function until(condition, ms) {
    const end = performance.now() + ms;
    while (!condition()) {
      if (performance.now() > end) throw new Error("waited " + ms + " ms for " + condition);
      await frame();
    }
    await painted();
  }

  function player(id) {
    return document.querySelector("#" + id + " .bv-root").__bvPlayer;
  }

  const views = (one) => one.cards.all.filter((view) => view.it && window.BlockViz.visible(view.mount));
  const settled = (one, k) => {
    const wanted = Math.min(k, one.run.last);
    return one.shown === wanted && views(one).every((view) => view.drawn === wanted);
  };
  const scrubber = () => document.querySelector('[data-testid="scrubber"]');

  return {
    /* Show the runs `texts` in the players `ids`; the number of views of each, and milliseconds until all are painted. */
    async load(ids, texts) {
      const players = ids.map(player);
      const begun = performance.now();
      players.forEach((one, i) => one.feed(texts[i]));
      players[0].bus.seek(0);
      await until(() => players.every((one) => settled(one, 0)), 60000);
      return { views: players.map((one) => views(one).length), ms: performance.now() - begun };
    },

    /* MiB that the page's scripts hold; meaningful with Chromium's --enable-precise-memory-info. */
    heap: () => performance.memory.usedJSHeapSize / 2 ** 20,

    length: (id) => player(id).run.length,

    /* Move the scrubber to each of `passes`; milliseconds until canvas and all views are painted, and of canvas script. */
    async scrub(ids, passes) {
      const players = ids.map(player);
      const times = [];
      const script = [];
      for (const k of passes) {
        await pause(30 + (k % 7));
        const begun = performance.now();
        scrubber().value = k;
        scrubber().dispatchEvent(new Event("input", { bubbles: true }));
        await until(() => players.every((one) => settled(one, k)), 20000);
        times.push(performance.now() - begun);
        script.push(Math.max(...players.map((one) => one.timing.canvas)));
      }
      return { times, script };
    },

    /* Frames per second while the run plays at eight times its speed. */
    async playback(id, ms) {
      const bus = player(id).bus;
      bus.first();
      bus.setSpeed(8);
      bus.play();
      await frame();
      const begun = performance.now();
      let frames = 0;
      while (performance.now() - begun < ms && bus.playing) {
        await frame();
        frames += 1;
      }
      const seconds = (performance.now() - begun) / 1000;
      bus.pause();
      bus.setSpeed(1);
      return frames / seconds;
    },

    /* Click Generate; milliseconds until the first pass after the start is painted. */
    async firstPass() {
      const before = window.BlockViz.state().run;
      const begun = performance.now();
      document.querySelector('[data-testid="generate"]').click();
      const live = () => {
        const state = window.BlockViz.state();
        return state.run !== before && state.players[0].shown >= 1;
      };
      await until(live, 60000);
      return performance.now() - begun;
    },

    /* Click Generate and follow the run to its end: its passes, how many of them were painted, seconds from the first. */
    async live(id) {
      const one = player(id);
      const before = one.run.id;
      const draw = one.canvas.draw.bind(one.canvas);
      const seen = new Set();
      let begun = 0;
      one.canvas.draw = (k) => {
        draw(k);
        if (one.run.id === before) return;
        begun = begun || performance.now();
        seen.add(k);
      };
      document.querySelector('[data-testid="generate"]').click();
      await until(() => one.run.id !== before && one.run.end && one.shown === one.run.last, 600000);
      delete one.canvas.draw;
      return { passes: one.run.passes.length, seen: seen.size, seconds: (performance.now() - begun) / 1000 };
    },

    /* Milliseconds from a step until Plotly's own figures show it as well. */
    async rest(id, passes) {
      const one = player(id);
      const times = [];
      for (const k of passes) {
        await pause(400);
        const begun = performance.now();
        one.show(k);
        await until(() => settled(one, k) && views(one).every(({ it }) => !it._behind), 20000);
        times.push(performance.now() - begun);
      }
      return times;
    },

    /* Click Generate, wait for `passes` passes, click Stop; milliseconds until the end is shown and Generate can be clicked. */
    async stop(id, passes) {
      const one = player(id);
      const before = one.run.id;
      const button = document.querySelector('[data-testid="generate"]');
      button.click();
      await until(() => one.run.id !== before && one.run.passes.length >= passes, 120000);
      const begun = performance.now();
      const had = one.run.passes.length;
      document.querySelector('[data-testid="stop"]').click();
      await until(() => one.run.end && one.shown === one.run.last && !button.disabled, 120000);
      return { ms: performance.now() - begun, more: one.run.passes.length - had };
    },

    /* Resolves when the run has ended and Generate can be clicked again. */
    async ended() {
      const button = document.querySelector('[data-testid="generate"]');
      await until(() => window.BlockViz.state().ended && !button.disabled, 120000);
    },
  };
})();
