// Where queries occur: their relative frequency by value of a field, and their positions in each document.
import { scaleLinear } from "d3-scale";
import { ask } from "../ask.js";
import { address, h, number, section, table } from "../dom.js";
import { choice, form, help, joined, nothing, restricted, split, written } from "../form.js";
import { csv, svg } from "../take.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [900, 320, 70, 30];
const PARTS = 100; // rows of the barcode
const SERIES = 6; // colours
const ORDERED = /^-?\d[\d.:/T+Z-]*$/; // numbers and dates

export const title = (what, settings) => (settings.getAll("queries").length ? `Trends: ${joined(settings.getAll("queries"))}` : "Trends");

export async function show(page, what, settings) {
  const queries = settings.getAll("queries");
  const { fields, attributes } = await ask("overview");
  const by = settings.get("by") ?? Object.keys(fields).find((name) => fields[name]?.length > 1) ?? "document";
  const asked = { queries, by, field: settings.get("field"), value: settings.get("value") };
  const place = h("div", {});
  page.append(h("h1", {}, "Trends"),
    form("Show", {}, ({ queries = "", ...given }) => (location.hash = address("trends", "", { queries: split(queries), ...given })),
      written("queries", "Queries", joined(queries), { required: true, placeholder: "one or more, separated by semicolons" }),
      choice("by", "By", [...Object.keys(fields).map((name) => [name, name]), ["document", "document"]], by),
      restricted(fields, asked)),
    help(attributes), place);
  if (!queries.length) return;
  try {
    await tell(place, asked);
  } catch (error) {
    place.append(h("p", { class: "fault", role: "alert" }, error.message)); // the form stays
  }
}

async function tell(place, asked) {
  const { queries, by } = asked;
  const [{ rows }, barcode] = await Promise.all([ask("trends", asked), ask("barcode", { ...asked, by: "document", top: PARTS })]);
  if (!rows.some((row) => row.frequency)) return place.append(await nothing(queries, asked, rows.length ? `No document with the field ${by} has a match.` : "No document has this field."));
  const name = joined(queries);
  const values = [...new Set(rows.map((row) => row.value))];
  const ordered = values.length > 2 && values.every((value) => ORDERED.test(value));
  const drawing = ordered ? curve(queries, rows, values, by) : null;
  place.append(
    section(`Frequency by ${by}`, [csv(`trends of ${name}`, () => [Object.keys(rows[0]), ...rows.map((row) => Object.values(row))]), drawing && svg(`trends of ${name}`, () => drawing)],
      queries.length > 1 && h("p", { class: "legend" }, queries.map((query, k) => h("span", {}, h("span", { class: `key series${k % SERIES}` }), " ", h("span", { dir: "auto" }, query)))),
      drawing ?? bars(queries, rows, values), h("p", { class: "small" }, "Frequency per million running words of the documents with this value."),
      h("details", {}, h("summary", {}, "Table"), table(`Frequency of ${name} by ${by}`, [
        ["query", (row) => row.query, (row) => h("span", { dir: "auto" }, row.query)],
        [by, (row) => row.value, (row) => h("a", { href: address("lines", "", { words: row.query, ...(by === "document" ? {} : { field: by, value: row.value }) }), dir: "auto" }, row.value)],
        ["frequency", (row) => row.frequency, (row) => number(row.frequency), true],
        ["words", (row) => row.words, (row) => number(row.words), true],
        ["per million", (row) => row.per_million, (row) => number(row.per_million, row.per_million < 100 ? 2 : 0), true],
        ["documents", (row) => row.documents, (row) => number(row.documents), true],
      ], rows, { sorted: null }))),
    section("Positions in each document", [csv(`positions of ${name}`, () => [["part", "query", "frequency", "words", "per_million"], ...barcode.rows.map((row) => [row.part, row.query, row.frequency, row.words, row.per_million])])],
      h("p", { class: "small" }, barcode.parts > barcode.rows.length ? `The ${number(barcode.rows.length)} of ${number(barcode.parts)} rows with the most matches. ` : "", "Each row is a document from beginning to end; a mark is a match."),
      stripes(barcode, queries)));
}

const bars = (queries, rows, values) => {
  const most = Math.max(...rows.map((row) => row.per_million), 1e-9);
  const of = new Map(rows.map((row) => [row.query + "\0" + row.value, row]));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Frequencies" }, h("ol", { class: "bars long" }, values.map((value) => queries.map((query, k) => {
    const row = of.get(query + "\0" + value);
    return h("li", { class: k ? null : "group" }, h("span", { dir: "auto", title: value }, k ? "" : value), h("span", { class: `bar series${k % SERIES}`, style: { width: `${(100 * row.per_million) / most}%` }, title: told(row) }), h("small", {}, number(row.per_million)));
  }))));
};

const told = (row) => `${row.query}, ${row.value}: ${number(row.per_million, 1)} per million, ${number(row.frequency)} of ${number(row.words)} words`;

/** Lines over values that are numbers or dates; dates that are not in ISO 8601 are equally far apart. */
function curve(queries, rows, values, by) {
  const times = values.map((value) => (/^-?[\d.]+$/.test(value) ? Number(value) : /^\d{4}-\d/.test(value) ? Date.parse(value) : NaN));
  const where = times.every(Number.isFinite) && times.every((time, k) => !k || time > times[k - 1]) ? times : values.map((_, k) => k);
  const x = scaleLinear([where[0], where.at(-1)], [LEFT, WIDTH - 30]);
  const y = scaleLinear([0, Math.max(...rows.map((row) => row.per_million), 1e-9)], [HEIGHT - BOTTOM, 15]).nice(5);
  let end = -Infinity;
  const labels = values.flatMap((value, k) => {
    const half = 4 + 3.5 * value.length;
    const at = Math.min(Math.max(x(where[k]), half), WIDTH - half);
    if (at - half < end) return [];
    end = at + half;
    return [h("text", { x: at, y: HEIGHT - 8 }, value)];
  });
  const of = new Map(rows.map((row) => [row.query + "\0" + row.value, row]));
  return h("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot curve", role: "img", "aria-label": `Frequency of ${joined(queries)} by ${by}; the table has all values` },
    y.ticks(5).map((tick) => [h("line", { x1: LEFT, x2: WIDTH - 30, y1: y(tick), y2: y(tick), class: "axis" }), h("text", { x: LEFT - 8, y: y(tick), dy: "0.35em", class: "tick" }, number(tick, y.domain()[1] < 5 ? 1 : 0))]),
    labels,
    queries.map((query, k) => {
      const points = values.map((value, at) => [x(where[at]), y(of.get(query + "\0" + value).per_million), of.get(query + "\0" + value)]);
      return h("g", { class: `series${k % SERIES}` }, h("path", { d: "M" + points.map(([a, b]) => `${a},${b}`).join("L") }),
        points.map(([a, b, row]) => h("circle", { cx: a, cy: b, r: 3.5 }, h("title", {}, told(row)))));
    }));
}

function stripes({ rows, bins }, queries) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Positions of ${joined(queries)}` }, h("table", { class: "barcode" },
    h("caption", { class: "hidden" }, `Positions of ${joined(queries)}`),
    h("thead", {}, h("tr", {}, ["document", ...(queries.length > 1 ? ["query"] : []), "from beginning to end", "matches", "per million"].map((name) => h("th", { scope: "col", class: { query: "query", matches: "number", "per million": "number" }[name] }, name)))),
    h("tbody", {}, rows.map((row) => {
      const most = Math.max(...row.positions);
      const k = queries.indexOf(row.query);
      return h("tr", {}, h("td", { dir: "auto", title: row.part }, row.part), queries.length > 1 && h("td", { dir: "auto", title: row.query }, row.query),
        h("td", {}, h("svg", { viewBox: `0 0 ${bins} 10`, preserveAspectRatio: "none", class: `stripe series${k % SERIES}`, role: "img", "aria-label": `${row.query}: ${row.frequency} of ${row.words} words` },
          row.positions.flatMap((count, at) => (count ? [h("rect", { x: at, y: 0, width: 1, height: 10, opacity: 0.4 + (0.6 * count) / most }, h("title", {}, `${row.query}: ${count}`))] : [])))),
        h("td", { class: "number" }, number(row.frequency)), h("td", { class: "number" }, number(row.per_million)));
    }))));
}
