// A text as its statements: where each begins, what it is, and what it would change.

import { get } from "./api.js";

// What a semicolon may be in without ending a statement: comments, texts, quoted names.
const PIECE = /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*'?|`[^`]*`?|"[^"]*"?|;/g;
const COMMENTS = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/;
const NAME = "(`[^`]+`|[\\w$]+)";
const DROP = new RegExp(`^drop\\s+(stream|table|type|connector)(?:\\s+if\\s+exists)?\\s+${NAME}`, "i");
const TERMINATE = new RegExp(`^terminate\\s+${NAME}`, "i");
const CREATE = new RegExp(`^create\\s+(?:or\\s+replace\\s+)?(?:source\\s+|sink\\s+)?(?:stream|table|type|connector)\\s+(?:if\\s+not\\s+exists\\s+)?${NAME}`, "i");
const INSERT = new RegExp(`^insert\\s+into\\s+${NAME}\\s+select\\b`, "i");

// [{ text, bare, start }]: each with its semicolon, without the comments before it, and its place in the whole.
export function split(whole) {
  const found = [];
  let from = 0;
  const take = (to) => {
    const text = whole.slice(from, to), bare = text.replace(COMMENTS, "");
    if (bare && bare !== ";") found.push({ text, bare, start: from });
    from = to;
  };
  for (const match of whole.matchAll(PIECE)) if (match[0] === ";") take(match.index + 1);
  take(whole.length);
  return found;
}

export const isQuery = ({ bare }) => /^(select|print)\b/i.test(bare);
export const isExplain = ({ bare }) => /^explain\b/i.test(bare);

const named = (text) => text.startsWith("`") ? text.slice(1, -1) : text.toUpperCase();

// What a statement changes for others, with what hangs on that; null if nothing that is to be asked about.
export async function change({ bare }) {
  const dropped = DROP.exec(bare), ended = TERMINATE.exec(bare), made = CREATE.exec(bare), fed = INSERT.exec(bare);
  if (made) return { verb: "Create", name: named(made[1]), lines: [bare], code: true };
  if (fed) return { verb: "Start", name: `a query into ${named(fed[1])}`, lines: [bare], code: true };
  if (ended && named(ended[1]) === "ALL") return { verb: "Terminate", name: "all queries", lines: ["Every persistent query ends."], danger: true };
  if (ended) return { verb: "Terminate", name: named(ended[1]), lines: await hanging(named(ended[1]), bare), danger: true };
  if (!dropped) return null;
  const isSource = /stream|table/i.test(dropped[1]), name = named(dropped[2]);
  return { verb: "Drop", name: isSource ? name : `${dropped[1].toLowerCase()} ${name}`, lines: isSource ? await hanging(name, bare) : [], danger: true };
}

async function hanging(name, bare) {
  const found = await get("/dependents", { name });
  const lines = [];
  if (/^drop/i.test(bare) && found.ends) lines.push(`It ends the query ${found.ends}, which writes it.`);
  if (found.queries?.length) lines.push(`It is read by: ${found.queries.join(", ")}.`);
  if (found.derived?.length) lines.push(`These are made of it: ${found.derived.join(", ")}.`);
  if (found.sharing?.length) lines.push(`These have the same topic: ${found.sharing.join(", ")}.`);
  if (found.writes) lines.push(`It writes ${found.writes}.`);
  if (/delete\s+topic/i.test(bare)) lines.push(`Its topic ${found.topic ?? ""} is deleted, with all records.`);
  return lines.length ? lines : ["Nothing depends on it."];
}

// Where an error is in a text, from its message: its line and column, or else the name that it is about.
export function placeOf(message, text) {
  const told = /\bline:? (\d+)(?::|, col: )(\d+)/i.exec(message);
  if (told) {
    const before = text.split("\n").slice(0, Number(told[1]) - 1);
    return Math.min(before.reduce((sum, line) => sum + line.length + 1, 0) + Number(told[2]) - 1, text.length);
  }
  const name = /(?:^|[:'\s])([\w$]+)'? (?:does not exist|cannot be resolved|does not accept)/.exec(message)?.[1];
  const found = name ? new RegExp(`(?<![\\w$])${name.replaceAll("$", "\\$")}(?![\\w$])`, "i").exec(text) : null;
  return found ? found.index : null;
}
