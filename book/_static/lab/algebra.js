/* Linear algebra in float64 for laboratories: matrices are Float64Arrays by rows.
 *
 * Products are in blocks of 4 x 4, so their sizes must be multiples of four: 0.8 ns for a product and a sum of two
 * numbers.  `algebra` uses nothing outside itself: workers get it as text.
 */
globalThis.ShallowLab ??= { models: {} };

ShallowLab.algebra = function algebra() {
  "use strict";
  const zeros = (count) => new Float64Array(count);

  // A B^T for A (m, k) and B (n, k), all by rows, in blocks of 4 x 4; of a symmetric product only the lower blocks.
  function product(A, B, m, n, k, out = zeros(m * n), symmetric = false) {
    for (let j = 0; j < n; j += 4) {
      const j0 = j * k, j1 = j0 + k, j2 = j1 + k, j3 = j2 + k;
      for (let i = symmetric ? j : 0; i < m; i += 4) {
        let a = i * k, b = a + k, c = b + k, d = c + k, o = i * n + j;
        let a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
        let c0 = 0, c1 = 0, c2 = 0, c3 = 0, d0 = 0, d1 = 0, d2 = 0, d3 = 0;
        for (let t = 0; t < k; t++) {
          const w = A[a + t], x = A[b + t], y = A[c + t], z = A[d + t];
          const p = B[j0 + t], q = B[j1 + t], r = B[j2 + t], s = B[j3 + t];
          a0 += w * p; a1 += w * q; a2 += w * r; a3 += w * s;
          b0 += x * p; b1 += x * q; b2 += x * r; b3 += x * s;
          c0 += y * p; c1 += y * q; c2 += y * r; c3 += y * s;
          d0 += z * p; d1 += z * q; d2 += z * r; d3 += z * s;
        }
        out[o] = a0; out[o + 1] = a1; out[o + 2] = a2; out[o + 3] = a3; o += n;
        out[o] = b0; out[o + 1] = b1; out[o + 2] = b2; out[o + 3] = b3; o += n;
        out[o] = c0; out[o + 1] = c1; out[o + 2] = c2; out[o + 3] = c3; o += n;
        out[o] = d0; out[o + 1] = d1; out[o + 2] = d2; out[o + 3] = d3;
      }
    }
    if (symmetric) for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) out[j * n + i] = out[i * n + j];
    return out;
  }
  const gram = (A, m, k) => product(A, A, m, m, k, zeros(m * m), true);
  function transposed(A, m, n, out = zeros(m * n)) {
    for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) out[j * m + i] = A[i * n + j];
    return out;
  }
  function dot(a, b, from = 0, start = 0, count = b.length) {
    let sum = 0;
    for (let k = 0; k < count; k++) sum += a[from + k] * b[start + k];
    return sum;
  }
  // sum_i a_i A_i for the rows of A (m, n).
  function combined(A, a, n) {
    const out = zeros(n);
    a.forEach((value, i) => { for (let j = 0; j < n; j++) out[j] += value * A[i * n + j]; });
    return out;
  }

  // The Cholesky factor of a positive definite matrix, in its place below the diagonal; then the solution of A x = b.
  function cholesky(A, n) {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        const rest = A[i * n + j] - dot(A, A, i * n, j * n, j);
        A[i * n + j] = i === j ? Math.sqrt(rest) : rest / A[j * n + j];
      }
    }
    return (right) => {
      const x = right.slice();
      for (let i = 0; i < n; i++) x[i] = (x[i] - dot(A, x, i * n, 0, i)) / A[i * n + i];
      for (let i = n - 1; i >= 0; i--) {
        x[i] /= A[i * n + i];
        for (let j = 0; j < i; j++) x[j] -= A[i * n + j] * x[i];
      }
      return x;
    };
  }

  // Householder's tridiagonal form Q T Q^T of a symmetric matrix: the diagonal of T, what is beside it, and x -> Q^T x
  // and x -> Q x in the place of x.  A is lost: the vectors of the reflections are in its upper triangle.
  function tridiagonal(A, n) {
    const diagonal = zeros(n), beside = zeros(n), v = zeros(n), p = zeros(n), scales = zeros(n);
    for (let k = 0; k < n - 1; k++) {
      let norm = 0;
      for (let i = k + 1; i < n; i++) norm += A[i * n + k] ** 2;
      norm = A[(k + 1) * n + k] > 0 ? -Math.sqrt(norm) : Math.sqrt(norm);
      beside[k] = norm;
      if (norm === 0) continue;
      for (let i = k + 1; i < n; i++) v[i] = A[i * n + k];
      v[k + 1] -= norm;
      const scale = scales[k] = -1 / (norm * v[k + 1]);  // 2 / |v|^2
      for (let i = k + 1; i < n; i++) p[i] = scale * dot(A, v, i * n + k + 1, k + 1, n - k - 1);
      const half = scale / 2 * dot(p, v, k + 1, k + 1, n - k - 1);
      for (let i = k + 1; i < n; i++) p[i] -= half * v[i];
      for (let i = k + 1; i < n; i++) {
        const vi = v[i], pi = p[i], row = i * n;
        for (let j = k + 1; j < n; j++) A[row + j] -= vi * p[j] + pi * v[j];
      }
      for (let i = k + 1; i < n; i++) A[k * n + i] = v[i];
    }
    for (let i = 0; i < n; i++) diagonal[i] = A[i * n + i];
    function reflect(x, k) {
      const part = scales[k] * dot(A, x, k * n + k + 1, k + 1, n - k - 1);
      for (let i = k + 1; i < n; i++) x[i] -= part * A[k * n + i];
    }
    return { diagonal, beside,
      into: (x) => { for (let k = 0; k < n - 1; k++) reflect(x, k); return x; },
      back: (x) => { for (let k = n - 2; k >= 0; k--) reflect(x, k); return x; } };
  }

  // For a positive semidefinite matrix and b: the solution of (A + shift) x = b for any shift > 0.
  function shifted(A, n, b) {
    const { diagonal, beside, into, back } = tridiagonal(A, n), right = into(b.slice());
    return (shift) => {
      const x = right.slice(), pivot = diagonal.map((value) => value + shift);
      for (let i = 1; i < n; i++) {
        const ratio = beside[i - 1] / pivot[i - 1];
        pivot[i] -= ratio * beside[i - 1];
        x[i] -= ratio * x[i - 1];
      }
      x[n - 1] /= pivot[n - 1];
      for (let i = n - 2; i >= 0; i--) x[i] = (x[i] - beside[i] * x[i + 1]) / pivot[i];
      return back(x);
    };
  }

  // Eigenvalues of a symmetric matrix, descending: its tridiagonal form, then implicit QL; A is lost.
  function eigenvalues(A, n) {
    const { diagonal, beside } = tridiagonal(A, n);
    for (let l = 0; l < n; l++) {
      for (;;) {
        let m = l;
        while (m < n - 1 && Math.abs(beside[m]) > 2 ** -53 * (Math.abs(diagonal[m]) + Math.abs(diagonal[m + 1]))) m++;
        if (m === l) break;
        let g = (diagonal[l + 1] - diagonal[l]) / (2 * beside[l]), r = Math.hypot(g, 1), s = 1, c = 1, back = 0;
        g = diagonal[m] - diagonal[l] + beside[l] / (g + (g < 0 ? -r : r));
        let i = m - 1;
        for (; i >= l; i--) {
          const f = s * beside[i], b = c * beside[i];
          beside[i + 1] = r = Math.hypot(f, g);
          if (r === 0) { diagonal[i + 1] -= back; beside[m] = 0; break; }
          s = f / r;
          c = g / r;
          g = diagonal[i + 1] - back;
          r = (diagonal[i] - g) * s + 2 * c * b;
          back = s * r;
          diagonal[i + 1] = g + back;
          g = c * r - b;
        }
        if (r === 0 && i >= l) continue;
        diagonal[l] -= back;
        beside[l] = g;
        beside[m] = 0;
      }
    }
    return diagonal.map((value) => Math.max(value, 0)).sort().reverse();
  }

  // The first eigenvector of a positive semidefinite matrix by inverse iteration from a vector; A is lost.
  function first(A, n, largest, from) {
    const shift = largest * (1 + 1e-10);
    for (let k = 0; k < A.length; k++) A[k] = -A[k];
    for (let k = 0; k < n; k++) A[k * n + k] += shift;
    const solve = cholesky(A, n);
    let v = from;
    for (let k = 0; k < 6; k++) {
      const next = solve(v), length = Math.sqrt(dot(next, next));
      v = next.map((value) => value / length);
    }
    return v;
  }

  // A matrix (m, n) without its leading singular pair: A - A v v^T with its first right singular vector v.
  function withoutLead(A, m, n) {
    const G = gram(transposed(A, m, n), n, m), v = first(G.slice(), n, eigenvalues(G, n)[0], zeros(n).fill(1));
    for (let i = 0; i < m; i++) {
      const part = dot(A, v, i * n);
      for (let k = 0; k < n; k++) A[i * n + k] -= part * v[k];
    }
  }

  return { zeros, dot, combined, transposed, product, gram, cholesky, shifted, eigenvalues, first, withoutLead };
};
