/* The shell of the laboratories: presets, controls, plots, run, pause, scrubbing, progress, address, Python.
 *
 * A laboratory is `ShallowLab.render({ model, el })`: `el` is the element to fill, and `model.get(key)` gives what the
 * page carries, "name" and "presets".  What is computed and shown stands in `ShallowLab.models[name]`:
 *
 *   compute(...needs)      as text in a worker; returns { start(settings) } -> run with epoch, done, diverged, values
 *                          (numbers at the last record, or null; new ones at each), advance() (to the next record or
 *                          a millisecond towards it), snapshot() (arrays, new at each call), weights()
 *   needs                  names of what compute is given: functions of ShallowLab such as "streams", called
 *   unit                   what is counted, "epoch" or "step"; the shell's variables are named after the first
 *   length(settings)       length of a run in that unit, and
 *   every                  the distance of its records, or
 *   records(settings)      the records, in equal ratios: the run then goes through the decades at one speed
 *   duration               milliseconds of a run by speed, least
 *   seconds(settings)      roughly what a whole run takes an ordinary laptop to compute
 *   tolerance              largest relative difference to the book's run that is agreement; without, bits are compared
 *   least                  size below which differences are relative to it and not to the number
 *   title, columns         its name in words; [key, label, how it is written] of each of the values
 *   controls               [{ name, label, help, kind: "range" | "scale" | "choice" | "whole", group, ... }]; those
 *                          with `display` change what is drawn, not what is computed, and those with
 *                          `shows(settings)` are there, and count, only for some settings
 *   refuse(settings)       why these settings cannot be run, or null
 *   panels                 what is plotted, see plots.js; those with `main` stand beside the controls
 *   describe(view)         what happened, in words
 *   python(settings)       the lines that do the same with the library
 *
 * A preset is { key, label, ask, note, settings, run: { values, arrays, checksum } }, the run being the book's own;
 * `ask` is what to guess before it is run, `note` what came out; the page opens with the run of the one that `opens`,
 * or the first.
 *
 * The view that panels and words are given is the moment shown: { settings, epochs, last, book, live, values, epoch,
 * at (the index of its record), arrays, done, diverged, back (whether later moments are known), ghost (the reader's
 * last run, { settings, epochs, values }, or null) }.
 */
globalThis.ShallowLab ??= { models: {} };

(() => {
  "use strict";

  const { element, button, input, copy, whole } = ShallowLab;
  const IDENTICAL = "Identical to the book's run: yes, to the last bit.";
  const LONG = 5;  // seconds of a run of which the reader is told before

  // A time that is estimated, in words.
  function inWords(seconds) {
    if (seconds < 90) return `${seconds < 20 ? Math.ceil(seconds) : 5 * Math.round(seconds / 5)} s`;
    return `${Math.round(seconds / 60)} min`;
  }
  const folded = (label, className, ...children) =>
    element("details", { className }, element("summary", { textContent: label }), ...children);

  // The presets: a row of buttons, and below it what the chosen one asks and, once told, what came out.
  function presetsOf(presets, choose, answer) {
    const choices = presets.map((preset) => button(preset.label, () => choose(preset)));
    const told = new Set(), cards = presets.map((preset) => {
      const show = button("Show the answer", () => answer(preset), "lab-answer");
      const note = element("p", { className: "lab-note", textContent: preset.note });
      return { show, note, node: element("div", { className: "lab-card" }, preset.ask
        ? element("p", { className: "lab-question", textContent: preset.ask }) : "", element("div", {}, note, show)) };
    });
    const own = element("div", { className: "lab-card" },
      element("p", { textContent: "Your own settings. Those above are the book's." }));
    let current = null;
    function update() {
      own.classList.toggle("lab-absent", current !== undefined);
      presets.forEach((preset, k) => {
        const { node, note, show } = cards[k], known = !preset.ask || told.has(preset.key);
        choices[k].setAttribute("aria-pressed", String(preset === current));
        node.classList.toggle("lab-absent", preset !== current);
        note.classList.toggle("lab-absent", !known);
        show.classList.toggle("lab-absent", known);
      });
    }
    return {
      nodes: [element("div", { className: "lab-presets" }, ...choices),
        element("div", { className: "lab-cards" }, ...cards.map(({ node }) => node), own)],
      choose: (preset) => { current = preset; update(); },
      tell: (preset) => { told.add(preset?.key); update(); },
      asks: (preset) => preset?.ask !== undefined && !told.has(preset.key),
    };
  }

  // The controls in their groups, and a line that says what the one is that is pointed at or has the focus.
  function settingsOf(controls, inputs) {
    const groups = [...new Set(controls.map((control) => control.group))].map((group) =>
      element("fieldset", {}, element("legend", { textContent: group }),
        element("div", { className: "lab-fields" }, ...controls.filter((control) => control.group === group)
          .map((control) => inputs[control.name].row))));
    const helped = controls.some((control) => control.help), help = element("p", { className: "lab-help" });
    help.hidden = !helped;
    help.setAttribute("aria-hidden", "true");  // the fields are described by the same words
    help.textContent = "Point at a setting to read what it is.";
    for (const control of controls) {
      const tell = () => { help.textContent = control.help ?? ""; };
      for (const event of ["pointerenter", "focusin"]) inputs[control.name].row.addEventListener(event, tell);
    }
    return { groups, node: element("div", { className: "lab-settings" }, ...groups, help) };
  }

  // The curves as a table of a dozen rows, without columns that are empty.
  function tableOf({ unit, columns }) {
    const rows = element("tbody"), head = element("tr"), top = element("thead", {}, head);
    function fill({ epochs, values }) {
      const count = values[columns[0][0]].length, stride = Math.max(1, Math.floor((epochs.length - 1) / 10));
      const shown = Array.from({ length: Math.ceil(count / stride) }, (_, k) => k * stride);
      const filled = columns.filter(([key]) => count === 0 || values[key].some((value) => value != null));
      head.replaceChildren(...[unit, ...filled.map(([, label]) => label)]
        .map((label) => element("th", { scope: "col", textContent: label })));
      rows.replaceChildren(...shown.map((k) => element("tr", {},
        element("th", { scope: "row", textContent: whole(epochs[k]) }),
        ...filled.map(([key, , write = (value) => value.toFixed(3)]) =>
          element("td", { textContent: values[key][k] == null ? "" : write(values[key][k]) })))));
    }
    return { fill, node: folded("The curves as a table", "lab-table", element("table", { tabIndex: 0 }, top, rows)) };
  }

  // Whether a run that is over agrees with the book's, and that in words.
  const agrees = ({ tolerance }, { different, checksum, book }) =>
    different === null && (tolerance !== undefined || checksum === book.checksum);
  function comparison(lab, run) {
    if (run.different !== null) return `Differs from the book's run from ${lab.unit} ${whole(run.different)} on.`;
    if (!agrees(lab, run)) return "Differs from the book's run in its last weights.";
    if (lab.tolerance === undefined) return IDENTICAL;
    return `Agrees with the book's run to ${Math.floor(-Math.log10(Math.max(run.apart, 2 ** -53)))} digits.`;
  }

  function render({ model, el }) {
    const name = model.get("name"), presets = model.get("presets"), lab = ShallowLab.models[name];
    const { unit } = lab, opening = presets.find(({ opens }) => opens) ?? presets[0];
    // What is shown: the book's recorded run or, after the first press, the reader's, at its end or earlier.
    const view = { settings: { ...opening.settings }, epochs: [], last: 0, book: null, live: false, epoch: 0, at: 0,
      done: false, diverged: null, values: {}, arrays: {}, back: false, ghost: null };
    let ready = false;
    let trouble = null, hopeful = true;  // why nothing can be trained, and whether it may be tried again
    let wanted = null;  // the kept record to which the reader went back
    let again = false;  // whether the book's run is trained once more so that it can be gone through
    let resume = false;  // whether training goes on from the end of the scrubber

    const trainer = ShallowLab.trainer(lab, { changed, failed });
    const { run } = trainer;

    // --- elements
    const cards = presetsOf(presets, guess, answer);
    const inputs = Object.fromEntries(lab.controls.map((control) =>
      [control.name, input(control, (key, value) =>
        (control.display ? display : choose)({ ...view.settings, [key]: value }),
      (words) => { status.textContent = words; })]));
    const { groups, node: settings } = settingsOf(lab.controls, inputs);
    const start = button("Run", () => (trainer.running() ? pause() : go("run")), "lab-run");
    const record = button("One record", () => go("record"));
    const end = button("To the end", () => go("end"));
    const rewind = button("Back to 0", () => restart());
    const anew = button("New start", () => choose({ ...view.settings, seed: view.settings.seed + 1 }, { live: true }));
    record.title = `train to the next record: ${
      lab.records ? `a few ${unit}s at first, more later` : lab.every > 1 ? `${lab.every} ${unit}s` : `one ${unit}`}`;
    end.title = "train to the end as fast as it goes";
    rewind.title = `${unit} 0 of the same start`;
    anew.title = "the next seed: other points, other weights";
    const pace = input({ name: "speed", label: "speed", kind: "choice", options: Object.keys(lab.duration) },
      (_, value) => trainer.pace(value));
    pace.set("fast");
    const scrubber = element("input", { type: "range", min: 0, max: 1, step: 1, className: "lab-scrubber" });
    scrubber.setAttribute("aria-label", `${unit} that is shown`);
    scrubber.addEventListener("input", scrub);
    scrubber.addEventListener("change", released);
    const counter = element("span", { className: "lab-counter" }), time = element("span", { className: "lab-time" });
    const bar = element("div", { className: "lab-bar" }, start, element("div", { className: "lab-progress" }, scrubber,
      element("div", {}, counter, time)));
    const forget = button("forget", () => { view.ghost = null; draw(); }, "lab-forget");
    const ghost = element("p", { className: "lab-ghost lab-absent" },
      element("span", { className: "lab-swatch" }), "pale and broad: your last run ", forget);
    const status = element("p", { className: "lab-status" });
    status.setAttribute("role", "status");
    status.setAttribute("aria-live", "polite");
    const longest = element("p", { className: "lab-absent" });  // its place is that of the status
    const said = element("div", { className: "lab-said" }, status, longest);
    const code = element("code"), table = tableOf(lab);
    const python = folded("Show as Python", "lab-python", element("pre", { tabIndex: 0 }, code));
    const main = element("div", { className: "lab-plots" }), others = element("div", { className: "lab-plots" });
    const more = folded("More plots", "lab-more", others);
    const copied = element("span", { role: "status" });
    const linked = /^(https?|file):$/.test(location.protocol);  // a notebook's frame may have no address of its own
    const copies = element("div", { className: "lab-copies" }, ...linked ? [button("Copy link", copyLink)] : [],
      button("Copy Python", copyPython), copied);
    const front = element("div", { className: "lab" }, ...cards.nodes,
      element("div", { className: "lab-side" }, bar,
        element("div", { className: "lab-buttons" }, record, end, rewind, anew, pace.row), ghost, settings),
      main, said, copies, more, table.node, python);
    front.setAttribute("role", "group");
    front.setAttribute("aria-label", lab.title);
    el.append(front);

    // --- what is shown
    const panels = lab.panels.map((panel) => ShallowLab.plot(panel, el, view, unit, (settings, over) => {
      choose(settings, { live: true });
      if (over) go("run");
    }));
    const split = panels.some((panel) => panel.main);
    for (const panel of panels) (panel.main || !split ? main : others).append(panel.figure);
    more.addEventListener("toggle", () => panels.forEach((panel) => panel.update()));
    const first = lab.columns[0][0], counted = () => view.values[first]?.length ?? 0;
    // Positions of the scrubber: the kept records and the end.
    const positions = () => Math.ceil((run.epochs.length - 1) / run.stride);
    const newest = () => (run.done && run.diverged === null ? positions() : Math.floor(run.at / run.stride));
    function look() {
      const moment = wanted === null ? run : run.kept[Math.min(wanted, newest())] ?? run, back = moment !== run;
      const { epochs, last, live, values } = run, { epoch, at, arrays } = moment;
      const book = run.book && cards.asks(presetOf(view.settings)) && live ? null : run.book;
      Object.assign(view, { epochs, last, book, live, values, epoch, at, arrays, back,
        done: run.done && !back, diverged: back ? null : run.diverged });
    }
    function draw() {
      look();
      for (const panel of panels) panel.update();
      more.hidden = ![...others.children].some((figure) => !figure.hidden);
      scrubber.max = Math.max(1, positions());
      scrubber.value = wanted ?? newest();
      counter.textContent = `${unit} ${whole(view.epoch)} of ${whole(view.last)}`;
      scrubber.setAttribute("aria-valuetext", counter.textContent);
      ghost.classList.toggle("lab-absent", view.ghost === null);
      time.textContent = remaining();
    }
    function remaining() {
      const left = refusal() === null && !(run.live && run.done) ? trainer.left() : null;
      if (trainer.running()) return left > 1 ? `${inWords(left)} left` : "";
      return left > LONG ? `takes about ${inWords(left)}` : "";
    }
    // The view as describing words have it: no values after the moment shown.
    function past() {
      if (!view.back) return view;
      return { ...view,
        values: Object.fromEntries(Object.entries(view.values).map(([key, all]) => [key, all.slice(0, view.at + 1)])) };
    }
    function say() {
      const text = story(), compared = run.live && run.book && run.done;
      status.textContent = text;
      if (!run.live || run.at === 0) reserve(text);  // not while it runs: nothing moves then
      status.dataset.apart = compared ? run.apart : "";
      status.dataset.agrees = compared ? agrees(lab, run) : "";
      for (const panel of panels) panel.name(text, counted() ? past() : null);
      table.fill(view);
    }
    function story() {
      const refused = refusal();
      if (refused !== null) return refused;
      const words = counted() ? [run.live ? "" : "The book's run.", lab.describe(past())] : [];
      if (run.live && run.book && run.done) words.push(comparison(lab, run));
      return [...words, trouble ?? ""].filter(Boolean).join(" ");
    }
    function reserve(text) {
      const later = `${text} ${IDENTICAL}`;
      if (later.length > longest.textContent.length) longest.textContent = later;
    }
    function buttons() {
      const over = run.live && run.done, idle = refusal() !== null || !hopeful, short = !(run.last > 0);
      start.textContent = trainer.running() ? "Pause" : over && !short ? "Run again" : "Run";
      rewind.disabled = idle;
      for (const node of [start, scrubber]) node.disabled = idle || short;
      for (const node of [record, end]) node.disabled = idle || short || over;
    }
    function show() {
      draw();
      buttons();
      say();
    }

    // --- settings
    const refusal = () => lab.refuse(view.settings);
    const offered = (control, settings) => control.shows?.(settings) ?? true;
    const equal = (a, b) => lab.controls.every((control) => control.display || !offered(control, b)
      || (a[control.name] ?? "") === (b[control.name] ?? ""));
    const presetOf = (settings) => presets.find((preset) => equal(preset.settings, settings));
    function display(settings) {
      view.settings = settings;
      for (const panel of panels) panel.recolour();
      remember();
    }
    // Settings that are to be run, or of which something is to be guessed, are not shown as the book has them.
    function choose(settings, { live = false, asking = false } = {}) {
      if (run.live && run.at > 0 && !equal(run.settings, settings)) {
        view.ghost = { settings: run.settings, epochs: run.epochs, values: run.values };
      }
      const known = presetOf(settings);
      view.settings = settings;
      trainer.take(settings, known?.run ?? null);
      cards.choose(known);
      for (const control of lab.controls) {
        inputs[control.name].set(settings[control.name]);
        inputs[control.name].row.hidden = !offered(control, settings);
      }
      for (const group of groups) group.hidden = !group.querySelector(".lab-control:not([hidden])");
      code.textContent = lab.python(settings);
      remember();
      if (known && refusal() === null && (!hopeful || !live && !asking)) recorded();
      else restart();
    }
    function recorded() {
      wanted = null;
      again = resume = false;
      trainer.open();
      show();
    }
    function guess(preset) {
      choose({ ...preset.settings }, { asking: cards.asks(preset) });
    }
    // What came out of a preset: the words, and the book's run where the reader has none of it.
    function answer(preset) {
      cards.tell(preset);
      if (!trainer.running() && !(run.live && run.done && run.last > 0)) recorded();
    }

    // --- training
    function restart() {
      wanted = null;
      again = resume = false;
      if (refusal() !== null || !hopeful) {
        trainer.clear();
        show();
        return;
      }
      trouble = null;
      trainer.restart();
      buttons();
    }
    function go(how) {
      if (start.disabled) return;
      wanted = trouble = null;
      again = resume = false;
      trainer.go(how);
      if (trainer.running()) status.textContent = "Training.";
      if (run.at > 0) draw();
      buttons();
    }
    function pause() {
      trainer.pause();
      show();
    }
    function changed(settled) {
      if (run.done) {
        again = false;
        if (run.book && run.last > 0) cards.tell(presetOf(view.settings));  // not where nothing had to run
      }
      draw();
      buttons();
      if (settled) say();
    }
    // The book's run stays, or comes back, where nothing can be trained.
    function failed(why, worked) {
      const next = worked ? "Run tries once more." : "The book's own runs are shown.";
      trouble = `It cannot be trained here: ${why}. ${next}`;
      hopeful = worked;
      if (!ready) return;
      if (run.book) recorded();
      else show();
    }
    // Of the book's run the page has the end alone: to go through it, it is trained again.
    function scrub() {
      const value = Number(scrubber.value);
      if (!run.live) {
        go("end");
        again = true;
        status.textContent = "The book's run is trained again, the same from its start, so that you can go through it.";
      } else if (trainer.running() && !again) {
        resume = true;
        trainer.pause();
        buttons();
      }
      wanted = again || value < newest() ? value : null;
      if (run.kept.length > 0) draw();
    }
    function released() {
      if (again) return;
      if (wanted === null && resume) go("run");
      else say();
    }

    // --- the address
    const address = (more = {}) => `#${new URLSearchParams({ lab: name, ...view.settings, ...more })}`;
    function remember(hash = address()) {
      if (!ready) return;
      try {
        history.replaceState(null, "", hash);
      } catch {
        // A frame without an address of its own, as in some notebooks: nothing to remember.
      }
    }
    // A link to what the reader sees runs it where the reader did.
    async function copyLink() {
      const hash = address(run.live && run.at > 0 ? { run: 1 } : {});
      remember(hash);
      copied.textContent = await copy(location.href.split("#")[0] + hash, "Link");
    }
    async function copyPython() {
      python.open = true;
      copied.textContent = await copy(code.textContent, "Python", code);
    }
    function restore() {
      const words = new URLSearchParams(location.hash.slice(1)), settings = { ...opening.settings };
      if (words.get("lab") !== name) return;
      for (const control of lab.controls) {
        const { read, fits } = inputs[control.name], value = read(words.get(control.name) ?? "");
        if (words.has(control.name) && fits(value)) settings[control.name] = value;
      }
      choose(settings);
      el.scrollIntoView({ block: "start" });
      if (words.get("run") === "1") go("run");
    }

    for (const { settings, run: book } of presets) {  // the place that words of the book's runs take
      view.settings = settings;
      trainer.take(settings, book);
      trainer.open();
      look();
      reserve(story());
    }
    choose({ ...opening.settings });
    restore();
    ready = true;
    window.addEventListener("hashchange", restore);
    const themes = new MutationObserver(() => panels.forEach((panel) => panel.recolour()));
    themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
    new IntersectionObserver((entries) => {
      trainer.sight(entries.at(-1).isIntersecting);  // several where it left and returned before this was called
    }).observe(front);
    document.addEventListener("click", ({ target }) => {
      const link = target.closest?.(`button[data-lab="${name}"]`);
      const preset = presets.find((one) => one.key === link?.dataset.preset);
      if (!preset) return;
      choose({ ...preset.settings });
      front.scrollIntoView({ block: "start" });
      go("run");
    });
    return trainer.stop;
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
