/* The laboratory of the chapter on hidden structure: shells in orthants of which one is empty, and polynomials of a
 * hidden direction.
 *
 * `compute` is the library's computation (shallow.train.ensemble, experiments.hidden_structure.laboratory) in float64.
 * Sums are in another order, which rounding errors do not outgrow in runs of this length: they agree to some 1e-12.
 */
globalThis.ShallowLab ??= { models: {} };

(() => {
  "use strict";

  // Uses nothing outside itself but what it is given: workers get it as text.
  function compute(streams, algebra, perceptrons) {
    const SLICE = 1e6, CENTRE = 4, RADII = [1, 2], TESTED = { empty: 100, others: 25 };
    const REACH = 2, ALIGNED = 0.5, CURVE = 10, GRID = 40, SIDE = 7, TILE = 14, BESIDE = 2.5;
    const { zeros, dot, gram, transposed, eigenvalues, first } = algebra, { drawn, halfAntisymmetric, trainer, LOSSES, adam, adadelta, BATCH }
      = perceptrons(algebra);
    const sum = (values) => values.reduce((all, value) => all + value, 0);
    const mean = (values) => sum(values) / values.length, upTo = (count) => Array.from({ length: count }, (_, k) => k);

    // ------------------------------------------------------------------------------------------------------ the data

    // experiments.hidden_structure.shells.sample: the points of the orthants one after the other, class by class.
    function shells(rng, counts, dimension) {
      const most = Math.max(...counts), orthants = counts.length;
      const directions = rng.normal(most * orthants * 2 * dimension);
      const count = 2 * sum(counts), x = zeros(count * dimension), y = zeros(count), orthant = new Int32Array(count);
      let k = 0;
      for (let o = 0; o < orthants; o++) {
        for (let label = 0; label < 2; label++) {
          for (let number = 0; number < counts[o]; number++, k++) {
            const at = ((number * orthants + o) * 2 + label) * dimension;
            const length = Math.sqrt(dot(directions, directions, at, at, dimension));
            for (let i = 0; i < dimension; i++) {
              const sign = (o >> (dimension - 1 - i)) & 1 ? 1 : -1;
              x[k * dimension + i] = CENTRE * sign + RADII[label] * (directions[at + i] / length);
            }
            y[k] = label;
            orthant[k] = o;
          }
        }
      }
      return { x, y, orthant, count };
    }
    // Points by their numbers in a sample.
    function taken({ x, y }, order) {
      const width = x.length / y.length, count = order.length, chosen = zeros(count * width);
      order.forEach((k, i) => chosen.set(x.subarray(k * width, (k + 1) * width), i * width));
      return { x: chosen, y: Float64Array.from(order, (k) => y[k]), count };
    }
    const neighbours = (orthant, dimension) => upTo(dimension).map((i) => orthant ^ (1 << i));
    // The orthants without training points, the empty one first.
    function without(seed, { dimension, removed }) {
      const empty = streams.named("orthants", seed, "empty").bits(dimension), near = neighbours(empty, dimension);
      if (removed === "its neighbours") return [empty, ...near];
      if (removed !== "as many others") return [empty];
      const far = upTo(2 ** dimension).filter((k) => k !== empty && !near.includes(k));
      return [empty, ...streams.named("orthants", seed, "removed", "others").permutation(far).slice(0, dimension)];
    }
    function orthants(seed, settings) {
      const { dimension, points } = settings, named = (name) => streams.named("orthants", seed, name);
      const gone = without(seed, settings), [empty] = gone, every = upTo(2 ** dimension);
      const all = shells(named("points"), every.map((k) => (gone.includes(k) ? 0 : points)), dimension);
      const order = named("split").permutation(upTo(all.count)).slice(0, Math.floor(0.8 * all.count + 1e-9));
      const tested = every.map((k) => (k === empty ? TESTED.empty : TESTED.others));
      const near = neighbours(empty, dimension), others = every.filter((k) => !gone.includes(k));
      const test = shells(named("test"), tested, dimension);
      return { empty, near, others, dimension, train: taken(all, order), test };
    }

    // experiments.hidden_structure.hidden_index: the sum of the inputs, scaled to at most 2.
    const polynomial = (degree) => (v) =>
      upTo(degree).reduce((value, k) => value * (v - (2 * REACH * k / (degree - 1) - REACH)), 1);
    function hidden(seed, { inputs, samples, degree }) {
      const named = (name) => streams.named("hidden_index", "independent", seed, name), tenth = samples / 10;
      const x = named("inputs").normal(samples * inputs), v = zeros(samples), u = zeros(inputs).fill(inputs ** -0.5);
      for (let k = 0; k < samples; k++) v[k] = Math.sqrt(inputs) * dot(x, u, k * inputs);
      const scale = REACH / v.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      x.forEach((value, k) => { x[k] = scale * value; });
      v.forEach((value, k) => { v[k] = scale * value; });
      const order = named("split").permutation(upTo(samples));
      const all = { x, y: v.map(polynomial(degree)) }, test = order.slice(0, tenth);
      const tested = Float64Array.from(test, (k) => v[k]);
      return { train: taken(all, order.slice(2 * tenth)), test: taken(all, test), v: tested };
    }

    // --------------------------------------------------------------------------------------- what is measured of each

    // Accuracy on the test points of every orthant.
    function accuracies(net, { test: { x, y, orthant, count }, empty, dimension }) {
      const right = zeros(2 ** dimension), f = net.outputs(x, count);
      for (let k = 0; k < count; k++) if (f[k] > 0 === (y[k] === 1)) right[orthant[k]]++;
      return right.map((number, k) => number / (2 * (k === empty ? TESTED.empty : TESTED.others)));
    }
    /* Probabilities of the outer shell, in percent, in `count`^2 cells of a plane through the centres of the empty orthant and of
     * three that differ from it in the first two signs: of all four, or as a tile of the empty one, by |x_1| and |x_2|.
     */
    function seen(net, { empty, dimension }, count, place) {
      const points = zeros(dimension * count * count), step = (k) => 2 * (k + 0.5) / count - 1;
      const sign = upTo(dimension).map((i) => ((empty >> (dimension - 1 - i)) & 1 ? 1 : -1));
      for (let k = 0; k < count * count; k++) {
        sign.forEach((one, i) => { points[k * dimension + i] = CENTRE * one; });
        [k % count, Math.floor(k / count)].forEach((at, i) => { points[k * dimension + i] = place(step(at), sign[i]); });
      }
      return net.outputs(points, count * count).map((f) => 100 / (1 + Math.exp(-f)));
    }
    const map = (net, data) => seen(net, data, GRID, (at) => SIDE * at);
    const tile = (net, data) => seen(net, data, TILE, (at, sign) => sign * (CENTRE + BESIDE * at));

    // Each neuron's weights: their part along the hidden direction, with its sign, and the size of the rest.
    function parts({ theta, widths: [n, m] }) {
      const along = zeros(m), across = zeros(m);
      for (let j = 0; j < m; j++) {
        along[j] = sum(theta.subarray(j * n, (j + 1) * n)) / Math.sqrt(n);
        for (let i = 0; i < n; i++) across[j] += (theta[j * n + i] - along[j] / Math.sqrt(n)) ** 2;
        across[j] = Math.sqrt(across[j]);
      }
      return { along, across };
    }
    // The direction along which the weights of the first layer are largest together.
    function mainDirection({ theta, widths: [n, m] }) {
      const G = gram(transposed(theta, m, n), n, m);
      return first(G.slice(), n, eigenvalues(G, n)[0], zeros(n).fill(1));
    }
    // The polynomial of least squares through points, at other places: by polynomials orthogonal on the points.
    function curve(t, y, places) {
      const found = zeros(places.length), at = (values) => dot(values, values);
      let [now, before, here, there] = [zeros(t.length).fill(1), null, zeros(places.length).fill(1), null];
      for (let k = 0, size = null; k <= CURVE; k++) {
        const last = size, part = dot(now, y) / (size = at(now));
        here.forEach((value, i) => { found[i] += part * value; });
        const centre = now.reduce((all, value, i) => all + value * value * t[i], 0) / size, back = last ? size / last : 0;
        const next = (values, past, x) => values.map((value, i) => (x[i] - centre) * value - (past ? back * past[i] : 0));
        [now, before] = [next(now, before, t), now];
        [here, there] = [next(here, there, places), here];
      }
      return found;
    }
    // What the first layer holds: that curve in x along its main direction, held beyond the points of training.
    function bestCurve(net, { train, test }) {
      const e = mainDirection(net), n = e.length;
      const project = ({ x, count }) => Float64Array.from({ length: count }, (_, k) => dot(x, e, k * n, 0, n));
      const t = project(train), most = t.reduce((all, value) => Math.max(all, Math.abs(value)), 0);
      return curve(t.map((value) => value / most), train.y,
        project(test).map((value) => Math.max(-1, Math.min(1, value / most))));
    }
    const median = (values) => {
      const sorted = Float64Array.from(values).sort(), half = sorted.length >> 1;
      return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    };
    // Shares of a constant's error that are gone: of the mean square, and of the mean absolute error.
    function bySquares(f, y) {
      const middle = mean(y);
      return 1 - sum(f.map((value, k) => (value - y[k]) ** 2)) / sum(y.map((value) => (value - middle) ** 2));
    }
    function byAbsolutes(f, y) {
      const middle = median(y);
      return 1 - sum(f.map((value, k) => Math.abs(value - y[k]))) / sum(y.map((value) => Math.abs(value - middle)));
    }
    function bulk(f, y, v) {
      const inside = upTo(v.length).filter((k) => Math.abs(v[k]) <= 1);
      return bySquares(Float64Array.from(inside, (k) => f[k]), Float64Array.from(inside, (k) => y[k]));
    }

    // ---------------------------------------------------------------------------------------------------------- runs

    const shape = (settings) => (settings.experiment === "empty orthant"
      ? [settings.dimension, ...Array(settings.depth).fill(settings.width), 1] : [settings.inputs, settings.width, 1]);
    // How many parameters, and how many networks of them.
    const size = (settings) => sum(shape(settings).slice(1).map((m, l) => m * (shape(settings)[l] + 1)));
    const networks = ({ experiment, networks: asked }) => (experiment === "empty orthant" ? asked : 1);
    const warmup = ({ first }) => (first === "all epochs" ? Infinity : first === "no epoch" ? 0 : parseInt(first));

    function start(settings) {
      const { experiment, epochs, seed, width, depth, rate, loss } = settings, widths = shape(settings);
      const shelled = experiment === "empty orthant", seeds = upTo(networks(settings)).map((k) => seed + k);
      const data = seeds.map((one) => (shelled ? orthants : hidden)(one, settings));
      const nets = seeds.map((one, k) => {
        const named = (...names) => (shelled ? streams.named("orthants", one, ...names)
          : streams.named("hidden structure", "independent", ...names, one));
        const theta = drawn(shelled ? named("initialisation", depth, width) : named("initial weights", width), widths);
        const rule = shelled ? { compare: LOSSES[loss], move: adam, rate, warmup: Infinity }
          : { compare: LOSSES.absolute, move: adadelta, rate: 1, warmup: warmup(settings) };
        if (!shelled) halfAntisymmetric(theta, widths);
        return trainer(widths, theta, data[k].train, named("batches"), rule);
      });
      const slice = Math.ceil(SLICE / (3 * BATCH * size(settings)));
      const run = { epoch: 0, last: epochs, done: false, diverged: null, values: null };
      let found = null, now = 0;

      function accuracy() {
        const all = nets.map((net, k) => accuracies(net, data[k]));
        const over = (kind) => mean(all.map((one, k) => mean(data[k][kind].map((orthant) => one[orthant]))));
        const each = Float64Array.from(all, (one, k) => one[data[k].empty]);
        found = nets.length === 1 ? { each, accuracy: all[0], map: map(nets[0], data[0]) }
          : { each, tiles: Float64Array.from(nets.flatMap((net, k) => [...tile(net, data[k])])) };
        return { empty: mean(each), near: over("near"), others: over("others") };
      }
      function fits() {
        const [{ test, v }] = data, [net] = nets, f = net.outputs(test.x, test.count), { along, across } = parts(net);
        found = { v, f, along, across };
        const aligned = along.map((value, j) => (Math.abs(value) >= ALIGNED * Math.hypot(value, across[j]) ? 1 : 0));
        return { aligned: mean(aligned), direction: bulk(bestCurve(net, data[0]), test.y, v), fit: bulk(f, test.y, v),
          absolute: byAbsolutes(f, test.y), square: bySquares(f, test.y) };
      }
      const none = Object.fromEntries(
        ["empty", "near", "others", "aligned", "direction", "fit", "absolute", "square"].map((key) => [key, null]));
      function record() {
        run.values = { loss: run.epoch ? mean(nets.map((net) => net.loss)) : null, ...none,
          ...(shelled ? accuracy() : fits()) };
      }
      // Train to the end of the epoch, or of a slice of about a millisecond before it.
      run.advance = () => {
        for (let k = 0; k < slice && nets[now].epoch === run.epoch; k++) nets[now].step();
        if (nets[now].epoch === run.epoch) return run;
        if (!Number.isFinite(nets[now].loss) || !nets[now].theta.every(Number.isFinite)) {
          return Object.assign(run, { done: true, diverged: run.epoch + 1 });
        }
        now = (now + 1) % nets.length;
        if (now > 0) return run;
        run.epoch += 1;
        record();
        run.done = run.epoch === run.last;
        return run;
      };
      run.snapshot = () => Object.fromEntries(Object.entries(found).map(([name, values]) => [name, values.slice()]));
      run.weights = () => nets.map(({ theta }) => theta);
      record();
      return run;
    }
    return { start, orthants, hidden, without, neighbours, polynomial, shape, size, networks, GRID, SIDE, TILE, BESIDE };
  }

  const orthantsInPython = ({ seed, networks, dimension, removed, points, depth, width, rate, loss, epochs }) => {
    const layers = `${Array(depth).fill(width).join(", ")}`;
    return `import matplotlib.pyplot as plt
import numpy as np

from experiments.hidden_structure import laboratory
from shallow import mlp, stats
from shallow.train import ensemble

seeds = range(${seed}, ${seed + networks})
sizes = dict(dimension=${dimension}, per_class=${points}, removed="${removed}")
tasks = [laboratory.shell_task(seed, **sizes) for seed in seeds]
rngs = [stats.stream("orthants", seed, "initialisation", ${depth}, ${width}) for seed in seeds]
fit = ensemble.train(
    mlp.default(rngs, (${dimension}, ${layers}, 1), dtype=np.float64),
    np.stack([task.train.x for task in tasks]),
    np.stack([task.train.label for task in tasks]),
    rngs=[stats.stream("orthants", seed, "batches") for seed in seeds],
    loss="bce-${loss}", optimiser="adam", rate=${rate}, epochs=${epochs}, batch=32, records=range(${epochs + 1}),
)
loss = fit.training.mean(axis=0)
accuracy = [laboratory.accuracies(nets, task) for nets, task in zip(fit.values, tasks)]
found = [laboratory.by_kind(one, task) for one, task in zip(accuracy, tasks)]
empty, near, others = (np.mean([one[kind] for one in found], axis=0) for kind in ("empty", "near", "others"))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.plot(range(1, ${epochs} + 1), loss)
left.set(xlabel="epoch", ylabel="training loss")
right.plot(empty, label="empty orthant")
right.plot(near, label="its neighbours")
right.plot(others, label="the others")
right.set(xlabel="epoch", ylabel="accuracy")
right.legend()
plt.show()
`;
  };
  const polynomialInPython = ({ seed, degree, inputs, samples, width, first, epochs }) => {
    const warmup = first === "all epochs" ? epochs : first === "no epoch" ? 0 : parseInt(first);
    const frozen = warmup < epochs, mode = frozen ? `"stop-first", warmup=${warmup}` : '"regular"';
    return `import matplotlib.pyplot as plt
import numpy as np

from experiments.hidden_structure import hidden_direction, laboratory, polynomials
from shallow import mlp, stats
from shallow.train import ensemble

task = laboratory.polynomial_task(${seed}, degree=${degree}, inputs=${inputs}, samples=${samples})
rng = stats.stream("hidden structure", "independent", "initial weights", ${width}, ${seed})
start = polynomials.half_antisymmetric(mlp.default([rng], (${inputs}, ${width}, 1), dtype=np.float64))
fit = ensemble.train(
    start, task.x[task.rows["train"]], task.y[task.rows["train"]],
    rngs=[stats.stream("hidden structure", "independent", "batches", ${seed})],
    loss="absolute", optimiser="adadelta", rate=1, epochs=${frozen ? epochs - warmup : epochs}, mode=${mode},
    batch=32, records=range(${epochs + 1}),
)
loss = fit.training[0]
layers = [net.weights[0][0] for net in fit.values[0]]
aligned = [hidden_direction.aligned(hidden_direction.cosines(W, task.direction)) for W in layers]
x, v, y = (array[task.rows["test"]] for array in (task.x, task.v, task.y))
curves = [laboratory.best_curve(task, laboratory.main_direction(W)) for W in layers]
direction = [laboratory.explained(curve, v, y)["fit"] for curve in curves]
said = [laboratory.explained(net.forward(x)[0], v, y) for net in fit.values[0]]
in_the_middle, absolute, square = ([one[name] for one in said] for name in ("fit", "absolute", "square"))

along = layers[-1] @ task.direction
across = np.linalg.norm(layers[-1] - np.outer(along, task.direction), axis=-1)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.plot(along, across, ".")
left.set(xlabel="weights along the hidden direction", ylabel="across it")
right.plot(direction, label="first layer: a curve along its main direction")
right.plot(in_the_middle, label="network, where |v| ≤ 1")
right.plot(absolute, label="by absolute errors, all points")
right.plot(square, label="by squared errors, all points")
right.set(xlabel="epoch", ylabel="explained", ylim=(-0.75, 1.05))
right.legend()
plt.show()
`;
  };

  ShallowLab.models.hidden_structure = {
    compute,
    python: (settings) =>
      (settings.experiment === "empty orthant" ? orthantsInPython : polynomialInPython)(settings),
  };
})();
