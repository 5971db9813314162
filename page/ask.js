// Questions to the server, or to the answers that a page brought along.

const kept = document.getElementById("answers");
const answers = kept ? JSON.parse(kept.textContent) : null;
const asked = new Map();

/** Whether the page stands alone, without a server. */
export const alone = answers !== null;

function entries(parameters) {
  const given = Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((each) => [name, each]));
  return given.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => [name, String(value)]);
}

/** The name of a question with its parameters, the same for the same question. */
export const key = (name, parameters = {}) =>
  JSON.stringify([name, entries(parameters).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))]);

/** Whether there is an answer: always, unless the page stands alone. */
export const has = (name, parameters = {}) => !alone || key(name, parameters) in answers;

/** The questions of a kind that a page alone has answers to: their parameters. */
export const had = (name) => Object.keys(answers ?? {}).map((each) => JSON.parse(each)).filter(([kind]) => kind === name)
  .map(([, pairs]) => pairs.reduce((all, [parameter, value]) => ({ ...all, [parameter]: parameter in all ? [all[parameter], value].flat() : value }), {}));

/** Ask, and give the answer; the same question is asked once. */
export async function ask(name, parameters = {}) {
  const question = key(name, parameters);
  if (answers) {
    if (question in answers) return answers[question];
    throw new Error("This is not part of the exported page.");
  }
  if (!asked.has(question)) {
    asked.set(question, request(`${name}?${new URLSearchParams(entries(parameters))}`));
    asked.get(question).catch(() => asked.delete(question));
    if (asked.size > 200) asked.delete(asked.keys().next().value);
  }
  return asked.get(question);
}

async function request(question) {
  let response;
  try {
    response = await fetch(`api/${question}`, { headers: { Accept: "application/json" } });
  } catch {
    throw new Error("The server does not respond. Is polyadic explore still running?");
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}
