/* BlockViz.compareTable: the table of what differs between the runs of Compare: a column for each run, a row for each setting that
   may differ, and the chooser that lets another one differ. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { make, field } = BlockViz.fields;
  const { SIDES, FEWEST } = BlockViz.comparePlan;
  const fill = (words, values) => BlockViz.numbers.fill(words, values);
  const letter = (i) => SIDES[i].toUpperCase();

  function button(className, text, title, act) {
    const node = make("button", className, text);
    node.type = "button";
    node.title = title;
    node.addEventListener("click", act);
    return node;
  }

  /* One small control of the table: { element, input, head, help, error, get(), set(value) }. */
  function control(plan, key, i, changed) {
    const { spec } = plan;
    const name = `${plan.name(key)}, ${fill(spec.words.letter, { letter: letter(i) })}`;
    const definition = plan.definitions.get(key);
    let input;
    let options = null;
    if (key === "model") options = spec.models.map((one) => [one.name, one.label]);
    else if (key === "preset") options = spec.presets.map((one) => [one.name, one.short]);
    else if (definition.kind === "choice") options = definition.choices.map((one) => [one.value, one.label]);
    else if (definition.kind === "bool") options = [["true", spec.words.on], ["false", spec.words.off]];
    if (options) {
      input = make("select");
      for (const [value, label] of options) {
        const option = make("option", "", label);
        option.value = value;
        input.append(option);
      }
    } else {
      input = make("input");
      input.type = "number";
      input.step = definition.kind === "float" ? "any" : "1";
      input.min = String(definition.minimum);
      input.max = String(definition.maximum);
    }
    const hook = key === "model" || key === "preset" || key === "seed" ? key : "setting-" + key;
    input.dataset.testid = `${hook}-${SIDES[i]}`;
    const part = field(key, name, "", input);
    part.head.classList.add("bv-hidden-label");
    part.get = () => {
      if (!options) return input.validity.badInput ? "no number" : input.value.trim() === "" ? null : Number(input.value);
      return definition && definition.kind === "bool" ? input.value === "true" : input.value;
    };
    part.set = (value) => (input.value = value === null || value === undefined ? "" : String(value));
    input.addEventListener(options ? "change" : "input", () => changed(part.get()));
    return part;
  }

  /* The table: a column for each run, a row for each setting that may differ. */
  class Table {
    constructor(plan, changed) {
      this.plan = plan;
      this.changed = changed;
      this.node = make("div", "bvc-table");
      this.node.setAttribute("role", "group");
      this.parts = new Map(); // "a.steps" -> control
      this.draw();
    }

    draw() {
      const { plan, node } = this;
      const { words } = plan.spec;
      this.parts.clear();
      node.replaceChildren();
      node.style.setProperty("--count", plan.runs.length);
      const head = make("div", "bvc-row bvc-heads");
      head.append(this._chooser());
      plan.runs.forEach((run, i) => {
        const cell = make("div", "bvc-cell");
        const mark = make("b", "bvc-letter", letter(i));
        mark.dataset.run = SIDES[i];
        cell.append(mark);
        if (plan.runs.length > FEWEST) {
          const away = button("bvc-away", "×", fill(words.remove, { letter: letter(i) }), () => this._do(() => plan.remove(i)));
          away.setAttribute("aria-label", away.title);
          away.dataset.testid = "remove-" + SIDES[i];
          cell.append(away);
        }
        head.append(cell);
      });
      const add = button("bvc-add", words.add, words.add_help, () => this._do(() => plan.add()));
      add.dataset.testid = "add-run";
      add.disabled = plan.runs.length >= SIDES.length;
      head.append(add);
      node.append(head);
      for (const key of plan.varied) node.append(this._row(key));
      this.refresh();
    }

    _chooser() {
      const { plan } = this;
      const choose = (this.choose = make("select", "bvc-vary"));
      choose.dataset.testid = "vary";
      choose.setAttribute("aria-label", plan.spec.words.vary);
      choose.addEventListener("change", () => choose.value && this._do(() => plan.vary(choose.value)));
      choose.addEventListener("blur", () => this._offer());
      this._offer();
      return choose;
    }

    /* What may differ with the values as they are now; a list that somebody is looking through stays. */
    _offer() {
      const { plan, choose } = this;
      if (document.activeElement === choose) return;
      const none = make("option", "", plan.spec.words.vary);
      none.value = "";
      choose.replaceChildren(none);
      const known = new Set(plan.runs.flatMap((run, i) => plan.applying(plan.values(i))));
      for (const key of plan.keys()) {
        if (plan.varied.includes(key) || !(["model", "preset", "seed"].includes(key) || known.has(key))) continue;
        if (key === "preset" && !plan.preset(plan.common())) continue; // a sampler of one's own has no name to begin with
        const option = make("option", "", plan.name(key));
        option.value = key;
        choose.append(option);
      }
    }

    _row(key) {
      const { plan } = this;
      const row = make("div", "bvc-row");
      row.dataset.row = key;
      const name = plan.name(key);
      const title = fill(plan.spec.words.share, { name });
      const away = button("bvc-away", "×", title, () => this._do(() => plan.share(key)));
      away.setAttribute("aria-label", title);
      away.dataset.testid = "share-" + key;
      const label = make("div", "bvc-row-name");
      label.append(make("span", "", name), away);
      row.append(label);
      plan.runs.forEach((run, i) => {
        const part = control(plan, key, i, (value) => {
          run[key] = value;
          this.changed();
        });
        part.element.classList.add("bvc-cell");
        part.element.dataset.letter = letter(i);
        part.set(run[key]);
        this.parts.set(`${SIDES[i]}.${key}`, part);
        row.append(part.element);
      });
      return row;
    }

    /* The table is made anew; the focus stays where it was, or goes to the chooser where that is no more. */
    _do(act) {
      const focused = this.node.contains(document.activeElement) ? document.activeElement : null;
      act();
      this.draw();
      if (focused) {
        const again = [...this.node.querySelectorAll("[data-testid]")].find((one) => one.dataset.testid === focused.dataset.testid && !one.disabled);
        (again || this.choose).focus({ preventScroll: true });
      }
      this.changed();
    }

    /* Give a run's own control another value. */
    put(i, key, value) {
      this.plan.runs[i][key] = value;
      this.parts.get(`${SIDES[i]}.${key}`).set(value);
    }

    /* Grey where a setting changes nothing in its run. */
    refresh() {
      this._offer();
      for (const [place, part] of this.parts) {
        const [side, key] = place.split(".");
        const idle = !this.plan.applies(key, SIDES.indexOf(side));
        part.input.disabled = idle;
        part.input.title = idle ? this.plan.spec.words.idle : "";
        if (key !== "preset") continue;
        for (const option of part.input.options) {
          const preset = this.plan.spec.presets.find((one) => one.name === option.value);
          const refused = this.plan.refused(SIDES.indexOf(side), preset);
          option.disabled = Boolean(refused);
          option.title = refused || preset.label;
        }
      }
    }
  }

  BlockViz.compareTable = { Table, button };
})();
