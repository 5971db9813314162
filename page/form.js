// Forms whose fields become the settings of an address, and what several views say of queries.
import { ask } from "./ask.js";
import { h } from "./dom.js";

export const labelled = (label, control) => h("label", {}, h("span", {}, label), control);

/** A choice from options, which are [value, label]. */
export const choice = (name, label, options, chosen, change) =>
  labelled(label, h("select", { name, change }, options.map(([value, text]) => h("option", { value, selected: value === (chosen ?? "") }, text))));

export const whole = (name, label, value, attributes) => labelled(label, h("input", { name, type: "number", min: "1", value: value ?? "", ...attributes }));

export const written = (name, label, value, attributes) =>
  labelled(label, h("input", { name, value: value ?? "", dir: "auto", autocapitalize: "off", spellcheck: "false", ...attributes }));

export const check = (name, label, checked, value = "true") => h("label", { class: "check" }, h("input", { type: "checkbox", name, value, checked }), h("span", {}, label));

/** The choice of a field and a value, which restricts a search; fields have lists of values, or null. */
export function restricted(fields, asked) {
  if (!Object.keys(fields).length) return [];
  const known = h("datalist", { id: "values" });
  const value = written("value", "Value", asked.value, { list: "values" });
  const input = value.querySelector("input");
  const set = (field) => {
    known.replaceChildren(...(fields[field] ?? []).map((each) => h("option", { value: each })));
    input.required = !(input.disabled = !field);
  };
  set(asked.field);
  return [choice("field", "Field", [["", "all documents"], ...Object.keys(fields).map((name) => [name, name])], asked.field, (event) => set(event.target.value)), value, known];
}

/** A form that passes what is filled in; a field that keeps its default value is left out. */
export const form = (title, defaults, go, ...controls) => h("form", { class: "ask", submit: (event) => {
  event.preventDefault();
  go(Object.fromEntries([...new FormData(event.target)].filter(([name, text]) => text.trim() && text !== defaults[name])));
} }, controls, h("button", {}, title));

/** Queries between semicolons; a semicolon in quotation marks is part of a query. */
export const split = (text) => [...text.matchAll(/(?:"(?:\\.|[^"\\])*"|[^;])+/g)].map((match) => match[0].trim()).filter(Boolean);

export const joined = (queries) => queries.join("; ");

/** The query for an item of a list, whatever its letters are. */
export const literal = (item, attribute = "lc") =>
  attribute === "lc" && !/[*?[\]";]/.test(item) ? item : item.split(" ").map((value) => `[${attribute}=="${value.replaceAll('"', '\\"')}"]`).join(" ");

/** Why a list is empty: the queries that do not occur, or else a limit. */
export async function nothing(queries, { field, value }, limit) {
  const found = await Promise.all(queries.map((query) => ask("lines", { words: query, field, value, top: 1 })));
  const notes = found.map(({ note }) => note).filter(Boolean);
  return h("p", { role: "status" }, (notes.length ? notes : [limit]).map((note) => h("span", { class: "said" }, sentence(note), " ")));
}

/** A note of the server as a sentence. */
export const sentence = (note) => note[0].toUpperCase() + note.slice(1) + (/[.?!]$/.test(note) ? "" : ".");

const EXAMPLES = [
  ["bank", "the word, ignoring case"],
  ["river bank", "the phrase"],
  ["*ing, b?nk", "* for any letters, ? for one letter"],
  ['"Bank"', "the word as it is written"],
  ['[lemma="go"]', "a value of an attribute"],
  ['[word="ban.*" & lc!="bank"]', "regular expressions, & | ! ( )"],
  ['"river" []{0,3} "bank"', "up to three words between"],
  ['("river" | "money") "bank"', "alternatives; also * + ?"],
  ['"a" []{0,9} "b" within d', "also across sentences of a document"],
  ['[word="éte"%cd]', "%c ignores case, %d diacritics"],
];

/** A short description of the query language. */
export const help = (attributes) => h("details", { class: "help" }, h("summary", {}, "Query language"),
  h("dl", {}, EXAMPLES.map(([query, about]) => h("div", {}, h("dt", {}, h("code", {}, query)), h("dd", {}, about)))),
  h("p", { class: "small" }, `Queries with quotation marks or square brackets are in CQL. Attributes of words in this text: ${(attributes ?? []).join(", ")}. Several queries are separated by semicolons.`));
