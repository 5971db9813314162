// Topics: where they lie, their words by relevance, and the documents that have most of each; all three are linked.
import { scaleLinear, scaleSqrt } from "d3-scale";
import { ask, alone } from "../ask.js";
import { address, documentOf, fill, h, number, percent, section, table, word } from "../dom.js";
import { csv, send, svg } from "../take.js";

const SIZE = 520;

export const title = (what) => (what === "" ? "Topics" : `Topic ${what}`);

export async function show(page, what, settings) {
  const relevance = settings.get("relevance") ?? "0.6";
  const { topics } = await ask("topics", { relevance });
  const chosen = topics.find((each) => String(each.topic) === what) ?? null;
  const picture = map(topics, chosen, settings);
  const slider = h("input", { id: "relevance", type: "range", min: "0", max: "1", step: "0.1", value: relevance, disabled: alone,
    change: () => (location.hash = address("topics", what, { relevance: slider.value })) });
  const right = h("div", {});
  page.append(
    h("h1", {}, "Topics"),
    h("p", { class: "lead" }, "Each circle is a topic; its area is the share of the text. Topics with similar words are close to each other. Select one. ", send("topics", { topics: true })),
    h("p", { class: "legend" }, h("label", { for: "relevance" }, "Relevance of words: frequent (1) or specific to the topic (0) "), slider, ` λ = ${relevance}`),
    h("div", { class: "columns half" }, h("div", {}, picture, svg("topics", () => picture)), right));
  if (chosen) await tell(right, chosen);
  else
    fill(right, h("ol", { class: "plain" }, topics.toSorted((a, b) => b.share - a.share).map((each) =>
      h("li", {}, link(each, settings), " ", h("small", {}, percent(each.share)), " ", each.words.slice(0, 8).map(([text]) => text).join(", ")))));
}

const link = (topic, settings) => h("a", { href: address("topics", String(topic.topic), { relevance: settings.get("relevance") }) }, `Topic ${topic.topic}`);

async function tell(place, topic) {
  const most = Math.max(...topic.words.map(([, total]) => total));
  const { documents, count } = await ask("topic", { topic: topic.topic });
  fill(place,
    h("h2", {}, `Topic ${topic.topic}, ${percent(topic.share)} of the text`),
    section("Words", [csv(`topic ${topic.topic}`, () => [["word", "count", "share"], ...topic.words])],
      h("ol", { class: "bars" }, topic.words.map(([text, total]) =>
        h("li", {}, word(text), h("span", { class: "bar", style: { width: `${(100 * total) / most}%` } }), h("small", {}, number(total))))),
      h("p", { class: "small" }, "Bars: occurrences in the whole text.")),
    section("Documents", [csv(`documents of topic ${topic.topic}`, () => [["document", "name", "share", "words"], ...documents])],
      h("p", { class: "small" }, `${number(count)} ${count === 1 ? "document" : "documents"} with a share above 50 %.`),
      table(`Documents with most of topic ${topic.topic}`, [
        ["document", ([, name]) => name, ([at, name]) => documentOf(at, name)],
        ["share", ([, , share]) => share, ([, , share]) => percent(share), true],
        ["words", ([, , , length]) => length, ([, , , length]) => number(length), true],
      ], documents, { sorted: 1 })),
    h("p", {}, h("a", { href: address("topics") }, "All topics")));
}

function map(topics, chosen, settings) {
  const [xs, ys] = [topics.map((each) => each.x), topics.map((each) => each.y)];
  const reach = Math.max(...xs.map(Math.abs), ...ys.map(Math.abs), 1e-9);
  const place = scaleLinear([-reach, reach], [60, SIZE - 60]);
  const radius = scaleSqrt([0, Math.max(...topics.map((each) => each.share))], [4, 42]);
  return h("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, class: "plot", role: "group", "aria-label": "Topics as circles" },
    h("line", { x1: SIZE / 2, x2: SIZE / 2, y1: 0, y2: SIZE, class: "axis" }), h("line", { y1: SIZE / 2, y2: SIZE / 2, x1: 0, x2: SIZE, class: "axis" }),
    topics.toSorted((a, b) => b.share - a.share).map((each) => {
      const words = each.words.slice(0, 5).map(([text]) => text).join(", ");
      const go = () => (location.hash = address("topics", String(each.topic), { relevance: settings.get("relevance") }));
      return h("g", { class: each === chosen ? "topic on" : "topic", tabindex: "0", role: "link", "aria-label": `Topic ${each.topic}: ${words}`, click: go,
        keydown: (event) => event.key === "Enter" && go(), transform: `translate(${place(each.x)},${SIZE - place(each.y)})` },
        h("circle", { r: radius(each.share) }), h("text", { dy: "0.35em" }, String(each.topic)), h("title", {}, words));
    }));
}
