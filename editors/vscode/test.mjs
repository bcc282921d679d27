// Runs the built extension outside of the editor, with a stub of the editor's API, once without
// the program and once with it, if KYVSIM names one or `kyvsim` is installed.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import test from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
const manifest = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const properties = Object.entries(manifest.contributes.configuration.properties);
const values = Object.fromEntries(properties.map(([name, one]) => [name, one.default]));

const POLICY = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: named}
spec:
  rules:
    - name: cart
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate: {pattern: {metadata: {name: cart}}}
`;
const POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: cart}\n";
const TEST = `apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: carts}
policies: [policy.yaml]
resources: [pod.yaml]
results:
  - {policy: named, rule: cart, resources: [cart], kind: Pod, result: pass}
  - {policy: named, rule: cart, resources: [cart], kind: Pod, result: fail}
`;
const folder = mkdtempSync(path.join(tmpdir(), "kyvsim-"));
for (const [name, text] of Object.entries({ "policy.yaml": POLICY, "pod.yaml": POD, "kyverno-test.yaml": TEST }))
  writeFileSync(path.join(folder, name), text);
const fileUri = (file) => ({ scheme: "file", fsPath: file, toString: () => pathToFileURL(file).href });
const uriOf = (name) => fileUri(path.join(folder, name));
const active = { uri: uriOf("kyverno-test.yaml"), languageId: "yaml", version: 1, getText: () => TEST };

// What is not named here is a class, or a function that returns something to dispose of.
const registered = new Map();
const shown = [];
const panels = [];
class Anything {}
class EventEmitter {
  event = () => disposable;
  fire() {}
  dispose() {}
}
class CancellationTokenSource {
  token = { isCancellationRequested: false, onCancellationRequested: () => disposable };
  cancel() {}
  dispose() {}
}
const stub = (known) =>
  new Proxy(known, {
    get: (target, name) => target[name] ?? (/^[a-z]+[A-Z]/.test(name) ? () => disposable : name === "then" ? undefined : Anything),
  });
const disposable = stub({ dispose() {} });
const show = async (text) => void shown.push(text);
const vscode = stub({
  EventEmitter,
  CancellationTokenSource,
  CodeActionKind: { Empty: { append: () => ({}) } },
  Uri: { file: fileUri, parse: (text) => fileUri(fileURLToPath(text)) },
  ViewColumn: { Beside: -2 },
  commands: stub({
    registerCommand(name, run) {
      registered.set(name, run);
      return { dispose: () => registered.delete(name) };
    },
  }),
  workspace: stub({
    workspaceFolders: [{ uri: uriOf("."), name: "own", index: 0 }],
    textDocuments: [active],
    saveAll: async () => true,
    getConfiguration: (section) => ({
      get: (name, otherwise) => (section ? values[`${section}.${name}`] : undefined) ?? otherwise,
    }),
  }),
  window: stub({
    activeTextEditor: { document: active },
    createOutputChannel: () => stub({ append() {}, appendLine() {}, info() {}, error() {} }),
    createWebviewPanel(_view, title) {
      panels.push({ title, webview: {} });
      return panels.at(-1);
    },
    showErrorMessage: show,
    showWarningMessage: show,
    showInformationMessage: show,
  }),
  languages: stub({
    match: () => 10,
    createDiagnosticCollection: () => stub({ set() {}, delete() {}, clear() {}, dispose() {} }),
  }),
  extensions: stub({ getExtension: () => undefined }),
  env: { appName: "test", language: "en" },
  version: "1.91.0",
});
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const extension = require("./dist/extension.js");

test("a missing program is reported with what to do", async () => {
  values["kyvsim.path"] = "/nowhere/kyvsim";
  await extension.activate({ subscriptions: [] });
  for (const { command } of manifest.contributes.commands) assert.ok(registered.has(command), command);
  assert.match(shown.join("\n"), /nowhere[^]*pipx install '\.\[lsp\]'` in a checkout/);
  shown.length = 0;
  await registered.get("kyvsim.showReport")();
  assert.deepEqual(shown, ["Open a YAML file first."]);
  await extension.deactivate();
});

const program = process.env.KYVSIM ?? "kyvsim";
const found = spawnSync(program, ["lsp", "--help"]).status === 0;

test("tests are run and reports are shown", { skip: !found && "kyvsim is not installed" }, async () => {
  values["kyvsim.path"] = program;
  shown.length = 0;
  await extension.activate({ subscriptions: [] });
  assert.deepEqual(shown, []);
  await registered.get("kyvsim.restart")();
  await registered.get("kyvsim.runTestFile")();
  assert.deepEqual(shown, ["kyvsim test: 1 passed, 1 failed"]);
  await registered.get("kyvsim.showReport")();
  assert.equal(panels.length, 1);
  assert.equal(panels[0].title, "kyvsim: kyverno-test.yaml");
  assert.match(panels[0].webview.html, /1 of 2 rows failed/);
  assert.ok(registered.has("kyvsim.runTest"), "the server's command for code lenses");
  await extension.deactivate();
});
