// Words together: what they mean by their triples, by their product and by their sum, and their lines.
import { ask } from "../ask.js";
import { h, linesOf, number, quote, section, word } from "../dom.js";
import { csv, send } from "../take.js";

const WAYS = {
  triples: ["By triples", "Nearest words of the words that co-occur with all of them."],
  product: ["By product", "Nearest words by the components that all of them share."],
  sum: ["By sum", "Nearest words to the sum of the vectors."],
};

export const title = (what) => what;

export async function show(page, what) {
  const words = what.split(/\s+/).filter(Boolean);
  const answer = await ask("phrase", { words });
  page.append(
    h("h1", { dir: "auto" }, answer.words.join(" ")),
    h("p", { class: "lead" }, `${number(answer.together)} co-occurrences within ten words · `,
      linesOf(answer.words, `${number(answer.count)} concordance lines`), " · single words: ", answer.words.map((each) => [word(each), " "]), send(answer.words.join(" "), { phrases: answer.words.join(" ") })),
    h("div", { class: "columns three" }, Object.entries(WAYS).map(([name, [heading, about]]) =>
      section(heading, [csv(`${answer.words.join(" ")} ${name}`, () => [["word", "cosine"], ...(answer.nearest[name] ?? [])])],
        h("p", { class: "small" }, about),
        answer.nearest[name]
          ? h("ol", { class: "bars" }, answer.nearest[name].map(([other, cosine]) =>
              h("li", {}, word(other), h("span", { class: "bar", style: { width: `${Math.max(0, 100 * cosine)}%` } }), h("small", {}, number(cosine, 2)))))
          : h("p", {}, name === "product" ? "They share no component." : "They do not co-occur.")))),
    answer.third.length > 0 && section("Words that co-occur with all of them", [csv(`with ${answer.words.join(" ")}`, () => [["word", "occurrences"], ...answer.third])],
      h("p", { class: "words" }, answer.third.map(([other, count]) => h("span", {}, linesOf([...answer.words, other], h("span", { dir: "auto" }, other)), h("small", {}, number(count)))))),
    section("Concordance", [], answer.lines.length ? h("ul", { class: "quotes" }, answer.lines.map(quote)) : h("p", {}, "No line contains all of them.")),
  );
}
