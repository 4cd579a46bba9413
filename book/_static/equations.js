/* Displayed equations that are a little too wide for their column are set smaller, down to LEAST of their size; what
 * would not be legible then scrolls inside its own box. */
(() => {
  "use strict";

  const LEAST = 0.7;
  const GAP = 12; // pixels between an equation and its number

  const share = (block, equation) => {
    const number = block.querySelector(".eqno");
    const room = block.clientWidth - (number ? number.offsetWidth + GAP : 0);
    const width = equation.querySelector("mjx-math").getBoundingClientRect().width;
    return room > 0 ? Math.max(LEAST, Math.min(1, (room - 2) / width)) : 1;
  };

  // First all are set, then all are measured: in turns, the browser would lay out the page for each.
  const fit = (place) => {
    const equation = (block) => block.querySelector("mjx-container[display='true']");
    const set = (one, share) => { one.style.fontSize = `${one.dataset.size * share}%`; };
    const found = [...place.querySelectorAll("article div.math")].map((block) => [block, equation(block)]);
    const shown = found.filter(([, one]) => one);
    for (const [, one] of shown) {
      one.dataset.size ??= parseFloat(one.style.fontSize) || 100;
      set(one, 1);
    }
    const shares = shown.map(([block, one]) => share(block, one));
    shown.forEach(([, one], k) => { if (shares[k] < 1) set(one, shares[k]); });
  };

  window.addEventListener("load", () => {
    window.MathJax?.startup?.promise?.then(() => {
      fit(document);
      window.addEventListener("resize", () => fit(document));
      // What was folded had no width until now.
      for (const fold of document.querySelectorAll("article details")) fold.addEventListener("toggle", () => fit(fold));
    });
  });
})();
