/* What the laboratory of heavy tails shows: its controls, a spectrum, three curves, and the same run in Python. */
(() => {
  "use strict";

  const { noise, density, predicted, untrained } = ShallowLab.models.heavy_tails;
  const D = 200, BINS = { log: 40, linear: 100 }, DENSE = 12, WIDEST = 400;
  // Ten rates in a decade, and the numbers of neurons; training is for the first three.
  const RATES = Array.from({ length: 71 }, (_, k) => Number((10 ** (k / 10 - 3)).toPrecision(2)));
  const WIDTHS = [200, 300, 400, 600, 1200, 2000];
  const RATIOS = Array.from({ length: 37 }, (_, k) => 1 + k / 4);
  const whole = (number) => Math.round(number).toLocaleString("en-US");
  const finite = (values) => (values ?? []).filter((value) => Number.isFinite(value));
  const last = (values) => values?.[values.length - 1];

  function describe({ settings, epoch, diverged, values }) {
    if (diverged !== null) return `Training diverged at step ${diverged}: the learning rate is too large.`;
    const [exponent, mixed, largest, second] =
      [values.exponent, values.null, values.largest, values.second].map(last);
    const none = noise(settings.width).exponent.toFixed(2);
    if (untrained(settings)) {
      return `${whole(settings.width)} x ${D} independent normal numbers, no training: exponent `
        + `${exponent.toFixed(2)}; the law of such matrices has ${none}.`;
    }
    const gain = epoch ? `, ${gained(values)}` : "";
    const law = epoch === 1 ? predicted(settings) : null;
    return `${epoch ? `After step ${epoch}` : "Before training"}: the largest eigenvalue is ${whole(largest)}, `
      + `${(largest / second).toFixed(2)} times the second${law ? ` (predicted: ${whole(law)})` : ""}; `
      + `exponent ${exponent.toFixed(2)}, permuted within columns ${mixed.toFixed(2)}, pure noise ${none}; `
      + `alignment ${last(values.similarity).toFixed(2)}; test loss ${last(values.test).toFixed(3)}${gain}.`;
  }
  // The test loss against that before training, in words.
  function gained({ test }) {
    const gain = 100 * (1 - last(test) / test[0]);
    return `${Math.abs(gain).toFixed(1)} % ${gain < 0 ? "above" : "below"} that of the untrained network`;
  }

  // ---------------------------------------------------------------------------------------------------- the spectrum

  const place = (value, log) => (log ? Math.log10(value) : value);
  // Ends of the axis of eigenvalues: all of the start and of now, in quarters of a decade.
  function ends({ settings, arrays }) {
    const log = settings.axis === "log", all = [...(arrays.spectrum ?? []), ...(arrays.initial ?? [])];
    const most = Math.max(10, ...all) * 1.02, seen = all.filter((value) => value > most * 1e-12);
    const least = Math.min(most / 10, ...seen);
    return log ? [Math.floor(4 * Math.log10(least)) / 4, Math.ceil(4 * Math.log10(most)) / 4] : [0, most];
  }
  // Number of eigenvalues in each bin, DENSE points to a bin, and that by the law of noise with the same median.
  function histogram(view) {
    const { settings, arrays } = view, log = settings.axis === "log", bins = BINS[settings.axis];
    const [low, high] = ends(view), count = bins * DENSE, width = (high - low) / bins, h = settings.width;
    const x = Array.from({ length: count }, (_, k) => low + (k + 0.5) * width / DENSE);
    if (!arrays.spectrum) return [x, ...[0, 1, 2].map(() => x.map(() => null))];
    const counted = (values) => {
      const found = Array(bins).fill(0);
      for (const value of values) {
        const bin = Math.floor((place(value, log) - low) / width);
        if (bin >= 0) found[Math.min(bin, bins - 1)]++;
      }
      return x.map((_, k) => found[Math.floor(k / DENSE)]);
    };
    const { spectrum } = arrays, unit = spectrum[spectrum.length >> 1] / noise(h).median;
    const law = x.map((at) => {
      const value = log ? 10 ** at : at;
      return spectrum.length * width * density(value / unit, h) / unit * (log ? value * Math.LN10 : 1);
    });
    return [x, counted(spectrum), counted(arrays.initial), law];
  }
  // Where the legend stands without a pointer: the middle of the bin with most eigenvalues.
  function fullest(view) {
    const [, counts] = histogram(view);
    return counts[0] === null ? 0 : counts.indexOf(Math.max(...counts)) + DENSE / 2;
  }
  // A tick for every eigenvalue, and where the first step is predicted to put the largest one.
  function marks({ context, colour, scale, box, x }, { settings, arrays, epoch }) {
    const log = settings.axis === "log", foot = box.top + box.height;
    const line = (at, top) => {
      context.beginPath();
      context.moveTo(x(at), top);
      context.lineTo(x(at), foot);
      context.stroke();
    };
    context.save();
    context.lineWidth = scale;
    context.strokeStyle = colour("train");
    for (const value of arrays.spectrum ?? []) if (value > 0) line(place(value, log), foot - 7 * scale);
    const law = epoch > 0 ? predicted(settings) : null;
    if (law && place(law, log) <= ends({ settings, arrays })[1]) {
      context.strokeStyle = context.fillStyle = colour("text");
      context.setLineDash([4 * scale, 3 * scale]);
      line(place(law, log), box.top);
      context.font = `${12 * scale}px sans-serif`;
      context.textAlign = x(place(law, log)) > box.left + 0.6 * box.width ? "right" : "left";
      const aside = context.textAlign === "left" ? 4 * scale : -4 * scale;
      context.fillText("predicted after step 1", x(place(law, log)) + aside, box.top + 13 * scale);
    }
    context.restore();
  }

  // --------------------------------------------------------------------------------------------------- what is shown

  const POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  function power(at, view) {
    const [low, high] = ends(view);
    if (high - low < 1.5) return whole(Number((10 ** at).toPrecision(2)));
    return Number.isInteger(at) ? `${at < 0 ? "10⁻" : "10"}${POWERS[Math.abs(at)]}` : "";
  }
  const steps = { name: "step", label: "step", range: ({ last }) => [0, Math.max(1, last)], write: String,
    ticks: (step) => (Number.isInteger(step) ? String(step) : "") };
  // Without training the exponent is shown against the matrix's shape.
  const shape = (view, other, usual) => (untrained(view.settings) ? other : usual);
  function exponents(view) {
    const [own, books] = curve("exponent")(view), [mixed] = curve("null")(view), { width } = view.settings;
    if (!untrained(view.settings)) {
      return [view.epochs, own, mixed, view.epochs.map(() => noise(width).exponent), books];
    }
    const only = (value) => RATIOS.map((ratio) => (ratio === width / D ? value ?? null : null));
    return [RATIOS, only(own[0]), only(mixed[0]), RATIOS.map((ratio) => noise(ratio * D).exponent), only(books[0])];
  }
  const curve = (key) => ({ values, epochs, live, book }) => [values[key], live ? book?.values[key] : []].map((one) =>
    epochs.map((_, k) => one?.[k] ?? null));
  // By how many per cent the test loss is below that at the start.
  const gains = (view) => curve("test")(view).map((one) =>
    one.map((loss) => (loss === null ? null : 100 * (1 - loss / one[0]))));
  const span = (values, least, most, unit) => [Math.floor(Math.min(least, ...finite(values)) / unit) * unit,
    Math.ceil(Math.max(most, ...finite(values)) / unit) * unit];
  const trained = ({ settings }) => !untrained(settings);
  const both = ({ values, book }, key) => [...(values[key] ?? []), ...(book?.values[key] ?? [])];
  const choice = (name, group, options, label, help, shows) =>
    ({ name, label, kind: "choice", options, group, help, shows });
  const applies = (settings) => !untrained(settings);  // without training nothing depends on the rest
  const now = { colour: "train", dots: true, ghost: true }, then = { label: "book's", colour: "train-pale", width: 1 };

  // What each plot shows now.
  function spreadTold({ values, arrays: { spectrum } }) {
    if (!spectrum) return "No spectrum.";
    const [largest, second] = [values.largest, values.second].map(last);
    return `${spectrum.length} eigenvalues; the largest is ${whole(largest)}, ${(largest / second).toFixed(2)} times `
      + `the second; the median is ${whole(spectrum[spectrum.length >> 1])}.`;
  }
  const exponentTold = ({ values, settings }) => `The exponent is ${last(values.exponent).toFixed(2)}; that of the `
    + `entries permuted within columns is ${last(values.null).toFixed(2)}, that of pure noise `
    + `${noise(settings.width).exponent.toFixed(2)}.`;
  const lossTold = ({ values }) => `The test loss is ${last(values.test)?.toFixed(3)}, ${gained(values)}; the training `
    + `loss ${last(values.train)?.toFixed(3)}, the ridge constant ${last(values.penalty)?.toPrecision(2)}.`;
  const alignmentTold = ({ values }) => `The alignment is ${last(values.similarity)?.toFixed(2)}; by chance it would `
    + `be about ${(D ** -0.5).toFixed(2)}.`;

  Object.assign(ShallowLab.models.heavy_tails, {
    title: "Laboratory: from noise to a spike to a wide bulk",
    needs: ["streams", "algebra"], unit: "step", every: 1, duration: { slow: 15000, fast: 3000 }, tolerance: 1e-9,
    length: (settings) => (untrained(settings) ? 0 : settings.steps), describe,
    columns: [["exponent", "exponent"], ["null", "permuted within columns"], ["largest", "largest eigenvalue"],
      ["second", "second eigenvalue"], ["train", "training loss"], ["test", "test loss"],
      ["penalty", "ridge constant", (value) => value.toPrecision(2)], ["similarity", "alignment"]],
    seconds: (settings) => (untrained(settings) ? 0 : 1e-3 * settings.steps * settings.width),
    controls: [
      choice("optimiser", "training", ["GD", "Adam", "none"], "optimiser",
        "gradient descent, Adam, or no training: a random matrix alone"),
      { name: "rate", label: "learning rate", kind: "scale", options: RATES, group: "training", shows: applies,
        help: "size of the steps" },
      { name: "steps", label: "steps", kind: "range", min: 0, max: 10, group: "training", shows: applies,
        help: "how many steps the first layer takes" },
      choice("labels", "training", ["true", "permuted"], "labels",
        "those of the teacher, or the same in random order, which say nothing of the inputs", applies),
      choice("cut", "training", ["nothing", "gradient", "update"], "leading pair cut",
        "nothing is cut, or the largest singular pair of every gradient, before the optimiser divides, or of every "
          + "update, after it", applies),
      choice("student", "network", ["tanh", "softplus"], "activation", "the neurons' nonlinearity", applies),
      choice("width", "network", WIDTHS, "neurons (200 inputs)", "rows of the matrix W; it has 200 columns"),
      { name: "seed", label: "seed", kind: "whole", max: 2 ** 32 - 1, group: "network",
        help: "a number from which data and first weights are drawn" },
      choice("update", "text or code", ["code", "text"], "size of steps",
        "the document's text and its code take steps of different size: which is followed", applies),
      choice("features", "text or code", ["code", "text"], "read-out's scale",
        "text and code scale what the read-out is fitted to differently: which is followed", applies),
      { ...choice("axis", "picture", ["log", "linear"], "axis of eigenvalues", "how the first plot is drawn"),
        display: true },
    ],
    refuse: (settings) => (untrained(settings) || settings.width <= WIDEST ? null
      : `With more than ${WIDEST} neurons a step takes too long here: take fewer, or the optimiser "none".`),
    panels: [
      {
        title: "How the eigenvalues of WᵀW are spread", main: true, tells: spreadTold,
        key: ({ settings }) => [{ label: "tick: one eigenvalue now", colour: "train", mark: "line" },
          ...(predicted(settings) ? [{ label: "the largest after step 1, by theory", colour: "text", mark: "dash" }]
            : [])],
        x: { name: "in the bin at", label: "eigenvalue", range: ends,
          write: (at, { settings }) => whole(settings.axis === "log" ? 10 ** at : at),
          ticks: (at, view) => (view.settings.axis === "log" ? power(at, view) : whole(at)) },
        y: { label: "number in a bin", range: (view) =>
          [0, 1.2 * Math.max(10, ...histogram(view).slice(1).flatMap(finite))] },
        series: [
          { label: "now", colour: "train", fill: "train-faint", width: 1, digits: 0 },
          { label: "at the start", colour: "quiet", dash: [3, 3], width: 1, digits: 0 },
          { label: "law of noise, same median", colour: "text", digits: 1 },
        ],
        data: histogram, draw: marks, rest: fullest,
      },
      {
        title: "Exponent of the spectrum's tail, against that of noise", main: true, tells: exponentTold,
        x: { ...steps, name: (view) => shape(view, "h/d", "step"),
          label: (view) => shape(view, "rows over columns, h/d", "step"),
          range: (view) => shape(view, [1, 10], steps.range(view)) },
        y: { label: "exponent", range: (view) => shape(view, [2, 5],
          span([...both(view, "exponent"), noise(view.settings.width).exponent], 1.8, 2.6, 0.2)) },
        series: [{ label: "exponent", ...now, digits: 2 },
          { label: "permuted within columns", colour: "quiet", dash: [2, 3], digits: 2 },
          { label: "pure noise", colour: "text", dash: [6, 4], digits: 2 }, { ...then, digits: 2 }],
        data: exponents,
      },
      {
        title: "Test loss below the untrained network's, ridge tuned", tells: lossTold, shows: trained,
        x: steps,
        y: { label: "gain in %", range: (view) => span(gains(view).flatMap(finite), -2, 2, 2) },
        series: [{ label: "gain", ...now, digits: 1 }, { label: "no gain", colour: "quiet", dash: [6, 4], digits: 0 },
          { ...then, digits: 1 }],
        data: (view) => {
          const [own, books] = gains(view);
          return [view.epochs, own, view.epochs.map(() => 0), books];
        },
      },
      {
        title: "How far the first singular vector points to the teacher", tells: alignmentTold, shows: trained,
        x: steps, y: { label: "|v₁ · β|", range: () => [0, 1] },
        series: [{ label: "alignment", ...now }, { label: "chance, 1/√200", colour: "quiet", dash: [6, 4] }, then],
        data: (view) => [view.epochs, curve("similarity")(view)[0], view.epochs.map(() => D ** -0.5),
          curve("similarity")(view)[1]],
      },
    ],
  });
})();
