// The page of the search: sections, terms, functions and claims that contain all words, by page, with an excerpt each.
// It looks through window.searchSections, which tools/search_index.py writes; `Stemmer` and `stopwords`
// are Sphinx's, for English.
(() => {
  "use strict";
  const SHOWN = 4, LENGTH = 240, LIBRARY = 0.5;
  const out = document.getElementById("search-results");
  const field = document.querySelector("#main-content input[name=q]");

  const element = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  // A word is found in its other forms too, at the beginnings of words; one with a digit, such as CL-14, as it is.
  function pattern(word) {
    const whole = /\d|[^\p{L}]/u.test(word);
    const sought = whole ? word : new Stemmer().stemWord(word).replace(/i$/, "(?:y|i)");
    const text = whole ? escaped(sought) : sought;
    return new RegExp(`(?<![\\p{L}\\p{N}])${text}${whole ? "(?![\\p{L}\\p{N}])" : "\\p{L}*"}`, "giu");
  }

  const count = (text, words) => words.map((word) => (text.match(word) ?? []).length);

  // How well a part answers; 0 where a word is in neither its title nor its text.
  function score(title, text, words) {
    const above = count(title, words), below = count(text, words);
    if (words.some((_, i) => !above[i] && !below[i])) return 0;
    const length = title.split(/\s+/).length;
    return words.reduce((sum, _, i) => sum + (above[i] ? 10 + 20 / length : 0) + Math.min(below[i], 5), 0);
  }

  function search(words) {
    const found = [];
    for (const { page, title, parts } of window.searchSections) {
      const weight = page.startsWith("book/library/") ? LIBRARY : 1;
      const hits = parts.map(([anchor, name, text]) => ({ anchor, name, text, score: weight * score(name, text, words) }))
        .filter((part) => part.score).sort((a, b) => b.score - a.score);
      if (hits.length) found.push({ page, title, hits });
    }
    return found.sort((a, b) => b.hits[0].score - a.hits[0].score);
  }

  // The text with the words in <mark>.
  function marked(text, words) {
    const places = words.flatMap((word) => [...text.matchAll(word)].map((m) => [m.index, m.index + m[0].length]));
    const node = document.createDocumentFragment();
    let at = 0;
    for (const [from, to] of places.sort((a, b) => a[0] - b[0])) {
      if (from < at) continue;
      node.append(text.slice(at, from), element("mark", { textContent: text.slice(from, to) }));
      at = to;
    }
    node.append(text.slice(at));
    return node;
  }

  // Whole words around the first place where one of the words is.
  function excerpt(text, words) {
    const places = words.map((word) => text.search(word)).filter((at) => at >= 0);
    const first = places.length ? Math.min(...places) : 0;
    const from = first < LENGTH / 2 ? 0 : text.indexOf(" ", first - LENGTH / 2) + 1;
    const to = from + LENGTH < text.length ? text.lastIndexOf(" ", from + LENGTH) : text.length;
    const cut = `${from ? "… " : ""}${text.slice(from, to)}${to < text.length ? " …" : ""}`;
    return marked(cut, words);
  }

  function address(page, anchor, query) {
    if (anchor.endsWith(".html")) return `book/${anchor}`;
    const hash = anchor && `#${anchor}`;
    return `${page}?highlight=${encodeURIComponent(query)}${hash}`;  // Sphinx's own script marks the words there
  }

  function place(page, hit, words, query) {
    const link = element("a", { href: address(page, hit.anchor, query) }, marked(hit.name, words));
    return element("li", {}, link, element("p", { className: "context" }, excerpt(hit.text, words)));
  }

  // A page with its best places; where its beginning is one of them, its excerpt comes first.
  function result({ page, title, hits }, words, query) {
    const start = hits.find((hit) => !hit.anchor);
    const items = hits.filter((hit) => hit.anchor).map((hit) => place(page, hit, words, query));
    const node = element("li", {}, element("a", { href: address(page, "", query) }, marked(title, words)));
    if (start) node.append(element("p", { className: "context" }, excerpt(start.text, words)));
    if (items.length) node.append(element("ul", {}, ...items.slice(0, SHOWN)));
    if (items.length > SHOWN) {
      const more = element("summary", { textContent: `${items.length - SHOWN} more on this page` });
      node.append(element("details", {}, more, element("ul", {}, ...items.slice(SHOWN))));
    }
    return node;
  }

  function show(query) {
    const words = query.toLowerCase().split(/[\s,;:"“”]+/).filter((word) => word && !stopwords.includes(word)).map(pattern);
    const found = words.length ? search(words) : [];
    const parts = found.reduce((sum, one) => sum + one.hits.length, 0);
    summary.textContent = !words.length ? "" : parts
      ? `Search finished: ${parts} ${parts === 1 ? "place" : "places"} on ${found.length} ${found.length === 1 ? "page" : "pages"}.`
      : "Search finished: nothing has all these words.";
    list.replaceChildren(...found.map((one) => result(one, words, query)));
  }

  const summary = element("p", { className: "search-summary", role: "status" });
  const list = element("ul", { className: "search" });
  out.append(summary, list);
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  show(field.value);
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      history.replaceState(null, "", `?q=${encodeURIComponent(field.value)}`);
      show(field.value);
    }, 150);
  });
})();
