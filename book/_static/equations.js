/* Loads MathJax, where there is mathematics, when the page is there; sets formulas piece by piece, those in view first.
 *
 * Displayed equations that are a little too wide for their column are set smaller, down to LEAST of their size; what
 * would not be legible then scrolls inside its own box. */
(() => {
  "use strict";

  const PIECE = 100;  // formulas set at once: about a tenth of a second in which the page does not answer
  const LEAST = 0.7;
  const GAP = 12;     // pixels between an equation and its number
  const SCRIPT = new URL("vendor/mathjax/tex-chtml.js", document.currentScript.src).href;

  const share = (block, equation) => {
    const number = block.querySelector(".eqno");
    const room = block.clientWidth - (number ? number.offsetWidth + GAP : 0);
    const width = equation.querySelector("mjx-math").getBoundingClientRect().width;
    return room > 0 ? Math.max(LEAST, Math.min(1, (room - 2) / width)) : 1;
  };

  // First all are set, then all are measured: in turns, the browser would lay out the page for each.
  const fit = (blocks) => {
    const equation = (block) => block.querySelector("mjx-container[display='true']");
    const set = (one, share) => { one.style.fontSize = `${one.dataset.size * share}%`; };
    const shown = blocks.map((block) => [block, equation(block)]).filter(([, one]) => one);
    for (const [, one] of shown) {
      one.dataset.size ??= parseFloat(one.style.fontSize) || 100;
      set(one, 1);
    }
    const shares = shown.map(([block, one]) => share(block, one));
    shown.forEach(([, one], k) => { if (shares[k] < 1) set(one, shares[k]); });
  };
  const blocks = (place) => [...place.querySelectorAll("article div.math")];

  const inView = (formula) => {
    const { top, bottom } = formula.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  };

  // What is read stays where it is while what is above it grows: Safari does not see to that by itself.
  const inPlace = async (change) => {
    const read = CSS.supports("overflow-anchor", "auto") ? null
      : [...document.querySelectorAll("article :is(p, h1, h2, h3, div.math)")].find(inView);
    const before = read?.getBoundingClientRect().top;
    await change();
    if (read) scrollBy({ top: read.getBoundingClientRect().top - before, behavior: "instant" });
  };

  // MathJax.startup.promise is kept when all are set.
  const setAll = async () => {
    const formulas = [...document.querySelectorAll(".math:not(.math .math)")], seen = new Set(formulas.filter(inView));
    const waiting = [...seen, ...formulas.filter((formula) => !seen.has(formula))];
    for (let begin = 0, end = seen.size || PIECE; begin < waiting.length; begin = end, end += PIECE) {
      const piece = waiting.slice(begin, end);
      await inPlace(async () => {
        await MathJax.typesetPromise(piece);
        document.body.getBoundingClientRect();  // begins to load the fonts of the piece, with which its size changes
        await document.fonts.ready;
        fit(piece.filter((formula) => formula.matches("article div.math")));
      });
      await new Promise((done) => setTimeout(done));  // the browser shows them
    }
    await inPlace(async () => {
      await document.fonts.ready;
      fit(blocks(document));  // some fonts have come with later pieces
    });
    addEventListener("resize", () => fit(blocks(document)));
    // What was folded had no width until now.
    for (const fold of document.querySelectorAll("article details")) {
      fold.addEventListener("toggle", () => fit(blocks(fold)));
    }
  };

  window.MathJax = { ...window.MathJax, startup: { pageReady: setAll } };
  document.head.append(Object.assign(document.createElement("script"), { src: SCRIPT, async: true }));
})();
