// A document: its text, from some sentence on.
import { ask } from "../ask.js";
import { address, h, number } from "../dom.js";

const PAGE = 200;

export const title = (what) => `Document ${Number(what) + 1}`;

export async function show(page, what, settings) {
  const answer = await ask("document", { number: what, start: settings.get("start"), top: PAGE });
  const go = (start, label) => h("a", { href: address("document", what, { start: start || null }) }, label);
  const next = answer.start + PAGE;
  page.append(
    h("h1", { dir: "auto" }, answer.name),
    h("dl", { class: "facts" }, Object.entries(answer.fields).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, value)))),
    h("p", { class: "small" }, `${number(answer.length)} sentences `, answer.start > 0 && go(Math.max(0, answer.start - PAGE), "← previous"), " ", next < answer.length && go(next, "next →")),
    h("div", { class: "text" }, answer.sentences.map((sentence) => h("p", { dir: "auto" }, sentence))),
    next < answer.length && h("p", {}, go(next, "next →")),
  );
}
