// Bundles the page into the package: node build.mjs, or make page. What is built says of which sources it was made.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

const here = import.meta.dirname;
const to = join(here, "..", "src", "polyadic", "explore", "static");

const sources = readdirSync(here, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.(js|css|html|json)$/.test(entry.name) && !entry.parentPath.includes("node_modules"))
  .map((entry) => relative(here, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
  .sort();
const digest = createHash("sha256");
for (const name of sources) digest.update(name + "\0").update(readFileSync(join(here, name))).update("\0");

rmSync(to, { recursive: true, force: true });
mkdirSync(to, { recursive: true });
const how = { absWorkingDir: here, outdir: to, bundle: true, target: "es2022", minify: true, charset: "utf8", legalComments: "none", metafile: true };
const made = await build({ ...how, entryPoints: ["app.js", "style.css"], splitting: true, format: "esm", chunkNames: "[name]-[hash]" });
await build({ ...how, entryPoints: { alone: "app.js" }, format: "iife" }); // one file, for a page to send
cpSync(join(here, "index.html"), join(to, "index.html"));

const used = new Set(Object.keys(made.metafile.inputs).flatMap((name) => name.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1] ?? []));
const licences = [...used].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  return `${name} ${version}, ${license}\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : ""}\n`;
});
writeFileSync(join(to, "licences.txt"), `What the page is built of besides its own sources.\n\n${licences.join("\n" + "-".repeat(80) + "\n\n")}`);
writeFileSync(join(to, "sources.txt"), digest.digest("hex") + "\n");
