import { get } from "../api.js";
import { chart } from "../chart.js";
import { count, fill, h, table, update } from "../dom.js";

export function stateBadge(state) {
  const kind = { RUNNING: "good", ERROR: "bad", PENDING_ERROR: "bad", UNRESPONSIVE: "bad", PAUSED: "warn", REBALANCING: "warn" }[state] ?? "";
  return h("span", { class: `badge ${kind}` }, state.replaceAll("_", " "));
}

const seconds = (value) => value >= 1 ? `${value.toFixed(1)} s` : `${Math.round(value * 1000)} ms`;

export async function overview({ content, every, session, signal }) {
  const tiles = h("div", { class: "tiles" });
  const charts = h("div", { class: "charts" });
  const queries = h("div", {});
  const isService = session.kind === "service";
  fill(content, h("h2", {}, "Overview"), tiles, charts,
    h("section", { class: "card" }, h("h3", {}, isService ? "Persistent queries" : "The application"), queries));
  every(2, async () => {
    const found = await get("/overview", {}, signal);
    const tile = (name, value, text, bad) => h("div", { class: bad ? "tile bad" : "tile", "data-tile": name }, h("b", {}, value), h("span", {}, text));
    const total = (name) => found.queries.reduce((sum, query) => sum + (query[name] ?? 0), 0);
    const failed = found.queries.filter((query) => query.state === "ERROR").length;
    const [application] = found.queries;
    update(tiles,
      isService ? tile("queries", count(found.queries.length), failed ? `queries, ${failed} failed` : "persistent queries", failed)
        : tile("state", application.state.replaceAll("_", " ").toLowerCase(), "state", application.state === "ERROR"),
      tile("rate", count(Math.round(total("rate"))), "records / second"),
      tile("processed", count(total("processed")), "records processed"),
      tile("lag", count(total("lag")), "records behind"),
      isService ? tile("push", count(found.pushQueries.length), "push queries") : tile("batch", seconds(application.batchSeconds), "last batch"),
      tile("lanes", found.lanes ? count(found.lanes) : "starting", isService ? "lanes here" : "lanes"));
    const { times, rates, lag, batch } = found.history;
    const drawn = [["Records per second", rates], ["Records behind", lag], ...(batch ? [["Seconds per batch", batch]] : [])];
    const width = Math.max(280, (charts.clientWidth - 16 * (drawn.length - 1)) / (charts.clientWidth > 700 ? drawn.length : 1) - 34);
    update(charts, ...drawn.map(([title, series]) => h("section", { class: "card" }, chart(title, times, series ?? {}, Math.round(width)))));
    update(queries, found.queries.length === 0 ? h("p", { class: "soft" }, "There are none yet: ", h("a", { href: "#/sql" }, "write one"), ".") : table([
      [isService ? "Query" : "Name", (query) => h("a", { href: `#/topology/${encodeURIComponent(query.id)}` }, query.id)],
      ["State", (query) => stateBadge(query.state)],
      ["From", (query) => query.sources.join(", ")],
      ["To", (query) => query.sink],
      ["Processed", (query) => count(query.processed), "number"],
      ["Per second", (query) => count(query.rate), "number"],
      ["Behind", (query) => count(query.lag), "number"],
      ...(isService ? [] : [["Batch", (query) => `${seconds(query.batchSeconds)}, ${count(query.batchRecords)} records`, "number"], ["Dropped", (query) => count(query.dropped), "number"]]),
      ["Errors", (query) => query.errors.length ? h("details", {}, h("summary", {}, String(query.errors.length)), query.errors.map((error) => h("p", { class: "error" }, error.errorMessage ?? String(error)))) : "0", "number"],
    ], found.queries, isService ? "Persistent queries" : "The application"));
  });
}
