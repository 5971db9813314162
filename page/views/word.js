// A word: how often, its senses with their evidence, nearest words, collocates, components.
import { alone, ask } from "../ask.js";
import { address, fill, h, linesOf, linked, number, percent, quote, section, table, word } from "../dom.js";
import { csv, send, svg } from "../take.js";

const LINES = 3;

/** What the dispersion is. */
export const DP = "Gries's deviation of proportions: 0 if the word is distributed like the text, near 1 if it occurs in one document only";

export const title = (what) => what;

export async function show(page, what) {
  const answer = await ask("word", { word: what });
  const senses = h("div", { class: "senses" }, h("p", { class: "waiting" }, "Computing senses …"));
  page.append(
    h("h1", { dir: "auto" }, answer.word),
    h("p", { class: "lead" },
      `${number(answer.count)} ${answer.count === 1 ? "occurrence" : "occurrences"} (${number(answer.per_million)} per million words) · rank ${number(answer.rank)} · ` +
      `${number(answer.documents)} of ${number(answer.of_documents)} documents · `,
      h("abbr", { title: DP }, `dispersion DP ${number(answer.deviation, 2)}`), " · ",
      linesOf([answer.word], "Concordance"), " · ",
      !alone && [h("a", { href: address("collocates", answer.word) }, "All collocates"), " · ", h("a", { href: address("trends", "", { queries: answer.word }) }, "Trends"), " "], send(answer.word, { words: answer.word })),
    spread(answer),
    section("Senses", [csv(`senses of ${answer.word}`, () => senseRows(senses.answer))], senses),
    h("div", { class: "columns" },
      section("Nearest words", [csv(`nearest to ${answer.word}`, () => [["word", "cosine"], ...answer.neighbours])],
        h("ol", { class: "bars" }, answer.neighbours.map(([other, cosine]) =>
          h("li", {}, word(other), h("span", { class: "bar", style: { width: `${Math.max(0, 100 * cosine)}%` } }), h("small", {}, number(cosine, 2)))))),
      section("Collocates", [csv(`collocates of ${answer.word}`, () => collocateRows(answer))],
        answer.looked_at < answer.count && h("p", { class: "small" }, `From a sample of ${number(answer.looked_at)} occurrences.`),
        table(`Collocates within 5 words of ${answer.word}`, [
          ["word", (row) => row.word, (row) => word(row.word)],
          ["co-occurrences", (row) => row.together, (row) => linesOf([answer.word, row.word], number(row.together)), true],
          ["G²", (row) => row.log_likelihood, (row) => number(row.log_likelihood, 0), true],
          ["PMI", (row) => row.pmi, (row) => number(row.pmi, 1), true],
          ["logDice", (row) => row.log_dice, (row) => number(row.log_dice, 1), true],
        ], answer.collocates, { sorted: 2 }))),
    section("Components", [], h("ol", { class: "components" }, answer.components.map((component) =>
      h("li", {}, linked(address("component", String(component.column)), ["component", { column: component.column }], {}, `Component ${component.column}`), ": ", component.words.map((each) => [word(each), " "]))))),
  );
  if (answer.senses) tell(senses, answer.word);
  else fill(senses, h("p", {}, "Too few occurrences for word senses."));
}

async function tell(place, text) {
  try {
    const answer = await ask("senses", { word: text, lines: LINES });
    place.answer = answer;
    fill(place, 
      h("p", { class: "small" },
        answer.senses.length === 1 ? "1 sense" : `${answer.senses.length} senses`,
        ` · ${percent(answer.agreement)} of the random starts agree`, answer.sure ? "" : " · few occurrences, so a sense may be missing"),
      answer.senses.map((sense, at) => card(answer.word, sense, at)));
  } catch (error) {
    fill(place, h("p", { class: "fault", role: "alert" }, error.message));
  }
}

function card(text, sense, at) {
  return h("article", { class: "sense", "aria-label": `Sense ${at + 1}: ${sense.words.slice(0, 3).join(", ")}` },
    h("h3", {}, sense.words.slice(0, 3).join(", "), " ", h("span", { class: "share" }, percent(sense.share))),
    h("div", { class: "meter", "aria-hidden": "true" }, h("span", { style: { width: percent(sense.share).replace(" ", "") } })),
    h("p", {}, h("span", { class: "what" }, "Substitutes: "), sense.words.map((each) => [word(each), " "])),
    sense.triples.length > 0 && h("p", { class: "triples" }, h("span", { class: "what" }, "Co-occurs with: "),
      sense.triples.map(([u, v, count]) => [linesOf([text, u, v], h("span", { dir: "auto" }, `${u} + ${v}`), h("small", {}, ` ${number(count)}`)), " "])),
    h("ul", { class: "quotes" }, sense.lines.map(quote)));
}

/** Occurrences of the word in equal parts of the text, from its beginning to its end. */
function spread(answer) {
  const most = Math.max(...answer.spread, 1);
  const parts = answer.spread.length;
  const drawing = h("svg", { viewBox: `0 0 ${parts * 10} 40`, preserveAspectRatio: "none", class: "spread", role: "img",
    "aria-label": `Occurrences of ${answer.word} in ${parts} equal parts of the text, at most ${most}` },
    answer.spread.map((count, at) => h("rect", { x: at * 10 + 1, y: 40 - (38 * count) / most, width: 8, height: (38 * count) / most },
      h("title", {}, `part ${at + 1} of ${parts}: ${count}`))));
  return h("figure", {}, drawing,
    h("figcaption", {}, `Occurrences in ${parts} equal parts of the text, from beginning to end. `, svg(`dispersion of ${answer.word}`, () => drawing)));
}

const senseRows = (answer) => [["sense", "share", "substitutes", "triples", "document", "line"],
  ...(answer?.senses ?? []).flatMap((sense, at) => sense.lines.map((line) =>
    [at + 1, sense.share, sense.words.join(" "), sense.triples.map(([u, v, n]) => `${u}+${v} ${n}`).join("; "), line.name, line.text]))];

const collocateRows = (answer) => [["word", "together", "count", "log_likelihood", "pmi", "log_dice"],
  ...answer.collocates.map((row) => [row.word, row.together, row.count, row.log_likelihood, row.pmi, row.log_dice])];
