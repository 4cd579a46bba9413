/* Multilayer perceptrons with ReLU in training, in float64: shallow.train.ensemble with shallow.train.backpropagation.
 *
 * Sums are taken in another order than there, so that numbers agree to rounding errors and what training makes of them.
 * `perceptrons` uses nothing outside itself and is given `algebra` when it is used: workers get it as text.
 */
globalThis.ShallowLab ??= { models: {} };

ShallowLab.perceptrons = () => function perceptrons(algebra) {
  "use strict";
  const { zeros, product, transposed } = algebra, BATCH = 32, ROWS = 64;
  const sum = (values) => values.reduce((all, value) => all + value, 0);
  const upTo = (count) => Array.from({ length: count }, (_, k) => k);

  // A B^T for A (m, k) and B (n, k), in blocks of 4 x 4 or 4 x 1; m is a multiple of four.
  function times(A, B, m, n, k, out) {
    if (n % 4 === 0) return product(A, B, m, n, k, out);
    for (let i = 0; i < m; i += 4) {
      for (let j = 0, a = i * k, b = a + k, c = b + k, d = c + k; j < n; j++) {
        let w = 0, x = 0, y = 0, z = 0;
        for (let t = 0; t < k; t++) {
          const p = B[j * k + t];
          w += A[a + t] * p; x += A[b + t] * p; y += A[c + t] * p; z += A[d + t] * p;
        }
        const o = i * n + j;
        out[o] = w; out[o + n] = x; out[o + 2 * n] = y; out[o + 3 * n] = z;
      }
    }
    return out;
  }
  // Biases and ReLU, the latter's slope, and sums over a batch, without branches, which no processor could foresee.
  function shifted(out, b, rows, m) {
    for (let i = 0, k = 0; i < rows; i++) for (let j = 0; j < m; j++, k++) out[k] += b[j];
  }
  function rectified(out, count) {
    for (let k = 0; k < count; k++) out[k] = 0.5 * (out[k] + Math.abs(out[k]));
  }
  function masked(delta, below, count) {
    for (let k = 0; k < count; k++) delta[k] *= Math.ceil(below[k] / (below[k] + 1));  // 1 where active, else 0
  }
  function summed(values, weights, rows, m, out) {
    out.fill(0);
    for (let i = 0, k = 0; i < rows; i++) for (let j = 0; j < m; j++, k++) out[j] += weights[i] * values[k];
  }
  // Loss of an output and its slope over `size`: |f - y|, or cross-entropy of the logit or of the probability.
  const LOSSES = {
    absolute: (f, y, size) => [Math.abs(f - y), Math.sign(f - y) / size],
    logit: (f, y, size) => [Math.max(f, 0) - y * f + Math.log1p(Math.exp(-Math.abs(f))),
      (1 / (1 + Math.exp(-f)) - y) / size],
    probability: (f, y, size) => {
      const p = 1 / (1 + Math.exp(-f)), hit = Math.max(Math.log(p), -100), miss = Math.max(Math.log(1 - p), -100);
      return [-(y * hit + (1 - y) * miss), (p - y) / size * Math.min(1, p * (1 - p) / 1e-12)];
    },
  };
  // Steps of torch.optim with its usual constants, for the parameters from `from` on.
  function adam(p, g, first, second, from, rate, age) {
    const step = rate / (1 - 0.9 ** age), correction = (1 - 0.999 ** age) ** -0.5;
    for (let j = from; j < p.length; j++) {
      first[j] += (1 - 0.9) * (g[j] - first[j]);
      second[j] += (1 - 0.999) * (g[j] * g[j] - second[j]);
      p[j] -= step * first[j] / (Math.sqrt(second[j]) * correction + 1e-8);
    }
  }
  function adadelta(p, g, moved, square, from, rate) {
    for (let j = from; j < p.length; j++) {
      square[j] += (1 - 0.9) * (g[j] * g[j] - square[j]);
      const change = Math.sqrt((moved[j] + 1e-6) / (square[j] + 1e-6)) * g[j];
      moved[j] += (1 - 0.9) * (change * change - moved[j]);
      p[j] -= rate * change;
    }
  }

  // shallow.mlp.default: PyTorch's draw, layer by layer, as one array.
  function drawn(rng, widths) {
    const parts = widths.slice(1).flatMap((m, l) => [widths[l] * m, m].map((size) =>
      rng.uniform(-(widths[l] ** -0.5), widths[l] ** -0.5, size)));
    const theta = zeros(sum(parts.map((part) => part.length)));
    parts.reduce((at, part) => { theta.set(part, at); return at + part.length; }, 0);
    return theta;
  }
  // The second half of the first layer, weights and biases, becomes minus its first half.
  function halfAntisymmetric(theta, [n, m]) {
    for (const [from, half] of [[0, n * m / 2], [n * m, m / 2]]) {
      for (let k = from; k < from + half; k++) theta[k + half] = -theta[k];
    }
    return theta;
  }

  // A network in training: `step()` takes a batch, `epoch` counts those that are complete, `loss` is of the last.
  function trainer(widths, theta, { x, y, count }, rng, { compare, move, rate, warmup }) {
    const depth = widths.length - 1, gradient = zeros(theta.length), moments = [0, 1].map(() => zeros(theta.length));
    const hidden = widths.map((width) => zeros(ROWS * width)), delta = widths.map((width) => zeros(BATCH * width));
    const widest = Math.max(...widths), room = [0, 1, 2].map(() => zeros(widest * Math.max(BATCH, widest)));
    const ones = zeros(BATCH).fill(1), all = upTo(count), inputs = widths[0], layers = [];
    for (let l = 0, at = 0; l < depth; l++) {
      const [n, m] = [widths[l], widths[l + 1]], middle = at + n * m, end = middle + m;
      const views = (array) => [array.subarray(at, middle), array.subarray(middle, end)];
      layers.push({ n, m, end, own: views(theta), slopes: views(gradient) });
      at = end;
    }
    let order = null, done = 0, total = 0, age = 0;
    const net = { theta, widths, epoch: 0, loss: null };

    function forward(rows) {
      layers.forEach(({ n, m, own: [W, b] }, l) => {
        shifted(times(hidden[l], W, rows, m, n, hidden[l + 1]), b, rows, m);
        if (l < depth - 1) rectified(hidden[l + 1], rows * m);
      });
      return hidden[depth];
    }
    net.outputs = (points, number) => {
      const found = zeros(number);
      for (let from = 0; from < number; from += ROWS) {
        const size = Math.min(ROWS, number - from);
        hidden[0].set(points.subarray(from * inputs, (from + size) * inputs));
        found.set(forward(4 * Math.ceil(size / 4)).subarray(0, size), from);
      }
      return found;
    };
    net.step = () => {
      order ??= rng.permutation(all);
      const size = Math.min(BATCH, count - done), rows = 4 * Math.ceil(size / 4), lowest = net.epoch < warmup ? 0 : 1;
      for (let i = 0; i < size; i++) {
        const k = order[done + i];
        for (let j = 0; j < inputs; j++) hidden[0][i * inputs + j] = x[k * inputs + j];
      }
      const outputs = forward(rows), slopes = delta[depth].fill(0);
      for (let i = 0; i < size; i++) {
        const [loss, slope] = compare(outputs[i], y[order[done + i]], size);
        total += loss;
        slopes[i] = slope;
      }
      for (let l = depth - 1; l >= lowest; l--) {
        const { n, m, own: [W], slopes: [byWeights, byBiases] } = layers[l], pull = delta[l + 1], below = hidden[l];
        if (m === 1) summed(below, pull, size, n, byWeights);
        else times(transposed(pull, rows, m, room[0]), transposed(below, rows, n, room[1]), m, n, rows, byWeights);
        summed(pull, ones, size, m, byBiases);
        if (l === lowest) break;
        const carried = times(pull, transposed(W, m, n, room[2]), rows, n, m, delta[l]);
        masked(carried, below, rows * n);
      }
      move(theta, gradient, ...moments, lowest ? layers[lowest - 1].end : 0, rate, ++age);
      done += size;
      if (done === count) {
        Object.assign(net, { epoch: net.epoch + 1, loss: total / count });
        [order, done, total] = [null, 0, 0];
      }
    };
    return net;
  }

  return { drawn, halfAntisymmetric, trainer, LOSSES, adam, adadelta, BATCH };
};
