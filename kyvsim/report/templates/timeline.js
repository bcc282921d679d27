// Folds, and arrows between cards.
const lanes = document.querySelector(".lanes");
const rows = (fold) => all(`.row[data-fold="${fold}"]`, lanes);

function setFold(fold, open) {
  for (const one of rows(fold)) one.classList.toggle("open", open);
  lanes.querySelector(`.fold[data-fold="${fold}"] button`).setAttribute("aria-expanded", open);
}
for (const one of all(".fold", lanes)) one.firstElementChild.addEventListener("click", (event) => {
  setFold(one.dataset.fold, event.currentTarget.getAttribute("aria-expanded") === "false");
  show();
});
page.folded = (row) => !filtered() && row.matches(".folded:not(.open)");
const every = document.getElementById("every");
const again = () => { offer(); show(); };
page.absent = (item) => Boolean(item.closest(".noise") && !every.checked);
page.reveal.push((element) => {
  const row = element.closest(".row");
  if (!row) return;
  if (row.hidden) clear();
  if (page.absent(element)) { every.checked = true; again(); }
  if (row.dataset.fold !== undefined) { setFold(row.dataset.fold, true); show(); }
  while (row.hidden && !page.more.hidden) { page.room += page.most; show(); }
  draw();
});

const SVG = "http://www.w3.org/2000/svg";
const canvas = lanes.appendChild(document.createElementNS(SVG, "svg"));
canvas.setAttribute("class", "arrows");
canvas.setAttribute("aria-hidden", "true");
const path = (look, line) => {
  const made = canvas.appendChild(document.createElementNS(SVG, "path"));
  made.setAttribute("class", look);
  made.setAttribute("d", line);
  return made;
};
const cards = new Map(page.items.map((one) => [one.id, one]));
let arrows = [];

// A card, or the line that stands for it where it is folded; null where nothing is to be seen of it.
function spot(card, from) {
  if (!card) return null;
  const fold = card.closest("[data-fold]");
  const seen = card.offsetParent ? card : fold && lanes.querySelector(`.fold[data-fold="${fold.dataset.fold}"]`);
  if (!seen || !seen.offsetParent) return null;
  const box = seen.getBoundingClientRect();
  return {
    seen, folded: seen !== card, top: box.top - from.top, bottom: box.bottom - from.top,
    left: box.left - from.left, right: box.right - from.left, y: box.top - from.top + Math.min(box.height / 2, 16),
  };
}

// What leads into a fold, or out of it, goes straight down.
function descent(start, end) {
  const x = ((start.folded ? end : start).left + (start.folded ? end : start).right) / 2;
  return [path("", `M${x} ${start.bottom}V${end.top - 5}`), path("tip", `M${x} ${end.top}l-4 -7h8z`)];
}

function arrow(start, end) {
  if (start.folded || end.folded) return descent(start, end);
  const [x1, x2, lean] = start.right < end.left ? [start.right, end.left, 1]
    : end.right < start.left ? [start.left, end.right, -1] : [start.left, end.left, 0];
  const bend = lean ? Math.max(18, Math.abs(x2 - x1) / 2) : -Math.min(26, 8 + Math.abs(end.y - start.y) / 12);
  const into = lean < 0 ? 1 : -1;
  const line = lean
    ? `M${x1} ${start.y}C${x1 + lean * bend} ${start.y} ${x2 - lean * bend} ${end.y} ${x2 + into * 4} ${end.y}`
    : `M${x1} ${start.y}C${x1 + bend} ${start.y} ${x2 + bend} ${end.y} ${x2 - 4} ${end.y}`;
  return [path("", line), path("tip", `M${x2} ${end.y}l${into * 7} -4v8z`)];
}

// Narrow pages have no columns: there, lanes are lines beside the cards, in the order of the chart.
const laneOf = (card) => Number(/ l(\d+) /.exec(card.className)[1]);

function beside(start, end, x1, x2) {
  const lean = Math.sign(x2 - x1);
  const line = lean
    ? `M${x1} ${start.y}V${end.y - 9}Q${x1} ${end.y} ${x2 - lean * 9} ${end.y}`
    : `M${x1} ${start.y}C${x1 - 8} ${start.y} ${x1 - 8} ${end.y} ${x1 - 8} ${end.y}`;
  const into = lean || 1;
  return [path("", line), path("tip", `M${x2 - into * 3} ${end.y}l${-into * 6} -3v6z`)];
}

function drawBeside() {
  const names = all(".head", lanes).length - 1;
  const step = Math.min(12, 72 / names);
  const x = (card) => 12 + laneOf(card) * step;
  lanes.style.setProperty("--gutter", `${names * step + 12}px`);
  const from = lanes.getBoundingClientRect();
  for (let lane = 0; lane < names; lane += 1) path("rail", `M${12 + lane * step} 0V${from.height}`);
  link(from, (start, end, cause, card) => beside(start, end, x(cause), x(card)));
  for (const card of cards.values()) {
    const at = spot(card, from);
    if (at && !at.folded) path(`dot${card.matches(".bad") ? " bad" : ""}`, `M${x(card) - 3} ${at.y}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z`);
  }
}

// Draw an arrow to each card that can be seen, from that of its cause.
function link(from, arrowOf) {
  for (const [id, card] of cards) {
    const cause = cards.get(card.dataset.cause);
    const start = spot(cause, from);
    const end = spot(card, from);
    if (start && end && start.seen !== end.seen) arrows.push({ from: cause.id, to: id, paths: arrowOf(start, end, cause, card) });
  }
}

function draw() {
  document.documentElement.style.setProperty("--bar", `${document.querySelector(".bar").offsetHeight}px`);
  canvas.replaceChildren();
  arrows = [];
  canvas.setAttribute("width", lanes.clientWidth);
  canvas.setAttribute("height", lanes.scrollHeight);
  if (getComputedStyle(lanes).display !== "grid") { drawBeside(); return; }
  const from = lanes.getBoundingClientRect();
  for (const head of all(".head", lanes).slice(1)) {
    const box = head.getBoundingClientRect();
    path("rail", `M${(box.left + box.right) / 2 - from.left} 30V${from.height}`);
  }
  link(from, arrow);
}

// What led to a card, and what it led to.
function point(card) {
  const on = new Set();
  if (card) {
    for (let one = card; one; one = cards.get(one.dataset.cause)) on.add(one.id);
    for (const one of arrows) if (one.from === card.id) on.add(one.to);
  }
  for (const one of arrows) for (const line of one.paths) line.classList.toggle("on", on.has(one.from) && on.has(one.to));
  for (const [id, one] of cards) one.classList.toggle("on", on.size > 1 && on.has(id));
}
for (const kind of ["focusin", "mouseover"]) lanes.addEventListener(kind, (event) => point(event.target.closest(".event")));
for (const kind of ["focusout", "mouseleave"]) lanes.addEventListener(kind, () => point(null));

page.changed.push(() => {
  for (const one of all(".fold", lanes)) one.hidden = rows(one.dataset.fold).every((row) => row.hidden);
  const end = lanes.querySelector(".end"); // after all events
  if (end) end.hidden = !page.more.hidden;
  draw();
});
addEventListener("resize", draw);
lanes.addEventListener("toggle", draw, true);
if (every) every.addEventListener("change", again);
again();
