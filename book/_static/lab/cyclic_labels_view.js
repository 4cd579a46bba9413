/* What the laboratory of cyclic labels shows: its controls, its two plots, the bump, and the same run in Python. */
(() => {
  "use strict";

  const EPOCHS = 20000, EVERY = 100, POINTS = 1000;
  // experiments.cyclic_labels.bumps.cells: a running median of 11 records; a rise above 0.05 is a bump, looked for from
  // the training time of 500 long steps on.
  const WINDOW = 11, START = 500 * 0.001, RISE = 0.05;
  const GRID = Array.from({ length: POINTS }, (_, i) => (i + 0.5) / POINTS - 0.5);
  const whole = (number) => number.toLocaleString("en-US");
  const counts = (settings) => [1, 2, 3, 4, 5, 6].map((c) => settings[`c${c}`]);
  const total = (settings) => counts(settings).reduce((sum, count) => sum + count);

  // Points that were moved by hand, by their numbers from the left before that: [[3, "0.25"], ...].
  const movesOf = ({ moved }) => (moved ?? "").split(",").filter(Boolean).map((one) => one.split(":"));

  function smooth(values) {
    const reach = (WINDOW - 1) / 2, last = values.length - 1;
    return values.map((_, k) => {
      const near = Array.from({ length: WINDOW }, (_, i) => values[Math.min(Math.max(k - reach + i, 0), last)]);
      return near.sort((a, b) => a - b)[reach];
    });
  }

  /* The largest rise of the smoothed test loss above its running minimum: { low, peak, height, diverging, recovers },
   * null if it is no bump; diverging if the smoothed training loss at the peak is not above that at the low.
   */
  function bump({ train, test }, { step }) {
    const first = Math.max(1, Math.round(START / step / EVERY));
    if (test.length <= first) return null;
    const [early, late] = [train, test].map((values) => smooth(Array.from(values)).slice(first));
    let least = 0, low = 0, peak = 0, height = 0;
    late.forEach((value, k) => {
      if (value < late[least]) least = k;
      if (value - late[least] > height) [low, peak, height] = [least, k, value - late[least]];
    });
    if (!(height > RISE)) return null;
    const diverging = early[peak] <= early[low];
    const recovers = diverging && late.slice(peak).some((value) => value <= late[low]);
    return { low: (first + low) * EVERY, peak: (first + peak) * EVERY, height, diverging, recovers };
  }

  function describe({ settings, epoch, diverged, values }) {
    if (diverged !== null) return `Training diverged at step ${whole(diverged)}: the learning rate is too large.`;
    const last = values.test.length - 1, now = `Step ${whole(epoch)}: training loss ${values.train[last].toFixed(2)}, `
      + `test loss ${values.test[last].toFixed(2)}`;
    if (epoch === 0) return `${now}; ${total(settings)} points.`;
    const found = bump(values, settings);
    if (!found) return `${now}; no bump of the test loss.`;
    const { low, peak, height, diverging, recovers } = found;
    const words = `from step ${whole(low)} to ${whole(peak)}, height ${height.toFixed(2)}`;
    if (!diverging) return `${now}; the test loss rises ${words}, but the training loss rises with it.`;
    return `${now}; bump ${words}${recovers ? ", and the test loss comes down again" : ""}.`;
  }

  function python(settings) {
    const { step, width, initial, loss, seed } = settings;
    const moves = movesOf(settings);
    const doubled = initial === "antisymmetric" ? ", rates=nets.ANTISYMMETRIC" : "";
    const network = {
      "default": `nets.default(sample.rng, ${width})`,
      "antisymmetric": `nets.antisymmetric(nets.default(sample.rng, ${width}))`,
      "near zero": `nets.scaled(nets.default(sample.rng, ${width}), 0.1)`,
    }[initial];
    return `import matplotlib.pyplot as plt
import numpy as np

from shallow import nets
from shallow.data import cyclic
from shallow.train import univariate

sample = cyclic.from_counts([${counts(settings).join(", ")}], seed=${seed})
${moves.length ? `x = sample.x.copy()
x[[${moves.map(([i]) => i).join(", ")}]] = ${moves.map(([, to]) => to).join(", ")}
x.sort()
y = cyclic.labels(x)` : "x, y = sample.x, sample.y"}
network = ${network}
grid = cyclic.grid(${POINTS})
run = univariate.train(
    x, y, network, step=${step}, epochs=${EPOCHS}, reduction="${loss}", grid=grid${doubled}
)
train_loss = run.loss${loss === "sum" ? " / len(x)" : ""}
test_loss = np.maximum(0, 1 - cyclic.labels(grid) * run.predictions).mean(axis=-1)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.plot(grid, run.predictions[-1])
left.plot(x, y, "o")
left.set(xlabel="x", ylabel="f(x)")
right.plot(run.epochs, train_loss, label="training")
right.plot(run.epochs, test_loss, label="test")
right.set(xlabel="step", ylabel="mean hinge loss")
right.legend()
plt.show()
`;
  }

  // Shade the clusters of label -1 and number all; draw the points at their labels, upright triangles for +1.
  function shade({ context, colour, scale, box, x }) {
    context.save();
    context.fillStyle = colour("shade");
    for (const c of [0, 2, 4]) context.fillRect(x(c / 6 - 0.5), box.top, x(1 / 6) - x(0), box.height);
    context.fillStyle = colour("quiet");
    context.font = `${12 * scale}px sans-serif`;
    context.textAlign = "center";
    for (let c = 0; c < 6; c++) context.fillText(c + 1, x((c + 0.5) / 6 - 0.5), box.top + box.height - 5 * scale);
    context.restore();
  }
  function points({ context, colour, scale, x, y }, { arrays }) {
    if (!arrays.x) return;
    const size = 5 * scale;
    arrays.x.forEach((value, i) => {
      const up = arrays.y[i] > 0, left = x(value), top = y(arrays.y[i]), sign = up ? 1 : -1;
      context.fillStyle = colour(up ? "plus" : "minus");
      context.beginPath();
      context.moveTo(left, top - sign * size);
      context.lineTo(left + size, top + sign * size);
      context.lineTo(left - size, top + sign * size);
      context.fill();
    });
  }
  /* The cluster at an edge that has a lone point, with the two beside it, [5, 4, 3] or [0, 1, 2], and the straight line
   * through the means of f over those two: { from, to, at(x) }.  Null without such a cluster.
   */
  function extrapolated({ arrays, settings }) {
    const beside = [[5, 4, 3], [0, 1, 2]].find(([lone, ...two]) => arrays.x && arrays.f
      && within(arrays.x, lone) === 1 && two.every((c) => within(arrays.x, c) > 1));
    if (!beside) return null;
    const [lone, near, far] = beside, centre = (c) => (c + 0.5) / 6 - 0.5;
    const [b, a] = [near, far].map((c) => mean(Array.from(arrays.f).filter((_, i) => clusterOf(GRID[i]) === c)));
    const at = (x) => a + (b - a) * (x - centre(far)) / (centre(near) - centre(far));
    return { from: centre(far), to: lone === 5 ? 0.5 : -0.5, at };
  }
  const clusterOf = (x) => Math.min(Math.floor(6 * (x + 0.5)), 5);
  const within = (x, c) => Array.from(x).filter((value) => clusterOf(value) === c).length;
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  function line({ context, colour, scale, x, y }, view) {
    const found = extrapolated(view);
    if (!found) return;
    context.save();
    context.strokeStyle = colour("accent");
    context.lineWidth = 1.5 * scale;
    context.setLineDash([6 * scale, 4 * scale]);
    context.beginPath();
    for (const end of [found.from, found.to]) context.lineTo(x(end), y(found.at(end)));
    context.stroke();
    context.restore();
  }

  // Where the smoothed test loss begins to rise and where it stands highest.
  function marks({ context, colour, scale, box, x }, { settings, values }) {
    const found = values.test && bump(values, settings);
    if (!found) return;
    context.save();
    context.strokeStyle = context.fillStyle = colour(found.diverging ? "text" : "quiet");
    context.lineWidth = scale;
    context.setLineDash([4 * scale, 3 * scale]);
    context.font = `${12 * scale}px sans-serif`;
    const edge = box.left + box.width, gap = 4 * scale;
    for (const [epoch, word, line] of [[found.low, "low", 1], [found.peak, "peak", 2]]) {
      context.beginPath();
      context.moveTo(x(epoch), box.top);
      context.lineTo(x(epoch), box.top + box.height);
      context.stroke();
      // Above the curves, and on the side of its line where it has room.
      const inside = x(epoch) + gap + context.measureText(word).width < edge;
      context.textAlign = inside ? "left" : "right";
      const place = [x(epoch) + (inside ? gap : -gap), box.top + 13 * line * scale];
      context.save(); // the curves leave room around the word
      context.setLineDash([]);
      context.lineWidth = 4 * scale;
      context.strokeStyle = colour("ground");
      context.strokeText(word, ...place);
      context.restore();
      context.fillText(word, ...place);
    }
    context.restore();
  }

  // The largest |f| over a cluster, and how many points are on the wrong side of zero.
  function told({ arrays: { f, y, outputs }, settings }) {
    if (!f) return "No network.";
    const size = Math.max(...Array.from(f, Math.abs)).toFixed(1);
    const wrong = outputs ? Array.from(outputs).filter((value, i) => value * y[i] <= 0).length : null;
    return `The function f between −0.5 and 0.5, up to ${size} in size, and its ${total(settings)} training points`
      + `${wrong === null ? "" : `, ${wrong} of them on the wrong side of zero`}.`;
  }

  const upTo = (most, unit) => Math.ceil(most / unit - 1e-9) * unit;
  const finite = (values) => Array.from(values ?? []).filter(Number.isFinite);
  const fill = (values = []) => Array.from({ length: EPOCHS / EVERY + 1 }, (_, k) => values[k] ?? null);
  const each = "points in each cluster, left to right";
  const choice = (name, group, options, label, help) => ({ name, label, kind: "choice", options, group, help });
  Object.assign(ShallowLab.models.cyclic_labels, {
    title: "Laboratory: train the network of this chapter",
    needs: ["streams"], unit: "step", length: () => EPOCHS, every: EVERY, duration: { slow: 20000, fast: 4000 },
    describe, python, bump,
    columns: [["train", "training loss"], ["test", "test loss"]],
    seconds: (settings) => 2e-4 * settings.width + 5e-4 * total(settings),
    controls: [
      ...[0, 1, 2, 3, 4, 5].map((c) => ({ name: `c${c + 1}`, label: `cluster ${c + 1}`, kind: "range", min: 0, max: 20,
        group: each, help: `training points in cluster ${c + 1}, where the label is ${c % 2 ? "+1" : "−1"}` })),
      choice("step", "training", [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1], "learning rate",
        "how far gradient descent moves the weights in a step"),
      choice("loss", "training", ["sum", "mean"], "loss over the points",
        "whether the loss is the sum over the training points or their mean, which takes smaller steps"),
      choice("width", "network", [32, 64, 128, 256, 512, 1024], "neurons", "number of hidden neurons"),
      choice("initial", "network", ["default", "antisymmetric", "near zero"], "first weights",
        "drawn as usual, so that the output begins at zero, or ten times smaller"),
      { name: "moved", label: "points moved", kind: "places", group: "training",
        help: "number of a point from the left, and its place: 3:0.25; or drag a point in the plot" },
      { name: "seed", label: "seed", kind: "whole", max: 2 ** 32 - 1, group: "network",
        help: "a number from which points and first weights are drawn" },
    ],
    refuse: (settings) => (total(settings) ? null : "Give at least one cluster a point."),
    panels: [
      {
        title: "The network's function and its training points", main: true, tells: told,
        handles: ({ arrays }) => Array.from(arrays.x ?? [],
          (x, i) => ({ id: arrays.origin?.[i] ?? i, x, y: arrays.y[i] })),
        moved: ({ settings }, id, x) => {
          const places = new Map(movesOf(settings));
          places.set(String(id), Math.min(Math.max(x, -0.499), 0.499).toFixed(3));
          return { ...settings, moved: [...places].map((one) => one.join(":")).join(",") };
        },
        key: (view) => [
          ...extrapolated(view) ? [{ label: "line through the two clusters beside a lone point", colour: "accent",
            mark: "dash" }] : [],
          { label: "training point, label +1", colour: "plus", mark: "up" },
          { label: "label −1", colour: "minus", mark: "down" },
          { label: "clusters 1, 3, 5: label −1; drag a point to move it", colour: "shade", mark: "band" },
        ],
        x: { name: "x", label: "x", range: [-0.5, 0.5], write: (x) => x.toFixed(3) },
        y: { label: "f(x)", range: ({ arrays }) => {
          const f = finite(arrays.f), least = f.reduce((a, b) => Math.min(a, b), -1.5);
          return [-upTo(-1.05 * least, 0.5), upTo(1.05 * f.reduce((a, b) => Math.max(a, b), 1.5), 0.5)];
        } },
        series: [{ label: "f(x)", colour: "text" }],
        data: ({ arrays }) => [GRID, Array.from(arrays.f ?? GRID.map(() => null))],
        under: shade, draw: (paint, view) => { line(paint, view); points(paint, view); },
      },
      {
        title: "Mean hinge loss on training points and everywhere", main: true, tells: describe,
        key: () => [{ label: "low, peak: where the test loss begins to rise, and its top", colour: "text",
          mark: "dash" }],
        x: { name: "step", label: "step", range: [0, EPOCHS], write: whole, ticks: whole },
        y: { label: "loss", range: ({ values, book }) => {
          const all = [values.train, values.test, book?.values.test].flatMap(finite);
          return [0, upTo(1.2 * all.reduce((most, value) => Math.max(most, value), 1), 0.2)];  // words stand above
        } },
        series: [
          { label: "training", colour: "train", ghost: true },
          { label: "test", colour: "test", dash: [8, 3], ghost: true },
          { label: "book's training", colour: "train-pale", width: 1 },
          { label: "book's test", colour: "test-pale", width: 1, dash: [8, 3] },
        ],
        data: ({ values, epochs, live, book }) => [epochs, fill(values.train), fill(values.test),
          fill(live ? book?.values.train : []), fill(live ? book?.values.test : [])],
        draw: marks,
      },
    ],
  });
})();
