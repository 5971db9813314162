// The collocates of a query: the words near its matches, with association measures.
import { ask } from "../ask.js";
import { address, h, number, table } from "../dom.js";
import { check, choice, form, help, literal, nothing, restricted, whole, written } from "../form.js";
import { csv } from "../take.js";

const [SHOWN, MOST] = [100, 1000]; // rows on the page, and of an answer
const MEASURES = { log_likelihood: "G²", pmi: "PMI", mi3: "MI3", t_score: "t", z_score: "z", chi_squared: "χ²", log_dice: "logDice", delta_p: "ΔP", delta_p_backward: "ΔP backward", log_ratio: "log ratio" };
const USUAL = ["log_likelihood", "pmi", "mi3", "t_score", "log_dice", "delta_p"];

export const title = (what) => (what ? `Collocates: ${what}` : "Collocates");

export async function show(page, what, settings) {
  const asked = Object.fromEntries(["left", "right", "across", "attribute", "min_count", "sort", "field", "value"].map((name) => [name, settings.get(name)]));
  const { fields, attributes } = await ask("overview");
  const place = h("div", {});
  page.append(h("h1", {}, "Collocates"),
    form("Show", { left: "5", right: "5", attribute: "lc", sort: "log_likelihood" }, ({ query, ...given }) => (location.hash = address("collocates", query, given)),
      written("query", "Query", what, { required: true }),
      whole("left", "Words to the left", asked.left ?? 5, { min: "0", max: "1000" }),
      whole("right", "Words to the right", asked.right ?? 5, { min: "0", max: "1000" }),
      choice("sort", "Sort by", [...Object.entries(MEASURES), ["together", "co-occurrences"], ["frequency", "frequency"]], asked.sort ?? "log_likelihood"),
      whole("min_count", "Minimum frequency", asked.min_count, { placeholder: "2" }),
      choice("attribute", "List", (attributes ?? ["lc"]).map((name) => [name, { lc: "words in lower case", word: "words as written" }[name] ?? name]), asked.attribute ?? "lc"),
      restricted(fields, asked),
      check("across", "across sentences", asked.across === "true"),
      check("positions", "positions", settings.get("positions") === "true")),
    help(attributes), place);
  if (!what) return;
  try {
    await tell(place, what, asked, settings.get("positions") === "true");
  } catch (error) {
    place.append(h("p", { class: "fault", role: "alert" }, error.message)); // the form stays
  }
}

async function tell(place, query, asked, positions) {
  const answer = await ask("collocates", { query, ...asked, top: SHOWN });
  if (!answer.rows.length) return place.append(await nothing([query], asked, "No word occurs often enough near the matches; lower the minimum frequency."));
  const [left, right] = [Number(asked.left ?? 5), Number(asked.right ?? 5)];
  const places = [...Array.from({ length: left }, (_, k) => `L${left - k}`), ...Array.from({ length: right }, (_, k) => `R${k + 1}`)];
  const measures = USUAL.includes(asked.sort ?? "together") || !(asked.sort in MEASURES) ? USUAL : [asked.sort, ...USUAL];
  const { field, value } = asked;
  const width = Math.max(left, right) - 1;
  const item = (row) => h("a", { href: address("lines", "", { words: [query, literal(row.item, asked.attribute ?? "lc")], width: asked.across ? null : width, field, value }), dir: "auto" }, row.item);
  const count = (name, label) => [label, (row) => row[name], (row) => number(row[name]), true];
  const names = Object.keys(answer.rows[0]).filter((name) => name !== "positions");
  place.append(
    h("p", { class: "lead" }, h("a", { href: address("lines", "", { words: query, field, value }) }, `${number(answer.count)} ${answer.count === 1 ? "match" : "matches"}`),
      ` of ${query} · ${answer.rows.length === SHOWN ? "first " : ""}${number(answer.rows.length)} ${answer.rows.length === 1 ? "collocate" : "collocates"} `,
      csv(`collocates of ${query}`, async () => [[...names, ...places], ...(await ask("collocates", { query, ...asked, top: MOST })).rows.map((row) => [...names.map((name) => row[name]), ...row.positions])])),
    table(`Collocates of ${query}`, [
      ["word", (row) => row.item, item], count("together", "co-occurrences"), count("left", "left"), count("right", "right"), count("frequency", "frequency"),
      ...measures.map((name) => [MEASURES[name], (row) => row[name], (row) => number(row[name], name.startsWith("delta") ? 4 : 2), true]),
      ...(positions ? places.map((name, k) => [name, (row) => row.positions[k], (row) => number(row.positions[k]), true]) : []),
    ], answer.rows, { sorted: null }));
}
