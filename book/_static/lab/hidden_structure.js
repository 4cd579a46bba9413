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
    const REACH = 2, ALIGNED = 0.5, GRID = 56, SIDE = 7;
    const { zeros, dot } = algebra, { drawn, halfAntisymmetric, trainer, LOSSES, adam, adadelta, BATCH }
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
    const emptyOrthant = (seed, dimension) => streams.named("orthants", seed, "empty").bits(dimension);

    function orthants(seed, { dimension, points }) {
      const empty = emptyOrthant(seed, dimension), named = (name) => streams.named("orthants", seed, name);
      const but = (others, there) => Array.from({ length: 2 ** dimension }, (_, k) => (k === empty ? there : others));
      const all = shells(named("points"), but(points, 0), dimension);
      const order = named("split").permutation(upTo(all.count)).slice(0, Math.floor(0.8 * all.count + 1e-9));
      const test = shells(named("test"), but(TESTED.others, TESTED.empty), dimension);
      return { empty, dimension, train: taken(all, order), test };
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
    // Probability of the outer shell at the midpoints of a grid over [-SIDE, SIDE]^2.
    function map(net) {
      const at = (k) => SIDE * (2 * (k + 0.5) / GRID - 1), points = zeros(2 * GRID * GRID);
      for (let k = 0; k < GRID * GRID; k++) points.set([at(k % GRID), at(Math.floor(k / GRID))], 2 * k);
      return net.outputs(points, GRID * GRID).map((f) => 1 / (1 + Math.exp(-f)));
    }
    function cosines({ theta, widths: [n, m] }) {
      return Float64Array.from({ length: m }, (_, j) => {
        const w = theta.subarray(j * n, (j + 1) * n);
        return Math.min(1, Math.abs(sum(w)) / Math.sqrt(n) / Math.sqrt(dot(w, w)));
      });
    }
    // 1 - mean square over variance, over the test points with |v| <= 1.
    function fit(f, y, v) {
      const bulk = upTo(v.length).filter((k) => Math.abs(v[k]) <= 1), middle = mean(bulk.map((k) => y[k]));
      return 1 - sum(bulk.map((k) => (f[k] - y[k]) ** 2)) / sum(bulk.map((k) => (y[k] - middle) ** 2));
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

      function record() {
        const { test, v } = data[0], none = { empty: null, others: null, aligned: null, largest: null, fit: null };
        const values = { loss: run.epoch ? mean(nets.map((net) => net.loss)) : null, ...none };
        if (shelled) {
          found = nets.map((net, k) => accuracies(net, data[k]));
          values.empty = mean(found.map((one, k) => one[data[k].empty]));
          values.others = mean(found.map((one, k) => (sum(one) - one[data[k].empty]) / (one.length - 1)));
        } else {
          const f = nets[0].outputs(test.x, test.count), cosine = cosines(nets[0]);
          found = { v, f, cosine };
          values.aligned = mean(Array.from(cosine, (value) => (value >= ALIGNED ? 1 : 0)));
          values.largest = Math.max(...cosine);
          values.fit = fit(f, test.y, v);
        }
        run.values = values;
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
      run.snapshot = () => {
        if (!shelled) return Object.fromEntries(Object.entries(found).map(([name, values]) => [name, values.slice()]));
        const each = Float64Array.from(found, (one, k) => one[data[k].empty]), accuracy = found[0].slice();
        return { each, accuracy, ...(settings.dimension === 2 && nets.length === 1 ? { map: map(nets[0]) } : {}) };
      };
      run.weights = () => nets.map(({ theta }) => theta);
      record();
      return run;
    }
    return { start, orthants, hidden, emptyOrthant, polynomial, shape, size, networks, GRID, SIDE };
  }

  const orthantsInPython = ({ seed, networks, dimension, points, depth, width, rate, loss, epochs }) => {
    const layers = `${Array(depth).fill(width).join(", ")}`;
    return `import numpy as np

from experiments.hidden_structure import laboratory, shells
from shallow import mlp, stats
from shallow.train import ensemble

seeds = range(${seed}, ${seed + networks})
tasks = [laboratory.shell_task(seed, dimension=${dimension}, per_class=${points}) for seed in seeds]
rngs = [stats.stream("orthants", seed, "initialisation", ${depth}, ${width}) for seed in seeds]
fit = ensemble.train(
    mlp.default(rngs, (${dimension}, ${layers}, 1), dtype=np.float64),
    np.stack([task.train.x for task in tasks]),
    np.stack([task.train.label for task in tasks]),
    rngs=[stats.stream("orthants", seed, "batches") for seed in seeds],
    loss="bce-${loss}", optimiser="adam", rate=${rate}, epochs=${epochs}, batch=32, records=range(${epochs + 1}),
)
loss = fit.training.mean(axis=0)
accuracy = [
    [shells.by_orthant((net.forward(test.x)[0] > 0) == test.label, test) for net in networks]
    for (*_, test), networks in zip(tasks, fit.values)
]
empty = np.mean([np.array(all_)[:, task.empty] for task, all_ in zip(tasks, accuracy)], axis=0)
others = np.mean([np.delete(all_, task.empty, axis=1) for task, all_ in zip(tasks, accuracy)], axis=(0, 2))
`;
  };
  const polynomialInPython = ({ seed, degree, inputs, samples, width, first, epochs }) => {
    const warmup = first === "all epochs" ? epochs : first === "no epoch" ? 0 : parseInt(first);
    const frozen = warmup < epochs, mode = frozen ? `"stop-first", warmup=${warmup}` : '"regular"';
    return `import numpy as np

from experiments.hidden_structure import hidden_direction, laboratory, polynomial_measures, polynomials
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
cosines = [hidden_direction.cosines(net.weights[0][0], task.direction) for net in fit.values[0]]
aligned = [hidden_direction.aligned(cosine) for cosine in cosines]
largest = [cosine.max() for cosine in cosines]
x, v, y = (array[task.rows["test"]] for array in (task.x, task.v, task.y))
rows = {"test": np.arange(len(v))}
fits = [polynomial_measures.fits(net.forward(x)[0], v, y, rows) for net in fit.values[0]]
fit_of_bulk = [now.r2.sel(part="test", range="bulk").item() for now in fits]
`;
  };

  ShallowLab.models.hidden_structure = {
    compute,
    python: (settings) =>
      (settings.experiment === "empty orthant" ? orthantsInPython : polynomialInPython)(settings),
  };
})();
