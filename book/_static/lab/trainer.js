/* One run of a laboratory's model, at the reader's pace, with what is kept of it.
 *
 * `ShallowLab.trainer(model, { changed, failed })` has `run`, the run that is shown: the book's, from `open`, or the
 * reader's, from `restart`.  Of the records `run.kept` has at most MOST with their arrays, one of every `run.stride`.
 */
globalThis.ShallowLab ??= { models: {} };

(() => {
  "use strict";

  const BUDGET = 12;  // milliseconds that the worker computes before it listens again
  const MOST = 100;  // kept records besides the first
  const OVERHEAD = 1.4;  // time that passes while the worker computes for one unit of it
  const SURE = 0.02;  // share of a run after which its own pace tells more than the model's estimate

  function trainer(lab, { changed, failed }) {
    const keys = lab.columns.map(([key]) => key);
    const run = { settings: null, epochs: [], last: 0, stride: 1, book: null, live: false };
    let running = false, pending = false, fresh = false, lost = false, away = false;
    let version = 0, owed = 0, clock = 0;
    let speed = Object.keys(lab.duration).at(-1), slowness = 1;

    // --- what is shown
    function take(settings, book) {
      const last = lab.length(settings);
      const epochs = lab.records?.(settings) ?? Array.from({ length: last / lab.every + 1 }, (_, k) => k * lab.every);
      Object.assign(run, { settings, book, last, epochs, stride: Math.ceil((epochs.length - 1) / MOST) || 1 });
    }
    function renew(properties) {
      running = false;
      version++;
      Object.assign(run, { epoch: 0, at: 0, done: false, diverged: null, arrays: {}, checksum: null, apart: 0,
        different: null, kept: [], spent: 0, values: Object.fromEntries(keys.map((key) => [key, []])) }, properties);
    }
    // The book's run, of which only the last arrays are there.
    function open() {
      const { values, arrays } = run.book;
      renew({ live: false, epoch: run.last, at: values[keys[0]].length - 1, done: true, values, arrays });
    }
    // Nothing, where the settings cannot be run.
    const clear = () => renew({ live: false });
    function restart() {
      renew({ live: true });
      fresh = true;
      lost = false;
      owed = 0;
      pump();
    }

    // --- training
    function go(how) {
      if (!run.live || run.done || lost) restart();
      running = how !== "record";
      owed = { run: run.epoch, record: run.epochs.find((at) => at > run.epoch) ?? run.last, end: run.last }[how];
      clock = performance.now();
      pump();
    }
    function pause() {
      running = false;
      owed = run.epoch;
    }
    function pump() {
      if (pending || !run.live || lost) return;
      if (fresh) {
        ask(0);
      } else if (!run.done && !away && (running || owed > run.epoch)) {
        pending = true;
        requestAnimationFrame(() => {
          const now = performance.now(), share = Math.min(now - clock, 100) / lab.duration[speed];
          const ahead = lab.records ? Math.max(owed, 1) * run.last ** share : owed + run.last * share;
          if (running) owed = Math.max(owed, Math.min(run.last, ahead));
          clock = now;
          pending = false;
          if (fresh || owed > run.epoch) ask(fresh ? 0 : Math.floor(owed));
          else pump();
        });
      }
    }
    function ask(until) {
      if (!run.live) return;
      pending = true;
      const settings = fresh ? run.settings : null;
      fresh = false;
      engine.ask({ version, settings, until, budget: BUDGET, stride: run.stride });
    }
    function heard(reply) {
      pending = false;
      if (reply.version === version) absorb(reply);
      pump();
    }
    function absorb({ records, spent, ...rest }) {
      for (const { epoch, values, arrays } of records) {
        const at = run.values[keys[0]].length;
        for (const key of keys) compare(epoch, run.values[key].push(values[key]) - 1, key);
        if (arrays) run.kept.push({ epoch, at, arrays });
        run.at = at;
      }
      Object.assign(run, rest, { spent: run.spent + spent });
      if (run.done) running = false;
      const share = run.epoch / run.last, usual = lab.seconds?.(run.settings);
      if (share > SURE && usual > 0) slowness = run.spent / 1000 / share / usual;
      changed(!running && (run.done || records[0]?.epoch === 0 || owed <= run.epoch));
    }
    function compare(epoch, k, key) {
      const here = run.values[key][k], there = run.book?.values[key][k];
      if (!run.book || here === there) return;
      const apart = Math.abs(here - there) / Math.max(Math.abs(here), Math.abs(there), lab.least ?? 0);
      run.apart = Math.max(run.apart, apart);
      if (!(apart <= (lab.tolerance ?? 0))) run.different ??= epoch;
    }
    const engine = ShallowLab.engine(lab, heard, (why, again) => {
      running = pending = false;
      lost = true;
      version++;
      failed(why, again);
    });

    // --- time
    // Seconds that the run still takes, or a whole one where none has begun; null where that is not known.
    function left() {
      const begun = run.live && !run.done, share = begun ? run.epoch / run.last : 0;
      const place = !begun ? 0 : lab.records ? Math.log1p(run.epoch) / Math.log1p(run.last) : share;
      const computing = share > SURE ? run.spent / 1000 / share : lab.seconds?.(run.settings) * slowness;
      if (!(run.last > 0 && computing >= 0)) return null;
      return Math.max(OVERHEAD * computing * (1 - share), lab.duration[speed] / 1000 * (1 - place));
    }

    return {
      run, take, open, clear, restart, go, pause, left, stop: engine.stop,
      running: () => running,
      pace: (value) => { speed = value; },
      sight: (seen) => {  // out of sight it waits
        away = !seen;
        clock = performance.now();
        pump();
      },
    };
  }

  ShallowLab.trainer = trainer;
})();
