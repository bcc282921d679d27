// Starts `kyvsim lsp` for YAML files, and adds commands that need the editor's user interface.
import { execFile } from "node:child_process";
import * as path from "node:path";
import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

const SCHEME = "kyvsim-schema";
const YAML_EXTENSION = "redhat.vscode-yaml";
const INSTALL = "Install it with `pipx install '.[lsp]'` in a checkout of kyvsim, or set `kyvsim.path` to the program.";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("kyvsim.restart", restart),
    vscode.commands.registerCommand("kyvsim.runTestFile", runTestFile),
    vscode.commands.registerCommand("kyvsim.showReport", showReport),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("kyvsim")) await restart();
    }),
  );
  await start();
  await associateSchemas();
}

export async function deactivate(): Promise<void> {
  const old = client;
  client = undefined;
  if (old?.isRunning()) await old.dispose(); // one that never started cannot be stopped
}

function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration("kyvsim");
}

function folder(): string | undefined {
  return vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
}

function program(): string {
  return settings().get("path", "kyvsim").replace("${workspaceFolder}", folder() ?? "");
}

async function start(): Promise<void> {
  client = new LanguageClient(
    "kyvsim",
    "kyvsim",
    {
      command: program(),
      args: ["lsp", ...settings().get<string[]>("arguments", [])],
      options: { cwd: folder() },
    },
    { documentSelector: [{ scheme: "file", language: "yaml" }] },
  );
  try {
    await client.start();
  } catch (error) {
    void vscode.window.showErrorMessage(`kyvsim could not be started: ${error}. ${INSTALL}`);
  }
}

async function restart(): Promise<void> {
  await deactivate();
  await start();
}

/** Saves the file of the active editor, since tests read files, and returns its URI. */
async function activeFile(): Promise<string | undefined> {
  const document = vscode.window.activeTextEditor?.document;
  if (document?.languageId !== "yaml" || !client?.isRunning()) {
    void vscode.window.showInformationMessage("Open a YAML file first.");
    return undefined;
  }
  await vscode.workspace.saveAll(false);
  return client.code2ProtocolConverter.asUri(document.uri);
}

async function request<Answer>(command: string, ...args: unknown[]): Promise<Answer | undefined> {
  return client?.sendRequest<Answer>("workspace/executeCommand", { command, arguments: args });
}

async function runTestFile(): Promise<void> {
  const uri = await activeFile();
  if (uri) await request("kyvsim.runTest", uri, 0);
}

async function showReport(): Promise<void> {
  const uri = await activeFile();
  const page = uri && (await request<string>("kyvsim.report", uri));
  if (!uri || !page) return;
  const title = `kyvsim: ${path.posix.basename(uri)}`;
  const options = { enableScripts: true, enableFindWidget: true, localResourceRoots: [] };
  const panel = vscode.window.createWebviewPanel(
    "kyvsim.report", title, vscode.ViewColumn.Beside, options,
  );
  panel.webview.html = page;
}

// Schemas are those of the installed version: the YAML extension requests them by URI.

interface YamlExtension {
  registerContributor(
    name: string,
    schemaOf: (resource: string) => string | undefined,
    contentOf: (schema: string) => Promise<string>,
  ): boolean;
}

async function associateSchemas(): Promise<void> {
  const yaml = vscode.extensions.getExtension<YamlExtension>(YAML_EXTENSION);
  if (yaml) (await yaml.activate()).registerContributor(SCHEME, schemaFor, schemaText);
}

function schemaFor(resource: string): string | undefined {
  const which = settings().get<string>("schemas", "configuration");
  if (which === "none") return undefined;
  if (path.posix.basename(resource) === ".kyvsim.yaml") return `${SCHEME}://configuration`;
  if (which !== "all") return undefined;
  const uri = vscode.Uri.parse(resource).toString();
  const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri);
  const text = document?.getText() ?? "";
  const version = /^apiVersion: *["']?(\S*(?:kyverno\.io|kyvsim)\/\w+)/m.exec(text)?.[1];
  const kind = /^kind: *["']?(\w+)/m.exec(text)?.[1];
  return version && kind ? `${SCHEME}://kind/${version}/${kind}` : undefined;
}

function schemaText(schema: string): Promise<string> {
  const kind = vscode.Uri.parse(schema).path.slice(1);
  const command = kind ? ["schema", kind] : ["config", "--schema"];
  return new Promise((resolve) => {
    // Kinds without a schema, and a missing program, which `start` has reported.
    execFile(program(), command, { cwd: folder(), timeout: 10_000 }, (error, output) =>
      resolve(error ? "{}" : output),
    );
  });
}
