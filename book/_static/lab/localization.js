/* The laboratory of the chapter on localised receptive fields: erf neurons on a ring of 40 pixels tell two processes
 * apart.
 *
 * `compute` is the library's computation (shallow.train.online, experiments.localization.laboratory) in float64, on the
 * library's samples; with a trained constant that of shallow.train.whole_committee.  Sums are in another order: it agrees to some 1e-14 before rounding errors grow in training.
 */
globalThis.ShallowLab ??= { models: {} };

(() => {
  "use strict";

  // Uses nothing outside itself but what it is given: workers get it as text.
  function compute(streams, algebra, vectors) {
    const N = 40, BLOCK = 10000 / N, CUT = 1e-10, DEAD_ZONE = 1e-3, LEVEL = 0.5, DECADE = 12;
    const { zeros, product, transposed } = algebra, { erf, erfi, normals, GROUP } = vectors;
    const cosines = Float64Array.from({ length: N }, (_, k) => Math.cos(2 * Math.PI * k / N));
    const sines = Float64Array.from({ length: N }, (_, k) => Math.sin(2 * Math.PI * k / N));

    // Steps 0, 1, ..., last in equal ratios, as shallow.train.run.log_spaced.
    function records(last) {
      const decades = Math.log10(last), count = Math.ceil(decades * DECADE);
      const all = Array.from({ length: count + 1 }, (_, k) => Math.round(10 ** (decades * k / count)));
      return [...new Set([0, ...all])];
    }

    // ------------------------------------------------------------------------------------------------------ the data

    // First row of the covariance of a process, or of its latent process.
    const latent = (length) =>
      Float64Array.from({ length: N }, (_, d) => Math.exp(-((Math.min(d, N - d) / length) ** 2)));
    function covariance(length, gain) {
      const a = 1 / (1 + 0.5 / gain ** 2);
      return latent(length).map((value) => Math.asin(a * value) / Math.asin(a));
    }
    // Waves (rank, N) whose sum with normal numbers has the covariance: cosines by frequency, then sines.
    function root(row) {
      const values = cosines.map((_, k) => row.reduce((sum, value, d) => sum + value * cosines[(k * d) % N], 0));
      const most = Math.max(...values), kept = [...Array(N / 2 + 1).keys()].filter((k) => values[k] > CUT * most);
      const single = (k) => k === 0 || 2 * k === N;
      const wave = (of) => (k) => Array.from({ length: N }, (_, i) =>
        Math.sqrt((single(k) ? 1 : 2) * values[k] / N) * of[(k * i) % N]);
      return [...kept.map(wave(cosines)), ...kept.filter((k) => !single(k)).map(wave(sines))];
    }
    // A class: its waves by pixel, (N, rank), and what becomes of every pixel.
    function process(length, tails, gain) {
      const waves = root(tails === "Gaussian" ? covariance(length, gain) : latent(length)), rank = waves.length;
      const a = 2 * gain * gain / (1 + 2 * gain * gain), size = Math.sqrt(1 / (2 / Math.PI * Math.asin(a)));
      const scaled = (x, factor) => { for (let k = 0; k < x.length; k++) x[k] *= factor; };
      const bend = {
        light: (x) => { scaled(x, Math.SQRT2 * gain); scaled(erf(x), size); },
        heavy: (x) => { scaled(x, 1 / Math.sqrt(4 + 1 / gain ** 2)); scaled(erfi(x), size); },
        Gaussian: () => {},
      }[tails];
      return { rank, bend, pixels: transposed(Float64Array.from(waves.flat()), rank, N) };
    }

    // -------------------------------------------------------------------------------------------------- what is seen

    // Inverse participation ratio, mean frequency, centre on the ring and norm of field j.
    function shape(W, j) {
      let square = 0, fourth = 0, u = 0, v = 0, energy = 0, moment = 0;
      for (let i = 0; i < N; i++) {
        const mass = W[j * N + i] ** 2;
        square += mass;
        fourth += mass * mass;
        u += mass * cosines[i];
        v += mass * sines[i];
      }
      for (let k = 0; k <= N / 2; k++) {
        let real = 0, imaginary = 0;
        for (let i = 0; i < N; i++) {
          real += W[j * N + i] * cosines[(k * i) % N];
          imaginary += W[j * N + i] * sines[(k * i) % N];
        }
        const power = real * real + imaginary * imaginary;
        energy += power;
        moment += k * power;
      }
      const centre = (Math.atan2(v, u) / (2 * Math.PI) * N + N) % N;
      return { ipr: fourth / (square * square), frequency: moment / energy, centre, norm: Math.sqrt(square) };
    }
    const population = (bias) => (Math.abs(bias) > DEAD_ZONE ? Math.sign(bias) : 0);
    function median(values) {
      const sorted = values.slice().sort((p, q) => p - q), half = sorted.length >> 1;
      return sorted.length ? (sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2) : null;
    }
    function measured(W, b, c, loss) {
      const found = { loss, c };
      for (const [name, sign] of [["minus", -1], ["plus", 1]]) {
        const shapes = [...b.keys()].filter((j) => population(b[j]) === sign).map((j) => shape(W, j));
        found[name] = shapes.length;
        found[`ipr_${name}`] = median(shapes.map(({ ipr }) => ipr));
        found[`frequency_${name}`] = median(shapes.map(({ frequency }) => frequency));
      }
      return found;
    }

    // ------------------------------------------------------------------------------------------------------ training

    function start(settings) {
      const { width: K, positive, seed, rate, biases, gain } = settings, rows = Number(settings.batch), size = rows / 2;
      const deviation = Math.sqrt(2 / (N + K)), steps = records(settings.steps), share = 1 / K / rows;
      const W = streams.named("localization", "start", seed).normal(K * N).map((value) => deviation * value);
      const sign = Float64Array.from({ length: K }, (_, k) => (k < positive * K ? 1 : -1));
      const b = biases === "from ±1/2" ? sign.map((value) => LEVEL * value) : zeros(K);
      const held = biases === "held to signs";
      const { slow, slow_tails: first, fast, fast_tails: second } = settings;
      const classes = [process(slow, first, gain), process(fast, second, gain)];
      const trained = settings.constant === "trained";
      let c = Number(settings.constant) || 0;
      const fill = normals(streams.named("localization", "batches", seed));
      const white = zeros(BLOCK * N + GROUP), mixed = classes.map(({ rank }) => zeros(size * rank));
      const x = zeros(rows * N), halves = [x.subarray(0, size * N), x.subarray(size * N)], columns = zeros(N * rows);
      const pull = zeros(K * rows), slope = zeros(K * rows), output = zeros(rows), gradient = zeros(K * N);

      // A batch, class by class, in the blocks in which the library draws it.
      function draw() {
        classes.forEach(({ rank, bend, pixels }, c) => {
          for (let from = 0; from < size; from += BLOCK) {
            const count = Math.min(BLOCK, size - from);
            fill(white, count * rank);
            for (let m = 0, k = 0; m < rank; m++) {
              for (let i = 0; i < count; i++, k++) mixed[c][(from + i) * rank + m] = white[k];
            }
          }
          bend(product(mixed[c], pixels, size, N, rank, halves[c]));
        });
      }
      // One step; gives the loss of the batch before it.
      function move() {
        draw();
        product(W, x, K, rows, N, pull);
        for (let k = 0, at = 0; k < K; k++) for (let i = 0; i < rows; i++, at++) pull[at] += b[k];
        erf(pull, slope);
        output.fill(0);
        for (let k = 0, at = 0; k < K; k++) for (let i = 0; i < rows; i++, at++) output[i] += pull[at];
        let loss = 0, sum = 0;
        for (let i = 0; i < rows; i++) {
          const error = c + output[i] / K - (i < size ? 1 : -1);
          loss += 0.5 * error * error;
          sum += error;
          output[i] = share * error;
        }
        if (trained) c -= rate * share * sum;
        for (let k = 0, at = 0; k < K; k++) {
          sum = 0;
          for (let i = 0; i < rows; i++, at++) sum += (slope[at] *= output[i]);
          const bias = b[k] - rate * sum;
          b[k] = held ? sign[k] * Math.max(sign[k] * bias, 0) : bias;
        }
        product(slope, transposed(x, rows, N, columns), K, N, rows, gradient);
        for (let k = 0; k < K * N; k++) W[k] -= rate * gradient[k];
        run.epoch++;
        return loss / rows;
      }

      const shown = (loss) => measured(W, b, trained ? c : null, loss);
      const run = { epoch: 0, last: settings.steps, done: false, diverged: null, values: shown(null) };
      let since = 0, sum = 0, spent = 0;
      run.advance = () => {
        const began = performance.now();
        sum += move();
        if (!W.every(Number.isFinite)) return Object.assign(run, { done: true, diverged: run.epoch });
        if (steps.includes(run.epoch)) {
          run.values = shown(sum / (run.epoch - since));
          since = run.epoch;
          sum = 0;
        }
        spent += performance.now() - began;
        run.done = run.epoch === run.last;
        return run;
      };
      run.snapshot = () => ({ W: W.slice(), b: b.slice(), pace: Float64Array.of(1000 * run.epoch / spent) });
      run.weights = () => [W, b];
      return run;
    }
    return { start, records, shape, population, N };
  }

  function python(settings) {
    const { gain, width, biases, positive, constant, seed, rate, steps, batch } = settings;
    const held = biases === "held to signs", begun = biases === "from ±1/2", signed = held || begun;
    const trained = constant === "trained", offset = Number(constant) || 0;
    const batches = `stream("localization", "batches", ${seed})`;
    const noise = (name) => `laboratory.noise("${settings[`${name}_tails`]}", ${gain}, ${settings[name]})`;
    return `import dataclasses

import matplotlib.pyplot as plt
import numpy as np

from experiments.localization import laboratory, networks
from shallow.stats import stream
from shallow.train import online
from shallow.train.run import log_spaced

pair = ${noise("slow")}, ${noise("fast")}  # tails, gain, length
network = networks.starts([${seed}], ${width}, dtype=np.float64)
${signed ? `up = np.arange(${width}) < ${positive} * ${width}\n` : ""}${
  begun ? "network = dataclasses.replace(network, b=np.where(up, 0.5, -0.5)[None])\n" : ""}${
  held ? `bounds = np.where(up, 0, -np.inf)${trained ? "[0]" : ""}, np.where(up, np.inf, 0)${trained ? "[0]" : ""}\n` : ""
}run = ${trained ? "laboratory.train_with_constant" : "online.train"}(
    network, pair, ${trained ? `rng=${batches}` : `rngs=[${batches}]`}, rate=${rate}, steps=${steps}, batch=${batch},
    ${offset ? `offset=${offset}, ` : ""}${held ? "bounds=bounds, " : ""}records=log_spaced(${steps}, 12),
)
W, b = run.last.W[0], run.last.b[0]
${trained ? "c = run.c[-1]\n" : ""}values = laboratory.measured(run)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.imshow(W[np.argsort(b)], aspect="auto", cmap="PuOr")
left.set(xlabel="place", ylabel="neuron, by its bias")
right.plot(run.steps, values["ipr_minus"], label="negative bias")
right.plot(run.steps, values["ipr_plus"], label="positive bias")
right.set(xlabel="step", xscale="symlog", ylabel="median inverse participation ratio")
right.legend()
plt.show()
`;
  }

  ShallowLab.models.localization = { compute, python };
})();
