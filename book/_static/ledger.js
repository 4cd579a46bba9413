// Filters for the table of claims. The table is complete and in the order of the book without them.
// Their state lives in the address, claims.html#verdict=contradicted&rank=headline, so that a view can be linked.
(() => {
  "use strict";
  const FIELDS = ["chapter", "verdict", "rank", "kind"];

  const element = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const choice = (name, label, options) =>
    element("label", {}, label, element("select", { name }, ...options.map(([value, text]) => new Option(text, value))));

  // The values of each field with their names, in the order the table gives them.
  function vocabulary(table) {
    const words = Object.fromEntries(FIELDS.slice(1).map((field) =>
      [field, table.dataset[field].split(" ").map((word) => [word, word])]));
    words.chapter = [...table.querySelectorAll(".ledger-group")].map((head) =>
      [head.id, head.querySelector("span").textContent]);
    return words;
  }

  function filters(words) {
    const search = element("input", { type: "search", name: "text", placeholder: "words in any order" });
    return element("form", { className: "ledger-filters" },
      ...FIELDS.map((field) => choice(field, field, [["", "all"], ...words[field]])),
      element("label", {}, "search", search),
      element("button", { type: "reset", textContent: "clear" }),
      element("output", { ariaLive: "polite" }));
  }

  function start() {
    const table = document.getElementById("ledger");
    if (!table) return;
    const rows = [...table.querySelectorAll("tr[data-verdict]")];
    const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
    const form = filters(vocabulary(table));
    table.before(form);

    function show() {
      const state = Object.fromEntries(new FormData(form));
      const wanted = state.text.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        row.hidden = FIELDS.some((field) => state[field] && row.dataset[field] !== state[field])
          || wanted.some((word) => !texts.get(row).includes(word));
        shown += !row.hidden;
      }
      for (const body of table.tBodies) {
        const here = [...body.rows].filter((row) => row.dataset.verdict && !row.hidden).length;
        body.hidden = !here;
        body.querySelector("small").textContent = `${here} ${here === 1 ? "claim" : "claims"}`;
      }
      form.querySelector("output").value = `${shown} of ${rows.length} claims`;
    }

    function remember() {
      const hash = new URLSearchParams([...new FormData(form)].filter(([, value]) => value)).toString();
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    }

    // An address names either a view (#verdict=partly) or a place on the page (#cl-14), which then must be visible.
    function restore() {
      const hash = location.hash.slice(1);
      form.reset();
      if (hash.includes("=")) {
        for (const [name, value] of new URLSearchParams(hash)) {
          if (form.elements[name]) form.elements[name].value = value;
        }
        for (const select of form.querySelectorAll("select")) if (select.selectedIndex < 0) select.selectedIndex = 0;
      }
      show();
      (hash.includes("=") ? form : document.getElementById(hash))?.scrollIntoView();
    }

    form.addEventListener("input", () => { show(); remember(); });
    form.addEventListener("reset", () => setTimeout(() => { show(); remember(); }));
    form.addEventListener("submit", (event) => event.preventDefault());
    window.addEventListener("hashchange", restore);
    restore();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
