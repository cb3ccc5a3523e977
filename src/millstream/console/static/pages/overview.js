import { get } from "../api.js";
import { chart } from "../chart.js";
import { count, fill, h, table, update } from "../dom.js";

const MOST_LINES = 8;

export function stateBadge(state) {
  return h("span", { class: `badge ${{ RUNNING: "good", ERROR: "bad", UNRESPONSIVE: "bad", PAUSED: "warn" }[state] ?? ""}` }, state);
}

export async function overview({ content, every, signal }) {
  const tiles = h("div", { class: "tiles" });
  const lines = h("div", {});
  const queries = h("div", {});
  fill(content, h("h2", {}, "Overview"), tiles,
    h("section", { class: "card" }, h("h3", {}, "Records per second, last minutes"), lines),
    h("section", { class: "card" }, h("h3", {}, "Persistent queries"), queries));
  every(2, async () => {
    const found = await get("/overview", {}, signal);
    const tile = (name, value, text) => h("div", { class: "tile", "data-tile": name }, h("b", {}, value), h("span", {}, text));
    const total = (name) => found.queries.reduce((sum, query) => sum + (query[name] ?? 0), 0);
    const failed = found.queries.filter((query) => query.state === "ERROR").length;
    update(tiles,
      tile("queries", count(found.queries.length), failed ? `queries, ${failed} failed` : "persistent queries"),
      tile("rate", count(total("rate")), "records per second"),
      tile("processed", count(total("processed")), "records processed"),
      tile("lag", count(total("lag")), "records behind"),
      tile("push", count(found.pushQueries.length), "push queries"),
      tile("lanes", found.lanes ? count(found.lanes) : "starting", "lanes here"));
    const { times, rates } = found.history;
    const busiest = Object.keys(rates).sort((a, b) => Math.max(...rates[b]) - Math.max(...rates[a])).slice(0, MOST_LINES);
    update(lines, chart("Records per second", times, Object.fromEntries(busiest.map((name) => [name, rates[name]])), Math.max(280, lines.clientWidth)));
    update(queries, found.queries.length === 0 ? h("p", { class: "soft" }, "There are none yet: ", h("a", { href: "#/sql" }, "write one"), ".") : table([
      ["Query", (query) => h("a", { href: `#/topology/${encodeURIComponent(query.id)}` }, query.id)],
      ["State", (query) => stateBadge(query.state)],
      ["From", (query) => query.sources.join(", ")],
      ["To", (query) => query.sink],
      ["Processed", (query) => count(query.processed), "number"],
      ["Per second", (query) => count(query.rate), "number"],
      ["Behind", (query) => count(query.lag), "number"],
      ["Errors", (query) => query.errors.length ? h("details", {}, h("summary", {}, String(query.errors.length)), query.errors.map((error) => h("p", { class: "error" }, error))) : "0", "number"],
    ], found.queries, "Persistent queries"));
  });
}
