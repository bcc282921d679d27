// Loads the built extension with a stub of the editor: what package.json contributes exists.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import test from "node:test";

const require = createRequire(import.meta.url);
const manifest = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));

class Anything {}
class EventEmitter {
  event = () => disposable;
  fire() {}
  dispose() {}
}
const registered = new Map();
const shown = [];
const disposable = { dispose() {} };
const stub = (known) =>
  new Proxy(known, { get: (target, name) => target[name] ?? (name === "then" ? undefined : Anything) });
const events = (known) =>
  stub(new Proxy(known, { get: (target, name) => target[name] ?? (/^on/.test(name) ? () => disposable : undefined) }));
const values = Object.fromEntries(
  Object.entries(manifest.contributes.configuration.properties).map(([name, one]) => [name, one.default]),
);
const vscode = stub({
  EventEmitter,
  commands: events({
    registerCommand(name, run) {
      registered.set(name, run);
      return disposable;
    },
  }),
  workspace: events({
    workspaceFolders: [],
    textDocuments: [],
    getConfiguration: (section) => ({
      get: (name, otherwise) => (section ? values[`${section}.${name}`] : undefined) ?? otherwise,
    }),
  }),
  window: events({
    createOutputChannel: () => ({ appendLine() {}, append() {}, show() {}, dispose() {}, info() {}, error() {} }),
    showErrorMessage: async (text) => void shown.push(text),
    showInformationMessage: async (text) => void shown.push(text),
  }),
  languages: events({}),
  extensions: events({ getExtension: () => undefined }),
  env: { language: "en" },
  version: "1.91.0",
});
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const extension = require("./dist/extension.js");

test("commands are registered, and a missing program is reported with what to do", async () => {
  values["kyvsim.path"] = "/nowhere/kyvsim";
  await extension.activate({ subscriptions: [] });
  for (const { command } of manifest.contributes.commands) assert.ok(registered.has(command), command);
  assert.match(shown.join("\n"), /pip install 'kyvsim\[lsp\]'/);
  shown.length = 0;
  await registered.get("kyvsim.showReport")();
  assert.match(shown.join("\n"), /Open a YAML file/);
  await extension.deactivate();
});
