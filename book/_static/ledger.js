// Filters and groupings for the table of claims. The table is complete and in the order of the book without them.
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
      choice("group", "group by", FIELDS.map((field) => [field, field])),
      element("label", {}, "search", search),
      element("button", { type: "reset", textContent: "clear" }),
      element("output", { ariaLive: "polite" }));
  }

  function start() {
    const table = document.getElementById("ledger");
    if (!table) return;
    const rows = [...table.querySelectorAll("tr[data-verdict]")];
    const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
    const chapters = [...table.tBodies];
    const words = vocabulary(table);
    const form = filters(words);
    table.before(form);

    // Move the rows below the headings of another field; the chapters' own bodies come back as they were.
    function group(field) {
      if (table.dataset.group === field) return;
      table.dataset.group = field;
      const bodies = field === "chapter" ? chapters : words[field].map(([, name]) =>
        element("tbody", {}, element("tr", { className: "ledger-group" },
          element("th", { colSpan: 3, scope: "rowgroup" }, element("span", { textContent: name }), " ", element("small")))));
      const index = new Map(words[field].map(([value], place) => [value, place]));
      rows.forEach((row) => bodies[index.get(row.dataset[field])].append(row));
      [...table.tBodies].forEach((body) => body.remove());
      table.append(...bodies);
    }

    function show() {
      const state = Object.fromEntries(new FormData(form));
      const wanted = state.text.toLowerCase().split(/\s+/).filter(Boolean);
      group(state.group);
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
      mark(wanted);
    }

    // The words that were searched for, where the browser can mark them.
    function mark(words) {
      if (!window.Highlight) return;
      const found = new Highlight();
      for (const row of words.length ? rows.filter((row) => !row.hidden) : []) {
        const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
          const text = node.data.toLowerCase();
          for (const word of words) {
            for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
              found.add(new StaticRange({ startContainer: node, startOffset: at, endContainer: node, endOffset: at + word.length }));
            }
          }
        }
      }
      CSS.highlights.set("ledger-word", found);
    }

    function remember() {
      const state = [...new FormData(form)].filter(([name, value]) => value && !(name === "group" && value === "chapter"));
      const hash = new URLSearchParams(state).toString();
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
