/* ReLU neurons of two inputs without biases: on which points they are active, what pulls them, least squares.
 *
 * A sample is { n, z, side, labels }: rays z (2n numbers) with z_1 > 0 in order of angle, and the points side * z with
 * side = +-1.  `plane` uses nothing outside itself: workers get it as text.
 */
globalThis.ShallowLab ??= { models: {} };

ShallowLab.plane = function plane() {
  "use strict";

  // Least squares over the points of `keep` by Gram-Schmidt; one point alone has the fit of smallest norm.
  function fit(x, y, keep) {
    const over = (term) => keep.reduce((sum, k) => sum + term(x[2 * k], x[2 * k + 1], y[k]), 0);
    const one = over((u) => u * u), left = over((u, v, label) => u * label);
    if (keep.length < 2) {
      const size = over((u, v) => u * u + v * v) || 1;
      return [left / size, over((u, v, label) => v * label) / size];
    }
    const slope = over((u, v) => u * v) / one;  // the second input without its part along the first
    const two = over((u, v) => (v - slope * u) ** 2), right = over((u, v, label) => (v - slope * u) * label) / two;
    return [left / one - slope * right, right];
  }

  // A neuron is positive on the rays k >= row, or where the row is above n on those with k < row - n - 1.
  const positive = (z, w0, w1, k) => w0 * z[2 * k] + w1 * z[2 * k + 1] > 0;
  function row(z, w0, w1) {
    const n = z.length / 2, suffix = w1 >= 0;
    let from = 0, to = n;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (positive(z, w0, w1, middle) !== suffix) from = middle + 1; else to = middle;
    }
    return suffix ? from : n + 1 + from;
  }
  // Whether a neuron that had this row still has it.
  function stays(z, w0, w1, row) {
    const n = z.length / 2, suffix = row <= n, k = suffix ? row : row - n - 1;
    return suffix === (w1 >= 0) && (k === n || positive(z, w0, w1, k) === suffix)
      && (k === 0 || positive(z, w0, w1, k - 1) !== suffix);
  }
  // For every row the sum of r_k x_k over the points of its neurons: pairs (2n + 2 of them) from r by ray.
  function sums({ n, z, side }, r, out) {
    let p0 = 0, p1 = 0, t0 = 0, t1 = 0;
    for (let k = 0; k < n; k++) {
      const c0 = side[k] * r[k] * z[2 * k], c1 = side[k] * r[k] * z[2 * k + 1];
      t0 += c0; t1 += c1;
      if (side[k] > 0) { p0 += c0; p1 += c1; }
    }
    for (let k = 0, at = 2 * n + 2; k <= n; k++, at += 2) {
      out[2 * k] = p0; out[2 * k + 1] = p1;
      out[at] = t0 - p0; out[at + 1] = t1 - p1;
      if (k < n) { p0 -= r[k] * z[2 * k]; p1 -= r[k] * z[2 * k + 1]; }
    }
    return out;
  }

  // Directions w with an extremal vector D = sign |D| w other than 0: arcs that hold D or -D, and rays on which a
  // share of their own point makes D parallel to them.
  function extremal(data) {
    const { n, z, side, labels } = data, D = sums(data, labels, new Float64Array(4 * n + 4)), found = [];
    const note = (D0, D1, sign) => {
      const size = sign * Math.sqrt(D0 * D0 + D1 * D1);
      found.push({ x: D0 / size, y: D1 / size, sign });
    };
    const least = 1e-12 * labels.reduce((sum, label, k) => sum + Math.abs(label) * Math.abs(z[2 * k]), 0);
    for (let at = 0; at < 2 * n + 2; at++) {
      const [D0, D1] = [D[2 * at], D[2 * at + 1]], prefix = at > n, k = prefix ? at - n - 1 : at;
      if (Math.abs(D0) + Math.abs(D1) > least && !(prefix && k % n === 0)) {  // rows 0 and n are suffixes, too
        for (const sign of [1, -1]) if (same(row(z, sign * D0, sign * D1), n) === at) note(D0, D1, sign);
      }
      if (k === n) continue;
      const own = at + ((side[k] > 0) !== prefix), E0 = D[2 * own], E1 = D[2 * own + 1];  // without the ray's point
      if (!(Math.abs(E0) + Math.abs(E1) > least)) continue;
      const [z0, z1] = [z[2 * k], z[2 * k + 1]], share = -(E0 * z0 + E1 * z1) / (z0 * z0 + z1 * z1);
      const part = share / (side[k] * labels[k]), F0 = E0 + share * z0, F1 = E1 + share * z1;
      if (part >= 0 && part <= 1) note(F0, F1, Math.sign((prefix ? 1 : -1) * (F0 * z1 - F1 * z0)));
    }
    return found;
  }
  // Two rows hold all rays, and two none.
  const same = (row, n) => (row === n + 1 ? n : row === 2 * n + 1 ? 0 : row);

  return { fit, row, stays, same, sums, extremal };
};
