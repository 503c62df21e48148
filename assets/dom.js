/* Small DOM helpers and the words every part of the player shares. Token text only ever passes through textContent. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  /** Make an element. Attributes are set with setAttribute; `text` becomes textContent; children are nodes or strings. */
  BlockViz.el = function (tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name === "text") node.textContent = value;
      else node.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children) if (child !== null && child !== undefined) node.append(child);
    return node;
  };

  /** Write text only when it differs, so that an unchanged line costs no layout. */
  BlockViz.write = function (node, text) {
    if (node.__bvText === text) return;
    node.__bvText = text;
    const only = node.firstChild;
    if (only && only === node.lastChild && only.nodeType === Node.TEXT_NODE) only.data = text;
    else node.textContent = text;
  };

  /** Set or remove an attribute only when it differs. */
  BlockViz.mark = function (node, name, value) {
    if (value === null || value === undefined || value === false) {
      if (node.hasAttribute(name)) node.removeAttribute(name);
    } else if (node.getAttribute(name) !== String(value)) {
      node.setAttribute(name, String(value));
    }
  };

  /** Whether an element has a box; asking for its styles is enough, a layout would cost far more. */
  BlockViz.visible = (node) => node.isConnected && (node.checkVisibility ? node.checkVisibility() : node.getClientRects().length > 0);
  BlockViz.isDark = () => document.body.classList.contains("dark");
  BlockViz.calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

  BlockViz.WORDS = {
    phase: {
      start: "start",
      denoise: "denoise",
      propose: "propose",
      verify: "verify",
      renoise: "re-noise",
      commit: "commit",
      edit: "edit",
    },
    phaseHelp: {
      start: "The prompt is in place, everything else is the prior (pure noise).",
      denoise: "One network call; some positions take a token from its prediction.",
      propose: "One network call; a clean proposal for the whole block.",
      verify: "One network call in autoregressive mode; it scores the proposal token by token.",
      renoise: "No network call; positions go back to noise: those with the highest scores, or those around a seam.",
      commit: "No network call; the block is finished and enters the KV cache with the next pass.",
      edit: "No network call; a person stepped in and changed the run, which goes on from here: a fork.",
    },
    state: {
      prompt: "prompt",
      unopened: "block not opened yet",
      noise: "noise",
      proposed: "proposed in this pass",
      revealed: "new in this pass",
      kept: "draft, kept",
      renoised: "re-noised in this pass",
      committed: "committed",
      after_end: "after the end token",
    },
    why: {
      none: "not changed",
      prompt: "prompt",
      revealed: "taken from the prediction",
      resampled: "replaced by a new draw from the prediction",
      renoised: "turned back to noise",
      noise: "drawn from the noise again",
      kept: "kept",
      forced: "put there by a person",
      prior: "drawn from the prior",
    },
    /* Short names of what decided a re-noising; the long help lives with the settings. */
    score: {
      ar_nll: { name: "AR −log p", unit: "nats" },
      ar_gap: { name: "AR gap to its own best", unit: "nats" },
      ar_entropy: { name: "AR entropy", unit: "nats" },
      kld: { name: "KL divergence AR ‖ diffusion", unit: "nats" },
      reverse_kld: { name: "KL divergence diffusion ‖ AR", unit: "nats" },
      tvd: { name: "total variation AR, diffusion", unit: "" },
      entropy: { name: "diffusion entropy", unit: "nats" },
      confidence: { name: "confidence score", unit: "" },
      margin: { name: "margin score", unit: "" },
      random: { name: "random order", unit: "" },
      none: { name: "score", unit: "" },
    },
    predictor: { confident: "Confident", threshold: "Threshold" },
    corrector: {
      ar_nll: "ARPC",
      entropy: "EIPC",
      random: "random corrector",
      ar_gap: "corrector AR gap",
      ar_entropy: "corrector AR entropy",
      kld: "corrector KL",
      reverse_kld: "corrector reverse KL",
      tvd: "corrector TV",
      confidence: "corrector confidence",
      margin: "corrector margin",
    },
  };

  /* What the network sees, where that is not the blocks before. */
  const SEES = { canvas: "whole canvas", bidirectional: "both sides" };

  /** The short name of a sampler: "AR", "ARPC", "Confident". */
  function samplerOf({ predictor, corrector }) {
    if (predictor === "autoregressive") return "AR";
    return BlockViz.WORDS.predictor[predictor] || BlockViz.WORDS.corrector[corrector] || "Ancestral";
  }

  /** The words of a run's file name: model, sampler, and what it sees. */
  BlockViz.fileWords = function ({ model, settings }) {
    const s = settings || {};
    const sees = s.predictor === "autoregressive" ? "" : SEES[s.context] || "";
    return `${String((model && model.name) || "").slice(0, 200)} ${samplerOf(s)} ${sees}`;
  };

  /** One line that names a run: "math-masked · ARPC, block 16, 8 steps". */
  BlockViz.describe = function (header) {
    const s = header.settings || {};
    const ar = s.predictor === "autoregressive";
    const parts = [samplerOf(s)];
    if (!ar) {
      if (s.context === "canvas") parts.push(SEES.canvas);
      else {
        parts.push("block " + (s.block_size || header.block_size));
        if (s.context === "bidirectional") parts.push(SEES.bidirectional);
        if (s.seams === "overlap") parts.push("overlap " + s.overlap);
        if (s.seams === "renoise") parts.push("seams of " + s.seam_width);
      }
      if (s.predictor === "threshold") parts.push("from " + s.threshold);
      else if (s.steps !== undefined) parts.push(s.steps + (s.steps === 1 ? " step" : " steps"));
    }
    const edits = header.fork ? header.fork.edits : [];
    const fork = edits.length ? " · fork from pass " + edits[edits.length - 1].at : "";
    return ((header.model && header.model.name) || "model") + " · " + parts.join(", ") + fork;
  };
})();
