/* What the laboratory of simplicity bias shows: its controls, the neurons as arrows, the function over the angle, and
 * four curves.
 */
(() => {
  "use strict";

  const lab = ShallowLab.models.simplicity_bias;
  const plane = ShallowLab.plane(), model = lab.compute(ShallowLab.streams(), plane);
  const { sample, references, records, value, twoFits } = model;
  const POINTS = [3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000];
  const SCALES = [1e-6, 1e-5, 1e-4, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1];
  const WIDTHS = [2, 4, 8, 16, 32, 64, 128, 256, 512], RATES = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2];
  const FEWEST = 10 ** -16, ANGLES = Array.from({ length: 361 }, (_, k) => k - 180), DEGREE = Math.PI / 180;
  const whole = (number) => Math.round(number).toLocaleString("en-US");
  const short = (number) => (number < 1e-3 ? number.toExponential(1) : number.toPrecision(3));
  const log = (number) => (number == null ? null : Math.log10(Math.max(number, FEWEST)));
  const last = (values) => values?.[values.length - 1];

  // Data of the settings with what is known without training, kept until others are asked for.
  let kept = { key: null };
  function known(settings) {
    const data = sample(settings);
    if (kept.key === data.key) return kept;
    kept = { key: data.key, data, references: references(data), extremal: plane.extremal(data) };
    return kept;
  }
  // The neurons: direction in degrees, log10 of |a||w|, sign of a.
  const neurons = ({ arrays: { W = [], a = [] } }) => Array.from(a, (out, j) => {
    const size = Math.abs(out) * Math.sqrt(W[2 * j] ** 2 + W[2 * j + 1] ** 2);
    return { angle: Math.atan2(W[2 * j + 1], W[2 * j]) / DEGREE, size: log(size), sign: Math.sign(out) };
  });
  // Nine decades up to one; smaller neurons lie at the centre.
  const DECADES = 9, reach = ({ size }) => Math.min(1.1, Math.max(0.02, 1 + size / DECADES));

  function describe({ settings, diverged, values, epochs }) {
    if (diverged !== null) return `Training diverged by step ${whole(diverged)}: the learning rate is too large.`;
    const step = epochs[values.train.length - 1], [one, two] = known(settings).references;
    const [train, test, distance, groups] = lab.columns.map(([key]) => last(values[key]));
    const four = (loss) => (loss < 1e-3 ? short(loss) : loss.toFixed(4));
    return `${step ? `After step ${whole(step)}` : "Before training"}: 99 % of the network in ${groups} `
      + `group${groups === 1 ? "" : "s"} of neurons; distance from the two fits `
      + `${distance < 1e-12 ? "below 1e-12" : short(distance)}; training loss `
      + `${four(train)} (one fit ${four(one.train)}, two fits ${four(two.train)}), `
      + `test loss ${four(test)} (${four(one.test)}, ${four(two.test)}).`;
  }

  // ------------------------------------------------------------------------------------------------ what is painted

  const disc = (context, x, y, size) => { context.beginPath(); context.arc(x, y, size, 0, 7); };
  // Neurons as arrows from the centre, points around the circle, extremal vectors as triangles.
  function arrows({ context, colour, scale, box }, view) {
    const { data, extremal } = known(view.settings), centre = [box.left + box.width / 2, box.top + box.height / 2];
    const radius = 0.41 * Math.min(box.width, box.height), { margin, n, x } = data;
    const at = (angle, length) =>
      [centre[0] + radius * length * Math.cos(angle), centre[1] - radius * length * Math.sin(angle)];
    const line = (angle, from, to) => {
      context.beginPath();
      context.moveTo(...at(angle, from));
      context.lineTo(...at(angle, to));
      context.stroke();
    };
    context.save();
    context.lineWidth = scale;
    context.fillStyle = colour("shade");  // where no input can lie
    for (const side of [Math.PI / 2, -Math.PI / 2]) {
      context.beginPath();
      context.moveTo(...centre);
      context.arc(...centre, radius, side - Math.asin(margin), side + Math.asin(margin));
      context.fill();
    }
    context.strokeStyle = colour("grid");
    for (const ring of [1, 2 / 3, 1 / 3]) { disc(context, ...centre, ring * radius); context.stroke(); }
    context.strokeStyle = colour("quiet");
    context.globalAlpha = Math.min(1, 100 / n + 0.15);
    for (let k = 0; k < n; k++) line(Math.atan2(x[2 * k + 1], x[2 * k]), 1.01, 1.06);
    context.globalAlpha = 1;
    for (const one of neurons(view)) {
      const angle = one.angle * DEGREE, tip = at(angle, reach(one));
      context.strokeStyle = context.fillStyle = colour(one.sign > 0 ? "plus" : "minus");
      line(angle, 0, reach(one));
      disc(context, ...tip, 3 * scale);
      context.fill();
    }
    for (const { x: u, y: v, sign } of extremal) {
      const angle = Math.atan2(v, u);
      context.fillStyle = colour(sign > 0 ? "plus" : "minus");
      context.beginPath();
      context.moveTo(...at(angle, 1.07));
      context.lineTo(...at(angle - 0.04, 1.17));
      context.lineTo(...at(angle + 0.04, 1.17));
      context.fill();
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
  // How far from +-beta* the picture of the clusters reaches, in degrees; angles there, of either sign.
  const aside = (angle) => (angle > 90 ? angle - 180 : angle < -90 ? angle + 180 : angle);
  function width(view) {
    const heavy = neurons(view), most = Math.max(-99, ...heavy.map(({ size }) => size));
    const far = heavy.filter(({ size }) => size > most - 3).map(({ angle }) => Math.abs(aside(angle)));
    const spread = Math.max(1, ...far);
    return [2, 5, 10, 20, 45, 90].find((limit) => spread < limit) ?? 90;
  }
  const lowest = (view) => Math.floor(Math.min(-3, ...neurons(view).map(({ size }) => Math.max(size, -20))));
  // Directions at which a point changes sides, and the neurons.
  const MANY = 60;
  function clusters({ context, colour, scale, box, x, y }, view) {
    const { z } = known(view.settings).data, limit = width(view);
    const cuts = Array.from({ length: z.length / 2 }, (_, k) => aside(Math.atan2(z[2 * k], -z[2 * k + 1]) / DEGREE))
      .filter((angle) => Math.abs(angle) <= limit);
    const top = cuts.length > MANY ? box.top + box.height - 12 * scale : box.top;  // where there are many, a rug
    context.save();
    context.strokeStyle = colour("quiet");
    context.lineWidth = 0.5 * scale;
    for (const angle of cuts) {
      context.beginPath();
      context.moveTo(x(angle), top);
      context.lineTo(x(angle), box.top + box.height);
      context.stroke();
    }
    for (const { angle, size, sign } of neurons(view)) {
      if (Math.abs(aside(angle)) > limit) continue;
      context.fillStyle = colour(sign > 0 ? "plus" : "minus");
      disc(context, x(aside(angle)), y(size), 4 * scale);
      context.fill();
    }
    context.restore();
  }
  // --------------------------------------------------------------------------------------------------- what is shown

  const POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const power = (at) => (Number.isInteger(at)
    ? `${at < 0 ? "10⁻" : "10"}${[...String(Math.abs(at))].map((digit) => POWERS[digit]).join("")}` : "");
  const steps = { name: "step", label: "step (from 1)", range: ({ last }) => [0, Math.log10(Math.max(10, last))],
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
  const written = (at) => short(10 ** at), counted = (at) => whole(10 ** at);
  const now = { colour: "train", write: written, ghost: true };
  const then = { label: "book's", colour: "train-pale", width: 1, write: written };
  const choice = (name, group, options, label, help) => ({ name, label, kind: "choice", options, group, help });
  const slider = (...of) => ({ ...choice(...of), kind: "scale" });
  const signs = [{ label: "positive output weight a", colour: "plus", mark: "dot" },
    { label: "negative", colour: "minus", mark: "dot" }];

  // Seconds that a run takes, about: a step costs by the point and by the neuron, or by both in a batch.
  const seconds = ({ n, width, steps, batch }) => (batch === "all" || Number(batch) >= n
    ? steps * (1e-8 * n + 3e-8 * width) : steps * (1e-6 + 1e-8 * Number(batch) * width));

  // What each plot shows now.
  function arrowsTold(view) {
    const all = neurons(view), heaviest = all.reduce((one, other) => (other.size > one.size ? other : one), all[0]);
    return heaviest ? `${all.length} neurons as arrows; ${last(view.values.groups)} groups of them hold 99 % of the `
      + `network; the heaviest one points to ${Math.round(heaviest.angle)} degrees.` : "No neurons.";
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
  const clustersTold = (view) => `Neurons up to ${width(view)} degrees from ±β*; the lines mark directions at which `
    + "a point changes sides.";
  const groupsTold = ({ values }) => `${last(values.groups)} groups of neurons hold 99 % of the network.`;
  const lossTold = ({ values }) => `Training loss ${short(last(values.train))}, test loss ${short(last(values.test))}.`;
  const distanceTold = ({ values }) => `The distance is ${short(last(values.distance))}.`;

  Object.assign(lab, {
    title: "Laboratory: two neurons out of many",
    needs: ["streams", "plane"], unit: "step", records: ({ steps }) => records(steps), length: ({ steps }) => steps,
    duration: { slow: 20000, fast: 6000 }, tolerance: 1e-9, least: 0.001, describe, refuse: () => null,
    columns: [["train", "training loss", short], ["test", "test loss", short],
      ["distance", "distance from the two fits", short], ["groups", "groups of neurons", String]],
    seconds,
    controls: [
      slider("n", "data", POINTS, "points", "number of training points"),
      choice("margin", "data", [0, 0.1, 0.3, 0.5], "margin",
        "how far points keep from the line across the teacher; 0: they lie in all directions"),
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
        "how many points a step looks at: all, or some drawn at random"),
    ],
    panels: [
      {
        title: "Every neuron: where it points, and how heavy it is", main: true, bare: true, height: 264,
        tells: arrowsTold,
        key: () => [...signs, { label: "where small neurons turn to", colour: "text", mark: "down" },
          { label: "no points here", colour: "shade", mark: "band" }],
        x: { name: "", label: "", range: [0, 1], write: String }, y: { label: "", range: () => [0, 1] },
        series: [{ label: "", colour: "text" }], data: () => [[0, 1], [null, null]], draw: arrows,
      },
      {
        title: "Mean squared error, training and test", main: true, tells: lossTold, x: steps,
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
        title: "The neurons' directions, enlarged", tells: clustersTold,
        key: () => [...signs, { label: "here a point changes sides", colour: "quiet", mark: "line" }],
        x: { name: "angle", label: "degrees from ±β*", range: (view) => [-width(view), width(view)], write: String,
          ticks: String },
        y: { label: "|a||w|", range: (view) => [lowest(view), 1], ticks: power },
        series: [{ label: "", colour: "text" }], data: () => [[-90, 90], [null, null]], draw: clusters,
      },
      {
        title: "Groups of neurons with 99 % of the network", tells: groupsTold,
        x: steps, y: { label: "groups", range: decades("groups", 0, 1), ticks: power },
        series: [{ ...now, label: "groups", write: counted }, { ...then, write: counted }], data: curves(["groups"]),
      },
      {
        title: "Relative distance from the two fits", tells: distanceTold, x: steps,
        y: { label: "distance", range: decades("distance", -1, 0), ticks: power },
        series: [{ label: "distance", ...now }, then], data: curves(["distance"]),
      },
    ],
  });
})();
