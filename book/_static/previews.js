// What a link leads to, beside the link: the card of a claim at its mark, and a preview of the figure, the equation,
// the statement, the work or the section that is referred to.  Under the pointer and at the focus; a tap opens the card
// of a claim, and follows all other links at once.  The page carries what is shown (`tools/previews.py`,
// `tools/claim_role.py`).  It stands behind the link, so that the Tab key goes through it and on; Escape, another place
// or another link closes it.
(() => {
  "use strict";
  const WAIT = 200, LEAVE = 250, EDGE = 8;  // milliseconds, and pixels to the edges of the window
  let box = null, open = null, timer = 0;

  const isClaim = (link) => link.matches(".claim");
  const idOf = (mark) => mark.id.split("-cited-")[0].toUpperCase();
  const later = (action, wait) => { clearTimeout(timer); timer = setTimeout(action, wait); };

  function templateOf(link) {
    const [kind, key] = isClaim(link) ? ["card", idOf(link)] : ["preview", link.getAttribute("href")];
    return document.querySelector(`template[data-${kind}="${CSS.escape(key)}"]`);
  }

  function linkOf(target) {
    const link = target.closest?.("article a:is(.claim, .reference.internal)");
    return link && templateOf(link) ? link : null;
  }

  function close() {
    clearTimeout(timer);
    if (!open) return;
    open.setAttribute("aria-expanded", "false");
    box.remove();
    window.MathJax?.typesetClear?.([box]);
    box = open = null;
  }

  // Below the link or, where there is more room, above it; never over it.
  function place() {
    box.style.maxHeight = "";
    const { left, top, bottom } = open.getBoundingClientRect();
    const [over, under] = [top, innerHeight - bottom];
    const below = under > box.offsetHeight + EDGE || under > over;
    box.style.maxHeight = `${Math.min(box.offsetHeight, (below ? under : over) - EDGE - 4)}px`;
    const room = document.documentElement.clientWidth - box.offsetWidth - EDGE;
    box.style.left = `${Math.max(EDGE, Math.min(left, room)) + scrollX}px`;
    box.style.top = `${(below ? bottom + 4 : Math.max(EDGE, top - box.offsetHeight - 4)) + scrollY}px`;
    if (box.scrollHeight > box.clientHeight) box.tabIndex = 0;
  }

  async function typeset(shown) {
    shown.style.visibility = "hidden";
    await MathJax.typesetPromise([shown]);
    // MathJax has a menu for each formula, at which the Tab key would stop; a long equation has to be scrolled.
    for (const one of shown.querySelectorAll("mjx-container:not([display])")) one.removeAttribute("tabindex");
    shown.style.visibility = "";
    if (shown === box) place();
  }

  function show(link) {
    clearTimeout(timer);
    if (open === link) return;
    close();
    open = link;
    link.removeAttribute("title");  // a second preview, of the browser
    link.setAttribute("aria-expanded", "true");
    box = Object.assign(document.createElement("span"), { className: "preview", popover: "manual" });
    box.setAttribute("role", "dialog");
    box.setAttribute("aria-label", isClaim(link) ? `Claim ${idOf(link)}` : `Preview: ${link.textContent.trim()}`);
    box.append(templateOf(link).content.cloneNode(true));
    if (isClaim(link)) {
      const evidence = Object.assign(document.createElement("a"), { href: link.href, textContent: "evidence" });
      box.classList.add("claim-card");
      box.querySelector("code").parentNode.prepend(evidence);
    }
    for (const picture of box.querySelectorAll("img")) picture.addEventListener("load", () => open && place());
    link.after(box);
    box.showPopover?.();  // over all that might cut it off
    place();
    if (box.querySelector(".math") && window.MathJax?.typesetPromise) typeset(box);
  }

  document.addEventListener("pointerover", ({ target, pointerType }) => {
    if (pointerType !== "mouse") return;
    const link = linkOf(target);
    if (link) later(() => show(link), WAIT);
    else if (box?.contains(target)) clearTimeout(timer);
    else later(close, LEAVE);
  });
  document.addEventListener("focusin", ({ target }) => {
    const link = linkOf(target);
    if (link?.matches(":focus-visible")) show(link);
    else if (target !== open && !box?.contains(target)) close();
  });
  document.addEventListener("click", (event) => {
    const link = linkOf(event.target), claim = link && isClaim(link);
    if (claim && event.pointerType === "touch" && open !== link) {
      event.preventDefault();  // a second tap follows the link
      show(link);
    } else if (!claim && !box?.contains(event.target)) close();
  });
  document.addEventListener("keydown", ({ key }) => { if (key === "Escape") close(); });
})();
