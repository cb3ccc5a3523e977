// The stores of an application: rows by key, prefix, range, window, session and version, through its views.

import { stores as ask } from "../api.js";
import { count, fill, h, plural, table, time } from "../dom.js";
import { shownValue } from "./sql.js";

const MOST = 500;

// What can be asked of each kind of store: name, title, fields, path and parameters.
const key = ["key", "Key"], from = ["from", "From"], to = ["to", "Up to"];
const since = ["from", "From time (UTC)"], until = ["to", "To time (UTC)"], asOf = ["as_of", "At time (UTC)"];
const fromKey = ["from_key", "From key"], toKey = ["to_key", "Up to key"];
const some = ({ key: _, ...rest }) => rest;
const KEYS = [
  ["all", "all rows", [], () => ["/keys", {}]],
  ["is", "key is", [key], (given) => [`/keys/${encodeURIComponent(given.key)}`, {}]],
  ["prefix", "key begins with", [["prefix", "Beginning"]], (given) => ["/keys", given]],
  ["range", "key from … to", [from, to], (given) => ["/keys", given]],
];
const LOOKUPS = {
  "key-value": KEYS,
  "versioned key-value": [
    ["history", "history of a key", [key, since, until], (given) => [`/versions/${encodeURIComponent(given.key)}`, some(given)]],
    ["asof", "key as of a time", [key, asOf], (given) => [`/keys/${encodeURIComponent(given.key)}`, some(given)]],
    ["is", "key now", [key], (given) => [`/keys/${encodeURIComponent(given.key)}`, {}]],
  ],
  window: [
    ["all", "all windows", [fromKey, toKey, since, until], (given) => ["/windows", given]],
    ["is", "windows of a key", [key, since, until], (given) => [`/windows/${encodeURIComponent(given.key)}`, some(given)]],
  ],
  session: [
    ["all", "all sessions", [fromKey, toKey], (given) => ["/sessions", given]],
    ["is", "sessions of a key", [key, since, until], (given) => [`/sessions/${encodeURIComponent(given.key)}`, some(given)]],
  ],
};

export async function stores({ content, parts, signal }) {
  const found = (await ask("", {}, signal)).stores;
  const list = h("ul", { class: "list" }, found.map((store) => h("li", {},
    h("a", { class: "mono", href: `#/state/${encodeURIComponent(store.name)}`, "aria-current": store.name === parts[0] ? "true" : undefined }, store.name),
    h("span", { class: "badge" }, store.kind.replace("timestamped ", "")))));
  const chosen = h("div", {});
  fill(content, h("h2", {}, "State"), h("div", { class: "columns" },
    h("section", { class: "card" }, h("h3", {}, "Stores"), found.length ? list : h("p", { class: "soft" }, "It has no stores that can be asked.")), chosen));
  const store = found.find((one) => one.name === parts[0]);
  if (!store) return fill(chosen, h("p", { class: "card soft" }, "Choose a store: its rows can be looked up by key, prefix or range, by window, session or version."));
  const details = await ask(`/${encodeURIComponent(store.name)}`, {}, signal);
  browse(chosen, details, parts[1], signal);
}

function browse(place, store, wanted, signal) {
  const lookups = LOOKUPS[store.kind.replace("timestamped ", "")];
  const kind = h("select", { id: "how" }, lookups.map(([name, title]) => h("option", { value: name }, title)));
  const inputs = h("div", { class: "row" }), answer = h("div", { "aria-live": "polite" });
  let fields = new Map();
  const lookup = () => lookups.find(([name]) => name === kind.value);

  function arrange() {
    const before = fields;
    fields = new Map(lookup()[2].map(([name, title]) => {
      const isTime = title.includes("time");
      return [name, h("input", { id: `field-${name}`, value: before.get(name)?.value ?? "", "aria-label": title, ...(isTime ? { type: "datetime-local", step: "1" } : {}) })];
    }));
    fill(inputs, h("label", {}, "Rows", kind), lookup()[2].map(([name, title]) => h("label", {}, title, fields.get(name))),
      h("button", { class: "main", id: "look" }, "Look up"));
  }

  const text = (input) => input.type === "datetime-local" && input.value ? String(new Date(`${input.value}Z`).getTime()) : input.value;

  async function look(event) {
    event?.preventDefault();
    const given = Object.fromEntries([...fields].map(([name, input]) => [name, text(input)]).filter(([, value]) => value !== ""));
    if (lookup()[2].some(([name]) => name === "key") && given.key === undefined) return fill(answer, h("p", { class: "soft" }, "Give a key."));
    const [path, parameters] = lookup()[3](given);
    const began = performance.now();
    try {
      const limit = path.startsWith("/keys/") ? {} : { limit: MOST };
      const found = await ask(`/${encodeURIComponent(store.name)}${path}`, { ...parameters, ...limit }, signal);
      show(found, performance.now() - began);
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.status === 404 && error.body?.lag) show({ rows: [], ...error.body }, performance.now() - began);
      else fill(answer, h("p", { class: "error", role: "alert" }, error.message));
    }
  }

  function show(found, ms) {
    const rows = found.rows ?? [found];
    const has = (name) => rows.some((row) => row[name] !== undefined);
    const history = kind.value === "history";
    fill(answer, standing(found, rows, ms), rows.length ? table([
      ["Key", (row) => history ? shownValue(row.key) : keyCell(row), "data"],
      ...(has("window") ? [["Window", (row) => `${time(row.window.start)} – ${time(row.window.end)}`, "time"]] : []),
      ["Value", (row) => row.value === null ? h("span", { class: "soft" }, "deleted") : shownValue(row.value), "data"],
      ...(has("timestamp") ? [[has("valid_to") || history ? "Valid from" : "Time", (row) => row.timestamp === undefined ? "–" : time(row.timestamp), "time"]] : []),
      ...(has("valid_to") ? [["Valid to", (row) => row.valid_to === undefined ? h("span", { class: "badge good" }, "now") : time(row.valid_to), "time"]] : []),
    ], rows, "Rows") : null);
  }

  // In a versioned store a key leads to its history.
  function keyCell(row) {
    return store.kind.startsWith("versioned") ? h("a", { href: `#/state/${encodeURIComponent(store.name)}/${encodeURIComponent(row.key)}` }, shownValue(row.key)) : shownValue(row.key);
  }

  kind.addEventListener("change", () => { arrange(); look(); });
  arrange();
  if (wanted !== undefined && fields.has("key")) fields.get("key").value = wanted;
  fill(place, h("section", { class: "card" }, h("h3", { class: "mono" }, store.name),
    h("p", { class: "soft" }, `${store.kind}; keys ${store.key_serde}, values ${store.value_serde}; ${store.global ? "the same everywhere" : plural(store.partitions, "partition")}; changelog ${store.topic}.`),
    h("form", { onsubmit: look }, inputs), answer));
  look();
}

// How new an answer is: how far the copies that answered are behind what the application has written.
function standing(found, rows, ms) {
  const lags = Object.values(found.lag ?? {});
  const behind = lags.reduce((sum, lag) => sum + lag.records, 0);
  const ages = lags.map((lag) => lag.stale_ms).filter((age) => age !== null);
  const age = ages.length ? `, read up ${count(Math.max(...ages))} ms ago` : "";
  return h("p", { class: "soft", id: "found" },
    rows.length >= MOST ? `The first ${MOST} rows` : plural(rows.length, "row"), ` in ${Math.round(ms)} ms; `,
    h("span", { class: `badge ${behind ? "warn" : "good"}`, id: "staleness" }, behind ? `${count(behind)} changes behind` : "up to date"), age);
}
