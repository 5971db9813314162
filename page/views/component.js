// A component: a column of the vectors, by the words that have most of it.
import { ask } from "../ask.js";
import { address, h, linesOf, section, word } from "../dom.js";
import { csv } from "../take.js";

export const title = (what) => `Component ${what}`;

export async function show(page, what) {
  const answer = await ask("component", { column: what });
  const words = answer.words.map(([text]) => text);
  page.append(
    h("h1", {}, `Component ${answer.column}`),
    h("p", { class: "lead" }, "Words with the largest values in this non-negative component, weighted by frequency. ",
      h("a", { href: address("lines", "", { words: words.slice(0, 8), either: true, sort: "relevance" }) }, "Concordance of the first eight")),
    section("Words", [csv(`component ${answer.column}`, () => [["word", "value"], ...answer.words])],
      h("p", { class: "words" }, words.map((text) => h("span", {}, word(text))))),
  );
}
