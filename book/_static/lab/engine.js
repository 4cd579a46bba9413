/* The worker in which a laboratory's model computes, so that the page stays alive, and what happens where it cannot.
 *
 * `ShallowLab.engine(model, heard, failed)` begins a worker at once.  `ask(request)` is answered by `heard(reply)`;
 * where the page forbids workers, or one dies or falls silent, `failed(why, again)` says in words why, and whether it
 * has ever worked: then the next `ask`, which must start a run, begins another.
 */
globalThis.ShallowLab ??= { models: {} };

(() => {
  "use strict";

  const PATIENCE = 30;  // seconds without an answer after which a worker counts as dead

  /* Runs in the worker: each request gives the settings of a new run or none, how far to train it, for how many
   * milliseconds at most, and of how many records one has its arrays kept.
   */
  function serve(model) {
    const checksum = (groups) => {  // CRC-32 of the bytes of all weights
      let crc = 0xffffffff;
      for (const group of groups) {
        for (const byte of new Uint8Array(group.buffer, group.byteOffset, group.byteLength)) {
          crc ^= byte;
          for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
        }
      }
      return ~crc >>> 0;
    };
    let run = null, count = 0;
    onmessage = ({ data: { version, settings, until, budget, stride } }) => {
      const records = [], begun = performance.now(), stop = begun + budget;
      const note = () => {
        const arrays = count++ % stride === 0 ? run.snapshot() : null;
        records.push({ epoch: run.epoch, values: run.values, arrays });
      };
      if (settings) {
        run = model.start(settings);
        count = 0;
        note();
      }
      while (!run.done && run.epoch < until && performance.now() < stop) {
        const before = run.values;
        run.advance();
        if (run.diverged === null && run.values !== before) note();
      }
      const { epoch, done, diverged } = run, arrays = run.snapshot();
      const sum = done ? checksum(run.weights()) : null, spent = performance.now() - begun;
      postMessage({ version, epoch, done, diverged, records, arrays, spent, checksum: sum },
        [arrays, ...records.map((record) => record.arrays ?? {})].flatMap(Object.values).map((array) => array.buffer));
    };
  }

  function engine({ compute, needs }, heard, failed) {
    const given = needs.map((name) => `(${ShallowLab[name]})()`);
    const source = `"use strict";(${serve})((${compute})(${given}));`;
    let worker = null, works = false, watch = null;
    function stop() {
      clearInterval(watch);
      worker?.terminate();
      worker = null;
    }
    function fail(why) {
      stop();
      failed(why, works);
    }
    // A worker from a file cannot be started on a page from disk, one from text can.
    function begin() {
      const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      try {
        worker = new Worker(address);
      } catch (error) {
        fail(error.message);
        return;
      } finally {
        URL.revokeObjectURL(address);
      }
      worker.onmessage = ({ data }) => {
        works = true;
        clearInterval(watch);
        heard(data);
      };
      worker.onmessageerror = () => fail("an answer of the computation could not be read");
      // What a content policy forbids is an error without a message.
      worker.onerror = ({ message }) => fail(message ? `the computation stopped (${message})`
        : "the place where this page is shown does not let it compute in the background");
    }
    // Seconds are counted one by one: a computer that slept has not been silent.
    function ask(request) {
      if (!worker) begin();
      let silent = 0;
      clearInterval(watch);
      if (!worker) return;
      watch = setInterval(() => { if (++silent > PATIENCE) fail("the computation does not answer"); }, 1000);
      worker.postMessage(request);
    }
    begin();
    return { ask, stop };
  }

  ShallowLab.engine = engine;
})();
