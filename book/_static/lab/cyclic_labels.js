/* The laboratory of the chapter on cyclic labels: a ReLU network with one input learns a square wave.
 *
 * `compute` is the library's computation (shallow.data.cyclic, shallow.nets, shallow.train.prefix_sums) in its order of
 * operations, of + - * / sqrt and comparisons alone, so that every weight keeps its last bit.
 */
globalThis.ShallowLab ??= { models: {} };

(() => {
  "use strict";

  // Uses nothing outside itself but `streams`: workers get it as text.
  function compute(streams) {
    const CLUSTERS = 6, EVERY = 100, EPOCHS = 20000, POINTS = 1000, FAR = 1e200;

    function labels(x) {
      return x.map((value) => {
        const phase = CLUSTERS * value, half = Math.floor(phase);
        return phase === half ? 0 : 1 - 2 * (half - 2 * Math.floor(half / 2));
      });
    }

    // shallow.data.cyclic.from_counts
    function sample(counts, rng) {
      const n = counts.reduce((sum, count) => sum + count), most = Math.max(...counts), order = [];
      const poor = counts.map((count) => count < most - 1);
      counts.forEach((count, c) => { if (poor[c]) for (let k = 0; k < count; k++) order.push(c); });
      for (let k = 0; k < most; k++) counts.forEach((count, c) => { if (!poor[c] && count > k) order.push(c); });
      rng.uniform(-0.5, 0.5, n);
      const x = rng.uniform(0, 1, n).map((r, i) => (order[i] + r) / CLUSTERS - 0.5).sort();
      return x;
    }

    // "3:0.25" puts the fourth point from the left at 0.25; origin are the numbers of the points before the move.
    function placed(x, moved) {
      const places = new Map(moved.split(",").filter(Boolean).map((one) => one.split(":").map(Number)));
      const points = Array.from(x, (value, i) => ({ value: places.get(i) ?? value, i }));
      points.sort((a, b) => a.value - b.value);
      return { x: Float64Array.from(points, ({ value }) => value), origin: Float64Array.from(points, ({ i }) => i) };
    }

    // shallow.nets.default, scaled and antisymmetric; the rates are those of v, w, b
    function network(rng, width, initial) {
      let [w, b, v] = [rng.uniform(-1, 1, width), rng.uniform(-1, 1, width), rng.uniform(-1, 1, width)];
      v = v.map((value) => value / Math.sqrt(width));
      if (initial === "near zero") [w, b, v] = [w, b, v].map((group) => group.map((value) => 0.1 * value));
      if (initial !== "antisymmetric") return { w, b, v, rates: [1, 1, 1] };
      const half = v.map((value) => value / Math.sqrt(2)), twice = (a, c) => Float64Array.of(...a, ...c);
      return { w: twice(w, w), b: twice(b, b), v: twice(half, half.map((value) => -value)), rates: [0.5, 1, 1] };
    }

    // For each row the point at which its neurons are inactive and the one at which they are active: rows 0..n are the
    // suffixes i >= j of the points, rows n + 1..2 n + 1 the prefixes i < j.
    function borders(x) {
      const n = x.length, ends = new Float64Array(4 * (n + 1));
      for (let j = 0; j <= n; j++) {
        const left = j > 0 ? x[j - 1] : -FAR, right = j < n ? x[j] : FAR;
        ends.set([left, right], 2 * j);
        ends.set([right, left], 2 * (n + 1 + j));
      }
      return ends;
    }

    // The row of a neuron by the rounded predicate w x + b > 0, which is monotone in x.
    function row(w, b, x) {
      const suffix = w >= 0;
      let from = 0, to = x.length;
      while (from < to) {
        const middle = (from + to) >> 1;
        if ((w * x[middle] + b > 0) !== suffix) from = middle + 1; else to = middle;
      }
      return suffix ? from : x.length + 1 + from;
    }

    // Values of f at the points from the sums of v w and v b in every row; also the slopes.
    function accumulate(jumps, x, values, slopes) {
      const n = x.length;
      let slope = 0, intercept = 0;
      for (let i = n - 1; i >= 0; i--) {
        slope += jumps[2 * (n + 2 + i)];
        intercept += jumps[2 * (n + 2 + i) + 1];
        slopes[i] = slope;
        values[i] = intercept;
      }
      slope = intercept = 0;
      for (let i = 0; i < n; i++) {
        slope += jumps[2 * i];
        intercept += jumps[2 * i + 1];
        const total = slopes[i] + slope;
        slopes[i] = total;
        values[i] = total * x[i] + (values[i] + intercept);
      }
    }

    // NumPy's sum of values[from..from + count): pairwise, from eight running sums.
    function sum(values, from, count) {
      if (count > 128) {
        const half = (count >> 1) - ((count >> 1) % 8);
        return sum(values, from, half) + sum(values, from + half, count - half);
      }
      const r = values.slice(from, from + 8);
      for (let i = 8; i < count; i++) r[i % 8] += values[from + i];
      return r[0] + r[1] + (r[2] + r[3]) + (r[4] + r[5] + (r[6] + r[7]));
    }

    function start(settings) {
      const counts = Array.from({ length: CLUSTERS }, (_, c) => settings[`c${c + 1}`]);
      const n = counts.reduce((total, count) => total + count);
      const rng = streams.generator([7, n, settings.seed]);
      const { x, origin } = placed(sample(counts, rng), settings.moved ?? ""), y = labels(x);
      const { w, b, v, rates } = network(rng, settings.width, settings.initial);
      const step = settings.loss === "mean" ? settings.step / n : settings.step;
      const [rateV, rateW, rateB] = rates.map((rate) => step * rate), m = w.length;
      const grid = Float64Array.from({ length: POINTS }, (_, i) => (i + 0.5) / POINTS - 0.5), target = labels(grid);
      const ends = borders(x), values = new Float64Array(n), slopes = new Float64Array(n);
      const jumps = new Float64Array(4 * (n + 1)), sums = new Float64Array(4 * (n + 1));
      const gridJumps = new Float64Array(4 * (POINTS + 1)), gridSlopes = new Float64Array(POINTS);
      const f = new Float64Array(POINTS), hinges = new Float64Array(POINTS);
      // Neurons that are active at no point do not move any more and leave the working arrays.
      const wake = [w, b, v].map((group) => group.slice()), awake = Int32Array.from(w, (_, k) => k);
      const at = Int32Array.from(w, (_, k) => 2 * row(w[k], b[k], x));  // twice the row: tables hold pairs
      let alive = m, within = n, failed = false;

      // Outputs and, for every row, the sums of dL/df and x dL/df over its points.
      function forward() {
        accumulate(jumps, x, values, slopes);
        jumps.fill(0);
        let g0 = 0, g1 = 0;
        within = 0;
        for (let i = 0; i < n; i++) {
          if (!(Math.abs(values[i]) < Infinity)) failed = true;
          if (1 - y[i] * values[i] > 0) {
            within++;
            g0 += -y[i];
            g1 += -y[i] * x[i];
          }
          sums[2 * (n + 2 + i)] = g0;
          sums[2 * (n + 2 + i) + 1] = g1;
        }
        for (let i = 0; i <= n; i++) {
          sums[2 * i] = g0 - sums[2 * (n + 1 + i)];
          sums[2 * i + 1] = g1 - sums[2 * (n + 1 + i) + 1];
        }
      }

      // One step of gradient descent, then the new rows and their sums.
      function move() {
        const [w, b, v] = wake, rows = at, table = ends, gradients = sums, pieces = jumps, count = alive;
        for (let k = 0; k < count; k++) {
          let here = rows[k];
          const g0 = gradients[here], g1 = gradients[here + 1], wk = w[k], bk = b[k], vk = v[k];
          const nextV = vk - rateV * (wk * g1 + bk * g0);
          const nextW = wk - rateW * vk * g1, nextB = bk - rateB * vk * g0;
          v[k] = nextV;
          w[k] = nextW;
          b[k] = nextB;
          if (nextW * table[here] + nextB > 0 || !(nextW * table[here + 1] + nextB > 0)) {
            rows[k] = here = 2 * row(nextW, nextB, x);
          }
          pieces[here] += nextV * nextW;
          pieces[here + 1] += nextV * nextB;
        }
      }

      function gather() {
        [w, b, v].forEach((group, g) => { for (let k = 0; k < alive; k++) group[awake[k]] = wake[g][k]; });
        let kept = 0;
        for (let k = 0; k < alive; k++) {
          if (at[k] === 2 * n || at[k] === 2 * (n + 1)) continue;
          for (let g = 0; g < 3; g++) wake[g][kept] = wake[g][k];
          awake[kept] = awake[k];
          at[kept++] = at[k];
        }
        alive = kept;
      }

      // f on the grid by all neurons; the place of a kink is guessed, then settled by the predicate itself.
      function predict() {
        gridJumps.fill(0);
        for (let k = 0; k < m; k++) {
          const suffix = w[k] >= 0, guess = Math.ceil((0.5 - b[k] / w[k]) * POINTS - 0.5);
          const active = (i) => (w[k] * grid[i] + b[k] > 0) === suffix;
          let j = guess > 0 ? Math.min(guess, POINTS) : 0;
          while (j < POINTS && !active(j)) j++;
          while (j > 0 && active(j - 1)) j--;
          const place = 2 * (suffix ? j : POINTS + 1 + j);
          gridJumps[place] += v[k] * w[k];
          gridJumps[place + 1] += v[k] * b[k];
        }
        accumulate(gridJumps, grid, f, gridSlopes);
      }

      const run = { epoch: 0, last: EPOCHS, done: false, diverged: null, values: null };
      function record() {
        gather();
        predict();
        let loss = 0;
        for (let i = 0; i < n; i++) loss += Math.max(1 - y[i] * values[i], 0);
        for (let i = 0; i < POINTS; i++) hinges[i] = Math.max(0, 1 - target[i] * f[i]);
        run.values = { train: loss / n, test: sum(hinges, 0, POINTS) / POINTS };
      }

      // Train to the next record, or to the first epoch with an output that is not finite.
      run.advance = () => {
        const until = run.epoch + EVERY;
        if (within === 0) run.epoch = until;  // zero loss: nothing moves any more
        while (run.epoch < until) {
          move();
          forward();
          run.epoch++;
          if (failed) return Object.assign(run, { done: true, diverged: run.epoch });
        }
        record();
        run.done = run.epoch === EPOCHS;
        return run;
      };
      run.snapshot = () => ({ x: x.slice(), y: y.slice(), origin: origin.slice(), f: f.slice(), outputs: values.slice() });
      run.weights = () => [w, b, v];
      for (let k = 0; k < m; k++) {
        jumps[at[k]] += v[k] * w[k];
        jumps[at[k] + 1] += v[k] * b[k];
      }
      forward();
      record();
      return run;
    }
    return { start };
  }

  ShallowLab.models.cyclic_labels = { compute };
})();
