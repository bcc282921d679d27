// Folds, and arrows between cards.
const lanes = document.querySelector(".lanes");
const rows = (fold) => all(`.row[data-fold="${fold}"]`, lanes);

function setFold(fold, open) {
  for (const one of rows(fold)) one.classList.toggle("open", open);
  lanes.querySelector(`.fold[data-fold="${fold}"] button`).setAttribute("aria-expanded", open);
}
for (const one of all(".fold", lanes)) one.firstElementChild.addEventListener("click", (event) => {
  setFold(one.dataset.fold, event.currentTarget.getAttribute("aria-expanded") === "false");
  draw();
});
const every = document.getElementById("every");
const again = () => { offer(); show(); };
page.absent = (item) => Boolean(item.closest(".noise") && !every.checked);
page.reveal.push((element) => {
  const row = element.closest(".row");
  if (!row) return;
  if (row.hidden) clear();
  if (page.absent(element)) { every.checked = true; again(); }
  if (row.dataset.fold !== undefined) setFold(row.dataset.fold, true);
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

function draw() {
  document.documentElement.style.setProperty("--bar", `${document.querySelector(".bar").offsetHeight}px`);
  canvas.replaceChildren();
  arrows = [];
  if (getComputedStyle(canvas).display === "none") return;
  const from = lanes.getBoundingClientRect();
  canvas.setAttribute("width", from.width);
  canvas.setAttribute("height", lanes.scrollHeight);
  for (const head of all(".head", lanes).slice(1)) {
    const box = head.getBoundingClientRect();
    path("rail", `M${(box.left + box.right) / 2 - from.left} 30V${from.height}`);
  }
  for (const [id, card] of cards) {
    if (!card.dataset.cause) continue;
    const start = spot(cards.get(card.dataset.cause), from);
    const end = spot(card, from);
    if (start && end && start.seen !== end.seen) arrows.push({ from: card.dataset.cause, to: id, paths: arrow(start, end) });
  }
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

page.changed.push(draw);
addEventListener("resize", draw);
lanes.addEventListener("toggle", draw, true);
if (every) every.addEventListener("change", again);
again();
