// A concordance: a line for each match of a query, with its context.
import { alone, ask } from "../ask.js";
import { PAGE, address, codePoints, documentOf, h, number } from "../dom.js";
import { check, choice, form, help, joined, restricted, sentence, split, whole, written } from "../form.js";
import { csv } from "../take.js";

const MOST = 1000; // lines of an answer
const SORTS = [["document", "text order"], ["left", "left context"], ["right", "right context"], ["relevance", "relevance (BM25)"]];

export const title = (what, settings) => (settings.getAll("words").length ? `Concordance: ${joined(settings.getAll("words"))}` : "Concordance");

export async function show(page, what, settings) {
  const words = settings.getAll("words");
  const given = ["width", "either", "sort", "field", "value", "context", "sample", "case", "diacritics", "start"];
  const asked = { words, ...Object.fromEntries(given.map((name) => [name, settings.get(name)])) };
  const { fields, attributes } = await ask("overview");
  page.append(h("h1", { dir: "auto" }, alone ? title(what, settings) : "Concordance"), ...(alone ? [] : [search(asked, fields), help(attributes)]));
  if (!words.length) return;
  const place = h("div", {});
  page.append(place);
  try {
    await tell(place, asked, Object.keys(fields));
  } catch (error) {
    place.append(h("p", { class: "fault", role: "alert" }, error.message)); // the form stays
  }
}

const MATCH = 40; // widest match on one line, in characters

async function tell(place, asked, fields) {
  const answer = await ask("lines", { ...asked, top: PAGE });
  const [start, name] = [answer.start, joined(asked.words)];
  const count = answer.sampled;
  const go = (to, label) => h("a", { href: address("lines", "", { ...asked, start: to || null }) }, label);
  if (!answer.count) return place.append(h("p", { class: "lead", role: "status" }, sentence(answer.note)));
  const { field, value } = asked;
  const shown = answer.lines.map((line) => ({ line, ...cut(line) }));
  const widest = Math.min(Math.max(...shown.map(({ word }) => word.length), 8), MATCH);
  place.append(
    h("p", { class: "lead", role: "status" },
      `${number(answer.count)} ${answer.count === 1 ? "line" : "lines"} · ${count < answer.count ? `sample of ${number(count)} · ` : ""}${number(start + 1)}–${number(start + answer.lines.length)} `,
      start > 0 && go(Math.max(0, start - PAGE), "← previous"), " ", !alone && start + PAGE < count && go(start + PAGE, "next →"), " ",
      csv(`lines of ${name}`, () => everyRow(asked, answer, fields))),
    alone ? "" : h("p", { class: "legend" }, h("a", { href: address("collocates", asked.words[0], { field, value }) }, "Collocates"),
      h("a", { href: address("list", "", { n: 3, query: asked.words[0], field, value }) }, "N-grams"),
      h("a", { href: address("trends", "", { queries: asked.words }) }, "Trends")),
    h("div", { class: "scroll kwic", tabindex: "0", role: "region", "aria-label": "Concordance lines" },
      h("table", {}, h("caption", { class: "hidden" }, `Concordance lines of ${name}`),
        ["left", "word", "right", "name"].map((each) => h("col", { class: each, style: each === "word" ? { width: `${0.9 * widest + 1}ch` } : null })),
        h("thead", {}, h("tr", {}, ["left context", "word", "right context", "document"].map((each) => h("th", { scope: "col" }, h("span", { class: "hidden" }, each))))),
        h("tbody", {}, shown.map(({ line, left, word, right }) =>
          h("tr", { title: line.text }, h("td", { class: "left", dir: "auto" }, h("bdi", {}, left)), h("td", { class: "word", dir: "auto" }, h("mark", {}, word)),
            h("td", { class: "right", dir: "auto" }, right), h("td", { class: "name", dir: "auto", title: about(line) }, documentOf(line.document, line.name))))))),
  );
}

function cut(line) {
  const offset = codePoints(line.text);
  const [start, end] = (line.places[0] ?? [0, 0]).map(offset);
  return { left: line.text.slice(0, start), word: line.text.slice(start, end), right: line.text.slice(end) };
}

const about = (line) => Object.entries(line.fields).map(([name, value]) => `${name}: ${value}`).join("\n");

/** All lines, not only those in sight, as a table. */
async function everyRow(asked, answer, fields) {
  const lines = alone ? answer.lines : [];
  while (!alone && lines.length < answer.sampled) {
    const more = await ask("lines", { ...asked, start: lines.length, top: MOST });
    if (!more.lines.length) break;
    lines.push(...more.lines);
  }
  return [["document", "left", "word", "right", ...fields],
    ...lines.map((line) => [line.document, ...Object.values(cut(line)), ...fields.map((field) => line.fields[field])])];
}

const search = (asked, fields) => form("Search", { sort: "document" }, ({ words = "", ...given }) => {
  if (split(words).length) location.hash = address("lines", "", { words: split(words), ...given });
},
  written("words", "Query", joined(asked.words), { required: true }),
  choice("sort", "Sort by", SORTS, asked.sort ?? "document"),
  whole("context", "Words on either side", asked.context, { min: "0", max: "1000", placeholder: "sentence" }),
  whole("width", "Maximum distance", asked.width, { min: "0", max: "1000", placeholder: "sentence", title: "Maximum number of words between the matches of several queries" }),
  whole("sample", "Random sample", asked.sample, { placeholder: "all lines" }),
  restricted(fields, asked),
  check("either", "any of the queries", asked.either === "true"),
  check("case", "match case", asked.case === "true"),
  check("diacritics", "ignore diacritics", asked.diacritics === "false", "false"));
