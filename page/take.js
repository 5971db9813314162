// Ways to take along what is shown: CSV, SVG, PNG.
import { alone } from "./ask.js";
import { h } from "./dom.js";

function save(name, content) {
  const url = URL.createObjectURL(content);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** Cells as people's spreadsheets take them; what would be a formula there is text. */
export function csvText(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    const plain = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
    return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  return "\ufeff" + rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

const button = (title, what, click) => h("button", { type: "button", class: "quiet", click, "aria-label": `${title}: ${what}` }, title);

/** A button that saves rows, which may have to be asked for, as CSV. */
export const csv = (name, rows) =>
  button("CSV", name, async () => save(`${name}.csv`, new Blob([csvText(await rows())], { type: "text/csv" })));

/** A button that saves a drawing as it is seen, colours and all. */
export const svg = (name, drawing) => button("SVG", name, () => save(`${name}.svg`, new Blob([standalone(drawing())], { type: "image/svg+xml" })));

function standalone(drawing) {
  const copy = drawing.cloneNode(true);
  const originals = [drawing, ...drawing.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, at) => {
    const style = getComputedStyle(originals[at]);
    for (const name of ["fill", "stroke", "stroke-width", "font-size", "font-family", "opacity"]) element.setAttribute(name, style.getPropertyValue(name));
  });
  return new XMLSerializer().serializeToString(copy);
}

/** A button that saves a canvas. */
export const png = (name, canvas) => button("PNG", name, async () => (await canvas()).toBlob((blob) => save(`${name}.png`, blob)));

/** A link that saves what is shown as one file, which needs no server. */
export const send = (name, chosen) =>
  !alone && h("a", { href: `page.html?${new URLSearchParams(chosen)}`, download: `${name}.html`, class: "quiet", "aria-label": `Export page: ${name}` }, "Export page");
