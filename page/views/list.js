// Words and phrases: the word list or the n-grams of the text, or those that match a query.
import { ask } from "../ask.js";
import { address, h, number, table } from "../dom.js";
import { choice, form, literal, nothing, restricted, whole, written } from "../form.js";
import { csv } from "../take.js";
import { DP } from "./word.js";

const [SHOWN, MOST] = [200, 1000]; // rows on the page, and of an answer
const SORTS = [["frequency", "frequency"], ["range", "range"], ["dp", "dispersion DP"], ["alphabetical", "alphabetical"], ["reversed", "word ending"]];
const RANGE = "Number of documents that contain the item";

export const title = () => "Words and phrases";

export async function show(page, what, settings) {
  const asked = Object.fromEntries(["query", "attribute", "min_count", "sort", "field", "value"].map((name) => [name, settings.get(name)]));
  const n = Number(settings.get("n") ?? 1);
  const { fields, attributes } = await ask("overview");
  const place = h("div", {});
  page.append(h("h1", {}, title()), form("Show", { n: "1", attribute: "lc", sort: "frequency" }, (given) => (location.hash = address("list", "", given)),
    whole("n", "Number of words", n, { max: "20" }),
    written("query", n > 1 ? "Contains" : "Pattern", asked.query, { placeholder: n > 1 ? "any word" : "all words, such as *ing" }),
    choice("attribute", "List", (attributes ?? ["lc"]).map((name) => [name, { lc: "words in lower case", word: "words as written" }[name] ?? name]), asked.attribute ?? "lc"),
    whole("min_count", "Minimum frequency", asked.min_count, { placeholder: n > 1 ? "2" : "1" }),
    choice("sort", "Sort by", SORTS, asked.sort ?? "frequency"),
    restricted(fields, asked)), place);
  try {
    await tell(place, n, asked);
  } catch (error) {
    place.append(h("p", { class: "fault", role: "alert" }, error.message)); // the form stays
  }
}

async function tell(place, n, asked) {
  const list = (top) => (n > 1 ? ask("ngrams", { n, ...asked, top }) : ask("word_list", { ...asked, top }));
  const { rows, tokens } = await list(SHOWN);
  const kind = n > 1 ? `${n}-grams` : "words";
  if (!rows.length) return place.append(await nothing(asked.query ? [asked.query] : [], asked, `No ${n > 1 ? "sequence" : "word"} occurs often enough; lower the minimum frequency.`));
  const { field, value } = asked;
  const lines = (row, ...label) => h("a", { href: address("lines", "", { words: literal(row.item, asked.attribute ?? "lc"), field, value }), dir: "auto" }, label);
  const names = Object.keys(rows[0]);
  place.append(
    h("p", { class: "lead" }, rows.length === SHOWN ? `The first ${number(SHOWN)} ${kind}` : `${number(rows.length)} ${kind}`, ` of ${number(tokens)} running words. `,
      csv(`list of ${kind}`, async () => [names, ...(await list(MOST)).rows.map((row) => names.map((name) => row[name]))])),
    table(`List of ${kind}`, [
      [n > 1 ? "n-gram" : "word", (row) => row.item, (row) => lines(row, row.item)],
      ["frequency", (row) => row.frequency, (row) => number(row.frequency), true],
      ["per million", (row) => row.per_million, (row) => number(row.per_million, row.per_million < 100 ? 2 : 0), true],
      [h("abbr", { title: RANGE }, "range"), (row) => row.range, (row) => number(row.range), true],
      [h("abbr", { title: DP }, "DP"), (row) => row.dp, (row) => number(row.dp, 3), true],
    ], rows, { sorted: null }));
}
