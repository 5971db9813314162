// A correspondence biplot of two fields of the documents, or of a field and words: who is near, and how well it is shown.
import { scaleLinear } from "d3-scale";
import { alone, ask, had } from "../ask.js";
import { address, fill, h, number, percent, section, table, word } from "../dom.js";
import { csv, send, svg } from "../take.js";

const [WIDTH, HEIGHT, LABELS] = [760, 620, 60];

export const title = (what, settings) => (settings.get("rows") ? `Table: ${settings.get("rows")} × ${settings.get("columns") || "words"}` : "Tables");

export async function show(page, what, settings) {
  const { fields } = await ask("overview");
  const usable = Object.keys(fields).filter((name) => fields[name] && fields[name].length > 1);
  const [rows, columns] = [settings.get("rows"), settings.get("columns")];
  const select = (name, options, chosen) => h("select", { name }, options.map(([value, text]) => h("option", { value, selected: value === (chosen ?? "") }, text)));
  page.append(h("h1", {}, "Correspondence analysis"));
  if (!alone && !usable.length) {
    page.append(h("p", {}, "The documents have no field with a few values, such as year or author. A text of several files has the field file; a table may have more."));
    return;
  }
  if (!alone) page.append(h("form", { class: "ask", submit: (event) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.target));
    location.hash = address("table", "", { rows: given.rows, columns: given.columns });
  } },
    h("label", {}, h("span", {}, "Rows"), select("rows", usable.map((name) => [name, name]), rows)),
    h("label", {}, h("span", {}, "Columns"), select("columns", [["", "words"], ...usable.map((name) => [name, name])], columns)),
    h("button", {}, "Show")));
  if (!rows) {
    if (alone) page.append(h("ul", {}, had("table").map((each) => h("li", {}, h("a", { href: address("table", "", each) }, `${each.rows} and ${each.columns ?? "words"}`)))));
    return;
  }
  const answer = await ask("table", { rows, columns });
  const axes = ["x", "y"].map((name, at) => Math.min(Number(settings.get(name) ?? at), answer.inertia.length - 1));
  const axis = (name, at) => h("label", {}, h("span", {}, at ? "Vertical axis" : "Horizontal axis"), h("select", { change: (event) => (location.hash = address("table", "", { rows, columns, ...Object.fromEntries([["x", axes[0]], ["y", axes[1]]]), [name]: event.target.value })) },
    answer.inertia.map((share, k) => h("option", { value: k, selected: k === axes[at] }, `axis ${k + 1} (${number(100 * share, 1)} %)`))));
  const drawing = plot(answer, axes);
  const { chi2, degrees, p, observations } = answer.association;
  page.append(
    h("p", { class: "lead" }, `${number(observations)} observations, χ² = ${number(chi2)}, ${number(degrees)} degrees of freedom, p ${p < 0.001 ? "< .001" : `= ${number(p, 3)}`}. `,
      `The two axes explain ${number(100 * (answer.inertia[axes[0]] + (axes[0] === axes[1] ? 0 : answer.inertia[axes[1]])), 1)} % of the inertia.`),
    h("div", { class: "ask" }, axis("x", 0), axis("y", 1)),
    drawing, svg("table", () => drawing), " ", send(`table of ${rows}`, { tables: columns ? `${rows}/${columns}` : rows }),
    h("div", { class: "columns half" }, ["rows", "columns"].map((side) => points(answer, side, axes))));
}

function points(answer, side, axes) {
  const share = (point, axis) => point.contributions[axis];
  const quality = (point) => axes.reduce((sum, axis, at) => sum + (at && axis === axes[0] ? 0 : point.squared_cosines[axis]), 0);
  const rows = answer.points[side];
  const isWord = side === "columns" && answer.columns === "words";
  return section(answer[side], [csv(`${side} of ${answer.rows} and ${answer.columns}`, () => [["name", "mass", ...answer.inertia.map((_, k) => `axis ${k + 1}`), ...answer.inertia.map((_, k) => `contribution ${k + 1}`)], ...rows.map((each) => [each.name, each.mass, ...each.places, ...each.contributions])])],
    table(`${answer[side]}: contributions to the axes, and quality`, [
      [side === "rows" ? answer.rows : answer.columns, (point) => point.name, (point) => (isWord ? word(point.name) : h("span", { dir: "auto" }, point.name))],
      [`contribution to axis ${axes[0] + 1}`, (point) => share(point, axes[0]), (point) => percent(share(point, axes[0])), true],
      [`contribution to axis ${axes[1] + 1}`, (point) => share(point, axes[1]), (point) => percent(share(point, axes[1])), true],
      ["quality (cos²)", quality, (point) => percent(quality(point)), true],
    ], rows, { sorted: 1 }));
}

function plot(answer, [a, b]) {
  const all = ["rows", "columns"].flatMap((side) => answer.points[side].map((point) => ({ ...point, side, weight: answer.inertia[a] * point.contributions[a] + answer.inertia[b] * point.contributions[b] + (side === "rows" ? 1 : 0) })));
  const extent = (k) => [Math.min(...all.map((each) => each.places[k]), 0), Math.max(...all.map((each) => each.places[k]), 0)];
  const [[x0, x1], [y0, y1]] = [extent(a), extent(b)];
  const unit = Math.min((WIDTH - 120) / Math.max(x1 - x0, 1e-9), (HEIGHT - 60) / Math.max(y1 - y0, 1e-9));
  const x = scaleLinear([(x0 + x1) / 2, (x0 + x1) / 2 + 1], [WIDTH / 2, WIDTH / 2 + unit]);
  const y = scaleLinear([(y0 + y1) / 2, (y0 + y1) / 2 + 1], [HEIGHT / 2, HEIGHT / 2 - unit]);
  const boxes = [];
  const labels = all.toSorted((p, q) => q.weight - p.weight).slice(0, 4 * LABELS).filter((each) => {
    const [px, py, half] = [x(each.places[a]), y(each.places[b]), 4 + 3.6 * [...each.name].length];
    const box = [px - half, py - 18, px + half, py - 3];
    const free = boxes.length < LABELS && boxes.every((o) => box[2] < o[0] || box[0] > o[2] || box[3] < o[1] || box[1] > o[3]);
    if (free) boxes.push(box);
    return free;
  });
  const named = new Set(labels);
  return h("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "img", "aria-label": `Biplot of ${answer.rows} and ${answer.columns}; the tables below have all points` },
    h("line", { x1: 0, x2: WIDTH, y1: y(0), y2: y(0), class: "axis" }), h("line", { y1: 0, y2: HEIGHT, x1: x(0), x2: x(0), class: "axis" }),
    all.map((each) => h("g", { class: `point ${each.side === "rows" ? "rows" : "cols"}`, transform: `translate(${x(each.places[a])},${y(each.places[b])})` },
      each.side === "rows" ? h("rect", { x: -4, y: -4, width: 8, height: 8 }) : h("circle", { r: 3 }),
      h("title", {}, `${each.name}: contributes ${percent(each.contributions[a])} to axis ${a + 1}, ${percent(each.contributions[b])} to axis ${b + 1}`),
      named.has(each) && h("text", { dy: "-0.5em" }, each.name.length > 30 ? each.name.slice(0, 29) + "…" : each.name))));
}
