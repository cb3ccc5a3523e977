import { get, rows, statements } from "../api.js";
import { ask, count, fill, h, notice, table } from "../dom.js";
import { drawing } from "../drawing.js";
import { editor } from "../editor.js";

const HISTORY = "millstream-statements";
const MOST_HISTORY = 50;
const MOST_ROWS = 1000;

export async function sql({ content, parts, session, signal }) {
  const found = await get("/names", {}, signal);
  const names = [...new Set([...found.sources.flatMap((source) => [source.name, ...source.columns.map((column) => column.name)]), ...found.queries])].sort();
  const answer = h("section", { class: "card", id: "answer", "aria-label": "Answer" }, h("p", { class: "soft" }, "Answers come here."));
  const stop = h("button", { id: "stop", disabled: true }, "Stop");
  const run = h("button", { class: "main", id: "run" }, "Run");
  const draw = h("button", { id: "draw", onclick: () => explain() }, "Draw");
  const from = h("select", { id: "from" }, h("option", { value: "earliest" }, "from the beginning"), h("option", { value: "latest" }, "new records only"));
  const history = h("div", {});
  const writing = editor({ text: parts[0] ?? "", names, onrun: () => start() });
  let running = null;
  signal.addEventListener("abort", () => running?.abort());
  stop.addEventListener("click", () => running?.abort());
  run.addEventListener("click", () => start());

  async function start() {
    const text = writing.wanted.trim();
    if (!text || running) return;
    const sent = text.endsWith(";") ? text : `${text};`;
    remember(text);
    showHistory();
    running = new AbortController();
    run.disabled = true;
    stop.disabled = false;
    try {
      const bare = sent.replace(/^(\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)+/, "");
      const properties = { "auto.offset.reset": from.value };
      if (/^(select|print)\b/i.test(bare)) await runQuery(sent, properties);
      else if (await confirmed(bare)) await runStatements(sent, properties);
    } catch (error) {
      showError(error);
    } finally {
      running = null;
      run.disabled = false;
      stop.disabled = true;
    }
  }

  async function runQuery(text, properties) {
    const began = performance.now();
    const status = h("p", { class: "soft", id: "status", "aria-live": "polite" }, "Waiting for rows …");
    const body = h("tbody", {});
    const head = h("tr", {});
    fill(answer, status, h("div", { class: "scroll lines", tabindex: "0", role: "region", "aria-label": "Rows" }, h("table", {}, h("thead", {}, head), body)));
    let total = 0, ended = null, waiting = [];
    // Rows that come quickly are shown together, and only the last of them are kept.
    const show = () => {
      if (!waiting.length) return;
      body.prepend(...waiting.slice(-MOST_ROWS).reverse().map((values) => h("tr", {}, values.map((value) => h("td", { class: "data" }, shownValue(value))))));
      while (body.rows.length > MOST_ROWS) body.lastElementChild.remove();
      waiting = [];
      status.textContent = `${count(total)} ${total === 1 ? "row" : "rows"}${total > MOST_ROWS ? `, the last ${MOST_ROWS} are shown` : ""}, the newest first`;
    };
    const keep = (values) => {
      total += 1;
      waiting.push(values);
      if (waiting.length > 2 * MOST_ROWS) waiting = waiting.slice(-MOST_ROWS);
    };
    const showing = setInterval(show, 150);
    try {
      await rows(text, properties, (line) => {
        if (Array.isArray(line)) keep(line);
        else if (line.columnNames) fill(head, line.columnNames.map((name, index) => h("th", { scope: "col" }, name, " ", h("span", { class: "soft" }, line.columnTypes[index]))));
        else if (line.error_code || line["@type"]?.includes("error")) ended = line.message;
        else if (typeof line === "string") keep([line]);
      }, running.signal);
    } finally {
      clearInterval(showing);
      show();
    }
    const seconds = ((performance.now() - began) / 1000).toFixed(2);
    status.textContent = `${count(total)} ${total === 1 ? "row" : "rows"} in ${seconds} s${running.signal.aborted ? ", stopped" : ""}`;
    if (ended) answer.append(h("p", { class: "error", role: "alert" }, ended));
  }

  async function runStatements(text, properties) {
    fill(answer, h("p", { class: "soft" }, "Running …"));
    const entities = await statements(text, properties);
    fill(answer, entities.length ? entities.map(shownEntity) : h("p", {}, "Done."));
  }

  // What changes the service for others is asked about first, with what hangs on it.
  async function confirmed(text) {
    const match = /^(drop\s+(?:stream|table)(?:\s+if\s+exists)?|terminate|create(?:\s+or\s+replace)?\s+(?:stream|table)(?:\s+if\s+not\s+exists)?)\s+(`[^`]+`|[\w$]+)/i.exec(text);
    if (!match || !session.mayChange) return true;
    const name = match[2].startsWith("`") ? match[2].slice(1, -1) : match[2].toUpperCase();
    const kind = match[1].split(/\s/)[0].toUpperCase();
    if (kind === "CREATE") return ask(`Create ${name}?`, h("pre", {}, text), { yes: "Create" });
    const hanging = await get("/dependents", { name });
    const lines = [];
    if (kind === "DROP" && hanging.ends) lines.push(`It ends the query ${hanging.ends}, which writes it.`);
    if (hanging.queries?.length) lines.push(`It is read by: ${hanging.queries.join(", ")}.`);
    if (hanging.derived?.length) lines.push(`These are made of it: ${hanging.derived.join(", ")}.`);
    if (hanging.sharing?.length) lines.push(`These have the same topic: ${hanging.sharing.join(", ")}.`);
    if (hanging.writes) lines.push(`It writes ${hanging.writes}.`);
    if (/delete\s+topic/i.test(text)) lines.push(`Its topic ${hanging.topic ?? ""} is deleted, with all records.`);
    if (!lines.length) lines.push("Nothing depends on it.");
    return ask(`${kind === "DROP" ? "Drop" : "Terminate"} ${name}?`, h("ul", { id: "dependents" }, lines.map((line) => h("li", {}, line))),
      { yes: kind === "DROP" ? "Drop" : "Terminate", danger: true });
  }

  async function explain() {
    const text = writing.wanted.trim();
    if (!text) return;
    try {
      const found = await get("/explain", { sql: text.endsWith(";") ? text : `${text};` }, signal);
      const drawn = drawing(found);
      fill(answer, h("h3", {}, "What would run"), drawn.place, drawn.details);
    } catch (error) {
      showError(error);
    }
  }

  function showError(error) {
    fill(answer, h("p", { class: "error", role: "alert" }, error.message));
    const place = /line (\d+):(\d+)/.exec(error.message);
    if (place) writing.markWrong(Number(place[1]), Number(place[2]));
  }

  function showHistory() {
    fill(history, remembered().map((text) => h("li", {}, h("button", { class: "link mono", onclick: () => { writing.text = text; writing.focus(); } }, text))));
  }

  fill(content, h("h2", {}, "SQL"),
    h("section", { class: "card" }, writing.element, h("div", { class: "row" }, run, stop, draw, h("label", {}, "Reading", from))),
    answer,
    h("details", { class: "card" }, h("summary", {}, "History"), h("ul", { class: "list" }, history)));
  showHistory();
}

function remembered() {
  try { return JSON.parse(localStorage.getItem(HISTORY)) ?? []; } catch { return []; }
}

function remember(text) {
  try {
    localStorage.setItem(HISTORY, JSON.stringify([text, ...remembered().filter((other) => other !== text)].slice(0, MOST_HISTORY)));
  } catch {
    notice("the history is full");
  }
}

export const shownValue = (value) => value === null ? "NULL" : typeof value === "object" ? JSON.stringify(value) : String(value);

// Lists of objects as tables, all else as it is.
function shownEntity(entity) {
  if (entity.commandStatus) {
    return h("p", {}, h("span", { class: `badge ${entity.commandStatus.status === "SUCCESS" ? "good" : "warn"}` }, entity.commandStatus.status), " ", entity.commandStatus.message);
  }
  const lists = Object.entries(entity).filter(([, value]) => Array.isArray(value) && value.length && typeof value[0] === "object");
  const details = entity.sourceDescription ?? entity.queryDescription;
  if (details) {
    const plain = Object.entries(details).filter(([, value]) => value !== null && value !== "" && typeof value !== "object");
    const listed = Object.entries(details).filter(([, value]) => Array.isArray(value) && value.length && typeof value[0] === "object");
    return h("div", {}, h("dl", {}, plain.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, h("pre", {}, String(value)))])), listed.map(([name, value]) => listTable(name, value)));
  }
  if (!lists.length) return h("pre", {}, JSON.stringify(entity, null, 2));
  return h("div", {}, lists.map(([name, value]) => listTable(name, value)));
}

function listTable(name, list) {
  const columns = [...new Set(list.flatMap((item) => Object.keys(item)))];
  return table(columns.map((column) => [column, (item) => item[column] === undefined ? "" : shownValue(item[column]), "data"]), list, name);
}
