/* What the laboratory of hidden structure shows: its controls; what one network says in a plane through four orthants,
 * or several in their empty ones; every neuron along the hidden direction and across it; and the scores.
 *
 * Colours.  Orange: no training point there; blue: training points there.  Green: outer class; pink: inner class.
 * Violet: the first layer; black: what the network says.  Grey: what is given, and neurons that point elsewhere.
 */
(() => {
  "use strict";

  const lab = ShallowLab.models.hidden_structure;
  const model = lab.compute(ShallowLab.streams(), ShallowLab.algebra(), ShallowLab.perceptrons());
  const { GRID, SIDE, TILE, BESIDE } = model, SHELLS = "empty orthant", LEARNED = 0.75, CHANCE = 0.05, FIVE = 5;
  const POINTS = [10, 25, 50, 100, 200], WIDTHS = [8, 16, 32, 64, 128, 256, 512], COLUMNS = 5;
  const EPOCHS = [10, 20, 40, 60, 80, 100, 200, 500], RATES = [1e-4, 3e-4, 0.001, 0.003, 0.01, 0.03];
  const FIRST = ["all epochs", "no epoch", "1 epoch", "2 epochs", "5 epochs", "10 epochs"];
  const REMOVED = ["no other orthant", "its neighbours", "as many others"];
  // Seconds that training takes for a parameter and a point, about; the longest run that is offered.
  const SECONDS = 3e-9, LONGEST = 1200;
  const first = (settings) => settings.experiment === SHELLS, second = (settings) => !first(settings);
  const shelled = ({ settings }) => first(settings), single = (view) => view.settings.networks === 1;
  const whole = (number) => number.toLocaleString("en-US"), last = (values) => values?.[values.length - 1];
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const percent = (share) => `${Math.round(100 * share)} %`.replace("-", "−");
  const explains = (share) => (share > 0.005 ? percent(share) : "nothing");
  const against = (share) => (Math.abs(share) < 0.005 ? "as large" : `${percent(Math.abs(share))} ${
    share > 0 ? "smaller" : "larger"}`);

  // What is known without training, kept until other settings are asked for.
  let kept = { key: null };
  function known({ seed, dimension, points, removed }) {
    const key = `${seed} ${dimension} ${points} ${removed}`;
    if (kept.key !== key) {
      const gone = model.without(seed, { dimension, removed }), [empty] = gone;
      kept = { key, gone, empty, near: model.neighbours(empty, dimension) };
      if (dimension === 2) kept.train = model.orthants(seed, { dimension, points, removed }).train;
    }
    return kept;
  }
  const signs = (orthant, dimension) =>
    Array.from({ length: dimension }, (_, i) => ((orthant >> (dimension - 1 - i)) & 1 ? "+" : "−")).join("");
  const near = (accuracy) => Math.abs(accuracy - 0.5) <= CHANCE + 1e-9;
  const fives = (each) => Array.from({ length: Math.floor(each.length / FIVE) }, (_, k) =>
    mean(Array.from(each).slice(FIVE * k, FIVE * (k + 1))));
  const points = ({ along = [], across = [] }) => Array.from(along, (value, j) =>
    ({ along: value, across: across[j], found: Math.abs(value) >= 0.5 * Math.hypot(value, across[j]) }));

  function describe({ settings, diverged, values, arrays: { each }, epochs }) {
    if (diverged !== null) return `Training diverged in epoch ${whole(diverged)}: the learning rate is too large.`;
    const epoch = epochs[values.loss.length - 1], now = (key) => last(values[key]);
    const loss = epoch ? `; training loss ${now("loss").toFixed(3)}.` : ".";
    const when = epoch ? `After epoch ${whole(epoch)}: ` : "Before training: ";
    if (second(settings)) {
      return `${when}${percent(now("aligned"))} of the neurons point along the hidden direction. Where |v| ≤ 1 a curve `
        + `along the first layer's main direction explains ${explains(now("direction"))}, the network `
        + `${explains(now("fit"))}. Over all points, against a constant, its absolute error is `
        + `${against(now("absolute"))} and its mean square error ${against(now("square"))}${loss}`;
    }
    const rest = `${percent(now("near"))} in the neighbours and ${percent(now("others"))} where there are training `
      + `points${loss}`;
    if (each?.length > 1) {
      const all = Array.from(each), learned = all.filter((one) => one >= LEARNED).length;
      return `${when}right on 75 % of their empty orthants or more: ${learned} of ${all.length} networks; no better than `
        + `guessing: ${all.filter(near).length}. On average they are right on ${percent(now("empty"))} there, ${rest}`;
    }
    return `${when}right on ${percent(now("empty"))} of the empty orthant${
      near(now("empty")) ? ", no better than guessing" : ""}, ${rest}`;
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
  // Cells of probabilities, in percent, in the colour of the class that is more probable, in a square.
  function cells({ context, colour }, probabilities, count, left, top, size) {
    const at = (k) => Math.round(left + size * k / count), row = (k) => Math.round(top + size * (1 - k / count));
    probabilities.forEach((p, k) => {
      const [i, j] = [k % count, Math.floor(k / count)];
      context.fillStyle = colour(p > 50 ? "plus" : "minus");
      context.globalAlpha = 0.75 * Math.abs(p / 50 - 1);
      context.fillRect(at(i), row(j + 1), at(i + 1) - at(i), row(j) - row(j + 1));
    });
    context.globalAlpha = 1;
  }
  function rings({ context, scale }, x, y, unit) {
    for (const radius of [1, 2]) {
      context.beginPath();
      context.arc(x, y, radius * unit, 0, 7);
      context.stroke();
    }
    context.setLineDash([]);
  }
  /* The plane through the centres of four orthants: the empty one and those that differ in the first two signs.  It cuts
   * shells in circles; in two dimensions it is all there is, and holds the training points.
   */
  function plane(paint, { settings, arrays: { map } }) {
    if (!map) return;
    const { context, colour, scale, box } = paint, { gone, empty, train } = known(settings), { dimension } = settings;
    const size = Math.min(box.width, box.height), unit = size / (2 * SIDE);
    const [left, top] = [box.left + (box.width - size) / 2, box.top + (box.height - size) / 2];
    const across = (u) => left + unit * (u + SIDE), up = (v) => top + unit * (SIDE - v);
    context.save();
    cells(paint, map, GRID, left, top, size);
    context.font = `600 ${13 * scale}px sans-serif`;
    context.textAlign = "center";
    context.lineWidth = 2 * scale;
    for (let quadrant = 0; quadrant < 4; quadrant++) {
      const orthant = (quadrant << (dimension - 2)) | (empty & (2 ** (dimension - 2) - 1));
      const [u, v] = [quadrant & 2 ? 4 : -4, quadrant & 1 ? 4 : -4], without = gone.includes(orthant);
      context.strokeStyle = context.fillStyle = colour(without ? "test" : "train");
      context.setLineDash(without ? [5 * scale, 4 * scale] : []);
      rings(paint, across(u), up(v), unit);
      if (orthant === empty) outlined(paint, "empty", across(u), up(v > 0 ? 6.3 : -6.7));
    }
    for (let k = 0; k < (train?.count ?? 0); k++) {
      for (const [name, radius] of [["ground", 2.8], [train.y[k] ? "plus" : "minus", 1.9]]) {
        context.fillStyle = colour(name);
        disc(context, across(train.x[2 * k]), up(train.x[2 * k + 1]), radius * scale);
      }
    }
    context.lineWidth = scale;
    context.strokeStyle = context.fillStyle = colour("text");
    context.strokeRect(left, top, size, size);
    context.beginPath();
    context.moveTo(across(0), top);
    context.lineTo(across(0), top + size);
    context.moveTo(left, up(0));
    context.lineTo(left + size, up(0));
    context.stroke();
    outlined(paint, "x₁", across(6.4), up(0.25));
    outlined(paint, "x₂", across(0.55), up(6.3));
    context.restore();
  }
  // A word that can be read on any ground.
  function outlined({ context, colour, scale }, word, x, y) {
    context.save();
    context.strokeStyle = colour("ground");
    context.lineWidth = 4 * scale;
    context.lineJoin = "round";
    context.strokeText(word, x, y);
    context.restore();
    context.fillText(word, x, y);
  }
  // The empty orthant of each of several networks, its accuracy below.
  function tiles(paint, { settings, arrays: { tiles: all = [], each = [] } }) {
    const { context, colour, scale, box } = paint, rows = Math.ceil(each.length / COLUMNS), words = 18 * scale;
    const size = Math.min(box.width / COLUMNS - 6 * scale, box.height / rows - words - 4 * scale);
    context.save();
    context.font = `${12 * scale}px sans-serif`;
    context.textAlign = "center";
    each.forEach((accuracy, k) => {
      const left = box.left + box.width * (k % COLUMNS + 0.5) / COLUMNS - size / 2;
      const top = box.top + box.height * Math.floor(k / COLUMNS) / rows + 2 * scale;
      cells(paint, Array.from(all.slice(k * TILE ** 2, (k + 1) * TILE ** 2)), TILE, left, top, size);
      context.strokeStyle = colour("test");
      context.lineWidth = 1.5 * scale;
      context.setLineDash([4 * scale, 3 * scale]);
      rings(paint, left + size / 2, top + size / 2, size / (2 * BESIDE));
      context.fillStyle = colour("text");
      context.fillText(`seed ${settings.seed + k}: ${accuracy.toFixed(2)}`, left + size / 2, top + size + 13 * scale);
    });
    context.restore();
  }
  // A bar for every orthant, in the colour of those with training points or without; a word above the empty one.
  function bars(paint, { settings, arrays: { accuracy = [] } }) {
    const { context, colour, scale, x, y } = paint, { empty, gone } = known(settings);
    accuracy.forEach((value, k) => {
      const [left, right] = [x(k - 0.4), x(k + 0.4)];
      context.fillStyle = colour(gone.includes(k) ? "test" : "train");
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
  // Every neuron by its weights along the hidden direction and across it; where the cosine is a half or more is shaded.
  function shade({ context, colour, box, x, y }) {
    const far = 100;
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    context.fillStyle = colour("shade");
    for (const sign of [-1, 1]) {
      context.beginPath();
      for (const [u, v] of [[0, 0], [sign * far, 0], [sign * far, Math.sqrt(3) * far]]) context.lineTo(x(u), y(v));
      context.fill();
    }
    context.restore();
  }
  function neurons({ context, colour, scale, x, y }, { settings, arrays }) {
    context.save();
    context.globalAlpha = 0.8;
    for (const { along, across, found } of points(arrays)) {
      context.fillStyle = colour(found ? "purple" : "quiet");
      disc(context, x(along), y(across), (settings.width > 128 ? 2.5 : 3.5) * scale);
    }
    context.restore();
  }
  function answers({ context, colour, scale, box, x, y }, { arrays: { v = [], f = [] } }) {
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    context.fillStyle = colour("text");
    context.globalAlpha = 0.7;
    v.forEach((at, k) => disc(context, x(at), y(f[k]), 2.2 * scale));
    context.restore();
  }
  function middle({ context, colour, box, x }) {
    context.save();
    context.fillStyle = colour("shade");
    context.fillRect(x(-1), box.top, x(1) - x(-1), box.height);
    context.restore();
  }

  // --------------------------------------------------------------------------------------------------- what is shown

  const SUMMITS = Array.from({ length: 201 }, (_, k) => k / 50 - 2);
  // Somewhat more than the highest value of the polynomial between -1 and 1, where nearly all points are.
  function height({ settings: { degree } }) {
    const target = model.polynomial(degree);
    const most = Math.max(...SUMMITS.filter((v) => Math.abs(v) <= 1).map((v) => Math.abs(target(v))));
    return [-1.6 * most, 1.6 * most];
  }
  /* By |v|, up to there: the share of the test points, of their absolute errors, and of their squared errors.
   * 51 values of |v| from 0 to 2.
   */
  const PLACES = Array.from({ length: 51 }, (_, k) => k / 25);
  function errors({ settings: { degree }, arrays: { v, f } }) {
    if (!v?.length || !f) return [PLACES, ...[1, 2, 3].map(() => PLACES.map(() => null))];
    const target = model.polynomial(degree), miss = Array.from(v, (at, k) => Math.abs(f[k] - target(at)));
    const share = (sizes) => {
      const all = mean(sizes) * sizes.length;
      return PLACES.map((place) => sizes.reduce((sum, size, k) => sum + (Math.abs(v[k]) <= place ? size : 0), 0) / all);
    };
    return [PLACES, share(miss.map(() => 1)), share(miss), share(miss.map((one) => one * one))];
  }
  // The smallest of some round numbers that is larger: axes stand still meanwhile.
  const round = (most, least) => [0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 20, 50].find((one) => one >= least && most < one)
    ?? most;
  const alongMost = ({ arrays }) => round(1.05 * Math.max(0, ...points(arrays).map((one) => Math.abs(one.along))), 0.5);
  const acrossMost = ({ arrays }) => round(1.05 * Math.max(0, ...points(arrays).map((one) => one.across)), 1);

  const blank = (most) => () => [[0, most], [null, null]];
  const none = [{ label: "", colour: "text" }], tenths = (at) => String(Number(at.toFixed(2))).replace("-", "−");
  const integers = (at) => (Number.isInteger(at) ? whole(at) : "");
  const time = { name: "epoch", label: "epoch", range: ({ last: most }) => [0, most], write: whole, ticks: integers };
  const curves = (keys, compared = keys) => ({ epochs, values, book, live }) => {
    const of = (from, key) => epochs.map((_, k) => from?.[key]?.[k] ?? null);
    return [epochs, ...keys.map((key) => of(values, key)), ...compared.map((key) => of(live ? book?.values : null, key))];
  };
  // The neighbours have a curve with training points and one without, of which one is drawn.
  const places = (view) => {
    const [epochs, empty, others, near, ...book] = curves(["empty", "others", "near"], ["empty", "others"])(view);
    const gone = view.settings.removed === "its neighbours", no = near.map(() => null);
    return [epochs, empty, others, gone ? no : near, gone ? near : no, ...book];
  };
  const highest = (key) => ({ values, book }) => [0, 1.05 * Math.max(0.1,
    ...[...(values[key] ?? []), ...(book?.values[key] ?? [])].filter((value) => value !== null))];
  const choice = (name, group, options, label, shows, help) =>
    ({ name, label, kind: "choice", options, group, shows, help });
  const half = { label: "one half: guessing", colour: "text", mark: "dash" };
  const then = { width: 1, dash: [2, 3] };
  const classes = [{ label: "says outer class", colour: "plus", mark: "square" },
    { label: "says inner class", colour: "minus", mark: "square" }];

  // What each plot shows now.
  function barsTold({ settings, arrays: { accuracy } }) {
    if (!accuracy) return "No network.";
    const { empty, gone } = known(settings), others = Array.from(accuracy).filter((_, k) => !gone.includes(k));
    return `Accuracy ${accuracy[empty].toFixed(2)} in the empty orthant, number ${empty}; where there are training `
      + `points from ${Math.min(...others).toFixed(2)} to ${Math.max(...others).toFixed(2)}.`;
  }
  function planeTold({ settings, arrays: { map } }) {
    if (!map) return "No network.";
    const { empty } = known(settings), [sx, sy] = [1, 2].map((i) => (empty >> (settings.dimension - i)) & 1);
    const share = (wanted) => {
      const found = Array.from(map).filter((_, k) =>
        (k % GRID >= GRID / 2) === (sx === 1) === wanted && (k >= GRID * GRID / 2) === (sy === 1) === wanted);
      return percent(found.filter((p) => p <= 50).length / found.length);
    };
    return `Inner class on ${share(true)} of the empty quadrant of the plane, and on ${share(false)} of the one across.`;
  }
  const tilesTold = ({ arrays: { each } }) => (each ? `${each.length} squares; accuracies from `
    + `${Math.min(...each).toFixed(2)} to ${Math.max(...each).toFixed(2)}.` : "No network.");
  const stripTold = ({ arrays: { each } }) => (each ? `Accuracies in the empty orthant, in order of seeds: ${
    Array.from(each).map((one) => one.toFixed(2)).join(", ")}; means of five in a row: ${
    fives(each).map((one) => one.toFixed(2)).join(", ")}.` : "No network.");
  const placesTold = ({ values }) => `Now ${last(values.empty)?.toFixed(2)} in the empty orthant, `
    + `${last(values.near)?.toFixed(2)} in its neighbours and ${last(values.others)?.toFixed(2)} where there are training `
    + `points, after ${values.empty.length - 1} epochs.`;
  const lossTold = ({ values }) => (last(values.loss) == null ? "Before training."
    : `The loss is now ${last(values.loss).toFixed(3)}.`);
  const neuronsTold = ({ arrays }) => (arrays.along ? `${points(arrays).filter(({ found }) => found).length} of `
    + `${arrays.along.length} neurons point along the hidden direction, with a cosine of a half or more; the longest has `
    + `${Math.max(...Array.from(arrays.along, Math.abs)).toFixed(2)} along it.` : "No network.");
  const fitTold = ({ settings, values }) => `A polynomial of degree ${settings.degree}; the network explains `
    + `${explains(last(values.fit))} where |v| ≤ 1.`;
  const scoresTold = ({ values }) => `First layer ${percent(last(values.direction))}; network ${percent(last(values.fit))} `
    + `where |v| ≤ 1, ${percent(last(values.absolute))} by absolute and ${percent(last(values.square))} by square errors.`;
  function errorsTold(view) {
    const [, ...shares] = errors(view), [, absolute, square] = shares.map((one) => one[25]);
    return absolute === null ? "No network." : `The points with |v| ≤ 1, ${percent(shares[0][25])} of all, have `
      + `${percent(absolute)} of the absolute and ${percent(square)} of the squared errors.`;
  }

  // Seconds that training takes, about.
  function seconds(settings) {
    const { dimension, points: each, samples, epochs } = settings;
    const count = first(settings) ? 1.6 * each * (2 ** dimension - 1) : 0.8 * samples;
    return SECONDS * count * epochs * model.size(settings) * model.networks(settings);
  }
  const inFour = (view) => shelled(view) && single(view), inTen = (view) => shelled(view) && !single(view);
  const accuracyCurves = {
    title: "Accuracy on new points while it learns", tells: placesTold, x: time,
    key: () => [{ label: "training points there", colour: "train", mark: "line" },
      { label: "none there", colour: "test", mark: "line" }, { ...half, label: "dashed: neighbours; thin: guessing" }],
    y: { label: "accuracy", range: () => [0.3, 1.03] },
    series: [{ label: "empty orthant", colour: "test", ghost: true },
      { label: "all with points", colour: "train", ghost: true },
      { label: "neighbours", colour: "train", dash: [8, 4] },
      { label: "neighbours, empty too", colour: "test", dash: [8, 4] },
      { ...then, label: "book's empty", colour: "test" }, { ...then, label: "book's others", colour: "train" }],
    data: places, under: (paint) => level(paint, 0.5, "text"),
  };

  Object.assign(lab, {
    title: "Laboratory: an empty orthant, and a hidden direction",
    needs: ["streams", "algebra", "perceptrons"], unit: "epoch", every: 1, length: ({ epochs }) => epochs,
    duration: { slow: 20000, fast: 4000 }, tolerance: 1e-9, least: 0.001, describe,
    columns: [["loss", "training loss", (value) => value.toFixed(4)], ["empty", "accuracy, empty orthant"],
      ["near", "neighbours"], ["others", "with training points"], ["aligned", "neurons along"],
      ["direction", "first layer, |v| ≤ 1"], ["fit", "network, |v| ≤ 1"], ["absolute", "absolute error"],
      ["square", "square error"]],
    seconds,
    controls: [
      choice("experiment", "experiment", [SHELLS, "hidden direction"], "train on", undefined,
        "points that leave one orthant empty, or a polynomial of the sum of the inputs"),
      choice("dimension", "data", [2, 3, 4, 5, 6, 7], "dimensions", first,
        "number of inputs; each more doubles the number of orthants"),
      choice("removed", "data", REMOVED, "also empty", first,
        "besides the empty orthant: its neighbours, which differ in one sign, or as many that are none"),
      choice("points", "data", POINTS, "points of a class in an orthant", first,
        "how many points of either class are drawn in each orthant but the empty ones; four in five are trained on"),
      choice("degree", "data", [3, 4, 5, 6, 7, 8], "degree", second, "degree of the polynomial"),
      choice("inputs", "data", [20, 40, 100], "inputs", second, "how many inputs are summed"),
      choice("samples", "data", [1000, 2000, 4000, 10000], "points", second,
        "number of points; eight in ten are trained on"),
      choice("depth", "network", [1, 2, 3, 4, 5], "hidden layers", first, "how many layers of ReLU neurons"),
      choice("width", "network", WIDTHS, "neurons in a layer", undefined, "number of neurons in each hidden layer"),
      { name: "seed", label: "seed", kind: "whole", max: 2 ** 32 - 1, group: "network",
        help: "a number from which the points, the empty orthant and the first weights are drawn" },
      choice("networks", "network", [1, 10], "networks", first, "one, or ten of this seed and the next ones"),
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
      {
        title: "What the network says, in a plane through four orthants", main: true, bare: true, height: 330,
        tells: planeTold, shows: inFour,
        key: ({ settings: { dimension } }) => [...classes,
          { label: dimension === 2 ? "shells with training points" : "where the plane cuts shells with training points",
            colour: "train", mark: "ring" },
          { label: "shells without", colour: "test", mark: "dash" }],
        x: { name: "", label: "", range: [0, 1], write: String }, y: { label: "", range: () => [0, 1] },
        series: none, data: blank(1), draw: plane,
      },
      {
        title: "What each of ten networks says in its empty orthant, by |x₁| and |x₂|", main: true, bare: true,
        height: 240, tells: tilesTold, shows: inTen,
        key: () => [...classes, { label: "shells without training points", colour: "test", mark: "dash" }],
        x: { name: "", label: "", range: [0, 1], write: String }, y: { label: "", range: () => [0, 1] },
        series: none, data: blank(1), draw: tiles,
      },
      { ...accuracyCurves, main: true, shows: inFour },
      {
        title: "Accuracy of ten networks, each in its empty orthant", main: true, tells: stripTold, shows: inTen,
        key: () => [{ label: "one network", colour: "test", mark: "dot" },
          { label: "mean of five in a row", colour: "text", mark: "line" }, half],
        x: { name: "seed", label: "seed", range: [0.2, 10.8], write: String,
          ticks: (at, { settings }) => (Number.isInteger(at) && at > 0 ? String(settings.seed + at - 1) : "") },
        y: { label: "accuracy", range: () => [0.3, 1.03] }, series: none, data: blank(10), draw: strip,
      },
      {
        title: "Every neuron: its weights along the hidden direction, and across it", main: true, height: 330,
        tells: neuronsTold, shows: (view) => !shelled(view),
        key: () => [{ label: "points along it: |cos| ≥ 1/2 (shaded)", colour: "purple", mark: "dot" },
          { label: "points elsewhere", colour: "quiet", mark: "dot" }],
        x: { name: "along", label: "along the hidden direction, w · u", write: tenths, ticks: tenths,
          range: (view) => [-alongMost(view), alongMost(view)] },
        y: { label: "across it, |w − (w · u) u|", range: (view) => [0, acrossMost(view)] },
        series: none, data: (view) => [[-alongMost(view), alongMost(view)], [null, null]], under: shade, draw: neurons,
      },
      {
        title: "What the first layer holds, and the network by three scores", main: true, tells: scoresTold,
        shows: (view) => !shelled(view), x: time,
        key: () => [{ label: "first layer: a curve along its main direction", colour: "purple", mark: "line" },
          { label: "network, where |v| ≤ 1", colour: "text", mark: "line" },
          { label: "by absolute errors, all points", colour: "text", mark: "dash" },
          { label: "by squared errors, all points", colour: "text", mark: "dot" },
          { label: "0: a constant", colour: "quiet", mark: "line" }],
        y: { label: "explained", range: () => [-0.75, 1.05], ticks: tenths },
        series: [{ label: "first layer", colour: "purple", ghost: true },
          { label: "network", colour: "text", ghost: true }, { label: "absolute", colour: "text", dash: [8, 4] },
          { label: "squared", colour: "text", width: 1, dots: true },
          { ...then, label: "book's first layer", colour: "purple" },
          { ...then, label: "book's network", colour: "text" }].map((one) => ({ digits: 2, ...one })),
        data: curves(["direction", "fit", "absolute", "square"], ["direction", "fit"]),
        under: (paint) => level(paint, 0, "quiet", []),
      },
      { ...accuracyCurves, shows: inTen },
      {
        title: "Accuracy in every orthant", tells: barsTold, shows: inFour,
        key: () => [{ label: "no training point", colour: "test", mark: "square" },
          { label: "training points", colour: "train", mark: "square" }, half],
        x: { name: "orthant", label: "orthant", write: String, ticks: (at, { settings: { dimension } }) =>
          (Number.isInteger(at) && at >= 0 && at < 2 ** dimension
            ? dimension < 4 ? signs(at, dimension) : String(at) : ""),
        range: ({ settings: { dimension } }) => [-0.6, 2 ** dimension - 0.4] },
        y: { label: "accuracy", range: () => [0, 1.12] }, series: none, data: blank(127), draw: bars,
      },
      {
        title: "The network's answers, against the sum v of the inputs", tells: fitTold,
        key: () => [{ label: "network, a test point", colour: "text", mark: "dot" },
          { label: "the polynomial", colour: "quiet", mark: "line" },
          { label: "|v| ≤ 1; further out the polynomial leaves the picture", colour: "shade", mark: "band" }],
        shows: (view) => !shelled(view),
        x: { name: "v", label: "v, the sum of the inputs", range: [-2, 2], write: tenths, ticks: tenths },
        y: { label: "f(x)", range: height },
        series: [{ label: "polynomial", colour: "quiet", write: tenths }],
        data: ({ settings: { degree } }) => [SUMMITS, SUMMITS.map(model.polynomial(degree))],
        under: middle, draw: answers,
      },
      {
        title: "Which test points make the errors: all up to |v|", tells: errorsTold, shows: (view) => !shelled(view),
        key: () => [{ label: "points", colour: "quiet", mark: "line" },
          { label: "absolute errors", colour: "text", mark: "dash" },
          { label: "squared errors", colour: "text", mark: "dot" }],
        x: { name: "|v|", label: "|v|", range: [0, 2], write: tenths, ticks: tenths },
        y: { label: "share of all", range: () => [0, 1.05] },
        series: [{ label: "points", colour: "quiet" }, { label: "absolute errors", colour: "text", dash: [8, 4] },
          { label: "squared errors", colour: "text", width: 1, dots: true }].map((one) => ({ ...one, digits: 2 })),
        data: errors, rest: () => 25,
      },
      {
        title: "Training loss", tells: lossTold, x: time, y: { label: "loss", range: highest("loss") },
        series: [{ label: "loss", colour: "text", ghost: true }, { ...then, label: "book's", colour: "text" }],
        data: curves(["loss"]),
      },
    ],
  });
})();
