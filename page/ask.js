// Questions to the server, or to the answers that a page brought along.

const kept = document.getElementById("answers");
const answers = kept ? JSON.parse(kept.textContent) : null;
const asked = new Map();

/** Whether the page stands alone, without a server. */
export const alone = answers !== null;

/** The name of a question with its parameters, the same for the same question. */
export function key(name, parameters = {}) {
  const query = new URLSearchParams();
  for (const [parameter, value] of Object.entries(parameters))
    for (const each of [value].flat()) if (each !== null && each !== undefined && each !== "") query.append(parameter, each);
  return query.size ? `${name}?${query}` : name;
}

/** Ask, and give the answer; the same question is asked once. */
export async function ask(name, parameters = {}) {
  const question = key(name, parameters);
  if (answers) {
    if (question in answers) return answers[question];
    throw new Error("This is not in the page that was sent; the whole is where it came from.");
  }
  if (!asked.has(question)) {
    asked.set(question, request(question));
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
    throw new Error("The server does not answer; is polyadic explore still running?");
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}
