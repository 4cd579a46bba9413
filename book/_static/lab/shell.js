/* The shell of the laboratories: presets, controls, plots, run, pause, step, rewind, progress, address, Python.
 *
 * A laboratory is `ShallowLab.render({ model, el })`: `el` is the element to fill, and `model.get(key)` gives what the
 * page carries, "name" and "presets".  What is computed and shown stands in `ShallowLab.models[name]`:
 *
 *   compute(...needs)      as text in a worker; returns { start(settings) } -> run with epoch, done, diverged, values
 *                          (numbers at the last record, or null; new ones at each), advance() (to the next record or
 *                          a millisecond towards it), snapshot(), weights()
 *   needs                  names of what compute is given: functions of ShallowLab such as "streams", called
 *   unit                   what is counted, "epoch" or "step"; the shell's variables are named after the first
 *   length(settings)       length of a run in that unit, and
 *   every                  the distance of its records, or
 *   records(settings)      the records, in equal ratios: the run then goes through the decades at one speed
 *   duration               milliseconds of a run by speed, least
 *   tolerance              largest relative difference to the book's run that is agreement; without, bits are compared
 *   least                  size below which differences are relative to it and not to the number
 *   title, columns         its name in words; [key, label, how it is written] of each of the values
 *   controls               [{ name, label, kind: "range" | "scale" | "choice" | "whole", group, ... }]; those with
 *                          `display` change what is drawn, not what is computed, and those with `shows(settings)` are
 *                          there, and count, only for some settings
 *   refuse(settings)       why these settings cannot be run, or null
 *   panels                 what is plotted; see `plot`
 *   describe(view)         what happened, in words
 *   python(settings)       the lines that do the same with the library
 *
 * A preset is { key, label, note, settings, run: { values, arrays, checksum } }, the run being the book's own.
 */
globalThis.ShallowLab ??= { models: {} };

(() => {
  "use strict";

  const BUDGET = 12;  // milliseconds that the worker computes before it listens again
  const PHONE = 520;  // pixels under which plots are less high

  const element = (tag, properties = {}, ...children) => {
    const { dataset, ...others } = properties, node = Object.assign(document.createElement(tag), others);
    Object.assign(node.dataset, dataset);
    node.append(...children);
    return node;
  };
  const whole = (number) => number.toLocaleString("en-US");
  const valueOf = (given, ...of) => (typeof given === "function" ? given(...of) : given);

  // ---------------------------------------------------------------------------------------------------- the worker

  // Runs in the worker: each request gives the settings of a new run or none, and how far to train it.
  function serve(model) {
    const checksum = (groups) => {  // CRC-32 of the bytes of all weights
      let crc = 0xffffffff;
      for (const group of groups) {
        for (const byte of new Uint8Array(group.buffer, group.byteOffset, group.byteLength)) {
          crc ^= byte;
          for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
        }
      }
      return ~crc >>> 0;
    };
    let run = null;
    onmessage = ({ data: { version, settings, until, budget } }) => {
      const records = [], stop = performance.now() + budget;
      const note = () => records.push({ epoch: run.epoch, values: run.values });
      if (settings) {
        run = model.start(settings);
        note();
      }
      while (!run.done && run.epoch < until && performance.now() < stop) {
        const before = run.values;
        run.advance();
        if (run.diverged === null && run.values !== before) note();
      }
      const { epoch, done, diverged } = run, arrays = run.snapshot();
      const sum = done ? checksum(run.weights()) : null;
      postMessage({ version, epoch, done, diverged, records, arrays, checksum: sum },
        Object.values(arrays).map((array) => array.buffer));
    };
  }

  // A worker from a file cannot be started on a page from disk, one from text can.
  function worker({ compute, needs }) {
    const given = needs.map((name) => `(${ShallowLab[name]})()`);
    const source = `"use strict";(${serve})((${compute})(${given}));`;
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const made = new Worker(address);
    URL.revokeObjectURL(address);
    return made;
  }

  // ----------------------------------------------------------------------------------------------------- the plots

  /* A plot of one panel: { title, x: { name, label, range, ticks, write }, y: { label, range(view) }, data(view),
   * series, under, draw, rest, shows, bare, height }.  Series are { label, colour, dash, width, fill, dots, digits,
   * write }, colours names of custom properties; `under(paint, view)` and `draw(paint, view)` add marks below and above
   * the curves.  Name, label and range of x may be functions of the view, which `ticks` and `write` get after the
   * number.  `rest(view)` is the index whose values the legend has without a pointer, `shows(view)` whether there is
   * anything to plot; a panel that is `bare` has no axes and no pointer.
   */
  function plot(panel, el, view) {
    const colour = (name) => getComputedStyle(el).getPropertyValue(`--lab-${name}`).trim();
    const box = element("div", { className: "lab-plot" });
    box.setAttribute("role", "img");
    const axis = ({ label, ticks }, size) => ({
      show: !panel.bare, label: valueOf(label, view), size, labelSize: 20, gap: 4, labelGap: 0, font: "12px sans-serif",
      labelFont: "13px sans-serif", stroke: () => colour("text"), ticks: { show: false },
      grid: { stroke: () => colour("grid"), width: 1 },
      values: (u, splits) => splits.map((at) => (ticks ?? String)(at, view)), space: 45,
    });
    const series = ({ label, colour: name, dash, width = 2, fill, dots = false, digits = 3, write }) => ({
      label, dash, width, stroke: () => colour(name), fill: fill && (() => colour(fill)),
      points: { show: dots, size: 7, fill: () => colour(name) },
      value: (u, value) => (value == null ? "" : write?.(value) ?? value.toFixed(digits)),
    });
    const paint = (u) => ({
      context: u.ctx, colour, scale: devicePixelRatio, box: u.bbox,
      x: (value) => u.valToPos(value, "x", true), y: (value) => u.valToPos(value, "y", true),
    });
    const { height = 260 } = panel;
    const size = () =>
      ({ width: Math.max(200, box.clientWidth), height: el.clientWidth < PHONE ? height - 60 : height });
    // Without a pointer over the plot the legend has the newest values.
    const newest = (u) => {
      const last = panel.rest?.(view) ?? u.data[1].findLastIndex((value) => value !== null);
      if (panel.series.length > 1) u.setLegend({ idx: Math.max(0, last) }, false);
    };
    const options = () => ({
      ...size(), padding: panel.bare ? [0, 0, 0, 0] : [8, 24, 0, 0],
      legend: { show: panel.series.length > 1, markers: { fill: () => "none" } },
      scales: {
        x: { time: false, range: () => valueOf(panel.x.range, view) }, y: { range: () => panel.y.range(view) },
      },
      axes: [axis(panel.x, 22), axis(panel.y, 40)],
      series: [
        { label: valueOf(panel.x.name, view), value: (u, value) => (value == null ? "" : panel.x.write(value, view)) },
        ...panel.series.map(series),
      ],
      cursor: { show: !panel.bare, y: false, drag: { x: false, y: false } },
      hooks: {
        drawClear: [(u) => panel.under?.(paint(u), view)], draw: [(u) => panel.draw?.(paint(u), view)],
        ready: [newest], setLegend: [(u) => { if (u.legend.idx == null) newest(u); }],
      },
    });
    let drawn = null, label = null;
    const update = () => {
      if (label !== valueOf(panel.x.label, view)) build();
      else drawn.setData(panel.data(view));
      if (drawn.cursor.idx == null) newest(drawn);
    };
    const build = () => {
      drawn?.destroy();
      label = valueOf(panel.x.label, view);
      drawn = new uPlot(options(), panel.data(view), box);
    };
    build();
    new ResizeObserver(() => drawn.setSize(size())).observe(box);
    return {
      box, update, recolour: build, shows: panel.shows ?? (() => true),
      name: (text) => box.setAttribute("aria-label", `${panel.title}. ${text}`),
    };
  }

  // -------------------------------------------------------------------------------------------------- the controls

  let made = 0;
  function input(control, changed) {
    const id = `lab-${control.name}-${made++}`, caption = element("label", { htmlFor: id, textContent: control.label });
    const fits = (value) => ({
      range: () => Number.isInteger(value) && value >= control.min && value <= control.max,
      whole: () => Number.isSafeInteger(value) && value >= 0 && value <= control.max,
      choice: () => control.options.includes(value),
      scale: () => control.options.includes(value),
    })[control.kind]();
    const read = (text) => (control.kind === "choice" && typeof control.options[0] === "string" ? text : Number(text));
    const slides = control.kind === "range" || control.kind === "scale";
    let field, shown = null;
    if (control.kind === "choice") {
      field = element("select", { id }, ...control.options.map((option) => new Option(option, option)));
    } else if (slides) {  // on a scale the positions are those of the options
      const { min = 0, max = control.options?.length - 1 } = control;
      field = element("input", { id, type: "range", min, max, step: 1 });
      shown = element("span", { className: "lab-value" });
      shown.setAttribute("aria-hidden", "true");
      caption.append(" ", shown);
    } else {
      field = element("input", { id, type: "text", inputMode: "numeric", size: 6, autocomplete: "off" });
    }
    const set = (value) => {
      field.value = String(control.kind === "scale" ? control.options.indexOf(value) : value);
      if (shown) shown.textContent = String(value);
      if (control.kind === "scale") field.setAttribute("aria-valuetext", String(value));
    };
    field.addEventListener(slides ? "input" : "change", () => {
      const text = field.value.trim(), value = control.kind === "scale" ? control.options[text] : read(text);
      field.setAttribute("aria-invalid", String(!fits(value)));
      if (fits(value)) {
        set(value);
        changed(control.name, value);
      }
    });
    return { row: element("div", { className: `lab-control lab-${control.kind}` }, caption, field), set, fits, read };
  }

  // ------------------------------------------------------------------------------------------------ the laboratory

  function render({ model, el }) {
    const name = model.get("name"), presets = model.get("presets"), lab = ShallowLab.models[name];
    const { unit } = lab;
    const engine = worker(lab);
    // What is shown: the book's recorded run or, after the first press, the reader's.
    const view = { settings: { ...presets[0].settings }, epochs: [], last: 0, book: null, live: false, epoch: 0,
      done: false, diverged: null, values: {}, arrays: {}, apart: 0, different: null, checksum: null };
    let running = false, pending = false, fresh = true, version = 0, owed = 0, clock = 0, away = false;
    let speed = "fast", ready = false;

    // --- elements
    const button = (label, act, className = "") => {
      const node = element("button", { type: "button", textContent: label, className });
      node.addEventListener("click", act);
      return node;
    };
    const choices = presets.map((preset) => button(preset.label, () => choose({ ...preset.settings })));
    const list = element("ul", { className: "lab-presets" }, ...presets.map((preset, k) =>
      element("li", {}, choices[k], element("span", { textContent: preset.note }))));
    const inputs = Object.fromEntries(lab.controls.map((control) =>
      [control.name, input(control, (key, value) =>
        (control.display ? display : choose)({ ...view.settings, [key]: value }))]));
    const groups = [...new Set(lab.controls.map((control) => control.group))].map((group) =>
      element("fieldset", {}, element("legend", { textContent: group }),
        element("div", { className: "lab-fields" }, ...lab.controls.filter((control) => control.group === group)
          .map((control) => inputs[control.name].row))));
    const run = button("Run", () => (running ? pause() : go("run")), "lab-run");
    const step = button("Step", () => go("step"));
    const end = button("To the end", () => go("end"));
    const rewind = button("Rewind", () => restart());
    const anew = button("New start", () => choose({ ...view.settings, seed: view.settings.seed + 1 }, true));
    step.title = lab.records ? "to the next record" : lab.every > 1 ? `${lab.every} ${unit}s` : `one ${unit}`;
    rewind.title = `back to ${unit} 0 of the same start`;
    anew.title = "the next seed: other points, other weights";
    const pace = input({ name: "speed", label: "speed", kind: "choice", options: Object.keys(lab.duration) },
      (_, value) => { speed = value; });
    pace.set(speed);
    const bar = element("progress", { value: 0 });
    bar.setAttribute("aria-label", `${unit}s trained`);
    const counter = element("span", { className: "lab-counter" });
    const status = element("p", { className: "lab-status" });
    status.setAttribute("role", "status");
    status.setAttribute("aria-live", "polite");
    const code = element("code"), rows = element("tbody"), head = element("tr"), top = element("thead", {}, head);
    const tables = element("details", { className: "lab-table" },
      element("summary", { textContent: "The curves as a table" }), element("table", { tabIndex: 0 }, top, rows));
    const python = element("details", { className: "lab-python" },
      element("summary", { textContent: "Show as Python" }), element("pre", { tabIndex: 0 }, code));
    const plots = element("div", { className: "lab-plots" });
    const front = element("div", { className: "lab" }, list,
      element("div", { className: "lab-buttons" }, run, step, end, rewind, anew, pace.row),
      element("div", { className: "lab-progress" }, bar, counter), status, plots,
      element("div", { className: "lab-settings" }, ...groups), tables, python);
    front.setAttribute("role", "group");
    front.setAttribute("aria-label", lab.title);
    el.append(front);

    // --- what is shown
    const panels = [];
    function draw() {
      for (const panel of panels) {
        panel.box.parentElement.hidden = !panel.shows(view);
        panel.update();
      }
      bar.max = lab.records ? Math.log1p(view.last) : Math.max(1, view.last);
      bar.value = lab.records ? Math.log1p(view.epoch) : view.last ? view.epoch : 1;
      counter.textContent = `${unit} ${whole(view.epoch)} of ${whole(view.last)}`;
    }
    function say(text = story()) {
      status.textContent = text;
      for (const panel of panels) panel.name(text);
      const { epochs, values } = view, count = values[lab.columns[0][0]]?.length ?? 0;
      const stride = Math.max(1, Math.floor((epochs.length - 1) / 10));
      const shown = Array.from({ length: Math.ceil(count / stride) }, (_, k) => k * stride);
      const columns = lab.columns.filter(([key]) => count === 0 || values[key].some((value) => value != null));
      head.replaceChildren(...[unit, ...columns.map(([, label]) => label)]
        .map((label) => element("th", { scope: "col", textContent: label })));
      rows.replaceChildren(...shown.map((k) => element("tr", {},
        element("th", { scope: "row", textContent: whole(epochs[k]) }),
        ...columns.map(([key, , write = (value) => value.toFixed(3)]) =>
          element("td", { textContent: values[key][k] == null ? "" : write(values[key][k]) })))));
    }
    function story() {
      const origin = view.live ? "" : "The book's run. ";
      return origin + lab.describe(view) + (view.live && view.book && view.done ? ` ${comparison()}` : "");
    }
    function comparison() {
      const { apart, different, checksum } = view, exact = lab.tolerance === undefined;
      const words = `${exact ? "Identical to" : "Agrees with"} the book's run:`;
      if (different !== null) return `${words} no, from ${unit} ${whole(different)}.`;
      if (!exact) return `${words} yes, every number to ${Math.max(apart, 2 ** -53).toExponential(0)} of its size${
        lab.least ? ` or of ${lab.least}` : ""}.`;
      return `${words} ${checksum === view.book.checksum ? "yes, to the last bit" : "no, the last weights differ"}.`;
    }
    function buttons() {
      run.textContent = running ? "Pause" : "Run";
      const refused = lab.refuse(view.settings) !== null, over = view.live && view.done;
      run.disabled = end.disabled = step.disabled = refused;
      for (const node of [step, end]) node.disabled ||= over;
      rewind.disabled = refused;
      run.textContent = over ? "Run again" : run.textContent;
    }

    // --- settings
    const offered = (control, settings) => control.shows?.(settings) ?? true;
    const equal = (a, b) => lab.controls.every((control) => control.display || !offered(control, b)
      || a[control.name] === b[control.name]);
    function display(settings) {
      view.settings = settings;
      for (const panel of panels) panel.recolour();
      remember();
    }
    function choose(settings, live = false) {
      view.settings = settings;
      view.last = lab.length(settings);
      view.epochs = lab.records?.(settings)
        ?? Array.from({ length: view.last / lab.every + 1 }, (_, k) => k * lab.every);
      const known = presets.find((preset) => equal(preset.settings, settings));
      view.book = known?.run ?? null;
      presets.forEach((preset, k) => choices[k].setAttribute("aria-pressed", String(preset === known)));
      for (const control of lab.controls) {
        inputs[control.name].set(settings[control.name]);
        inputs[control.name].row.hidden = !offered(control, settings);
      }
      for (const group of groups) group.hidden = !group.querySelector(".lab-control:not([hidden])");
      code.textContent = lab.python(settings);
      remember();
      const refused = lab.refuse(settings);
      if (refused !== null) {
        running = false;
        buttons();
        say(refused);
      } else if (view.book && !live) {
        recorded();
      } else {
        restart();
      }
    }
    function recorded() {
      running = false;
      version++;
      const { values, arrays } = view.book;
      Object.assign(view, { live: false, epoch: view.last, done: true, diverged: null, values, arrays });
      draw();
      buttons();
      say();
    }
    function restart() {
      running = false;
      fresh = true;
      version++;
      owed = 0;
      const values = Object.fromEntries(lab.columns.map(([key]) => [key, []]));
      Object.assign(view, { live: true, epoch: 0, done: false, diverged: null, values, apart: 0, different: null });
      buttons();
      pump();
    }

    // --- training
    function go(how) {
      if (!view.live || view.done) restart();
      running = how !== "step";
      owed = { run: view.epoch, step: view.epochs.find((at) => at > view.epoch) ?? view.last, end: view.last }[how];
      clock = performance.now();
      if (running) status.textContent = "Training.";
      buttons();
      pump();
    }
    function pause() {
      running = false;
      owed = view.epoch;
      buttons();
      say();
    }
    function pump() {
      if (pending || !view.live) return;
      if (fresh) {
        ask(0);
      } else if (!view.done && !away && (running || owed > view.epoch)) {
        pending = true;
        requestAnimationFrame(() => {
          const now = performance.now(), share = Math.min(now - clock, 100) / lab.duration[speed];
          const ahead = lab.records ? Math.max(owed, 1) * view.last ** share : owed + view.last * share;
          if (running) owed = Math.max(owed, Math.min(view.last, ahead));
          clock = now;
          pending = false;
          if (fresh || owed > view.epoch) ask(fresh ? 0 : Math.floor(owed));
          else pump();
        });
      }
    }
    function ask(until) {
      if (!view.live) return;
      pending = true;
      engine.postMessage({ version, settings: fresh ? view.settings : null, until, budget: BUDGET });
      fresh = false;
    }
    engine.onmessage = ({ data: reply }) => {
      pending = false;
      if (reply.version === version) absorb(reply);
      pump();
    };
    engine.onerror = (error) => say(`The computation failed: ${error.message}`);
    function absorb({ epoch, done, diverged, records, arrays, checksum }) {
      for (const record of records) {
        for (const [key] of lab.columns) {
          const here = record.values[key], k = view.values[key].push(here) - 1;
          if (!view.book || view.book.values[key][k] === here) continue;
          const there = view.book.values[key][k];
          const apart = Math.abs(here - there) / Math.max(Math.abs(here), Math.abs(there), lab.least ?? 0);
          view.apart = Math.max(view.apart, apart);
          if (!(apart <= (lab.tolerance ?? 0))) view.different ??= record.epoch;
        }
      }
      Object.assign(view, { epoch, done, diverged, arrays, checksum });
      const first = records.length > 0 && records[0].epoch === 0;
      if (done) running = false;
      draw();
      buttons();
      if (!running && (done || first || owed <= epoch)) say();
    }

    // --- the address
    function remember() {
      if (!ready) return;
      const words = new URLSearchParams({ lab: name, ...view.settings });
      try {
        history.replaceState(null, "", `#${words}`);
      } catch {
        // A frame without an address of its own, as in some notebooks: nothing to remember.
      }
    }
    function settingsOf(hash) {
      const words = new URLSearchParams(hash.slice(1));
      if (words.get("lab") !== name) return null;
      const settings = { ...presets[0].settings };
      for (const control of lab.controls) {
        const { read, fits } = inputs[control.name], value = read(words.get(control.name) ?? "");
        if (words.has(control.name) && fits(value)) settings[control.name] = value;
      }
      return settings;
    }
    function restore() {
      const settings = settingsOf(location.hash);
      if (!settings) return;
      choose(settings);
      el.scrollIntoView({ block: "start" });
    }

    for (const panel of lab.panels) {
      const drawn = plot(panel, el, view);
      panels.push(drawn);
      plots.append(element("figure", {}, element("figcaption", { textContent: panel.title }), drawn.box));
    }
    choose({ ...presets[0].settings });
    restore();
    ready = true;
    window.addEventListener("hashchange", restore);
    const themes = new MutationObserver(() => panels.forEach((panel) => panel.recolour()));
    themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });  // JupyterLab's
    new IntersectionObserver((entries) => {
      away = !entries.at(-1).isIntersecting;  // several where it left and returned before this was called
      clock = performance.now();
      pump();
    }).observe(front);
    document.addEventListener("click", ({ target }) => {
      const link = target.closest?.(`button[data-lab="${name}"]`);
      const preset = presets.find((one) => one.key === link?.dataset.preset);
      if (!preset) return;
      choose({ ...preset.settings });
      front.scrollIntoView({ block: "start" });
      go("run");
    });
    return () => engine.terminate();
  }

  // ------------------------------------------------------------------------------------------------------ the page

  // Fill every laboratory of the page that is still empty, as soon as its script and the plots' have arrived.
  function start(patience = 100) {
    for (const el of document.querySelectorAll(".shallow-lab:not([data-ready])")) {
      const data = JSON.parse(el.querySelector("script[type='application/json']").textContent);
      if (!globalThis.uPlot || !ShallowLab.models[data.name]) {
        if (patience > 0) setTimeout(start, 100, patience - 1);
        return;
      }
      el.dataset.ready = "";
      render({ model: { get: (key) => data[key] }, el });
    }
  }

  ShallowLab.render = render;
  ShallowLab.start = start;
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => start());
  else start();
})();
