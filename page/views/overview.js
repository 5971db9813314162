// The home page: sizes, frequent words, words with several senses, key words of the parts, topics, the map.
import { alone, ask, had } from "../ask.js";
import { address, fill, h, number, percent, section, table, word } from "../dom.js";
import { DP } from "./word.js";

const PARTS = 12; // parts whose key words are shown
const [SIDE, LABELS] = [640, 24]; // of the picture of the map

export const title = () => "Overview";

export async function show(page) {
  const answer = await ask("overview");
  if (!("documents" in answer)) return page.append(h("h1", { dir: "auto" }, answer.name), sent()); // of a table alone
  const facts = [
    ["documents", number(answer.documents)],
    ["sentences", number(answer.sentences)],
    ["tokens", number(answer.tokens)],
    ["vocabulary", number(answer.words)],
    ["language", answer.language],
    ["vectors", `${answer.method}, rank ${answer.rank}`],
  ];
  const field = Object.keys(answer.fields).find((name) => answer.fields[name]?.length > 1);
  page.append(
    h("h1", { dir: "auto" }, answer.name),
    h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    alone ? sent() : "",
    h("div", { class: "home" },
      section("Frequent words", [], table("Most frequent words with their dispersion", [
        ["word", (row) => row.word, (row) => word(row.word)],
        ["occurrences", (row) => row.count, (row) => number(row.count), true],
        ["per million", (row) => row.per_million, (row) => number(row.per_million), true],
        [h("abbr", { title: DP }, "dispersion DP"), (row) => row.deviation, (row) => number(row.deviation, 2), true],
      ], answer.frequent, { sorted: 1 })),
      alone ? "" : [
        later("Map of words", "places", {}, map, h("a", { href: address("map") }, "Open the map")),
        later("Words with several senses", "ambiguous", { top: 6 }, senses),
        answer.topics && later("Topics", "topics", {}, topics, h("a", { href: address("topics") }, "All topics")),
        field && answer.fields[field].slice(0, PARTS).map((value) =>
          later(`Key words of ${value}`, "keywords", { field, value, top: 15 }, keys, h("a", { href: address("parts", "", { field, value }) }, "Compare"))),
      ]),
    h("p", { class: "small" }, `The vocabulary leaves out stop words and rare words; the concordance has all words. Press / to search. `,
      `Made by polyadic ${answer.polyadic ?? ""} from ${answer.source ?? "a text"}; digest ${answer.digest.slice(0, 16)}. `,
      !alone && h("a", { href: "openapi.json" }, "API")),
  );
}

/** A section whose content is asked for when the page is shown already. */
function later(name, question, parameters, content, more = "") {
  const place = h("div", {}, h("p", { class: "small" }, "Loading …"));
  ask(question, parameters).then((answer) => fill(place, content(answer)), (error) => fill(place, h("p", { class: "fault" }, error.message)));
  return section(name, [more], place);
}

const senses = ({ words, looked_up }) => [h("p", { class: "small" }, `Of ${number(looked_up)} words of medium frequency, ${number(words.length)} ${words.length === 1 ? "has" : "have"} several senses.`),
  h("dl", { class: "plain" }, words.map((each) => [h("dt", {}, word(each.word)),
    each.senses.map((sense) => h("dd", {}, `${percent(sense.share)} `, h("span", { dir: "auto" }, sense.words.join(", "))))]))];

const topics = ({ topics }) => h("ol", { class: "plain" }, topics.toSorted((a, b) => b.share - a.share).slice(0, 10).map((each) =>
  h("li", {}, h("a", { href: address("topics", String(each.topic)), dir: "auto" }, each.words.slice(0, 6).map(([text]) => text).join(", ")), " ", h("small", {}, percent(each.share)))));

const keys = ({ words }) => h("p", { class: "words" }, words[0].map((row) => h("span", {}, word(row.word), h("small", {}, number(row.count)))));

/** A small picture of the map: a dot for each word, and names of the most frequent words that do not overlap. */
function map(answer) {
  const [x, y] = [answer.x, answer.y].map((places, at) => places.map((place) => (SIDE / 2) * (1 + 0.94 * (at ? -place : place))));
  const boxes = [];
  const named = [...answer.words.keys()].filter((at) => {
    const half = 4 + 5 * [...answer.words[at]].length;
    const box = [x[at] - half, y[at] - 12, x[at] + half, y[at] + 12];
    const free = boxes.length < LABELS && box[0] > 0 && box[2] < SIDE && boxes.every((o) => box[2] < o[0] || box[0] > o[2] || box[3] < o[1] || box[1] > o[3]);
    if (free) boxes.push(box);
    return free;
  });
  return h("a", { href: address("map"), "aria-label": "Map of words" },
    h("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, class: "plot small-map", role: "img", "aria-label": `Map of ${number(answer.words.length)} words` },
      answer.words.slice(0, 2000).map((_, at) => h("circle", { cx: x[at], cy: y[at], r: 2.5, style: { fill: `oklch(0.65 0.13 ${(answer.components[at] * 137.508) % 360})` } })),
      named.map((at) => h("text", { x: x[at], y: y[at], dy: "0.35em" }, answer.words[at]))));
}

/** The contents of an exported page. */
function sent() {
  const item = (href, text) => h("li", {}, h("a", { href, dir: "auto" }, text));
  return h("section", { "aria-labelledby": "contents" }, h("h2", { id: "contents" }, "Contents"), h("ul", {},
    had("word").map((each) => item(address("word", each.word), each.word)),
    had("phrase").map((each) => item(address("phrase", [each.words].flat().join(" ")), [each.words].flat().join(" "))),
    had("topics").map(() => item(address("topics"), "Topics")),
    had("table").map((each) => item(address("table", "", each), `Table: ${each.rows} × ${each.columns ?? "words"}`)),
    had("keywords").map((each) => item(address("parts", "", each), `Compare: ${each.value} and ${each.against ?? "all other documents"}`)),
    had("places").map(() => item(address("map"), "Map"))));
}
