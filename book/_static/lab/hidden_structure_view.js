/* What the laboratory of hidden structure shows: its controls; accuracies by orthant, the plane, twenty networks;
 * cosines, the function of the hidden coordinate; and the curves.
 */
(() => {
  "use strict";

  const lab = ShallowLab.models.hidden_structure;
  const model = lab.compute(ShallowLab.streams(), ShallowLab.algebra(), ShallowLab.perceptrons());
  const { GRID, SIDE } = model, SHELLS = "empty orthant", FOUND = 0.9, CHANCE = 0.05, FIVE = 5;
  const POINTS = [10, 25, 50, 100, 200], WIDTHS = [8, 16, 32, 64, 128, 256, 512];
  const EPOCHS = [10, 20, 40, 60, 80, 100, 200, 500], RATES = [1e-4, 3e-4, 0.001, 0.003, 0.01, 0.03];
  const FIRST = ["all epochs", "no epoch", "1 epoch", "2 epochs", "5 epochs", "10 epochs"];
  // Seconds that training takes for a parameter and a point, about; the longest run that is offered.
  const SECONDS = 3e-9, LONGEST = 1200;
  const shelled = ({ settings }) => settings.experiment === SHELLS, single = (view) => view.settings.networks === 1;
  const whole = (number) => number.toLocaleString("en-US"), last = (values) => values?.[values.length - 1];
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const percent = (share) => `${Math.round(100 * share)} %`;
  const explained = ({ fit }) => percent(Math.max(0, last(fit)));
  const two = (value) => value?.toFixed(2) ?? "nothing";  // of the experiment that is not shown there are no numbers

  // What is known without training, kept until other settings are asked for.
  let kept = { key: null };
  function known({ seed, dimension, points }) {
    const key = `${seed} ${dimension} ${points}`;
    if (kept.key !== key) {
      kept = { key, empty: model.emptyOrthant(seed, dimension) };
      if (dimension === 2) kept.train = model.orthants(seed, { dimension, points }).train;
    }
    return kept;
  }
  const signs = (orthant, dimension) =>
    Array.from({ length: dimension }, (_, i) => ((orthant >> (dimension - 1 - i)) & 1 ? "+" : "−")).join("");
  const near = (accuracy) => Math.abs(accuracy - 0.5) <= CHANCE + 1e-9;
  const fives = (each) => Array.from({ length: Math.floor(each.length / FIVE) }, (_, k) =>
    mean(Array.from(each).slice(FIVE * k, FIVE * (k + 1))));

  function describe({ settings, diverged, values, arrays: { each }, epochs }) {
    if (diverged !== null) return `Training diverged in epoch ${whole(diverged)}: the learning rate is too large.`;
    const epoch = epochs[values.loss.length - 1];
    const loss = epoch ? `; training loss ${last(values.loss).toFixed(3)}.` : ".";
    const when = epoch ? `After epoch ${whole(epoch)}: ` : "Before training: ";
    if (settings.experiment !== SHELLS) {
      return `${when}${percent(last(values.aligned))} of the neurons have |cos| of 0.5 or more, the largest `
        + `${last(values.largest).toFixed(2)}; on test points with |v| ≤ 1 the network explains `
        + `${explained(values)} of the variance${loss}`;
    }
    const empty = last(values.empty), others = last(values.others).toFixed(2);
    if (each?.length > 1) {
      const all = Array.from(each), found = all.filter((one) => one >= FOUND).length;
      return `${when}in the empty orthant ${all.filter(near).length} of ${all.length} networks are at chance, `
        + `${found} right on 90 % or more; mean ${empty.toFixed(2)}, means of five in a row `
        + `${fives(each).map((one) => one.toFixed(2)).join(", ")}; others ${others}${loss}`;
    }
    return `${when}accuracy ${empty.toFixed(2)} in the empty orthant${near(empty) ? ", which is chance" : ""}, `
      + `${others} on average in the others${loss}`;
  }

  // ------------------------------------------------------------------------------------------------ what is painted

  const disc = (context, x, y, size) => { context.beginPath(); context.arc(x, y, size, 0, 7); context.fill(); };
  function level({ context, colour, scale, box, y }, value, name = "quiet", dash = [6, 4]) {
    context.save();
    context.strokeStyle = colour(name);
    context.lineWidth = scale;
    context.setLineDash(dash.map((length) => scale * length));
    context.beginPath();
    context.moveTo(box.left, y(value));
    context.lineTo(box.left + box.width, y(value));
    context.stroke();
    context.restore();
  }
  // A bar for every orthant; the empty one in another colour and with a sign below.
  function bars(paint, { settings, arrays: { accuracy = [] } }) {
    const { context, colour, scale, x, y } = paint, { empty } = known(settings);
    accuracy.forEach((value, k) => {
      const [left, right] = [x(k - 0.4), x(k + 0.4)];
      context.fillStyle = colour(k === empty ? "test" : "train");
      context.fillRect(left, y(value), Math.max(scale, right - left), y(0) - y(value));
    });
    level(paint, 0.5, "text");
    context.save();
    context.fillStyle = colour("test");
    context.font = `600 ${12 * scale}px sans-serif`;
    context.textAlign = empty > accuracy.length * 0.8 ? "right" : empty < accuracy.length * 0.2 ? "left" : "center";
    context.fillText("empty", x(empty + { right: 0.4, left: -0.4, center: 0 }[context.textAlign]), y(1.03));
    context.restore();
  }
  // The plane in the colour of the class that is more probable, the training points, and the empty quadrant's frame.
  function plane({ context, colour, scale, box }, { settings, arrays: { map } }) {
    if (settings.dimension !== 2 || !map) return;
    const { train, empty } = known(settings), size = Math.min(box.width, box.height);
    const [left, top] = [box.left + (box.width - size) / 2, box.top + (box.height - size) / 2];
    const across = (u) => left + size * (u + SIDE) / (2 * SIDE), up = (v) => top + size * (SIDE - v) / (2 * SIDE);
    const cell = (k) => Math.round(left + size * k / GRID), row = (k) => Math.round(top + size * (1 - k / GRID));
    context.save();
    map.forEach((p, k) => {
      const [i, j] = [k % GRID, Math.floor(k / GRID)];
      context.fillStyle = colour(p > 0.5 ? "plus" : "minus");
      context.globalAlpha = 0.75 * Math.abs(2 * p - 1);
      context.fillRect(cell(i), row(j + 1), cell(i + 1) - cell(i), row(j) - row(j + 1));
    });
    context.globalAlpha = 1;
    for (let k = 0; k < train.count; k++) {
      context.fillStyle = colour("ground");
      disc(context, across(train.x[2 * k]), up(train.x[2 * k + 1]), 2.4 * scale);
      context.fillStyle = colour(train.y[k] ? "plus" : "minus");
      disc(context, across(train.x[2 * k]), up(train.x[2 * k + 1]), 1.6 * scale);
    }
    const [u, v] = [empty & 2 ? 4 : -4, empty & 1 ? 4 : -4];
    context.strokeStyle = colour("test");
    context.lineWidth = 1.5 * scale;
    context.setLineDash([4 * scale, 4 * scale]);
    for (const radius of [1, 2]) {
      context.beginPath();
      context.arc(across(u), up(v), radius * size / (2 * SIDE), 0, 7);
      context.stroke();
    }
    context.setLineDash([]);
    context.lineWidth = scale;
    context.strokeStyle = colour("text");
    context.strokeRect(left, top, size, size);
    context.beginPath();
    context.moveTo(across(0), top);
    context.lineTo(across(0), top + size);
    context.moveTo(left, up(0));
    context.lineTo(left + size, up(0));
    context.stroke();
    context.fillStyle = colour("test");
    context.font = `600 ${12 * scale}px sans-serif`;
    context.textAlign = "center";
    context.fillText("empty", across(u), up(v > 0 ? 6.3 : -6.7));
    context.restore();
  }
  // Every network's accuracy in its empty orthant, and the mean of each five in a row.
  function strip(paint, { arrays: { each = [] } }) {
    const { context, colour, scale, x, y } = paint;
    level(paint, 0.5, "text");
    context.save();
    context.fillStyle = colour("test");
    each.forEach((value, k) => disc(context, x(k + 1), y(value), 4.5 * scale));
    context.strokeStyle = colour("text");
    context.lineWidth = 3 * scale;
    fives(each).forEach((value, k) => {
      context.beginPath();
      context.moveTo(x(FIVE * k + 0.7), y(value));
      context.lineTo(x(FIVE * (k + 1) + 0.3), y(value));
      context.stroke();
    });
    context.restore();
  }
  function units(paint, { settings, arrays: { cosine = [] } }) {
    const { context, colour, scale, x, y } = paint;
    level(paint, 0.5, "quiet");
    context.save();
    cosine.forEach((value, j) => {
      context.fillStyle = colour(value >= 0.5 ? "train" : "quiet");
      disc(context, x(j + 1), y(value), (settings.width > 128 ? 2 : 3) * scale);
    });
    context.restore();
  }
  function answers({ context, colour, scale, box, x, y }, { arrays: { v = [], f = [] } }) {
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    context.fillStyle = colour("test");
    context.globalAlpha = 0.7;
    v.forEach((at, k) => disc(context, x(at), y(f[k]), 2.2 * scale));
    context.restore();
  }

  // --------------------------------------------------------------------------------------------------- what is shown

  const SUMMITS = Array.from({ length: 201 }, (_, k) => k / 50 - 2);
  // Twice the highest value of the polynomial between -1 and 1, where nearly all points are.
  function height({ settings: { degree } }) {
    const target = model.polynomial(degree);
    const most = Math.max(...SUMMITS.filter((v) => Math.abs(v) <= 1).map((v) => Math.abs(target(v))));
    return [-1.6 * most, 1.6 * most];
  }
  const blank = (most) => () => [[0, most], [null, null]];
  const none = [{ label: "", colour: "text" }], tenths = (at) => String(Number(at.toFixed(2)));
  const integers = (at) => (Number.isInteger(at) ? whole(at) : "");
  const time = { name: "epoch", label: "epoch", range: ({ last }) => [0, last], write: whole, ticks: integers };
  const curves = (keys, levels = []) => ({ epochs, values, book, live }) => {
    const of = (from, key) => epochs.map((_, k) => from?.[key]?.[k] ?? null);
    return [epochs, ...keys.map((key) => of(values, key)), ...levels.map((value) => epochs.map(() => value)),
      ...keys.map((key) => of(live ? book?.values : null, key))];
  };
  const highest = (key) => ({ values, book }) => [0, 1.05 * Math.max(0.1,
    ...[...(values[key] ?? []), ...(book?.values[key] ?? [])].filter((value) => value !== null))];
  const now = { colour: "train", ghost: true }, then = { label: "book's", colour: "train-pale", width: 1 };
  const first = (settings) => settings.experiment === SHELLS, second = (settings) => !first(settings);
  const flat = (view) => view.settings.dimension === 2;
  const choice = (name, group, options, label, shows, help) =>
    ({ name, label, kind: "choice", options, group, shows, help });
  const half = { label: "one half: chance", colour: "text", mark: "dash" };
  const numbered = (accuracy, empty) => `${accuracy.toFixed(2)} in the empty orthant, number ${empty}`;

  // What each plot shows now.
  function barsTold({ settings, arrays: { accuracy } }) {
    if (!accuracy) return "No network.";
    const { empty } = known(settings), others = Array.from(accuracy).filter((_, k) => k !== empty);
    return `Accuracy ${numbered(accuracy[empty], empty)}; elsewhere from ${Math.min(...others).toFixed(2)} to `
      + `${Math.max(...others).toFixed(2)}.`;
  }
  function planeTold({ arrays: { map, accuracy }, settings }) {
    if (!map) return "No network.";
    const outer = Array.from(map).filter((p) => p > 0.5).length / map.length;
    return `The network says outer class on ${percent(outer)} of the square; accuracy `
      + `${numbered(accuracy[known(settings).empty], known(settings).empty)}.`;
  }
  const stripTold = ({ arrays: { each } }) => (each ? `Accuracies in the empty orthant, in order of seeds: ${
    Array.from(each).map((one) => one.toFixed(2)).join(", ")}.` : "No network.");
  const pairTold = ({ values }) => `Now ${two(last(values.empty))} in the empty orthant and `
    + `${two(last(values.others))} on average in the others, after ${values.empty.length - 1} epochs.`;
  const lossTold = ({ values }) => (last(values.loss) == null ? "Before training."
    : `The loss is now ${last(values.loss).toFixed(3)}.`);
  const unitsTold = ({ arrays: { cosine } }) => (cosine ? `${Array.from(cosine).filter((one) => one >= 0.5).length} of `
    + `${cosine.length} neurons have a cosine of 0.5 or more; the largest is ${Math.max(...cosine).toFixed(2)}.`
    : "No network.");
  const fitTold = ({ settings, values }) => `A polynomial of degree ${settings.degree}; the network explains `
    + `${explained(values)} of its variance on test points with |v| up to 1.`;
  const sharesTold = ({ values }) => `${percent(last(values.aligned))} of the neurons have a cosine of 0.5 or more; `
    + `the largest is ${two(last(values.largest))}; the network explains ${explained(values)} of the variance.`;

  // Seconds that training takes, about.
  function seconds(settings) {
    const { experiment, dimension, points, samples, epochs } = settings;
    const count = experiment === SHELLS ? 1.6 * points * (2 ** dimension - 1) : 0.8 * samples;
    return SECONDS * count * epochs * model.size(settings) * model.networks(settings);
  }
  const inEveryOrthant = {
    title: "Accuracy in every orthant", tells: barsTold,
    key: () => [{ label: "empty orthant: no training point", colour: "test", mark: "square" },
      { label: "the others", colour: "train", mark: "square" }, half],
    x: { name: "orthant", label: "orthant", write: String, ticks: (at, { settings: { dimension } }) =>
      (Number.isInteger(at) && at >= 0 && at < 2 ** dimension
        ? dimension < 4 ? signs(at, dimension) : String(at) : ""),
    range: ({ settings: { dimension } }) => [-0.6, 2 ** dimension - 0.4] },
    y: { label: "test accuracy", range: () => [0, 1.12] }, series: none, data: blank(127), draw: bars,
  };

  Object.assign(lab, {
    title: "Laboratory: an empty orthant, and a hidden direction",
    needs: ["streams", "algebra", "perceptrons"], unit: "epoch", every: 1, length: ({ epochs }) => epochs,
    duration: { slow: 20000, fast: 4000 }, tolerance: 1e-9, least: 0.001, describe,
    columns: [["loss", "training loss", (value) => value.toFixed(4)], ["empty", "accuracy, empty orthant"],
      ["others", "accuracy, other orthants"], ["aligned", "neurons with |cos| ≥ 0.5"], ["largest", "largest |cos|"],
      ["fit", "R² for |v| ≤ 1"]],
    seconds,
    controls: [
      choice("experiment", "experiment", [SHELLS, "hidden direction"], "train on", undefined,
        "points that leave one orthant empty, or a polynomial of the sum of the inputs"),
      choice("dimension", "data", [2, 3, 4, 5, 6, 7], "dimensions", first,
        "number of inputs; each more doubles the number of orthants"),
      choice("points", "data", POINTS, "points of a class in an orthant", first,
        "how many points of either class are drawn in each orthant but the empty one; four in five are trained on"),
      choice("degree", "data", [3, 4, 5, 6, 7, 8], "degree", second, "degree of the polynomial"),
      choice("inputs", "data", [20, 40, 100], "inputs", second, "how many inputs are summed"),
      choice("samples", "data", [1000, 2000, 4000, 10000], "points", second,
        "number of points; eight in ten are trained on"),
      choice("depth", "network", [1, 2, 3, 4, 5], "hidden layers", first, "how many layers of ReLU neurons"),
      choice("width", "network", WIDTHS, "neurons in a layer", undefined, "number of neurons in each hidden layer"),
      { name: "seed", label: "seed", kind: "whole", max: 2 ** 32 - 1, group: "network",
        help: "a number from which the points, the empty orthant and the first weights are drawn" },
      choice("networks", "network", [1, 20], "networks", first, "one, or twenty of this seed and the next ones"),
      { ...choice("rate", "training", RATES, "learning rate", first, "size of the steps of Adam"), kind: "scale" },
      choice("loss", "training", ["probability", "logit"], "loss", first,
        "cross-entropy of the probability, without a gradient where a point is surely wrong, or of the logit"),
      choice("first", "training", FIRST, "train the first layer for", second,
        "after so many epochs the first layer stays as it is"),
      choice("epochs", "training", EPOCHS, "epochs", undefined, "how often training goes through all points"),
    ],
    refuse: (settings) => (seconds(settings) < LONGEST ? null : `This would take about ${
      whole(Math.round(seconds(settings) / 60))} minutes here: take fewer points, neurons or epochs.`),
    panels: [
      { ...inEveryOrthant, main: true, shows: (view) => shelled(view) && single(view) && !flat(view) },
      {
        title: "What the network says over the plane", main: true, bare: true, height: 264, tells: planeTold,
        key: () => [{ label: "outer class", colour: "plus", mark: "dot" },
          { label: "inner class", colour: "minus", mark: "dot" },
          { label: "empty quadrant: where its shells would lie", colour: "test", mark: "dash" }],
        shows: (view) => shelled(view) && single(view) && flat(view),
        x: { name: "", label: "", range: [0, 1], write: String }, y: { label: "", range: () => [0, 1] },
        series: none, data: blank(1), draw: plane,
      },
      {
        title: "Twenty networks, each in its empty orthant", main: true, tells: stripTold,
        key: () => [{ label: "one network", colour: "test", mark: "dot" },
          { label: "mean of five in a row", colour: "text", mark: "line" }, half],
        shows: (view) => shelled(view) && !single(view),
        x: { name: "seed", label: "seed", range: [0.2, 20.8], write: String,
          ticks: (at, { settings }) => (Number.isInteger(at) && at > 0 ? String(settings.seed + at - 1) : "") },
        y: { label: "test accuracy", range: () => [0, 1.05] }, series: none, data: blank(20), draw: strip,
      },
      {
        title: "Accuracy while it learns", main: true, tells: pairTold, shows: shelled, x: time,
        y: { label: "test accuracy", range: () => [0, 1.05] },
        series: [{ label: "empty orthant", colour: "test", ghost: true }, { label: "others", ...now },
          { label: "chance", colour: "text", dash: [6, 4], width: 1 },
          { ...then, label: "book's empty", colour: "test-pale" }, { ...then, label: "book's others" }],
        data: curves(["empty", "others"], [0.5]),
      },
      { ...inEveryOrthant, shows: (view) => shelled(view) && single(view) && flat(view) },
      {
        title: "The network's answers, against the sum v of the inputs", main: true, tells: fitTold,
        key: () => [{ label: "network, a test point", colour: "test", mark: "dot" },
          { label: "the polynomial", colour: "quiet", mark: "line" }],
        shows: (view) => !shelled(view),
        x: { name: "v", label: "v, the sum of the inputs", range: [-2, 2], write: tenths, ticks: tenths },
        y: { label: "f(x)", range: height },
        series: [{ label: "polynomial", colour: "quiet", write: tenths }],
        data: ({ settings: { degree } }) => [SUMMITS, SUMMITS.map(model.polynomial(degree))], draw: answers,
      },
      {
        title: "Neurons that found the direction, and the fit", main: true, tells: sharesTold,
        shows: (view) => !shelled(view), x: time,
        y: { label: "share", range: () => [-0.1, 1.05] },
        series: [{ label: "R² for |v| ≤ 1", colour: "test", dash: [8, 3], ghost: true },
          { label: "largest |cos|", colour: "plus", ghost: true }, { label: "neurons with |cos| ≥ 0.5", ...now },
          { ...then, label: "book's R²", colour: "test-pale", dash: [8, 3] },
          { ...then, label: "book's largest", colour: "plus" }, { ...then, label: "book's neurons" }],
        data: curves(["fit", "largest", "aligned"]),
      },
      {
        title: "Every neuron: |cos| of its weights with the hidden direction", tells: unitsTold,
        key: () => [{ label: "0.5 or more", colour: "train", mark: "dot" },
          { label: "less", colour: "quiet", mark: "dot" }],
        shows: (view) => !shelled(view),
        x: { name: "neuron", label: "neuron", range: ({ settings: { width } }) => [0, width + 1], write: String,
          ticks: integers },
        y: { label: "|cos|", range: () => [0, 1.04] }, series: none, data: blank(1), draw: units,
      },
      {
        title: "Training loss", tells: lossTold, x: time, y: { label: "loss", range: highest("loss") },
        series: [{ label: "loss", ...now, colour: "text" }, { ...then, colour: "quiet" }], data: curves(["loss"]),
      },
    ],
  });
})();
