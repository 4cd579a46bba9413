/* What the laboratory of simplicity bias shows: its controls; the neurons among the borders of the points, and to how
 * many they amount; below these the losses, the function over the angle, and the distance from the two fits.
 */
(() => {
  "use strict";

  const lab = ShallowLab.models.simplicity_bias;
  const plane = ShallowLab.plane(), model = lab.compute(ShallowLab.streams(), plane);
  const { sample, references, records, value, twoFits } = model;
  const POINTS = [3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000];
  const SCALES = [1e-6, 1e-5, 1e-4, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1];
  const WIDTHS = [2, 4, 8, 16, 32, 64, 128, 256, 512], RATES = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2];
  const FEWEST = 10 ** -16, NOTHING = 1e-20, DEGREE = Math.PI / 180;
  const ANGLES = Array.from({ length: 361 }, (_, k) => k - 180);
  const whole = (number) => Math.round(number).toLocaleString("en-US");
  const short = (number) => (number < 1e-3 ? number.toExponential(1) : number.toPrecision(3));
  const log = (number) => (number == null ? null : Math.log10(Math.max(number, FEWEST)));
  const last = (values) => values?.[values.length - 1];

  // Data of the settings with what is known without training: those of the run shown and of the last one are kept.
  const kept = new Map();
  function known(settings) {
    const key = ["seed", "n", "margin", "noise"].map((name) => settings[name]).join();
    if (!kept.has(key)) {
      const data = sample(settings);
      if (kept.size > 2) kept.delete(kept.keys().next().value);
      kept.set(key, { data, references: references(data), extremal: plane.extremal(data) });
    }
    return kept.get(key);
  }
  // Degrees from the line of +-beta*: those of -w for a neuron that points to -beta*, whose borders are those of w.
  const aside = (angle) => (angle > 90 ? angle - 180 : angle < -90 ? angle + 180 : angle);
  // The neurons: degrees aside, whether towards +-beta* (1, -1), log10 of |a||w|, sign of a.
  const neurons = ({ arrays: { W = [], a = [] } }) => Array.from(a, (out, j) => {
    const angle = Math.atan2(W[2 * j + 1], W[2 * j]) / DEGREE, size = Math.hypot(W[2 * j], W[2 * j + 1]);
    return { angle: aside(angle), half: Math.abs(angle) > 90 ? -1 : 1, size: log(Math.abs(out) * size),
      sign: Math.sign(out) };
  });
  // Degrees across the plot, enlarged in the middle; decades up and down from the middle, the least at the start.
  const across = (angle) => Math.asinh(angle), SIDE = across(90);
  const least = ({ settings: { scale, width, start } }) => Math.min(-3, Math.max(-20,
    Math.floor(Math.log10(scale ** (start === "dominated" ? 3 : 2) / width))));
  // Where a quarter, a half and three quarters of the decades, whole ones, lie in either half.
  const halves = (view) => {
    const step = Math.ceil(-least(view) / 4), all = [0, 1, 2, 3].map((k) => 1 + k * step / least(view));
    return [...all, ...all.map((at) => -at)].filter((at) => Math.abs(at) > 0.2).sort((a, b) => a - b);
  };
  const up = ({ size, half }, view) => half * Math.min(1.1, Math.max(0, 1 - size / least(view)));

  function describe({ settings, diverged, values, epochs }) {
    if (diverged !== null) return `Training diverged by step ${whole(diverged)}: the learning rate is too large.`;
    const step = epochs[values.train.length - 1], [one, two] = known(settings).references;
    const [train, test, distance, groups] = lab.columns.map(([key]) => last(values[key]));
    const four = (loss) => (loss < 1e-12 ? "below 1e-12" : loss < 1e-3 ? short(loss) : loss.toFixed(4));
    const share = train > 1e-12 && one.train > NOTHING 
      ? `, ${short(train / one.train)} of that of least squares (two fits ${short(two.train / one.train)})` : "";
    return `${step ? `After step ${whole(step)}` : "Before training"}: 99 % of the network amounts to ${groups} `
      + `neuron${groups === 1 ? "" : "s"}; training loss ${four(train)}${share}; test loss ${four(test)} `
      + `(least squares ${four(one.test)}); distance from the two fits `
      + `${distance < 1e-12 ? "below 1e-12" : short(distance)}.`;
  }

  // ------------------------------------------------------------------------------------------------ what is painted

  const disc = (context, x, y, size) => { context.beginPath(); context.arc(x, y, size, 0, 7); };
  /* The borders of the points as lines, below; the neurons, to beta* in the upper half and to -beta* in the lower one,
   * and at the edges where small ones turn to.
   */
  function borders({ context, colour, scale, box, x, y }, view) {
    const { data } = known(view.settings), { n, z } = data;
    context.save();
    context.strokeStyle = colour("quiet");
    context.globalAlpha = Math.min(0.6, 0.12 + 40 / n);
    context.lineWidth = scale;
    context.beginPath();
    for (let k = 0; k < n; k++) {
      const at = x(across(aside(Math.atan2(z[2 * k], -z[2 * k + 1]) / DEGREE)));
      context.moveTo(at, box.top);
      context.lineTo(at, box.top + box.height);
    }
    context.stroke();
    context.globalAlpha = 1;
    context.beginPath();
    context.moveTo(box.left, y(0));
    context.lineTo(box.left + box.width, y(0));
    context.stroke();
    context.restore();
  }
  function places({ context, colour, scale, box, x, y }, view) {
    const edge = { 1: box.top, "-1": box.top + box.height }, size = 5 * scale;
    context.save();
    for (const { x: u, y: v, sign } of known(view.settings).extremal) {
      const at = x(across(aside(Math.atan2(v, u) / DEGREE))), half = u < 0 ? -1 : 1;
      context.fillStyle = colour(sign > 0 ? "plus" : "minus");
      context.beginPath();
      context.moveTo(at, edge[half] + half * 2 * size);
      context.lineTo(at - size, edge[half]);
      context.lineTo(at + size, edge[half]);
      context.fill();
    }
    context.lineWidth = scale;
    context.strokeStyle = colour("ground");
    for (const one of neurons(view)) {
      context.fillStyle = colour(one.sign > 0 ? "plus" : "minus");
      disc(context, x(across(one.angle)), y(up(one, view)), 4 * scale);
      context.fill();
      context.stroke();
    }
    context.font = `${12 * scale}px sans-serif`;
    context.textAlign = "left";
    context.lineWidth = 4 * scale;  // around the words
    context.fillStyle = colour("text");
    const edges = [["towards β*", box.top + 16 * scale], ["towards −β*", box.top + box.height - 8 * scale]];
    for (const [word, at] of edges) {
      context.strokeText(word, box.left + 6 * scale, at);
      context.fillText(word, box.left + 6 * scale, at);
    }
    context.restore();
  }
  // Labels over the length of their input, at its angle.
  function labels({ context, colour, scale, box, x, y }, { settings }) {
    const { data } = known(settings), size = (data.n > 100 ? 1.2 : 3) * scale;
    context.save();
    context.fillStyle = colour("quiet");
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    for (let k = 0; k < data.n; k++) {
      const [u, v] = [data.x[2 * k], data.x[2 * k + 1]];
      disc(context, x(Math.atan2(v, u) / DEGREE), y(data.y[k] / Math.sqrt(u * u + v * v)), size);
      context.fill();
    }
    context.restore();
  }
  // --------------------------------------------------------------------------------------------------- what is shown

  const POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const power = (at) => (Number.isInteger(at)
    ? `${at < 0 ? "10⁻" : "10"}${[...String(Math.abs(at))].map((digit) => POWERS[digit]).join("")}` : "");
  const steps = { name: "step", label: "step", range: ({ last }) => [0, Math.log10(Math.max(10, last))],
    write: (at) => whole(10 ** at), ticks: power };
  // Curves by key against the step, as logarithms; step 0 stands left of the axis.
  const curves = (keys, levels = () => []) => (view) => {
    const { epochs, values, book, live } = view, of = (from, key) => epochs.map((_, k) => log(from?.[key]?.[k]));
    return [epochs.map((step) => (step ? Math.log10(step) : -1)), ...keys.map((key) => of(values, key)),
      ...levels(view).map((level) => epochs.map(() => log(level))),
      ...keys.map((key) => of(live ? book?.values : null, key))];
  };
  const decades = (key, least, most) => ({ values, book }) => {
    const all = [...(values[key] ?? []), ...(book?.values[key] ?? [])].filter(Number.isFinite).map(log);
    return [Math.floor(Math.min(least, ...all)), Math.ceil(Math.max(most, ...all))];
  };
  const written = (at) => (10 ** at > FEWEST ? short(10 ** at) : "<1e-16"), counted = (at) => whole(10 ** at);
  // Logarithms of the number of neurons, and of the training loss over that of least squares, which needs noise.
  const ratios = (from, view) => {
    const { train } = known(view.settings).references[0];
    return view.epochs.map((_, k) => (train > NOTHING && from?.train?.[k] != null ? log(from.train[k] / train) : null));
  };
  function story(view) {
    const { epochs, values, live, settings } = view, book = live ? view.book?.values : null;
    const counts = (from) => epochs.map((_, k) => log(from?.groups?.[k]));
    const [one, two] = known(settings).references.map(({ train }) => train);
    const level = one > NOTHING ? log(two / one) : null;
    return [epochs.map((step) => (step ? Math.log10(step) : -1)), counts(values), ratios(values, view),
      epochs.map(() => level), counts(book), ratios(book, view)];
  }
  function storied(view) {
    const all = [view.values, view.book?.values].flatMap((from) => ratios(from, view)).filter(Number.isFinite);
    const most = Math.max(1.3, Math.log10(view.settings.width), ...all);
    return [Math.max(-6, Math.min(-0.4, ...all)), most + 0.1];
  }
  function storyTicks(view, low, high) {
    const fine = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map(Math.log10);
    return (low > -2 ? fine : [-6, -5, -4, -3, -2, -1, 0, 1, 2]).filter((at) => at > low && at < high);
  }
  const now = { colour: "train", write: written, ghost: true };
  const then = { label: "book's", colour: "train-pale", width: 1, write: written };
  const choice = (name, group, options, label, help) => ({ name, label, kind: "choice", options, group, help });
  const slider = (...of) => ({ ...choice(...of), kind: "scale" });
  // Seconds that a run takes, about: a step costs by the point and by the neuron, or by both in a batch.
  const seconds = ({ n, width, steps, batch }) => (batch === "all" || Number(batch) >= n
    ? steps * (1e-8 * n + 3e-8 * width) : steps * (1e-6 + 1e-8 * Number(batch) * width));

  // What each plot shows now.
  function neuronsTold(view) {
    const all = neurons(view), most = Math.max(...all.map(({ size }) => size));
    const far = all.filter(({ size }) => size > most - 2).map(({ angle }) => Math.abs(angle));
    return all.length ? `${all.length} neurons; those within a hundredth of the heaviest lie up to `
      + `${Math.max(...far).toPrecision(2)} degrees from ±β*.` : "No neurons.";
  }
  function storyTold(view) {
    const ratio = ratios(view.values, view)[view.values.train.length - 1];
    return `99 % of the network amounts to ${last(view.values.groups)} neurons`
      + `${ratio == null ? "" : `; the training loss is ${short(10 ** ratio)} of that of least squares`}.`;
  }
  function circleTold({ settings, arrays: { W, a } }) {
    if (!W) return "No network.";
    const { halves } = known(settings).data;
    const gap = (angle) => {
      const [u, v] = [Math.cos(angle * DEGREE), Math.sin(angle * DEGREE)];
      return Math.abs(value(W, a, u, v) - twoFits(halves, u, v));
    };
    return `The network and the two fits differ by at most ${short(Math.max(...ANGLES.map(gap)))} around the circle.`;
  }
  const lossTold = ({ values }) => `Training loss ${short(last(values.train))}, test loss ${short(last(values.test))}.`;
  const distanceTold = ({ values }) => `The distance is ${short(last(values.distance))}.`;

  Object.assign(lab, {
    title: "Laboratory: two neurons out of many",
    needs: ["streams", "plane"], unit: "step", records: ({ steps }) => records(steps), length: ({ steps }) => steps,
    duration: { slow: 20000, fast: 6000 }, tolerance: 1e-9, least: 0.001, describe, refuse: () => null,
    columns: [["train", "training loss", short], ["test", "test loss", short],
      ["distance", "distance from the two fits", short], ["groups", "neurons it amounts to", String]],
    seconds,
    controls: [
      slider("n", "data", POINTS, "points", "number of training points"),
      choice("margin", "data", [0, 0.1, 0.3, 0.5], "margin",
        "how far points keep from the line across the teacher, so that their borders keep from β*; 0: they do not"),
      choice("noise", "data", [0, 0.01, 0.09, 0.25, 1], "noise σ²", "variance of the noise in the labels"),
      slider("width", "network", WIDTHS, "neurons", "number of hidden neurons"),
      choice("start", "network", ["dominated", "Gaussian"], "first weights",
        "dominated: input weights are at most λ times the output weight, as the theorem asks; or all are Gaussian"),
      slider("scale", "network", SCALES, "size of the start, λ", "what all first weights are multiplied by"),
      { name: "seed", label: "seed", kind: "whole", max: 2 ** 32 - 1, group: "network",
        help: "a number from which points and first weights are drawn" },
      slider("rate", "training", RATES, "learning rate", "size of the steps of gradient descent"),
      choice("steps", "training", [1000, 3000, 10000, 30000, 100000, 300000], "steps", "length of the run"),
      choice("batch", "training", ["all", "32", "8", "1"], "points in a batch",
        "how many points a step sees: all, which makes steps exact, or some drawn at random"),
    ],
    panels: [
      {
        title: "Where each neuron points, and how large it is", main: true, height: 264,
        tells: neuronsTold,
        key: () => [{ label: "output weight a > 0", colour: "plus", mark: "dot" },
          { label: "a < 0", colour: "minus", mark: "dot" },
          { label: "where small ones turn", colour: "text", mark: "down" },
          { label: "border of a point: seen on one side of it", colour: "quiet", mark: "line" }],
        x: { name: "", label: "degrees from ±β*, enlarged in the middle", range: [-SIDE, SIDE], write: String,
          splits: () => [-90, -20, -5, -1, 0, 1, 5, 20, 90].map(across),
          ticks: (at) => String(Math.round(Math.sinh(at))).replace("-", "−") },
        y: { label: "|a||w|", range: () => [-1.12, 1.12], splits: halves,
          ticks: (at, view) => (Math.abs(at) === 1 ? "1" : power(Math.round(least(view) * (1 - Math.abs(at))))) },
        series: [{ label: "", colour: "text" }], data: () => [[-SIDE, SIDE], [null, null]],
        under: borders, draw: places,
      },
      {
        title: "How many neurons it amounts to, and its loss", main: true, tells: storyTold,
        key: () => [{ label: "neurons of one sign that see the same points count as one", colour: "text",
          mark: "line" }],
        x: steps,
        y: { label: "number, or ratio", range: storied, splits: storyTicks,
          ticks: (at) => (at <= -2 ? power(at) : String(Number((10 ** at).toPrecision(1)))) },
        series: [{ label: "neurons", colour: "text", write: counted, ghost: true },
          { ...now, label: "loss / least squares" },
          { label: "two fits", colour: "purple", dash: [2, 4], width: 1, write: written },
          { label: "book's neurons", colour: "quiet", width: 1, write: counted },
          { ...then, label: "book's loss" }],
        data: story,
      },
      {
        title: "Mean squared error, training and test", tells: lossTold, x: steps,
        y: { label: "loss", range: decades("train", -2, 0.1), ticks: power },
        series: [
          { label: "training", ...now }, { ...now, label: "test", colour: "test", dash: [8, 3] },
          { label: "noise σ²", colour: "quiet", width: 1, write: written },
          { label: "two fits, test", colour: "purple", dash: [2, 4], width: 1, write: written },
          { ...then, label: "book's training" }, { ...then, label: "book's test", colour: "test-pale", dash: [8, 3] },
        ],
        data: curves(["train", "test"], ({ settings }) => [settings.noise, known(settings).references[1].test]),
      },
      {
        title: "The network's function on the circle", tells: circleTold,
        key: () => [{ label: "a training point, its label over its length", colour: "quiet", mark: "dot" }],
        x: { name: "angle", label: "direction of x in degrees", range: [-180, 180], write: String, ticks: String },
        y: { label: "f(x) / |x|", range: () => [-2, 2] },
        series: [{ label: "network", colour: "text" }, { label: "two fits", colour: "purple", dash: [6, 4] },
          { label: "teacher", colour: "quiet", dash: [2, 4], width: 1 }],
        data: ({ settings, arrays: { W, a } }) => {
          const { halves } = known(settings).data;
          const over = (f) => ANGLES.map((angle) => f(Math.cos(angle * DEGREE), Math.sin(angle * DEGREE)));
          const network = over((u, v) => (W ? value(W, a, u, v) : null));
          return [ANGLES, network, over((u, v) => twoFits(halves, u, v)), over((u) => u)];
        },
        under: labels, rest: () => 180,
      },
      {
        title: "Relative distance from the two fits", tells: distanceTold, x: steps,
        y: { label: "distance", range: decades("distance", -1, 0), ticks: power },
        series: [{ label: "distance", ...now }, then], data: curves(["distance"]),
      },
    ],
  });
})();
