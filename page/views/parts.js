// Two parts of the text: what words set them apart, and how the same word differs between them.
import { alone, ask, had } from "../ask.js";
import { address, h, linked, number, percent, quote, section, table, word } from "../dom.js";
import { csv, send } from "../take.js";

export const title = (what, settings) => (settings.get("value") ? `${settings.get("value")} and ${settings.get("against") || "the rest"}${what && `: ${what}`}` : "Compare");

export async function show(page, what, settings) {
  const { fields } = await ask("overview");
  const usable = Object.keys(fields).filter((name) => fields[name] && fields[name].length > 1);
  page.append(h("h1", {}, "Compare two parts of the text"));
  if (!usable.length) {
    page.append(h("p", {}, "The documents have no field with a few values. A text of several files has the field file; a table may have more."));
    return;
  }
  const asked = { field: settings.get("field") ?? usable[0], value: settings.get("value"), against: settings.get("against") };
  if (!alone) page.append(form(usable, fields, asked, what));
  if (!asked.value) {
    if (alone) page.append(h("ul", {}, had("keywords").map((each) => h("li", {}, h("a", { href: address("parts", "", each) }, `${each.value} and ${each.against ?? "all other documents"}`)))));
    return;
  }
  if (what) await contrast(page, what, asked);
  else await keywords(page, asked);
}

function form(usable, fields, asked, what) {
  const values = fields[asked.field] ?? [];
  const select = (name, options, chosen, change) => h("select", { name, change }, options.map(([value, text]) => h("option", { value, selected: value === (chosen ?? "") }, text)));
  return h("form", { class: "ask", submit: (event) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.target));
    location.hash = address("parts", given.word.trim(), { field: given.field, value: given.value, against: given.against });
  } },
    h("label", {}, h("span", {}, "Field"), select("field", usable.map((name) => [name, name]), asked.field, (event) => (location.hash = address("parts", what, { field: event.target.value })))),
    h("label", {}, h("span", {}, "Part"), select("value", values.map((value) => [value, value]), asked.value)),
    h("label", {}, h("span", {}, "Reference"), select("against", [["", "all other documents"], ...values.map((value) => [value, value])], asked.against)),
    h("label", {}, h("span", {}, "Word"), h("input", { name: "word", value: what, placeholder: "all words", dir: "auto", autocapitalize: "off", spellcheck: "false" })),
    h("button", {}, "Compare"));
}

const others = (asked) => asked.against || "all other documents";

async function keywords(page, asked) {
  const answer = await ask("keywords", asked);
  const names = [asked.value, others(asked)];
  page.append(
    h("p", { class: "lead" }, names.map((name, at) => [h("strong", { dir: "auto" }, name), `: ${number(answer.documents[at])} documents, ${number(answer.tokens[at])} words`, at ? ". " : "; "]),
      send(`${names[0]} and ${names[1]}`, { parts: `${asked.field}=${asked.value}${asked.against ? "/" + asked.against : ""}` })),
    h("div", { class: "columns half" }, answer.words.map((rows, at) => section(`Key words of ${names[at]}`,
      [csv(`key words of ${names[at]}`, () => [["word", names[0], names[1], "log_likelihood", "log_ratio"], ...rows.map((row) => [row.word, row.count, row.against, row.log_likelihood, row.log_ratio])])],
      table(`Words that are more frequent in ${names[at]}`, [
        ["word", (row) => row.word, (row) => linked(address("parts", row.word, asked), ["contrast", { word: row.word, ...asked }], { dir: "auto" }, row.word)],
        [names[0], (row) => row.count, (row) => number(row.count), true],
        [names[1], (row) => row.against, (row) => number(row.against), true],
        ["G²", (row) => row.log_likelihood, (row) => number(row.log_likelihood), true],
        ["log ratio", (row) => row.log_ratio, (row) => number(row.log_ratio, 1), true],
      ], rows, { sorted: 3 })))),
    h("p", { class: "small" }, "G² is the log-likelihood ratio (evidence); the log ratio is the size of the difference: 1 means twice as frequent, 2 four times."));
}

async function contrast(page, text, asked) {
  const answer = await ask("contrast", { word: text, ...asked });
  const names = [asked.value, others(asked)];
  page.append(
    h("p", { class: "lead" }, word(answer.word), answer.cosine === null ? " occurs in one part only. " : `: cosine similarity of its contexts ${number(answer.cosine, 2)}. `,
      h("a", { href: address("parts", "", asked) }, "All words")),
    answer.senses.length > 1 && section("Senses", [], table(`Share of the senses of ${answer.word}`, [
      ["sense", (row) => row.words[0], (row) => row.words.slice(0, 5).join(", ")],
      [names[0], (row) => row.shares[0], (row) => percent(row.shares[0]), true],
      [names[1], (row) => row.shares[1], (row) => percent(row.shares[1]), true],
    ], answer.senses, { sorted: 1 })),
    h("div", { class: "columns half" }, answer.parts.map((part, at) => section(names[at], [csv(`${answer.word} in ${names[at]}`, () => [["word", "cosine"], ...part.neighbours])],
      h("p", {}, `${number(part.count)} occurrences, ${number(part.per_million)} per million words`),
      part.neighbours.length > 0 && h("p", {}, h("span", { class: "what" }, "Substitutes: "), part.neighbours.map(([other]) => [word(other), " "])),
      h("ul", { class: "quotes" }, part.lines.map(quote))))));
}
