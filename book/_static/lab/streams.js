/* NumPy's random streams: `numpy.random.default_rng([7, 50, 3])` with its uniform, permutation, choice from two and
 * integers below a power of two, bit for bit, and its standard_normal to 1e-13; `named` is shallow.stats.stream.
 *
 * SeedSequence (numpy/random/bit_generator.pyx) spreads the seeds over the state of PCG64 (O'Neill 2014), whose
 * 64-bit numbers give uniforms of 53 bits.  `streams` uses nothing outside itself: workers get it as text.
 */
globalThis.ShallowLab ??= { models: {} };

ShallowLab.streams = function streams() {
  "use strict";
  const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;
  const low = (bits, number) => BigInt.asUintN(bits, number);

  // The 32-bit words of non-negative integers, each with its lowest word first.
  function words(seeds) {
    const found = [];
    for (const seed of seeds) {
      let rest = BigInt(seed);
      do { found.push(Number(low(32, rest))); rest >>= 32n; } while (rest > 0n);
    }
    return found;
  }

  // SeedSequence(seeds).generate_state(4, uint64), as BigInts.
  function spread(seeds) {
    const entropy = words(seeds), pool = new Uint32Array(4);
    let constant = 0x43b0d7e5;
    const hash = (value) => {
      value = (value ^ constant) >>> 0;
      constant = Math.imul(constant, 0x931e8875) >>> 0;
      value = Math.imul(value, constant) >>> 0;
      return (value ^ (value >>> 16)) >>> 0;
    };
    const mix = (a, b) => {
      const mixed = (Math.imul(0xca01f9dd, a) - Math.imul(0x4973f715, b)) >>> 0;
      return (mixed ^ (mixed >>> 16)) >>> 0;
    };
    for (let i = 0; i < 4; i++) pool[i] = hash(i < entropy.length ? entropy[i] : 0);
    for (let i = 0; i < 4; i++) for (let k = 0; k < 4; k++) if (i !== k) pool[k] = mix(pool[k], hash(pool[i]));
    for (let i = 4; i < entropy.length; i++) for (let k = 0; k < 4; k++) pool[k] = mix(pool[k], hash(entropy[i]));
    const state = [];
    let other = 0x8b51f9dd;
    for (let i = 0; i < 8; i++) {
      let value = (pool[i % 4] ^ other) >>> 0;
      other = Math.imul(other, 0x58f38ded) >>> 0;
      value = Math.imul(value, other) >>> 0;
      state.push(BigInt((value ^ (value >>> 16)) >>> 0));
    }
    return [0, 2, 4, 6].map((i) => state[i] | (state[i + 1] << 32n));
  }

  function generator(seeds) {
    const [high, rest, first, second] = spread(seeds);
    const increment = low(128, (((first << 64n) | second) << 1n) | 1n);
    const next = (state) => low(128, state * MULTIPLIER + increment);
    let state = next(low(128, increment + ((high << 64n) | rest)));
    const turned = () => {
      state = next(state);
      const turn = state >> 122n, folded = low(64, (state >> 64n) ^ state);
      return low(64, (folded >> turn) | (folded << (64n - turn)));
    };
    const double = () => Number(turned() >> 11n) / 9007199254740992;

    // Ziggurat of Marsaglia and Tsang: a layer, a sign and 52 bits of its width from one number of 64 bits.
    function normal() {
      const { width, inside, height } = layers();
      for (;;) {
        const bits = turned(), upper = Number(bits >> 32n), lower = Number(bits & 0xffffffffn);
        const layer = lower & 0xff, part = (upper & 0x1fffffff) * 0x800000 + (lower >>> 9);
        const x = lower & 0x100 ? -part * width[layer] : part * width[layer];
        if (part < inside[layer]) return x;
        if (layer > 0) {
          if ((height[layer - 1] - height[layer]) * double() + height[layer] < Math.exp(-0.5 * x * x)) return x;
          continue;
        }
        for (;;) {  // the tail beyond the widest layer
          const beyond = -Math.log1p(-double()) / WIDEST, y = -Math.log1p(-double());
          if (y + y > beyond * beyond) return lower & 0x20000 ? -(WIDEST + beyond) : WIDEST + beyond;
        }
      }
    }

    // Halves of 64-bit numbers, the lower one first; the other waits for the next call.
    let spare = null;
    const half = () => {
      const bits = spare === null ? turned() : null, found = spare ?? Number(bits & 0xffffffffn);
      spare = bits === null ? null : Number(bits >> 32n);
      return found;
    };
    // Shuffled as by Generator.permutation, from the end.
    function permutation(values) {
      const mixed = values.slice();
      for (let i = mixed.length - 1; i > 0; i--) {
        const mask = 2 ** (32 - Math.clz32(i)) - 1;
        let j = half() & mask;
        while (j > i) j = half() & mask;
        [mixed[i], mixed[j]] = [mixed[j], mixed[i]];
      }
      return mixed;
    }
    return {
      uniform: (from, to, count) => Float64Array.from({ length: count }, () => from + (to - from) * double()),
      normal: (count) => {
        const drawn = new Float64Array(count);
        for (let i = 0; i < count; i++) drawn[i] = normal();
        return drawn;
      },
      permutation,
      either: (pair, count) => Array.from({ length: count }, () => pair[half() >>> 31]),  // Generator.choice from two
      bits: (count) => half() >>> (32 - count),  // Generator.integers(2 ** count)
    };
  }

  // The 256 layers of equal area under exp(-x^2 / 2), from the widest up; `inside`: numbers below it need no test.
  const WIDEST = 3.6541528853610088, AREA = 0.004928673233974652, PARTS = 2 ** 52;
  let made = null;
  function layers() {
    if (made) return made;
    const [width, inside, height] = [0, 1, 2].map(() => new Float64Array(256));
    let x = WIDEST;
    width[255] = x / PARTS;
    height[255] = Math.exp(-0.5 * x * x);
    width[0] = AREA / height[255] / PARTS;
    inside[0] = Math.floor(x * height[255] / AREA * PARTS);
    height[0] = 1;
    for (let i = 254; i > 0; i--) {
      const narrower = Math.sqrt(-2 * Math.log(AREA / x + height[i + 1]));
      inside[i + 1] = Math.floor(narrower / x * PARTS);
      x = narrower;
      width[i] = x / PARTS;
      height[i] = Math.exp(-0.5 * x * x);
    }
    made = { width, inside, height };
    return made;
  }

  // SHA-256 (FIPS 180-4) of a text in ASCII, as eight big-endian words.
  function digest(text) {
    const primes = [];
    for (let k = 2; primes.length < 64; k++) if (primes.every((p) => k % p)) primes.push(k);
    const fraction = (root) => Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
    const constants = primes.map((p) => fraction(Math.cbrt(p)));
    const hash = primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)));
    const bytes = [...text].map((letter) => letter.charCodeAt(0)), bits = 8 * bytes.length;
    bytes.push(0x80);
    while (bytes.length % 64 !== 56) bytes.push(0);
    bytes.push(0, 0, 0, 0, bits >>> 24, bits >>> 16, bits >>> 8, bits);
    const rotated = (x, by) => (x >>> by) | (x << (32 - by));
    for (let from = 0; from < bytes.length; from += 64) {
      const w = Array.from({ length: 16 }, (_, i) =>
        [0, 1, 2, 3].reduce((word, k) => (word << 8) | (bytes[from + 4 * i + k] & 0xff), 0));
      for (let i = 16; i < 64; i++) {
        const [a, b] = [w[i - 15], w[i - 2]];
        w[i] = (w[i - 16] + w[i - 7] + (rotated(a, 7) ^ rotated(a, 18) ^ (a >>> 3))
          + (rotated(b, 17) ^ rotated(b, 19) ^ (b >>> 10))) | 0;
      }
      let [a, b, c, d, e, f, g, h] = hash;
      for (let i = 0; i < 64; i++) {
        const whole = (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g));
        const one = (h + whole + constants[i] + w[i]) | 0;
        const two = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
      }
      [a, b, c, d, e, f, g, h].forEach((word, i) => { hash[i] = (hash[i] + word) | 0; });
    }
    return hash.map((word) => word >>> 0);
  }

  // The stream whose seed is the hash of the names.
  function named(...names) {
    return generator(digest(names.join("/")).map((word) =>
      ((word >>> 24) | ((word >>> 8) & 0xff00) | ((word << 8) & 0xff0000) | (word << 24)) >>> 0));
  }

  return { generator, named };
};
