/* The form of Compare: a table of what differs, a row for each such setting and a column for each run, above the form that all
   runs share. A setting belongs to the table as soon as it is chosen there, and to all runs again when it is taken out. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { make, seedField, promptField, promptFollows, taskOf, exampleSettings, taskSwitch, fitting, tryLine, buttons, valueOf } = BlockViz.fields;
  const { configuration, runner, takeShared, complaints } = BlockViz.formTools;
  const fill = (words, values) => BlockViz.numbers.fill(words, values);

  const { Plan, SIDES, FEWEST } = BlockViz.comparePlan;
  const { Table, button } = BlockViz.compareTable;
  const OWN = ["prompt", "seed", "runs"];

  function compare(root, spec, send) {
    const form = make("form", "bvc bvc-compare");
    form.addEventListener("submit", (event) => event.preventDefault());
    const { words } = spec;
    let plan = null;
    let table = null;
    let last = ""; // the task that prompt and temperature are of
    const hides = (key) => plan !== null && (plan.varied.includes(key) || (plan.varied.includes("preset") && plan.fixed.has(key)) || (key === "preset" && plan.varied.some((one) => plan.fixed.has(one))));
    const shared = configuration(spec, spec.sides.a, "", {
      hides,
      applying: () => (plan ? [...new Set(plan.runs.flatMap((run, i) => plan.applying(plan.values(i))))] : spec.fields.map((one) => one.name)),
      changed: () => plan && refresh(),
    });
    const prompt = promptField(spec, 1);
    const seed = seedField(spec);
    seed.help.textContent = "";
    prompt.head.classList.add("bv-hidden-label");
    seed.head.classList.add("bv-hidden-label");
    const tries = tryLine(spec, prompt.input, chooseForAll);
    prompt.help.replaceWith(tries.line);
    const task = taskSwitch(spec, turn);
    task.head.classList.add("bv-hidden-label");
    const { go, stop, status } = buttons(spec, words.run_all);
    const top = make("div", "bvc-top");
    top.append(prompt.element, seed.element, go, stop);
    plan = new Plan(spec, shared);
    plan.seed = seed;
    const initial = (i) => ({ ...spec.sides[SIDES[i]].settings, model: spec.sides[SIDES[i]].model, seed: spec.seed.value });
    plan.load([initial(0), initial(1)]);
    last = taskNow();
    const differs = make("p", "bvc-differs");
    differs.dataset.testid = "differs-form";
    table = new Table(plan, () => refresh());
    const summary = shared.more.querySelector("summary");
    shared.more.querySelector("div").prepend(shared.parts.model.element, shared.parts.preset.element, ...shared.main.children);
    shared.more.dataset.testid = "shared";
    const foot = make("div", "bvc-line");
    foot.append(differs, status);
    form.append(task.element, top, ready(), table.node, shared.more, foot);
    root.append(form);
    refresh();
    let written = standing();

    /* All that the form says, to see whether somebody changed it. */
    function standing() {
      return JSON.stringify([plan.runs.map((run, i) => plan.values(i)), prompt.input.value]);
    }

    /* An example that is meant for one sampler gives it to every run. */
    function chooseForAll(name) {
      for (const key of ["preset", ...plan.fixed]) if (plan.varied.includes(key)) plan.share(key);
      shared.choose(name);
      table.draw();
    }

    /* The task of the first run; all share a prompt. */
    function taskNow() {
      return taskOf(spec, plan.values(0).model);
    }

    /* A run's temperature is that of the task's example: stories read better when drawn with some caution. */
    function temperature(task) {
      const example = exampleSettings(spec, task);
      return example ? example.temperature : plan.definitions.get("temperature").default;
    }

    /* Another task: its models, each with the noise it had, its prompts, its temperature where nobody chose one, and one of its
       examples where an example stood. */
    function turn(name) {
      const untouched = standing() === written;
      const usual = temperature(taskNow());
      const turned = plan.runs.map((run, i) => {
        const values = plan.values(i);
        const own = values.temperature === usual ? temperature(name) : values.temperature;
        return { ...values, model: fitting(spec, name, values.model), temperature: own };
      });
      take(turned);
      promptFollows(spec, prompt.input, name);
      if (untouched) BlockViz.files.showTask("compare", name);
    }

    /* Where a model of another task was chosen, prompt and temperature turn as with the switch. */
    function follow() {
      const task = taskNow();
      if (task === last) return;
      const [before, after] = [last, task].map(temperature);
      last = task;
      promptFollows(spec, prompt.input, task);
      if (shared.values().temperature === before) shared.set("temperature", after);
      plan.runs.forEach((own, i) => own.temperature === before && table.put(i, "temperature", after));
    }

    /* Comparisons that one click sets up and starts. */
    function ready() {
      const line = make("div", "bvc-try bvc-ready");
      line.append(make("span", "", words.ready));
      for (const one of spec.ready) {
        const node = button("", one.label, one.help, () => {
          const base = { ...usual(0), temperature: temperature(taskNow()) };
          take(one.runs.map((run) => ({ ...base, ...run.settings, model: fitting(spec, taskNow(), run.model), seed: seed.get() })));
          control_.start();
        });
        node.dataset.testid = "ready-" + one.name;
        node.disabled = one.runs.length === 0;
        line.append(node);
      }
      return line;
    }

    /* The values of a run of which nothing is known yet. */
    function usual(i) {
      const side = spec.sides[SIDES[i]] || spec.sides.a;
      const values = { model: side.model, predictor: side.settings.predictor, seed: spec.seed.value };
      for (const one of spec.fields) values[one.name] = one.default;
      return values;
    }

    function take(runs) {
      plan.load(runs);
      last = taskNow();
      table.draw();
      shared.refresh();
      refresh();
    }

    function refresh() {
      if (!table) return;
      follow();
      table.refresh();
      if (!refresh.busy) {
        refresh.busy = true; // the shared form says when it changed, and it is told which of its fields still count
        shared.refresh();
        refresh.busy = false;
      }
      const names = plan.differing().map((key) => plan.name(key).toLowerCase());
      differs.textContent = names.length ? fill(words.differs_in, { names: names.join(", ") }) : words.differs_nothing;
      summary.textContent = fill(words.shared, { values: sharedWords() });
      go.textContent = plan.runs.length > 2 ? fill(words.run_many, { count: plan.runs.length }) : words.run_all;
      seed.element.hidden = plan.varied.includes("seed");
      task.set(taskNow());
      tries.show(taskNow());
    }

    function sharedWords() {
      const values = plan.common();
      const said = [];
      const known = new Set(plan.runs.flatMap((run, i) => plan.applying(plan.values(i))));
      if (!hides("model")) said.push(values.model);
      const preset = plan.preset(values);
      if (!hides("preset") && preset) said.push(preset.short);
      for (const one of spec.fields) {
        if (!known.has(one.name) || hides(one.name) || (!one.main && values[one.name] === one.default) || plan.fixed.has(one.name)) continue;
        said.push(`${one.label.toLowerCase()} ${values[one.name]}`);
      }
      return said.join(" · ");
    }

    const read = () => {
      const asked = { prompt: prompt.input.value, seed: seed.get() };
      plan.runs.forEach((run, i) => (asked[SIDES[i]] = plan.config(i)));
      return asked;
    };

    const control_ = runner({
      root: form,
      screen: "compare-transport",
      group: "compare",
      spec,
      go,
      stop,
      status,
      read,
      send(name, data) {
        if (name === "generate") BlockViz.compare.expect(plan.runs.length);
        send(name, data);
      },
      write(texts) {
        const refused = [];
        const asked = texts.runs;
        const given = SIDES.filter((side) => Object.keys(texts).some((name) => name.startsWith(side + ".")));
        let count = Math.max(FEWEST, given.length ? SIDES.indexOf(given[given.length - 1]) + 1 : 0);
        const problems = [];
        if (asked !== undefined) {
          if (/^[2-4]$/.test(asked)) count = Number(asked);
          else problems.push(fill(words.runs, { value: asked }));
        }
        const runs = SIDES.slice(0, count).map((side, i) => usual(i));
        const put = (run, key, text) => {
          const definition = plan.definitions.get(key);
          const value = key === "model" ? spec.models.find((one) => one.name === text) : definition && valueOf(definition, text);
          if (value === undefined) return false;
          run[key] = key === "model" ? value.name : value;
          return true;
        };
        const places = Object.entries(texts).sort(([a], [b]) => Number(a.includes(".")) - Number(b.includes(".")));
        for (const [name, text] of places) {
          const [side, key] = name.split(".");
          if (OWN.includes(name)) {
            if (name === "runs") continue;
            if (!takeShared(prompt, seed, spec, name, text)) refused.push([name, text]);
            else if (name === "seed") for (const run of runs) run.seed = Number(text);
          } else if (key === undefined) {
            if (!runs.map((run) => put(run, name, text)).every(Boolean)) refused.push([name, text]);
          } else if (!SIDES.slice(0, count).includes(side) || !put(runs[SIDES.indexOf(side)], key, text)) refused.push([name, text]);
        }
        take(runs);
        written = standing();
        return problems.concat(complaints(spec, refused));
      },
      partOf(name) {
        if (name === "prompt") return prompt;
        const [side, key] = name.split(".");
        if (key === undefined) return name === "seed" ? seed : undefined;
        const own = table.parts.get(name) || (key === "corrector" && table.parts.get(side + ".preset"));
        if (own) return own;
        if (key === "seed") return seed;
        if (shared.parts[key]) shared.more.open = true;
        return shared.parts[key];
      },
    });

    return {
      ...control_,
      /* The state as flat texts for an address: shared values by name, a run's own with its letter before. */
      texts() {
        const said = { prompt: prompt.input.value, runs: String(plan.runs.length) };
        const text = (value) => (value === null || value === undefined ? "" : String(value));
        const own = new Set(plan.varied.flatMap((key) => (key === "preset" ? [...plan.fixed] : [key])));
        if (!own.has("seed")) said.seed = text(seed.get());
        plan.runs.forEach((run, i) => {
          const { model, settings } = plan.config(i);
          for (const [key, value] of Object.entries({ model, ...settings })) {
            if (own.has(key)) said[`${SIDES[i]}.${key}`] = text(value);
            else said[key] = text(value);
          }
        });
        return said;
      },
      runs: () => plan.runs.length,
      answer(text) {
        control_.answer(text);
        if (!control_.busy()) BlockViz.compare.expect(0);
      },
    };
  }

  BlockViz.forms.compare = compare;
})();
