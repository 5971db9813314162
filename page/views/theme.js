// A theme: a column of the vectors, by the words that have most of it.
import { ask } from "../ask.js";
import { address, h, linesOf, section, word } from "../dom.js";
import { csv } from "../take.js";

export const title = (what) => `Theme ${what}`;

export async function show(page, what) {
  const answer = await ask("theme", { column: what });
  const words = answer.words.map(([text]) => text);
  page.append(
    h("h1", {}, `Theme ${answer.column}`),
    h("p", { class: "lead" }, "The words that have most of it, weighted by how frequent they are. ",
      h("a", { href: address("lines", "", { words: words.slice(0, 8), either: true, sort: "relevance" }) }, "Lines that have most of the first eight")),
    section("Words", [csv(`theme ${answer.column}`, () => [["word", "value"], ...answer.words])],
      h("p", { class: "words" }, words.map((text) => h("span", {}, word(text))))),
  );
}
