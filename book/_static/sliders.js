/* Names for what the sliders' handles and buttons are and show.
 *
 * The widgets leave a handle without a name and announce its position in the list of values, not the value; their
 * buttons are icons alone; and the readout can be typed into, which changes nothing.
 */
(() => {
  "use strict";

  const BUTTONS = { "fa-play": "Play", "fa-pause": "Pause", "fa-stop": "Stop and return to the start", "fa-retweet": "Repeat" };

  // Only real changes, or the observer below would call itself for ever.
  const set = (element, attribute, value) => {
    if (element && element.getAttribute(attribute) !== value) element.setAttribute(attribute, value);
  };

  const describe = () => {
    for (const slider of document.querySelectorAll(".shallow-sliders .widget-slider")) {
      const handle = slider.querySelector(".noUi-handle");
      const readout = slider.querySelector(".widget-readout");
      set(handle, "aria-label", slider.querySelector("label").textContent);
      set(handle, "aria-valuetext", readout.textContent);
      set(readout, "contenteditable", "false");
    }
    for (const button of document.querySelectorAll(".shallow-sliders .jupyter-button")) {
      const icon = button.querySelector("i");
      const name = icon && BUTTONS[[...icon.classList].find((one) => one in BUTTONS)];
      if (name) {
        set(button, "aria-label", name);
        set(button, "title", name);
      }
    }
  };

  new MutationObserver(describe).observe(document.documentElement, {
    attributes: true, attributeFilter: ["aria-valuetext", "class", "contenteditable"], childList: true, subtree: true,
  });
})();
