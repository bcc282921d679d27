"""How the page of a simulation looks: light and dark, wide and narrow, without any file beside."""

CSS = """
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --text: #1c2330; --soft: #5c6675; --line: #d9dee6;
  --accent: #2456c7; --good: #1a7f4b; --bad: #b3261e; --warn: #8a5a00; --info: #2456c7;
  --bad-soft: #fdeceb; --warn-soft: #fdf3df; --good-soft: #e5f5ec; --info-soft: #e8eefb;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161d; --card: #1b212b; --text: #e4e8ef; --soft: #9aa5b5; --line: #313a48;
    --accent: #8ab0ff; --good: #6fd19a; --bad: #ff8f86; --warn: #f0bf5e; --info: #8ab0ff;
    --bad-soft: #3a1f1e; --warn-soft: #352a14; --good-soft: #17301f; --info-soft: #1b2942;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
main, header { max-width: 1500px; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .35rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .75rem; }
p { margin: .25rem 0; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .4rem .8rem; z-index: 3; }
.soft { color: var(--soft); }
.small { font-size: .85rem; }
.facts {
  display: flex; flex-wrap: wrap; gap: .4rem; margin: .8rem 0 0; padding: 0; list-style: none;
}
.facts li, .tag {
  border: 1px solid var(--line); border-radius: 999px; padding: .05rem .65rem;
  font-size: .85rem; background: var(--card); white-space: nowrap;
}
.tag { padding: 0 .5rem; font-weight: 600; }
.bad { color: var(--bad); } .good { color: var(--good); } .warn { color: var(--warn); }
.info { color: var(--info); }
.list { display: grid; gap: .6rem; margin: 0; padding: 0; list-style: none; }
.item {
  background: var(--card); border: 1px solid var(--line); border-left-width: 4px;
  border-radius: 6px; padding: .6rem .85rem; overflow-wrap: anywhere;
}
.item.bad { border-left-color: var(--bad); } .item.good { border-left-color: var(--good); }
.item.warn { border-left-color: var(--warn); } .item.info { border-left-color: var(--info); }
.item, .item p { color: var(--text); }
.item p.soft { color: var(--soft); }
.message { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0 0; font-size: .9rem; }
code, pre, .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
code { background: var(--page); border-radius: 4px; padding: 0 .25rem; font-size: .88em; }
.mono { font-size: .85em; }
.toggle { display: inline-block; margin: 0 0 .75rem; cursor: pointer; }
.lanes {
  display: grid; gap: .35rem .6rem;
  grid-template-columns: 5.5rem repeat(var(--count), minmax(9rem, 1fr));
}
.head {
  position: sticky; top: 0; z-index: 2; background: var(--page); font-weight: 600;
  padding: .4rem .1rem; border-bottom: 2px solid var(--line); overflow-wrap: anywhere;
}
.time {
  grid-column: 1; text-align: right; color: var(--soft); padding-top: .4rem; white-space: nowrap;
}
.event {
  grid-column: var(--lane) / span var(--span); background: var(--card);
  border: 1px solid var(--line); border-left: 4px solid var(--accent); border-radius: 6px;
  padding: .35rem .6rem; min-width: 0; overflow-wrap: anywhere;
}
.event.bad { border-left-color: var(--bad); background: var(--bad-soft); }
.event.warn { border-left-color: var(--warn); background: var(--warn-soft); }
.event, .event .message { color: var(--text); }
.event.bad .tag { color: var(--bad); border-color: currentColor; }
.event.warn .tag { color: var(--warn); border-color: currentColor; }
.event:target, .item:target { outline: 2px solid var(--accent); }
.who { display: none; }
.noise { display: none; }
.noise .who { display: inline; color: var(--soft); }
#every:checked ~ .lanes .noise { display: block; }
#every:checked ~ .lanes .noise.time { display: block; }
summary { cursor: pointer; }
details > summary { list-style-position: outside; }
#orders details > summary { list-style-position: inside; }
.event summary { list-style: none; }
.event summary::-webkit-details-marker { display: none; }
.event summary::after { content: " +"; color: var(--soft); }
.event details[open] > summary::after { content: " \\2212"; }
pre.diff {
  margin: .5rem 0 0; padding: .5rem 0; background: var(--page); border: 1px solid var(--line);
  border-radius: 6px; font-size: .8rem; line-height: 1.45; overflow-x: auto; max-height: 30rem;
}
pre.diff span { display: block; padding: 0 .6rem; min-width: max-content; }
pre.diff .add { background: var(--good-soft); } pre.diff .del { background: var(--bad-soft); }
pre.diff .gap { color: var(--soft); }
.objects > li > details > summary {
  list-style-position: inside; font-weight: 600; overflow-wrap: anywhere;
}
.version { margin: .6rem 0 0; }
footer { max-width: 1500px; margin: 2rem auto; padding: 0 1.25rem; }
@media (max-width: 860px) {
  main, header, footer { padding-left: .8rem; padding-right: .8rem; }
  .lanes { display: block; }
  .head { display: none; }
  .time { text-align: left; padding: .5rem 0 .1rem; font-size: .85rem; }
  .who { display: inline; color: var(--soft); }
  .facts li { white-space: normal; }
}
@media print {
  .toggle, .skip { display: none; }
  .event, .item { break-inside: avoid; }
}
"""
