// Bundles the editor for the page, with the licences and an SBOM of what is in it.
// Argument: the folder to write to, by default that of the Python package.
import { build } from "esbuild";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";

const folder = process.argv[2] || "../../kyvsim/playground/assets";
mkdirSync(folder, { recursive: true });
const { metafile } = await build({
  entryPoints: ["editor.js"],
  outfile: `${folder}/editor.js`,
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "kyvsimEditor",
  target: "es2022",
  legalComments: "none", // they are in LICENSES.txt
  metafile: true,
});

const named = Object.values(metafile.outputs)
  .flatMap((one) => Object.entries(one.inputs))
  .filter(([, one]) => one.bytesInOutput)
  .map(([path]) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
  .filter(Boolean);
const packages = [...new Set(named)].sort().map((name) => {
  const place = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${place}/package.json`, "utf8"));
  const file = readdirSync(place).find((one) => /^licen[cs]e/i.test(one));
  if (!file) throw new Error(`${name} has no licence text`);
  return { name, version, license, text: readFileSync(`${place}/${file}`, "utf8").trim() };
});

// A text that several packages have is there once, below their names.
const texts = new Map();
for (const { name, version, license, text } of packages) {
  texts.set(text, [...(texts.get(text) ?? []), `${name} ${version} (${license})`]);
}
const line = "-".repeat(78);
const licences = [...texts].map(([text, names]) => `${line}\n${names.join("\n")}\n${line}\n\n${text}\n`);
writeFileSync(`${folder}/LICENSES.txt`, `editor.js contains these packages.\n\n${licences.join("\n")}`);

const components = packages.map(({ name, version, license }) => ({
  type: "library",
  name,
  version,
  licenses: [{ license: { id: license } }],
  purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
}));
const listed = components.map((one) => `\n ${JSON.stringify(one)}`);
writeFileSync(`${folder}/editor.cdx.json`, `{"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": [${listed}\n]}\n`);
