// Elements from descriptions. Text is only ever set as text, so nothing in a corpus can become markup.

import { has } from "./ask.js";

const SVG = new Set(["svg", "g", "path", "rect", "line", "circle", "text", "title"]);

/** Make an element: attributes (functions listen, null is left out), then children. */
export function h(tag, attributes = {}, ...children) {
  const element = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Show children in place of what an element shows. */
export const fill = (element, ...children) => element.replaceChildren(...h("div", {}, children).childNodes);

/** The address of a view: its name, what it shows, and settings. */
export function address(view, what = "", settings = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(settings))
    for (const each of [value].flat()) if (each !== null && each !== undefined && each !== "") query.append(name, each);
  const path = what === "" ? "" : "/" + encodeURIComponent(what);
  return `#/${view}${path}${query.size ? "?" + query : ""}`;
}

/** A link to what a question answers; where there is no answer, as in a page alone, its text. */
export const linked = (href, [name, parameters], attributes, ...label) =>
  has(name, parameters) ? h("a", { href, ...attributes }, label) : h("span", attributes, label);

/** A link to a word. */
export const word = (text) => linked(address("word", text), ["word", { word: text }], { class: "word", dir: "auto" }, text);

/** Lines that are shown at once. */
export const PAGE = 100;

/** A link to the lines of several words. */
export const linesOf = (words, ...label) => linked(address("lines", "", { words }), ["lines", { words, top: PAGE }], {}, label);

/** A link to a document. */
export const documentOf = (number, name) =>
  linked(address("document", String(number)), ["document", { number, top: 200 }], { dir: "auto" }, name);

export const number = (value, digits = 0) =>
  value === null ? "–" : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

export const percent = (share) => `${Math.round(100 * share)} %`;

/** A section with a heading and, at its end, ways to take its content along. */
export function section(title, takeAway, ...children) {
  const id = "s-" + title.toLowerCase().replace(/[^a-z]+/g, "-");
  return h("section", { "aria-labelledby": id },
    h("div", { class: "title" }, h("h2", { id }, title), h("span", { class: "take" }, takeAway)), children);
}

/** A line of text with its words marked: one long line, or cut for a row of a concordance. */
export function marked(line) {
  const parts = [];
  let at = 0;
  const letters = line.text; // places count code points, and strings count halves of pairs
  const offset = codePoints(letters);
  for (const [start, end] of [...line.places].sort((a, b) => a[0] - b[0])) {
    const [from, to] = [offset(start), offset(end)];
    if (from < at) continue;
    parts.push(letters.slice(at, from), h("mark", {}, letters.slice(from, to)));
    at = to;
  }
  return [...parts, letters.slice(at)];
}

/** From places in code points to places in a string. */
export function codePoints(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (place) => place;
  const starts = [];
  for (let at = 0; at < text.length; at += text.codePointAt(at) > 0xffff ? 2 : 1) starts.push(at);
  return (place) => starts[place] ?? text.length;
}

export function quote(line) {
  return h("li", {}, h("q", { dir: "auto" }, marked(line)), " ", h("cite", {}, documentOf(line.document, line.name)));
}

/** A table whose columns can be sorted; a column is [title, value of a row, cell of a row, is it a number]. Null keeps the order. */
export function table(caption, columns, rows, { sorted = 0 } = {}) {
  const body = h("tbody");
  const heads = columns.map(([title, , , numeric], at) =>
    h("th", { scope: "col", class: numeric ? "number" : null }, h("button", { type: "button", click: () => sort(at) }, title)));
  let by = null, falling = true;
  function sort(at) {
    falling = by === at ? !falling : Boolean(columns[at][3]);
    by = at;
    const value = columns[at][1];
    heads.forEach((head, k) => (k === at ? head.setAttribute("aria-sort", falling ? "descending" : "ascending") : head.removeAttribute("aria-sort")));
    draw([...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return (x === y ? 0 : x === null ? -1 : y === null ? 1 : x < y ? -1 : 1) * (falling ? -1 : 1);
    }));
  }
  const draw = (order) => fill(body, order.map((row) =>
    h("tr", {}, columns.map(([, valueOf, cell, numeric]) => h("td", { class: numeric ? "number" : null }, cell ? cell(row) : valueOf(row))))));
  if (sorted === null) draw(rows);
  else sort(sorted);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", { class: "hidden" }, caption), h("thead", {}, h("tr", {}, heads)), body));
}
