/* NumPy's random streams: `numpy.random.default_rng([7, 50, 3]).uniform(low, high, count)`, bit for bit.
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
    const double = () => {
      state = next(state);
      const turn = state >> 122n, folded = low(64, (state >> 64n) ^ state);
      const bits = low(64, (folded >> turn) | (folded << (64n - turn)));
      return Number(bits >> 11n) / 9007199254740992;
    };
    return { uniform: (from, to, count) => Float64Array.from({ length: count }, () => from + (to - from) * double()) };
  }

  return { generator };
};
