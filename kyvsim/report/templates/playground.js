// Editors, a link that contains their text, and results while the user types.
const LIMIT = 1 << 20; // characters of a link's texts
const WAIT = 250; // milliseconds without a key before it is evaluated
const texts = new Map(all("textarea").map((one) => [one.id, one]));
const answer = document.getElementById("answer");
const state = document.getElementById("state");
const tabs = all("[role=tab]");
const sheet = new CSSStyleSheet();
document.adoptedStyleSheets = [sheet];
let view = "verdicts";
let asking = null;
let timer = 0;

const typed = () => Object.fromEntries([...texts].map(([name, one]) => [name, one.value]));

// Numbers of lines, beside what is scrolled.
function number(text) {
  const gutter = text.previousElementSibling;
  const lines = text.value.split("\n").length;
  if (gutter.childElementCount !== lines) {
    gutter.replaceChildren(...Array.from({ length: lines }, (_, index) => {
      const made = document.createElement("span");
      made.textContent = index + 1;
      return made;
    }));
  }
  gutter.scrollTop = text.scrollTop;
}

// What is typed as a link: JSON, deflated, in base64 for URLs.
async function packed() {
  const written = Object.entries(typed()).filter(([, text]) => text);
  const bytes = new TextEncoder().encode(JSON.stringify({ ...Object.fromEntries(written), view }));
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const small = new Uint8Array(await new Response(stream).arrayBuffer());
  let text = "";
  for (const one of small) text += String.fromCharCode(one);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder();
  let found = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    found += decoder.decode(piece.value, { stream: true });
    if (found.length > LIMIT) { reader.cancel(); throw new RangeError("too large"); }
  }
  return JSON.parse(found + decoder.decode());
}

function fill(found) {
  for (const [name, one] of texts) {
    one.value = typeof found[name] === "string" ? found[name] : "";
    number(one);
  }
}

function say(text) {
  const line = document.createElement("p");
  line.className = "ending bad";
  line.textContent = text;
  answer.replaceChildren(line);
}

// Positions in results link to the text.
const PLACE = /^(policies|resources|values|exceptions)\.yaml(?::(\d+):(\d+))?/;
function lead(from) {
  for (const one of all(".place", from)) {
    const found = PLACE.exec(one.textContent);
    if (!found) continue;
    one.classList.add("goes");
    one.setAttribute("role", "link");
    one.tabIndex = 0;
  }
}

function go(element) {
  const [, name, line = "1", column = "1"] = PLACE.exec(element.textContent);
  const text = texts.get(name);
  const lines = text.value.split("\n");
  const row = Math.min(Math.max(Number(line), 1), lines.length) - 1;
  const start = lines.slice(0, row).join("\n").length + (row ? 1 : 0);
  text.focus();
  text.setSelectionRange(start + Math.min(Number(column) - 1, lines[row].length), start + lines[row].length);
  text.scrollTop = Math.max(0, (row - 4) * parseFloat(getComputedStyle(text).lineHeight));
  text.scrollIntoView({ block: "nearest" });
}

// The parts that the user has opened or closed: they stay so when the result is updated.
const nameOf = (one) => {
  const item = one.closest(".item");
  const inner = item ? all("details", item).indexOf(one) : 0;
  return JSON.stringify([view, item ? { ...item.dataset } : "", inner]);
};
const opened = new Map();
answer.addEventListener("click", (event) => {
  const summary = event.target.closest("summary");
  if (summary) opened.set(nameOf(summary.parentElement), !summary.parentElement.open);
});

function put(shown) {
  sheet.replaceSync(shown.style);
  answer.innerHTML = shown.html; // a template of ours has escaped all that is a user's
  for (const one of all(".list > .item:not([data-item]) > p", answer)) {
    const found = PLACE.exec(one.textContent);
    if (!found) continue;
    const place = document.createElement("span");
    place.className = "place";
    place.textContent = found[0];
    one.firstChild.textContent = one.firstChild.textContent.slice(found[0].length);
    one.prepend(place);
  }
  for (const one of all(".item.info[data-status] > details", answer)) one.open = true;
  for (const one of all("details", answer)) {
    const name = nameOf(one);
    if (opened.has(name)) one.open = opened.get(name);
  }
  const wrong = new Set(all(".item.bad:not([data-item]) .place", answer).map((one) => PLACE.exec(one.textContent)?.[1]));
  for (const [name, one] of texts) one.closest(".editor").classList.toggle("bad", wrong.has(name));
  lead(answer);
}

async function evaluate() {
  if (asking) asking.abort();
  const own = asking = new AbortController();
  answer.classList.add("old");
  state.textContent = "evaluating";
  try {
    const found = await fetch("evaluate", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...typed(), view }),
      signal: own.signal,
    });
    const shown = await found.json();
    if (own !== asking) return;
    if (found.ok) put(shown);
    else say(shown.error);
  } catch (error) {
    if (own !== asking || error.name === "AbortError") return;
    say("no answer from the server: is `kyvsim playground` still running?");
  }
  answer.classList.remove("old");
  state.textContent = "";
  answer.dataset.count = Number(answer.dataset.count || 0) + 1;
}

async function renew() {
  const link = await packed();
  history.replaceState(null, "", `#${link}`);
  await evaluate();
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(renew, WAIT);
}

for (const one of texts.values()) {
  one.addEventListener("input", () => { number(one); later(); });
  one.addEventListener("scroll", () => number(one));
  // A new line begins where the last one did.
  one.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const before = one.value.slice(0, one.selectionStart);
    const indent = /^ */.exec(before.slice(before.lastIndexOf("\n") + 1))[0];
    event.preventDefault();
    one.setRangeText(`\n${indent}`, one.selectionStart, one.selectionEnd, "end");
    one.dispatchEvent(new Event("input"));
  });
}

function choose(name) {
  view = name;
  for (const one of tabs) {
    const chosen = one.dataset.view === name;
    one.setAttribute("aria-selected", chosen);
    one.tabIndex = chosen ? 0 : -1;
  }
  answer.setAttribute("aria-labelledby", `tab-${name}`);
}
for (const one of tabs) one.addEventListener("click", () => { choose(one.dataset.view); renew(); });
document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const at = tabs.indexOf(event.target);
  if (!step || at < 0) return;
  const next = tabs[(at + step + tabs.length) % tabs.length];
  next.focus();
  next.click();
});

answer.addEventListener("click", (event) => {
  const place = event.target.closest(".goes");
  const link = event.target.closest("a[href^='#']");
  const fold = event.target.closest(".fold button");
  if (place) { event.preventDefault(); go(place); }
  if (link) {
    event.preventDefault(); // the address contains the input
    seen(document.getElementById(link.getAttribute("href").slice(1)));
  }
  if (fold) {
    const open = fold.getAttribute("aria-expanded") === "false";
    fold.setAttribute("aria-expanded", open);
    for (const row of all(`.row[data-fold="${fold.parentElement.dataset.fold}"]`, answer)) row.classList.toggle("open", open);
  }
});
answer.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches(".goes")) go(event.target);
});

document.getElementById("examples").addEventListener("change", (event) => {
  const chosen = event.target.selectedOptions[0];
  if (chosen.value) { fill(chosen.dataset); renew(); }
});
document.getElementById("link").addEventListener("click", async () => {
  history.replaceState(null, "", `#${await packed()}`);
  try {
    await navigator.clipboard.writeText(location.href);
    state.textContent = "link copied";
  } catch {
    state.textContent = "copy the address of this page";
  }
});

async function begin() {
  const link = location.hash.slice(1);
  let found = document.getElementById("examples").options[1].dataset;
  if (link) {
    try {
      found = await unpacked(link);
      if (tabs.some((one) => one.dataset.view === found.view)) choose(found.view);
    } catch {
      fill({});
      say("the link cannot be read: it may be incomplete");
      return;
    }
  }
  fill(found);
  await evaluate();
}
addEventListener("hashchange", begin);
begin();
