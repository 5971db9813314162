// The frame: the search, the views, and which of them an address shows.
import { address, h } from "./dom.js";
import { alone, ask, had } from "./ask.js";
import * as collocates from "./views/collocates.js";
import * as diversity from "./views/diversity.js";
import * as document_ from "./views/document.js";
import * as lines from "./views/lines.js";
import * as list from "./views/list.js";
import * as overview from "./views/overview.js";
import * as parts from "./views/parts.js";
import * as phrase from "./views/phrase.js";
import * as table from "./views/table.js";
import * as component from "./views/component.js";
import * as topics from "./views/topics.js";
import * as trends from "./views/trends.js";
import * as word from "./views/word.js";

const VIEWS = { "": overview, collocates, component, diversity, document: document_, lines, list, parts, phrase, table, topics, trends, word, map: { title: () => "Map", show: async (...all) => (await import("./views/map.js")).show(...all) } };
const LINKS = [["Overview", "#/", "overview"], ["Concordance", "#/lines", null], ["Words and phrases", "#/list", null],
  ["Collocates", "#/collocates", null], ["Trends", "#/trends", null], ["Compare", "#/parts", "keywords"], ["Diversity", "#/diversity", null],
  ["Map", "#/map", "places"], ["Topics", "#/topics", "topics"], ["Tables", "#/table", "table"]];

const main = document.getElementById("main");
const status = document.getElementById("status");
const query = document.getElementById("query");
const begun = document.getElementById("begun");
let shown = 0;

document.querySelector("nav").append(...LINKS.filter(([, , kind]) => !alone || (kind && had(kind).length)).map(([title, href]) => h("a", { href }, title)));

/** Take an address apart: its view, what it shows, its settings. */
export function parse(hash) {
  const [path, settings] = hash.replace(/^#\/?/, "").split("?");
  const [view, what = ""] = path.split("/");
  return { view, what: decode(what), settings: new URLSearchParams(settings ?? "") };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function show() {
  const mine = ++shown;
  const hash = location.hash;
  const { view, what, settings } = parse(hash);
  const module = VIEWS[view];
  const page = h("div", { class: `view ${view || "overview"}` });
  const title = module ? module.title(what, settings) : "Not found";
  document.title = `${title} · polyadic`;
  document.querySelectorAll("nav a").forEach((link) =>
    link.getAttribute("href") === `#/${view}` ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current"));
  main.setAttribute("aria-busy", "true");
  status.textContent = `Loading ${title}`;
  const waiting = setTimeout(() => mine === shown && main.replaceChildren(h("p", { class: "waiting" }, "Loading …")), 200);
  try {
    if (!module) throw new Error(`There is no view ${view}.`);
    await module.show(page, what, settings);
  } catch (error) {
    page.replaceChildren(h("h1", {}, title), h("p", { class: "fault", role: "alert" }, error.message),
      what && (view === "word" || view === "parts") && !alone ? h("p", {}, h("a", { href: address("lines", "", { words: what }) }, "Concordance"), ", which has all words of the text.") : "");
  }
  clearTimeout(waiting);
  if (mine !== shown) return;
  main.replaceChildren(page);
  main.removeAttribute("aria-busy");
  main.dataset.shown = hash; // who drives the page by a program waits for it
  status.textContent = `${title} is shown`;
  if (document.activeElement === document.body || main.contains(document.activeElement)) main.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address is that of a view
  main.focus();
});

document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const words = query.value.trim().split(/\s+/).filter(Boolean);
  if (/[*?[\]"]/.test(query.value) && !alone) location.hash = address("lines", "", { words: query.value.trim() });
  else if (words.length) location.hash = words.length > 1 ? address("phrase", words.join(" ")) : address("word", words[0]);
});

let typed = 0;
query.addEventListener("input", async () => {
  const mine = ++typed;
  const before = query.value.match(/^.*\s/)?.[0] ?? "";
  const start = query.value.slice(before.length);
  if (!start || alone) return;
  const answer = await ask("words", { start }).catch(() => null);
  if (answer && mine === typed) begun.replaceChildren(...answer.words.map(([found]) => h("option", { value: before + found })));
});

document.addEventListener("keydown", (event) => {
  const writing = event.target.closest("input, select, textarea");
  if (event.key === "/" && !writing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    query.focus();
  }
});

window.addEventListener("hashchange", show);
show();
