/* The fields of the forms: a label, an input, a line of help and a place for an error. What they say comes from Python
   (blockviz/ui/controls.py); a field is { element, input, head, help, error, get(), set(value) }. */
(function () {
  "use strict";

  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const SVG = "http://www.w3.org/2000/svg";
  let serial = 0;

  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function die() {
    const picture = document.createElementNS(SVG, "svg");
    picture.setAttribute("viewBox", "0 0 16 16");
    picture.setAttribute("width", "16");
    picture.setAttribute("height", "16");
    picture.setAttribute("aria-hidden", "true");
    const face = document.createElementNS(SVG, "rect");
    for (const [name, value] of Object.entries({ x: 1.5, y: 1.5, width: 13, height: 13, rx: 3 })) {
      face.setAttribute(name, value);
    }
    face.setAttribute("fill", "none");
    face.setAttribute("stroke", "currentColor");
    face.setAttribute("stroke-width", "1.3");
    picture.append(face);
    for (const [x, y] of [[5, 5], [11, 5], [8, 8], [5, 11], [11, 11]]) {
      const pip = document.createElementNS(SVG, "circle");
      pip.setAttribute("cx", x);
      pip.setAttribute("cy", y);
      pip.setAttribute("r", "1.15");
      pip.setAttribute("fill", "currentColor");
      picture.append(pip);
    }
    return picture;
  }

  /* One labelled field: { element, input, help, error }. `input` keeps the label and the error by aria. */
  function field(name, label, help, input, suffix) {
    const id = "bvc-" + ++serial;
    const element = make("div", "bvc-field");
    element.dataset.field = name;
    const head = make("label", "bvc-label");
    head.append(make("span", "", label));
    head.htmlFor = id;
    input.id = id;
    const helpLine = make("p", "bvc-help", help || "");
    helpLine.id = id + "-help";
    const error = make("p", "bvc-error");
    error.id = id + "-error";
    error.setAttribute("role", "alert");
    input.setAttribute("aria-describedby", helpLine.id + " " + error.id);
    element.append(head, input, helpLine, error);
    if (suffix) head.append(suffix);
    return { element, input, head, help: helpLine, error };
  }

  function showError(part, message) {
    part.error.textContent = message || "";
    if (message) part.input.setAttribute("aria-invalid", "true");
    else part.input.removeAttribute("aria-invalid");
  }

  /* What a number box says: a number, null when it is empty, or the raw text for the server to refuse in words. */
  function numberOf(input) {
    if (input.validity.badInput) return "no number";
    if (input.value.trim() === "") return null;
    return Number(input.value);
  }

  /* What a text of an address means for a setting: its value, or undefined when the setting does not allow it. */
  function valueOf(definition, text) {
    if (definition.kind === "choice") return definition.choices.some((choice) => choice.value === text) ? text : undefined;
    if (definition.kind === "bool") return text === "true" ? true : text === "false" ? false : undefined;
    if (text === "") return definition.default === null ? null : undefined;
    const value = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
    const whole = definition.kind !== "int" || Number.isInteger(value);
    return whole && value >= definition.minimum && value <= definition.maximum ? value : undefined;
  }

  /* Slider positions: every step of a short range, doublings of a long one (1, 2, 4 ... maximum). */
  function stopsOf(definition, maximum) {
    const stops = [];
    if (definition.kind === "float") {
      const count = Math.round((maximum - definition.minimum) / definition.step);
      for (let i = 0; i <= count; i += 1) stops.push(+(definition.minimum + i * definition.step).toFixed(6));
      return stops;
    }
    if (definition.minimum === 0) stops.push(0);
    for (let value = Math.max(1, definition.minimum); value < maximum; value *= 2) stops.push(value);
    stops.push(maximum);
    return stops;
  }

  function sliderField(definition, onInput, testid) {
    const box = make("input", "bvc-value");
    box.type = "number";
    box.step = definition.kind === "float" ? "any" : "1";
    box.dataset.testid = testid;
    box.setAttribute("aria-label", definition.label + " value");
    const range = make("input");
    range.type = "range";
    range.min = "0";
    const part = field(definition.name, definition.label, definition.help, range, box);
    box.setAttribute("aria-describedby", part.help.id + " " + part.error.id);
    let stops = [];

    function place() {
      const value = Number(box.value);
      let at = 0;
      while (at < stops.length - 1 && stops[at + 1] <= value) at += 1;
      range.value = String(at);
      range.setAttribute("aria-valuetext", box.value);
      range.style.setProperty("--at", (stops.length > 1 ? (100 * at) / (stops.length - 1) : 0) + "%");
    }

    part.limit = function (maximum) {
      const top = Math.min(definition.maximum, maximum || definition.maximum);
      stops = stopsOf(definition, top);
      range.max = String(stops.length - 1);
      box.min = String(definition.minimum);
      box.max = String(top);
      place();
    };
    part.get = () => numberOf(box);
    part.set = function (value) {
      box.value = String(value);
      place();
    };
    range.addEventListener("input", () => {
      box.value = String(stops[Number(range.value)]);
      place();
      onInput();
    });
    box.addEventListener("input", () => {
      place();
      onInput();
    });
    part.input = box;
    part.limit();
    part.set(definition.default);
    return part;
  }

  function choiceField(definition, onInput, testid) {
    const select = make("select");
    select.dataset.testid = testid;
    for (const choice of definition.choices) {
      const option = make("option", "", choice.label);
      option.value = choice.value;
      select.append(option);
    }
    const part = field(definition.name, definition.label, "", select);
    part.note = make("p", "bvc-help"); // what follows from this choice and others
    part.help.after(part.note);
    function explain() {
      const choice = definition.choices.find((candidate) => candidate.value === select.value);
      part.help.textContent = choice ? choice.help : definition.help;
    }
    part.get = () => select.value;
    part.set = function (value) {
      select.value = value;
      explain();
    };
    select.addEventListener("change", () => {
      explain();
      onInput();
    });
    part.set(definition.default);
    return part;
  }

  function numberField(definition, onInput, testid) {
    const box = make("input");
    box.type = "number";
    box.step = definition.kind === "float" ? "any" : "1";
    box.min = String(definition.minimum);
    box.max = String(definition.maximum);
    box.dataset.testid = testid;
    const part = field(definition.name, definition.label, definition.help, box);
    part.get = () => numberOf(box);
    part.set = (value) => (box.value = value === null ? "" : String(value));
    part.placeholder = (text) => (box.placeholder = text);
    box.addEventListener("input", onInput);
    part.set(definition.default);
    return part;
  }

  function boolField(definition, onInput, testid) {
    const box = make("input");
    box.type = "checkbox";
    box.dataset.testid = testid;
    const part = field(definition.name, definition.label, definition.help, box);
    part.head.className = "bvc-check";
    part.head.prepend(box);
    part.get = () => box.checked;
    part.set = (value) => (box.checked = Boolean(value));
    box.addEventListener("change", onInput);
    part.set(definition.default);
    return part;
  }

  const BUILDERS = { int: numberField, float: sliderField, choice: choiceField, bool: boolField };

  function seedField(spec) {
    const box = make("input");
    box.type = "number";
    box.step = "1";
    box.min = "0";
    box.max = String(spec.seed.maximum);
    box.value = String(spec.seed.value);
    box.dataset.testid = "seed";
    const part = field("seed", spec.seed.label, spec.seed.help, box);
    const wrap = make("div", "bvc-seed");
    box.replaceWith(wrap);
    const roll = make("button");
    roll.type = "button";
    roll.title = spec.words.die;
    roll.dataset.testid = "die";
    roll.setAttribute("aria-label", spec.words.die);
    roll.append(die());
    roll.addEventListener("click", () => {
      box.value = String(Math.floor(Math.random() * 10000));
      showError(part, "");
    });
    wrap.append(box, roll);
    part.get = () => numberOf(box);
    part.set = (value) => (box.value = String(value));
    return part;
  }

  /* A name that no other group of radio buttons on the page has. */
  const unique = (stem) => stem + "-" + ++serial;

  function promptField(spec, rows) {
    const area = make("textarea");
    area.rows = rows;
    area.dataset.testid = "prompt";
    area.spellcheck = false;
    area.value = spec.prompt;
    const part = field("prompt", spec.words.prompt, "", area);
    return part;
  }

  /* The task of a model, "" where it has none that the page knows. */
  const taskOf = (spec, name) => (spec.models.find((offer) => offer.name === name) || {}).task || "";

  /* The settings of the example that plays when a task is turned to, or null. */
  const exampleSettings = (spec, task) => (spec.tasks.find((one) => one.name === task) || {}).settings || null;

  /* The model of a task that is nearest to the model `name`: itself, or one with the same noise. */
  function fitting(spec, task, name) {
    const now = spec.models.find((offer) => offer.name === name) || {};
    const offers = spec.models.filter((offer) => offer.task === task);
    if (now.task === task || !offers.length) return name;
    return (offers.find((offer) => offer.process === now.process) || offers[0]).name;
  }

  /* One choice of a row of them: { label, radio }; `hook` is its test hook. */
  function segment(group, value, text, hook) {
    const label = make("label");
    const radio = make("input");
    radio.type = "radio";
    radio.name = group;
    radio.value = value;
    radio.dataset.testid = hook;
    label.append(radio, make("span", "", text));
    return { label, radio };
  }

  /* What the models write about: { element, set(task) }; hidden where there is no choice. `turned(task)` hears of a person's turn. */
  function taskSwitch(spec, turned) {
    const segments = make("fieldset", "bvc-segments");
    segments.dataset.testid = "task";
    segments.setAttribute("aria-label", spec.words.task);
    const part = field("task", spec.words.task, "", segments);
    part.element.hidden = !spec.tasks.length;
    const group = unique("bvc-task");
    for (const task of spec.tasks) {
      const { label, radio } = segment(group, task.name, task.label, "task-" + task.name);
      segments.append(label);
      radio.addEventListener("change", () => turned(task.name));
    }
    part.set = function (name) {
      for (const radio of segments.querySelectorAll("input")) radio.checked = radio.value === name;
      part.help.textContent = (spec.tasks.find((task) => task.name === name) || { help: "" }).help;
    };
    return part;
  }

  /* An example of another task gives way to the first one of this task, as an empty prompt does; what somebody wrote stays. */
  function promptFollows(spec, area, task) {
    const shown = spec.examples.filter((example) => example.text === area.value.trim());
    const foreign = shown.length ? shown.every((example) => example.task !== task) : !area.value.trim();
    const first = spec.examples.find((example) => example.task === task);
    if (first && foreign) area.value = first.text;
  }

  /* Example prompts of a task (all for a model without one), and how gaps are written: { line, show(task) }. `choose` takes the
     sampler that an example is meant for. */
  function tryLine(spec, area, choose) {
    const line = make("div", "bvc-try");
    if (!spec.examples.length) return { line, show() {} };
    line.append(make("span", "", spec.words.try));
    for (const example of spec.examples) {
      const button = make("button", "", example.label);
      button.type = "button";
      button.title = example.text;
      button.dataset.task = example.task;
      button.addEventListener("click", () => {
        area.value = example.text;
        area.dispatchEvent(new Event("input", { bubbles: true }));
        if (example.preset && choose) choose(example.preset);
      });
      line.append(button);
    }
    if (choose) line.append(make("p", "bvc-note", spec.words.gaps));
    const show = (task) => line.querySelectorAll("button").forEach((button) => (button.hidden = Boolean(task) && button.dataset.task !== task));
    return { line, show };
  }

  function buttons(spec, label) {
    const go = make("button", "bvc-go", label);
    go.type = "button";
    go.dataset.testid = "generate";
    go.title = spec.words.go_title;
    const stop = make("button", "bvc-stop", spec.words.stop);
    stop.type = "button";
    stop.dataset.testid = "stop";
    const status = make("p", "bvc-note bvc-status");
    status.dataset.testid = "status";
    status.setAttribute("role", "status");
    return { go, stop, status };
  }

  /* What recording attention takes with these settings: a byte per query, key and head. */
  function attentionMemory(spec, values, offer) {
    const heads = values.record_attention === "heads" ? offer && offer.heads : 1;
    const keys = values.length || (offer && offer.length);
    if (values.record_attention === "none" || !heads || !keys) return "";
    const queries = values.predictor === "autoregressive" ? 1 : values.context === "canvas" ? keys : Math.min(values.block_size, keys);
    const sizes = { queries, keys, heads, bytes: BlockViz.Ribbon.sizeWords(queries * keys * heads) };
    return BlockViz.viewTools.fill(spec.words["attention_" + values.record_attention], sizes);
  }

  BlockViz.fields = { make, field, showError, sliderField, seedField, unique, valueOf, promptField, promptFollows, taskOf, exampleSettings, taskSwitch, fitting, segment, tryLine, buttons, attentionMemory, BUILDERS };
})();
