// Lexical diversity of the text, of its documents, or of the documents with each value of a field.
import { ask } from "../ask.js";
import { address, h, number, table } from "../dom.js";
import { choice, form, restricted, whole } from "../form.js";
import { csv } from "../take.js";

const SHOWN = 1000; // rows
const MEASURES = { ttr: "TTR", root_ttr: "root TTR", mattr: "MATTR", mtld: "MTLD", hdd: "HD-D", yule_k: "Yule's K", hapax_share: "hapaxes" };

export const title = () => "Diversity";

export async function show(page, what, settings) {
  const asked = Object.fromEntries(["field", "value", "window"].map((name) => [name, settings.get(name)]));
  const by = settings.get("by") ?? "document";
  const { fields } = await ask("overview");
  page.append(h("h1", {}, "Lexical diversity"), form("Show", { by: "document", window: "100" }, (given) => (location.hash = address("diversity", "", given)),
    choice("by", "By", [["document", "document"], ["all", "whole text"], ...Object.keys(fields).map((name) => [name, name])], by),
    whole("window", "Window of MATTR", asked.window ?? 100),
    restricted(fields, asked)));
  const { rows } = await ask("diversity", { by: by === "all" ? null : by, ...asked });
  if (!rows.length) return page.append(h("p", { role: "status" }, "No document has this value."));
  const names = Object.keys(rows[0]);
  page.append(
    h("p", { class: "lead" }, rows.length > SHOWN ? `The first ${number(SHOWN)} of ${number(rows.length)} parts. ` : "", csv(`diversity by ${by}`, () => [names, ...rows.map((row) => names.map((name) => row[name]))])),
    table(`Lexical diversity by ${by}`, [
      [by, (row) => row.part, (row) => h("span", { dir: "auto" }, row.part)],
      ...["tokens", "types"].map((name) => [name, (row) => row[name], (row) => number(row[name]), true]),
      ...Object.entries(MEASURES).map(([name, label]) => [label, (row) => row[name], (row) => number(row[name], name === "mtld" || name === "yule_k" ? 1 : 3), true]),
    ], rows.slice(0, SHOWN), { sorted: null }),
    h("p", { class: "small" }, "TTR is the number of types divided by the number of tokens. It falls with the length of a text; MATTR (moving average), MTLD and HD-D can be compared between texts of different lengths. Hapaxes are the share of types that occur once."));
}
