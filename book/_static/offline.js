/* Make sliders work on a static page, with no kernel and no network.
 *
 * Icons.  The theme ships Font Awesome as a script that replaces every <i> by an <svg>.  The Play button of ipywidgets keeps a
 * reference to its <i> and sets its class at every change; once that element is gone the assignment throws, and
 * the exception stops the links between slider and picture.  So: no watching for new icons, and an icon of a widget
 * that was replaced all the same is put back as an <i> (the widgets bring the icon font with them).
 *
 * Formulas.  The widgets ask MathJax 2 to typeset their labels; the page has MathJax 3, which has no such call, and
 * the exception again stops the widget.  So the old call is passed on to the new one.
 *
 * Must run before these scripts; Sphinx places it in the head.
 */
(() => {
  "use strict";

  window.FontAwesomeConfig = { ...window.FontAwesomeConfig, observeMutations: false };

  // Where the widget manager finds its icon fonts.
  window.__jupyter_widgets_assets_path__ = new URL("vendor/", document.currentScript.src).href;

  const restore = () => {
    for (const drawing of document.querySelectorAll(".jupyter-widgets svg[data-fa-i2svg]")) {
      const icon = document.createElement("i");
      icon.className = `fa fa-${drawing.dataset.icon}`;
      drawing.replaceWith(icon);
    }
  };
  new MutationObserver(restore).observe(document.documentElement, { childList: true, subtree: true });

  document.addEventListener("DOMContentLoaded", () => {
    if (window.MathJax && !MathJax.Hub) {
      const typeset = ([, , element]) => MathJax.startup.promise.then(() => MathJax.typesetPromise([element]));
      MathJax.Hub = { Queue: (...calls) => calls.forEach(typeset) };
    }
  });
})();

// The theme's arrow that opens the pages below a chapter has no name for those who do not see it.
addEventListener("DOMContentLoaded", () => {
  for (const arrow of document.querySelectorAll(".bd-sidebar summary")) {
    arrow.setAttribute("aria-label", "Pages of this chapter");
  }
});
