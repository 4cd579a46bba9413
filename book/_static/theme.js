/* For those who do not see the theme's signs: its icons are letters of a font, which are not to be read, and its arrow
 * that opens the pages below a chapter has no name. */
(() => {
  "use strict";

  for (const icon of document.querySelectorAll("i[class*='fa-']")) icon.setAttribute("aria-hidden", "true");
  for (const arrow of document.querySelectorAll(".bd-sidebar summary")) {
    arrow.setAttribute("aria-label", "Pages of this chapter");
  }
})();
