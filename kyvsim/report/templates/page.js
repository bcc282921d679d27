"use strict";
// What all pages can do: search, filters, keys. A page without it shows everything.
document.documentElement.classList.add("js");
const all = (selector, from = document) => [...from.querySelectorAll(selector)];
const page = {
  items: all(".item[data-item]"),
  groups: new Map(), // sections and their rows
  search: document.querySelector(".bar input[type=search]"),
  selects: all(".bar select"),
  output: document.querySelector(".bar output"),
  rows: new Map(), // what is hidden with an item: itself, or its row with all items in it
  absent: () => false, // whether an item is not shown, whatever the filters say
  folded: () => false, // whether a row is not shown, but a line that stands for it
  reveal: [],   // called with an element that is to be seen
  fitting: new Set(), // the items that fit the search and the filters
  most: 500, room: 500, // rows that are shown at once, and now
  more: document.createElement("button"),
  changed: [],  // called when other items are shown
};
const rowOf = (item) => item.closest("[data-row]") || item;
for (const item of page.items) page.rows.set(rowOf(item), [...(page.rows.get(rowOf(item)) || []), item]);
for (const group of all(".group")) page.groups.set(group, [...new Set(all(".item[data-item]", group).map(rowOf))]);
const values = (item, key) => (item.dataset[key] || "").split("\n").filter(Boolean);

// Fill the filters with what items have, and leave out those that leave no choice.
function offer() {
  const items = page.items.filter((one) => !page.absent(one));
  for (const select of page.selects) {
    const chosen = select.value;
    const found = [...new Set(items.flatMap((one) => values(one, select.dataset.key)))].sort();
    select.replaceChildren(select.options[0], ...found.map((one) => new Option(one, one)));
    select.value = found.includes(chosen) ? chosen : "";
    select.closest("label").hidden = found.length < 2;
  }
}

const filtered = () => Boolean(page.search && (page.search.value.trim() || page.selects.some((one) => one.value)));

function show() {
  const words = page.search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = page.selects.filter((one) => one.value).map((one) => [one.dataset.key, one.value]);
  const fits = (item) => {
    const group = item.closest(".group");
    return wanted.every(([key, value]) => values(item, key).includes(value)) &&
      (!words.length || words.every((word) =>
        item.textContent.toLowerCase().includes(word) ||
        (group && group.firstElementChild.textContent.toLowerCase().includes(word))));
  };
  page.fitting = new Set(page.items.filter(fits));
  // Long pages show a part of the rows: laying out many thousands takes seconds.
  let room = page.room, rest = 0;
  for (const [row, items] of page.rows) {
    const number = items.filter((one) => page.fitting.has(one) && !page.absent(one)).length;
    row.hidden = !items.some((one) => page.fitting.has(one)) || room <= 0;
    if (page.folded(row)) continue;
    if (room <= 0) rest += number;
    room -= number;
  }
  for (const [group, rows] of page.groups) group.hidden = rows.length ? rows.every((one) => one.hidden) : filtered();
  const shown = [...page.fitting].filter((one) => !page.absent(one)).length;
  page.more.hidden = !rest;
  page.more.textContent = `show ${Math.min(rest, page.most)} more of ${rest}`;
  page.output.textContent = `${shown} of ${page.items.filter((one) => !page.absent(one)).length}`;
  document.documentElement.classList.toggle("filtered", filtered());
  for (const rest of all("details.rest")) rest.open = filtered();
  for (const call of page.changed) call();
}

function seen(element) {
  const row = rowOf(element);
  while (row.hidden && !page.more.hidden) { page.room += page.most; show(); }
  for (let one = element.parentElement; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  for (const call of page.reveal) call(element);
  element.scrollIntoView({ block: "center" });
  element.focus({ preventScroll: true });
}

// The next item that can be seen and fits, from where the reader is, round and round.
function move(step, selector) {
  const here = document.activeElement && document.activeElement.closest(".item[data-item]");
  const able = page.items.filter((one) =>
    one === here || (one.matches(selector) && page.fitting.has(one) && !page.absent(one)));
  const at = able.indexOf(here);
  const start = at < 0 && step < 0 ? able.length : at;
  const next = able[(start + step + able.length) % able.length];
  if (next) seen(next);
}

const clear = () => {
  page.search.value = "";
  for (const one of page.selects) one.value = "";
  show();
};
const keys = {
  "/": () => page.search.focus(),
  n: () => move(1, ".bad"), p: () => move(-1, ".bad"), N: () => move(-1, ".bad"),
  d: () => move(1, "[data-difference]:not([data-difference=alike], [data-difference=''])"),
  j: () => move(1, "*"), k: () => move(-1, "*"),
};

if (page.search) {
  page.more.type = "button";
  page.more.className = "more";
  page.more.addEventListener("click", () => { page.room += page.most; show(); });
  const last = [...page.rows.keys()].pop();
  if (last) (last.closest(".group") || last.parentElement).after(page.more);
  document.querySelector(".bar").hidden = !page.items.length;
  for (const one of all("[data-go=n]")) one.hidden = !page.items.some((item) => item.matches(".bad"));
  offer();
  show();
  page.search.addEventListener("input", show);
  for (const one of page.selects) one.addEventListener("change", show);
  for (const one of all("[data-go]")) one.addEventListener("click", () => keys[one.dataset.go]());
  for (const one of all("[data-set]")) one.addEventListener("click", () => {
    const choose = (key, value) => { page.selects.find((other) => other.dataset.key === key).value = value; };
    if (one.classList.contains("count")) clear();
    choose(one.dataset.set, one.dataset.value);
    if (one.dataset.status) choose("status", one.dataset.status);
    show();
    document.querySelector(".bar").scrollIntoView({ block: "start" });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.closest(".bar, body")) { clear(); document.activeElement.blur(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    if (Object.hasOwn(keys, event.key)) { event.preventDefault(); keys[event.key](); }
  });
  const target = () => {
    const found = location.hash && document.getElementById(location.hash.slice(1));
    if (found && found.matches(".item")) seen(found);
  };
  addEventListener("hashchange", target);
  addEventListener("load", target);
  addEventListener("beforeprint", () => { page.room = Infinity; show(); });
}
