// Keeps open details, scroll positions and the focus when a part of a page is refreshed. A part is not replaced while it contains a selection or is
// being pressed. If a refresh fails, the old part stays, with a message.
// On a phone, the cells of a table row are stacked, so each cell gets the name of its column.
"use strict";
(() => {
  const ways = "details, pre, a, button, input, select, textarea, summary, [tabindex]";
  // Elements are identified by their tag and their link, id, label or text; identical ones are numbered.
  const name = (one) => [one.tagName, one.getAttribute("href") || one.id || one.getAttribute("aria-label") || one.form?.getAttribute("action") || one.innerText].join(" ");
  const named = () => {
    const seen = new Map(), found = new Map();
    for (const one of document.querySelectorAll(ways)) {
      const called = name(one), number = seen.get(called) ?? 0;
      seen.set(called, number + 1);
      found.set(`${called} ${number}`, one);
    }
    return found;
  };
  const isInUse = (part) => part.matches(":active") || (!getSelection().isCollapsed && getSelection().containsNode(part, true));
  const tell = (part, fault) => {
    let told = part.querySelector(":scope > .away");
    if (!told) {
      told = document.createElement("p");
      told.className = "fault away";
      told.setAttribute("role", "alert");
      part.prepend(told);
    }
    const text = `The data shown here is out of date. ${fault ?? "It cannot be refreshed now."}`;
    if (told.textContent !== text) told.textContent = text;
  };
  const faultIn = (text) => new DOMParser().parseFromString(text, "text/html").querySelector("p.fault")?.textContent;
  const name_columns = () => {
    for (const table of document.querySelectorAll(".wide table:not(.week)")) {
      table.classList.add("cards");
      const columns = [...table.querySelectorAll("thead th")].map((one) => one.textContent);
      for (const row of table.tBodies[0]?.rows ?? []) {
        [...row.cells].forEach((cell, at) => (cell.dataset.column = columns[at] ?? ""));
      }
    }
  };
  name_columns();
  let kept = null;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, target, requestConfig } = event.detail;
    if (xhr.status >= 400) {
      event.detail.shouldSwap = false;
      tell(target, faultIn(xhr.responseText));
      return;
    }
    // A part that is not refreshed periodically is always replaced.
    if (requestConfig.elt.getAttribute("hx-trigger").includes("every") && isInUse(target)) {
      event.detail.shouldSwap = false;
      return;
    }
    kept = { open: [], scrolled: [], focus: null };
    for (const [called, one] of named()) {
      if (one.tagName === "DETAILS" && one.open) kept.open.push(called);
      if (one.scrollTop || one.scrollLeft) kept.scrolled.push([called, one.scrollLeft, one.scrollTop]);
      if (one === document.activeElement) kept.focus = called;
    }
  });
  document.addEventListener("htmx:afterSwap", () => {
    name_columns();
    if (!kept) return;
    const there = named();
    for (const called of kept.open) there.get(called)?.setAttribute("open", "");
    for (const [called, left, top] of kept.scrolled) there.get(called)?.scrollTo(left, top);
    const focus = there.get(kept.focus);
    if (focus && focus !== document.activeElement) focus.focus({ preventScroll: true });
    kept = null;
  });
  document.addEventListener("htmx:sendError", (event) => tell(event.detail.target));
})();
