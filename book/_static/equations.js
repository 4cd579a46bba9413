/* Displayed equations that are a little too wide for their column are set smaller, down to LEAST of their size; what
 * would not be legible then scrolls inside its own box. */
(() => {
  "use strict";

  const LEAST = 0.7;
  const GAP = 12; // pixels between an equation and its number

  const fit = (block) => {
    const equation = block.querySelector("mjx-container[display='true']");
    if (!equation) return;
    equation.dataset.size ??= parseFloat(equation.style.fontSize) || 100;
    equation.style.fontSize = `${equation.dataset.size}%`;
    const number = block.querySelector(".eqno");
    const room = block.clientWidth - (number ? number.offsetWidth + GAP : 0);
    const width = equation.querySelector("mjx-math").getBoundingClientRect().width;
    const share = Math.max(LEAST, Math.min(1, (room - 2) / width));
    if (room > 0 && share < 1) equation.style.fontSize = `${equation.dataset.size * share}%`;
  };
  const fitAll = () => document.querySelectorAll("article div.math").forEach(fit);

  window.addEventListener("load", () => {
    window.MathJax?.startup?.promise?.then(() => {
      fitAll();
      window.addEventListener("resize", fitAll);
      // What was folded had no width until now.
      document.querySelectorAll("article details").forEach((fold) => fold.addEventListener("toggle", fitAll));
    });
  });
})();
