// Editors, a link that contains their text, and results while the user types.
const LIMIT = 1 << 20; // characters of a link's texts
const WAIT = 250; // milliseconds without a key before it is evaluated
const texts = new Map(); // editors by name
const fields = ["operation", "user", "groups"].map((name) => document.getElementById(name));
const answer = document.getElementById("answer");
const state = document.getElementById("state");
const tabs = all("[role=tab]");
const sheet = new CSSStyleSheet();
document.adoptedStyleSheets = [sheet];
let view = "verdicts";
let asking = null;
let timer = 0;

const typed = () => Object.fromEntries([
  ...[...texts].map(([name, one]) => [name, one.text]),
  ...fields.map((one) => [one.id, one.value.trim()]),
]);

async function send(path, content, signal) {
  const found = await fetch(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content), signal,
  });
  return [found.ok, found.status === 204 ? null : await found.json()];
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
  const textOf = (name) => (typeof found[name] === "string" ? found[name] : "");
  for (const [name, one] of texts) {
    one.text = textOf(name);
    if (OPTIONAL.has(name)) folder(name).open = one.text !== "";
  }
  for (const one of fields) one.value = textOf(one.id);
  fields[0].selectedIndex = Math.max(fields[0].selectedIndex, 0); // an operation that is not offered
  allowGroups();
}

const allowGroups = () => { fields[2].disabled = !fields[1].value.trim(); }; // they are those of the user

function say(text) {
  const line = document.createElement("p");
  line.className = "ending bad";
  line.textContent = text;
  answer.replaceChildren(line);
}

// Positions in results link to the text.
const OPTIONAL = new Set(["values", "exceptions"]); // folded while they are empty
const folder = (name) => document.querySelector(`[data-editor=${name}]`);
const PLACE = /^(policies|resources|values|exceptions)\.yaml(?::(\d+):(\d+))?/;
function lead(from) {
  for (const one of all(".place", from)) {
    const found = PLACE.exec(one.textContent);
    if (!found) continue;
    one.classList.add("goes");
    if (one.closest("summary")) continue; // it is a button, which cannot contain links: for the mouse only
    one.setAttribute("role", "link");
    one.tabIndex = 0;
  }
}

function go(element) {
  const [, name, line = "1", column = "1"] = PLACE.exec(element.textContent);
  folder(name).open = true;
  texts.get(name).go(Number(line), Number(column));
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
  for (const [name, one] of texts) {
    folder(name).classList.toggle("bad", wrong.has(name));
    one.mark(shown.marks.filter((mark) => mark.text === name));
  }
  lead(answer);
}

async function evaluate() {
  if (asking) asking.abort();
  const own = asking = new AbortController();
  answer.classList.add("old");
  state.textContent = "evaluating";
  try {
    const [ok, shown] = await send("evaluate", { ...typed(), view }, own.signal);
    if (own !== asking || !shown) return;
    if (ok) put(shown);
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

for (const own of all(".editor")) {
  const name = own.dataset.editor;
  const one = kyvsimEditor.createEditor({
    parent: document.getElementById(name),
    label: name,
    description: "Escape and then Tab leaves the editor.",
    change: later,
    complete: async (text, line, column) => {
      try {
        const [ok, found] = await send("complete", { text, line, column });
        return ok && found ? found : [];
      } catch {
        return []; // the next evaluation shows that the server has ended
      }
    },
  });
  texts.set(name, one);
  const [open, chosen, save] = all(".files > *", own);
  open.addEventListener("click", () => chosen.click());
  chosen.addEventListener("change", async () => {
    const read = await Promise.all([...chosen.files].map((file) => file.text()));
    chosen.value = ""; // the same file can be opened again
    if (!read.length) return;
    one.text = read.map((text) => text.trimEnd() + "\n").join("---\n");
    renew();
  });
  save.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([one.text], { type: "application/yaml" }));
    link.download = `${name}.yaml`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
}
for (const one of fields) one.addEventListener("input", () => { allowGroups(); later(); });

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
  const fold = event.target.closest(".fold button");
  if (place) { event.preventDefault(); go(place); }
  if (fold) {
    const open = fold.getAttribute("aria-expanded") === "false";
    fold.setAttribute("aria-expanded", open);
    for (const row of all(`.row[data-fold="${fold.parentElement.dataset.fold}"]`, answer)) row.classList.toggle("open", open);
  }
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (!link) return;
  event.preventDefault(); // the address contains the input
  seen(document.getElementById(link.getAttribute("href").slice(1)));
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
