"""How the page of explanations looks: light and dark, wide and narrow, printed."""

CSS = """
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --text: #1c2330; --soft: #5c6675; --line: #d9dee6;
  --good: #1a7f4b; --bad: #b3261e; --warn: #8a5a00; --accent: #2456c7; --mark: #fff6d6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161d; --card: #1b212b; --text: #e4e8ef; --soft: #9aa5b5; --line: #313a48;
    --good: #6fd19a; --bad: #ff8f86; --warn: #f0bf5e; --accent: #8ab0ff; --mark: #37331f;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.25rem; max-width: 1200px; background: var(--page);
  color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1rem; }
h1, h2, h3, p, code { overflow-wrap: anywhere; }
article {
  background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .75rem 1rem; margin: .75rem 0;
}
article h3 { margin: 0 0 .35rem; }
p { margin: .3rem 0; white-space: pre-line; }
code, .place { font: .85rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { margin: .3rem 0; overflow-x: auto; font: .85rem/1.4 ui-monospace, Menlo, monospace; }
.place { color: var(--soft); }
.why { background: var(--mark); border-radius: 4px; padding: .3rem .6rem; }
details { margin-left: 1rem; } article > details { margin-left: 0; }
summary { cursor: pointer; } .leaf { margin-left: 2rem; } article > .leaf { margin-left: 1rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.word { display: inline-block; min-width: 3.2rem; font-weight: 600; color: var(--soft); }
.pass, .yes { color: var(--good); } .fail, .no, .error { color: var(--bad); }
.warn, .skip { color: var(--warn); }
.decided > summary, .leaf.decided { background: var(--mark); border-radius: 4px; }
@media (max-width: 500px) {
  body { padding: .6rem; } details { margin-left: .4rem; } .leaf { margin-left: .8rem; }
}
@media print { body { max-width: none; } article { break-inside: avoid; } }
"""
