import { get, rows } from "../api.js";
import { count, fill, h, plural, table } from "../dom.js";
import { shownValue } from "./sql.js";

const MOST = 500;
const TEXT = /^(STRING|VARCHAR)/;

const quoted = (name) => `\`${name}\``;

export async function state({ content, parts, signal }) {
  const { sources } = await get("/names", {}, signal);
  const tables = sources.filter((source) => source.kind === "TABLE");
  const list = h("ul", { class: "list" }, tables.map((found) => h("li", {},
    h("a", { href: `#/state/${encodeURIComponent(found.name)}`, "aria-current": found.name === parts[0] ? "true" : undefined }, found.name),
    found.asked ? (found.window ? h("span", { class: "badge" }, found.window) : null) : h("span", { class: "soft" }, "not kept"))));
  const chosen = h("div", {});
  fill(content, h("h2", {}, "State"), h("div", { class: "columns" },
    h("section", { class: "card" }, h("h3", {}, "Tables"), tables.length ? list : h("p", { class: "soft" }, "There are none.")), chosen));
  const found = tables.find((source) => source.name === parts[0]);
  if (!found) return fill(chosen, h("p", { class: "card soft" }, "Choose a table: its rows can be looked up by key, by the beginning of a key, or by a range of keys."));
  if (!found.asked) return fill(chosen, h("p", { class: "card soft" }, "No query keeps the rows of this table: CREATE TABLE .. AS SELECT .. makes one that can be asked."));
  browse(chosen, found, signal);
}

function browse(place, found, signal) {
  const keys = found.columns.filter((column) => column.key);
  const key = keys[0];
  const kind = h("select", { id: "how" },
    h("option", { value: "all" }, "all rows"), h("option", { value: "is" }, "key is"),
    keys.length === 1 && TEXT.test(key.type) ? h("option", { value: "begins" }, "key begins with") : null,
    keys.length === 1 ? h("option", { value: "range" }, "key from … to") : null);
  const first = keys.map((column, index) => h("input", { id: `key-${index}`, "aria-label": `${column.name} ${column.type}` }));
  const last = h("input", { id: "last", "aria-label": "last key" });
  const since = h("input", { id: "since", placeholder: "2026-01-31T00:00:00", size: 20 }), until = h("input", { id: "until", placeholder: "2026-02-01T00:00:00", size: 20 });
  const answer = h("div", { "aria-live": "polite" });
  const inputs = h("div", { class: "row" });
  const arrange = () => fill(inputs, h("label", {}, "Rows", kind),
    kind.value === "all" ? null : keys.map((column, index) => h("label", {}, `${column.name} (${column.type})`, first[index])),
    kind.value === "range" ? h("label", {}, "up to", last) : null,
    found.window ? [h("label", {}, "Windows that start from", since), h("label", {}, "to", until)] : null,
    h("button", { class: "main", id: "look" }, "Look up"));
  kind.addEventListener("change", arrange);
  arrange();

  const literal = (column, text) => {
    if (TEXT.test(column.type)) return `'${text.replaceAll("'", "''")}'`;
    if (!/^[-+.\w]+$/.test(text.trim())) throw new Error(`${column.name} is ${column.type}: ${text || "nothing"} is none`);
    return text.trim();
  };
  function condition() {
    const bounds = [[">=", since.value], ["<=", until.value]].filter(([, text]) => text.trim());
    const all = [keyCondition(), ...bounds.map(([sign, text]) => `WINDOWSTART ${sign} '${text.trim().replaceAll("'", "''")}'`)].filter((part) => part);
    return all.length ? ` WHERE ${all.join(" AND ")}` : "";
  }
  function keyCondition() {
    const name = quoted(key.name);
    if (kind.value === "is") return `${keys.map((column, index) => `${quoted(column.name)} = ${literal(column, first[index].value)}`).join(" AND ")}`;
    if (kind.value === "begins" && first[0].value) {
      // Everything up to the next text that does not begin so.
      const text = first[0].value;
      const after = text.slice(0, -1) + String.fromCodePoint(text.codePointAt(text.length - 1) + 1);
      return `${name} >= ${literal(key, text)} AND ${name} < ${literal(key, after)}`;
    }
    if (kind.value === "range") {
      const bounds = [[">=", first[0].value], ["<=", last.value]].filter(([, text]) => text !== "");
      return bounds.map(([sign, text]) => `${name} ${sign} ${literal(key, text)}`).join(" AND ");
    }
    return "";
  }
  async function look(event) {
    event?.preventDefault();
    try {
      const statement = `SELECT * FROM ${quoted(found.name)}${condition()} LIMIT ${MOST + 1};`;
      const began = performance.now();
      let columns = null;
      const lines = [];
      await rows(statement, {}, (line) => { if (Array.isArray(line)) lines.push(line); else if (line.columnNames) columns = line; else if (line.message && line.error_code) throw new Error(line.message); }, signal);
      if (!columns) return;
      const seconds = (performance.now() - began) / 1000;
      const behind = Object.values(await get(`/lags/${encodeURIComponent(found.query)}`, {}, signal)).reduce((sum, lag) => sum + lag, 0);
      const isTime = (name) => name === "WINDOWSTART" || name === "WINDOWEND";
      fill(answer, h("p", { class: "soft", id: "found" }, lines.length > MOST ? `The first ${MOST} rows` : plural(lines.length, "row"), ` in ${seconds.toFixed(2)} s, as of ${new Date().toLocaleTimeString("en-GB")}; `,
        h("span", { class: `badge ${behind ? "warn" : "good"}`, id: "staleness" }, behind ? `the query is ${count(behind)} records behind` : "up to date")),
        table(columns.columnNames.map((name, index) => [`${name} ${columns.columnTypes[index]}`, (line) => isTime(name) ? `${line[index]} (${new Date(line[index]).toISOString()})` : shownValue(line[index]), "data"]), lines.slice(0, MOST), "Rows"));
    } catch (error) {
      if (error.name !== "AbortError") fill(answer, h("p", { class: "error", role: "alert" }, error.message));
    }
  }
  fill(place, h("section", { class: "card" }, h("h3", {}, found.name),
    h("p", { class: "soft" }, `Kept by ${found.query}${found.window ? `; windows: ${found.window}` : ""}. Values are ${found.valueFormat}.`),
    h("form", { onsubmit: look }, inputs), answer));
  look();
}
