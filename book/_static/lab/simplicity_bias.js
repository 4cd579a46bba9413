/* The laboratory of the chapter on simplicity bias: a ReLU network without biases, two inputs, a linear teacher.
 *
 * `compute` is the library's computation (experiments.simplicity_bias.laboratory) in float64.  In the plane a neuron is
 * active on an arc of directions, so that a step on all points needs two running sums over the points in order of
 * angle instead of all pairs of a point and a neuron.
 */
globalThis.ShallowLab ??= { models: {} };

(() => {
  "use strict";

  // Uses nothing outside itself but `streams` and `plane`: workers get it as text.
  function compute(streams, plane) {
    const NODES = 256, SHARE = 0.99, DECADE = 12, SLICE = 1e6;
    const { fit, row, stays, same, sums } = plane, zeros = (count) => new Float64Array(count);

    // Steps 0, 1, ..., last in equal ratios, as shallow.train.run.log_spaced.
    function records(last) {
      const decades = Math.log10(last), count = Math.ceil(decades * DECADE);
      const all = Array.from({ length: count + 1 }, (_, k) => Math.round(10 ** (decades * k / count)));
      return [...new Set([0, ...all])];
    }

    // Points in the order drawn, x (2n) and y, and in order of angle: rays z (2n) with z_1 > 0, sides s = +-1, labels.
    let kept = { key: null };
    function sample({ seed, n, margin, noise }) {
      const key = `${seed} ${n} ${margin} ${noise}`;
      if (kept.key === key) return kept;
      const rng = streams.named("two fits", "data", seed, n, 2), x = zeros(2 * n);
      for (let found = 0; found < n;) {
        const drawn = rng.normal(2 * (2 * (n - found) + 16));
        for (let i = 0; i < drawn.length && found < n; i += 2) {
          const point = [drawn[i], drawn[i + 1]], [u, v] = point;
          if (Math.abs(u) >= margin * Math.sqrt(u * u + v * v)) x.set(point, 2 * found++);
        }
      }
      const y = rng.normal(n).map((error, k) => x[2 * k] + Math.sqrt(noise) * error);
      const all = Array.from(y.keys()), slope = (k) => x[2 * k + 1] / x[2 * k];
      const order = all.slice().sort((k, l) => slope(k) - slope(l)), side = order.map((k) => Math.sign(x[2 * k]));
      const z = Float64Array.from({ length: 2 * n }, (_, i) => side[i >> 1] * x[2 * order[i >> 1] + i % 2]);
      const halves = [1, -1].map((sign) => fit(x, y, all.filter((k) => sign * x[2 * k] > 0)));
      kept = { key, n, margin, noise, x, y, z, side, labels: order.map((k) => y[k]), one: fit(x, y, all), halves };
      return kept;
    }

    // The value at (u, v) of the two fits, and of a network W (2m), a (m).
    const twoFits = ([plus, minus], u, v) =>
      Math.max(plus[0] * u + plus[1] * v, 0) - Math.max(-(minus[0] * u + minus[1] * v), 0);
    function value(W, a, u, v) {
      let sum = 0;
      for (let j = 0; j < a.length; j++) sum += a[j] * Math.max(W[2 * j] * u + W[2 * j + 1] * v, 0);
      return sum;
    }
    // Test loss of f(u, v): midpoints over the directions that inputs can have, E |x|^2 = 2, f homogeneous.
    function test(f, { margin, noise }) {
      const most = Math.acos(margin);
      let sum = 0;
      for (let k = 0; k < NODES; k++) {
        const angle = most * (2 * (k + 0.5) / NODES - 1), u = Math.cos(angle), v = Math.sin(angle);
        sum += (f(u, v) - u) ** 2 + (f(-u, -v) + u) ** 2;
      }
      return noise + 2 * sum / (2 * NODES);
    }
    // Training and test loss of one fit, and of the two.
    function references(data) {
      const { n, x, y, one, halves } = data;
      return [(u, v) => one[0] * u + one[1] * v, (u, v) => twoFits(halves, u, v)].map((f) => ({
        train: y.reduce((sum, label, k) => sum + (f(x[2 * k], x[2 * k + 1]) - label) ** 2, 0) / n, test: test(f, data),
      }));
    }

    // shallow.nets.dominated and small
    function network({ seed, width, scale, start }) {
      const rng = streams.named("two fits", "network", seed, width, 2), W = rng.normal(2 * width);
      const unit = scale / Math.sqrt(width);
      if (start === "Gaussian") return { W: W.map((w) => unit * w), a: rng.normal(width).map((a) => unit * a) };
      const radii = rng.uniform(0, 1, width).map((u, j) =>
        Math.sqrt(u) / Math.sqrt(W[2 * j] ** 2 + W[2 * j + 1] ** 2));
      const signs = rng.either([-1, 1], width);
      return { W: W.map((w, i) => scale * unit * (w * radii[i >> 1])), a: Float64Array.from(signs, (s) => s * unit) };
    }

    function start(settings) {
      const data = sample(settings), { n, x, y, z, side, labels, halves } = data, { W, a } = network(settings);
      const m = a.length, batch = settings.batch === "all" ? n : Math.min(n, Number(settings.batch));
      const whole = batch === n, steps = records(settings.steps);
      const rng = whole ? null : streams.named("laboratory", "batches", settings.seed, n);
      const points = Array.from(y.keys()), rows = new Int32Array(m), jumps = zeros(2 * n + 2);
      const pulls = zeros(4 * n + 4), residuals = zeros(n), outputs = zeros(batch), target = zeros(n);
      const factor = 2 * settings.rate / batch, slice = Math.ceil(SLICE / (whole ? 4 * n + 10 * m : 4 * m * batch));
      for (let k = 0; k < n; k++) target[k] = twoFits(halves, side[k] * z[2 * k], side[k] * z[2 * k + 1]);
      let left = [];

      // f(x_k) - y_k on all points, from the sums of a_j w_j over the neurons that are positive on each ray.
      function forward() {
        let t0 = 0, t1 = 0, v0 = 0, v1 = 0;
        jumps.fill(0);
        for (let j = 0; j < m; j++) {
          const b0 = a[j] * W[2 * j], b1 = a[j] * W[2 * j + 1], suffix = rows[j] <= n;
          const at = 2 * (suffix ? rows[j] : rows[j] - n - 1);
          t0 += b0; t1 += b1;
          if (!suffix) { v0 += b0; v1 += b1; }
          jumps[at] += suffix ? b0 : -b0;
          jumps[at + 1] += suffix ? b1 : -b1;
        }
        for (let k = 0; k < n; k++) {
          v0 += jumps[2 * k]; v1 += jumps[2 * k + 1];
          residuals[k] = (side[k] > 0 ? v0 * z[2 * k] + v1 * z[2 * k + 1]
            : (v0 - t0) * z[2 * k] + (v1 - t1) * z[2 * k + 1]) - labels[k];
        }
      }
      function step() {
        forward();
        sums(data, residuals, pulls);
        for (let j = 0; j < m; j++) {
          move(j, -factor * pulls[2 * rows[j]], -factor * pulls[2 * rows[j] + 1]);
          if (!stays(z, W[2 * j], W[2 * j + 1], rows[j])) rows[j] = row(z, W[2 * j], W[2 * j + 1]);
        }
      }
      function move(j, g0, g1) {
        const w0 = W[2 * j], w1 = W[2 * j + 1], out = a[j];
        a[j] = out + (w0 * g0 + w1 * g1);
        W[2 * j] = w0 + out * g0;
        W[2 * j + 1] = w1 + out * g1;
      }

      // shallow.train.minibatch: epochs are shuffled, and a batch may begin in one and end in the next.
      function draw() {
        if (left.length < batch) left = left.concat(rng.permutation(points));
        const taken = left.slice(0, batch);
        left = left.slice(batch);
        return taken;
      }
      function stepOnBatch() {
        const taken = draw();
        taken.forEach((k, b) => { outputs[b] = factor * (y[k] - value(W, a, x[2 * k], x[2 * k + 1])); });
        for (let j = 0; j < m; j++) {
          let g0 = 0, g1 = 0;
          for (let b = 0; b < batch; b++) {
            const u = x[2 * taken[b]], v = x[2 * taken[b] + 1];
            if (W[2 * j] * u + W[2 * j + 1] * v > 0) { g0 += outputs[b] * u; g1 += outputs[b] * v; }
          }
          move(j, g0, g1);
        }
      }

      // The least number of groups, neurons of one sign active on the same points, that carry 99 % of the |a||w|.
      function groups() {
        const masses = new Map();
        for (let j = 0; j < m; j++) {
          const key = a[j] > 0 ? same(rows[j], n) : -1 - same(rows[j], n);
          masses.set(key, (masses.get(key) ?? 0) + Math.abs(a[j]) * Math.sqrt(W[2 * j] ** 2 + W[2 * j + 1] ** 2));
        }
        const sorted = [...masses.values()].sort((p, q) => q - p), all = sorted.reduce((p, q) => p + q);
        let count = 0;
        for (let sum = 0; sum < SHARE * all * (1 - 1e-12); count++) sum += sorted[count];
        return count;
      }

      const run = { epoch: 0, last: settings.steps, done: false, diverged: null, values: null };
      function record() {
        for (let j = 0; j < m; j++) rows[j] = row(z, W[2 * j], W[2 * j + 1]);
        forward();
        let train = 0, apart = 0, size = 0;
        for (let k = 0; k < n; k++) {
          train += residuals[k] ** 2;
          apart += (residuals[k] + labels[k] - target[k]) ** 2;
          size += target[k] ** 2;
        }
        run.values = { train: train / n, test: test((u, v) => value(W, a, u, v), data),
          distance: Math.sqrt(apart / size), groups: groups() };
      }
      // Train to the next record, or to the end of a slice of about a millisecond before it.
      run.advance = () => {
        const next = steps.find((at) => at > run.epoch), until = Math.min(next, run.epoch + slice);
        for (; run.epoch < until; run.epoch++) if (whole) step(); else stepOnBatch();
        if (!W.every(Number.isFinite) || !a.every(Number.isFinite)) {
          return Object.assign(run, { done: true, diverged: run.epoch });
        }
        if (run.epoch === next) record();
        run.done = run.epoch === run.last;
        return run;
      };
      run.snapshot = () => ({ W: W.slice(), a: a.slice() });
      run.weights = () => [W, a];
      record();
      return run;
    }
    return { start, sample, references, records, value, twoFits };
  }

  function python({ n, margin, noise, width, start, scale, rate, steps, batch, seed }) {
    const network = start === "dominated" ? `nets.dominated(rng, ${width}, 2, ${scale})`
      : `nets.small(rng, ${width}, 2, ${scale} / ${width}**0.5)`;
    const all = batch === "all" || Number(batch) >= n;
    const training = all ? `run = flow.train(x, y, network, step=2 * ${rate}, steps=${steps}, records=records)
states = [nets.TwoLayer(W, 0 * v, v) for W, v in zip(run.W, run.v)]`
      : `rng = stats.stream("laboratory", "batches", ${seed}, ${n})
run = minibatch.train(
    x, y, network, rate=${rate}, steps=${steps}, batch=${batch}, rng=rng, records=records
)
states = run.values`;
    return `import matplotlib.pyplot as plt
import numpy as np

from experiments.simplicity_bias import laboratory, two_fits
from shallow import nets, stats
from shallow.data import teachers
from shallow.train import flow, minibatch
from shallow.train.run import log_spaced

rng = stats.stream("two fits", "data", ${seed}, ${n}, 2)
inputs = teachers.with_margin(rng, ${n}, 2, ${margin})
x, y = teachers.labelled(rng, teachers.first_axis(2), inputs, ${noise})
rng = stats.stream("two fits", "network", ${seed}, ${width}, 2)
network = ${network}
records = log_spaced(${steps}, 12)
${training}
target = two_fits.as_network(two_fits.fits(x, y))
train_loss = [((now.forward(x) - y) ** 2).mean() for now in states]
test_loss = [laboratory.test_loss(now, ${margin}, ${noise}) for now in states]
distance = [two_fits.distance(now, target, x) for now in states]
groups = [laboratory.groups(now, x) for now in states]

W, v = states[-1].W, states[-1].v
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.scatter(np.degrees(np.arctan2(W[:, 1], W[:, 0])), abs(v) * np.hypot(*W.T), c=v > 0, cmap="cool")
left.set(xlabel="direction in degrees", ylabel="|a||w|", yscale="log")
right.plot(records, train_loss, label="training")
right.plot(records, test_loss, label="test")
right.set(xlabel="step", xscale="symlog", ylabel="mean squared error", yscale="log")
right.legend()
plt.show()
`;
  }

  ShallowLab.models.simplicity_bias = { compute, python };
})();
