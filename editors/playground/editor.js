// An editor for YAML: CodeMirror with marks in the gutter and completions from the server.
//
// It is in a shadow root: only there does CodeMirror use constructed style sheets, which the page's
// Content-Security-Policy allows, instead of a <style> element. Variables of the page's CSS apply.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.attributeValue], color: "var(--good)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.meta, tags.keyword, tags.separator, tags.punctuation], color: "var(--soft)" },
  { tag: [tags.labelName, tags.typeName], color: "var(--warn)" },
]);

// CodeMirror draws marks and wavy lines with images, which the page does not allow.
const mark = (colour) => ({
  content: "normal", width: ".7em", height: ".7em", margin: ".4em .15em", borderRadius: "50%", background: colour,
});
const wave = (colour) => ({ backgroundImage: "none", textDecoration: `underline wavy ${colour}`, textUnderlineOffset: "3px" });
const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--card)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { font: "1em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace", overflow: "auto" },
  ".cm-content": { padding: ".4rem 0", caretColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--card)", color: "var(--soft)", borderRight: "1px solid var(--line)" },
  ".cm-selectionMatch": { backgroundColor: "var(--mark)" },
  ".cm-gutter-lint": { width: "1.1em" },
  ".cm-lint-marker-error": mark("var(--bad)"),
  ".cm-lint-marker-warning": { ...mark("var(--warn)"), borderRadius: "0" },
  ".cm-lint-marker-info": { ...mark("none"), border: "2px solid var(--info)" },
  ".cm-lintRange-error": wave("var(--bad)"),
  ".cm-lintRange-warning": wave("var(--warn)"),
  ".cm-lintRange-info": wave("var(--info)"),
  ".cm-tooltip, .cm-panels": { color: "var(--text)", backgroundColor: "var(--card)", border: "1px solid var(--line)", maxWidth: "min(32rem, 90vw)" },
  ".cm-panels": { maxWidth: "none" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: ".1rem .4rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { color: "var(--card)", backgroundColor: "var(--accent)" },
  ".cm-completionDetail": { fontStyle: "normal", opacity: ".85" },
  ".cm-completionInfo": { whiteSpace: "pre-wrap", overflowWrap: "anywhere" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", overflowWrap: "anywhere", borderLeftWidth: "4px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-diagnostic-info": { borderLeftColor: "var(--info)" },
  ".cm-panel.cm-panel-lint ul [aria-selected]": { backgroundColor: "var(--mark)", color: "var(--text)" },
  ".cm-panel.cm-search": { fontSize: ".9rem" },
  ".cm-textfield, .cm-button": { color: "inherit", background: "var(--page)", border: "1px solid var(--line)" },
});

// Lines and columns of the server begin at 1 and count characters, not the units of UTF-16.
function offset(doc, line, column) {
  const found = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return found.from + [...found.text].slice(0, Math.max(column - 1, 0)).join("").length;
}

const COMPLETED = /(?:[\w.$@{[]|[:-] )$/; // what is before the cursor where completions open by themselves

function completions(complete) {
  return async (context) => {
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    if (!context.explicit && !COMPLETED.test(before)) return null;
    const answer = await complete(context.state.doc.toString(), line.number, [...before].length + 1);
    if (!answer.length || context.aborted) return null;
    const [{ column }] = answer;
    const options = answer.filter((one) => one.column === column).map((one) => ({
      label: one.label, detail: one.detail, info: one.note || undefined, apply: one.insert, type: one.kind,
    }));
    return { from: offset(context.state.doc, line.number, column), options, validFor: /^[\w.$-]*$/ };
  };
}

// Return an editor in an element. `change` is called after each change of the user, `complete` with a
// text and a position; it returns a promise of completions.
export function createEditor({ parent, label, description, change, complete }) {
  const root = parent.attachShadow({ mode: "open" });
  const extensions = [
    lineNumbers(),
    lintGutter(),
    history(),
    yaml(),
    indentUnit.of("  "),
    syntaxHighlighting(colours),
    highlightSelectionMatches(),
    search({ top: true }),
    autocompletion({ override: [completions(complete)], icons: false }),
    // Escape and then Tab leaves the editor: CodeMirror lets the browser have a Tab after Escape.
    keymap.of([...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
    EditorView.contentAttributes.of({ "aria-label": label, "aria-description": description, tabindex: "0" }),
    EditorView.updateListener.of((update) => { if (update.docChanged && !filling) change(); }),
    // A long list of completions scrolls, so it must be focusable.
    EditorView.updateListener.of(({ view }) => view.dom.querySelector(".cm-tooltip-autocomplete > ul")?.setAttribute("tabindex", "0")),
    theme,
  ];
  let filling = false;
  const view = new EditorView({ parent: root, root, extensions });
  return {
    view,
    get text() { return view.state.doc.toString(); },
    set text(text) {
      filling = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      filling = false;
    },
    // Show diagnostics: objects with line, column and end (of its columns), severity and message.
    mark(found) {
      const { doc } = view.state;
      const marks = found.map((one) => {
        const from = offset(doc, one.line, one.column);
        return { from, to: Math.max(from, offset(doc, one.line, one.end)), severity: one.severity, message: one.message };
      });
      view.dispatch(setDiagnostics(view.state, marks));
    },
    // Move the cursor to a position, and select the rest of its line.
    go(line, column) {
      const anchor = offset(view.state.doc, line, column);
      view.dispatch({ selection: { anchor, head: view.state.doc.lineAt(anchor).to }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
      view.focus();
      parent.scrollIntoView({ block: "nearest" });
    },
  };
}
