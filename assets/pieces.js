/* BlockViz.pieces: what there is to know about the text of a token before it is drawn: how wide it is, whether it is safe
   on a line with others, and which character it makes together with its neighbours. Pieces come from Python
   (blockviz/models/pieces.py): ␣ ⏎ ⇥, ⟨E2⟩ for a byte that is no text alone, ⟨200D⟩ for a character that leaves no ink. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const ASCII = /^[\x20-\x7e]*$/;
  const GLYPH = 0.605; // width of a monospaced glyph in em
  const MEASURED_PX = 20;
  const REACH = 28; // positions a joined character may span to either side; a family emoji has 25 bytes
  const LONGEST = 512;
  const CODED = /⟨([0-9A-F]{2}|[0-9A-F]{4,6})⟩/gu;
  const SPACES = { "␣": " ", "⏎": "\n", "⇥": "\t" };
  /* What a trace from elsewhere may bring along and Python's pieces never have: it would hide or reorder text. */
  const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu;

  /* Letters that join: space between or taken out between them would tear them apart. */
  const CURSIVE = /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Mandaic}\p{Script=Adlam}]/u;

  let ruler = null;

  /** Width of a piece in monospaced glyphs; other scripts and emoji are measured. */
  function width(piece) {
    if (ASCII.test(piece)) return piece.length;
    if (!ruler) {
      ruler = document.createElement("canvas").getContext("2d");
      const family = getComputedStyle(document.body).getPropertyValue("--bv-mono") || "monospace";
      ruler.font = `700 ${MEASURED_PX}px ${family}`;
    }
    return ruler.measureText(piece).width / (GLYPH * MEASURED_PX);
  }

  /** The text so that its direction of writing does not move what stands beside it on a line of plain text. */
  BlockViz.isolated = (text) => (ASCII.test(text) ? text : `\u2068${text}\u2069`);

  /** A piece as it may be shown, whoever wrote the trace: one line, nothing unseen, of bounded length. */
  function clean(piece) {
    const seen = piece.replace(UNSEEN, (c) => `⟨${c.codePointAt(0).toString(16).toUpperCase().padStart(c < "\x80" ? 2 : 4, "0")}⟩`);
    return seen.length > LONGEST ? Array.from(seen).slice(0, LONGEST - 1).join("") + "…" : seen;
  }

  /** The bytes a piece stands for. */
  function bytes(piece) {
    const list = [];
    const text = (part) => {
      const plain = part.replace(/[␣⏎⇥]/gu, (sign) => SPACES[sign]).replace(/^◌(?=\p{M})/u, "");
      list.push(...new TextEncoder().encode(plain));
    };
    let from = 0;
    for (const match of piece.matchAll(CODED)) {
      text(piece.slice(from, match.index));
      from = match.index + match[0].length;
      const number = parseInt(match[1], 16);
      if (match[1].length === 2) list.push(number);
      else list.push(...new TextEncoder().encode(String.fromCodePoint(Math.min(number, 0x10ffff))));
    }
    text(piece.slice(from));
    return list;
  }

  /** Read UTF-8; a byte that belongs to no character becomes U+FFFD. Returns the text and, per UTF-16 unit, its first byte. */
  function decode(list) {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    let text = "";
    const starts = [];
    for (let at = 0; at < list.length; ) {
      const lead = list[at];
      let size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      let character;
      try {
        character = decoder.decode(Uint8Array.from(list.slice(at, at + size)));
      } catch (problem) {
        character = "\ufffd";
        size = 1;
      }
      for (let i = 0; i < character.length; i++) starts.push(at);
      text += character;
      at += size;
    }
    starts.push(list.length);
    return { text, starts };
  }

  function clusters(text) {
    if (Intl.Segmenter) return Array.from(new Intl.Segmenter("und", { granularity: "grapheme" }).segment(text));
    let index = 0;
    return Array.from(text, (segment) => ({ segment, index: (index += segment.length) - segment.length }));
  }

  /** The token a cell shows: a re-noised one shows what was thrown back. */
  function shown(run, k, pos) {
    const thrown = k > 0 && run.states(k)[pos] === BlockViz.STATE_CODE.renoised;
    return run.tokens(thrown ? k - 1 : k)[pos];
  }

  /** What the token at `pos` is only a part of after pass k: {first, last, text} with the positions that make it, or null. */
  function joined(run, k, pos) {
    const opaque = (p) => p < 0 || p >= run.length || shown(run, k, p) === run.maskId;
    if (opaque(pos)) return null;
    let first = pos;
    let last = pos;
    while (first > pos - REACH && !opaque(first - 1)) first--;
    while (last < pos + REACH && !opaque(last + 1)) last++;
    const list = [];
    const owner = [];
    for (let p = first; p <= last; p++) {
      for (const byte of bytes(run.piece(shown(run, k, p)))) {
        list.push(byte);
        owner.push(p);
      }
    }
    const { text, starts } = decode(list);
    const found = { first: pos, last: pos, text: "" };
    for (const { segment, index } of clusters(text)) {
      const from = owner[starts[index]];
      const to = owner[starts[index + segment.length] - 1];
      if (from === to || from > pos || to < pos || segment.includes("\ufffd") || segment.trim() === "") continue;
      found.first = Math.min(found.first, from);
      found.last = Math.max(found.last, to);
      found.text += segment;
    }
    return found.text ? found : null;
  }

  BlockViz.pieces = { GLYPH, width, cursive: (piece) => CURSIVE.test(piece), plain: (piece) => ASCII.test(piece), clean, joined };
})();
