import { get, rows, statements } from "../api.js";
import { ask, count, fill, h, notice, table } from "../dom.js";
import { drawing } from "../drawing.js";
import { editor } from "../editor.js";
import { change, isExplain, isQuery, placeOf, split } from "../statements.js";

const HISTORY = "millstream-statements";
const MOST_HISTORY = 50;
const MOST_ROWS = 1000;

export async function sql({ content, parts, session, signal }) {
  const found = await get("/names", {}, signal);
  const names = [...new Set([...found.sources.flatMap((source) => [source.name, ...source.columns.map((column) => column.name)]), ...found.queries, ...found.functions])].sort();
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
    const { text, start: place } = writing.wanted;
    const all = split(text);
    if (!all.length || running) return;
    remember(text.trim());
    showHistory();
    running = new AbortController();
    run.disabled = true;
    stop.disabled = false;
    let sent = text, begun = place;
    try {
      const properties = { "auto.offset.reset": from.value };
      fill(answer);
      if (!await confirmed(all)) return fill(answer, h("p", { class: "soft" }, "Nothing was run."));
      // Statements between two queries go together: the server tries all of them before it executes any.
      for (const group of grouped(all)) {
        const last = group.at(-1);
        begun = place + group[0].start;
        sent = ended(text.slice(group[0].start, last.start + last.text.length));
        if (isQuery(group[0])) await runQuery(sent, properties);
        else await runStatements(group, sent, properties);
        if (running.signal.aborted) break;
      }
    } catch (error) {
      showError(error, sent, begun);
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
    answer.append(status, h("div", { class: "scroll lines", tabindex: "0", role: "region", "aria-label": "Rows" }, h("table", {}, h("thead", {}, head), body)));
    let total = 0, refused = null, waiting = [];
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
        else if (line.error_code || line["@type"]?.includes("error")) refused = line.message;
        else if (typeof line === "string") keep([line]);
      }, running.signal);
    } finally {
      clearInterval(showing);
      show();
    }
    const seconds = ((performance.now() - began) / 1000).toFixed(2);
    status.textContent = `${count(total)} ${total === 1 ? "row" : "rows"} in ${seconds} s${running.signal.aborted ? ", stopped" : ""}`;
    if (refused) throw new Error(refused);
  }

  async function runStatements(group, text, properties) {
    const waiting = h("p", { class: "soft" }, "Running …");
    answer.append(waiting);
    try {
      const entities = await statements(text, properties);
      // What is explained is drawn first: its text is long.
      for (const one of group.filter(isExplain)) await drawInto(ended(one.text));
      answer.append(...entities.length ? entities.map(shownEntity) : [h("p", {}, "Done.")]);
    } finally {
      waiting.remove();
    }
  }

  // What changes the service for others is asked about first, with what hangs on it.
  async function confirmed(all) {
    if (!session.mayChange) return true;
    const changes = (await Promise.all(all.map(change))).filter((found) => found);
    if (!changes.length) return true;
    const danger = changes.some((found) => found.danger);
    const lines = (found) => found.lines.map((line) => h("li", {}, found.code ? h("pre", {}, line) : line));
    if (changes.length === 1) {
      const [{ verb, name }] = changes;
      return ask(`${verb} ${name}?`, h("ul", { id: "dependents" }, lines(changes[0])), { yes: verb, danger });
    }
    return ask(`${changes.length} changes?`, h("div", { id: "dependents" }, changes.map((found) => [h("h4", {}, `${found.verb} ${found.name}`), h("ul", {}, lines(found))]).flat()), { yes: "Run all", danger });
  }

  async function explain() {
    const { text, start: place } = writing.wanted;
    if (!split(text).length || running) return;
    fill(answer);
    try {
      await drawInto(ended(text));
    } catch (error) {
      showError(error, text, place);
    }
  }

  async function drawInto(text) {
    const drawn = drawing(await get("/explain", { sql: text }, signal));
    answer.append(h("h3", {}, "What would run"), drawn.place, drawn.details);
  }

  function showError(error, text, begun) {
    if (error.name === "AbortError") return;
    answer.append(h("p", { class: "error", role: "alert" }, error.message));
    const place = placeOf(error.message, text);
    if (place !== null) writing.markWrong(begun + place);
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

const ended = (text) => text.trimEnd().endsWith(";") ? text : `${text};`;

// Queries alone, and what is between them together.
function grouped(all) {
  const groups = [];
  for (const one of all) {
    const last = groups.at(-1);
    if (last && !isQuery(one) && !isQuery(last[0])) last.push(one);
    else groups.push([one]);
  }
  return groups;
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
