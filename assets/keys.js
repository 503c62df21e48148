/* The keyboard of the player on screen, and the list of keys that `?` opens. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const el = (...parts) => BlockViz.el(...parts);

  const KEYS = [
    ["Space", "play or pause"],
    ["← →", "one pass back, one forward"],
    ["Home End", "first pass, last pass"],
    ["[ ] or PgUp PgDn", "previous block, next block"],
    ["N n", "previous re-noising, next one"],
    ["C c", "previous change, next one: of the token in focus, or else of any"],
    ["− +", "slower, faster"],
    ["t", "pace: by pass, by NFE (network calls), real milliseconds"],
    ["l", "loop on or off"],
    ["↑ ↓, Shift ← →", "on the canvas: move between tokens"],
    ["Enter", "on a token: its whole life, pass by pass"],
    ["p", "present: full screen, the canvas and one view"],
    ["?", "this list"],
  ];
  const PRESENT_KEYS = [
    ["1 2 3 …", "the view beside the canvas"],
    ["v V", "next view, previous view"],
    ["0", "the canvas alone"],
    ["s", "side by side or stacked"],
    ["Esc or p", "leave"],
  ];

  const TAB_KEYS = ["ArrowLeft", "ArrowRight", "Home", "End", " "];

  let dialog = null;

  function table(title, keys) {
    const list = el("dl", { class: "bv-keys-list" });
    for (const [names, meaning] of keys) list.append(el("dt", {}, el("kbd", { text: names })), el("dd", { text: meaning }));
    return el("section", {}, el("h2", { text: title }), list);
  }

  function showKeys() {
    if (!dialog || !dialog.isConnected) {
      const close = el("button", { type: "button", class: "bv-pill", text: "Close" });
      dialog = el("dialog", { class: "bv-keys", "aria-label": "Keyboard shortcuts" });
      dialog.append(el("div", { class: "bv-keys-body" }, table("Keys", KEYS), table("While presenting", PRESENT_KEYS)), close);
      close.addEventListener("click", () => dialog.close());
      dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
      document.body.append(dialog);
    }
    if (dialog.open) dialog.close();
    else dialog.showModal();
  }

  function faster(bus, by) {
    const at = BlockViz.SPEEDS.indexOf(bus.speed) + by;
    if (at >= 0 && at < BlockViz.SPEEDS.length) bus.setSpeed(BlockViz.SPEEDS[at]);
  }

  function nextPace(bus) {
    const paces = Object.keys(BlockViz.clock.PACES);
    bus.setPace(paces[(paces.indexOf(bus.pace) + 1) % paces.length]);
  }

  const ACTIONS = {
    " ": (bus) => bus.toggle(),
    ArrowLeft: (bus) => bus.step(-1),
    ArrowRight: (bus) => bus.step(1),
    Home: (bus) => bus.first(),
    End: (bus) => bus.toEnd(),
    "[": (bus) => bus.block(-1),
    "]": (bus) => bus.block(1),
    PageUp: (bus) => bus.block(-1),
    PageDown: (bus) => bus.block(1),
    n: (bus) => bus.renoise(1),
    N: (bus) => bus.renoise(-1),
    c: (bus) => bus.change(1),
    C: (bus) => bus.change(-1),
    t: (bus) => nextPace(bus),
    l: (bus) => bus.setLoop(!bus.loop),
    p: (bus) => BlockViz.present.toggle(bus),
    "-": (bus) => faster(bus, -1),
    "+": (bus) => faster(bus, 1),
    "?": () => showKeys(),
  };

  /** True where a key belongs to what has the focus: typing, choosing, or pressing a button with space. */
  function taken(target, key) {
    if (!(target instanceof Element)) return false;
    if (target.closest(".bv-scrubber")) return false;
    if (target.isContentEditable) return true;
    if (target.closest("[role=tab]")) return TAB_KEYS.includes(key);
    if (target.closest("input, textarea, select, [role=listbox], [role=combobox], [role=slider], [role=radio], [role=menu], dialog, .modebar")) return key !== "?" || !target.closest("dialog");
    return key === " " && Boolean(target.closest("button, summary, a[href], [role=button]"));
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
    const act = (BlockViz.present.on && BlockViz.present.keys[event.key]) || ACTIONS[event.key];
    if (!act || taken(event.target, event.key) || (event.repeat && event.key === "p")) return;
    const bus = BlockViz.visibleBus();
    if (!bus) return;
    event.preventDefault();
    act(bus);
  });

  BlockViz.showKeys = showKeys;
  BlockViz.keysOpen = () => Boolean(dialog && dialog.open);
})();
