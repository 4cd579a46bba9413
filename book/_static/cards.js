// The card of a claim beside its mark: under the pointer, at the focus, on a tap.  It stands in the page behind the mark,
// so that the Tab key goes through its links and on; Escape, another place or another mark closes it.
(() => {
  "use strict";
  const card = Object.assign(document.createElement("span"), { className: "claim-card", popover: "manual" });
  card.setAttribute("role", "dialog");
  let open = null, timer = 0;

  const markOf = (target) => target.closest?.("a.claim");
  const later = (action, wait) => { clearTimeout(timer); timer = setTimeout(action, wait); };

  function close() {
    clearTimeout(timer);
    card.remove();
    open?.setAttribute("aria-expanded", "false");
    open = null;
  }

  function show(mark) {
    clearTimeout(timer);
    const id = mark.id.split("-cited-")[0].toUpperCase();
    const template = document.querySelector(`template[data-card="${id}"]`);
    if (open === mark || !template) return;
    close();
    open = mark;
    const evidence = Object.assign(document.createElement("a"), { href: mark.href, textContent: "evidence" });
    card.replaceChildren(template.content.cloneNode(true));
    card.querySelector("code").parentNode.prepend(evidence);
    card.setAttribute("aria-label", `Claim ${id}`);
    mark.setAttribute("aria-expanded", "true");
    mark.after(card);
    card.showPopover?.();  // over all that might cut it off
    const { left, top, bottom } = mark.getBoundingClientRect();
    const below = bottom + card.offsetHeight + 8 < innerHeight || top < card.offsetHeight + 8;
    const room = document.documentElement.clientWidth - card.offsetWidth - 8;
    card.style.left = `${Math.max(8, Math.min(left, room)) + scrollX}px`;
    card.style.top = `${(below ? bottom + 4 : top - card.offsetHeight - 4) + scrollY}px`;
  }

  document.addEventListener("pointerover", ({ target, pointerType }) => {
    if (pointerType !== "mouse") return;
    const mark = markOf(target);
    if (mark) later(() => show(mark), 150);
    else if (card.contains(target)) clearTimeout(timer);
    else if (open) later(close, 250);
  });
  document.addEventListener("focusin", ({ target }) => {
    if (markOf(target)?.matches(":focus-visible")) show(markOf(target));
    else if (open && target !== open && !card.contains(target)) close();
  });
  document.addEventListener("click", (event) => {
    const mark = markOf(event.target);
    if (mark && event.pointerType === "touch" && open !== mark) {
      event.preventDefault();  // a second tap follows the link
      show(mark);
    } else if (open && !mark && !card.contains(event.target)) close();
  });
  document.addEventListener("keydown", ({ key }) => { if (key === "Escape" && open) close(); });
})();
