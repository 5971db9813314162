// A concordance: lines with what is asked for in their midst.
import { alone, ask } from "../ask.js";
import { PAGE, address, codePoints, documentOf, h, number } from "../dom.js";
import { csv } from "../take.js";

const MOST = 1000; // lines of an answer
const SORTS = { document: "text order", left: "left context", right: "right context", relevance: "relevance (BM25)" };

export const title = (what, settings) => (settings.getAll("words").length ? `Concordance: ${settings.getAll("words").join(", ")}` : "Concordance");

/** Words between spaces; what stands in quotation marks is one phrase. */
export const split = (text) => [...text.matchAll(/"([^"]+)"|\S+/g)].map((match) => (match[1] ?? match[0]).trim()).filter(Boolean);

export async function show(page, what, settings) {
  const words = settings.getAll("words");
  const asked = { words, width: settings.get("width"), either: settings.get("either"), sort: settings.get("sort"),
    field: settings.get("field"), value: settings.get("value"), start: settings.get("start") };
  const fields = Object.keys((await ask("overview")).fields);
  page.append(h("h1", { dir: "auto" }, alone ? title(what, settings) : "Concordance"), alone ? "" : form(asked, fields));
  if (!words.length) {
    page.append(h("p", {}, "Finds sentences that contain all words. \"two words\" in quotation marks is a phrase; wo* matches every word that begins with wo."));
    return;
  }
  const answer = await ask("lines", { ...asked, top: PAGE });
  const start = answer.start;
  const go = (to, label) => h("a", { href: address("lines", "", { ...asked, start: to || null }) }, label);
  page.append(
    h("p", { class: "lead", role: "status" }, answer.count === 0 ? "No line matches." :
      `${number(answer.count)} ${answer.count === 1 ? "line" : "lines"} · ${number(start + 1)}–${number(start + answer.lines.length)} `,
      start > 0 && go(Math.max(0, start - PAGE), "← previous"), " ", !alone && start + PAGE < answer.count && go(start + PAGE, "next →"), " ",
      csv(`lines of ${words.join(" ")}`, () => everyRow(asked, answer, fields))),
    h("div", { class: "scroll kwic", tabindex: "0", role: "region", "aria-label": "Concordance lines" },
      h("table", {}, h("caption", { class: "hidden" }, `Concordance lines of ${words.join(", ")}`),
        ["left", "word", "right", "name"].map((name) => h("col", { class: name })),
        h("thead", {}, h("tr", {}, ["left context", "word", "right context", "document"].map((name) => h("th", { scope: "col" }, h("span", { class: "hidden" }, name))))),
        h("tbody", {}, answer.lines.map((line) => {
          const { left, word, right } = cut(line);
          return h("tr", {}, h("td", { class: "left", dir: "auto" }, h("bdi", {}, left)), h("td", { class: "word", dir: "auto" }, h("mark", {}, word)),
            h("td", { class: "right", dir: "auto" }, right), h("td", { class: "name", dir: "auto", title: about(line) }, documentOf(line.document, line.name)));
        })))),
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
  while (!alone && lines.length < answer.count) {
    const more = await ask("lines", { ...asked, start: lines.length, top: MOST });
    if (!more.lines.length) break;
    lines.push(...more.lines);
  }
  return [["document", "left", "word", "right", ...fields],
    ...lines.map((line) => [line.document, ...Object.values(cut(line)), ...fields.map((field) => line.fields[field])])];
}

function form(asked, fields) {
  const said = (asked.words ?? []).map((word) => (/\s/.test(word) ? `"${word}"` : word)).join(" ");
  const field = (label, control) => h("label", {}, h("span", {}, label), control);
  const choice = (name, options, chosen) => h("select", { name }, Object.entries(options).map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
  return h("form", { class: "ask", submit: (event) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.target));
    const words = split(given.words);
    if (!words.length) return;
    location.hash = address("lines", "", { words, either: given.either, width: given.either ? null : given.width, sort: given.sort === "document" ? null : given.sort,
      field: given.value ? given.field : null, value: given.field ? given.value : null });
  } },
    field("Words", h("input", { name: "words", value: said, dir: "auto", autocapitalize: "off", spellcheck: "false" })),
    field("Maximum distance", h("input", { name: "width", type: "number", min: "0", max: "1000", value: asked.width ?? "", placeholder: "sentence" })),
    field("Sort by", choice("sort", SORTS, asked.sort ?? "document")),
    fields.length > 0 && field("Field", choice("field", Object.fromEntries([["", "all documents"], ...fields.map((name) => [name, name])]), asked.field ?? "")),
    fields.length > 0 && field("Value", h("input", { name: "value", value: asked.value ?? "", dir: "auto" })),
    h("label", { class: "check" }, h("input", { type: "checkbox", name: "either", value: "true", checked: asked.either === "true" }), h("span", {}, "any of the words")),
    h("button", {}, "Search"));
}
