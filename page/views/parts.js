// Two parts of the text: what words set them apart, and how the same word differs between them.
import { alone, ask, had } from "../ask.js";
import { address, h, linked, number, percent, quote, section, table, word } from "../dom.js";
import { choice, form, literal, whole, written } from "../form.js";
import { csv, send } from "../take.js";

export const title = (what, settings) => (settings.get("value") ? `${settings.get("value")} and ${settings.get("against") || "the rest"}${what && `: ${what}`}` : "Compare");

export async function show(page, what, settings) {
  const { fields } = await ask("overview");
  const usable = Object.keys(fields).filter((name) => fields[name] && fields[name].length > 1);
  page.append(h("h1", {}, "Compare two parts of the text"));
  if (!usable.length) {
    page.append(h("p", {}, "The documents have no field with a few values. A text of several files has the field file; a table may have more."));
    return;
  }
  const asked = { field: settings.get("field") ?? usable[0], value: settings.get("value"), against: settings.get("against") };
  if (!alone) page.append(search(usable, fields, asked, what, settings));
  if (!asked.value) {
    if (alone) page.append(h("ul", {}, had("keywords").map((each) => h("li", {}, h("a", { href: address("parts", "", each) }, `${each.value} and ${each.against ?? "all other documents"}`)))));
    return;
  }
  if (what) await contrast(page, what, asked);
  else await keywords(page, { ...asked, ...Object.fromEntries(["n", "min_count", "sort"].map((name) => [name, settings.get(name)])) });
}

const LIMITS = { n: "1", min_count: "5", sort: "log_likelihood" };
const MEASURES = { log_likelihood: "G²", log_ratio: "log ratio", simple_maths: "simple maths", percent_difference: "%DIFF", text_dispersion: "text dispersion" };

function search(usable, fields, asked, what, settings) {
  const values = (fields[asked.field] ?? []).map((value) => [value, value]);
  const limit = (name) => settings.get(name) ?? LIMITS[name];
  return form("Compare", LIMITS, ({ word = "", ...given }) =>
    (location.hash = address("parts", word, word ? { field: given.field, value: given.value, against: given.against } : given)),
    choice("field", "Field", usable.map((name) => [name, name]), asked.field, (event) => (location.hash = address("parts", what, { field: event.target.value }))),
    choice("value", "Part", values, asked.value),
    choice("against", "Reference", [["", "all other documents"], ...values], asked.against),
    written("word", "Word", what, { placeholder: "all words" }),
    what ? "" : [whole("n", "Words per item", limit("n"), { max: "20" }), whole("min_count", "Minimum frequency", limit("min_count")),
      choice("sort", "Sort by", Object.entries(MEASURES), limit("sort"))]);
}

const others = (asked) => asked.against || "all other documents";

async function keywords(page, asked) {
  const { n, min_count, sort, ...parts } = asked;
  const place = h("div", {});
  page.append(place);
  try {
    await tell(place, asked, parts);
  } catch (error) {
    place.append(h("p", { class: "fault", role: "alert" }, error.message)); // the form stays
  }
}

async function tell(place, asked, parts) {
  const answer = await ask("keywords", asked);
  const names = [parts.value, others(parts)];
  const shown = ["log_likelihood", "log_ratio"];
  const measures = !asked.sort || shown.includes(asked.sort) ? shown : [asked.sort, ...shown];
  const lines = (row, value, count) => linked(address("lines", "", { words: literal(row.word), field: value && parts.field, value }), ["lines", { words: row.word, field: parts.field, value, top: 100 }], {}, number(count));
  place.append(
    h("p", { class: "lead" }, names.map((name, at) => [h("strong", { dir: "auto" }, name), `: ${number(answer.documents[at])} ${answer.documents[at] === 1 ? "document" : "documents"}, ${number(answer.tokens[at])} words`, at ? ". " : "; "]),
      !alone && [h("a", { href: address("diversity", "", { by: parts.field }) }, `Lexical diversity by ${parts.field}`), " "],
      send(`${names[0]} and ${names[1]}`, { parts: `${parts.field}=${parts.value}${parts.against ? "/" + parts.against : ""}` })),
    h("div", { class: "columns half" }, answer.words.map((rows, at) => section(`Key words of ${names[at]}`,
      [csv(`key words of ${names[at]}`, () => [rows.length ? Object.keys(rows[0]) : ["word"], ...rows.map((row) => Object.values(row))])],
      rows.length ? table(`Words that are more frequent in ${names[at]}`, [
        ["word", (row) => row.word, (row) => (asked.n > 1 ? h("span", { dir: "auto" }, row.word) : linked(address("parts", row.word, parts), ["contrast", { word: row.word, ...parts }], { dir: "auto" }, row.word))],
        [names[0], (row) => row.count, (row) => lines(row, parts.value, row.count), true],
        [names[1], (row) => row.against, (row) => lines(row, parts.against, row.against), true],
        ...measures.map((name) => [MEASURES[name], (row) => row[name], (row) => number(row[name], name === "log_likelihood" ? 0 : 1), true]),
        ["p", (row) => row.p_value, (row) => (row.p_value < 0.001 ? "< .001" : number(row.p_value, 3)), true],
        [h("abbr", { title: "Number of documents of each part that contain the word" }, "range"), (row) => row.range, (row) => `${number(row.range)} : ${number(row.reference_range)}`, true],
      ], rows, { sorted: null }) : h("p", {}, "No word occurs often enough; lower the minimum frequency.")))),
    h("p", { class: "small" }, "G² is the log-likelihood ratio (evidence), with its p-value corrected for the number of words; the log ratio is the size of the difference: 1 means twice as frequent, 2 four times."));
}

async function contrast(page, text, asked) {
  const answer = await ask("contrast", { word: text, ...asked });
  const names = [asked.value, others(asked)];
  page.append(
    h("p", { class: "lead" }, word(answer.word), answer.cosine === null ? " occurs in one part only. " : `: cosine similarity of its contexts ${number(answer.cosine, 2)}. `,
      h("a", { href: address("parts", "", asked) }, "All words")),
    answer.senses.length > 1 && section("Senses", [], table(`Share of the senses of ${answer.word}`, [
      ["sense", (row) => row.words[0], (row) => row.words.slice(0, 5).join(", ")],
      [names[0], (row) => row.shares[0], (row) => percent(row.shares[0]), true],
      [names[1], (row) => row.shares[1], (row) => percent(row.shares[1]), true],
    ], answer.senses, { sorted: 1 })),
    h("div", { class: "columns half" }, answer.parts.map((part, at) => section(names[at], [csv(`${answer.word} in ${names[at]}`, () => [["word", "cosine"], ...part.neighbours])],
      h("p", {}, `${number(part.count)} occurrences, ${number(part.per_million)} per million words`),
      part.neighbours.length > 0 && h("p", {}, h("span", { class: "what" }, "Substitutes: "), part.neighbours.map(([other]) => [word(other), " "])),
      h("ul", { class: "quotes" }, part.lines.map(quote))))));
}
