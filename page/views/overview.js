// What there is, and where to begin.
import { alone, ask, had } from "../ask.js";
import { address, h, number, word } from "../dom.js";

export const title = () => "Overview";

export async function show(page) {
  const answer = await ask("overview");
  if (!("documents" in answer)) return page.append(h("h1", { dir: "auto" }, answer.name), sent()); // of a table alone
  const usable = Object.keys(answer.fields).filter((name) => answer.fields[name] && answer.fields[name].length > 1);
  const facts = [
    ["documents", number(answer.documents)],
    ["sentences", number(answer.sentences)],
    ["words of text", number(answer.tokens)],
    ["different words", number(answer.words)],
    ["language", answer.language],
    ["vectors", `${answer.method}, rank ${answer.rank}`],
  ];
  page.append(
    h("h1", { dir: "auto" }, answer.name),
    h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    h("p", {}, "Counts leave out words that stand all over the text, and rare ones; lines have all. Press / to look for a word."),
    h("section", { "aria-labelledby": "frequent" },
      h("h2", { id: "frequent" }, "Frequent words"),
      h("p", { class: "words" }, answer.frequent.map(([text, count]) => h("span", {}, word(text), h("small", {}, number(count)))))),
    alone ? sent() : h("section", { "aria-labelledby": "ways" },
      h("h2", { id: "ways" }, "Ways to look"),
      h("ul", {},
        h("li", {}, h("a", { href: address("map") }, "The map"), " of all words, near where they are used alike"),
        h("li", {}, h("a", { href: address("lines") }, "Lines"), " in which words, phrases or beginnings of words stand"),
        answer.topics && h("li", {}, h("a", { href: address("topics") }, "Topics"), " of the documents"),
        usable.length > 0 && h("li", {}, h("a", { href: address("parts") }, "Parts"), ` set apart by ${usable.join(", ")}, word by word`),
        usable.length > 0 && h("li", {}, h("a", { href: address("table") }, "Tables"), " of these fields"))),
    h("p", { class: "small" }, `Made by polyadic ${answer.polyadic ?? ""} of ${answer.source ?? "a text"}; digest ${answer.digest.slice(0, 16)}. `,
      !alone && h("a", { href: "openapi.json" }, "What may be asked, for programs")),
  );
}

/** What a page alone has. */
function sent() {
  const item = (href, text) => h("li", {}, h("a", { href, dir: "auto" }, text));
  return h("section", { "aria-labelledby": "ways" }, h("h2", { id: "ways" }, "In this page"), h("ul", {},
    had("word").map((each) => item(address("word", each.word), each.word)),
    had("phrase").map((each) => item(address("phrase", [each.words].flat().join(" ")), [each.words].flat().join(" "))),
    had("topics").map(() => item(address("topics"), "Topics")),
    had("table").map((each) => item(address("table", "", each), `Table: ${each.rows} and ${each.columns ?? "words"}`)),
    had("keywords").map((each) => item(address("parts", "", each), `Parts: ${each.value} and ${each.against ?? "all others"}`)),
    had("places").map(() => item(address("map"), "Map"))));
}
