/* BlockViz.files: runs as files, in the browser. What is on screen is saved here, packed by the browser itself; what is opened
   goes to the server, whose strict reader decides; exports are made there and come back as bytes with their progress. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const LONGEST_NAME = 60;

  const fill = (words, values) => words.replace(/\{(\w+)\}/g, (all, name) => (name in values ? values[name] : all));

  /** The finished runs on screen in a tab, from the left: [{text, header}]. */
  function onScreen(group) {
    return BlockViz.bus(group)
      .used.filter((player) => player.run.end !== null && player.run.error === null)
      .map((player) => ({ text: player.text, header: player.run.header }));
  }

  /** A file's name for a run, of plain characters: math-masked-arpc-seed-40. As `slug` of blockviz/export/parcel.py. */
  function nameOf(header) {
    const bare = (text) => text.replace(/^-+|-+$/g, "");
    const words = bare(bare(BlockViz.fileWords(header).toLowerCase().replace(/[^a-z0-9]+/g, "-")).slice(0, LONGEST_NAME));
    return `${words || "run"}-seed-${Number((header.settings || {}).seed) || 0}`;
  }

  /** The bytes of texts one after another, gzip-compressed where the browser can. Resolves to [bytes, whether packed]. */
  async function packed(texts) {
    const plain = new Blob(texts);
    if (!window.CompressionStream) return [new Uint8Array(await plain.arrayBuffer()), false];
    const stream = plain.stream().pipeThrough(new CompressionStream("gzip"));
    return [new Uint8Array(await new Response(stream).arrayBuffer()), true];
  }

  /** Hand bytes to the visitor as a download. */
  function download(name, parts, media) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(parts, { type: media }));
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  /** Save the runs as one file; resolves to its name and size in bytes. */
  async function save(runs) {
    const [bytes, zipped] = await packed(runs.map((run) => run.text));
    const name = runs.length === 1 ? nameOf(runs[0].header) : `blockviz-${runs.length}-runs`;
    const file = name + (zipped ? ".jsonl.gz" : ".jsonl");
    download(file, [bytes], zipped ? "application/gzip" : "application/x-ndjson");
    return { name: file, size: bytes.length };
  }

  /** Send a file to the strict reader; resolves to {token, runs} or {error}. */
  async function read(file, options) {
    const { words } = options;
    const mega = (bytes) => (bytes / 1e6).toFixed(1).replace(/\.0$/, "");
    if (file.size > options.largest) {
      return { error: fill(words.too_large, { file: file.name, size: mega(file.size), most: mega(options.largest) }) };
    }
    let answer;
    try {
      const response = await fetch(options.open, { method: "POST", body: await file.arrayBuffer(), headers: { "content-type": options.media } });
      answer = await response.json();
    } catch (problem) {
      return { error: words.no_answer };
    }
    return answer.error ? { error: fill(words.refused, { file: file.name, reason: answer.error }) } : answer;
  }

  /** The JSON values of a response's lines as they arrive. */
  async function* lines(response) {
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const whole = rest.split("\n");
      rest = whole.pop();
      for (const line of whole) if (line) yield JSON.parse(line);
      if (done) return;
    }
  }

  /** Make an export of the runs; `told` hears {waiting}, {progress, of, file}. Resolves to {name, size} or {error}, after `signal`
      to {cancelled: true}. */
  async function exported(runs, asked, options, told, signal) {
    try {
      const [bytes] = await packed(runs.map((run) => run.text));
      const query = new URLSearchParams(asked);
      const response = await fetch(`${options.export}?${query}`, { method: "POST", body: bytes, headers: { "content-type": options.media }, signal });
      if (response.status === 413) return { error: options.words.no_answer };
      for await (const entry of lines(response)) {
        if (entry.error) return { error: entry.error };
        if (entry.data === undefined) told(entry);
        else {
          const content = Uint8Array.from(atob(entry.data), (character) => character.charCodeAt(0));
          download(entry.name, [content], entry.media);
          return { name: entry.name, size: content.length };
        }
      }
      return { error: options.words.broke };
    } catch (problem) {
      return signal.aborted ? { cancelled: true } : { error: options.words.no_answer };
    }
  }

  const sizeWords = (bytes) => (bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

  BlockViz.files = { onScreen, nameOf, save, read, exported, fill, sizeWords };
})();
