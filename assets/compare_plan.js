/* BlockViz.comparePlan.Plan: what the runs of Compare are asked for: the values that all share, and of each run those of its own. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});

  const SIDES = ["a", "b", "c", "d"];
  const FEWEST = 2;

  class Plan {
    constructor(spec, shared) {
      this.spec = spec;
      this.shared = shared; // the configuration form, which holds the values that all runs share
      this.seed = null;
      this.varied = [];
      this.runs = [{}, {}]; // own values by key; "preset" is a name
      this.definitions = new Map([["predictor", spec.predictor], ...spec.fields.map((one) => [one.name, one])]);
      this.definitions.set("seed", { ...spec.seed, name: "seed", kind: "int", minimum: 0, default: 0 });
      this.fixed = new Set(spec.presets.flatMap((preset) => Object.keys(preset.fixed)));
    }

    preset(values) {
      return this.spec.presets.find((one) => Object.entries(one.fixed).every(([name, value]) => values[name] === value));
    }

    /* The keys that may differ, in the order of the form. */
    keys() {
      return ["model", "preset", ...this.spec.fields.map((one) => one.name), "predictor", "seed"];
    }

    name(key) {
      if (key === "model" || key === "preset") return this.spec.words[key];
      return this.definitions.get(key).label;
    }

    common() {
      return { ...this.shared.values(), seed: this.seed.get() };
    }

    /* Every value of a run, whether it applies or not. */
    values(i) {
      const own = this.runs[i];
      const preset = this.spec.presets.find((one) => one.name === own.preset);
      const { preset: _, ...rest } = own;
      return { ...this.common(), ...(preset ? preset.fixed : {}), ...rest };
    }

    applying(values) {
      return this.spec.fields.map((one) => one.name).filter((name) => BlockViz.formTools.means(this.spec, name, values));
    }

    applies(key, i) {
      return ["model", "preset", "predictor", "seed"].includes(key) || this.applying(this.values(i)).includes(key);
    }

    /* What the server is asked for: only settings that apply, a seed only where runs have their own. */
    config(i) {
      const values = this.values(i);
      const settings = { predictor: values.predictor };
      for (const name of this.applying(values)) if (name !== "seed" && name in values) settings[name] = values[name];
      if (this.varied.includes("seed")) settings.seed = values.seed;
      return { model: this.spec.models.length ? values.model : "", settings };
    }

    vary(key) {
      if (this.varied.includes(key)) return;
      const common = this.common();
      const preset = this.preset(common);
      if (key === "preset" && !preset) return; // a sampler of one's own has no name that a run could begin with
      this.varied.push(key);
      this.varied.sort((a, b) => this.keys().indexOf(a) - this.keys().indexOf(b));
      for (const own of this.runs) if (!(key in own)) own[key] = key === "preset" ? preset.name : common[key];
    }

    /* The same for all again: as in the first run. */
    share(key) {
      const values = this.values(0);
      this.varied = this.varied.filter((one) => one !== key);
      for (const name of key === "preset" ? this.fixed : [key]) {
        if (name === "seed") this.seed.set(values.seed);
        else if (key !== "preset" || !this.varied.includes(name)) this.shared.set(name, values[name]);
      }
      for (const own of this.runs) delete own[key];
    }

    add() {
      if (this.runs.length < SIDES.length) this.runs.push({ ...this.runs[this.runs.length - 1] });
    }
    remove(i) {
      if (this.runs.length > FEWEST) this.runs.splice(i, 1);
    }

    /* Take whole runs, each { model, predictor, ...fields, seed }; what differs is worked out. */
    load(runs) {
      const presets = runs.map((run) => this.preset(run));
      const byPreset = presets.every(Boolean) && new Set(presets.map((one) => one.name)).size > 1;
      const shared = { ...runs[0] };
      if (byPreset) {
        for (const name of this.fixed) {
          const free = runs.find((run, i) => !(name in presets[i].fixed));
          if (free) shared[name] = free[name];
        }
      }
      for (const [name, value] of Object.entries(shared)) {
        if (name === "seed") this.seed.set(value);
        else this.shared.set(name, value);
      }
      this.runs = runs.map((run, i) => (byPreset ? { preset: presets[i].name } : {}));
      this.varied = byPreset ? ["preset"] : [];
      for (const key of this.keys()) {
        if (key === "preset" || !runs.some((run, i) => this.values(i)[key] !== run[key])) continue;
        runs.forEach((run, i) => (this.runs[i][key] = run[key]));
        this.varied.push(key);
      }
      this.varied.sort((a, b) => this.keys().indexOf(a) - this.keys().indexOf(b));
    }

    /* Keys in which the runs really differ, where they apply; a sampler stands for all that it fixes. */
    differing() {
      const all = this.runs.map((run, i) => this.values(i));
      return this.keys().filter((key) => {
        if (this.fixed.has(key) && !this.varied.includes(key)) return false;
        const used = all.filter((values, i) => this.applies(key, i));
        const values = used.map((one) => (key === "preset" ? (this.preset(one) || {}).name : one[key]));
        return new Set(values).size > 1 && (key !== "preset" || this.varied.includes(key));
      });
    }

    /* Why a run cannot take a sampler with its model, or "". */
    refused(i, preset) {
      const offer = this.spec.models.find((one) => one.name === this.values(i).model);
      return (offer && preset.refused && preset.refused[offer.process]) || "";
    }
  }

  BlockViz.comparePlan = { Plan, SIDES, FEWEST };
})();
