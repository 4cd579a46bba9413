/* shallow.train.vector_math in float64: erf with its slope, erfi, and normal numbers, over whole arrays.
 *
 * They are the library's polynomials, so that a network trained on its fresh samples is the library's but for rounding.
 * `vectors` uses nothing outside itself: workers get it as text.
 */
globalThis.ShallowLab ??= { models: {} };

ShallowLab.vectors = function vectors() {
  "use strict";
  const zeros = (count) => new Float64Array(count);

  // out = sum_k C_k t^k for an even number of coefficients and a multiple of four numbers; `out` may be `t`.
  function polynomial(C, t, out, count = t.length) {
    const last = C.length - 2;
    for (let i = 0; i < count; i += 4) {
      const s = t[i], u = t[i + 1], v = t[i + 2], w = t[i + 3], ss = s * s, uu = u * u, vv = v * v, ww = w * w;
      let a = C[last], b = a, c = a, d = a, e = C[last + 1], f = e, g = e, h = e;
      for (let k = last - 2; k >= 0; k -= 2) {
        const even = C[k], odd = C[k + 1];
        a = a * ss + even; b = b * uu + even; c = c * vv + even; d = d * ww + even;
        e = e * ss + odd; f = f * uu + odd; g = g * vv + odd; h = h * ww + odd;
      }
      out[i] = a + e * s; out[i + 1] = b + f * u; out[i + 2] = c + g * v; out[i + 3] = d + h * w;
    }
    return out;
  }

  // erf(x / sqrt 2) / x and sqrt(2 / pi) exp(-x^2 / 2) for |x| <= 8.5 in t = (s - 16) / (s + 16), s = x^2 / 2.
  const LIMIT = 8.5, CENTRE = 16;
  const SHAPE = Float64Array.of(
    0.17677669257122564, -0.17677660278114174, 0.08838686474873636, -0.08837345609961214, 0.06618647103070946,
    -0.06574398518342182, 0.05305224148577611, -0.048407156678694496, 0.03159799568352345, -0.01625295431510955,
    -0.004087447583477266, 0.010205493636761775, -0.0062653998172517355, -0.005589446797050626,
    0.005007544590494477, 0.0015690511074308263, -0.0057340465109412845, -0.0025537050827408618,
    0.004933058112624383, 0.005114002735562856, -0.0021182670666000086, -0.00837361584031484, -0.008434433002618261,
    -0.004603869731409537, -0.0013832455522999373, -0.00018028708323071887);
  const SLOPE = Float64Array.of(
    8.979008139786693e-08, -2.873282437212965e-06, 4.309923508925839e-05, -0.00040130181338249304,
    0.002586912373765543, -0.012176394313142727, 0.04292216192943077, -0.11393748610445872, 0.2241678431917581,
    -0.30989890168153855, 0.25452576567128027, -0.02415892094970615, -0.1920421161970537, 0.13897191201427259,
    0.10596234359055688, -0.14972838761339885, -0.07978174589941918, 0.1293276117463048, 0.10141706358080242,
    -0.06683624970253091, -0.11354656626086239, -0.034401313695170965, 0.0284571155469466, 0.028952928114917155,
    0.01027294463300403, 0.0013897276627820182);
  let room = zeros(0);
  // x becomes erf(x / sqrt 2), and `slopes`, where given, the derivative.
  function erf(x, slopes = null) {
    const count = x.length;
    if (room.length < 2 * count) room = zeros(2 * count);
    const t = room.subarray(0, count), value = room.subarray(count, 2 * count);
    for (let i = 0; i < count; i++) {
      const y = x[i] > LIMIT ? LIMIT : x[i] < -LIMIT ? -LIMIT : x[i], s = 0.5 * y * y;
      x[i] = y;
      t[i] = (s - CENTRE) / (s + CENTRE);
    }
    polynomial(SHAPE, t, value);
    for (let i = 0; i < count; i++) x[i] *= value[i];
    if (slopes) polynomial(SLOPE, t, slopes);
    return x;
  }
  // x becomes erfi(x), for |x| <= 3.5.
  const series = Float64Array.from({ length: 60 }, () => 0);
  for (let k = 0, factorial = 1; k < 60; factorial *= ++k) series[k] = 2 / Math.sqrt(Math.PI) / factorial / (2 * k + 1);
  function erfi(x) {
    if (room.length < 2 * x.length) room = zeros(2 * x.length);
    const square = room.subarray(0, x.length);
    for (let i = 0; i < x.length; i++) square[i] = x[i] * x[i];
    polynomial(series, square, square);
    for (let i = 0; i < x.length; i++) x[i] *= square[i];
    return x;
  }

  // Normal numbers by Box and Muller from LANES generators xoshiro256++ that `rng` seeds; 64-bit numbers by halves.
  const LANES = 256, GROUP = 2 * LANES, EIGHTH = Math.PI / 4, TURN = Math.PI / 2 * 2 ** -30;
  const inverse = (count, sign, step, from) => {
    const found = zeros(count + count % 2);
    for (let k = 0, factorial = 1; k < count; k++) {
      found[k] = sign ** k / factorial;
      for (let j = 1; j <= step; j++) factorial *= step * k + from + j;
    }
    return found;
  };
  const SCALES = Float64Array.from({ length: 33 }, (_, ahead) => 2 ** (ahead - 31));
  const COSINE = inverse(10, -1, 2, 0), SINE = inverse(10, -1, 2, 1);
  const AREA = Float64Array.from({ length: 12 }, (_, k) => (k < 11 ? 2 / (2 * k + 1) : 0));
  function normals(rng) {
    const state = new Int32Array(8 * LANES);  // low and high halves of the four numbers of every lane
    for (let word = 0; word < 4; word++) {
      for (let i = 0; i < LANES; i++) {
        state[2 * word * LANES + i] = rng.bits(32);
        state[(2 * word + 1) * LANES + i] = rng.bits(32);
      }
    }
    const [a, A, b, B, c, C, d, D] = Array.from({ length: 8 }, (_, k) => state.subarray(k * LANES, (k + 1) * LANES));
    const low = new Int32Array(LANES), [power, y, square, area, x, cosine, sine] = Array.from({ length: 7 },
      () => zeros(LANES));
    function words() {
      for (let i = 0; i < LANES; i++) {
        const a0 = a[i], a1 = A[i], b0 = b[i], b1 = B[i], d0 = d[i], d1 = D[i];
        const t0 = (a0 + d0) | 0, t1 = (a1 + d1 + ((t0 >>> 0) < (a0 >>> 0) ? 1 : 0)) | 0;
        const r0 = (t0 << 23) | (t1 >>> 9), r1 = (t1 << 23) | (t0 >>> 9), sum = (r0 + a0) | 0;
        const upper = (r1 + a1 + ((sum >>> 0) < (r0 >>> 0) ? 1 : 0)) >>> 0, ahead = Math.clz32(upper);
        low[i] = sum;
        power[i] = -1 - ahead;  // (upper + 1/2) / 2^32 = 2^power m with 1 <= m < 2
        const m = (upper + 0.5) * SCALES[ahead];
        y[i] = (m - Math.SQRT2) / (m + Math.SQRT2);
        const third0 = c[i] ^ a0, third1 = C[i] ^ a1, fourth0 = d0 ^ b0, fourth1 = d1 ^ b1;
        b[i] = b0 ^ third0; B[i] = b1 ^ third1; a[i] = a0 ^ fourth0; A[i] = a1 ^ fourth1;
        c[i] = third0 ^ (b0 << 17); C[i] = third1 ^ ((b1 << 17) | (b0 >>> 15));
        d[i] = (fourth1 << 13) | (fourth0 >>> 19); D[i] = (fourth0 << 13) | (fourth1 >>> 19);
      }
    }
    // Fill the first `count` numbers of `out`, and those up to a whole GROUP, for which there must be room.
    return function fill(out, count) {
      for (let start = 0; start < count; start += GROUP) {
        words();
        for (let i = 0; i < LANES; i++) square[i] = y[i] * y[i];
        polynomial(AREA, square, area);
        for (let i = 0; i < LANES; i++) {
          x[i] = (low[i] & 0x3fffffff) * TURN - EIGHTH;
          square[i] = x[i] * x[i];
        }
        polynomial(COSINE, square, cosine);
        polynomial(SINE, square, sine);
        for (let i = 0; i < LANES; i++) {
          const size = Math.sqrt(Math.max(-2 * ((power[i] + 0.5) * Math.LN2 + y[i] * area[i]), 0));
          const radius = low[i] < 0 ? -size : size, other = x[i] * sine[i], swapped = low[i] & 0x40000000;
          out[start + i] = radius * (swapped ? other : cosine[i]);
          out[start + LANES + i] = radius * (swapped ? cosine[i] : other);
        }
      }
      return out;
    };
  }

  return { polynomial, erf, erfi, normals, GROUP };
};
