/* The forms of the page: model, sampler and its settings, prompt, seed, run and stop.
   Everything said here (labels, help, bounds, choices) comes from Python as `spec` (blockviz/ui/controls.py);
   this file only puts the fields together, reads them and shows the server's answers beside them. */
(function () {
  "use strict";

  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { make, field, showError, sliderField, seedField, unique, valueOf, BUILDERS, promptField, promptFollows, taskOf, exampleSettings, taskSwitch, fitting, segment, tryLine, buttons, attentionMemory } = BlockViz.fields;

  /* Whether a setting has a meaning beside the values of the others: APPLIES of blockviz/sampling/settings.py. */
  function means(spec, name, values) {
    return Object.entries(spec.applies[name] || {}).every(([other, allowed]) => allowed.includes(values[other]));
  }

  /* Model, preset and the settings that apply. `initial` is { model, settings }. `suffix` ends every test hook. Compare, where a
     part of them may be chosen for each run, hides those (`hides(name)`), shows what applies to any run and hears of changes. */
  function configuration(spec, initial, suffix, { hides = () => false, applying: others, changed: heard = () => undefined } = {}) {
    const parts = {};
    const values = { ...initial.settings };

    const model = make("select");
    model.dataset.testid = "model" + suffix;
    for (const offer of spec.models) {
      const option = make("option", "", offer.label);
      option.value = offer.name;
      model.append(option);
    }
    if (!spec.models.length) {
      model.append(make("option", "", spec.words.no_models));
      model.disabled = true;
    }
    parts.model = field("model", spec.words.model, "", model);
    if (initial.model) model.value = initial.model;

    const group = unique("bvc-preset");
    const segments = make("fieldset", "bvc-segments");
    segments.dataset.testid = "preset" + suffix;
    segments.setAttribute("aria-label", spec.words.preset);
    for (const preset of spec.presets) {
      const { label, radio } = segment(group, preset.name, preset.short, "preset-" + preset.name + suffix);
      label.title = preset.label;
      segments.append(label);
      radio.addEventListener("change", () => choose(preset.name));
    }
    parts.preset = field("preset", spec.words.preset, "", segments);

    const main = make("div", "bvc-main");
    const more = make("details", "bvc-more");
    const moreBody = make("div");
    more.append(make("summary", "", spec.words.more), moreBody);
    for (const definition of spec.fields) {
      const build = definition.slider ? sliderField : BUILDERS[definition.kind];
      const part = build(definition, changed, "setting-" + definition.name + suffix);
      if (initial.settings[definition.name] !== undefined) part.set(initial.settings[definition.name]);
      parts[definition.name] = part;
      (definition.main ? main : moreBody).append(part.element);
    }

    function changed() {
      for (const definition of spec.fields) values[definition.name] = parts[definition.name].get();
      refresh();
    }

    /* Take what the sampler of that name fixes, unless the model's noise refuses it. */
    function choose(name) {
      const preset = spec.presets.find((candidate) => candidate.name === name);
      const offer = spec.models.find((candidate) => candidate.name === model.value);
      if (!preset || (offer && preset.refused[offer.process])) return;
      Object.assign(values, preset.fixed);
      for (const field of Object.keys(preset.fixed)) if (parts[field]) parts[field].set(values[field]);
      refresh();
    }

    function presetNow() {
      return spec.presets.find((preset) =>
        Object.entries(preset.fixed).every(([name, value]) => values[name] === value)
      );
    }

    /* The settings that have a meaning beside the others. */
    const applying = () => (others ? others() : spec.fields.map((definition) => definition.name).filter((name) => means(spec, name, values)));

    function refresh() {
      const preset = presetNow();
      const offer = spec.models.find((candidate) => candidate.name === model.value);
      for (const radio of segments.querySelectorAll("input")) {
        radio.checked = Boolean(preset) && radio.value === preset.name;
        const own = spec.presets.find((candidate) => candidate.name === radio.value);
        const refused = (offer && own.refused[offer.process]) || "";
        radio.disabled = Boolean(refused);
        radio.parentNode.title = refused || own.label;
      }
      parts.preset.help.textContent = preset ? preset.help : spec.words.own_sampler;
      const shown = applying();
      for (const definition of spec.fields) {
        parts[definition.name].element.hidden = !shown.includes(definition.name) || hides(definition.name);
      }
      for (const name of ["model", "preset"]) parts[name].element.hidden = hides(name);
      parts.model.help.textContent = offer ? offer.help : "";
      if (parts.block_size) parts.block_size.limit(values.length || (offer && offer.length) || undefined);
      if (parts.record_attention) parts.record_attention.note.textContent = attentionMemory(spec, values, offer);
      if (parts.attention_layer && offer && offer.layers) parts.attention_layer.input.max = String(offer.layers);
      if (parts.length) parts.length.placeholder(offer && offer.length ? String(offer.length) : "");
      heard();
    }

    function take(name, text) {
      if (name === "model") {
        if (!spec.models.some((offer) => offer.name === text)) return false;
        model.value = text;
        return true;
      }
      if (name === "predictor") {
        if (!spec.predictors.includes(text)) return false;
        values.predictor = text;
        return true;
      }
      const definition = spec.fields.find((candidate) => candidate.name === name);
      const value = definition && valueOf(definition, text);
      if (value === undefined) return false;
      values[name] = value;
      parts[name].set(value);
      return true;
    }

    model.addEventListener("change", refresh);
    refresh();

    return {
      parts,
      main,
      more,
      refresh,
      /* Every value, the model's name among them, whether it applies or not; a number box as it stands. */
      values: () => ({ ...values, model: model.value }),
      set(name, value) {
        if (name === "model") model.value = value;
        else values[name] = value;
        if (name !== "model" && parts[name]) parts[name].set(value);
      },
      choose,
      read() {
        const settings = { predictor: values.predictor };
        for (const name of applying()) {
          if (parts[name]) settings[name] = parts[name].get();
        }
        return { model: spec.models.length ? model.value : "", settings };
      },
      /* Take texts by name over the defaults; gives back [name, value] of every one that means nothing here. */
      write(texts) {
        for (const definition of spec.fields) {
          values[definition.name] = definition.default;
          parts[definition.name].set(definition.default);
        }
        const refused = Object.entries(texts).filter(([name, text]) => !take(name, text));
        refresh();
        return refused;
      },
      reveal(name) {
        if (parts[name] && moreBody.contains(parts[name].element)) more.open = true;
      },
    };
  }

  /* Prompt and seed are shared by all runs of a form; says whether the text was taken. */
  function takeShared(prompt, seed, spec, name, text) {
    if (name === "prompt") {
      prompt.input.value = text;
      return true;
    }
    const value = valueOf({ kind: "int", minimum: 0, maximum: spec.seed.maximum, default: 0 }, text);
    if (value !== undefined) seed.set(value);
    return value !== undefined;
  }

  /* Sentences about what a link asked for in vain. */
  function complaints(spec, refused) {
    return refused.map(([name, value]) => spec.words.link_value.replace("{name}", name).replace("{value}", value));
  }

  /* The running state of one form: buttons, status line, errors at their fields. */
  function runner(options) {
    const { root, spec, go, stop, status, partOf, read, write, send } = options;
    let busy = false;
    let stopping = false;
    let begun = false;
    const say = (words) => (status.textContent = words);
    const silence = new BlockViz.Silence({ words: spec.words, address: spec.alive, say, lost: over });

    function settle(running) {
      busy = running;
      stopping = stopping && running;
      if (running) silence.heard();
      else {
        silence.end(options.group);
        BlockViz.haste.met();
      }
      go.disabled = running || !spec.models.length;
      stop.disabled = !running || stopping;
      root.dataset.running = String(running);
    }

    function clearErrors() {
      for (const element of root.querySelectorAll("[aria-invalid]")) element.removeAttribute("aria-invalid");
      for (const element of root.querySelectorAll(".bvc-error")) element.textContent = "";
      status.classList.remove("bvc-error");
    }

    function start(byLink) {
      if (busy || !spec.models.length) return;
      clearErrors();
      begun = false;
      if (byLink !== true) notice.textContent = "";
      status.textContent = spec.words.starting;
      settle(true);
      BlockViz.haste.await();
      send("generate", read());
      showScreen();
    }

    /* Where the page is one column, the run is below the form. */
    function showScreen() {
      const screen = document.getElementById(options.screen);
      if (!screen || !window.matchMedia("(max-width: 900px)").matches) return;
      screen.scrollIntoView({ block: "start", behavior: BlockViz.calm() ? "auto" : "smooth" });
    }

    /* The event is over, however it ended: never leave the buttons waiting. */
    function over() {
      if (!busy) return;
      settle(false);
      status.textContent = spec.words.lost;
    }

    go.addEventListener("click", start);
    stop.addEventListener("click", () => {
      stopping = true;
      status.textContent = spec.words.stopping;
      stop.disabled = true;
      send("stop", {});
    });
    root.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        start();
      }
    });
    root.addEventListener("input", (event) => {
      const holder = event.target.closest(".bvc-field");
      if (!holder) return;
      for (const element of holder.querySelectorAll("[aria-invalid]")) element.removeAttribute("aria-invalid");
      for (const element of holder.querySelectorAll(".bvc-error")) element.textContent = "";
    });
    const notice = make("p", "bvc-note bvc-notice");
    notice.dataset.testid = "link-note";
    notice.setAttribute("role", "status");
    status.before(notice);
    settle(false);
    status.textContent = spec.models.length ? spec.words.first : spec.words.no_models_help;

    return {
      start,
      read,
      write,
      busy: () => busy,
      say: (message) => (notice.textContent = message),
      /* An answer of the server: { state, message, errors: [{ field, message }] }. */
      answer(text) {
        if (!text) return;
        const answer = JSON.parse(text);
        const running = answer.state === "running" || answer.state === "waiting";
        if (running && !busy) return; // a late line of a run that is already settled
        // A stop asked for before the server had begun reached nobody: it is asked for again.
        if (running && stopping && !begun) send("stop", {});
        begun = begun || running;
        if (stopping && running) return; // it says "Stopping" until it has stopped
        status.textContent = answer.message || "";
        status.classList.toggle("bvc-error", answer.state === "error");
        for (const error of answer.errors || []) {
          const part = partOf(error.field);
          if (!part) {
            status.textContent = error.message;
            continue;
          }
          showError(part, error.message);
          part.element.scrollIntoView({ block: "nearest" });
        }
        settle(running);
      },
      over,
    };
  }

  /* The Explore column. */
  function explore(root, spec, send) {
    const form = make("form", "bvc");
    form.addEventListener("submit", (event) => event.preventDefault());
    const prompt = promptField(spec, 3);
    const tries = tryLine(spec, prompt.input, (name) => config.choose(name));
    const task = taskSwitch(spec, turn);
    let config = null;
    config = configuration(spec, spec.initial, "", { changed: () => config && follow() });
    const seed = seedField(spec);
    const { go, stop, status } = buttons(spec, spec.words.generate);
    const actions = make("div", "bvc-actions");
    actions.append(go, stop);
    prompt.help.replaceWith(tries.line);
    config.main.className = "bvc-main";
    form.append(task.element, config.parts.model.element, prompt.element, config.parts.preset.element);
    const foot = make("div", "bvc-foot");
    foot.append(actions, status);
    form.append(...config.main.children, seed.element, config.more, foot);
    root.append(form);
    let last = taskNow();
    let written = standing();
    config.parts.model.element.addEventListener("change", () => turned(taskNow()));
    follow();

    function taskNow() {
      return taskOf(spec, config.values().model);
    }

    function follow() {
      task.set(taskNow());
      tries.show(taskNow());
    }

    /* All that the form says, to see whether somebody changed it. */
    function standing() {
      return JSON.stringify([config.values(), prompt.input.value, seed.get()]);
    }

    /* Another task: its models and prompts, and one of its examples plays, where an example and its form stood before. */
    function turn(name) {
      const untouched = standing() === written;
      config.set("model", fitting(spec, name, config.values().model));
      turned(name);
      if (untouched) BlockViz.files.showTask("explore", name);
    }

    /* What nobody changed follows the task: an example's prompt, and all settings while they are those of its run. */
    function turned(name) {
      promptFollows(spec, prompt.input, name);
      const [before, after] = [last, name].map((one) => exampleSettings(spec, one));
      const now = config.values();
      if (before && after && spec.fields.every((field) => now[field.name] === before[field.name])) {
        for (const [field, value] of Object.entries(after)) config.set(field, value);
      }
      last = name;
      config.refresh();
    }

    return runner({
      root: form,
      screen: "player",
      group: "explore",
      spec,
      go,
      stop,
      status,
      send,
      read: () => ({ ...config.read(), prompt: prompt.input.value, seed: seed.get() }),
      write(texts) {
        const own = Object.create(null);
        const refused = [];
        for (const [name, text] of Object.entries(texts)) {
          if (name !== "prompt" && name !== "seed") own[name] = text;
          else if (!takeShared(prompt, seed, spec, name, text)) refused.push([name, text]);
        }
        refused.push(...config.write(own));
        last = taskNow();
        written = standing();
        return complaints(spec, refused);
      },
      partOf(name) {
        if (name === "prompt") return prompt;
        if (name === "seed") return seed;
        config.reveal(name);
        return config.parts[name];
      },
    });
  }

  BlockViz.forms = { explore };
  BlockViz.formTools = { configuration, means, runner, takeShared, complaints };
})();
