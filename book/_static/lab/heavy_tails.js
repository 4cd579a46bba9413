/* The laboratory of the chapter on heavy tails: the first layer of a student learns from a teacher of one direction.
 *
 * `compute` is the library's computation (shallow.train.first_layer, experiments.heavy_tails.laboratory) in float64, to
 * some 1e-13 of each number before rounding errors grow in training.
 */
globalThis.ShallowLab ??= { models: {} };

(() => {
  "use strict";
  const D = 200, N = 800;

  // Uses nothing outside itself but `streams` and `algebra`: workers get it as text.
  function compute(streams, algebra) {
    const D = 200, N = 800, VALIDATION = 400, TEST = 1600, NOISE = 0.3, DECAY = [0.9, 0.999], TINY = 1e-8;
    const PENALTIES = Array.from({ length: 41 }, (_, k) => 10 ** (k / 4 - 6));
    const softplus = (z) => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));
    const { zeros, dot, combined, transposed, product, gram, shifted, eigenvalues, first: leading,
      withoutLead } = algebra;

    // Teacher, samples and student of a seed, kept until another is asked for.
    let kept = { key: null };
    function draw({ seed, width, optimiser }) {
      const key = `${seed} ${width} ${optimiser === "none"}`;
      if (kept.key === key) return kept;
      const own = streams.named("heavy tails", seed, "student"), W = own.normal(width * D), a = own.normal(width);
      kept = { key, W, a };
      if (optimiser === "none") return kept;
      const beta = streams.named("heavy tails", seed, "teacher").normal(D), length = Math.sqrt(dot(beta, beta));
      beta.forEach((value, k) => { beta[k] = value / length; });
      const sample = (name, count) => {
        const [inputs, errors] = ["inputs", "errors"].map((what) =>
          streams.named("single_index", `heavy tails/${seed}`, name, what));
        const x = inputs.normal(count * D), y = errors.normal(count);
        return { x, y: y.map((error, i) => softplus(dot(x, beta, i * D)) + NOISE * error), count };
      };
      Object.assign(kept, { beta, train: sample("train", N), probe: sample("probe", N), test: sample("test", TEST) });
      return kept;
    }

    // PL_Alpha_Hill of descending values: 1 + m / sum log(value / median) over the m values from the median up.
    function hill(values) {
      const m = values.length - (values.length >> 1), cut = Math.log(values[m - 1]);
      let sum = 0;
      for (let k = 0; k < m; k++) sum += Math.log(values[k]) - cut;
      return 1 + m / sum;
    }

    function start(settings) {
      const { optimiser, rate, labels, student, update, features, cut, width: h } = settings;
      const drawn = draw(settings), { a, beta, train, probe, test } = drawn, W = drawn.W.slice();
      const none = optimiser === "none", adam = optimiser === "Adam", corrected = update === "code";
      const scale = 1 / Math.sqrt(D), out = a.map((value) => value / Math.sqrt(h));
      const rows = out.map((value) => -2 * (update === "code" ? 1 : 0.5) * scale / N * value);
      const y = none || labels === "true" ? train?.y
        : streams.named("heavy tails", settings.seed, "labels", "permuted").permutation(train.y);
      const columns = none ? null : transposed(train.x, N, D), hidden = zeros(none ? 0 : h * N);
      const gradient = zeros(h * D), first = zeros(adam ? h * D : 0), second = zeros(adam ? h * D : 0);
      const run = { epoch: 0, last: none ? 0 : settings.steps, done: false, diverged: null, values: null };
      let spectrum = null, initial = null;

      // The student's activation at s W x for all points of a sample, (h, n).
      function activated({ x, count }, factor, into) {
        const found = product(W, x, h, count, D, into);
        if (student === "tanh") for (let k = 0; k < found.length; k++) found[k] = Math.tanh(factor * found[k]);
        else for (let k = 0; k < found.length; k++) found[k] = softplus(factor * found[k]);
        return found;
      }

      function move() {
        activated(train, scale, hidden);
        const residual = combined(hidden, out, N);
        for (let i = 0; i < N; i++) residual[i] -= y[i];
        for (let j = 0, k = 0; j < h; j++) {
          for (let i = 0; i < N; i++, k++) {  // minus the slope of the activation, times the residual
            const value = hidden[k];
            hidden[k] = (student === "tanh" ? value * value - 1 : Math.expm1(-value)) * residual[i];
          }
        }
        product(hidden, columns, h, D, N, gradient);
        for (let j = 0, k = 0; j < h; j++) for (let i = 0; i < D; i++, k++) gradient[k] *= rows[j];
        if (cut === "gradient") withoutLead(gradient, h, D);
        const t = run.epoch + 1, [one, two] = DECAY;
        const root = corrected ? Math.sqrt(1 - two ** t) : 1, factor = root / (corrected ? 1 - one ** t : 1);
        for (let k = 0; adam && k < gradient.length; k++) {
          const now = gradient[k];
          first[k] += (1 - one) * (now - first[k]);
          second[k] = two * second[k] + (1 - two) * now * now;
          gradient[k] = first[k] / (Math.sqrt(second[k]) + root * TINY) * factor;
        }
        if (cut === "update") withoutLead(gradient, h, D);
        for (let k = 0; k < W.length; k++) W[k] -= rate * gradient[k];
        run.epoch = t;
      }

      // The ridge read-out of eq. 6, fitted to the probe sample, with the constant that is best on the first of the
      // test points: its mean square on the probe sample and on the other test points.
      function losses() {
        const factor = features === "code" ? scale * scale : scale, norm = 1 / Math.sqrt(h);
        const Z = activated(probe, factor).map((value) => norm * value), unseen = activated(test, factor);
        const weights = shifted(gram(Z, h, N), h, Float64Array.from({ length: h }, (_, j) => dot(Z, probe.y, j * N)));
        const error = (fitted, wanted, factor, from, to) => {
          let sum = 0;
          for (let i = from; i < to; i++) sum += (factor * fitted[i] - wanted[i]) ** 2;
          return sum / (to - from);
        };
        let best = { validation: Infinity };
        for (const penalty of PENALTIES) {
          const readout = weights(penalty / h * N), fitted = combined(unseen, readout, TEST);
          const validation = error(fitted, test.y, norm, 0, VALIDATION);
          if (!(validation >= best.validation)) best = { validation, penalty, readout, fitted };
        }
        return { train: error(combined(Z, best.readout, N), probe.y, 1, 0, N), penalty: best.penalty,
          test: error(best.fitted, test.y, norm, VALIDATION, TEST) };
      }

      // The columns of W, each with its entries in random order, as rows: the same orders at every record.
      function mixed(columns) {
        const random = streams.named("heavy tails", settings.seed, "within columns");
        for (let k = 0; k < D; k++) columns.set(random.permutation(columns.slice(k * h, (k + 1) * h)), k * h);
        return columns;
      }

      function record() {
        const turned = transposed(W, h, D), G = gram(turned, D, h);
        spectrum = eigenvalues(G.slice(), D);
        initial ??= spectrum.slice();
        const exponents = { exponent: hill(spectrum), null: hill(eigenvalues(gram(mixed(turned), D, h), D)) };
        run.values = { ...exponents, largest: spectrum[0], second: spectrum[1],
          train: null, test: null, penalty: null, similarity: null };
        if (none) return;
        const similarity = Math.abs(dot(leading(G, D, spectrum[0], beta), beta));
        Object.assign(run.values, losses(), { similarity });
      }

      run.advance = () => {
        move();
        if (!W.every(Number.isFinite)) return Object.assign(run, { done: true, diverged: run.epoch });
        record();
        run.done = run.epoch === run.last;
        return run;
      };
      run.snapshot = () => ({ spectrum: spectrum.slice(), initial: initial.slice() });
      run.weights = () => [W];
      record();
      run.done = run.last === 0;
      return run;
    }
    return { start };
  }

  const untrained = ({ optimiser }) => optimiser === "none";

  // ------------------------------------------------------------------------------------------------------- the laws

  // Marchenko-Pastur law of h x d entries of variance one, in units of max(h, d): its median and PL_Alpha_Hill.
  const known = {};
  function noise(h, d = D) {
    const q = Math.min(h, d) / Math.max(h, d), r = Math.sqrt(q), parts = 4000;
    if (known[q]) return known[q];
    const place = (angle) => 1 + q + 2 * r * Math.cos(angle);
    const above = (angle) => (q * angle - r * Math.sin(angle)
      + (1 - q) * Math.atan2(r * Math.sin(angle), 1 + r * Math.cos(angle))) / (Math.PI * q);
    let low = 0, high = Math.PI;
    for (let k = 0; k < 60; k++) {
      const middle = (low + high) / 2;
      if (above(middle) < 0.5) low = middle; else high = middle;
    }
    const median = place(low);
    let sum = 0;  // Simpson's rule for the mean of log(x / median) above the median
    for (let k = 0; k <= parts; k++) {
      const x = place(low * k / parts), weight = k % parts ? 2 + 2 * (k % 2) : 1;
      sum += weight * Math.log(x / median) * 2 * Math.sin(low * k / parts) ** 2 / (Math.PI * x);
    }
    return (known[q] = { median, exponent: 1 + 0.5 / (sum * low / parts / 3) });
  }

  // Density of that law, in the same units.
  function density(x, h, d = D) {
    const q = Math.min(h, d) / Math.max(h, d), square = 4 * q - (x - 1 - q) ** 2;
    return square > 0 ? Math.sqrt(square) / (2 * Math.PI * q * x) : 0;
  }

  // Gaussian moments: mean and variance of tanh', E tanh^2, E z softplus, E y^2.
  const SLOPE = 0.6057055096021625, SPREAD = 0.09752373808582326, TANH = 0.3942944903978436, LINK = 0.5,
    LABEL = 1.0112459088592904;

  // Largest eigenvalue after the first step by experiments.heavy_tails.gradient_laws; null inside the bulk and where
  // there is no law.
  function predicted({ optimiser, update, rate, labels, student, cut, width: h, steps }) {
    if (optimiser === "none" || student !== "tanh" || cut !== "nothing" || steps === 0) return null;
    const points = D / N, own = SLOPE ** 2 * (SLOPE ** 2 + points * TANH);
    const shared = SLOPE ** 2 * ((labels === "true" ? LINK ** 2 : 0) + points * LABEL) + own;
    const rho = shared / (shared + SPREAD * points * (LABEL + TANH)), signs = Math.sqrt(2 / Math.PI * Math.asin(rho));
    const adam = optimiser === "Adam", text = update === "text", tilt = adam ? Math.sqrt(2 / Math.PI) : 1;
    const along = Math.sqrt(D * SLOPE ** 4 / shared) * (adam ? Math.sqrt(2 / Math.PI * rho) / signs : 1);
    const size = adam ? signs * Math.sqrt(h * D) * (text ? Math.sqrt(10) : 1) : (text ? 1 : 2) * Math.sqrt(shared / D);
    const theta = rate * size, root = Math.sqrt(theta ** 2 / 4 - tilt * along * theta + along ** 2);
    const square = theta ** 2 / 2 - tilt * along * theta + theta * root;
    return square > Math.sqrt(h * D) ? (square + h) * (square + D) / square : null;
  }

  function python(settings) {
    const { optimiser, rate, steps, labels, student, update, features, cut, width, seed } = settings;
    const within = `stats.stream("heavy tails", ${seed}, "within columns")`;
    const plain = `nets.ntk(stats.stream("heavy tails", ${seed}, "student"), ${width}, ${D})`;
    if (untrained(settings)) {
      return `import matplotlib.pyplot as plt
import numpy as np

from shallow import nets, stats
from shallow.spectra import esd, nulls, tails

student = ${plain}
spectra = [esd.eigenvalues(student.W)]
exponents = [tails.hill(spectra[0])]
mixed = nulls.permuted_within_columns(student.W, ${within})
null_exponents = [tails.hill(esd.eigenvalues(mixed))]

figure, axes = plt.subplots(layout="constrained")
axes.hist(np.log10(spectra[0]), bins=40)
axes.set(xlabel="log10 of an eigenvalue", ylabel="number", title=f"exponent {exponents[0]:.2f}")
plt.show()
`;
    }
    const soft = student === "softplus", adam = optimiser === "Adam", code = update === "code";
    const rule = adam ? `Adam(${code ? "" : "corrected=False"})` : "GD()";
    return `import matplotlib.pyplot as plt
import numpy as np
import torch

from experiments.heavy_tails import laboratory, read_out
from shallow import nets, stats
from shallow.data import single_index
from shallow.spectra import esd, nulls, tails
from shallow.train import first_layer

teacher = single_index.random_teacher(stats.stream("heavy tails", ${seed}, "teacher"), ${D})
samples = single_index.split(teacher, 800, seed="heavy tails/${seed}", test=1600, dtype=np.float64)
x, y = samples.train
${labels === "true" ? "" : `y = stats.stream("heavy tails", ${seed}, "labels", "permuted").permutation(y)
`}student = ${plain}
${soft ? `student = nets.SoftplusStudent(student.W, student.a, student.scale)
` : ""}trainer = first_layer.${soft ? "Softplus" : ""}Trainer(
    x, y, student, first_layer.${rule}, factor=${code ? "1.0" : "0.5"}, dtype=torch.float64
)
spectra, exponents, null_exponents, ridge, train_loss, test_loss, alignment = [], [], [], [], [], [], []
for step in range(${steps + 1}):
    now = trainer.student
    spectra.append(esd.eigenvalues(now.W))
    exponents.append(tails.hill(spectra[-1]))
    mixed = nulls.permuted_within_columns(now.W, ${within})
    null_exponents.append(tails.hill(esd.eigenvalues(mixed)))
    tuned = laboratory.tuned(now, samples, scale=now.scale${features === "code" ? "**2" : ""})
    ridge.append(tuned["penalty"])
    train_loss.append(tuned["train"])
    test_loss.append(tuned["test"])
    alignment.append(read_out.similarity(now.W, teacher.directions))
    if step < ${steps}:
        ${cut === "nothing" ? `trainer.step(${rate})` : `laboratory.step(trainer, ${rate}, cut="${cut}")`}

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.hist(np.log10(spectra[0]), bins=40, histtype="step", label="at the start")
left.hist(np.log10(spectra[-1]), bins=40, alpha=0.5, label="at the end")
left.set(xlabel="log10 of an eigenvalue", ylabel="number")
left.legend()
right.plot(exponents, label="exponent")
right.plot(null_exponents, label="permuted within columns")
right.set(xlabel="step", ylabel="exponent of the tail")
right.legend()
plt.show()
`;
  }

  ShallowLab.models.heavy_tails = { compute, noise, density, predicted, python, untrained };
})();
