/* What the laboratory of localised receptive fields shows: its controls, the fields, every neuron, and three curves. */
(() => {
  "use strict";

  const lab = ShallowLab.models.localization;
  const model = lab.compute(ShallowLab.streams(), ShallowLab.algebra(), ShallowLab.vectors());
  const { records, shape, population, N } = model;
  const GAINS = [0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 1, 2, 3, 5, 10, 30, 100], WIDTHS = [4, 8, 20, 40, 60, 100];
  const RATES = [1, 2, 5, 10, 20, 50, 100], SHARES = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1];
  const LENGTHS = [0.5, 1, 1.5, 2, 2.5, 3], TAILS = ["light", "Gaussian", "heavy"];
  const NOISE = 3 / (N + 2), SHOWN = 6;
  const whole = (number) => Math.round(number).toLocaleString("en-US");
  const last = (values) => values?.[values.length - 1];
  const finite = (values) => (values ?? []).filter((value) => Number.isFinite(value));

  // Every neuron, kept until the fields are others: those with negative biases first, each population by centre.
  let kept = { W: null };
  function neurons({ arrays: { W = [], b = [] } }) {
    if (kept.W === W) return kept.all;
    const all = Array.from(b, (bias, j) =>
      ({ bias, sign: population(bias), field: Array.from({ length: N }, (_, i) => W[j * N + i]), ...shape(W, j) }));
    all.sort((one, other) => one.sign - other.sign || one.centre - other.centre);
    kept = { W, all };
    return all;
  }
  const colourOf = ({ sign }) => (sign < 0 ? "minus" : sign > 0 ? "plus" : "quiet");

  function describe({ settings, diverged, values, epochs, arrays, live }) {
    if (diverged !== null) return `Training diverged by step ${whole(diverged)}: the learning rate is too large.`;
    const step = epochs[values.loss.length - 1], now = (key) => last(values[key]);
    const group = (name, word) => (now(name) === 0 ? `no ${word} bias` : `${now(name)} ${word} `
      + `bias${now(name) === 1 ? "" : "es"} (inverse participation ratio ${now(`ipr_${name}`).toFixed(3)}, `
      + `frequency ${now(`frequency_${name}`).toFixed(1)})`);
    const constant = now("c") == null ? "" : `; constant ${now("c").toFixed(2).replace("-", "−")}`;
    const pace = live && arrays.pace?.[0] > 0 ? ` ${whole(arrays.pace[0])} steps a second.` : "";
    if (!step && settings.biases !== "from ±1/2") return "Before training: all biases are 0, all fields noise.";
    return `${step ? `After step ${whole(step)}` : "Before training"}: ${group("minus", "negative")}, `
      + `${group("plus", "positive")}; white noise has ${NOISE.toFixed(3)} and 10`
      + `${step ? `; loss ${now("loss").toFixed(3)}` : ""}${constant}.${pace}`;
  }

  // ------------------------------------------------------------------------------------------------ what is painted

  // All fields as rows, each scaled to its largest weight; a line between the populations.
  function heat({ context, colour, scale, box }, view) {
    const all = neurons(view), [up, down, text] = ["purple", "amber", "text"].map(colour);
    const left = box.left + 44 * scale, top = box.top + 4 * scale;
    const width = (box.left + box.width - left) / N, height = (box.height - 8 * scale) / Math.max(1, all.length);
    context.save();
    all.forEach(({ field }, row) => {
      const most = Math.max(...field.map(Math.abs)), from = Math.round(top + row * height);
      const thick = Math.round(top + (row + 1) * height) - from;
      field.forEach((weight, i) => {
        const at = Math.round(left + i * width);
        context.globalAlpha = Math.abs(weight) / most;
        context.fillStyle = weight > 0 ? up : down;
        context.fillRect(at, from, Math.round(left + (i + 1) * width) - at, thick);
      });
    });
    context.globalAlpha = 1;
    context.strokeStyle = context.fillStyle = text;
    context.lineWidth = 1.5 * scale;
    context.font = `${12 * scale}px sans-serif`;
    context.textBaseline = "middle";
    for (const [sign, label] of [[-1, "b < 0"], [0, "b = 0"], [1, "b > 0"]]) {
      const first = all.findIndex((one) => one.sign === sign), count = all.filter((one) => one.sign === sign).length;
      if (count === 0) continue;
      context.fillText(label, box.left + 2 * scale, top + (first + count / 2) * height);
      if (first === 0) continue;
      context.beginPath();
      context.moveTo(box.left, top + first * height);
      context.lineTo(box.left + box.width, top + first * height);
      context.stroke();
    }
    context.restore();
  }
  // Six fields, those with the largest norms: three of each sign, or more where one has fewer.
  function leading(view) {
    const sorted = neurons(view).slice().sort((one, other) => other.norm - one.norm);
    const [minus, plus] = [sorted.filter(({ sign }) => sign <= 0), sorted.filter(({ sign }) => sign > 0)];
    const few = Math.min(minus.length, plus.length, SHOWN / 2), most = minus.length < plus.length ? SHOWN - few : null;
    return (most === null ? [...minus.slice(0, SHOWN - Math.min(plus.length, 3)), ...plus.slice(0, 3)]
      : [...minus.slice(0, few), ...plus.slice(0, most)]).slice(0, SHOWN);
  }
  function largest({ context, colour, scale, box }, view) {
    const width = box.width / 3, height = box.height / 2, gap = 8 * scale;
    context.save();
    context.font = `${12 * scale}px sans-serif`;
    leading(view).forEach((one, k) => {
      const left = box.left + (k % 3) * width + gap / 2, middle = box.top + (Math.floor(k / 3) + 0.56) * height;
      const tall = 0.4 * height - gap / 2, size = Math.max(...one.field.map(Math.abs));
      context.lineWidth = scale;
      context.strokeStyle = colour("line");
      context.beginPath();
      context.moveTo(left, middle);
      context.lineTo(left + width - gap, middle);
      context.stroke();
      context.strokeStyle = colour(colourOf(one));
      context.lineWidth = 2 * scale;
      context.beginPath();
      one.field.forEach((weight, i) =>
        context.lineTo(left + (width - gap) * i / (N - 1), middle - tall * weight / size));
      context.stroke();
      context.fillStyle = colour("text");
      context.fillText(`b = ${one.bias.toFixed(2)}`, left, box.top + Math.floor(k / 3) * height + 12 * scale);
    });
    context.restore();
  }
  function discs({ context, colour, scale, x, y }, view) {
    context.save();
    context.globalAlpha = 0.7;
    for (const one of neurons(view)) {
      context.fillStyle = colour(colourOf(one));
      context.beginPath();
      context.arc(x(one.frequency), y(one.bias), (2 + 16 * Math.min(one.ipr, 0.6)) * scale, 0, 7);
      context.fill();
    }
    context.restore();
  }
  function biases(view) {
    const most = Math.max(0.2, ...neurons(view).map(({ bias }) => Math.abs(bias))) * 1.1;
    const limit = [0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 20, 50].find((value) => most < value) ?? most;
    return [-limit, limit];
  }

  // --------------------------------------------------------------------------------------------------- what is shown

  const POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const steps = { name: "step", label: "step (from 1)", range: ({ last: most }) => [0, Math.log10(Math.max(10, most))],
    write: (at) => whole(10 ** at), ticks: (at) => (Number.isInteger(at) ? `10${POWERS[at]}` : "") };
  // Curves by key against the step; step 0 stands left of the axis.
  const curves = (keys, level = null) => ({ epochs, values, book, live }) => {
    const of = (from, key) => epochs.map((_, k) => from?.[key]?.[k] ?? null);
    return [epochs.map((step) => (step ? Math.log10(step) : -1)), ...keys.map((key) => of(values, key)),
      ...(level === null ? [] : [epochs.map(() => level)]),
      ...keys.map((key) => of(live ? book?.values : null, key))];
  };
  const both = (values, book, keys) => keys.flatMap((key) => [...finite(values[key]), ...finite(book?.values[key])]);
  const negative = { label: "b < 0", colour: "minus", ghost: true };
  const positive = { label: "b > 0", colour: "plus", ghost: true };
  const then = [{ ...negative, label: "book's b < 0" }, { ...positive, label: "book's b > 0" }]
    .map((one) => ({ ...one, width: 1, dash: [3, 3], ghost: false }));
  const noise = { label: "white noise", colour: "quiet", width: 1, dash: [2, 4] };
  const choice = (name, group, options, label, help, shows) =>
    ({ name, label, kind: "choice", options, group, help, shows });
  const slider = (...of) => ({ ...choice(...of), kind: "scale" });
  const tailsTold = "light: the chapter's noise; Gaussian or heavy: noise of exactly the same covariance";
  const signed = ({ biases: kind }) => kind !== "from 0";
  const populations = [{ label: "negative bias", colour: "minus", mark: "line" },
    { label: "positive bias", colour: "plus", mark: "line" }];
  const dots = populations.map((one) => ({ ...one, mark: "dot" }));

  // What each plot shows now.
  const count = (view, sign) => neurons(view).filter((one) => one.sign === sign).length;
  const each = (name, digits, what) => ({ values }) => {
    const [minus, plus] = ["minus", "plus"].map((sign) => last(values[`${name}_${sign}`]));
    const words = [[minus, "negative"], [plus, "positive"]].filter(([value]) => value != null)
      .map(([value, sign]) => `${value.toFixed(digits)} with ${sign} biases`);
    return words.length ? `${what}: ${words.join(", ")}.` : "All biases are 0.";
  };
  const heatTold = (view) => `The weights of ${neurons(view).length} neurons as rows: ${count(view, -1)} with negative `
    + `biases above ${count(view, 1)} with positive ones, each in the order of the fields' centres.`;
  const largestTold = (view) => `Six fields, of biases ${leading(view).map(({ bias }) => bias.toFixed(2)).join(", ")}.`;
  const discsTold = (view) => `${neurons(view).length} neurons; biases from `
    + `${Math.min(...neurons(view).map(({ bias }) => bias)).toFixed(2)} to `
    + `${Math.max(...neurons(view).map(({ bias }) => bias)).toFixed(2)}.`;
  const lossTold = ({ values }) => (last(values.loss) == null ? "Before training."
    : `The loss is now ${last(values.loss).toFixed(3)}.`);

  Object.assign(lab, {
    title: "Laboratory: grow a receptive field",
    needs: ["streams", "algebra", "vectors"], unit: "step", records: ({ steps: most }) => records(most),
    length: ({ steps: most }) => most, duration: { slow: 20000, fast: 6000 }, tolerance: 1e-8, least: 0.001, describe,
    refuse: ({ slow, fast, slow_tails: first, fast_tails: second, biases: kind, constant, positive }) => {
      if (slow === fast && first === second) return "The classes are equal: there is nothing to learn.";
      const both = kind === "held to signs" && positive > 0 && positive < 1;
      return both && constant === "trained" ? "With a trained constant all biases are held to one sign: choose the "
        + "share 0 or 1." : null;
    },
    columns: [["loss", "loss"], ["c", "constant"], ["minus", "negative biases", String], ["ipr_minus", "their inverse participation ratio"],
      ["frequency_minus", "their frequency"], ["plus", "positive biases", String],
      ["ipr_plus", "their inverse participation ratio"], ["frequency_plus", "their frequency"]],
    seconds: ({ steps: most, batch, width }) => most * Number(batch) * (2.5e-6 + 6e-8 * width),
    controls: [
      choice("slow_tails", "data", TAILS, "tails, slow class", tailsTold),
      choice("fast_tails", "data", TAILS, "tails, fast class", tailsTold),
      choice("slow", "data", LENGTHS, "length, slow class", "over how many pixels noise of the class +1 stays alike"),
      choice("fast", "data", LENGTHS, "length, fast class", "over how many pixels noise of the class −1 stays alike"),
      slider("gain", "data", GAINS, "gain g",
        "small: light and heavy tails are nearly Gaussian; large: light-tailed values are nearly −1 and +1 alone"),
      slider("width", "network", WIDTHS, "neurons", "number of hidden neurons"),
      choice("biases", "network", ["from 0", "from ±1/2", "held to signs"], "biases",
        "where they begin, and whether they may change their signs"),
      choice("positive", "network", SHARES, "share of positive biases", "of the neurons, at the start", signed),
      choice("constant", "network", ["none", "trained", "-0.5", "0.5"], "constant in the output",
        "added to the output: none, one that begins at 0 and is learned, or one that is held"),
      { name: "seed", label: "seed", kind: "whole", max: 2 ** 32 - 1, group: "network",
        help: "a number from which data and first weights are drawn" },
      slider("rate", "training", RATES, "learning rate", "size of the steps of gradient descent"),
      choice("steps", "training", [100, 500, 1000, 2000, 4000], "steps", "length of the run; the chapter's has 2000"),
      choice("batch", "training", ["40", "200", "1000"], "batch", "new samples in each step; the chapter has 1000"),
    ],
    panels: [
      {
        title: "The weights of every neuron, one row each", main: true, bare: true, height: 370, tells: heatTold,
        key: () => [{ label: "positive weight", colour: "purple", mark: "square" },
          { label: "negative weight", colour: "amber", mark: "square" },
          { label: "between the signs of the biases b", colour: "text", mark: "line" }],
        x: { name: "", label: "", range: [0, 1], write: String }, y: { label: "", range: () => [0, 1] },
        series: [{ label: "", colour: "text" }], data: () => [[0, 1], [null, null]], draw: heat,
      },
      {
        title: "How local fields are: inverse participation ratio", main: true, x: steps,
        tells: each("ipr", 3, "Median inverse participation ratio"),
        y: { label: "median ratio", range: ({ values, book }) =>
          [0, Math.max(0.4, 1.1 * Math.max(...both(values, book, ["ipr_minus", "ipr_plus"])))] },
        series: [negative, positive, noise, ...then], data: curves(["ipr_minus", "ipr_plus"], NOISE),
      },
      {
        title: "Six of the largest fields", bare: true, height: 264, tells: largestTold, key: () => populations,
        x: { name: "", label: "", range: [0, 1], write: String }, y: { label: "", range: () => [0, 1] },
        series: [{ label: "", colour: "text" }], data: () => [[0, 1], [null, null]], draw: largest,
      },
      {
        title: "Every neuron: the larger, the more local its field", height: 264, tells: discsTold, key: () => dots,
        x: { name: "frequency", label: "mean frequency of w, cycles per ring", range: [0, N / 2], write: String,
          ticks: String },
        y: { label: "bias b", range: biases }, series: [{ label: "", colour: "text" }],
        data: () => [[0, N / 2], [null, null]], draw: discs,
      },
      {
        title: "How fast the fields oscillate: median frequency", x: steps,
        tells: each("frequency", 1, "Median frequency in cycles per ring"),
        y: { label: "cycles per ring", range: () => [0, N / 2] },
        series: [negative, positive, { ...noise, digits: 1 }, ...then].map((one) => ({ digits: 1, ...one })),
        data: curves(["frequency_minus", "frequency_plus"], N / 4),
      },
      {
        title: "Loss, mean over the batches since the last record", tells: lossTold, x: steps,
        y: { label: "loss", range: ({ values, book }) => {
          const all = both(values, book, ["loss"]);
          return [Math.floor(10 * Math.min(0.4, ...all)) / 10, Math.ceil(10 * Math.max(0.5, ...all)) / 10 + 0.02];
        } },
        series: [{ label: "loss", colour: "train", ghost: true }, { label: "book's", colour: "train-pale", width: 1 }],
        data: curves(["loss"]),
      },
    ],
  });
})();
