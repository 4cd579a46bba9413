/* Elements of the laboratories: what makes them, the fields, and copying. */
globalThis.ShallowLab ??= { models: {} };

(() => {
  "use strict";

  function element(tag, properties = {}, ...children) {
    const { dataset, ...others } = properties, node = Object.assign(document.createElement(tag), others);
    Object.assign(node.dataset, dataset);
    node.append(...children);
    return node;
  }
  const whole = (number) => number.toLocaleString("en-US");
  const valueOf = (given, ...of) => (typeof given === "function" ? given(...of) : given);

  function button(label, act, className = "") {
    const node = element("button", { type: "button", textContent: label, className });
    node.addEventListener("click", act);
    return node;
  }

  /* A field of a control { name, label, kind: "range" | "scale" | "choice" | "whole" | "places", help, ... }: what fits is heard by
   * `changed(name, value)`, that something does not by `refused(words)`.
   */
  let made = 0;
  function input(control, changed, refused) {
    const id = `lab-${control.name}-${made++}`, caption = element("label", { htmlFor: id, textContent: control.label });
    const fits = (value) => ({
      range: () => Number.isInteger(value) && value >= control.min && value <= control.max,
      whole: () => Number.isSafeInteger(value) && value >= 0 && value <= control.max,
      choice: () => control.options.includes(value),
      scale: () => control.options.includes(value),
      places: () => value.split(",").filter(Boolean).every((one) => {
        const [id, place] = one.split(":").map(Number);
        return Number.isInteger(id) && Math.abs(place) <= 0.5;
      }),
    })[control.kind]();
    const places = control.kind === "places";
    const words = places || control.kind === "choice" && typeof control.options[0] === "string";
    const read = (text) => (words ? text : Number(text));
    const slides = control.kind === "range" || control.kind === "scale";
    let field, shown = null;
    if (control.kind === "choice") {
      field = element("select", { id }, ...control.options.map((option) => new Option(option, option)));
    } else if (slides) {  // on a scale the positions are those of the options
      const { min = 0, max = control.options?.length - 1 } = control;
      field = element("input", { id, type: "range", min, max, step: 1 });
      shown = element("span", { className: "lab-value" });
      shown.setAttribute("aria-hidden", "true");
      caption.append(" ", shown);
    } else {
      field = element("input", { id, type: "text", inputMode: "numeric", size: 6, autocomplete: "off" });
    }
    const row = element("div", { className: `lab-control lab-${control.kind}` }, caption, field);
    if (control.help) {
      row.append(element("span", { id: `${id}-help`, className: "lab-unseen", textContent: control.help }));
      field.setAttribute("aria-describedby", `${id}-help`);
    }
    const set = (value) => {
      field.value = String(control.kind === "scale" ? control.options.indexOf(value) : value ?? "");
      field.setAttribute("aria-invalid", "false");
      if (shown) shown.textContent = String(value);
      if (control.kind === "scale") field.setAttribute("aria-valuetext", String(value));
    };
    field.addEventListener(slides ? "input" : "change", () => {
      const text = field.value.trim();
      const value = control.kind === "scale" ? control.options[text] : read(places ? text : text || "none");
      if (fits(value)) {
        set(value);
        changed(control.name, value);
      } else {
        field.setAttribute("aria-invalid", "true");
        refused(`“${text}” does not fit: ${control.label} ${places ? "are places from −0.5 to 0.5, as in 3:0.25"
          : `is a whole number from 0 to ${whole(control.max)}`}.`);
      }
    });
    return { row, set, fits, read };
  }

  // Copies a text and says so; without a clipboard the text is selected where it stands, or the address bar has it.
  async function copy(text, name, node) {
    try {
      await navigator.clipboard.writeText(text);
      return `${name} copied.`;
    } catch {
      if (!node) return `Nothing may be copied here; the ${name.toLowerCase()} stands in the address bar.`;
      getSelection().selectAllChildren(node);
      return `${name} selected: copy it with the keyboard.`;
    }
  }

  Object.assign(ShallowLab, { element, button, input, copy, whole, valueOf });
})();
